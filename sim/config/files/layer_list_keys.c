#include "config/files/layer_list_keys.h"

enum { MAX_LAYERS = 4096 };

/* clang-format off */
static const struct tsim_word ENTRY_KINDS[] = {
    {"conv", TSIM_ENTRY_CONV}, {"transposed", TSIM_ENTRY_TRANSPOSED}, {"linear", TSIM_ENTRY_LINEAR}, {"max-pool", TSIM_ENTRY_MAX_POOL},
    {"average-pool", TSIM_ENTRY_AVERAGE_POOL}, {"bottleneck", TSIM_ENTRY_BOTTLENECK},
    {"inverted", TSIM_ENTRY_INVERTED}, {NULL, 0}};

#define ENTRY_INT(name_, default_, max_, help_)                                                                        \
    .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_list_entry, name_), .max = (max_),             \
    .default_text = (default_), .help = (help_)
#define ENTRY_BOOL(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_list_entry, name_), .default_text = "false", \
     .help = (help_)}
static const struct tsim_key ENTRY_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_list_entry, kind), .words = ENTRY_KINDS,
     .is_required = true, .help = "kind of the layer"},
    {ENTRY_INT(out, "0", 1e7, "output channels or features; pools keep theirs")},
    {ENTRY_INT(kernel, "0", 1e4, "side of the kernel; default: 1, pools: the whole image, bottlenecks and inverted: 3")},
    {ENTRY_INT(stride, "1", 1e4, "step between outputs; of repeated blocks the first's"), .is_positive = true},
    {ENTRY_INT(padding, "0", 1e4, "rows of zeros around the image")},
    {ENTRY_INT(groups, "1", 1e6, "groups of channels that do not mix"), .is_positive = true},
    {ENTRY_INT(width, "0", 1e7, "bottleneck: channels of its two inner convolutions")},
    {ENTRY_INT(expand, "0", 1e3, "inverted: its inner channels over those of its input; default: 1"), .is_omitted_when_zero = true},
    {ENTRY_INT(squeeze, "0", 1e3, "inverted: squeeze and excitation, as input channels over squeezed channels; 0: none"),
     .is_omitted_when_zero = true},
    ENTRY_BOOL(bias, "the layer has a bias"),
    ENTRY_BOOL(norm, "batch normalization follows"),
    ENTRY_BOOL(relu, "an activation function follows"),
    {ENTRY_INT(repeat, "1", 1e4, "how many of them in a row"), .is_positive = true},
};
TSIM_TABLE(ENTRY, ENTRY_KEYS, false);

#define INPUT_INT(name_, default_, help_)                                                                              \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, input_##name_), .max = 1e6,            \
     .default_text = (default_), .is_positive = true, .help = (help_)}
static const struct tsim_key INPUT_KEYS[] = {
    INPUT_INT(channels, "1", "channels of an image, or features of a vector"),
    INPUT_INT(height, "1", "height of an image"),
    INPUT_INT(width, "1", "width of an image"),
};
TSIM_TABLE(INPUT, INPUT_KEYS, false);

const struct tsim_key tsim_list_keys[TSIM_N_LIST_KEYS] = {
    {.key = "input", .kind = TSIM_KEY_MAPPING, .table = &INPUT, .is_required = true, .help = "shape of one sample"},
    {.key = "list", TSIM_LIST(struct tsim_model, entries, n_entries, &ENTRY), .is_required = true,
     .help = "the layers in order: list of {kind, out, kernel, stride, ...}"},
    {.key = "discriminator", TSIM_LIST(struct tsim_model, judges, n_judges, &ENTRY),
     .help = "of a GAN, whose generator is the list: layers that take the last one's image, or one from outside, and are trained in turn with it"},
};
/* clang-format on */

struct expansion {
    struct tsim_list_layer *layers; /* MAX_LAYERS */
    size_t n;
    int64_t channels, height, width;
    int32_t block;
    bool is_judge, begins; /* a discriminator's layers come; its first */
    const char *problem;   /* the first one, or NULL */
};

static struct tsim_list_layer *put(struct expansion *x, enum tsim_list_kind kind) {
    if (x->n == MAX_LAYERS) {
        x->problem = "more than 4096 layers";
        x->n--;
    }
    int64_t area = x->height * x->width;
    x->layers[x->n] = (struct tsim_list_layer){.kind = kind,
                                               .block = x->block,
                                               .in = x->channels,
                                               .in_area = area,
                                               .out = x->channels,
                                               .out_area = area,
                                               .kernel_area = 1,
                                               .stride = 1,
                                               .groups = 1,
                                               .is_first = x->n == 0 || x->begins,
                                               .is_judge = x->is_judge};
    x->begins = false;
    return &x->layers[x->n++];
}

