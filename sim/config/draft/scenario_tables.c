#include "config/draft/scenario_draft.h"
#include "config/files/catalogue_read.h"
#include "config/files/known_sizes.h"

#include <string.h>

#define DEFAULT_SOFTWARE "megatron-core-2024"
#define DEFAULT_ENGINE "vllm-2025"

/* clang-format off */
static const struct tsim_word SCENARIO_SCHEMA[] = {{"tsim/v1", 0}, {NULL, 0}};
static const struct tsim_word ATTENTIONS[] = {
    {"flash", TSIM_ATTENTION_FLASH}, {"standard", TSIM_ATTENTION_STANDARD}, {NULL, 0}};
static const struct tsim_word GRADIENT_PRECISIONS[] = {
    {"fp32", TSIM_FP32}, {"fp16", TSIM_FP16}, {"bf16", TSIM_BF16}, {NULL, 0}};
static const struct tsim_word DETAILS[] = {
    {"auto", TSIM_DETAIL_AUTO}, {"operators", TSIM_DETAIL_OPERATORS}, {"passes", TSIM_DETAIL_PASSES}, {NULL, 0}};
static const struct tsim_word NETWORKS[] = {
    {"fluid", TSIM_NETWORK_FLUID}, {"steps", TSIM_NETWORK_STEPS}, {"ideal", TSIM_NETWORK_IDEAL}, {NULL, 0}};
static const struct tsim_word FOLDS[] = {{"auto", 1}, {"off", 0}, {NULL, 0}};
static const struct tsim_word AUTO[] = {{"auto", 0}, {NULL, 0}};
static const struct tsim_word ALL[] = {{"all", 0}, {NULL, 0}};
static const struct tsim_word ZERO_GROUPS[] = {{"all", 0}, {"node", -1}, {NULL, 0}};
/* clang-format on */

/* ---- references ---- */

/* Trees share what no proposal has changed. Model, node and software are two thirds of the time that reading takes. */
static bool is_as_before(const struct tsim_draft *draft, const struct tsim_value *value, const char *path) {
    return draft->base && value == tsim_value_find_path(draft->base->source->root, path);
}

static void read_model(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    draft->scenario.model =
        is_as_before(draft, value, path)
            ? draft->base->model
            : tsim_catalogue_read(reader, TSIM_CATALOGUE_MODELS, tsim_model_completed(reader, value, path), path);
}

static void read_node(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    draft->scenario.cluster.node = is_as_before(draft, value, path)
                                       ? draft->base->cluster.node
                                       : tsim_catalogue_read(reader, TSIM_CATALOGUE_NODES, value, path);
}

/* Returns the default profile, and what a --set amends of it. */
static const struct tsim_value *default_software(struct tsim_reader *reader, const struct tsim_draft *draft,
                                                 const struct tsim_value *patch) {
    const struct tsim_value *id = tsim_value_new_scalar(reader->arena, draft->root, DEFAULT_SOFTWARE);
    return tsim_value_merge(reader->arena, id, patch);
}

/* Returns the profile that runs what the scenario's does not, and says what that is; NULL: none is named. */
static const char *software_instead(struct tsim_arena *arena, const struct tsim_draft *draft, const char **what) {
    const struct tsim_software *software = draft->scenario.software;
    const struct tsim_model *model = draft->scenario.model;
    const struct tsim_accelerator *a = draft->scenario.cluster.node->accelerator;
    const struct tsim_value *optimizer = tsim_value_find_path(draft->root, "training.optimizer");
    const struct tsim_instead *instead = &software->instead;
    const char *other = NULL;
    bool is_newer = (instead->newest_capability > 0 && a->compute_capability > instead->newest_capability) ||
                    (instead->newest_year > 0 && a->year > instead->newest_year);
    if (software->for_gpus && a->software) {
        *what = tsim_arena_printf(arena, "run on a %.40s", a->name);
        other = a->software;
    } else if (model->n_tables > 0 && instead->recommendation) {
        *what = "train recommendation models";
        other = instead->recommendation;
    } else if (!model->list && !model->causal && optimizer && tsim_value_is_text(optimizer, "lamb") &&
               software->defaults.optimizer != TSIM_LAMB && instead->encoder_lamb) {
        *what = "train encoders with LAMB";
        other = instead->encoder_lamb;
    } else if (is_newer && instead->newer) {
        *what = tsim_arena_printf(arena, "have kernels for a %.40s", a->name);
        other = instead->newer;
    }
    return other && *other && strcmp(other, software->name) != 0 ? other : NULL;
}

/* Returns what names a profile of the catalogue, or amends one, with another in its place; NULL: it is a profile of its
 * own. */
static const struct tsim_value *with_profile(struct tsim_arena *arena, const struct tsim_value *value, const char *id) {
    const struct tsim_value *base = value->kind == TSIM_VALUE_MAPPING ? tsim_value_find(value, "extends") : value;
    if (!base || base->kind != TSIM_VALUE_SCALAR || strpbrk(base->text, "/."))
        return NULL;
    const struct tsim_value *other = tsim_value_new_scalar(arena, base, id);
    if (base == value)
        return other;
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, value->n_items, struct tsim_pair);
    for (size_t i = 0; i < value->n_items; i++) {
        pairs[i] = value->pairs[i];
        if (pairs[i].value == base)
            pairs[i].value = other;
    }
    return tsim_value_new_mapping(arena, value, pairs, value->n_items);
}

/* A profile that does not run the scenario is replaced by the one that it or the accelerator names; twice at most, as
 * that one may have no kernels for the accelerator. */
static void replace_software(struct tsim_reader *reader, struct tsim_draft *draft, const struct tsim_value *value,
                             const char *path) {
    const char *first = NULL, *what = NULL, *next_what, *id;
    const struct tsim_value *at = value;
    for (int i = 0; i < 2 && draft->scenario.software && draft->scenario.model && draft->scenario.cluster.node &&
                    (id = software_instead(reader->arena, draft, &next_what)) != NULL &&
                    (value = with_profile(reader->arena, value, id)) != NULL;
         i++) {
        first = first ? first : draft->scenario.software->name;
        what = what ? what : next_what;
        draft->scenario.software = tsim_catalogue_read(reader, TSIM_CATALOGUE_SOFTWARE, value, path);
    }
    draft->scenario.software_replaced = first != NULL;
    if (first && draft->scenario.software && !draft->scenario.software_defaulted)
        tsim_diag_hint(tsim_value_warning(reader->diags, at, path, "%.40s does not %s: %.40s is taken in its place",
                                          first, what, draft->scenario.software->name),
                       "software: %.40s", draft->scenario.software->name);
}

/* Comes before `parallelism`, whose overlap keys win over the profile's. */
static void read_software(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    draft->scenario.software_defaulted = !value;
    bool is_as_read = draft->base && draft->base->cluster.node->accelerator->execution == TSIM_EXECUTION_LAUNCHED &&
                      !draft->base->software_replaced && draft->scenario.cluster.node == draft->base->cluster.node;
    if (is_as_read && is_as_before(draft, value, path)) { /* else it is the one that a compiler makes of it */
        draft->scenario.software = draft->base->software;
        draft->scenario.parallelism.overlap = draft->scenario.software->overlap;
        return;
    }
    bool is_patch = value && value->is_patch && !tsim_value_find(value, "extends");
    if (!value || is_patch)
        value = default_software(reader, draft, value);
    draft->scenario.software = tsim_catalogue_read(reader, TSIM_CATALOGUE_SOFTWARE, value, path);
    replace_software(reader, draft, value, path);
    if (draft->scenario.software)
        draft->scenario.parallelism.overlap = draft->scenario.software->overlap;
}

static void write_model(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    tsim_catalogue_write(writer, key, TSIM_CATALOGUE_MODELS, path, ((const struct tsim_draft *)field)->scenario.model);
}

static void write_node(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_draft *draft = field;
    tsim_catalogue_write(writer, key, TSIM_CATALOGUE_NODES, path, draft->scenario.cluster.node);
}

static void write_software(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_draft *draft = field;
    tsim_catalogue_write(writer, key, TSIM_CATALOGUE_SOFTWARE, path, draft->scenario.software);
}

/* ---- values of several shapes ---- */

