#include "config/files/dlrm.h"

/* clang-format off */
#define TABLE_INT(name_, default_, max_, help_)                                                                        \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_embedding_table, name_), .max = (max_),       \
     .default_text = (default_), .is_required = (default_) == NULL, .is_positive = true, .help = (help_)}
static const struct tsim_key TABLE_KEYS[] = {
    TABLE_INT(rows, NULL, 1e12, "rows of the table"),
    TABLE_INT(dim, NULL, 1e6, "width of a row"),
    TABLE_INT(pooling, "1", 1e6, "rows that a sample looks up, which are added"),
    {.key = "skew", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .takes_bare = true, .max = 4,
     .offset = offsetof(struct tsim_embedding_table, skew), .default_text = "0", .is_omitted_when_zero = true,
     .help = "how unevenly rows are looked up: the exponent of Zipf's law; 0: evenly"},
};
TSIM_TABLE(TABLES, TABLE_KEYS, false);

static void read_widths(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                        struct tsim_widths *widths) {
    static const struct tsim_key WIDTH = {.key = "width", .kind = TSIM_KEY_INT, .max = 1e7, .is_positive = true,
                                          .help = "features that a layer gives"};
    widths->n = 0;
    if (value && value->kind != TSIM_VALUE_SEQUENCE) {
        tsim_schema_wrong_kind(reader, value, path, "a list of widths");
        return;
    }
    if (value && (value->n_items == 0 || value->n_items > TSIM_MAX_WIDTHS)) {
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_RANGE, value, path, "%zu widths", value->n_items),
                       "1 to %d", TSIM_MAX_WIDTHS);
        return;
    }
    for (size_t i = 0; value && i < value->n_items; i++)
        if (tsim_schema_read_value(reader, &WIDTH, value->items[i],
                                   tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &widths->width[i]))
            widths->n++;
}

static void write_widths(struct tsim_writer *writer, const char *key, const struct tsim_widths *widths) {
    tsim_writer_begin(writer, key, '[');
    for (size_t i = 0; i < widths->n; i++)
        tsim_writer_int(writer, NULL, widths->width[i]);
    tsim_writer_end(writer, ']');
}

static void read_bottom(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    read_widths(reader, value, path, &((struct tsim_model *)field)->bottom_mlp);
}

static void read_top(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    read_widths(reader, value, path, &((struct tsim_model *)field)->top_mlp);
}

static void write_bottom(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    (void)path;
    write_widths(writer, key, &((const struct tsim_model *)field)->bottom_mlp);
}

static void write_top(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    (void)path;
    write_widths(writer, key, &((const struct tsim_model *)field)->top_mlp);
}

const struct tsim_key tsim_dlrm_keys[TSIM_N_DLRM_KEYS] = {
    {.key = "dense_features", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, input_channels), .max = 1e6,
     .is_required = true, .is_positive = true, .help = "numbers of a sample"},
    {.key = "bottom_mlp", .kind = TSIM_KEY_CUSTOM, .read = read_bottom, .write = write_bottom, .is_required = true,
     .help = "widths of the layers that the numbers go through; the last is as wide as a row of the tables"},
    {.key = "top_mlp", .kind = TSIM_KEY_CUSTOM, .read = read_top, .write = write_top, .is_required = true,
     .help = "widths of the layers after the interaction"},
    {.key = "cross_layers", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, cross_layers), .max = 100,
     .default_text = "0", .is_omitted_when_zero = true,
     .help = "number of cross layers (DCN v2), in place of dot products of pairs"},
    {.key = "cross_rank", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, cross_rank), .max = 1e6,
     .default_text = "512", .is_positive = true, .is_omitted_when_zero = true,
     .help = "width between the two products of a cross layer"},
    {.key = "tables", TSIM_LIST(struct tsim_model, tables, n_tables, &TABLES), .is_required = true,
     .help = "embedding tables: list of {rows, dim, pooling, skew}"},
};
/* clang-format on */

struct stack {
    struct tsim_list_layer *layers;
    size_t n;
    int32_t block;
};

