#include "import/traces/chakra_file.h"

#include "base/file_bytes.h"
#include "base/output.h"
#include "config/text/document.h"

#include <chakra.pb-c.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S_PER_MICRO 1e-6
/* Profilers count from 1970 (1.8e9 s) or from the machine's start. In microseconds both, and their sum, fit in 64
 * bits. */
#define MOST_START_S 1e12
#define MOST_DURATION_S 1e9

/* UNTOLD marks, while an execution is read, a group that nodes name and that has not been described yet. */
enum { UNTOLD = -1, MOST_GROUPS = 10000, MOST_RANKS = 10 * 1000 * 1000 };

static void *get_memory(void *context, size_t size) {
    (void)context;
    return tsim_heap_alloc(size ? size : 1);
}
static void give_memory(void *context, void *memory) {
    (void)context;
    tsim_heap_free(memory);
}
static ProtobufCAllocator ALLOCATOR = {get_memory, give_memory, NULL};

struct id_place {
    uint64_t id;
    int32_t index;
};

struct reading {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const char *file;
    const uint8_t *bytes;
    size_t size, at; /* at: of the message under way */
    bool is_old, names_dimensions;
    struct tsim_history_node *nodes;
    uint64_t **deps; /* ids, before all nodes are known */
    int32_t n_nodes;
    struct tsim_history_group *groups;
    size_t n_groups, group_capacity;
    int64_t n_dangling;
    int32_t n_ranks; /* of a group of all */
};

static struct tsim_place place(const struct reading *r) {
    return (struct tsim_place){r->file, 0, 0};
}

__attribute__((format(printf, 3, 4))) static enum tsim_status fail(struct reading *r, const char *hint,
                                                                   const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_diags_verror(r->diags, TSIM_ERR_SYNTAX, place(r), "", format, args);
    va_end(args);
    if (hint)
        tsim_diag_hint(diag, "%s", hint);
    return TSIM_ERR_SYNTAX;
}

/* ---- messages ---- */

/* Reads the length before the next message. Returns false at the end of the file or if there is none. */
static bool next_length(struct reading *r, size_t *from, size_t *length) {
    uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (*from == r->size)
            return false;
        uint8_t byte = r->bytes[(*from)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *length = (size_t)value;
            return value <= r->size - *from;
        }
    }
    return false;
}

static enum tsim_status count_messages(struct reading *r, int32_t *n) {
    size_t from = 0, length;
    for (*n = 0; from < r->size; from += length, ++*n) {
        size_t at = from;
        if (*n == INT32_MAX || !next_length(r, &from, &length))
            return fail(r, "an execution trace of Chakra: messages of protobuf, each after its length",
                        "message %d, at byte %zu, is cut off or no message", (int)*n + 1, at);
    }
    if (*n == 0)
        return fail(r, "an execution trace of Chakra (.et)", "the file is empty");
    return TSIM_OK;
}

/* ---- attributes ---- */

struct attribute {
    const char *name, *text; /* text: NULL for numbers */
    double number;           /* NAN for text that is none */
    bool is_list, is_partial;
};

static double number_of(const Tsim__Chakra__Attribute *a) {
    switch (a->value_case) {
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_DOUBLE_VAL:
        return a->double_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_FLOAT_VAL:
        return (double)a->float_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_INT32_VAL:
        return a->int32_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_INT64_VAL:
        return (double)a->int64_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_UINT32_VAL:
        return a->uint32_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL:
        return (double)a->uint64_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_SINT32_VAL:
        return a->sint32_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_SINT64_VAL:
        return (double)a->sint64_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_FIXED32_VAL:
        return a->fixed32_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_FIXED64_VAL:
        return (double)a->fixed64_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_SFIXED32_VAL:
        return a->sfixed32_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_SFIXED64_VAL:
        return (double)a->sfixed64_val;
    case TSIM__CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL:
        return a->bool_val;
    default:
        return (double)NAN;
    }
}

static double number_in(const char *text) {
    char *end;
    double value = strtod(text, &end);
    return end > text && !*end ? value : (double)NAN;
}

static struct attribute attribute_of(const Tsim__Chakra__Attribute *a) {
    struct attribute out = {.name = a->name, .number = number_of(a)};
    if (a->value_case == TSIM__CHAKRA__ATTRIBUTE__VALUE_STRING_VAL) {
        out.text = a->string_val;
        out.number = number_in(a->string_val);
    }
    if (a->value_case == TSIM__CHAKRA__ATTRIBUTE__VALUE_BOOL_LIST) {
        out.is_list = true;
        for (size_t i = 0; i < a->bool_list->n_values; i++)
            out.is_partial = out.is_partial || !a->bool_list->values[i];
    }
    return out;
}