static const struct tsim_key RECOMPUTE_KEYS[] = {
    {.key = "every",
     .kind = TSIM_KEY_INT,
     .offset = offsetof(struct tsim_training_spec, recompute_every),
     .is_positive = true,
     .max = 1e5,
     .help = "layers between two checkpoints"},
    {.key = "layers",
     .kind = TSIM_KEY_INT,
     .offset = offsetof(struct tsim_training_spec, recompute_layers),
     .is_positive = true,
     .max = 1e5,
     .help = "layers of each stage's chunk that are recomputed; the others are not"},
};
TSIM_TABLE(RECOMPUTE, RECOMPUTE_KEYS, false);

static void read_recompute_parts(struct tsim_reader *reader, const struct tsim_value *list, const char *path,
                                 struct tsim_training_spec *training) {
    const char *names[TSIM_N_RECOMPUTE_PARTS];
    for (int part = 0; part < TSIM_N_RECOMPUTE_PARTS; part++)
        names[part] = tsim_recompute_part_words[part].word;
    training->recompute = list->n_items > 0 ? TSIM_RECOMPUTE_SELECTIVE : TSIM_RECOMPUTE_NONE;
    for (size_t i = 0; i < list->n_items; i++) {
        const struct tsim_value *item = list->items[i];
        int part = 0;
        while (part < TSIM_N_RECOMPUTE_PARTS && !tsim_value_is_text(item, names[part]))
            part++;
        if (part == TSIM_N_RECOMPUTE_PARTS)
            tsim_schema_unknown_word(reader, item, path, "part of a layer", names, TSIM_N_RECOMPUTE_PARTS);
        else
            training->recompute_parts |= 1u << part;
    }
}

static void read_recompute(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_training_spec *training = &((struct tsim_draft *)field)->scenario.training;
    static const char *const words[] = {"none", "selective", "full", "sqrt"};
    enum { N_WORDS = sizeof words / sizeof words[0] };
    if (!value)
        return;
    if (value->kind == TSIM_VALUE_MAPPING) {
        tsim_schema_read(reader, &RECOMPUTE, value, path, training);
        bool has_every = tsim_value_find(value, "every"), has_layers = tsim_value_find(value, "layers");
        training->recompute = has_layers ? TSIM_RECOMPUTE_LAYERS : TSIM_RECOMPUTE_EVERY;
        if (has_every == has_layers)
            tsim_diag_hint(
                tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "needs one of every and layers"),
                "{every: 4}, or {layers: 8}");
        return;
    }
    for (size_t i = 0; i < N_WORDS; i++)
        if (tsim_value_is_text(value, words[i])) {
            training->recompute = (enum tsim_recompute)tsim_recompute_words[i].value;
            return;
        }
    if (value->kind == TSIM_VALUE_SEQUENCE)
        read_recompute_parts(reader, value, path, training);
    else
        tsim_schema_unknown_word(reader, value, path, "word", words, N_WORDS);
}

static void write_recompute(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_training_spec *training = &((const struct tsim_draft *)field)->scenario.training;
    (void)path;
    if (training->recompute == TSIM_RECOMPUTE_SELECTIVE && training->recompute_parts) {
        tsim_writer_begin(writer, key, '[');
        for (int part = 0; part < TSIM_N_RECOMPUTE_PARTS; part++)
            if (training->recompute_parts & 1u << part)
                tsim_writer_text(writer, NULL, tsim_recompute_part_words[part].word);
        tsim_writer_end(writer, ']');
        return;
    }
    if (training->recompute < TSIM_RECOMPUTE_EVERY) {
        tsim_writer_text(writer, key, tsim_recompute_name(training->recompute));
        return;
    }
    bool has_layers = training->recompute == TSIM_RECOMPUTE_LAYERS;
    tsim_writer_begin(writer, key, '{');
    tsim_writer_int(writer, tsim_recompute_name(training->recompute),
                    has_layers ? training->recompute_layers : training->recompute_every);
    tsim_writer_end(writer, '}');
}

static void read_layers(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    static const struct tsim_key LAYERS = {
        .key = "layers", .kind = TSIM_KEY_INT, .max = 1e5, .help = "layers of one chunk"};
    struct tsim_draft *draft = field;
    draft->scenario.parallelism.balances = tsim_value_is_text(value, "balance");
    if (!value || tsim_value_is_text(value, "auto") || draft->scenario.parallelism.balances)
        return;
    if (value->kind != TSIM_VALUE_SEQUENCE) {
        tsim_schema_wrong_kind(reader, value, path, "'auto', 'balance' or a list of layer counts");
        return;
    }
    int64_t *layers = TSIM_NEW_ARRAY(reader->arena, value->n_items, int64_t);
    bool is_good = true;
    for (size_t i = 0; i < value->n_items; i++)
        is_good &= tsim_schema_read_value(reader, &LAYERS, value->items[i],
                                          tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &layers[i]);
    draft->layers = layers;
    draft->n_layers = is_good ? value->n_items : 0;
}

static void write_layers(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_parallelism_spec *parallelism = &((const struct tsim_draft *)field)->scenario.parallelism;
    (void)path;
    if (parallelism->balances) {
        tsim_writer_text(writer, key, "balance");
        return;
    }
    tsim_writer_begin(writer, key, '[');
    for (int64_t i = 0; i < tsim_n_model_parts(parallelism); i++)
        tsim_writer_int(writer, NULL, parallelism->layers_per_chunk[i]);
    tsim_writer_end(writer, ']');
}

static void read_order(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    static const struct tsim_key AXIS = {
        .key = "order", .kind = TSIM_KEY_ENUM, .words = tsim_axis_words, .help = "an axis"};
    enum tsim_axis *order = ((struct tsim_draft *)field)->scenario.parallelism.order;
    if (!value)
        return;
    if (value->kind != TSIM_VALUE_SEQUENCE) {
        tsim_schema_wrong_kind(reader, value, path, "a list of the five axes");
        return;
    }
    unsigned seen = 0;
    for (size_t i = 0; i < value->n_items; i++) {
        int axis;
        if (!tsim_schema_read_value(reader, &AXIS, value->items[i],
                                    tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &axis))
            return;
        seen |= 1u << axis;
        if (i < TSIM_N_AXES)
            order[i] = (enum tsim_axis)axis;
    }
    if (value->n_items != TSIM_N_AXES || seen != (1u << TSIM_N_AXES) - 1)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "must name each axis once"),
                       "for example [tensor, context, expert, data, pipeline], innermost first");
}

static void write_order(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const enum tsim_axis *order = ((const struct tsim_draft *)field)->scenario.parallelism.order;
    (void)path;
    tsim_writer_begin(writer, key, '[');
    for (size_t i = 0; i < TSIM_N_AXES; i++)
        tsim_writer_text(writer, NULL, tsim_axis_name(order[i]));
    tsim_writer_end(writer, ']');
}

/* Belongs to `tsim sweep` and `tsim plan`, which read it themselves. */
static void read_sweep(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    (void)field;
    if (value && value->kind != TSIM_VALUE_MAPPING)
        tsim_schema_wrong_kind(reader, value, path, "a mapping of keys to values");
}

/* The reference describes the section by these keys; space.c reads it. */
#define SWEEP_KEY(name_, help_)                                                                                        \
    { .key = (name_), .kind = TSIM_KEY_CUSTOM, .help = (help_) }
static const struct tsim_key SWEEP_KEYS[] = {
    SWEEP_KEY("axes", "{path: [values], ...}: every combination of the values"),
    SWEEP_KEY("zip", "list of mappings like axes; the keys of one mapping change together"),
    SWEEP_KEY("points", "list of mappings {path: value, ...}: a point each"),
    SWEEP_KEY("objective", "figure to rank by: step_time, tokens_per_s, mfu, rent, days, ..."),
    SWEEP_KEY(
        "limits",
        "{figure: limit}, such as {days: 60, cost: 3 M USD}; a maximum, or a minimum for figures that should be large"),
    SWEEP_KEY("where", "a condition on the figures of points that are shown, as in 'memory.fits and mfu > 0.3'"),
};
const struct tsim_table tsim_sweep_table = {SWEEP_KEYS, sizeof SWEEP_KEYS / sizeof SWEEP_KEYS[0], false};

