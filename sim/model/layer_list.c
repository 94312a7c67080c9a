#include "model/layer_list.h"

#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"
#include "model/tables.h"

#include <math.h>

/* A small kernel of a fused batch norm moves this much for each channel between convolutions: two sums, scale, shift,
 * mean, deviation and both running ones in, and the last four and the two factors of the normalization out, in fp32. */
#define FINALIZED_BYTES (14 * 4.0)
/* An activation's mask says which elements it let through, one bit each. */
#define BIT_BYTES 0.125

/* The place of a maximum, as frameworks keep it (PyTorch: int64). */
#define PLACE_BYTES 8

static double weights_of(const struct tsim_list_layer *l) {
    return (double)(l->kernel_area * (l->in / l->groups) * l->out);
}

double tsim_list_parameters(const struct tsim_model *m) {
    double n = 0;
    for (size_t i = 0; i < m->n_list; i++) {
        const struct tsim_list_layer *l = &m->list[i];
        if (l->kind == TSIM_LIST_PRODUCT && !l->is_shared)
            n += weights_of(l) + (l->has_bias ? (double)l->out : 0);
        else if (l->kind == TSIM_LIST_NORM && !l->is_shared)
            n += 2 * (double)l->out; /* scale and shift; running statistics are no parameters */
    }
    return n;
}

static void block_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *parameters) {
    (void)part;
    parameters->block = tsim_list_parameters(m) / (double)m->layers;
}

static void block_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    (void)part;
    for (size_t i = 0; i < m->n_list; i++) {
        const struct tsim_list_layer *l = &m->list[i];
        if (l->kind == TSIM_LIST_PRODUCT && !l->is_shared)
            tsim_matrices_add(matrices, times / (double)m->layers, (double)l->out,
                              (double)(l->kernel_area * (l->in / l->groups)), true);
    }
}

/* Returns the MACs of a product. Every weight of a convolution meets each pixel of the smaller image. */
static double product_macs(const struct tsim_list_layer *l) {
    return weights_of(l) * (double)(l->is_transposed ? l->in_area : l->out_area);
}

static double layer_macs(const struct tsim_list_layer *l) {
    if (l->kind == TSIM_LIST_INTERACTION) /* each pair once */
        return (double)((l->groups - 1) * l->in) / 2;
    return l->kind == TSIM_LIST_PRODUCT ? product_macs(l) : 0;
}

double tsim_list_macs(const struct tsim_model *m) {
    double macs = 0;
    for (size_t i = 0; i < m->n_list; i++)
        macs += layer_macs(&m->list[i]);
    return macs;
}

double tsim_list_flops_per_sample(const struct tsim_model *m) {
    double flops = 0;
    for (size_t i = 0; i < m->n_list; i++) {
        const struct tsim_list_layer *l = &m->list[i];
        double own = l->is_judge ? 2 : 1, macs = layer_macs(l);
        flops += own * (l->is_frozen ? 2 : 6 - (l->kind == TSIM_LIST_PRODUCT && l->is_first ? 2 : 0)) * macs;
        if (l->is_judge) /* once more for the generator: forward, and the gradient of what is judged */
            flops += 4 * macs;
    }
    return flops;
}

/* ---- kernels ---- */

struct batch {
    const struct tsim_scenario *scenario;
    double samples, e; /* bytes of an element */
    enum tsim_precision precision;
    bool is_fused;
    enum tsim_batch_norm batch_norm;
    bool is_frozen; /* the pass trains another network: no gradients of weights, but one of the first layer's input */
};

static struct batch batch_of(const struct tsim_scenario *sc) {
    bool is_wide = sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32,
         is_fused = sc->software->fusion != TSIM_FUSION_NONE;
    return (struct batch){.scenario = sc,
                          .samples = (double)sc->training.micro_batch_size,
                          .e = is_wide ? 4 : 2,
                          .precision = sc->training.precision,
                          .is_fused = is_fused,
                          .batch_norm = is_fused ? sc->software->batch_norm : TSIM_BATCH_NORM_APART};
}

