#include "config/replay_spec.h"

#include "config/files/catalogue_read.h"
#include "config/text/document.h"

#include <string.h>

static const char *const REFERENCE_KEYS[] = {"node", "accelerator", "fabric", "software"};

/* ---- keys ---- */

static void read_file(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (value && value->kind == TSIM_VALUE_SCALAR)
        *(const char **)field = tsim_file_beside(reader->arena, value, value->text);
    else if (value)
        tsim_schema_wrong_kind(reader, value, path, "the name of a file");
}

static const struct tsim_word BY_NAME[] = {{"auto", -1}, {NULL, 0}};
#define TRACE(member) offsetof(struct tsim_replay_trace, member)
static const struct tsim_key TRACE_KEYS[] = {
    {.key = "file",
     .kind = TSIM_KEY_CUSTOM,
     .offset = TRACE(file),
     .read = read_file,
     .is_required = true,
     .help = "execution trace of Chakra, relative to the replay's file"},
    {.key = "rank",
     .kind = TSIM_KEY_INT,
     .offset = TRACE(rank),
     .max = 1e7,
     .words = BY_NAME,
     .default_text = "auto",
     .help = "rank of the trace; auto: the number in NAME.RANK.et"},
};
TSIM_TABLE(TRACE_TABLE, TRACE_KEYS, false);

static void read_trace(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                       struct tsim_replay_trace *trace) {
    trace->rank = -1;
    if (value->kind == TSIM_VALUE_SCALAR)
        trace->file = tsim_file_beside(reader->arena, value, value->text);
    else if (value->kind == TSIM_VALUE_MAPPING)
        tsim_schema_read(reader, &TRACE_TABLE, value, path, trace);
    else
        tsim_schema_wrong_kind(reader, value, path, "a file, or {file: NAME, rank: N}");
}

static void read_traces(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_replay_spec *spec = field;
    if (!value)
        return;
    if (value->kind != TSIM_VALUE_SEQUENCE || value->n_items == 0 || value->n_items > TSIM_REPLAY_MOST_TRACES) {
        tsim_schema_wrong_kind(reader, value, path, "a list of execution traces, a file a rank");
        return;
    }
    spec->n_traces = value->n_items;
    spec->traces = TSIM_NEW_ARRAY(reader->arena, value->n_items, struct tsim_replay_trace);
    for (size_t i = 0; i < value->n_items; i++)
        read_trace(reader, value->items[i], tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &spec->traces[i]);
}

static void keep_value(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    (void)reader;
    (void)path;
    *(const struct tsim_value **)field = value;
}

static const struct tsim_word SCHEMA[] = {{"tsim/replay/v1", 0}, {NULL, 0}};
static const struct tsim_word KERNELS[] = {
    {"recorded", TSIM_REPLAY_RECORDED}, {"roofline", TSIM_REPLAY_SIMULATED}, {NULL, 0}};
static const struct tsim_word COMMUNICATION[] = {
    {"simulated", TSIM_REPLAY_SIMULATED}, {"recorded", TSIM_REPLAY_RECORDED}, {NULL, 0}};
static const struct tsim_word NETWORKS[] = {{"fluid", TSIM_NETWORK_FLUID}, {"ideal", TSIM_NETWORK_IDEAL}, {NULL, 0}};