/* The types of attributes in files of 2023. */
enum { OLD_FLOAT, OLD_INT, OLD_STRING };

static struct attribute old_attribute_of(struct tsim_arena *arena, const Tsim__Chakra__OldAttribute *a) {
    struct attribute out = {.name = a->name, .number = (double)NAN};
    if (a->type == OLD_FLOAT)
        out.number = (double)a->f;
    else if (a->type == OLD_INT)
        out.number = (double)a->i;
    else if (a->type == OLD_STRING)
        out.text = tsim_arena_strndup(arena, (const char *)a->s.data, a->s.len);
    return out;
}

/* ---- groups ---- */

static int32_t find_group(struct reading *r, const char *name) {
    for (size_t i = 0; i < r->n_groups; i++)
        if (strcmp(r->groups[i].name, name) == 0)
            return (int32_t)i;
    if (r->n_groups == MOST_GROUPS)
        return -1;
    r->groups = tsim_heap_grow(r->groups, &r->group_capacity, r->n_groups + 1, sizeof *r->groups);
    r->groups[r->n_groups] = (struct tsim_history_group){.name = tsim_arena_strdup(r->arena, name), .n_ranks = UNTOLD};
    return (int32_t)r->n_groups++;
}

static void tell_group(struct reading *r, const struct tsim_value *entry) {
    const struct tsim_value *name = tsim_value_find(entry, "pg_name"), *ranks = tsim_value_find(entry, "ranks");
    if (!name || name->kind != TSIM_VALUE_SCALAR || !ranks || ranks->kind != TSIM_VALUE_SEQUENCE)
        return;
    int32_t group = find_group(r, name->text), *list = TSIM_NEW_ARRAY(r->arena, ranks->n_items, int32_t);
    for (size_t i = 0; i < ranks->n_items; i++) {
        double rank = ranks->items[i]->kind == TSIM_VALUE_SCALAR ? number_in(ranks->items[i]->text) : (double)NAN;
        if (!(rank >= 0 && rank < MOST_RANKS))
            return;
        list[i] = (int32_t)rank;
    }
    const struct tsim_value *size = tsim_value_find(entry, "group_size");
    double n_all = size && size->kind == TSIM_VALUE_SCALAR && ranks->n_items == 0 ? number_in(size->text) : 0;
    if (n_all >= 1 && n_all < MOST_RANKS && (int32_t)n_all > r->n_ranks)
        r->n_ranks = (int32_t)n_all;
    if (group >= 0) {
        r->groups[group].ranks = list;
        r->groups[group].n_ranks = (int32_t)ranks->n_items;
    }
}

/* Python's text of a list of one text, which is JSON: ['[{"pg_name": "0", "ranks": [], ...}, ...]'] */
static void tell_groups(struct reading *r, const char *values) {
    const char *from = strstr(values, "[{"), *to = NULL;
    for (const char *at = from; at && (at = strstr(at, "}]")); at += 2)
        to = at + 2;
    if (!from || !to)
        return;
    const char *text = tsim_arena_printf(r->arena, "{\"groups\": %.*s}", (int)(to - from), from);
    const struct tsim_value *root;
    struct tsim_diags ignored;
    tsim_diags_init(&ignored);
    if (tsim_document_parse(r->arena, r->file, text, strlen(text), &root, &ignored) == TSIM_OK) {
        const struct tsim_value *groups = tsim_value_find(root, "groups");
        for (size_t i = 0; groups && groups->kind == TSIM_VALUE_SEQUENCE && i < groups->n_items; i++)
            if (groups->items[i]->kind == TSIM_VALUE_MAPPING)
                tell_group(r, groups->items[i]);
    }
    tsim_diags_release(&ignored);
}

/* ---- nodes ---- */

/* Attributes say these; they are checked once all of a node's are known. */
struct said {
    double comm_type, comm_size, from, to, tag, stream, thread;
    const char *group;
};