static int64_t slid(struct expansion *x, int64_t side, const struct tsim_list_entry *e) {
    int64_t padded = side + 2 * e->padding;
    if (padded < e->kernel)
        x->problem = "a kernel is larger than the image that it is moved over";
    return padded < e->kernel ? 1 : (padded - e->kernel) / e->stride + 1;
}

/* Returns the side of the image from which the same window would come back to this one. */
static int64_t slid_back(struct expansion *x, int64_t side, const struct tsim_list_entry *e) {
    int64_t larger = (side - 1) * e->stride + e->kernel - 2 * e->padding;
    if (larger < 1)
        x->problem = "the padding of a transposed convolution leaves no image";
    return larger < 1 ? 1 : larger;
}

/* Moves to the output of a window: the layer's output is what `x` has after it. */
static void slide(struct expansion *x, struct tsim_list_layer *layer, const struct tsim_list_entry *e, int64_t out) {
    if (out < 1 || x->channels % e->groups != 0 || out % e->groups != 0)
        x->problem = "output channels are missing, or groups do not divide the channels";
    layer->is_transposed = e->kind == TSIM_ENTRY_TRANSPOSED;
    x->height = layer->is_transposed ? slid_back(x, x->height, e) : slid(x, x->height, e);
    x->width = layer->is_transposed ? slid_back(x, x->width, e) : slid(x, x->width, e);
    x->channels = out;
    layer->kernel_area = e->kernel * e->kernel;
    layer->stride = e->stride;
    layer->groups = e->groups;
    layer->out = out;
    layer->out_area = x->height * x->width;
}

static void put_conv(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_layer *layer = put(x, TSIM_LIST_PRODUCT);
    layer->has_bias = e->bias;
    slide(x, layer, e, e->out);
    if (e->norm)
        put(x, TSIM_LIST_NORM);
    if (e->relu)
        put(x, TSIM_LIST_RELU);
}

static void put_linear(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_entry as_conv = *e;
    as_conv.kind = TSIM_ENTRY_CONV;
    x->channels *= x->height * x->width;
    x->height = x->width = 1;
    as_conv.kernel = 1;
    as_conv.padding = 0;
    put_conv(x, &as_conv);
}

static void put_pool(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_entry window = *e;
    window.groups = 1;
    if (e->kernel > 0) {
        slide(x, put(x, e->kind == TSIM_ENTRY_MAX_POOL ? TSIM_LIST_MAX_POOL : TSIM_LIST_AVERAGE_POOL), &window,
              x->channels);
        return;
    }
    struct tsim_list_layer *layer = put(x, TSIM_LIST_AVERAGE_POOL);
    x->height = x->width = 1;
    layer->out_area = 1;
}

/* Puts the layers of He et al. 2015 (arXiv:1512.03385), figure 5 right: 1x1 down to `width`, kernel x kernel, 1x1 up to
 * `out`, each with its norm. The input is added, through a projection if its shape differs. The stride is on the middle
 * convolution (ResNet v1.5). */
static void put_bottleneck(struct expansion *x, const struct tsim_list_entry *e, int64_t stride) {
    struct expansion before = *x;
    int64_t kernel = e->kernel ? e->kernel : 3;
    struct tsim_list_entry conv = {.kernel = 1, .stride = 1, .groups = 1, .norm = true, .relu = true, .out = e->width};
    put_conv(x, &conv);
    conv.kernel = kernel;
    conv.padding = kernel / 2;
    conv.stride = stride;
    conv.groups = e->groups;
    put_conv(x, &conv);
    conv = (struct tsim_list_entry){.kernel = 1, .stride = 1, .groups = 1, .norm = true, .out = e->out};
    put_conv(x, &conv);
    if (stride != 1 || before.channels != e->out) {
        struct expansion after = *x;
        x->channels = before.channels, x->height = before.height, x->width = before.width;
        conv.stride = stride;
        put_conv(x, &conv);
        x->channels = after.channels, x->height = after.height, x->width = after.width;
    }
    put(x, TSIM_LIST_ADD);
    put(x, TSIM_LIST_RELU);
}

/* Puts the layers of Hu et al. 2017 (arXiv:1709.01507), figure 2: the mean of each channel, a product to `squeezed`
 * values and one back, and each channel times its result. */
