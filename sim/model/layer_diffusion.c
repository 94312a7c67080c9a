/* Layers of diffusion transformers. Their norms have no scale of their own. The moment of diffusion and what is asked
 * for (a class, a text) give each sample a vector c, and c gives each layer six vectors as wide as the model: a shift,
 * a scale and a gate for attention, and the same for the feed-forward block (Peebles and Xie 2022, DiT,
 * arXiv:2212.09748, figure 3, adaLN-Zero).
 *
 * A `modulated` layer attends both ways, then to the tokens of a text if the model has one, then has a feed-forward
 * block. The six vectors come from a product of its own (DiT), or from one product for all layers, to which each layer
 * adds a table (Wan 2.1: Wan-Video/Wan2.1, wan/modules/model.py, WanAttentionBlock). In Wan the norm before attention
 * to the text has a scale and a shift of its own.
 *
 * A `joint` layer has weights for the image and others for the text, whose tokens attend to each other in one sequence
 * (Esser et al. 2024, Stable Diffusion 3, arXiv:2403.03206, figure 2b). The last one gives the image alone: its text
 * has queries, keys, values and two vectors, and nothing behind them.
 *
 * Symbols besides those of local_shape.c: b samples, each with x tokens of text. The products of c have b rows, and are
 * whole on every tensor rank. Scaling and shifting a norm's result is a pass of 2 e, backward 3 e and the sums of both
 * gradients (2 e). Gating is a pass of 2 e, backward 3 e and one sum. Forward, a compiler puts the first into the norm
 * and the second into the residual; backward it leaves one pass for the sums. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/model.h"
#include "model/operator_builders.h"

/* The vectors of a layer are shift, scale and gate for each of two blocks. The last joint layer's text has the first
 * two. */
#define VECTORS 6.0
#define VECTORS_OF_LAST_TEXT 2.0

static double product_of_vectors(const struct tsim_model *m, double vectors) {
    double h = (double)m->hidden;
    return m->diffusion.shared_modulation ? 0 : h * vectors * h + vectors * h;
}

/* Megatron's own are compiled, too (Megatron-Bridge, diffusion/models/wan/wan_layer_spec.py: jit_fuser on normalize_modulate
 * and scale_add). */
static bool is_compiled(const struct tsim_op_shape *z) {
    return z->software->fusion == TSIM_FUSION_COMPILE || z->software->fusion == TSIM_FUSION_TE;
}

/* Returns the shape of a text's tokens, all of which are on every context rank. */
static struct tsim_op_shape text_shape(const struct tsim_op_shape *z) {
    struct tsim_op_shape text = *z;
    text.s = text.sk = (double)z->model->diffusion.text_tokens;
    text.t = text.tk = z->b * text.s;
    text.ts = text.t;
    text.sequence_parallel = false;
    return text;
}

/* ---- modulation ---- */

static void vectors_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, double vectors) {
    double e = z->element_bytes;
    if (z->model->diffusion.shared_modulation)
        elementwise(list, "modulation, table", z->b * vectors * z->h, 3 * e, 1);
    else
        gemm(list, "modulation", z->attention_precision, z->b, vectors * z->h, z->h, e, e);
}

static void vectors_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, double vectors) {
    struct tsim_op_shape samples = *z;
    samples.t = samples.ts = z->b;
    samples.tp = 1;
    samples.sequence_parallel = false;
    samples.linear_precision = z->attention_precision;
    samples.linear_bytes = z->element_bytes;
    if (z->model->diffusion.shared_modulation)
        elementwise(list, "modulation, table", z->b * vectors * z->h, 3 * z->element_bytes, 1);
    else
        tsim_op_linear_backward(list, &samples,
                                &(struct tsim_op_linear){.input = "modulation, input",
                                                         .weight = "modulation, weight",
                                                         .n = vectors * z->h,
                                                         .k = z->h,
                                                         .is_never_quantized = true});
}

static void scale_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (!is_compiled(z))
        elementwise(list, name, z->ts * z->h, 2 * z->element_bytes, 1);
}

static void gate_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    double e = z->element_bytes;
    elementwise(list, name, z->ts * z->h, is_compiled(z) ? 3 * e : 3 * e + 2 * e, is_compiled(z) ? 1 : 2);
}

static void scale_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    double e = z->element_bytes;
    elementwise(list, name, z->ts * z->h, is_compiled(z) ? 2 * e : 3 * e + 2 * e, is_compiled(z) ? 1 : 2);
}

/* Keeps the outputs of the blocks before their gates, and those of the norms, which a compiler makes again from their
 * inputs. */