/* ---- what is next to what ---- */

static bool is_at(const struct tsim_model *m, size_t i, enum tsim_list_kind kind) {
    return i < m->n_list && m->list[i].kind == kind; /* a look back before the first is a large index */
}

/* Returns whether a norm's result goes into the addition at a block's end. Before a projection of the block's input it
 * is the main branch's. */
static bool is_added(const struct tsim_model *m, size_t i) {
    return is_at(m, i + 1, TSIM_LIST_ADD) ||
           (is_at(m, i + 1, TSIM_LIST_PRODUCT) && is_at(m, i + 3, TSIM_LIST_ADD) &&
            (is_at(m, i + 2, TSIM_LIST_NORM) || is_at(m, i + 2, TSIM_LIST_FIXED_NORM)));
}

/* Returns whether it is a product whose input is what a norm and an activation made, and nothing else takes. */
static bool takes_norm(const struct tsim_model *m, size_t i) {
    return is_at(m, i, TSIM_LIST_PRODUCT) && !m->list[i].is_transposed && !m->list[i].is_elsewhere &&
           is_at(m, i - 1, TSIM_LIST_RELU) && is_at(m, i - 2, TSIM_LIST_NORM);
}

/* Returns whether it is the product whose input is the sum of norms at the end of the block before. */
static bool takes_sum(const struct tsim_model *m, size_t i) {
    return is_at(m, i, TSIM_LIST_PRODUCT) && !m->list[i].is_elsewhere && is_at(m, i - 1, TSIM_LIST_RELU) &&
           is_at(m, i - 2, TSIM_LIST_ADD) && !is_at(m, i - 3, TSIM_LIST_FIXED_NORM);
}

/* Returns whether norms make both operands of an addition. */
static bool adds_norms(const struct tsim_model *m, size_t i) {
    return is_at(m, i - 1, TSIM_LIST_NORM) && is_at(m, i - 3, TSIM_LIST_NORM);
}

static double in_elements(const struct batch *b, const struct tsim_list_layer *l) {
    return b->samples * (double)(l->in * l->in_area);
}

static double out_elements(const struct batch *b, const struct tsim_list_layer *l) {
    return b->samples * (double)(l->out * l->out_area);
}

/* Adds `groups` products of m x k by k x n that read and write each tensor once. */
static struct tsim_op *product(struct tsim_op_list *list, const char *name, const struct batch *b, double groups,
                               double m, double n, double k, double bytes) {
    struct tsim_op *op = batched(gemm(list, name, b->precision, m, n, k, b->e, b->e), groups);
    op->is_padded = true;
    op->bytes = bytes;
    return op;
}

static double tensor_bytes(const struct batch *b, const struct tsim_list_layer *l) {
    return b->e * (in_elements(b, l) + weights_of(l) + out_elements(b, l));
}

static bool is_depthwise(const struct tsim_list_layer *l) {
    return l->groups > 1 && l->groups == l->in;
}

/* Adds convolutions as the library runs them (see the header). */
static struct tsim_op *convolution(struct tsim_op_list *list, const char *name, const struct batch *b,
                                   const struct tsim_list_layer *l, double m, double n, double k) {
    struct tsim_op *op = product(list, name, b, (double)l->groups, m, n, k, tensor_bytes(b, l));
    bool is_image = l->in_area > 1;
    op->groups = (double)l->groups;
    op->is_depthwise = is_depthwise(l);
    if (is_image && !op->is_depthwise && b->precision == TSIM_TF32)
        op->bytes += 2 * b->e * (in_elements(b, l) + out_elements(b, l));
    return op;
}

static bool is_winograd(const struct batch *b, const struct tsim_list_layer *l) {
    return b->precision == TSIM_FP32 && l->kernel_area == 9 && l->stride == 1 && !is_depthwise(l) && !l->is_transposed;
}