static void put_squeeze(struct expansion *x, int64_t squeezed) {
    int64_t channels = x->channels, height = x->height, width = x->width;
    struct tsim_list_entry pool = {.kind = TSIM_ENTRY_AVERAGE_POOL, .stride = 1},
                           product = {.kernel = 1, .stride = 1, .groups = 1, .bias = true, .relu = true};
    put_pool(x, &pool);
    product.out = squeezed;
    put_conv(x, &product);
    product.out = channels;
    put_conv(x, &product);
    x->channels = channels, x->height = height, x->width = width;
    put(x, TSIM_LIST_SCALE);
}

/* Sandler et al. 2018, MobileNetV2 (arXiv:1801.04381), section 3.3, and Tan and Le 2019, EfficientNet (arXiv:1905.11946): 1x1 up
 * to the inner channels (where they are more), kernel x kernel channel by channel, how much each channel counts, 1x1 down to `out`
 * without an activation; the input is added where the shapes are the same. */
static void put_inverted(struct expansion *x, const struct tsim_list_entry *e, int64_t stride) {
    int64_t in = x->channels, kernel = e->kernel ? e->kernel : 3, inner = in * (e->expand ? e->expand : 1);
    struct tsim_list_entry conv = {.kernel = 1, .stride = 1, .groups = 1, .norm = true, .relu = true, .out = inner};
    if (inner != in)
        put_conv(x, &conv);
    conv.kernel = kernel;
    conv.padding = kernel / 2;
    conv.stride = stride;
    conv.groups = inner;
    put_conv(x, &conv);
    if (e->squeeze > 0)
        put_squeeze(x, in / e->squeeze > 0 ? in / e->squeeze : 1);
    conv = (struct tsim_list_entry){.kernel = 1, .stride = 1, .groups = 1, .norm = true, .out = e->out};
    put_conv(x, &conv);
    if (stride == 1 && in == e->out)
        put(x, TSIM_LIST_ADD);
}

static void put_entry(struct expansion *x, const struct tsim_list_entry *e, bool is_first) {
    struct tsim_list_entry conv = *e;
    switch (e->kind) {
    case TSIM_ENTRY_CONV:
    case TSIM_ENTRY_TRANSPOSED:
        conv.kernel = e->kernel ? e->kernel : 1;
        conv.stride = is_first ? e->stride : 1;
        put_conv(x, &conv);
        return;
    case TSIM_ENTRY_LINEAR:
        put_linear(x, e);
        return;
    case TSIM_ENTRY_MAX_POOL:
    case TSIM_ENTRY_AVERAGE_POOL:
        put_pool(x, e);
        return;
    case TSIM_ENTRY_BOTTLENECK:
        put_bottleneck(x, e, is_first ? e->stride : 1);
        return;
    case TSIM_ENTRY_INVERTED:
        put_inverted(x, e, is_first ? e->stride : 1);
        return;
    }
    TSIM_BUG("entry %d", (int)e->kind);
}

/* A block ends where a product can end; kernels that only move memory belong to the block before them. */
static void expand(struct expansion *x, const struct tsim_list_entry *entries, size_t n_entries) {
    for (size_t i = 0; i < n_entries && !x->problem; i++)
        for (int64_t k = 0; k < entries[i].repeat && !x->problem; k++) {
            const struct tsim_list_entry *e = &entries[i];
            bool is_pool = e->kind == TSIM_ENTRY_MAX_POOL || e->kind == TSIM_ENTRY_AVERAGE_POOL;
            if (x->n > 0 && (!is_pool || x->begins))
                x->block++;
            put_entry(x, e, k == 0);
        }
    if (!x->problem && x->n == 0)
        x->problem = "no layers";
}

void tsim_layer_list_finish(const struct tsim_checked *c, struct tsim_model *m) {
    struct expansion x = {.channels = m->input_channels, .height = m->input_height, .width = m->input_width};
    x.layers = TSIM_NEW_ARRAY(c->reader->arena, MAX_LAYERS, struct tsim_list_layer);
    expand(&x, m->entries, m->n_entries);
    x.is_judge = x.begins = m->n_judges > 0;
    expand(&x, m->judges, m->n_judges);
    if (x.problem) {
        const char *key = x.is_judge && x.n > 0 && x.layers[x.n - 1].is_judge ? "discriminator" : "list";
        FAIL_AT(c, key, "layer %zu: %s", x.n, x.problem);
        return;
    }
    m->list = x.layers;
    m->n_list = x.n;
    m->layers = x.block + 1;
    m->hidden = m->heads = m->kv_heads = m->head_dim = m->ffn_hidden = 1;
    m->position = TSIM_POSITION_NONE;
}