static void keep_modulation(const struct tsim_op_shape *z, struct tsim_kept *kept) {
    double e = z->element_bytes;
    tsim_keep(kept, "modulation: what is gated", z->ts * 2 * z->h * e);
    if (!is_compiled(z))
        tsim_keep(kept, "modulation: what is scaled", z->ts * 2 * z->h * e);
}

static void ffn_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_ffn_forward(list, z);
    scale_forward(list, z, "modulation, scale 2");
    scale_forward(list, z, "modulation, gate 2");
}

static void ffn_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    gate_backward(list, z, "modulation, gate 2");
    scale_backward(list, z, "modulation, scale 2");
    tsim_op_ffn_backward(list, z);
}

/* ---- a modulated layer ---- */

static void modulated_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                              struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z);
    (void)part, (void)at;
    vectors_forward(list, &z, VECTORS);
    tsim_op_attention_forward(list, &z);
    scale_forward(list, &z, "modulation, scale 1");
    scale_forward(list, &z, "modulation, gate 1");
    if (text.s > 0)
        tsim_op_cross_forward(list, &z, &text);
    ffn_forward(list, &z);
}

static void modulated_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                               struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z);
    (void)part, (void)at;
    ffn_backward(list, &z);
    if (text.s > 0)
        tsim_op_cross_backward(list, &z, &text);
    gate_backward(list, &z, "modulation, gate 1");
    scale_backward(list, &z, "modulation, scale 1");
    tsim_op_attention_backward(list, &z);
    vectors_backward(list, &z, VECTORS);
}

static void modulated_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts,
                           struct tsim_kept *kept) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z);
    (void)part;
    tsim_keep_attention(&z, parts, kept);
    if (text.s > 0)
        tsim_keep_cross(&z, &text, parts, kept);
    keep_modulation(&z, kept);
    tsim_keep_ffn(&z, "feed-forward: inner tensors", z.f, parts, kept);
    tsim_keep_core(&z, parts, kept);
}

static double modulated_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    double attentions = z.model->diffusion.text_tokens > 0 ? 2 : 1;
    (void)part;
    return z.linear_bytes * (attentions * tsim_attention_waiting(&z) + tsim_ffn_waiting(&z, z.f));
}

static double modulated_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)part;
    return tsim_ffn_widest_bytes(&z);
}

static void modulated_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    double h = (double)m->hidden;
    (void)part;
    tsim_count_attention(m, p);
    tsim_count_ffn_norms(m, p);
    p->ffn = tsim_count_mlp(m, (double)m->ffn_hidden);
    p->modulation = m->diffusion.shared_modulation ? VECTORS * h : product_of_vectors(m, VECTORS);
    if (m->diffusion.text_tokens > 0) {
        p->cross = p->attention;
        p->cross_norm = 2 * h + (m->wide_qk_norm ? tsim_count_wide_norms(m) : 0);
    }
}

static void modulated_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                               struct tsim_matrices *matrices) {
    double h = (double)m->hidden;
    (void)part;
    tsim_matrices_add_attention(matrices, m, (m->diffusion.text_tokens > 0 ? 2 : 1) * times);
    tsim_matrices_add_ffn(matrices, m, times, (double)m->ffn_hidden);
    if (!m->diffusion.shared_modulation)
        tsim_matrices_add(matrices, times, h, VECTORS * h, true);
}

/* Counts a layer's FLOPs. Keys and values of the text meet its tokens, and the product of c meets one vector of a
 * sample. */
static void modulated_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                            double length, double unused, struct tsim_layer_flops *flops) {
    double x = (double)m->diffusion.text_tokens, q = (double)(m->heads * m->head_dim),
           of_text = x > 0 ? (double)(2 * m->kv_heads * m->head_dim * m->hidden) : 0;
    (void)part, (void)unused;
    double products =
        p->attention + p->ffn + p->cross - of_text + of_text * x / length + product_of_vectors(m, VECTORS) / length;
    *flops = (struct tsim_layer_flops){2 * products, 4 * q * (length + x)};
}

/* ---- a joint layer ---- */

/* Returns the shape of image and text as one sequence. Context ranks divide the image's tokens; each has the whole
 * text. */
static struct tsim_op_shape joined_shape(const struct tsim_op_shape *z, const struct tsim_op_shape *text) {
    struct tsim_op_shape joined = *z;
    joined.s = z->s + text->s;
    joined.sk = z->sk + text->s;
    joined.t = z->t + text->t / z->cp;
    joined.tk = z->tk + text->t / z->cp;
    return joined;
}