/* Costs products with 3 x 3 kernels by Winograd's algorithm. `m`, `n`, `k` are those of one of the 16 of a group. */
static struct tsim_op *winograd(struct tsim_op_list *list, const char *name, const struct batch *b,
                                const struct tsim_list_layer *l, double m, double n, double k) {
    struct tsim_op *op = product(list, name, b, 16 * (double)l->groups, m, n, k, tensor_bytes(b, l));
    op->groups = (double)l->groups;
    op->is_winograd = true;
    return op;
}

static bool has_bias_pass(const struct batch *b, const struct tsim_list_layer *l) {
    return l->has_bias && b->is_fused && b->scenario->software->bias_activation == TSIM_BIAS_PASS;
}

/* Returns the pixels of the larger image for each pixel of the smaller one, which share no weight. */
static double taps_apart(const struct tsim_list_layer *l) {
    return l->kernel_area == 1 ? 1 : (double)(l->stride * l->stride);
}

static void product_forward(struct tsim_op_list *list, const struct batch *b, const struct tsim_list_layer *l) {
    double g = (double)l->groups, pixels = b->samples * (double)l->out_area;
    if (is_winograd(b, l))
        winograd(list, "convolution", b, l, pixels / 4, (double)l->out / g, (double)l->in / g);
    else if (l->is_transposed) /* as another convolution's input gradient */
        convolution(list, "convolution, transposed", b, l, b->samples * (double)l->in_area * taps_apart(l),
                    (double)l->out / g, (double)(l->kernel_area * l->in) / g / taps_apart(l));
    else
        convolution(list, l->in_area > 1 ? "convolution" : "linear", b, l, pixels, (double)l->out / g,
                    (double)(l->kernel_area * l->in) / g);
    if (l->has_bias && !b->is_fused)
        elementwise(list, "bias", out_elements(b, l), 2 * b->e, 1);
    if (has_bias_pass(b, l))
        elementwise(list, "bias, activation", out_elements(b, l), 2 * b->e, 1);
}

/* Returns the bytes of the norm's gradient. The kernel of an input's gradient reads more if it takes on the backward
 * pass of the norm that made its input: that norm's input, which also says what the activation let through; for a sum
 * the other branch's gradient, a bit an element, and each norm's input. */
static double norm_gradient_bytes(const struct tsim_model *m, size_t i, const struct batch *b) {
    if (b->batch_norm != TSIM_BATCH_NORM_FUSED)
        return 0;
    double n = in_elements(b, &m->list[i]);
    if (takes_norm(m, i))
        return n * b->e;
    return takes_sum(m, i) ? n * (b->e + BIT_BYTES + (adds_norms(m, i - 2) ? 2 : 1) * b->e) : 0;
}

/* Adds up the gradients of two layers that take the same result. */
static void gradient_sum(struct tsim_op_list *list, const struct batch *b, const struct tsim_list_layer *l,
                         double elements) {
    if (l->adds_gradient)
        elementwise(list, "gradients, sum", elements, 3 * b->e, 1);
}