static void take_attribute(struct reading *r, const struct attribute *a, struct tsim_history_node *node,
                           struct said *said) {
    struct {
        const char *name;
        double *to;
    } numbers[] = {{"num_ops", &node->n_ops},       {"tensor_size", &node->bytes}, {"comm_type", &said->comm_type},
                   {"comm_size", &said->comm_size}, {"comm_src", &said->from},     {"comm_dst", &said->to},
                   {"comm_tag", &said->tag},        {"stream", &said->stream},     {"tid", &said->thread}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(a->name, numbers[i].name) == 0 && isfinite(a->number))
            *numbers[i].to = a->number;
    if (strcmp(a->name, "is_cpu_op") == 0)
        node->is_host = a->number > 0;
    else if (strcmp(a->name, "runtime") == 0 && a->number > 0 && !(node->duration_s > 0))
        node->duration_s = a->number * S_PER_MICRO;
    else if (strcmp(a->name, "pg_name") == 0)
        said->group = a->text ? a->text
                      : isfinite(a->number) && fabs(a->number) < 1e15
                          ? tsim_arena_printf(r->arena, "%lld", (long long)a->number)
                          : "";
    else if (strcmp(a->name, "involved_dim") == 0 && a->is_partial)
        r->names_dimensions = true;
}

static bool is_rank(double value) {
    return value >= 0 && value < MOST_RANKS;
}

static bool is_count(double value) {
    return value >= 0 && value <= 1e18;
}

static enum tsim_status refuse(struct reading *r, const struct tsim_history_node *node, const char *what) {
    return fail(r, NULL, "node %llu (%.60s), at byte %zu: %s", (unsigned long long)node->id, node->name, r->at, what);
}

static enum tsim_status finish_message(struct reading *r, struct tsim_history_node *node, const struct said *said) {
    bool is_send = node->kind == TSIM_HISTORY_SEND;
    double peer = is_send ? said->to : said->from;
    if (!is_rank(peer))
        return refuse(r, node, is_send ? "a message without comm_dst" : "a message without comm_src");
    node->from = is_send ? (is_rank(said->from) ? (int32_t)said->from : -1) : (int32_t)peer;
    node->to = is_send ? (int32_t)peer : is_rank(said->to) ? (int32_t)said->to : -1;
    node->tag = fabs(said->tag) < 1e15 ? (int64_t)said->tag : 0;
    return TSIM_OK;
}

static enum tsim_status finish_collective(struct reading *r, struct tsim_history_node *node, const struct said *said) {
    static const enum tsim_history_collective OLD[] = {TSIM_HISTORY_ALL_REDUCE, TSIM_HISTORY_ALL_TO_ALL,
                                                       TSIM_HISTORY_ALL_GATHER, TSIM_HISTORY_REDUCE_SCATTER};
    double most = r->is_old ? 4 : TSIM_N_HISTORY_COLLECTIVES;
    if (!(said->comm_type >= 0 && said->comm_type < most))
        return refuse(r, node, "a collective without comm_type, or of a type that is not known");
    node->collective = r->is_old ? OLD[(int)said->comm_type] : (enum tsim_history_collective)(int)said->comm_type;
    if (said->group[0])
        node->group = find_group(r, said->group);
    return TSIM_OK;
}

static enum tsim_status finish_node(struct reading *r, struct tsim_history_node *node, const struct said *said) {
    bool is_message = node->kind == TSIM_HISTORY_SEND || node->kind == TSIM_HISTORY_RECEIVE;
    bool is_collective = node->kind == TSIM_HISTORY_COLLECTIVE;
    double stream = node->is_host ? said->thread : said->stream;
    node->stream = fabs(stream) < 1e15 ? (int64_t)stream : 0;
    node->comm_bytes = said->comm_size;
    bool has_times = node->start_s < MOST_START_S && node->duration_s >= 0 && node->duration_s < MOST_DURATION_S;
    if (!has_times || !is_count(node->n_ops) || !is_count(node->bytes))
        return refuse(r, node, "an impossible start, duration, num_ops or tensor_size");
    if (!is_message && !is_collective)
        return TSIM_OK;
    if (!is_count(said->comm_size) && !(is_collective && said->comm_type == TSIM_HISTORY_BARRIER))
        return refuse(r, node, "communication without comm_size");
    node->comm_bytes = is_count(said->comm_size) ? said->comm_size : 0;
    return is_message ? finish_message(r, node, said) : finish_collective(r, node, said);
}

static uint64_t *keep_deps(struct reading *r, const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b,
                           struct tsim_history_node *node) {
    uint64_t *all = TSIM_NEW_ARRAY(r->arena, n_a + n_b, uint64_t);
    if (n_a > 0)
        memcpy(all, a, n_a * sizeof *a);
    if (n_b > 0)
        memcpy(all + n_a, b, n_b * sizeof *b);
    node->n_deps = (int32_t)(n_a + n_b);
    return all;
}

