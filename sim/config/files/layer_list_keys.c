#include "config/files/layer_list_keys.h"

#include <string.h>

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
    .key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_list_entry, name_), .default_text = "false",  \
    .help = (help_)
#define ENTRY_NAME(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_list_entry, name_), .help = (help_)}
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
    {ENTRY_BOOL(bias, "the layer has a bias")},
    {ENTRY_BOOL(norm, "batch normalization follows")},
    {ENTRY_BOOL(fixed_norm, "its batch normalizations, one behind a convolution, have constant factors and sums"), .is_omitted_when_zero = true},
    {ENTRY_BOOL(relu, "an activation function follows")},
    {ENTRY_INT(repeat, "1", 1e4, "how many of them in a row"), .is_positive = true},
    {ENTRY_BOOL(frozen, "it is not trained; only the first layers can be so"), .is_omitted_when_zero = true},
    ENTRY_NAME(name, "a word that later layers call its result by"),
    ENTRY_NAME(from, "results that it takes in place of the last one, with blanks between them; it has one set of weights for all, and gives as many"),
    ENTRY_NAME(join, "a result whose channels come behind those of its input"),
    ENTRY_NAME(add, "a result that is added to its own, enlarged where it is smaller"),
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

/* An image, or a vector as an image of one pixel: a layer's result. */
struct image {
    int64_t channels, height, width;
    size_t made_by;      /* the layer; NONE: it is the model's input */
    bool needs_gradient; /* a layer before it is trained */
};
enum { MAX_IMAGES = 16, MAX_NAMES = 256 };
#define NONE SIZE_MAX

struct expansion {
    struct tsim_arena *arena;
    struct tsim_list_layer *layers; /* MAX_LAYERS */
    bool *is_taken, *is_kept;       /* of each layer's result: a layer takes it; a product does, and keeps it */
    size_t n;
    struct image at;                 /* the last result */
    struct image images[MAX_IMAGES]; /* the last entry's results */
    size_t n_images;
    struct {
        const char *name;
        struct image image;
    } named[MAX_NAMES];
    size_t n_named;
    size_t entry; /* of the list, or of the discriminator */
    int32_t block;
    bool is_judge;  /* a discriminator's layers come */
    bool is_frozen; /* of the layers that come */
    bool is_shared; /* their weights are those of earlier ones */
    bool has_branches;
    const char *problem; /* the first one, or NULL */
};

static bool is_taken(const struct expansion *x, const struct image *image) {
    return image->made_by != NONE && x->is_taken[image->made_by];
}

static void take(struct expansion *x, const struct image *image) {
    if (image->made_by != NONE)
        x->is_taken[image->made_by] = true;
}

static struct tsim_list_layer *put(struct expansion *x, enum tsim_list_kind kind) {
    if (x->n == MAX_LAYERS) {
        x->problem = "more than 4096 layers";
        x->n--;
    }
    int64_t area = x->at.height * x->at.width;
    take(x, &x->at);
    x->layers[x->n] = (struct tsim_list_layer){.kind = kind,
                                               .block = x->block,
                                               .in = x->at.channels,
                                               .in_area = area,
                                               .out = x->at.channels,
                                               .out_area = area,
                                               .kernel_area = 1,
                                               .stride = 1,
                                               .groups = 1,
                                               .is_first = !x->at.needs_gradient,
                                               .is_frozen = x->is_frozen,
                                               .is_shared = x->is_shared,
                                               .is_part = x->n_images > 1,
                                               .is_elsewhere = x->n == 0 || x->at.made_by != x->n - 1,
                                               .is_judge = x->is_judge};
    if (kind == TSIM_LIST_PRODUCT && x->at.made_by != NONE) {
        x->layers[x->n].is_kept = x->is_kept[x->at.made_by];
        x->is_kept[x->at.made_by] = true;
    }
    x->at.made_by = x->n;
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
    if (out < 1 || x->at.channels % e->groups != 0 || out % e->groups != 0)
        x->problem = "output channels are missing, or groups do not divide the channels";
    layer->is_transposed = e->kind == TSIM_ENTRY_TRANSPOSED;
    x->at.height = layer->is_transposed ? slid_back(x, x->at.height, e) : slid(x, x->at.height, e);
    x->at.width = layer->is_transposed ? slid_back(x, x->at.width, e) : slid(x, x->at.width, e);
    x->at.channels = out;
    layer->kernel_area = e->kernel * e->kernel;
    layer->stride = e->stride;
    layer->groups = e->groups;
    layer->out = out;
    layer->out_area = x->at.height * x->at.width;
}