static void product_backward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m, size_t i) {
    const struct tsim_list_layer *l = &m->list[i];
    double g = (double)l->groups, area = (double)l->kernel_area, step = taps_apart(l);
    double pixels = b->samples * (double)(l->is_transposed ? l->in_area : l->out_area);
    double in = (double)l->in, out = (double)l->out;
    bool is_image = l->in_area > 1, is_short = is_winograd(b, l);
    const char *input = is_image ? "convolution, input" : "linear, input";
    const char *weight = is_image ? "convolution, weight" : "linear, weight";
    bool is_masked = has_bias_pass(b, l) || (is_image && b->is_fused && l->has_bias && is_at(m, i + 1, TSIM_LIST_RELU));
    struct tsim_op *op;
    if (is_masked) /* the pass masks the gradient and sums it */
        elementwise(list, "bias, activation", out_elements(b, l), 3 * b->e, 1);
    if (!l->is_first || b->is_frozen) {
        op = is_short           ? winograd(list, input, b, l, pixels / 4, in / g, out / g)
             : l->is_transposed ? convolution(list, input, b, l, pixels, in / g, area * out / g)
                                : convolution(list, input, b, l, pixels * step, in / g, area * out / g / step);
        op->bytes += norm_gradient_bytes(m, i, b);
    }
    gradient_sum(list, b, l, in_elements(b, l));
    if (b->is_frozen)
        return;
    if (is_short)
        op = winograd(list, weight, b, l, out / g, in / g, pixels / 4);
    else if (l->is_transposed)
        op = convolution(list, weight, b, l, in / g, area * out / g, pixels);
    else
        op = convolution(list, weight, b, l, out / g, area * in / g, pixels);
    double gradient_bytes = b->scenario->training.gradient_precision == TSIM_FP32 ? 4 : 2;
    op->bytes += (2 * gradient_bytes - b->e) * weights_of(l);
    op->is_weight_gradient = true;
    if (l->has_bias && !is_masked)
        elementwise(list, "bias gradient", out_elements(b, l), b->e, 1)->is_weight_gradient = true;
}

/* Multiplies all v vectors of a sample with each other. Fused, it is one kernel made for these shapes that memory
 * bounds (NVIDIA DeepLearningExamples, dlrm/cuda_src/dot_based_interact), which keeps a triangle; else a batched
 * product, two backward, with vectors put side by side before and the triangle picked out after. */
static void interaction(struct tsim_op_list *list, const struct batch *b, const struct tsim_list_layer *l,
                        bool is_backward) {
    double v = (double)l->groups, dim = (double)l->in / v, in = in_elements(b, l), out = out_elements(b, l);
    const char *name = is_backward ? "interaction, inputs" : "interaction";
    double bytes = b->e * (is_backward ? 2 * in + out : in + out);
    if (b->is_fused) {
        elementwise(list, name, 1, bytes, 1)->flops = (is_backward ? 4 : 2) * b->samples * v * v * dim;
        return;
    }
    struct tsim_op *op = is_backward ? batched(gemm(list, name, b->precision, v, dim, v, b->e, b->e), 2 * b->samples)
                                     : batched(gemm(list, name, b->precision, v, v, dim, b->e, b->e), b->samples);
    op->bytes = bytes;
    elementwise(list, "interaction, copies", 1, 2 * b->e * (in + out), 2);
}

/* Returns whether the layer is computed with the one before, and is not a pass of its own. */
static bool is_fused_away(const struct batch *b, const struct tsim_list_layer *l, bool has_before) {
    return b->is_fused && has_before && l->kind == TSIM_LIST_RELU && l[-1].kind != TSIM_LIST_MAX_POOL &&
           l[-1].kind != TSIM_LIST_AVERAGE_POOL;
}

/* Returns whether the rest of a norm, whose sums the convolution before has written, is done in another layer's
 * kernel. */
static bool is_applied_elsewhere(const struct batch *b, const struct tsim_model *m, size_t i) {
    return b->batch_norm == TSIM_BATCH_NORM_FUSED ? is_added(m, i) || takes_norm(m, i + 2)
                                                  : is_at(m, i + 1, TSIM_LIST_ADD);
}

static void norm_forward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m, size_t i) {
    double n = out_elements(b, &m->list[i]);
    if (b->batch_norm == TSIM_BATCH_NORM_APART) {
        elementwise(list, "batch norm", n, 3 * b->e, 2);
        return;
    }
    elementwise(list, "batch norm, sums", (double)m->list[i].out, FINALIZED_BYTES, 1);
    if (!is_applied_elsewhere(b, m, i))
        elementwise(list, "batch norm", n, 2 * b->e, 1);
}

