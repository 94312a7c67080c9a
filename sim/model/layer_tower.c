/* Vision-language models: a vision transformer, a projector to the width of a language model, and its layers (Liu et
 * al. 2023, LLaVA, arXiv:2304.08485, figure 1; Bai et al. 2025, Qwen2.5-VL, arXiv:2502.13923, section 2.1). The tower's
 * layers are those of a model of its own, asked of their kinds for the images of a micro-batch in place of its samples.
 * Its tokens attend to those of their image alone. Context ranks, which cut the sequences of the language model, each
 * run the whole tower (Megatron-LM, megatron/core/models/multimodal/llava_model.py).
 *
 * Squares of `merge` x `merge` patches become one token each: their mean, or all of their values side by side. The projector is
 * one to four products, with activation functions between (one of them may be gated), behind the tower's last norm. Its
 * results take the place of as many tokens of the sequence, a pass that reads and writes them. Where there are several
 * projectors (DeepStack: Meng et al. 2024, arXiv:2406.04334; Qwen3-VL) each takes the result of another layer of the
 * tower and adds to a layer of the language model.
 *
 * A frozen tower goes forward alone and keeps nothing: nothing before it needs a gradient. Beside adapters the
 * projector is frozen, too. */
#include "config/lengths.h"
#include "model/inner_layer.h"
#include "model/matrices.h"
#include "model/model.h"

bool tsim_tower_is_frozen(const struct tsim_scenario *sc) {
    return sc->model->tower.frozen || tsim_is_frozen(sc);
}

/* Makes the scenario of the tower alone. */
void tsim_tower_scenario(const struct tsim_scenario *sc, struct tsim_scenario *own) {
    const struct tsim_tower *t = &sc->model->tower;
    *own = *sc;
    own->model = t->network;
    own->training.micro_batch_size = sc->training.micro_batch_size * t->images;
    own->training.sequence_length = t->image.tokens;
    own->training.lengths = (struct tsim_lengths_spec){0};
    own->training.adapter = (struct tsim_adapter_spec){0};
    own->parallelism.context = 1;
}

static struct tsim_op_shape shape_of_tower(const struct tsim_scenario *sc) {
    struct tsim_scenario own;
    tsim_tower_scenario(sc, &own);
    struct tsim_op_shape z = tsim_op_shape_first(&own);
    z.scenario = sc;
    return z;
}

double tsim_tower_tokens(const struct tsim_model *m) {
    return (double)(m->tower.images * m->tower.image.tokens);
}

/* Returns the tokens that a sample's images become. */
static double projected_tokens(const struct tsim_model *m) {
    const struct tsim_tower *t = &m->tower;
    return (double)t->images * tsim_model_patches(t->network) / (double)(t->merge * t->merge);
}

/* ---- a layer of the tower ---- */

static const struct tsim_mixer *mixer_of(enum tsim_part part) {
    return part == TSIM_PART_TOWER_WINDOW_LAYER ? &tsim_window_mixer : &tsim_attention_mixer;
}

static void layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_scenario own;
    (void)at;
    tsim_tower_scenario(sc, &own);
    tsim_inner_forward(mixer_of(part), &own, list);
}

static void layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_scenario own;
    (void)at;
    tsim_tower_scenario(sc, &own);
    if (!tsim_tower_is_frozen(sc))
        tsim_inner_backward(mixer_of(part), &own, list);
}

static void layer_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    tsim_inner_count(mixer_of(part), m->tower.network, p);
}

static void layer_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_scenario own;
    tsim_tower_scenario(sc, &own);
    if (!tsim_tower_is_frozen(sc))
        tsim_inner_keep(mixer_of(part), &own, parts, kept);
}

static double layer_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_scenario own;
    tsim_tower_scenario(sc, &own);
    return tsim_tower_is_frozen(sc) ? 0 : tsim_inner_waiting_bytes(mixer_of(part), &own);
}

static double layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_scenario own;
    (void)part;
    tsim_tower_scenario(sc, &own);
    return tsim_inner_widest_bytes(&own);
}

static void layer_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    if (!m->tower.frozen)
        tsim_inner_matrices(mixer_of(part), m->tower.network, times, matrices);
}

/* Counts what the tower takes of a sample, over the sample's tokens. */
static void layer_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                        double length, double unused, struct tsim_layer_flops *flops) {
    double tokens = (double)m->tower.image.tokens, frac = tsim_tower_tokens(m) / length;
    (void)p, (void)unused;
    *flops = tsim_inner_flops(mixer_of(part), m->tower.network, tokens);
    flops->products *= frac;
    flops->core *= frac;
}