/* `extends` is followed before the table is read; a value that is left comes from a --set. */
static void read_extends(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    (void)field;
    if (value)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "cannot be set from outside"),
                       "name the other scenario on the command line");
}

/* ---- tables: all offsets are from the draft; the largest numbers are such that products of them stay in 64 bits ----
 */

/* clang-format off */
#define AT(member) offsetof(struct tsim_draft, member)
#define INT_KEY(name_, member_, max_, help_)                                                                           \
    .key = (name_), .kind = TSIM_KEY_INT, .offset = AT(member_), .max = (max_), .help = (help_)
#define ENUM_KEY(name_, member_, words_, default_, help_)                                                              \
    {.key = (name_), .kind = TSIM_KEY_ENUM, .offset = AT(member_), .words = (words_), .default_text = (default_),      \
     .help = (help_)}
#define QUANTITY_KEY(name_, dimension_, member_, help_)                                                                \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .offset = AT(member_), .help = (help_)
#define CUSTOM_KEY(name_, read_, write_, help_)                                                                        \
    .key = (name_), .kind = TSIM_KEY_CUSTOM, .read = (read_), .write = (write_), .help = (help_)
#define REFERENCE_KEY(name_, word_, member_, help_)                                                                    \
    {CUSTOM_KEY(name_, tsim_##word_##_reference_read, tsim_##word_##_reference_write, help_), .offset = AT(member_)}
#define SECTION_KEY(name_, table_, help_) .key = (name_), .kind = TSIM_KEY_MAPPING, .table = (table_), .help = (help_)

#define CLUSTER_LIST(member)                                                                                           \
    TSIM_LIST(struct tsim_draft, scenario.cluster.member, scenario.cluster.n_##member, &tsim_##member##_table)
static const struct tsim_key CLUSTER_KEYS[] = {
    {CUSTOM_KEY("node", read_node, write_node, "id, path or mapping: accelerators, links, NICs, host"), .is_required = true},
    {INT_KEY("nodes", scenario.cluster.nodes, 1e6, "number of nodes"), .default_text = "1", .is_positive = true},
    {INT_KEY("accelerators_per_node", scenario.cluster.accelerators_per_node, 1e4, "number of accelerators to use in each node"),
     .words = ALL, .default_text = "all"},
    REFERENCE_KEY("fabric", fabric, scenario.cluster.fabric, "id, path or mapping: the network between nodes; not needed for one"),
    {CUSTOM_KEY("shape", tsim_shape_read, tsim_shape_write,
                "accelerators along each dimension of a slice of a torus; default: as even as possible")},
    {CUSTOM_KEY("tile", tsim_tile_read, tsim_tile_write,
                "box of accelerators on a torus that ranks fill before the next; default: they fill whole dimensions")},
    {.key = "degraded", CLUSTER_LIST(degraded), .help = "links that are slower than their kind: a list"},
    {.key = "background", CLUSTER_LIST(background), .help = "other traffic on the NICs (of another job, of a checkpoint): a list"},
};
TSIM_TABLE(CLUSTER, CLUSTER_KEYS, false);

static const struct tsim_key OFFLOAD_KEYS[] = {
    {.key = "optimizer", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.training.offload.optimizer), .default_text = "false",
     .help = "master weights and optimizer state lie in the host's memory, and the host updates them"},
    {QUANTITY_KEY("activations", TSIM_FRACTION, scenario.training.offload.activations_frac,
                  "share of the kept activations that is moved to the host and back"),
     .default_text = "0", .max = 1, .is_omitted_when_zero = true},
};
TSIM_TABLE(OFFLOAD, OFFLOAD_KEYS, false);

static const struct tsim_word TRAINING_KINDS[] = {{"pretrain", TSIM_PRETRAIN}, {"sft", TSIM_SFT}, {"dpo", TSIM_DPO},
                                                  {"grpo", TSIM_GRPO}, {"ppo", TSIM_PPO}, {"distill", TSIM_DISTILL}, {NULL, 0}};
static const struct tsim_word BATCHINGS[] = {{"packed", TSIM_BATCHING_PACKED}, {"padded", TSIM_BATCHING_LONGEST},
                                             {"padded-whole", TSIM_BATCHING_WHOLE}, {NULL, 0}};
static const struct tsim_word SCORERS[] = {{"policy", TSIM_SCORER_POLICY}, {"reference", TSIM_SCORER_REFERENCE},
                                           {"reward", TSIM_SCORER_REWARD}, {"critic", TSIM_SCORER_CRITIC}, {NULL, 0}};
static const struct tsim_key LENGTHS_KEYS[] = {
    {QUANTITY_KEY("mean", TSIM_COUNT, scenario.training.lengths.mean, "tokens of a sample, before it is cut at sequence_length"),
     .is_positive = true, .min = 1, .max = 1e9, .is_omitted_when_zero = true},
    {QUANTITY_KEY("cv", TSIM_FRACTION, scenario.training.lengths.cv, "coefficient of variation of the (lognormal) lengths"),
     .default_text = "0", .max = 100, .is_omitted_when_zero = true},
    {.key = "batching", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.lengths.batching), .words = BATCHINGS,
     .default_text = "packed", .is_omitted_when_zero = true,
     .help = "packed: sequences of sequence_length are filled with samples, and are what a batch counts; padded: to the longest of a "
             "micro-batch; padded-whole: to sequence_length"},
};
TSIM_TABLE(LENGTHS, LENGTHS_KEYS, false);

static const struct tsim_word ADAPTERS[] = {{"none", TSIM_ADAPTER_NONE}, {"lora", TSIM_ADAPTER_LORA},
                                            {"qlora", TSIM_ADAPTER_QLORA}, {NULL, 0}};
static const struct tsim_word TARGETS[] = {
    {"qkv", TSIM_TARGET_QKV}, {"query", TSIM_TARGET_QUERY}, {"key", TSIM_TARGET_KEY}, {"value", TSIM_TARGET_VALUE},
    {"output", TSIM_TARGET_OUTPUT}, {"gate-up", TSIM_TARGET_GATE_UP}, {"gate", TSIM_TARGET_GATE}, {"up", TSIM_TARGET_UP},
    {"down", TSIM_TARGET_DOWN}, {"recurrence-in", TSIM_TARGET_RECURRENCE_IN}, {"recurrence-out", TSIM_TARGET_RECURRENCE_OUT},
    {NULL, 0}};
static const struct tsim_word EXPERT_ADAPTERS[] = {
    {"each", TSIM_ADAPTERS_OF_EACH}, {"shared", TSIM_ADAPTERS_SHARED}, {"none", TSIM_ADAPTERS_OF_NONE}, {NULL, 0}};
static const struct tsim_word BASE_PRECISIONS[] = {{"training", TSIM_BASE_AS_TRAINING}, {"int8", TSIM_BASE_INT8},
                                                   {"nf4", TSIM_BASE_NF4}, {NULL, 0}};
static const struct tsim_key ADAPTER_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.adapter.kind), .words = ADAPTERS,
     .default_text = "none", .is_omitted_when_zero = true,
     .help = "lora: trains low-rank matrices and freezes the model; qlora: also stores the frozen weights of matrix products in 4 or 8 bits"},
    {INT_KEY("rank", scenario.training.adapter.rank, 1e5, "rank of the adapters' matrices; default: 16"), .is_positive = true,
     .is_omitted_when_zero = true},
    {.key = "targets", .kind = TSIM_KEY_WORDS, .offset = AT(scenario.training.adapter.targets), .words = TARGETS,
     .is_omitted_when_zero = true,
     .help = "products that have an adapter: a list of qkv (one for all three), query, key, value, output, gate-up (one for both), gate, up, down, "
             "recurrence-in and recurrence-out (the first and last product of Mamba, linear attention and short convolutions); latent "
             "attention has one for each product down and up, and keys and values have the same; "
             "default: [qkv, output, gate-up, down], with those of recurrences where the model has some"},
    {.key = "experts", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.adapter.experts), .words = EXPERT_ADAPTERS,
     .default_text = "each", .is_omitted_when_zero = true,
     .help = "which adapters routed experts have beside those of their products that are targets: each its own (PEFT), all of a rank one "
             "(shared; Megatron-Bridge), or none (only shared experts and dense layers have some)"},
    {.key = "base_precision", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.adapter.base_precision),
     .words = BASE_PRECISIONS, .is_omitted_when_zero = true,
     .help = "precision of the frozen weights of products: training (as training.precision), int8, nf4; default: nf4 with qlora"},
    {QUANTITY_KEY("dropout", TSIM_FRACTION, scenario.training.adapter.dropout_frac, "dropout on the inputs of the adapters"),
     .default_text = "0", .max = 0.99, .is_omitted_when_zero = true},
    {.key = "dropout_behind", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.training.adapter.drops_result),
     .default_text = "false", .is_omitted_when_zero = true, .help = "dropout applies to the outputs of the adapters instead"},
};
TSIM_TABLE(ADAPTER, ADAPTER_KEYS, false);