static const struct said NOTHING_SAID = {-1, (double)NAN, (double)NAN, (double)NAN, 0, 0, 0, ""};

static enum tsim_status add_node(struct reading *r, const Tsim__Chakra__Node *from) {
    static const enum tsim_history_kind KINDS[] = {
        TSIM_HISTORY_NOTHING, TSIM_HISTORY_NOTHING, TSIM_HISTORY_LOAD,    TSIM_HISTORY_STORE,
        TSIM_HISTORY_COMPUTE, TSIM_HISTORY_SEND,    TSIM_HISTORY_RECEIVE, TSIM_HISTORY_COLLECTIVE,
        TSIM_HISTORY_COMPUTE, TSIM_HISTORY_COMPUTE, TSIM_HISTORY_COMPUTE}; /* storage, batch, checkpoint */
    enum { FIRST_OF_STORAGE = 8, N_KINDS = sizeof KINDS / sizeof KINDS[0] };
    struct tsim_history_node *node = &r->nodes[r->n_nodes];
    struct said said = NOTHING_SAID;
    *node = (struct tsim_history_node){.id = from->id,
                                       .name = tsim_arena_strdup(r->arena, from->name),
                                       .is_host = from->type >= FIRST_OF_STORAGE,
                                       .start_s = (double)from->start_time_micros * S_PER_MICRO,
                                       .duration_s = (double)from->duration_micros * S_PER_MICRO,
                                       .group = -1,
                                       .from = -1,
                                       .to = -1};
    if (from->type >= N_KINDS)
        return refuse(r, node, "a type of node that is not known");
    node->kind = KINDS[from->type];
    r->deps[r->n_nodes++] = keep_deps(r, from->ctrl_deps, from->n_ctrl_deps, from->data_deps, from->n_data_deps, node);
    if (from->type == 1 && from->inputs)
        tell_groups(r, from->inputs->values);
    for (size_t i = 0; i < from->n_attr; i++) {
        struct attribute a = attribute_of(from->attr[i]);
        take_attribute(r, &a, node, &said);
    }
    return finish_node(r, node, &said);
}

static enum tsim_status add_old_node(struct reading *r, const Tsim__Chakra__OldNode *from) {
    static const enum tsim_history_kind KINDS[] = {TSIM_HISTORY_NOTHING,   TSIM_HISTORY_LOAD, TSIM_HISTORY_STORE,
                                                   TSIM_HISTORY_COMPUTE,   TSIM_HISTORY_SEND, TSIM_HISTORY_RECEIVE,
                                                   TSIM_HISTORY_COLLECTIVE};
    struct tsim_history_node *node = &r->nodes[r->n_nodes];
    struct said said = NOTHING_SAID;
    *node = (struct tsim_history_node){
        .id = from->id, .name = tsim_arena_strdup(r->arena, from->name), .group = -1, .from = -1, .to = -1};
    if (from->type >= sizeof KINDS / sizeof KINDS[0])
        return refuse(r, node, "a type of node that is not known");
    node->kind = KINDS[from->type];
    r->deps[r->n_nodes++] = keep_deps(r, from->parent, from->n_parent, NULL, 0, node);
    for (size_t i = 0; i < from->n_attribute; i++) {
        struct attribute a = old_attribute_of(r->arena, from->attribute[i]);
        take_attribute(r, &a, node, &said);
    }
    return finish_node(r, node, &said);
}

/* ---- the graph ---- */

static int compare_ids(const void *a, const void *b) {
    const struct id_place *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->index < y->index ? -1 : x->index > y->index;
}