static struct tsim_list_layer *put(struct stack *stack, enum tsim_list_kind kind, int64_t in, int64_t out) {
    struct tsim_list_layer *layer = &stack->layers[stack->n++];
    *layer = (struct tsim_list_layer){.kind = kind,
                                      .block = stack->block,
                                      .in = in,
                                      .out = out,
                                      .in_area = 1,
                                      .out_area = 1,
                                      .kernel_area = 1,
                                      .stride = 1,
                                      .groups = 1};
    return layer;
}

/* Products with biases, each ending a block; all but the model's last followed by an activation function. */
static void put_mlp(struct stack *stack, int64_t in, const struct tsim_widths *widths, bool is_first) {
    for (size_t i = 0; i < widths->n; i++, stack->block++) {
        struct tsim_list_layer *product = put(stack, TSIM_LIST_PRODUCT, in, widths->width[i]);
        product->has_bias = true;
        product->is_first = is_first && i == 0;
        product->is_bottom = is_first;
        if (is_first || i + 1 < widths->n)
            put(stack, TSIM_LIST_RELU, widths->width[i], widths->width[i])->is_bottom = is_first;
        in = widths->width[i];
    }
}

/* Puts cross layers (Wang et al. 2021, DCN V2, arXiv:2008.13535, section 3.1) with weights of low rank: x_0 * (U (V x)
 * + b) + x. */
static void put_cross(struct stack *stack, int64_t width, int64_t rank, int64_t n) {
    for (int64_t i = 0; i < n; i++, stack->block++) {
        put(stack, TSIM_LIST_PRODUCT, width, rank);
        put(stack, TSIM_LIST_PRODUCT, rank, width)->has_bias = true;
        put(stack, TSIM_LIST_CROSS, width, width);
    }
}

static bool has_one_width(const struct tsim_checked *c, const struct tsim_model *m) {
    int64_t dim = m->bottom_mlp.width[m->bottom_mlp.n - 1];
    for (size_t i = 0; i < m->n_tables; i++)
        if (m->tables[i].dim != dim) {
            tsim_diag_hint(FAIL_AT(c, "tables", "table %zu has dim %lld, but bottom_mlp ends with %lld", i,
                                   (long long)m->tables[i].dim, (long long)dim),
                           "the interaction multiplies vectors of one width");
            return false;
        }
    return true;
}

/* Makes the model of Naumov et al. 2019, section 2.1: the dot products of all pairs of vectors (one of each table, one
 * of the bottom layers), beside the bottom layers' result; or cross layers on all vectors side by side. */
void tsim_dlrm_finish(const struct tsim_checked *c, struct tsim_model *m) {
    if (!has_one_width(c, m))
        return;
    int64_t dim = m->bottom_mlp.width[m->bottom_mlp.n - 1], vectors = (int64_t)m->n_tables + 1;
    int64_t pairs = vectors * (vectors - 1) / 2;
    struct stack stack = {.layers = TSIM_NEW_ARRAY(
                              c->reader->arena, 2 * (m->bottom_mlp.n + m->top_mlp.n) + 2 + 3 * (size_t)m->cross_layers,
                              struct tsim_list_layer)};
    put(&stack, TSIM_LIST_TABLES, 0, (int64_t)m->n_tables * dim);
    put_mlp(&stack, m->input_channels, &m->bottom_mlp, true);
    if (m->cross_layers > 0)
        put_cross(&stack, vectors * dim, m->cross_rank, m->cross_layers);
    else
        put(&stack, TSIM_LIST_INTERACTION, vectors * dim, pairs + dim)->groups = vectors;
    put_mlp(&stack, m->cross_layers > 0 ? vectors * dim : pairs + dim, &m->top_mlp, false);
    m->list = stack.layers;
    m->n_list = stack.n;
    stack.layers[stack.n - 1].is_result = true;
    m->layers = stack.block;
    m->hidden = m->heads = m->kv_heads = m->head_dim = m->ffn_hidden = 1;
    m->input_height = m->input_width = 1;
    m->position = TSIM_POSITION_NONE;
}