/* Between layers flow the tower's tokens, and those of the text, which are looked up on the first stage. */
static double layer_flow_bytes(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = shape_of_tower(sc);
    return z.t * z.h * z.element_bytes + tsim_stream_bytes(sc);
}

const struct tsim_whole_layer tsim_tower_layer = {.forward = layer_forward,
                                                  .backward = layer_backward,
                                                  .count = layer_count,
                                                  .flops = layer_flops,
                                                  .add_matrices = layer_matrices,
                                                  .keep = layer_keep,
                                                  .shape = shape_of_tower,
                                                  .flow_bytes = layer_flow_bytes,
                                                  .is_frozen = tsim_tower_is_frozen,
                                                  .waiting_bytes = layer_waiting_bytes,
                                                  .widest_bytes = layer_widest_bytes};

/* ---- the projector ---- */

enum { MOST_PRODUCTS = 4 };
struct product {
    const char *name, *input, *weight;
    double n, k;
    bool is_column_parallel, is_row_parallel;
    bool is_gated; /* half of the columns are a gate */
};

/* Lists the projector's products as one tensor rank has them. If there are several, the ranks divide the columns of the
 * first and the rows of the second. */
static int products_of(const struct tsim_model *m, double tp, struct product products[MOST_PRODUCTS]) {
    static const struct product NAMES[] = {
        {.name = "projector up", .input = "projector up, input", .weight = "projector up, weight"},
        {.name = "projector down", .input = "projector down, input", .weight = "projector down, weight"},
        {.name = "projector inner", .input = "projector inner, input", .weight = "projector inner, weight"},
        {.name = "projector out", .input = "projector out, input", .weight = "projector out, weight"}};
    const struct tsim_tower *t = &m->tower;
    int n = (int)t->products;
    double square = t->pools ? 1 : (double)(t->merge * t->merge), from = square * (double)t->hidden;
    if (n == 1) {
        products[0] = (struct product){.name = "projector",
                                       .input = "projector, input",
                                       .weight = "projector, weight",
                                       .n = (double)m->hidden,
                                       .k = from};
        return 1;
    }
    for (int i = 0; i < n; i++) {
        bool is_last = i == n - 1, is_second = n > 2 && i == n - 2;
        products[i] = NAMES[is_last && n > 2 ? MOST_PRODUCTS - 1 : i];
        products[i].k = from;
        from = (double)(is_last ? m->hidden : is_second ? t->second_inner : t->inner);
        products[i].is_gated = is_second && t->gated_projector;
        products[i].n = products[i].is_gated ? 2 * from : from;
    }
    products[0].n /= tp;
    products[1].k /= tp;
    products[0].is_column_parallel = products[1].is_row_parallel = true;
    return n;
}

/* Returns the tokens that come out of all projectors, as wide as the language model. */
static struct tsim_op_shape projected_shape(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    z.s = z.sk = projected_tokens(sc->model) * (double)sc->model->tower.projectors;
    z.t = z.tk = z.ts = z.b * z.s;
    z.sequence_parallel = false;
    return z;
}

static void projector_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                              struct tsim_op_list *list) {
    struct tsim_op_shape z = projected_shape(sc), tower = shape_of_tower(sc);
    struct product products[MOST_PRODUCTS];
    double e = z.element_bytes, le = z.linear_bytes;
    int n = products_of(z.model, z.tp, products);
    (void)part, (void)at;
    tsim_op_norm_forward(list, &tower, "norm of the tower");
    if (z.model->tower.pools)
        elementwise(list, "mean of patches", tower.t * tower.h, e, 1);
    for (int i = 0; i < n; i++) {
        cast(list, &z, "cast", z.t * products[i].k);
        gemm(list, products[i].name, z.linear_precision, z.t, products[i].n, products[i].k, le, e);
        if (products[i].is_row_parallel && z.tp > 1)
            sum_partial(list, &z, "tensor: reduce, projector", z.t * products[i].n * e, TSIM_EXPOSED);
        if (i < n - 1)
            elementwise(list, "projector, activation", z.t * products[i + 1].k, (products[i].is_gated ? 3 : 2) * e, 1);
    }
    elementwise(list, "images into the sequence", z.t * z.h, 2 * e, 1);
}