static int compare_indices(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static void resolve_deps(struct reading *r, const struct id_place *places, int32_t index) {
    struct tsim_history_node *node = &r->nodes[index];
    int32_t *deps = TSIM_NEW_ARRAY(r->arena, (size_t)node->n_deps, int32_t), n = 0, n_unique = 0;
    for (int32_t i = 0; i < node->n_deps; i++) {
        struct id_place key = {r->deps[index][i], 0};
        size_t low = 0, high = (size_t)r->n_nodes;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (places[middle].id < key.id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < (size_t)r->n_nodes && places[low].id == key.id)
            deps[n++] = places[low].index;
        else
            r->n_dangling++;
    }
    qsort(deps, (size_t)n, sizeof *deps, compare_indices);
    for (int32_t i = 0; i < n; i++)
        if (i == 0 || deps[i] != deps[i - 1])
            deps[n_unique++] = deps[i];
    node->deps = deps;
    node->n_deps = n_unique;
}

/* Nodes that come after all they wait for, taken away one after another: what is left is a cycle. */
static enum tsim_status find_cycle(struct reading *r) {
    size_t n = (size_t)r->n_nodes, n_edges = 0, n_ready = 0, n_done = 0;
    int32_t *waits = TSIM_NEW_ARRAY(r->arena, n, int32_t), *first = TSIM_NEW_ARRAY(r->arena, n + 1, int32_t);
    int32_t *ready = TSIM_NEW_ARRAY(r->arena, n, int32_t);
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < r->nodes[i].n_deps; k++)
            first[r->nodes[i].deps[k] + 1]++;
        n_edges += (size_t)r->nodes[i].n_deps;
    }
    int32_t *children = TSIM_NEW_ARRAY(r->arena, n_edges, int32_t), *at = TSIM_NEW_ARRAY(r->arena, n, int32_t);
    for (size_t i = 0; i < n; i++)
        at[i] = first[i + 1] += first[i];
    for (size_t i = 0; i < n; i++)
        for (int32_t k = 0; k < r->nodes[i].n_deps; k++)
            children[--at[r->nodes[i].deps[k]]] = (int32_t)i;
    for (size_t i = 0; i < n; i++)
        if ((waits[i] = r->nodes[i].n_deps) == 0)
            ready[n_ready++] = (int32_t)i;
    for (; n_done < n_ready; n_done++)
        for (int32_t k = first[ready[n_done]]; k < first[ready[n_done] + 1]; k++)
            if (--waits[children[k]] == 0)
                ready[n_ready++] = children[k];
    for (size_t i = 0; i < n; i++)
        if (waits[i] > 0)
            return fail(r, NULL, "node %llu (%.60s) waits for itself, through others",
                        (unsigned long long)r->nodes[i].id, r->nodes[i].name);
    return TSIM_OK;
}

static enum tsim_status build_graph(struct reading *r) {
    struct id_place *places = TSIM_NEW_ARRAY(r->arena, (size_t)r->n_nodes, struct id_place);
    for (int32_t i = 0; i < r->n_nodes; i++)
        places[i] = (struct id_place){r->nodes[i].id, i};
    qsort(places, (size_t)r->n_nodes, sizeof *places, compare_ids);
    for (int32_t i = 1; i < r->n_nodes; i++)
        if (places[i].id == places[i - 1].id)
            return fail(r, NULL, "two nodes have the id %llu", (unsigned long long)places[i].id);
    for (int32_t i = 0; i < r->n_nodes; i++)
        resolve_deps(r, places, i);
    if (r->n_dangling > 0)
        tsim_diags_warning(r->diags, place(r), "", "%lld dependencies are on nodes that are not in the file",
                           (long long)r->n_dangling);
    if (r->names_dimensions)
        tsim_diag_hint(tsim_diags_warning(r->diags, place(r), "",
                                          "involved_dim names dimensions of a simulator's network, which is not read"),
                       "collectives without pg_name are taken as those of all ranks");
    return find_cycle(r);
}

/* ---- the file ---- */

static enum tsim_status read_node(struct reading *r, size_t length, const uint8_t *bytes, int32_t number) {
    enum tsim_status status;
    if (r->is_old) {
        Tsim__Chakra__OldNode *node = tsim__chakra__old_node__unpack(&ALLOCATOR, length, bytes);
        status = node ? add_old_node(r, node)
                      : fail(r, "convert it again with a converter of 2023 or later",
                             "message %d, at byte %zu, is no node of a schema that is known", (int)number, r->at);
        if (node)
            tsim__chakra__old_node__free_unpacked(node, &ALLOCATOR);
        return status;
    }
    Tsim__Chakra__Node *node = tsim__chakra__node__unpack(&ALLOCATOR, length, bytes);
    status = node ? add_node(r, node)
                  : fail(r, "is it an execution trace of Chakra (.et)?", "message %d, at byte %zu, is no node",
                         (int)number, r->at);
    if (node)
        tsim__chakra__node__free_unpacked(node, &ALLOCATOR);
    return status;
}