/* A fixed norm multiplies and adds. Fused, the addition behind it does so, with the activation; or the convolution
 * before it, if it is not in groups and norms are in convolutions at all; or it is one pass with the activation. */
static void fixed_norm_forward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m, size_t i) {
    bool is_in_convolution = b->batch_norm != TSIM_BATCH_NORM_APART && m->list[i - 1].groups == 1;
    if (!b->is_fused || (!is_added(m, i) && !is_in_convolution))
        elementwise(list, "fixed norm", out_elements(b, &m->list[i]), 2 * b->e, 1);
}

static void fixed_norm_backward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m,
                                size_t i) {
    bool is_written_beside = b->is_fused && is_added(m, i), is_masking = b->is_fused && is_at(m, i + 1, TSIM_LIST_RELU);
    double times = is_written_beside ? 1 : is_masking ? 3 : 2;
    elementwise(list, "fixed norm", out_elements(b, &m->list[i]), times * b->e, 1);
}

/* Returns the batch of a layer: the bottom MLP may be one rank's, for the samples of all. */
static struct batch batch_at(const struct batch *b, const struct tsim_list_layer *l) {
    struct batch at = *b;
    if (l->is_bottom && b->scenario->software->bottom_mlp == TSIM_BOTTOM_FIRST_RANK)
        at.samples *= (double)b->scenario->parallelism.data;
    return at;
}

static void layer_forward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m, size_t i) {
    const struct tsim_list_layer *l = &m->list[i];
    double n = out_elements(b, l), e = b->e;
    switch (l->kind) {
    case TSIM_LIST_PRODUCT:
        product_forward(list, b, l);
        return;
    case TSIM_LIST_NORM:
        norm_forward(list, b, m, i);
        return;
    case TSIM_LIST_FIXED_NORM:
        fixed_norm_forward(list, b, m, i);
        return;
    case TSIM_LIST_RELU:
        elementwise(list, "activation", n, 2 * e, 1);
        return;
    case TSIM_LIST_ENLARGE:
        elementwise(list, "image, enlarged", 1, (in_elements(b, l) + n) * e, 1);
        return;
    case TSIM_LIST_JOIN:
        elementwise(list, "images, joined", n, 2 * e, 1);
        return;
    case TSIM_LIST_ADD:
        elementwise(list, "residual", n, 3 * e + (b->batch_norm == TSIM_BATCH_NORM_FUSED ? BIT_BYTES : 0), 1);
        return;
    case TSIM_LIST_SCALE:
        elementwise(list, "channels, scale", n, 2 * e, 1);
        return;
    case TSIM_LIST_MAX_POOL:
        elementwise(list, "pool", 1, in_elements(b, l) * e + n * (e + PLACE_BYTES), 1);
        return;
    case TSIM_LIST_AVERAGE_POOL:
        elementwise(list, "pool", 1, (in_elements(b, l) + n) * e, 1);
        return;
    case TSIM_LIST_TABLES:
        tsim_tables_forward(b->scenario, list);
        return;
    case TSIM_LIST_INTERACTION:
        interaction(list, b, l, false);
        return;
    case TSIM_LIST_CROSS: /* product, first and last vectors in, one out */
        elementwise(list, "cross", n, 4 * e, 1);
        return;
    }
    TSIM_BUG("layer %d", (int)l->kind);
}