static const struct tsim_word COMPRESSIONS[] = {{"none", TSIM_UNCOMPRESSED}, {"top-k", TSIM_TOP_K}, {"powersgd", TSIM_POWERSGD},
                                                {"1-bit", TSIM_ONE_BIT}, {NULL, 0}};
static const struct tsim_key COMPRESSION_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.compression.kind), .words = COMPRESSIONS,
     .default_text = "none", .is_omitted_when_zero = true,
     .help = "top-k: each rank sends its largest elements and where they are; powersgd: two thin factors of each matrix; 1-bit: signs of "
             "Adam's momentum. Its effect on convergence is not predicted"},
    {QUANTITY_KEY("fraction", TSIM_FRACTION, scenario.training.compression.fraction,
                  "top-k: share of a gradient's elements that is sent; default: 0.1 %"),
     .is_positive = true, .max = 1, .is_omitted_when_zero = true},
    {INT_KEY("rank", scenario.training.compression.rank, 1e5, "powersgd: rank of the factors; default: 4"), .is_positive = true,
     .is_omitted_when_zero = true},
};
TSIM_TABLE(COMPRESSION, COMPRESSION_KEYS, false);

static const struct tsim_key LOSS_SCALING_KEYS[] = {
    {INT_KEY("growth_interval", scenario.training.loss_scaling.growth_interval, 1e9,
             "steps without overflow after which the scale grows; default in fp16: 2000"),
     .is_positive = true, .is_omitted_when_zero = true},
    {INT_KEY("skipped", scenario.training.loss_scaling.skipped, 1e6,
             "steps that overflow before the scale is lowered again; default in fp16: 1"),
     .is_positive = true, .is_omitted_when_zero = true},
};
TSIM_TABLE(LOSS_SCALING, LOSS_SCALING_KEYS, false);

#define RAMP_KEY(name_, help_)                                                                                         \
    {QUANTITY_KEY(#name_, TSIM_COUNT, scenario.training.batch_ramp.name_, help_), .is_positive = true, .min = 1,       \
     .is_omitted_when_zero = true}
static const struct tsim_key RAMP_KEYS[] = {
    RAMP_KEY(from, "samples of a step at the beginning"),
    RAMP_KEY(increment, "samples by which it grows, until it is global_batch_size"),
    RAMP_KEY(samples, "samples of the run until the batch is the whole one"),
};
TSIM_TABLE(RAMP, RAMP_KEYS, false);

#define GENERATION_KEY(name_, max_, help_)                                                                             \
    {INT_KEY(#name_, scenario.generation.name_, max_, help_), .is_positive = true, .is_omitted_when_zero = true}
static const struct tsim_key GENERATION_KEYS[] = {
    {INT_KEY("nodes", scenario.generation.nodes, 1e6,
             "nodes of the cluster that generate and do nothing else; the others train and send them the weights; 0: all nodes "
             "do both in turn"),
     .is_omitted_when_zero = true},
    {INT_KEY("ahead", scenario.generation.ahead, 64,
             "rounds by which nodes that only generate are ahead; 1: the next samples are generated, with weights that are one round old, while training uses the current ones; 0: generation and training take turns"),
     .is_omitted_when_zero = true},
    GENERATION_KEY(tensor, 1e4, "ranks over which an engine divides the model; default: 1"),
    GENERATION_KEY(expert, 1e5, "engines that share one set of experts: each runs its own sequences, and its tokens go to the experts of the others and back in every layer (data-parallel attention, expert parallelism); default: 1"),
    GENERATION_KEY(rollouts, 1e7, "samples that a round generates; training takes one step for each global batch of them; default: one batch"),
    {QUANTITY_KEY("prompt", TSIM_COUNT, scenario.generation.prompt,
                  "tokens of a sample's prompt; the rest of the sample is generated; default: 256"),
     .is_positive = true, .min = 1, .max = 1e9, .is_omitted_when_zero = true},
    GENERATION_KEY(samples_per_prompt, 1e5, "responses to each prompt, which is read once for all of them; default: 16, or the largest factor of 16 that divides rollouts"),
    GENERATION_KEY(max_sequences, 1e6, "the most sequences that an engine generates at once, if its cache holds them; default: 256"),
    {QUANTITY_KEY("memory", TSIM_FRACTION, scenario.generation.memory_frac,
                  "share of the accelerator's memory that weights and KV cache may fill; default: 60 %, or 90 % on nodes that only generate"),
     .is_positive = true, .max = 1, .is_omitted_when_zero = true},
    ENUM_KEY("precision", scenario.generation.precision, tsim_precision_words, NULL,
             "precision of the engine's layers, whose weights it quantizes as they arrive; default: training.precision"),
    REFERENCE_KEY("software", software, scenario.generation.software, "id, path or mapping: what the engine does; default: " DEFAULT_ENGINE),
};
TSIM_TABLE(GENERATION, GENERATION_KEYS, false);

#define LENGTH_KEY(name_, help_)                                                                                       \
    {QUANTITY_KEY(#name_, TSIM_COUNT, name_, help_), .is_positive = true, .is_omitted_when_zero = true}
static const struct tsim_key TRAINING_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.kind), .words = TRAINING_KINDS,
     .default_text = "pretrain", .is_omitted_when_zero = true,
     .help = "sft: supervised fine-tuning, whose samples may differ in length; dpo: pairs, two samples each, that a reference scores, too; "
             "grpo, ppo: the policy generates what it is trained on; distill: a teacher passes over the batch before each step"},
    REFERENCE_KEY("teacher", model, scenario.training.teacher, "id, path or mapping: the model that distill learns from"),
    {.key = "scoring", .kind = TSIM_KEY_WORDS, .offset = AT(scenario.training.scoring), .words = SCORERS, .is_omitted_when_zero = true,
     .help = "models that score the samples of dpo, grpo or ppo, each as large as the policy: a list of policy, reference, reward, critic "
             "(which ppo alone has, and trains as well); default: [reference], [policy, reference], all four"},
    {SECTION_KEY("lengths", &LENGTHS, "lengths of samples that differ in length: {mean, cv, batching}"), .is_omitted_when_zero = true},
    {INT_KEY("sequence_length", scenario.training.sequence_length, 1e9,
             "tokens per sample; default: 4096, or the rows of a shorter learned position table"), .is_positive = true},
    {INT_KEY("decoder_sequence_length", scenario.training.decoder_sequence_length, 1e9,
             "encoder-decoder models: tokens that the decoder produces for a sample; default: sequence_length, which counts the encoder's tokens"),
     .is_positive = true, .is_omitted_when_zero = true},
    {INT_KEY("global_batch_size", scenario.training.global_batch_size, 1e12, "samples per optimizer step, whole cluster"),
     .default_text = "1024", .is_positive = true},
    {SECTION_KEY("batch_ramp", &RAMP, "a batch that grows at the beginning, as with Megatron's --rampup-batch-size"), .is_omitted_when_zero = true},
    {.key = "stages", TSIM_LIST(struct tsim_draft, scenario.training.stages, scenario.training.n_stages, &tsim_stage_table),
     .help = "stages before the last one, in order, whose sequences or batches have other sizes: a list"},
    {INT_KEY("micro_batch_size", scenario.training.micro_batch_size, 1e6, "samples per pass of one model replica"),
     .default_text = "1", .is_positive = true},
    ENUM_KEY("precision", scenario.training.precision, tsim_precision_words, "bf16", "precision of the matrix products; default: bf16, or what software and accelerator both have"),
    ENUM_KEY("gradient_precision", scenario.training.gradient_precision, GRADIENT_PRECISIONS, NULL,
             "precision that gradients are kept and reduced in; default: that of the software's defaults, otherwise fp32"),
    ENUM_KEY("optimizer", scenario.training.optimizer, tsim_optimizer_words, "adamw", "decides the optimizer's state; default: that of the software's defaults, otherwise adamw"),
    {.key = "state_precision", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.training.state_precision),
     .words = GRADIENT_PRECISIONS, .default_text = "fp32", .is_omitted_when_zero = true,
     .help = "precision in which momentum, rmsprop, adam, adamw, lamb and muon keep their moments"},
    {.key = "master_weights", .kind = TSIM_KEY_BOOL, .offset = AT(master_weights), .default_text = "true",
     .help = "an fp32 copy of the weights when training in 16 or 8 bits"},
    {SECTION_KEY("adapter", &ADAPTER, "fine-tuning with the model frozen: {kind: lora, rank, targets, base_precision}"),
     .is_omitted_when_zero = true},
    {SECTION_KEY("compression", &COMPRESSION, "gradients that ranks compress before they exchange them: {kind: top-k, fraction}"),
     .is_omitted_when_zero = true},
    {SECTION_KEY("loss_scaling", &LOSS_SCALING, "training in fp16: how often a step overflows and is skipped"),
     .is_omitted_when_zero = true},
    {SECTION_KEY("offload", &OFFLOAD, "parts kept in the host's memory: {optimizer: true, activations: 50 %}")},
    {.key = "per_layer_updates", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.training.updates_by_layer),
     .default_text = "false", .help = "update each layer as soon as its gradient is computed, and free the gradient"},
    {CUSTOM_KEY("recompute", read_recompute, write_recompute,
                "none, selective, full, sqrt, {every: N}, {layers: N} (of each stage's chunk) or a list of parts (attention, norms, latent, activation, ffn, experts, output): "
                "computed again in the backward pass; default: that of the software's defaults, otherwise none")},
    ENUM_KEY("attention", attention, ATTENTIONS, NULL, "default: as the software's attention_kernel"),
    LENGTH_KEY(tokens, "length of the run in tokens; one of tokens, samples, steps"),
    LENGTH_KEY(samples, "length of the run in samples"),
    LENGTH_KEY(steps, "length of the run in optimizer steps"),
    LENGTH_KEY(epochs, "length of the run in passes over the data"),
    {SECTION_KEY("evaluation", &tsim_evaluation_table, "pauses of the whole run"), .offset = AT(scenario.training.evaluation)},
};
TSIM_TABLE(TRAINING, TRAINING_KEYS, false);