/* A file begins with metadata, whose first field is text; that of a node is a number. */
static bool read_metadata(struct reading *r, size_t length, const uint8_t *bytes, struct tsim_history *execution) {
    Tsim__Chakra__Metadata *metadata = tsim__chakra__metadata__unpack(&ALLOCATOR, length, bytes);
    if (!metadata)
        return false;
    execution->version = tsim_arena_strdup(r->arena, metadata->version);
    for (const char *c = execution->version; *c; c++)
        if ((unsigned char)*c < ' ') /* metadata of versions that had attributes only, which stand in that field */
            execution->version = "";
    if (strlen(execution->version) > 20)
        execution->version = "";
    tsim__chakra__metadata__free_unpacked(metadata, &ALLOCATOR);
    return true;
}

static enum tsim_status read_messages(struct reading *r, struct tsim_history *execution) {
    size_t from = 0, length = 0;
    int32_t n = 0;
    for (; from < r->size; from += length, n++) {
        r->at = from;
        next_length(r, &from, &length);
        if (n == 0 && read_metadata(r, length, r->bytes + from, execution))
            continue;
        r->is_old = r->is_old || n == 0;
        TSIM_TRY(read_node(r, length, r->bytes + from, n + 1));
    }
    return build_graph(r);
}

/* A group without ranks is that of all ranks if it is the first or has no name. */
static void finish_groups(struct reading *r, struct tsim_history *execution) {
    struct tsim_history_group *groups = TSIM_NEW_ARRAY(r->arena, r->n_groups, struct tsim_history_group);
    if (r->n_groups > 0)
        memcpy(groups, r->groups, r->n_groups * sizeof *groups);
    for (size_t i = 0; i < r->n_groups; i++)
        if (groups[i].n_ranks == UNTOLD && strcmp(groups[i].name, "0") == 0)
            groups[i].n_ranks = 0;
    execution->groups = groups;
    execution->n_groups = (int32_t)r->n_groups;
}

enum tsim_status tsim_chakra_parse(struct tsim_arena *arena, const char *file, const char *bytes, size_t size,
                                   struct tsim_history *execution, struct tsim_diags *diags) {
    struct reading r = {.arena = arena, .diags = diags, .file = file, .bytes = (const uint8_t *)bytes, .size = size};
    struct tsim_history out = {.file = file, .version = "", .rank = tsim_chakra_rank(file)};
    int32_t n_messages;
    TSIM_TRY(count_messages(&r, &n_messages));
    r.nodes = TSIM_NEW_ARRAY(arena, (size_t)n_messages, struct tsim_history_node);
    r.deps = TSIM_NEW_ARRAY(arena, (size_t)n_messages, uint64_t *);
    enum tsim_status status = read_messages(&r, &out);
    if (status == TSIM_OK && r.n_nodes == 0)
        status = fail(&r, NULL, "the file has metadata and no nodes");
    finish_groups(&r, &out);
    tsim_heap_free(r.groups);
    out.nodes = r.nodes;
    out.n_ranks = r.n_ranks;
    out.n_nodes = r.n_nodes;
    if (status == TSIM_OK)
        *execution = out;
    return status;
}

enum tsim_status tsim_chakra_read(struct tsim_arena *arena, const char *file, struct tsim_history *execution,
                                  struct tsim_diags *diags) {
    struct tsim_file_bytes bytes;
    TSIM_TRY(tsim_file_read(arena, file, TSIM_CHAKRA_MAX_BYTES, "an execution trace of Chakra (.et)", &bytes, diags));
    enum tsim_status status = tsim_chakra_parse(arena, bytes.file, bytes.text, bytes.size, execution, diags);
    tsim_heap_free(bytes.text);
    return status;
}

int32_t tsim_chakra_rank(const char *file) {
    size_t end = strlen(file);
    if (end < 3 || strcmp(file + end - 3, ".et") != 0)
        return -1;
    end -= 3;
    size_t from = end;
    while (from > 0 && file[from - 1] >= '0' && file[from - 1] <= '9')
        from--;
    if (from == end || end - from > 7 || (from > 0 && file[from - 1] != '.' && file[from - 1] != '_'))
        return -1;
    return (int32_t)strtol(file + from, NULL, 10);
}

/* ---- writing ---- */

/* The room for the attributes of one node. */
enum { MOST_ATTRIBUTES = 10 };

struct writing {
    FILE *out;
    Tsim__Chakra__Attribute attributes[MOST_ATTRIBUTES], *list[MOST_ATTRIBUTES];
    size_t n_attributes;
    uint8_t *bytes;
    size_t capacity;
};