#define AT(member) offsetof(struct tsim_replay_spec, member)
/* clang-format off */
static const struct tsim_key REPLAY_KEYS[] = {
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = SCHEMA, .is_required = true, .help = "tsim/replay/v1"},
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = AT(name), .is_required = true, .help = "free text"},
    {.key = "description", .kind = TSIM_KEY_STRING, .offset = AT(description), .help = "free text"},
    {.key = "traces", .kind = TSIM_KEY_CUSTOM, .read = read_traces, .is_required = true, .described_by = &TRACE_TABLE,
     .help = "list of execution traces: a file, or {file, rank}"},
    {.key = "groups", .kind = TSIM_KEY_CUSTOM, .offset = AT(groups), .read = read_file,
     .help = "file of process groups that the traces only name, as ASTRA-sim's: {\"1\": [0, 1]}"},
    {.key = "cluster", .kind = TSIM_KEY_CUSTOM, .offset = AT(cluster), .read = keep_value, .is_required = true,
     .help = "the machine, as in a scenario"},
    {.key = "software", .kind = TSIM_KEY_CUSTOM, .offset = AT(software), .read = keep_value,
     .help = "as in a scenario; only its key nics_used matters"},
    {.key = "kernels", .kind = TSIM_KEY_ENUM, .offset = AT(kernels), .words = KERNELS, .default_text = "recorded",
     .help = "time of kernels: as recorded, or by their operations and bytes on the cluster's accelerator"},
    {.key = "communication", .kind = TSIM_KEY_ENUM, .offset = AT(communication), .words = COMMUNICATION, .default_text = "simulated",
     .help = "on the cluster's links, or as recorded"},
    {.key = "network", .kind = TSIM_KEY_ENUM, .offset = AT(network), .words = NETWORKS, .default_text = "fluid",
     .help = "fluid: links are shared; ideal: no contention, no latency"},
    {.key = "eager_limit", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_BYTES, .offset = AT(eager_bytes), .default_text = "4 MiB",
     .help = "messages up to this size are sent whether or not their receiver is ready, larger ones wait for it; default: "
             "NCCL's buffer (NCCL_BUFFSIZE). In ASTRA-sim no message waits: 1 TB"},
    {.key = "precision", .kind = TSIM_KEY_ENUM, .offset = AT(precision), .words = tsim_precision_words,
     .help = "precision of kernels by roofline; default: bf16, fp16 or fp32, the first that the accelerator has"},
    {.key = "step_time", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .offset = AT(measured_s), .default_text = "0",
     .help = "a measurement to compare with"},
};
/* clang-format on */
const struct tsim_table tsim_replay_table = {REPLAY_KEYS, sizeof REPLAY_KEYS / sizeof REPLAY_KEYS[0], false};

/* ---- the cluster, through a scenario ---- */

static struct tsim_pair pair_of(const struct tsim_value *at, const char *key, const struct tsim_value *value) {
    return (struct tsim_pair){key, at->document, at->line, at->column, value};
}

static struct tsim_pair text_pair(struct tsim_arena *arena, const struct tsim_value *at, const char *key,
                                  const char *text) {
    return pair_of(at, key, tsim_value_new_scalar(arena, at, text));
}

/* Returns {section: {key: text}}. */
static struct tsim_pair section_pair(struct tsim_arena *arena, const struct tsim_value *at, const char *section,
                                     const char *key, const char *text) {
    const struct tsim_pair pair = text_pair(arena, at, key, text);
    return pair_of(at, section, tsim_value_new_mapping(arena, at, &pair, 1));
}

/* The model is there only because a scenario needs one. */
static enum tsim_status load_scenario(struct tsim_arena *arena, struct tsim_replay_spec *spec,
                                      const struct tsim_value *root, struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    const struct tsim_pair pairs[] = {
        text_pair(arena, root, "schema", "tsim/v1"),
        text_pair(arena, root, "name", "replay"),
        text_pair(arena, root, "model", "mlp-mnist"),
        pair_of(root, "cluster", spec->cluster),
        section_pair(arena, root, "simulation", "network", tsim_word_of(NETWORKS, (int)spec->network)),
        section_pair(arena, root, "training", "precision", tsim_precision_name(spec->precision)),
        pair_of(root, "software", spec->software)};
    const struct tsim_value *scenario =
        tsim_value_new_mapping(arena, root, pairs, sizeof pairs / sizeof pairs[0] - !spec->software);
    TSIM_TRY(tsim_scenario_open_value(arena, scenario, &source, diags));
    return tsim_scenario_load_job(arena, &source, NULL, 0, &spec->scenario, diags);
}

/* The scenario is read twice if it names no precision: first in fp32, which every accelerator has, to learn the
 * accelerator. */