static const struct tsim_word OUTER_OPTIMIZERS[] = {{"average", TSIM_OUTER_AVERAGE}, {"nesterov", TSIM_OUTER_NESTEROV}, {NULL, 0}};
static const struct tsim_key LOCAL_SGD_KEYS[] = {
    {INT_KEY("workers", scenario.parallelism.local_sgd.workers, 1e6, "groups of replicas in a row that train apart from each other"),
     .is_omitted_when_zero = true},
    {INT_KEY("steps", scenario.parallelism.local_sgd.steps, 1e9, "steps from one exchange of their weights to the next"), .is_omitted_when_zero = true},
    {.key = "outer", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.parallelism.local_sgd.outer), .words = OUTER_OPTIMIZERS,
     .default_text = "average", .is_omitted_when_zero = true,
     .help = "average: weights become their mean (local SGD, federated averaging); nesterov: the mean of what changed is a gradient for an outer "
             "momentum (DiLoCo)"},
    {.key = "precision", .kind = TSIM_KEY_ENUM, .offset = AT(scenario.parallelism.local_sgd.precision), .words = GRADIENT_PRECISIONS,
     .default_text = "fp32", .is_omitted_when_zero = true, .help = "precision of the exchange between workers"},
};
TSIM_TABLE(LOCAL_SGD, LOCAL_SGD_KEYS, false);

static const struct tsim_key PARAMETER_SERVER_KEYS[] = {
    {INT_KEY("servers", scenario.parallelism.parameter_server.servers, 1e5,
             "machines beside the cluster, each with the NICs of a node, that hold the weights and the optimizer's state"),
     .is_omitted_when_zero = true},
    {INT_KEY("workers", scenario.parallelism.parameter_server.workers, 4096,
             "groups of replicas in a row that push and pull together; default: each replica is one"),
     .is_omitted_when_zero = true},
    {.key = "synchronous", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.parallelism.parameter_server.is_synchronous),
     .default_text = "false", .is_omitted_when_zero = true,
     .help = "true: the servers update once all workers have pushed; false: every push is an update, and nobody waits for others"},
};
TSIM_TABLE(PARAMETER_SERVER, PARAMETER_SERVER_KEYS, false);

static const struct tsim_key PARALLELISM_KEYS[] = {
    {INT_KEY("tensor", scenario.parallelism.tensor, 1e6, "accelerators that share each layer"),
     .default_text = "1", .is_positive = true},
    {INT_KEY("pipeline", scenario.parallelism.pipeline, 1e5, "stages that the layers are split into"),
     .default_text = "1", .is_positive = true},
    {INT_KEY("virtual_pipeline", scenario.parallelism.virtual_pipeline, 1e5, "model chunks per pipeline stage"),
     .default_text = "1", .is_positive = true},
    {CUSTOM_KEY("layers_per_stage", read_layers, write_layers,
                "auto, balance (stages that fit and are equally fast), or a list over stages (chunks in model order)")},
    {INT_KEY("context", scenario.parallelism.context, 1e6, "accelerators that share each sequence"),
     .default_text = "1", .is_positive = true},
    ENUM_KEY("context_exchange", scenario.parallelism.context_exchange, tsim_context_exchange_words, NULL,
             "how the ranks of a sequence exchange what attention needs: ring, all-gather (of keys and values), or all-to-all (Ulysses); default: that of the software's defaults"),
    {INT_KEY("expert", scenario.parallelism.expert, 1e6, "accelerators that share the experts"),
     .default_text = "1", .is_positive = true},
    {INT_KEY("expert_tensor", scenario.parallelism.expert_tensor, 1e6,
             "accelerators that share each expert: 1, or as tensor (the default)"), .is_omitted_when_zero = true},
    {INT_KEY("data", data, 1e10, "model replicas; auto: what is left of the cluster"), .words = AUTO, .default_text = "auto"},
    {.key = "sequence", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.parallelism.sequence),
     .help = "sequence parallelism over the tensor ranks; default: that of the software's defaults, otherwise true if the software has it"},
    {INT_KEY("zero", zero, 3, "what data-parallel ranks shard: 1 optimizer state, 2 gradients, 3 weights as well; default: that of the software's defaults, otherwise 1")},
    {INT_KEY("prefetch", scenario.parallelism.prefetch, 1e5, "ZeRO-3: units (software.gather_unit) gathered ahead of the one that runs"),
     .default_text = "1"},
    {.key = "reshard_after_forward", .kind = TSIM_KEY_BOOL, .offset = AT(scenario.parallelism.reshard_after_forward),
     .default_text = "true", .help = "ZeRO-3: gather parameters again for the backward pass instead of keeping them"},
    {INT_KEY("zero_group", zero_group, 1e9, "ranks that share: all, node, or a number; default: that of the software's defaults"), .words = ZERO_GROUPS,
     .default_text = "all"},
    {SECTION_KEY("local_sgd", &LOCAL_SGD,
                 "replicas that exchange weights every so many steps in place of gradients: {workers, steps}; its effect on convergence is not "
                 "predicted"), .is_omitted_when_zero = true},
    {SECTION_KEY("parameter_server", &PARAMETER_SERVER,
                 "workers push gradients to servers and pull weights from them, in place of a reduction among replicas; the effect of stale "
                 "weights on convergence is not predicted"), .is_omitted_when_zero = true},
    ENUM_KEY("schedule", schedule, tsim_schedule_words, NULL,
             "order of micro-batches; default: interleaved if virtual_pipeline > 1, otherwise that of the software's defaults"),
    {INT_KEY("schedule_microbatches", scenario.parallelism.schedule_microbatches, 1e9,
             "micro-batches of one run of the schedule, which fills and drains the pipeline; 0: all of a step's"), .is_omitted_when_zero = true},
    {SECTION_KEY("overlap", &tsim_overlap_table, "communication under computation; default: the software's"),
     .offset = AT(scenario.parallelism.overlap)},
    {CUSTOM_KEY("order", read_order, write_order,
                "rank placement, innermost first; default: tensor, context, expert, data, pipeline")},
};
TSIM_TABLE(PARALLELISM, PARALLELISM_KEYS, false);