static Tsim__Chakra__Attribute *add_attribute(struct writing *w, const char *name) {
    TSIM_ASSERT(w->n_attributes < MOST_ATTRIBUTES);
    Tsim__Chakra__Attribute *a = &w->attributes[w->n_attributes];
    tsim__chakra__attribute__init(a);
    a->name = (char *)(uintptr_t)name; /* protobuf-c has no const; it does not write there */
    w->list[w->n_attributes++] = a;
    return a;
}

static void add_int64(struct writing *w, const char *name, double value) {
    Tsim__Chakra__Attribute *a = add_attribute(w, name);
    a->value_case = TSIM__CHAKRA__ATTRIBUTE__VALUE_INT64_VAL;
    a->int64_val = (int64_t)(value + 0.5);
}

static void add_int32(struct writing *w, const char *name, int32_t value) {
    Tsim__Chakra__Attribute *a = add_attribute(w, name);
    a->value_case = TSIM__CHAKRA__ATTRIBUTE__VALUE_INT32_VAL;
    a->int32_val = value;
}

static void add_text(struct writing *w, const char *name, const char *text) {
    Tsim__Chakra__Attribute *a = add_attribute(w, name);
    a->value_case = TSIM__CHAKRA__ATTRIBUTE__VALUE_STRING_VAL;
    a->string_val = (char *)(uintptr_t)text;
}

/* Writes the first attribute of every node, for which ASTRA-sim's reader asks also in metadata. */
static void begin_attributes(struct writing *w, bool is_host) {
    w->n_attributes = 0;
    Tsim__Chakra__Attribute *a = add_attribute(w, "is_cpu_op");
    a->value_case = TSIM__CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL;
    a->bool_val = is_host;
}

static void add_attributes(struct writing *w, const struct tsim_history *e, const struct tsim_history_node *node) {
    bool is_message = node->kind == TSIM_HISTORY_SEND || node->kind == TSIM_HISTORY_RECEIVE;
    Tsim__Chakra__Attribute *a;
    begin_attributes(w, node->is_host);
    if (node->n_ops > 0)
        add_int64(w, "num_ops", node->n_ops);
    if (node->bytes > 0) {
        a = add_attribute(w, "tensor_size");
        a->value_case = TSIM__CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL;
        a->uint64_val = (uint64_t)(node->bytes + 0.5);
    }
    if (node->stream != 0)
        add_int64(w, node->is_host ? "tid" : "stream", (double)node->stream);
    if (node->kind == TSIM_HISTORY_COLLECTIVE) {
        add_int64(w, "comm_type", node->collective);
        add_int64(w, "comm_size", node->comm_bytes);
        if (node->group >= 0)
            add_text(w, "pg_name", e->groups[node->group].name);
    } else if (is_message) {
        add_int64(w, "comm_size", node->comm_bytes);
        add_int32(w, "comm_src", node->from);
        add_int32(w, "comm_dst", node->to);
        add_int32(w, "comm_tag", (int32_t)node->tag);
    }
}

static void put_message(struct writing *w, const ProtobufCMessage *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    w->bytes = tsim_heap_grow(w->bytes, &w->capacity, size + 1, 1);
    protobuf_c_message_pack(message, w->bytes);
    for (uint64_t rest = size;; rest >>= 7) {
        fputc((int)(rest < 0x80 ? rest : (rest & 0x7f) | 0x80), w->out);
        if (rest < 0x80)
            break;
    }
    fwrite(w->bytes, 1, size, w->out);
}

static uint64_t micros(double time_s) {
    return (uint64_t)(time_s / S_PER_MICRO + 0.5);
}

static void put_node(struct tsim_arena *arena, struct writing *w, const struct tsim_history *e,
                     const struct tsim_history_node *node) {
    static const uint32_t TYPES[] = {1, 4, 2, 3, 5, 6, 7}; /* of Chakra, by kind */
    Tsim__Chakra__Node out;
    uint64_t *deps = TSIM_NEW_ARRAY(arena, (size_t)node->n_deps, uint64_t);
    tsim__chakra__node__init(&out);
    for (int32_t i = 0; i < node->n_deps; i++)
        deps[i] = e->nodes[node->deps[i]].id;
    add_attributes(w, e, node);
    out.id = node->id;
    out.name = (char *)(uintptr_t)node->name;
    out.type = TYPES[node->kind];
    out.n_data_deps = (size_t)node->n_deps;
    out.data_deps = deps;
    out.start_time_micros = micros(node->start_s);
    out.duration_micros = micros(node->start_s + node->duration_s) - micros(node->start_s);
    out.n_attr = w->n_attributes;
    out.attr = w->list;
    put_message(w, &out.base);
}