static void put_conv(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_layer *layer = put(x, TSIM_LIST_PRODUCT);
    layer->has_bias = e->bias;
    slide(x, layer, e, e->out);
    x->at.needs_gradient = !x->is_frozen;
    if (e->norm || e->fixed_norm)
        put(x, e->fixed_norm ? TSIM_LIST_FIXED_NORM : TSIM_LIST_NORM);
    if (e->relu)
        put(x, TSIM_LIST_RELU);
}

static void put_linear(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_entry as_conv = *e;
    as_conv.kind = TSIM_ENTRY_CONV;
    x->at.channels *= x->at.height * x->at.width;
    x->at.height = x->at.width = 1;
    as_conv.kernel = 1;
    as_conv.padding = 0;
    put_conv(x, &as_conv);
}

static void put_pool(struct expansion *x, const struct tsim_list_entry *e) {
    struct tsim_list_entry window = *e;
    window.groups = 1;
    if (e->kernel > 0) {
        slide(x, put(x, e->kind == TSIM_ENTRY_MAX_POOL ? TSIM_LIST_MAX_POOL : TSIM_LIST_AVERAGE_POOL), &window,
              x->at.channels);
        return;
    }
    struct tsim_list_layer *layer = put(x, TSIM_LIST_AVERAGE_POOL);
    x->at.height = x->at.width = 1;
    layer->out_area = 1;
}

/* Puts the layers of He et al. 2015 (arXiv:1512.03385), figure 5 right: 1x1 down to `width`, kernel x kernel, 1x1 up to
 * `out`, each with its norm. The input is added, through a projection if its shape differs. The stride is on the middle
 * convolution (ResNet v1.5). */
static void put_bottleneck(struct expansion *x, const struct tsim_list_entry *e, int64_t stride) {
    struct image before = x->at;
    int64_t kernel = e->kernel ? e->kernel : 3;
    struct tsim_list_entry conv = {.kernel = 1,
                                   .stride = 1,
                                   .groups = 1,
                                   .norm = true,
                                   .fixed_norm = e->fixed_norm,
                                   .relu = true,
                                   .out = e->width};
    put_conv(x, &conv);
    conv.kernel = kernel;
    conv.padding = kernel / 2;
    conv.stride = stride;
    conv.groups = e->groups;
    put_conv(x, &conv);
    conv = (struct tsim_list_entry){
        .kernel = 1, .stride = 1, .groups = 1, .norm = true, .fixed_norm = e->fixed_norm, .out = e->out};
    put_conv(x, &conv);
    if (stride != 1 || before.channels != e->out) {
        struct image branch = x->at;
        x->at = before;
        conv.stride = stride;
        put_conv(x, &conv);
        take(x, &branch);
    }
    put(x, TSIM_LIST_ADD);
    put(x, TSIM_LIST_RELU);
}

/* Puts the layers of Hu et al. 2017 (arXiv:1709.01507), figure 2: the mean of each channel, a product to `squeezed`
 * values and one back, and each channel times its result. */
static void put_squeeze(struct expansion *x, int64_t squeezed) {
    struct image before = x->at;
    struct tsim_list_entry pool = {.kind = TSIM_ENTRY_AVERAGE_POOL, .stride = 1},
                           product = {.kernel = 1, .stride = 1, .groups = 1, .bias = true, .relu = true};
    put_pool(x, &pool);
    product.out = squeezed;
    put_conv(x, &product);
    product.out = before.channels;
    put_conv(x, &product);
    x->at.height = before.height, x->at.width = before.width;
    put(x, TSIM_LIST_SCALE);
}