static enum tsim_status load_cluster(struct tsim_arena *arena, struct tsim_replay_spec *spec,
                                     const struct tsim_value *root, struct tsim_diags *diags) {
    static const enum tsim_precision PREFERRED[] = {TSIM_BF16, TSIM_FP16};
    if (tsim_value_find(root, "precision"))
        return load_scenario(arena, spec, root, diags);
    const struct tsim_diags before = *diags;
    spec->precision = TSIM_FP32;
    TSIM_TRY(load_scenario(arena, spec, root, diags));
    const struct tsim_accelerator *accelerator = spec->scenario->cluster.node->accelerator;
    for (size_t i = 0; i < sizeof PREFERRED / sizeof PREFERRED[0]; i++)
        if (accelerator->peak_flops_per_s[PREFERRED[i]] > 0) {
            tsim_diags_take_back(diags, &before);
            spec->precision = PREFERRED[i];
            return load_scenario(arena, spec, root, diags);
        }
    return TSIM_OK;
}

static enum tsim_status load(struct tsim_arena *arena, const char *file, const struct tsim_value *root,
                             const struct tsim_override *overrides, size_t n_overrides,
                             const struct tsim_replay_spec **out, struct tsim_diags *diags) {
    struct tsim_reader reader = {.arena = arena, .diags = diags};
    struct tsim_replay_spec *spec = TSIM_NEW(arena, struct tsim_replay_spec);
    size_t first = diags->n_items, n_errors = diags->n_errors;
    for (size_t i = 0; i < n_overrides; i++) {
        const struct tsim_value *value;
        TSIM_TRY(tsim_document_parse_override(arena, overrides[i].path, overrides[i].value, overrides[i].option, &value,
                                              diags));
        TSIM_TRY(tsim_value_set(arena, root, overrides[i].path, value, REFERENCE_KEYS,
                                sizeof REFERENCE_KEYS / sizeof REFERENCE_KEYS[0], &root, diags));
    }
    const struct tsim_value *schema = tsim_value_find(root, "schema");
    if (schema && tsim_value_is_text(schema, "tsim/v1")) {
        tsim_diag_hint(tsim_value_error(diags, TSIM_ERR_SCHEMA, schema, "schema", "this is a scenario, not a replay"),
                       "'tsim run %s' simulates it; 'tsim import chakra' makes a replay of execution traces", file);
        return TSIM_ERR_SCHEMA;
    }
    tsim_schema_read(&reader, &tsim_replay_table, root, "", spec);
    if (diags->n_errors > n_errors)
        return tsim_diags_status(diags, first);
    spec->file = tsim_arena_strdup(arena, file);
    TSIM_TRY(load_cluster(arena, spec, root, diags));
    *out = spec;
    return TSIM_OK;
}

/* Loads a document that was read with `status`. After a mistake in its text the others are reported too, if the document
 * is there all the same. */
static enum tsim_status load_read(struct tsim_arena *arena, const char *file, enum tsim_status status,
                                  const struct tsim_value *root, const struct tsim_override *overrides,
                                  size_t n_overrides, const struct tsim_replay_spec **spec, struct tsim_diags *diags) {
    enum tsim_status loaded = root ? load(arena, file, root, overrides, n_overrides, spec, diags) : status;
    return status == TSIM_OK ? loaded : status;
}

enum tsim_status tsim_replay_load(struct tsim_arena *arena, const char *file, const struct tsim_override *overrides,
                                  size_t n_overrides, const struct tsim_replay_spec **spec, struct tsim_diags *diags) {
    const struct tsim_value *root = NULL;
    enum tsim_status status = tsim_document_read(arena, file, &root, diags);
    return load_read(arena, file, status, root, overrides, n_overrides, spec, diags);
}

enum tsim_status tsim_replay_load_text(struct tsim_arena *arena, const char *file, const char *text,
                                       const struct tsim_override *overrides, size_t n_overrides,
                                       const struct tsim_replay_spec **spec, struct tsim_diags *diags) {
    const struct tsim_value *root = NULL;
    enum tsim_status status = tsim_document_parse(arena, file, text, strlen(text), &root, diags);
    return load_read(arena, file, status, root, overrides, n_overrides, spec, diags);
}

bool tsim_replay_is(const char *file) {
    struct tsim_arena arena;
    const struct tsim_value *root = NULL;
    if (strcmp(file, "-") == 0)
        return false;
    tsim_arena_init(&arena);
    tsim_document_read(&arena, file, &root, TSIM_UNHEARD);
    bool is = root && tsim_value_is_text(tsim_value_find(root, "schema"), SCHEMA[0].word);
    tsim_arena_release(&arena);
    return is;
}