static const struct tsim_key ENERGY_KEYS[] = {
    REFERENCE_KEY("region", region, scenario.energy.region, "id, path or mapping: gives price (where known) and carbon"),
    {QUANTITY_KEY("pue", TSIM_FRACTION, scenario.energy.pue, "facility power over what the nodes draw"),
     .default_text = "1.1", .is_positive = true, .min = 1, .max = 10},
    {QUANTITY_KEY("price", TSIM_USD_PER_J, scenario.energy.price_usd_per_j, "price of electricity"), .default_text = "0.10 USD/kWh"},
    {QUANTITY_KEY("price_spread", TSIM_FRACTION, scenario.energy.price_spread,
                  "the price is right within this factor in eight of ten cases; default: 1 where a price or a region is given, else 1.6, as far as "
                  "industrial prices of the United States lie apart (EIA, Electric Power Annual 2023, average revenue by state: 6.5 to 15.8 cents)"),
     .is_positive = true, .min = 1, .max = 100},
    {QUANTITY_KEY("carbon", TSIM_KG_PER_J, scenario.energy.carbon_kg_per_j, "CO2 of electricity"), .default_text = "0.4 kg/kWh"},
    {QUANTITY_KEY("embodied", TSIM_KG, scenario.energy.embodied_kg,
                  "CO2 of making an accelerator and its share of the node: 150 kg and an eighth of 2.5 t (Luccioni et al. 2023)"),
     .default_text = "462.5 kg"},
    {.key = "price_profile", .kind = TSIM_KEY_CUSTOM, .offset = AT(scenario.energy.price_profile),
     .read = tsim_price_profile_read, .write = tsim_price_profile_write,
     .help = "prices hour by hour, repeated from the end: a list, or a file with one price on each line; in place of price"},
    {.key = "carbon_profile", .kind = TSIM_KEY_CUSTOM, .offset = AT(scenario.energy.carbon_profile),
     .read = tsim_carbon_profile_read, .write = tsim_carbon_profile_write,
     .help = "the same for carbon"},
    {QUANTITY_KEY("start", TSIM_TIME_S, scenario.energy.start_s, "hour of the profiles at which the run begins: 14 h"),
     .default_text = "0 h", .max = TSIM_YEAR_S, .is_omitted_when_zero = true},
};
TSIM_TABLE(ENERGY, ENERGY_KEYS, false);

static const struct tsim_key COST_KEYS[] = {
    {QUANTITY_KEY("rent", TSIM_USD_PER_S, scenario.cost.rent_usd_per_s, "rent of one accelerator; default: the catalogue's")},
    {QUANTITY_KEY("purchase", TSIM_USD, scenario.cost.purchase_usd, "price of one accelerator; default: the catalogue's"),
     .unit = "USD"},
    {QUANTITY_KEY("lifetime", TSIM_TIME_S, scenario.cost.lifetime_s, "time over which a purchase is written off"),
     .default_text = "4 y", .is_positive = true, .min = TSIM_DAY_S, .max = 100 * TSIM_YEAR_S},
    {QUANTITY_KEY("reserved", TSIM_USD_PER_S, scenario.cost.reserved_usd_per_s, "rent of one accelerator under a contract"),
     .is_omitted_when_zero = true},
    {QUANTITY_KEY("commitment", TSIM_TIME_S, scenario.cost.commitment_s, "the least time that the contract is paid for"),
     .default_text = "1 y", .max = 100 * TSIM_YEAR_S},
    {QUANTITY_KEY("host", TSIM_FRACTION, scenario.cost.host_frac, "hosts, as a fraction of the purchase; default: from the node's price, if known"),
     .default_text = "12.5 %", .max = 1e24},
    {QUANTITY_KEY("network", TSIM_FRACTION, scenario.cost.network_frac, "network, as a fraction of the purchase; default: from the fabric's prices, if known; 0 for one node"),
     .default_text = "20 %", .max = 1e24},
    {QUANTITY_KEY("storage", TSIM_FRACTION, scenario.cost.storage_frac, "storage, as a fraction of the purchase; an assumption"),
     .default_text = "5 %", .max = 100},
    {QUANTITY_KEY("interest", TSIM_FRACTION, scenario.cost.interest_frac, "interest of a year; an assumption"), .default_text = "8 %", .max = 1},
    {QUANTITY_KEY("maintenance", TSIM_FRACTION, scenario.cost.maintenance_frac, "fraction of the machine's price in a year"), .default_text = "5 %",
     .max = 1},
    {QUANTITY_KEY("residual", TSIM_FRACTION, scenario.cost.residual_frac, "fraction of the machine's price that is left after the lifetime; an assumption"),
     .default_text = "10 %", .max = 1},
    {QUANTITY_KEY("utilization", TSIM_FRACTION, scenario.cost.utilization_frac, "fraction of its lifetime that an owned machine is in use"),
     .default_text = "80 %", .is_positive = true, .max = 1},
    {QUANTITY_KEY("price_spread", TSIM_FRACTION, scenario.cost.price_spread,
                  "factor within which real prices lie in eight of ten cases; default: the accelerator's, or 1 if cost.rent is given"),
     .is_positive = true, .min = 1, .max = 100},
    {QUANTITY_KEY("facility", TSIM_USD, scenario.cost.facility_usd_per_kw,
                  "building, power and cooling for a kW of the nodes (Cushman & Wakefield 2025: 9.3 to 15 M USD a MW)"),
     .default_text = "11700 USD"},
    {QUANTITY_KEY("facility_lifetime", TSIM_TIME_S, scenario.cost.facility_lifetime_s, "time over which the facility is written off; an assumption"),
     .default_text = "20 y", .is_positive = true, .min = TSIM_DAY_S, .max = 100 * TSIM_YEAR_S},
    {QUANTITY_KEY("delivery", TSIM_TIME_S, scenario.cost.delivery_s, "time from the order of a machine to its first step; an assumption"),
     .default_text = "84 d", .max = 10 * TSIM_YEAR_S},
    {.key = "date", .kind = TSIM_KEY_STRING, .offset = AT(scenario.cost.date), .default_text = "2026", .help = "date of the prices: 2026, 2026-05 or 2026-05-31"},
};
TSIM_TABLE(COST, COST_KEYS, false);

static const struct tsim_key GOAL_KEYS[] = {
    {QUANTITY_KEY("tokens", TSIM_COUNT, scenario.goal.tokens, "length of the run, in place of the training section's"),
     .is_positive = true, .is_omitted_when_zero = true, .min = 1e3, .max = 1e17},
    {QUANTITY_KEY("loss", TSIM_FRACTION, scenario.goal.loss_nats,
                  "loss in nats per token that the model has to reach, in place of a length (sim/results/loss_law.h)"),
     .is_positive = true, .is_omitted_when_zero = true, .min = 1, .max = 10},
    {QUANTITY_KEY("deadline", TSIM_TIME_S, scenario.goal.deadline_s, "time from today until the run must be over"),
     .is_positive = true, .is_omitted_when_zero = true, .min = TSIM_HOUR_S, .max = 30 * TSIM_YEAR_S},
    {QUANTITY_KEY("budget", TSIM_USD, scenario.goal.budget_usd, "money that may be spent until then"),
     .is_positive = true, .is_omitted_when_zero = true, .min = 1, .max = 1e12},
};
TSIM_TABLE(GOAL, GOAL_KEYS, false);