static void layer_backward(struct tsim_op_list *list, const struct batch *b, const struct tsim_model *m, size_t i) {
    const struct tsim_list_layer *l = &m->list[i];
    bool is_in_products = b->batch_norm == TSIM_BATCH_NORM_FUSED;
    double n = out_elements(b, l), e = b->e;
    if (l->is_frozen)
        return;
    switch (l->kind) {
    case TSIM_LIST_PRODUCT:
        product_backward(list, b, m, i);
        return;
    case TSIM_LIST_FIXED_NORM:
        fixed_norm_backward(list, b, m, i);
        return;
    case TSIM_LIST_ENLARGE:
        layer_forward(list, b, m, i);
        gradient_sum(list, b, l, in_elements(b, l));
        return;
    case TSIM_LIST_JOIN:
        layer_forward(list, b, m, i);
        gradient_sum(list, b, l, n - in_elements(b, l));
        return;
    case TSIM_LIST_NORM: /* two sums over dy and x; dx from both */
        if (is_in_products && (is_added(m, i) || takes_norm(m, i + 2)))
            elementwise(list, "batch norm", n, 3 * e, 1); /* the convolution that made dy has summed */
        else
            elementwise(list, "batch norm", n, 5 * e, 2);
        return;
    case TSIM_LIST_RELU:
        elementwise(list, "activation", n, 3 * e, 1);
        return;
    case TSIM_LIST_ADD: /* the two branches' gradients meet at the block's input; a named result has them already */
        gradient_sum(list, b, l, n);
        if (l->is_elsewhere || (is_in_products && takes_sum(m, i + 2)))
            return;
        elementwise(list, "residual gradient", n, 3 * e, 1);
        return;
    case TSIM_LIST_SCALE: /* times the factors; times the image, summed; and the pool's gradient is added */
        elementwise(list, "channels, scale", n, 2 * e + 2 * e, 2);
        return;
    case TSIM_LIST_MAX_POOL:
    case TSIM_LIST_AVERAGE_POOL:
        layer_forward(list, b, m, i);
        return;
    case TSIM_LIST_TABLES:
        tsim_tables_backward(b->scenario, list);
        return;
    case TSIM_LIST_INTERACTION:
        interaction(list, b, l, true);
        return;
    case TSIM_LIST_CROSS: /* gradient, product and first vector in, the product's gradient out, the first's added to */
        elementwise(list, "cross", n, 6 * e, 1);
        return;
    }
    TSIM_BUG("layer %d", (int)l->kind);
}

/* ---- passes ---- */

/* The number of batches that go through a discriminator in a step: it judges images from outside, images of the
 * generator, and these again with its new weights, for the generator's sake. */
enum { JUDGED = 3 };

static int passes_of(const struct tsim_model *m, size_t i) {
    return m->list[i].is_judge ? JUDGED : 1;
}

static struct batch batch_of_pass(const struct batch *b, int pass) {
    struct batch of = *b;
    of.is_frozen = pass == JUDGED - 1;
    return of;
}

/* Adds softmax, loss and their gradient, in fp32, on a result that no layer takes. */
static void loss(struct tsim_op_list *list, const struct batch *b, const struct tsim_list_layer *l) {
    if (!l->is_result)
        return;
    if (l->is_part)
        elementwise(list, "results, joined", out_elements(b, l), 2 * b->e, 1);
    elementwise(list, "loss", out_elements(b, l), b->e + 4, 3);
}

static int64_t variants(const struct tsim_model *m) {
    return m->layers;
}

/* Finds the layers of a block: [*from, *to). */
static void find_block(const struct tsim_model *m, int64_t block, size_t *from, size_t *to) {
    *from = 0;
    while (*from < m->n_list && m->list[*from].block < m->first_block + block)
        ++*from;
    *to = *from;
    while (*to < m->n_list && m->list[*to].block == m->first_block + block)
        ++*to;
}

static void block_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t block,
                          struct tsim_op_list *list) {
    const struct tsim_model *m = sc->model;
    struct batch all = batch_of(sc);
    size_t from, to;
    (void)part;
    find_block(m, block, &from, &to);
    for (int pass = 0; pass < passes_of(m, from); pass++) {
        struct batch b = batch_of_pass(&all, pass);
        for (size_t i = from; i < to; i++)
            if (!is_fused_away(&b, &m->list[i], i > 0)) {
                struct batch at = batch_at(&b, &m->list[i]);
                layer_forward(list, &at, m, i);
            }
        for (size_t i = from; i < to; i++)
            loss(list, &b, &m->list[i]);
    }
}