/* Returns 0, the first that ASTRA-sim issues, unless another node has it. */
static uint64_t free_id(const struct tsim_history *e) {
    uint64_t largest = 0;
    bool has_zero = false;
    for (int32_t i = 0; i < e->n_nodes; i++) {
        largest = e->nodes[i].id > largest ? e->nodes[i].id : largest;
        has_zero = has_zero || e->nodes[i].id == 0;
    }
    for (uint64_t id = largest + 1; has_zero; id++) {
        bool is_taken = false;
        for (int32_t i = 0; i < e->n_nodes; i++)
            is_taken = is_taken || e->nodes[i].id == id;
        if (!is_taken)
            return id;
    }
    return 0;
}

/* Writes the groups as PyTorch's traces describe them (see the header). */
static void put_group_list(FILE *out, const struct tsim_history *e) {
    fprintf(out, "['[{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": %d}", e->n_ranks);
    for (int32_t g = 0; g < e->n_groups; g++) {
        fprintf(out, ", {\"pg_name\": \"%s\", \"ranks\": [", e->groups[g].name);
        for (int32_t i = 0; i < e->groups[g].n_ranks; i++)
            fprintf(out, "%s%d", i > 0 ? ", " : "", e->groups[g].ranks[i]);
        fputs("]}", out);
    }
    fputs("]']", out);
}

/* Writes the groups, before everything else. */
static void put_groups(struct tsim_arena *arena, struct writing *w, const struct tsim_history *e) {
    Tsim__Chakra__Node node;
    Tsim__Chakra__Values values;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        put_group_list(out, e);
    if (!out || ferror(out) || fclose(out) != 0 || !text) /* if the last realloc fails, fclose reports nothing */
        tsim_out_of_memory();
    tsim__chakra__node__init(&node);
    tsim__chakra__values__init(&values);
    node.id = free_id(e);
    node.name = tsim_arena_strdup(arena, "## process_group:init ##");
    node.type = 1;
    node.inputs = &values;
    begin_attributes(w, true);
    node.n_attr = w->n_attributes;
    node.attr = w->list;
    values.values = text;
    put_message(w, &node.base);
    tsim_heap_free_foreign(text);
}

enum tsim_status tsim_chakra_write(struct tsim_arena *arena, const char *file, const struct tsim_history *execution,
                                   struct tsim_diags *diags) {
    struct tsim_output *output;
    struct tsim_arena scratch;
    struct writing w = {.bytes = NULL};
    Tsim__Chakra__Metadata metadata;
    TSIM_TRY(tsim_output_open(arena, file, &output, diags));
    tsim_arena_init(&scratch);
    w.out = tsim_output_stream(output);
    tsim__chakra__metadata__init(&metadata);
    metadata.version = (char *)(uintptr_t) "0.0.4";
    put_message(&w, &metadata.base);
    if (execution->n_ranks > 0)
        put_groups(&scratch, &w, execution);
    for (int32_t i = 0; i < execution->n_nodes; i++) {
        put_node(&scratch, &w, execution, &execution->nodes[i]);
        if (i % 1024 == 0)
            tsim_arena_reset(&scratch);
    }
    tsim_arena_release(&scratch);
    tsim_heap_free(w.bytes);
    return tsim_output_keep(output, diags);
}

enum tsim_status tsim_chakra_write_groups(struct tsim_arena *arena, const char *file,
                                          const struct tsim_history_group *groups, int32_t n,
                                          struct tsim_diags *diags) {
    struct tsim_output *output;
    TSIM_TRY(tsim_output_open(arena, file, &output, diags));
    FILE *out = tsim_output_stream(output);
    fputs("{\n", out);
    for (int32_t g = 0; g < n; g++) {
        fprintf(out, "  \"%s\": [", groups[g].name);
        for (int32_t i = 0; i < groups[g].n_ranks; i++)
            fprintf(out, "%s%d", i > 0 ? ", " : "", groups[g].ranks[i]);
        fprintf(out, "]%s\n", g + 1 < n ? "," : "");
    }
    fputs("}\n", out);
    return tsim_output_keep(output, diags);
}