static const struct tsim_key STRAGGLER_KEYS[] = {
    {QUANTITY_KEY("fraction", TSIM_FRACTION, scenario.variability.straggler_frac, "fraction of the accelerators that are slow"), .max = 1,
     .default_text = "0"},
    {QUANTITY_KEY("slowdown", TSIM_FRACTION, scenario.variability.straggler_slowdown, "how many times as long their kernels take"),
     .default_text = "1", .is_positive = true, .min = 1, .max = 1000},
};
TSIM_TABLE(STRAGGLERS, STRAGGLER_KEYS, false);
static const struct tsim_key VARIABILITY_KEYS[] = {
    {QUANTITY_KEY("compute_cv", TSIM_FRACTION, scenario.variability.compute_cv, "coefficient of variation of a kernel's time"),
     .max = 1, .default_text = "0"},
    {.key = "stragglers", .kind = TSIM_KEY_MAPPING, .table = &STRAGGLERS, .help = "accelerators that are always slow"},
};
TSIM_TABLE(VARIABILITY, VARIABILITY_KEYS, false);
static const struct tsim_key SIMULATION_KEYS[] = {
    {INT_KEY("steps", scenario.simulation.steps, 1e6, "optimizer steps to simulate"), .default_text = "3", .is_positive = true},
    {INT_KEY("warmup", scenario.simulation.warmup, 1e6, "steps among them that the figures leave out"), .default_text = "1"},
    {INT_KEY("seed", scenario.simulation.seed, 9e15, "seed of the random streams"), .default_text = "1"},
    ENUM_KEY("detail", scenario.simulation.detail, DETAILS, "auto", "unit of one event: an operator, or a whole pass; auto: operators"),
    ENUM_KEY("network", scenario.simulation.network, NETWORKS, "fluid",
             "fluid: shared links; steps: every message; ideal: no contention, no latency"),
    ENUM_KEY("fold", fold, FOLDS, "auto", "auto: of ranks that cannot differ, one is simulated; off: every rank is"),
};
TSIM_TABLE(SIMULATION, SIMULATION_KEYS, false);

static const struct tsim_key MEASURED_KEYS[] = {
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = AT(scenario.measured.source), .is_required = true,
     .help = "where the measurement was read"},
#define METRIC(NAME, key_, dimension_, bare, most, KIND, FIGURE, AS, help_)                                            \
    {.key = (key_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .is_positive = true, .max = (most),          \
     .takes_bare = (bare) > 0, .bare_scale = (bare), .offset = AT(metrics) + TSIM_METRIC_##NAME * sizeof(double),      \
     .is_omitted_when_zero = true, .help = (help_)},
#include "config/measured.def"
    {.key = "doubtful", .kind = TSIM_KEY_STRING, .offset = AT(scenario.measured.doubtful),
     .help = "why its time or rate is not to be trusted: compared and not scored"},
};
TSIM_TABLE(MEASURED, MEASURED_KEYS, false);
/* clang-format on */

static void read_measured(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    if (!tsim_schema_read_mapping(reader, &MEASURED, value, path, field))
        return;
    for (size_t i = 0; i < TSIM_N_METRICS; i++) {
        draft->scenario.measured.has[i] = draft->metrics[i] > 0;
        draft->scenario.measured.value[i] = draft->metrics[i];
    }
    int n_words = (tsim_value_find(value, "source") != NULL) + (tsim_value_find(value, "doubtful") != NULL);
    if (n_words > 0 && value->n_items == (size_t)n_words)
        tsim_diag_hint(
            tsim_value_warning(reader->diags, value, path, "this has no effect, because no figure stands in it"),
            "as in step_time: 13.75 s or mfu: 38 %%");
}

static void write_measured(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    if (!((const struct tsim_draft *)field)->scenario.measured.source)
        return;
    tsim_writer_mapping(writer, key, &MEASURED, path, field);
}

static void read_goal(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    tsim_schema_read_mapping(reader, &GOAL, value, path, field);
}

static void write_goal(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_goal_spec *goal = &((const struct tsim_draft *)field)->scenario.goal;
    if (!(goal->tokens > 0 || goal->loss_nats > 0 || goal->deadline_s > 0 || goal->budget_usd > 0))
        return;
    tsim_writer_mapping(writer, key, &GOAL, path, field);
}

/* Comes behind `training`, whose kind says whether anything is generated. */
static void read_generation(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    const struct tsim_software **software = &draft->scenario.generation.software;
    tsim_schema_read_mapping(reader, &GENERATION, value, path, field);
    if (!*software && tsim_generates(&draft->scenario))
        *software = tsim_catalogue_read(reader, TSIM_CATALOGUE_SOFTWARE,
                                        tsim_value_new_scalar(reader->arena, draft->root, DEFAULT_ENGINE), path);
}

static void write_generation(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    if (tsim_generates(&((const struct tsim_draft *)field)->scenario))
        tsim_writer_mapping(writer, key, &GENERATION, path, field);
}

/* These keys follow from others unless somebody writes them, and they change with the plan. */
static const char *const DERIVED[] = {"software",
                                      "training.gradient_precision",
                                      "generation.precision",
                                      "training.recompute",
                                      "parallelism.zero",
                                      "parallelism.layers_per_stage",
                                      "parallelism.data",
                                      "parallelism.zero_group",
                                      "parallelism.schedule",
                                      "parallelism.overlap.pipeline",
                                      "parallelism.overlap.expert"};

/* The key is taken out of the document before it is read (scenario.c), with the keys that it names. */
static void read_derived(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    static const struct tsim_key PATH = {.key = "derived", .kind = TSIM_KEY_STRING, .help = "a key's path"};
    const char *text;
    (void)field;
    if (value && value->kind != TSIM_VALUE_SEQUENCE)
        tsim_schema_wrong_kind(reader, value, path, "a list of keys, as 'tsim check --json' writes it");
    for (size_t i = 0; value && value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        tsim_schema_read_value(reader, &PATH, value->items[i], path, &text);
}

static void write_derived(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_draft *draft = field;
    (void)path;
    tsim_writer_begin(writer, key, '[');
    for (size_t i = 0; i < sizeof DERIVED / sizeof DERIVED[0]; i++) {
        const struct tsim_value *written = tsim_value_find_path(draft->root, DERIVED[i]);
        if (!written || tsim_value_is_text(written, "auto") || tsim_value_is_text(written, "all"))
            tsim_writer_text(writer, NULL, DERIVED[i]);
    }
    tsim_writer_end(writer, ']');
}

static const struct tsim_word SEARCH_METHODS[] = {
    {"none", TSIM_SEARCH_NONE}, {"halving", TSIM_SEARCH_HALVING}, {"hyperband", TSIM_SEARCH_HYPERBAND}, {NULL, 0}};
static const struct tsim_key SEARCH_KEYS[] = {
    ENUM_KEY("method", scenario.search.method, SEARCH_METHODS, "none",
             "halving: again and again the worse trials are stopped; hyperband: several halvings, with different "
             "numbers of trials"),
    {INT_KEY("trials", scenario.search.trials, 1e9, "halving: trials that are begun"), .is_omitted_when_zero = true},
    {INT_KEY("at_once", scenario.search.at_once, 1e6, "clusters like this one, each with one trial at a time"),
     .default_text = "1", .is_positive = true},
    {QUANTITY_KEY("eta", TSIM_COUNT, scenario.search.eta,
                  "at each cut, one trial in this many goes on, for this many times as long"),
     .default_text = "3", .is_positive = true, .min = 2, .max = 1000},
    {QUANTITY_KEY("least", TSIM_FRACTION, scenario.search.least_frac,
                  "share of the run for which every trial is trained before it can be stopped"),
     .default_text = "1 %", .is_positive = true, .min = 1e-5, .max = 1},
};
TSIM_TABLE(SEARCH, SEARCH_KEYS, false);

/* clang-format off */
static const struct tsim_key SCENARIO_KEYS[] = {
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = SCENARIO_SCHEMA, .is_required = true, .help = "tsim/v1"},
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = AT(scenario.name), .is_required = true,
     .help = "letters, digits, '-', '_', '.'"},
    {.key = "description", .kind = TSIM_KEY_STRING, .offset = AT(scenario.description), .help = "free text"},
    {CUSTOM_KEY("extends", read_extends, NULL, "another scenario, id or path, to take over keys from")},
    {CUSTOM_KEY("model", read_model, write_model, "id, path or mapping: the network to train; a mapping with the name and the sizes of a model of the catalogue, and "
                "without kind and schema, takes from it what it leaves out"), .is_required = true},
    {SECTION_KEY("cluster", &CLUSTER, "the machine: node, nodes, fabric"), .is_required = true},
    {CUSTOM_KEY("software", read_software, write_software,
                "id, path or mapping: what the framework does; default: " DEFAULT_SOFTWARE
                ", or what it names for the accelerator or the model")},
    {SECTION_KEY("training", &TRAINING, "batch, precision, optimizer, length of the run")},
    {SECTION_KEY("parallelism", &PARALLELISM, "how the work is split")},
    {CUSTOM_KEY("generation", read_generation, write_generation, "how the policy generates the samples of grpo and ppo"),
     .described_by = &GENERATION},
    {CUSTOM_KEY("data", tsim_data_read, tsim_data_write, "the input pipeline; absent: data are always there"),
     .described_by = &tsim_data_table},
    {SECTION_KEY("variability", &VARIABILITY, "noise and stragglers: steps that differ")},
    {CUSTOM_KEY("reliability", tsim_reliability_read, tsim_reliability_write, "failures and checkpoints of the whole run"),
     .described_by = &tsim_reliability_table},
    {SECTION_KEY("energy", &ENERGY, "facility, price and carbon of electricity")},
    {SECTION_KEY("cost", &COST, "money, per accelerator")},
    {CUSTOM_KEY("goal", read_goal, write_goal, "the goal that tsim buy has to reach: length or loss, date, money"), .described_by = &GOAL},
    {SECTION_KEY("search", &SEARCH, "the run is one trial of a search for hyper-parameters that stops trials early")},
    {SECTION_KEY("simulation", &SIMULATION, "how it is simulated")},
    {CUSTOM_KEY("measured", read_measured, write_measured, "a measurement to compare with"), .described_by = &MEASURED},
    {CUSTOM_KEY("sweep", read_sweep, NULL, "points to try, for tsim sweep and tsim plan"),
     .described_by = &tsim_sweep_table},
    {CUSTOM_KEY("derived", read_derived, write_derived,
                "keys of a resolved scenario (check --json, a logged run) that nobody wrote; they are worked out anew when it is read")},
};
const struct tsim_table tsim_scenario_table = {SCENARIO_KEYS, sizeof SCENARIO_KEYS / sizeof SCENARIO_KEYS[0], false};
/* clang-format on */