static void block_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t block,
                           struct tsim_op_list *list) {
    const struct tsim_model *m = sc->model;
    struct batch all = batch_of(sc);
    size_t from, to;
    (void)part;
    find_block(m, block, &from, &to);
    for (int pass = passes_of(m, from); pass-- > 0;) {
        struct batch b = batch_of_pass(&all, pass);
        for (size_t i = to; i-- > from;)
            loss(list, &b, &m->list[i]);
        for (size_t i = to; i-- > from;)
            if (!is_fused_away(&b, &m->list[i], i > 0)) {
                struct batch at = batch_at(&b, &m->list[i]);
                layer_backward(list, &at, m, i);
            }
    }
}

/* ---- parts ---- */

void tsim_list_part(const struct tsim_model *m, int64_t first_block, int64_t n_blocks, struct tsim_model *part) {
    size_t from = 0, to = m->n_list;
    while (from < to && m->list[from].block < first_block)
        from++;
    while (to > from && m->list[to - 1].block >= first_block + n_blocks)
        to--;
    *part = *m;
    part->list += from;
    part->n_list = to - from;
    part->layers = n_blocks;
    part->first_block = first_block;
}

static double result_bytes(const struct tsim_scenario *sc) {
    struct batch b = batch_of(sc);
    return out_elements(&b, &sc->model->list[sc->model->n_list - 1]) * b.e;
}

/* ---- memory ---- */

/* Keeps the mean of the blocks. */
static void block_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct batch b = batch_of(sc);
    double product_bytes = 0, norm_bytes = 0, pool_bytes = 0, blocks = (double)sc->model->layers;
    (void)part, (void)parts; /* nothing of a list is executed again */
    for (size_t i = 0; i < sc->model->n_list; i++) {
        const struct tsim_list_layer *l = &sc->model->list[i];
        struct batch at = batch_at(&b, l);
        double in_bytes = in_elements(&at, l) * b.e;
        if (l->is_frozen || l->is_kept)
            continue;
        if (b.batch_norm == TSIM_BATCH_NORM_FUSED && l->kind == TSIM_LIST_PRODUCT && takes_norm(sc->model, i))
            continue; /* it is made again from the norm's input, in the convolution */
        if (l->kind == TSIM_LIST_PRODUCT || l->kind == TSIM_LIST_INTERACTION || l->kind == TSIM_LIST_CROSS ||
            l->kind == TSIM_LIST_SCALE)
            product_bytes += in_bytes;
        else if (l->kind == TSIM_LIST_NORM)
            norm_bytes += in_bytes;
        else if (l->kind == TSIM_LIST_MAX_POOL)
            pool_bytes += in_bytes + out_elements(&b, l) * PLACE_BYTES;
    }
    tsim_keep(kept, "inputs of products", product_bytes / blocks);
    tsim_keep(kept, "inputs of batch norms", norm_bytes / blocks);
    tsim_keep(kept, "inputs of pools, places of maxima", pool_bytes / blocks);
}

static double block_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct batch b = batch_of(sc);
    double widest = 0;
    (void)part;
    for (size_t i = 0; i < sc->model->n_list; i++)
        widest = fmax(widest, fmax(in_elements(&b, &sc->model->list[i]), out_elements(&b, &sc->model->list[i])));
    return widest * b.e;
}

const struct tsim_whole_layer tsim_block_layer = {.variants = variants,
                                                  .has_graph = true,
                                                  .forward = block_forward,
                                                  .backward = block_backward,
                                                  .count = block_count,
                                                  .add_matrices = block_matrices,
                                                  .keep = block_keep,
                                                  .flow_bytes = result_bytes,
                                                  .widest_bytes = block_widest_bytes};