/* Adds a stream's operators up to the core of attention. Adapters, if there are any, are beside the image's
 * products. */
static void stream_to_core(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, bool is_text) {
    tsim_op_norm_before_linear(list, z, "norm 1");
    scale_forward(list, z, "modulation, scale 1");
    tsim_op_gather_input(list, z, "tensor: gather, attention", z->h);
    gemm(list, name, z->linear_precision, z->t, z->query + z->key + z->value, z->h, z->linear_bytes, z->element_bytes);
    if (!is_text)
        tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_QKV));
}

static void stream_from_core(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, bool is_text) {
    cast(list, z, "cast", z->t * z->q);
    gemm(list, name, z->linear_precision, z->t, z->h, z->q, z->linear_bytes, z->element_bytes);
    if (!is_text)
        tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_OUT));
    tsim_op_reduce_output(list, z, "tensor: reduce, attention");
    scale_forward(list, z, "modulation, gate 1");
    tsim_op_residual_forward(list, z, "residual 1", true);
    ffn_forward(list, z);
}

static void product_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, enum tsim_layer_product product,
                             const struct tsim_op_linear *linear, bool is_text) {
    if (is_text)
        tsim_op_linear_backward(list, z, linear);
    else
        tsim_op_product_backward(list, z, product, linear);
}

static void stream_from_core_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, bool is_text) {
    ffn_backward(list, z);
    tsim_op_residual_backward(list, z, "residual 1");
    gate_backward(list, z, "modulation, gate 1");
    product_backward(list, z, TSIM_PRODUCT_OUT,
                     &(struct tsim_op_linear){.input = "attention output, input",
                                              .weight = "attention output, weight",
                                              .gather = "tensor: gather, attention",
                                              .n = z->h,
                                              .k = z->q},
                     is_text);
}

static void stream_to_core_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, bool is_text) {
    product_backward(list, z, TSIM_PRODUCT_QKV,
                     &(struct tsim_op_linear){.input = "attention qkv, input",
                                              .weight = "attention qkv, weight",
                                              .gather = "tensor: gather input, attention",
                                              .reduce = "tensor: reduce, attention",
                                              .n = z->query + z->key + z->value,
                                              .k = z->h,
                                              .is_column_parallel = true},
                     is_text);
    scale_backward(list, z, "modulation, scale 1");
    tsim_op_norm_backward(list, z, "norm 1");
}

static void joint_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    bool is_last = part == TSIM_PART_LAST_JOINT_LAYER;
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z), joined = joined_shape(&z, &text);
    (void)at;
    vectors_forward(list, &z, VECTORS);
    vectors_forward(list, &z, is_last ? VECTORS_OF_LAST_TEXT : VECTORS);
    stream_to_core(list, &z, "attention qkv", false);
    stream_to_core(list, &text, "attention qkv, text", true);
    tsim_op_core_forward(list, &joined);
    stream_from_core(list, &z, "attention output", false);
    if (!is_last)
        stream_from_core(list, &text, "attention output, text", true);
}

static void joint_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    bool is_last = part == TSIM_PART_LAST_JOINT_LAYER;
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z), joined = joined_shape(&z, &text);
    (void)at;
    if (!is_last)
        stream_from_core_backward(list, &text, true);
    stream_from_core_backward(list, &z, false);
    tsim_op_core_backward(list, &joined);
    stream_to_core_backward(list, &text, true);
    stream_to_core_backward(list, &z, false);
    vectors_backward(list, &z, is_last ? VECTORS_OF_LAST_TEXT : VECTORS);
    vectors_backward(list, &z, VECTORS);
}

/* Keeps a stream's tensors. The last layer has no text operators behind the core of attention. */
static void keep_stream(const struct tsim_op_shape *z, unsigned parts, bool is_last_text, struct tsim_kept *kept) {
    struct tsim_op_shape own = *z;
    own.is_alone = is_last_text;
    tsim_keep_attention(&own, parts, kept);
    if (is_last_text)
        return;
    keep_modulation(z, kept);
    tsim_keep_ffn(z, "feed-forward: inner tensors", z->f, parts, kept);
}

static void joint_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z), joined = joined_shape(&z, &text);
    keep_stream(&z, parts, false, kept);
    keep_stream(&text, parts, part == TSIM_PART_LAST_JOINT_LAYER, kept);
    tsim_keep_core(&joined, parts, kept);
}