bool tsim_has_plain_layers(const struct tsim_model *model) {
    return !model->list && model->experts.count == 0 && model->latent.kv_rank == 0 && model->encoder_layers == 0 &&
           model->n_pattern == 0 && model->tower.layers == 0 && model->generator.layers == 0 && !model->recurrent;
}

/* Returns whether every layer has experts, none are shared, and a rank has all of them. */
static bool has_like_expert_layers(const struct tsim_scenario *scenario) {
    const struct tsim_model *m = scenario->model;
    const struct tsim_experts *x = &m->experts;
    return !m->list && x->count > 0 && x->first == 0 && x->every <= 1 && x->shared == 0 && m->latent.kv_rank == 0 &&
           m->encoder_layers == 0 && m->mtp_layers == 0 && m->n_pattern == 0 && m->tower.layers == 0 &&
           m->generator.layers == 0 && scenario->parallelism.expert <= 1;
}

const char *tsim_products_obstacle(const struct tsim_scenario *scenario) {
    if (scenario->training.adapter.kind != TSIM_ADAPTER_NONE)
        return "with adapters";
    return tsim_has_plain_layers(scenario->model) || has_like_expert_layers(scenario)
               ? NULL
               : "in models with layers of several kinds, divided or shared experts, latent attention, two stacks or a "
                 "layer list";
}

unsigned tsim_adapter_targets(const struct tsim_model *model) {
    enum {
        OF_ATTENTION = 1u << TSIM_TARGET_QKV | 1u << TSIM_TARGET_QUERY | 1u << TSIM_TARGET_KEY |
                       1u << TSIM_TARGET_VALUE | 1u << TSIM_TARGET_OUTPUT,
        OF_FFN = 1u << TSIM_TARGET_GATE_UP | 1u << TSIM_TARGET_GATE | 1u << TSIM_TARGET_UP | 1u << TSIM_TARGET_DOWN,
        OF_RECURRENCE = 1u << TSIM_TARGET_RECURRENCE_IN | 1u << TSIM_TARGET_RECURRENCE_OUT
    };
    static const unsigned OF_KIND[] = {[TSIM_MIXING_MAMBA] = OF_RECURRENCE,
                                       [TSIM_MIXING_MAMBA1] = OF_RECURRENCE,
                                       [TSIM_MIXING_DELTA] = OF_RECURRENCE,
                                       [TSIM_MIXING_SHORT] = OF_RECURRENCE,
                                       [TSIM_MIXING_LIGHTNING] = OF_RECURRENCE,
                                       [TSIM_MIXING_BESIDE] = OF_ATTENTION | OF_RECURRENCE,
                                       [TSIM_MIXING_SHARED] = OF_ATTENTION | OF_FFN | OF_RECURRENCE,
                                       [TSIM_MIXING_NONE] = 0};
    unsigned targets = model->n_pattern == 0 ? OF_ATTENTION | OF_FFN : 0;
    for (size_t i = 0; i < model->n_pattern; i++) {
        const struct tsim_layer_entry *entry = &model->pattern[i];
        bool is_recurrent = OF_KIND[entry->kind] & OF_RECURRENCE || entry->kind == TSIM_MIXING_NONE;
        targets |= is_recurrent ? OF_KIND[entry->kind] : OF_ATTENTION;
        targets |= entry->feed_forward != TSIM_FOLLOWING_NONE ? OF_FFN : 0;
    }
    return targets;
}

unsigned tsim_recompute_parts(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *training = &scenario->training;
    if (training->recompute != TSIM_RECOMPUTE_SELECTIVE)
        return 0;
    if (training->recompute_parts)
        return training->recompute_parts;
    bool by_operator = scenario->software->selective_recompute == TSIM_SELECTIVE_OPERATORS;
    return by_operator && tsim_has_plain_layers(scenario->model) ? TSIM_RECOMPUTE_OPERATORS : TSIM_RECOMPUTE_ATTENTION;
}

int64_t tsim_recomputed_layers(const struct tsim_scenario *scenario, int64_t n) {
    const struct tsim_training_spec *t = &scenario->training;
    return t->recompute == TSIM_RECOMPUTE_LAYERS && t->recompute_layers < n ? t->recompute_layers : n;
}

double tsim_recomputed_frac(const struct tsim_scenario *scenario) {
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    int64_t recomputed = 0, all = 0;
    if (scenario->training.recompute != TSIM_RECOMPUTE_LAYERS)
        return 1;
    for (int64_t i = 0; i < tsim_n_model_parts(p); i++) {
        recomputed += tsim_recomputed_layers(scenario, p->layers_per_chunk[i]);
        all += p->layers_per_chunk[i];
    }
    return (double)recomputed / (double)all;
}

bool tsim_selective_differs(const struct tsim_scenario *scenario) {
    return scenario->training.attention == TSIM_ATTENTION_STANDARD || scenario->training.recompute_parts ||
           scenario->software->selective_recompute == TSIM_SELECTIVE_OPERATORS;
}

const char *tsim_metric_name(enum tsim_metric metric) {
    TSIM_ASSERT(metric < TSIM_N_METRICS);
    return MEASURED_KEYS[1 + metric].key; /* after `source`, in the order of the enum */
}

enum tsim_metric_kind tsim_metric_kind(enum tsim_metric metric) {
    static const enum tsim_metric_kind KINDS[TSIM_N_METRICS] = {
#define METRIC(NAME, key, dimension, bare, most, KIND, FIGURE, AS, help) TSIM_METRIC_KIND_##KIND,
#include "config/measured.def"
    };
    TSIM_ASSERT(metric < TSIM_N_METRICS);
    return KINDS[metric];
}