static void projector_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                               struct tsim_op_list *list) {
    struct tsim_op_shape z = projected_shape(sc), tower = shape_of_tower(sc);
    struct product products[MOST_PRODUCTS];
    double e = z.element_bytes;
    int n = products_of(z.model, z.tp, products);
    (void)part, (void)at;
    if (tsim_is_frozen(sc))
        return;
    elementwise(list, "images out of the sequence", z.t * z.h, 2 * e, 1);
    for (int i = n - 1; i >= 0; i--) {
        tsim_op_linear_backward(list, &z,
                                &(struct tsim_op_linear){.input = products[i].input,
                                                         .weight = products[i].weight,
                                                         .gather = "tensor: gather, projector",
                                                         .reduce = "tensor: reduce, projector",
                                                         .n = products[i].n,
                                                         .k = products[i].k,
                                                         .is_column_parallel = products[i].is_column_parallel});
        if (i > 0)
            elementwise(list, "projector, activation", z.t * products[i].k, (products[i - 1].is_gated ? 5 : 3) * e, 1);
    }
    if (z.model->tower.pools)
        elementwise(list, "mean of patches", tower.t * tower.h, e, 1);
    tsim_op_norm_backward(list, &tower, "norm of the tower");
}

static void projector_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts,
                           struct tsim_kept *kept) {
    struct tsim_op_shape z = projected_shape(sc), tower = shape_of_tower(sc);
    struct product products[MOST_PRODUCTS];
    int n = products_of(z.model, z.tp, products);
    (void)part, (void)parts;
    if (tsim_is_frozen(sc))
        return;
    tsim_keep(kept, "input of the tower's last norm", tower.ts * tower.h * tower.element_bytes);
    for (int i = 0; i < n; i++)
        tsim_keep(kept, i == 0 ? "input of the projector" : "projector: inner tensor",
                  z.t * ((i == 0 ? 0 : products[i - 1].n * z.element_bytes) + products[i].k * z.linear_bytes));
}

static double parameters_of_products(const struct tsim_model *m) {
    struct product products[MOST_PRODUCTS];
    double parameters = 0;
    for (int i = products_of(m, 1, products); i-- > 0;)
        parameters += products[i].n * (products[i].k + (m->tower.unbiased_projector ? 0 : 1));
    return parameters * (double)m->tower.projectors;
}

/* A single product is whole on every tensor rank. */
static void projector_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    (void)part;
    p->norms = tsim_count_norm(m->tower.network);
    *(m->tower.products == 1 ? &p->latent : &p->ffn) = parameters_of_products(m);
}

static void projector_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                            double length, double unused, struct tsim_layer_flops *flops) {
    (void)part, (void)p, (void)unused;
    *flops = (struct tsim_layer_flops){.products = 2 * parameters_of_products(m) * projected_tokens(m) / length};
}

static void projector_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                               struct tsim_matrices *matrices) {
    struct product products[MOST_PRODUCTS];
    (void)part;
    for (int i = products_of(m, 1, products); i-- > 0;)
        tsim_matrices_add(matrices, times * (double)m->tower.projectors, products[i].n, products[i].k, true);
}

static double projector_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = projected_shape(sc);
    struct product products[MOST_PRODUCTS];
    double elements = 0;
    (void)part;
    for (int i = products_of(z.model, z.tp, products); i-- > 0;)
        elements += z.t * (products[i].n + products[i].k);
    return tsim_is_frozen(sc) ? 0 : elements * z.linear_bytes;
}

static double projector_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = projected_shape(sc);
    struct product products[MOST_PRODUCTS];
    double widest = 0;
    (void)part;
    for (int i = products_of(z.model, z.tp, products); i-- > 0;)
        widest = products[i].n > widest ? products[i].n : widest;
    return z.t * widest * z.element_bytes;
}

const struct tsim_whole_layer tsim_projector_layer = {.forward = projector_forward,
                                                      .backward = projector_backward,
                                                      .count = projector_count,
                                                      .flops = projector_flops,
                                                      .add_matrices = projector_matrices,
                                                      .keep = projector_keep,
                                                      .shape = tsim_op_shape_first,
                                                      .flow_bytes = tsim_stream_bytes,
                                                      .is_frozen = tsim_is_frozen,
                                                      .waiting_bytes = projector_waiting_bytes,
                                                      .widest_bytes = projector_widest_bytes};