/* Returns the bytes of both streams, which go on to the next layer. */
static double joint_flow_bytes(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    return tsim_stream_bytes(sc) + text_shape(&z).t * z.h * z.element_bytes;
}

static double joint_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), text = text_shape(&z);
    (void)part;
    return z.linear_bytes * (tsim_attention_waiting(&z) + tsim_ffn_waiting(&z, z.f) + tsim_attention_waiting(&text) +
                             tsim_ffn_waiting(&text, text.f));
}

/* Counts a joint layer's parameters, which are doubled; in the last one the text has no output and no feed-forward
 * block, and two vectors. */
static void joint_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    bool is_last = part == TSIM_PART_LAST_JOINT_LAYER;
    double h = (double)m->hidden, output = (double)(m->heads * m->head_dim) * h + (m->bias ? h : 0);
    tsim_count_attention(m, p);
    p->attention = 2 * p->attention - (is_last ? output : 0);
    p->norms *= 2; /* those of queries and keys, if they are normalized: the others have no parameters */
    p->ffn = (is_last ? 1 : 2) * tsim_count_mlp(m, (double)m->ffn_hidden);
    p->modulation = product_of_vectors(m, VECTORS) + product_of_vectors(m, is_last ? VECTORS_OF_LAST_TEXT : VECTORS);
}

static void joint_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    double h = (double)m->hidden;
    (void)part;
    tsim_matrices_add_attention(matrices, m, 2 * times);
    tsim_matrices_add_ffn(matrices, m, 2 * times, (double)m->ffn_hidden);
    tsim_matrices_add(matrices, 2 * times, h, VECTORS * h, true);
}

/* Counts a joint layer's FLOPs. Half of the parameters are the image's; the text's meet its tokens. */
static void joint_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                        double length, double unused, struct tsim_layer_flops *flops) {
    struct tsim_layer_parameters whole = {0};
    double x = (double)m->diffusion.text_tokens, q = (double)(m->heads * m->head_dim);
    (void)part, (void)unused;
    joint_count(m, TSIM_PART_JOINT_LAYER, &whole);
    double image = (whole.attention + whole.ffn) / 2, text = p->attention + p->ffn - image;
    *flops = (struct tsim_layer_flops){2 * (image + text * x / length + p->modulation / length),
                                       4 * q * (length + x) * (length + x) / length};
}

const struct tsim_whole_layer tsim_modulated_layer = {.forward = modulated_forward,
                                                      .backward = modulated_backward,
                                                      .count = modulated_count,
                                                      .flops = modulated_flops,
                                                      .add_matrices = modulated_matrices,
                                                      .keep = modulated_keep,
                                                      .shape = tsim_op_shape_first,
                                                      .flow_bytes = tsim_stream_bytes,
                                                      .waiting_bytes = modulated_waiting_bytes,
                                                      .widest_bytes = modulated_widest_bytes};

const struct tsim_whole_layer tsim_joint_layer = {.forward = joint_forward,
                                                  .backward = joint_backward,
                                                  .count = joint_count,
                                                  .flops = joint_flops,
                                                  .add_matrices = joint_matrices,
                                                  .keep = joint_keep,
                                                  .shape = tsim_op_shape_first,
                                                  .flow_bytes = joint_flow_bytes,
                                                  .waiting_bytes = joint_waiting_bytes,
                                                  .widest_bytes = modulated_widest_bytes};

/* ---- the ends ---- */

/* The rows of a product of a sample's vector, or of its text. */
struct product {
    const char *name, *input, *weight; /* input: NULL, if nothing needs its gradient */
    double rows, n, k;
};
enum { MOST_PRODUCTS = 8 };

/* Lists the products before the layers: patches to tokens; the moment's frequencies to c by two products; a pooled text
 * by two more, tokens of the text by one or two; and, if layers share it, the product to the six vectors. */
static int products_before(const struct tsim_op_shape *z, struct product *products) {
    const struct tsim_diffusion *d = &z->model->diffusion;
    double h = z->h, texts = z->b * (double)d->text_tokens;
    int n = 0;
    products[n++] = (struct product){"patches", NULL, "patches, weight", z->t, h, (double)d->values};
    products[n++] = (struct product){"moment", NULL, "moment, weight", z->b, h, (double)d->frequencies};
    products[n++] = (struct product){"moment 2", "moment 2, input", "moment 2, weight", z->b, h, h};
    if (d->pooled_width > 0) {
        products[n++] = (struct product){"pooled text", NULL, "pooled text, weight", z->b, h, (double)d->pooled_width};
        products[n++] = (struct product){"pooled text 2", "pooled text 2, input", "pooled text 2, weight", z->b, h, h};
    }
    if (texts > 0)
        products[n++] = (struct product){"text", NULL, "text, weight", texts, h, (double)d->text_width};
    if (texts > 0 && d->text_products > 1)
        products[n++] = (struct product){"text 2", "text 2, input", "text 2, weight", texts, h, h};
    if (d->shared_modulation)
        products[n++] = (struct product){"modulation", "modulation, input", "modulation, weight", z->b, VECTORS * h, h};
    return n;
}