/* Sandler et al. 2018, MobileNetV2 (arXiv:1801.04381), section 3.3, and Tan and Le 2019, EfficientNet (arXiv:1905.11946): 1x1 up
 * to the inner channels (where they are more), kernel x kernel channel by channel, how much each channel counts, 1x1 down to `out`
 * without an activation; the input is added where the shapes are the same. */
static void put_inverted(struct expansion *x, const struct tsim_list_entry *e, int64_t stride) {
    int64_t in = x->at.channels, kernel = e->kernel ? e->kernel : 3, inner = in * (e->expand ? e->expand : 1);
    struct tsim_list_entry conv = {
        .kernel = 1, .stride = 1, .groups = 1, .norm = true, .fixed_norm = e->fixed_norm, .relu = true, .out = inner};
    if (inner != in)
        put_conv(x, &conv);
    conv.kernel = kernel;
    conv.padding = kernel / 2;
    conv.stride = stride;
    conv.groups = inner;
    put_conv(x, &conv);
    if (e->squeeze > 0)
        put_squeeze(x, in / e->squeeze > 0 ? in / e->squeeze : 1);
    conv = (struct tsim_list_entry){
        .kernel = 1, .stride = 1, .groups = 1, .norm = true, .fixed_norm = e->fixed_norm, .out = e->out};
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

/* ---- results that have names ---- */

static const struct image *find_named(struct expansion *x, const char *name, size_t length) {
    for (size_t i = 0; i < x->n_named; i++)
        if (strlen(x->named[i].name) == length && memcmp(x->named[i].name, name, length) == 0) {
            x->has_branches = true;
            return &x->named[i].image;
        }
    const char *names = "";
    for (size_t i = 0; i < x->n_named; i++)
        names = tsim_arena_printf(x->arena, "%s%s %s", names, i > 0 ? "," : "", x->named[i].name);
    x->problem = tsim_arena_printf(x->arena, "no layer before it is named '%.*s'; these names are there:%s",
                                   (int)length, name, x->n_named > 0 ? names : " none");
    return &x->at;
}

/* Makes the results that an entry names the last ones. */
static void find_inputs(struct expansion *x, const char *names) {
    x->n_images = 0;
    for (size_t length; *(names += strspn(names, " ")) && !x->problem; names += length) {
        length = strcspn(names, " ");
        if (x->n_images == MAX_IMAGES)
            x->problem = "it takes more than 16 results";
        else
            x->images[x->n_images++] = *find_named(x, names, length);
    }
    if (x->n_images == 0)
        x->problem = "it takes no result";
}

static void put_joined(struct expansion *x, const char *name) {
    const struct image *other = find_named(x, name, strlen(name));
    if (other->height != x->at.height || other->width != x->at.width)
        x->problem = "images of two sizes are joined";
    struct tsim_list_layer *layer = put(x, TSIM_LIST_JOIN);
    layer->out = x->at.channels += other->channels;
    layer->adds_gradient = is_taken(x, other);
    take(x, other);
    x->at.needs_gradient |= other->needs_gradient;
}

static void put_added(struct expansion *x, const char *name) {
    struct image own = x->at;
    const struct image *other = find_named(x, name, strlen(name));
    if (other->channels != own.channels || other->height > own.height || other->width > own.width)
        x->problem = "what is added has other channels, or is larger";
    bool is_second = is_taken(x, other), is_smaller = other->height < own.height || other->width < own.width;
    take(x, other);
    if (is_smaller) {
        x->at = *other;
        struct tsim_list_layer *layer = put(x, TSIM_LIST_ENLARGE);
        layer->out_area = own.height * own.width;
        layer->adds_gradient = is_second;
        x->at.height = own.height, x->at.width = own.width;
        take(x, &own);
    }
    struct tsim_list_layer *sum = put(x, TSIM_LIST_ADD);
    sum->is_elsewhere = true;
    sum->adds_gradient = is_second && !is_smaller;
    x->at.needs_gradient = own.needs_gradient || other->needs_gradient;
}

/* Puts what an entry makes of one result. */
static void put_for(struct expansion *x, const struct tsim_list_entry *e, bool is_first, bool is_last) {
    size_t first = x->n;
    bool is_second = is_taken(x, &x->at) && x->at.needs_gradient;
    if (e->join && is_first)
        put_joined(x, e->join);
    put_entry(x, e, is_first);
    if (e->add && is_last)
        put_added(x, e->add);
    if (first < x->n)
        x->layers[first].adds_gradient |= is_second;
}

/* ---- entries ---- */

/* A block ends where a product can end; kernels that only move memory belong to the block before them. */
static void expand(struct expansion *x, const struct tsim_list_entry *entries, size_t n_entries) {
    for (size_t i = 0; i < n_entries && !x->problem; i++) {
        const struct tsim_list_entry *e = &entries[i];
        x->entry = i;
        bool is_pool = e->kind == TSIM_ENTRY_MAX_POOL || e->kind == TSIM_ENTRY_AVERAGE_POOL;
        if (e->from)
            find_inputs(x, e->from);
        x->is_frozen = e->frozen;
        for (int64_t k = 0; k < e->repeat && !x->problem; k++) {
            if (x->n > 0 && (!is_pool || (i == 0 && k == 0)))
                x->block++;
            for (size_t image = 0; image < x->n_images && !x->problem; image++) {
                x->at = x->images[image];
                x->is_shared = image > 0;
                if (e->frozen && x->at.needs_gradient)
                    x->problem = "it is frozen behind a layer that is trained";
                put_for(x, e, k == 0, k == e->repeat - 1);
                x->images[image] = x->at;
            }
        }
        if (e->name && x->n_images > 1)
            x->problem = "a name is one result's, and it gives several";
        else if (e->name && x->n_named == MAX_NAMES)
            x->problem = "more than 256 names";
        else if (e->name) {
            x->named[x->n_named].name = e->name;
            x->named[x->n_named++].image = x->at;
        }
    }
    if (!x->problem && x->n == 0)
        x->problem = "no layers";
}

static void report(const struct tsim_checked *c, const char *key, const struct expansion *x) {
    const struct tsim_value *list = tsim_value_find(c->mapping, key), *at = c->mapping;
    if (list && list->kind == TSIM_VALUE_SEQUENCE)
        at = x->entry < list->n_items ? list->items[x->entry] : list;
    const char *path = tsim_arena_printf(x->arena, "%s[%zu]", at_key(c, key), x->entry);
    tsim_value_error(c->reader->diags, TSIM_ERR_INFEASIBLE, at, path, "%s", x->problem);
}

void tsim_layer_list_finish(const struct tsim_checked *c, struct tsim_model *m) {
    struct expansion *x = TSIM_NEW(c->reader->arena, struct expansion);
    x->arena = c->reader->arena;
    x->layers = TSIM_NEW_ARRAY(c->reader->arena, MAX_LAYERS, struct tsim_list_layer);
    x->is_taken = TSIM_NEW_ARRAY(c->reader->arena, MAX_LAYERS, bool);
    x->is_kept = TSIM_NEW_ARRAY(c->reader->arena, MAX_LAYERS, bool);
    x->at = (struct image){m->input_channels, m->input_height, m->input_width, .made_by = NONE};
    x->images[0] = x->at;
    x->n_images = 1;
    expand(x, m->entries, m->n_entries);
    if (m->n_judges > 0) { /* it takes what the generator made, but trains in a turn of its own */
        x->is_judge = true;
        for (size_t image = 0; image < x->n_images; image++) {
            take(x, &x->images[image]);
            x->images[image].needs_gradient = false;
        }
        expand(x, m->judges, m->n_judges);
    }
    if (x->problem) {
        report(c, x->is_judge ? "discriminator" : "list", x);
        return;
    }
    for (size_t i = 0; i < x->n; i++)
        x->layers[i].is_result = !x->is_taken[i];
    m->list = x->layers;
    m->n_list = x->n;
    m->has_branches = x->has_branches;
    m->layers = x->block + 1;
    m->hidden = m->heads = m->kv_heads = m->head_dim = m->ffn_hidden = 1;
    m->position = TSIM_POSITION_NONE;
}