/* Lists the products behind the layers: the last norm's shift and scale, and a token's values. */
static int products_behind(const struct tsim_op_shape *z, struct product *products) {
    const struct tsim_diffusion *d = &z->model->diffusion;
    int n = 0;
    if (!d->shared_modulation)
        products[n++] = (struct product){"modulation", "modulation, input", "modulation, weight", z->b, 2 * z->h, z->h};
    products[n++] = (struct product){"head", "head, input", "head, weight", z->t, (double)d->out_values, z->h};
    return n;
}

static double parameters_of(const struct product *products, int n) {
    double parameters = 0;
    for (int i = 0; i < n; i++)
        parameters += products[i].n * products[i].k + products[i].n;
    return parameters;
}

struct tsim_end_parameters tsim_diffusion_ends(const struct tsim_model *m) {
    struct tsim_op_shape any = {.model = m, .h = (double)m->hidden, .b = 1, .t = 1};
    struct product products[MOST_PRODUCTS];
    int n_behind = products_behind(&any, products);
    double h = (double)m->hidden, behind = parameters_of(products, n_behind);
    int n_before = products_before(&any, products);
    double before = parameters_of(products, n_before);
    return (struct tsim_end_parameters){.embedding = before + (double)m->vocab * h +
                                                     (double)(m->positions * m->hidden + m->other_parameters),
                                        .final_norm = tsim_count_norm(m),
                                        .head = behind + (m->diffusion.shared_modulation ? 2 * h : 0)};
}

double tsim_diffusion_end_flops(const struct tsim_model *m, double length) {
    struct tsim_op_shape any = {.model = m, .h = (double)m->hidden, .b = 1, .t = length};
    struct product products[MOST_PRODUCTS];
    double flops = 0;
    for (int i = products_before(&any, products); i-- > 0;)
        flops += 2 * products[i].rows * products[i].n * products[i].k;
    for (int i = products_behind(&any, products); i-- > 0;)
        flops += 2 * products[i].rows * products[i].n * products[i].k;
    return flops / length;
}

static void products_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct product *products,
                             int n) {
    double e = z->element_bytes;
    for (int i = 0; i < n; i++)
        gemm(list, products[i].name, z->attention_precision, products[i].rows, products[i].n, products[i].k, e, e);
}

static void products_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct product *products,
                              int n) {
    double e = z->element_bytes;
    for (const struct product *x = products + n; x-- > products;) {
        if (x->input)
            gemm(list, x->input, z->attention_precision, x->rows, x->k, x->n, e, e);
        if (tsim_is_frozen(z->scenario))
            continue;
        gemm(list, x->weight, z->attention_precision, x->n, x->k, x->rows, e, 2 * z->gradient_bytes)
            ->is_weight_gradient = true;
    }
}

void tsim_diffusion_embedding_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct product products[MOST_PRODUCTS];
    products_forward(list, z, products, products_before(z, products));
    if (z->model->position == TSIM_POSITION_LEARNED)
        elementwise(list, "positions", z->ts * z->h, 3 * z->element_bytes, 1);
}

void tsim_diffusion_embedding_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct product products[MOST_PRODUCTS];
    products_backward(list, z, products, products_before(z, products));
}

/* Adds the head and the loss, which is the mean square of a difference, in fp32. */
void tsim_diffusion_head_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct product products[MOST_PRODUCTS];
    tsim_op_norm_forward(list, z, "final norm");
    scale_forward(list, z, "modulation, scale");
    products_forward(list, z, products, products_behind(z, products));
    elementwise(list, "loss", z->t * (double)z->model->diffusion.out_values, 2 * z->element_bytes + 4, 2);
}

void tsim_diffusion_head_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct product products[MOST_PRODUCTS];
    elementwise(list, "loss", z->t * (double)z->model->diffusion.out_values, 4 + z->element_bytes, 1);
    products_backward(list, z, products, products_behind(z, products));
    scale_backward(list, z, "modulation, scale");
    tsim_op_norm_backward(list, z, "final norm");
}
