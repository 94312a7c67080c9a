#include "import/launches/deepspeed.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#include "config/recognize.h"
#include "config/text/document.h"
#include "import/launches/gpt.h"
#include "import/launches/launch_log.h"
#include "import/overrides.h"

#include <string.h>

/* ---- what "auto" is ---- */

/* The values that transformers' integration fills in from its TrainingArguments, or from the model's hidden size. */
static const struct {
    const char *key, *meaning;
} AUTOS[] = {
    {"train_micro_batch_size_per_gpu", "per_device_train_batch_size of the Trainer"},
    {"gradient_accumulation_steps", "gradient_accumulation_steps of the Trainer"},
    {"train_batch_size", "accelerators x per_device_train_batch_size x gradient_accumulation_steps of the Trainer"},
    {"gradient_clipping", "max_grad_norm of the Trainer"},
    {"optimizer.params.*", "of the Trainer's optimizer"},
    {"scheduler.params.*", "of the Trainer's schedule"},
    {"fp16.enabled", "fp16 of the Trainer"},
    {"bf16.enabled", "bf16 of the Trainer"},
    {"zero_optimization.reduce_bucket_size", "the square of the model's hidden size"},
    {"zero_optimization.stage3_prefetch_bucket_size", "0.9 x the square of the model's hidden size"},
    {"zero_optimization.stage3_param_persistence_threshold", "10 x the model's hidden size"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", "whether weights are gathered when saved"},
};

#define MOST_ELEMENTS INT64_C(1000000000000000)

struct reading {
    struct tsim_recipe *r;
    const char *prefix; /* of the settings' keys; empty: the file has nothing but DeepSpeed's */
    bool is_beside;     /* they are in a file beside the imported one */
    bool is_log;
    int64_t world; /* of a log; 0: not said */
};

/* ---- settings ---- */

static bool is_auto(const struct tsim_value *value) {
    return tsim_value_is_text(value, "auto"); /* also of NULL */
}

static void explain_auto(const struct reading *g, const char *name, const struct tsim_value *value) {
    for (size_t i = 0; i < sizeof AUTOS / sizeof AUTOS[0]; i++) {
        size_t length = strlen(AUTOS[i].key);
        bool is_it = AUTOS[i].key[length - 1] == '*' ? strncmp(name, AUTOS[i].key, length - 1) == 0
                                                     : strcmp(name, AUTOS[i].key) == 0;
        if (is_it) {
            tsim_recipe_note(g->r, name, value, tsim_arena_printf(g->r->arena, "auto: %s", AUTOS[i].meaning));
            return;
        }
    }
    tsim_recipe_note(g->r, name, value, "auto: as if it were not there");
}

static const struct tsim_setting *any(const struct reading *g, const char *name) {
    return find(g->r, tsim_arena_printf(g->r->arena, "%s%s", g->prefix, name));
}

static bool has_auto(const struct reading *g, const char *name) {
    const struct tsim_setting *s = any(g, name);
    return s && is_auto(s->value);
}

/* Returns the setting; NULL if there is none, or if its value is "auto". */
static const struct tsim_setting *of(const struct reading *g, const char *name) {
    return has_auto(g, name) ? NULL : any(g, name);
}

/* "auto" counts as absent; where it matters, a comment says what is assumed. */
static void add_setting(void *context, const char *name, const struct tsim_value *value) {
    const struct reading *g = context;
    if (strcmp(name, TSIM_CARRIED_KEY) == 0) {
        for (size_t i = 0; i < (value->kind == TSIM_VALUE_SEQUENCE && !g->is_beside ? value->n_items : 0); i++)
            tsim_recipe_carry(g->r, value->items[i],
                              value->items[i]->kind == TSIM_VALUE_SCALAR ? value->items[i]->text : "");
        return;
    }
    if (is_auto(value) && !g->is_beside)
        explain_auto(g, name, value);
    tsim_recipe_add(g->r, name, tsim_arena_printf(g->r->arena, "%s%s", g->prefix, name), value);
}

/* Nothing more is to be said of a setting that is "auto". */
static void pass_over_autos(const struct reading *g) {
    for (size_t i = 0; i < g->r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strncmp(g->r->settings[i].key, g->prefix, strlen(g->prefix)) == 0 && is_auto(g->r->settings[i].value))
            g->r->settings[i].is_used = true;
}

/* ---- batch and cluster ---- */

/* train_batch_size = micro-batch x accumulation x replicas; the missing one follows from the others. */
static void put_batch(struct reading *g, int64_t model_ranks) {
    const struct tsim_setting *all = of(g, "train_batch_size"), *micro = of(g, "train_micro_batch_size_per_gpu"),
                              *steps = of(g, "gradient_accumulation_steps");
    int64_t total = all ? tsim_setting_int(g->r, all, 1, INT64_C(1000000000000)) : 0;
    const int64_t given = tsim_import_override_int(&g->r->input, "training.micro_batch_size");
    int64_t size = given ? given : micro ? tsim_setting_int(g->r, micro, 1, 1000000) : 0;
    int64_t n = steps ? tsim_setting_int(g->r, steps, 1, 1000000) : 0;
    int64_t least = model_ranks < 8 ? 8 : model_ranks; /* of a node, unless the file says more */
    if (total && size && n && total % (size * n) != 0) {
        tsim_diag_hint(
            tsim_recipe_error(g->r, all, "%lld is no multiple of micro-batch %lld x accumulation %lld",
                              (long long)total, (long long)size, (long long)n),
            "train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x accelerators");
        return;
    }
    if (total && size && n)
        least = total / (size * n) * model_ranks;
    else if (total && size && total % size == 0) { /* as many replicas of a node's as divide the batch */
        int64_t most = least / model_ranks;
        while (most > 1 && total / size % most != 0)
            most--;
        least = most * model_ranks;
    }
    const struct tsim_setting nodes = {
        .name = "world_size",
        .value = tsim_value_new_scalar(g->r->arena, &g->r->at_top,
                                       tsim_arena_printf(g->r->arena, "%lld", (long long)(g->world / 8)))};
    bool has_nodes = g->world >= 8 && g->world % 8 == 0;
    least = g->world > 0 ? g->world : least;
    int64_t world = tsim_recipe_put_cluster(g->r, has_nodes ? &nodes : NULL, NULL, NULL, least),
            replicas = world / model_ranks;
    if (g->world > 0 || (total && size && n))
        g->r->assumed_gpus = 0; /* the log, or the three sizes of the batch, say how many */
    replicas = replicas > 0 ? replicas : 1;
    if (!size && total && n)
        size = total / (n * replicas) > 0 ? total / (n * replicas) : 1;
    if (micro)
        tsim_recipe_put(g->r, "training.micro_batch_size", micro, NULL, "%lld", (long long)size);
    else
        tsim_recipe_assume(g->r, "training.micro_batch_size", "missing, or auto", "%lld", (long long)(size ? size : 1));
    size = size ? size : 1;
    n = size * (n ? n : 1) * replicas;
    if (all)
        tsim_recipe_put(g->r, "training.global_batch_size", all, NULL, "%lld", (long long)total);
    else if (steps || micro)
        tsim_recipe_put(g->r, "training.global_batch_size", steps ? steps : micro, "x replicas", "%lld", (long long)n);
    else
        tsim_recipe_assume(g->r, "training.global_batch_size", "missing, or auto: one micro-batch a replica", "%lld",
                           (long long)n);
}

/* ---- the rest of training ---- */

static void put_precision(struct reading *g) {
    const struct tsim_setting *bf16 = of(g, "bf16.enabled"), *fp16 = of(g, "fp16.enabled");
    const struct tsim_setting *named = of(g, "communication_data_type");
    bool has_bf16 = bf16 && tsim_setting_flag(g->r, bf16), has_fp16 = fp16 && tsim_setting_flag(g->r, fp16),
         is_open = has_auto(g, "bf16.enabled") || has_auto(g, "fp16.enabled");
    const char *word = has_fp16 ? "fp16" : has_bf16 || is_open ? "bf16" : "fp32";
    if (has_bf16 && has_fp16)
        tsim_recipe_error(g->r, fp16, "cannot be together with %s", bf16->name);
    if (has_bf16 || has_fp16)
        tsim_recipe_put(g->r, "training.precision", has_bf16 ? bf16 : fp16, NULL, "%s", word);
    else if (!is_open)
        tsim_recipe_put(g->r, "training.precision", NULL, "neither bf16 nor fp16 is enabled", "%s", word);
    else
        tsim_recipe_assume(g->r, "training.precision", "bf16 or fp16 is auto", "%s", word);
    if (has_fp16)
        tsim_recipe_put_loss_scaling(g->r, of(g, "fp16.loss_scale"), of(g, "fp16.loss_scale_window"),
                                     of(g, "fp16.hysteresis"));
    if (named)
        word = strcmp(tsim_setting_text(named), "fp32") == 0   ? "fp32"
               : strcmp(tsim_setting_text(named), "fp16") == 0 ? "fp16"
                                                               : "bf16";
    tsim_recipe_put(g->r, "training.gradient_precision", named,
                    named ? NULL : "DeepSpeed reduces in the precision of training", "%s", word);
}

static void put_optimizer(struct reading *g) {
    const struct tsim_setting *s = of(g, "optimizer.type");
    const char *text = s ? tsim_setting_text(s) : "AdamW";
    if (strcmp(text, "Lamb") == 0)
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "lamb");
    else if (strcmp(text, "SGD") == 0)
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "momentum");
    else if (strcmp(text, "Muon") == 0)
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "muon");
    else {
        if (s && strcmp(text, "Adam") != 0 && strcmp(text, "AdamW") != 0)
            tsim_recipe_refuse(g->r, s, "the optimizer '%.40s' is not modelled: its states and its step", text);
        tsim_recipe_put(g->r, "training.optimizer", s, s ? NULL : "the Trainer's default", "adamw");
    }
}

/* ---- sharding ---- */

/* Puts a number of elements under `path`: the given one; for "auto", the one that the Trainer computes from the model's
 * hidden size; otherwise DeepSpeed's default. 0 becomes the least value, because the key would take 0 for its own
 * default. */
static void put_elements(struct reading *g, const char *key, const char *path, const char *auto_text, double of_square,
                         int64_t usual) {
    const struct tsim_setting *s = of(g, key);
    const struct tsim_model *model = has_auto(g, key) ? tsim_recipe_model(g->r) : NULL;
    const int64_t hidden = model && auto_text ? model->hidden : 0;
    int64_t n = s            ? tsim_setting_int(g->r, s, 0, MOST_ELEMENTS)
                : hidden > 0 ? (int64_t)(of_square * (double)(hidden * hidden))
                             : usual;
    tsim_recipe_put(g->r, path, s,
                    s            ? NULL
                    : hidden > 0 ? auto_text
                                 : "DeepSpeed's default",
                    "%lld", (long long)(n > 0 ? n : 1));
}

/* Stage 3: each module gathers its own weights, and drops them unless they are used again soon. */
static void put_gathers(struct reading *g) {
    tsim_recipe_put(g->r, "software.gather_unit", NULL, "DeepSpeed gathers module by module", "product");
    put_elements(g, "zero_optimization.stage3_prefetch_bucket_size", "software.gather_ahead",
                 "stage3_prefetch_bucket_size auto: 0.9 x hidden x hidden", 0.9, 50000000);
    put_elements(g, "zero_optimization.stage3_max_reuse_distance", "software.gather_reuse", NULL, 0, 1000000000);
}

static int64_t put_zero(struct reading *g) {
    const struct tsim_setting *stage = of(g, "zero_optimization.stage"), *old = of(g, "zero_optimization"),
                              *overlap = of(g, "zero_optimization.overlap_comm"),
                              *mics = of(g, "zero_optimization.mics_shard_size");
    int64_t zero = stage ? tsim_setting_int(g->r, stage, 0, 3) : old && tsim_setting_flag(g->r, old);
    bool overlaps = overlap ? tsim_setting_flag(g->r, overlap) : zero == 3;
    const char *value = overlaps ? "true" : "false", *why = overlap ? NULL : "DeepSpeed's default: with stage 3 alone";
    tsim_recipe_put(g->r, "parallelism.zero", stage ? stage : old, stage || old ? NULL : "no zero_optimization", "%lld",
                    (long long)zero);
    if (mics && tsim_setting_int(g->r, mics, -1, 1000000) > 0)
        tsim_recipe_put(g->r, "parallelism.zero_group", mics, NULL, "%s", tsim_setting_text(mics));
    tsim_recipe_put(g->r, "parallelism.overlap.gradients", overlap, why, "%s", value);
    tsim_recipe_put(g->r, "parallelism.overlap.parameters", overlap, why, "%s", value);
    put_elements(g, "zero_optimization.reduce_bucket_size", "software.bucket",
                 "reduce_bucket_size auto: hidden x hidden", 1, 500000000);
    if (zero == 3)
        put_gathers(g);
    return zero;
}

/* Puts the optimizer's state and step on the host. */
static void put_offload(struct reading *g) {
    const struct tsim_setting *device = of(g, "zero_optimization.offload_optimizer.device"),
                              *old = of(g, "zero_optimization.cpu_offload"), *s = device ? device : old,
                              *share = of(g, "zero_optimization.offload_optimizer.ratio");
    const char *text = s ? tsim_setting_text(s) : "none";
    if (strcmp(text, "none") == 0 || strcmp(text, "false") == 0)
        return;
    tsim_recipe_put(g->r, "training.offload.optimizer", s, NULL, "true");
    if (strcmp(text, "nvme") == 0)
        tsim_recipe_not_modelled(g->r, s, "the optimizer's state on a disk is not modelled: it is on the host here");
    if (share && tsim_setting_number(g->r, share) < 1.0)
        tsim_recipe_refuse(g->r, share,
                           "only part of the optimizer is on the host; tsim can put all of it there or none");
}

static int64_t put_degree(struct reading *g, const char *const *keys, const char *path) {
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, keys);
    int64_t n = s ? tsim_setting_int(g->r, s, 1, 1000000) : 1;
    if (n > 1)
        tsim_recipe_put(g->r, path, s, NULL, "%lld", (long long)n);
    return n;
}

static void build(struct reading *g) {
    static const char *const TENSOR[] = {"tensor_parallel.autotp_size", "tensor_parallel.tp_size", NULL},
                             *const SEQUENCE[] = {"sequence_parallel_size", NULL};
    struct tsim_recipe *r = g->r;
    tsim_recipe_put(r, "schema", NULL, NULL, "tsim/v1");
    tsim_recipe_put(r, "name", NULL, NULL, "%s", tsim_recipe_name(r->arena, r->document->file, "imported"));
    tsim_recipe_assume(r, "model", "only the program's code names the model; give it with --set model=ID",
                       TSIM_DEFAULT_MODEL);
    int64_t tensor = put_degree(g, TENSOR, "parallelism.tensor"),
            sequence = put_degree(g, SEQUENCE, "parallelism.context");
    if (sequence > 1)
        tsim_recipe_put(r, "parallelism.context_exchange", find(r, SEQUENCE[0]), "Ulysses", "all-to-all");
    tsim_recipe_assume(
        r, "training.sequence_length",
        "only the code that reads the data has the length; give it with --set training.sequence_length=N", "4096");
    put_batch(g, tensor * sequence);
    put_precision(g);
    put_optimizer(g);
    if (is_on(g->r, "compile.enabled"))
        tsim_recipe_put(r, "software.fusion", find(r, "compile.enabled"), NULL, "compile");
    tsim_recipe_put(r, "software.extends", NULL, "transformers under DeepSpeed", "transformers-deepspeed-2024");
    put_zero(g);
    put_offload(g);
}

/* ---- beside another program ---- */

bool tsim_deepspeed_add_file(struct tsim_recipe *r, const struct tsim_setting *named) {
    const char *path = tsim_setting_text(named);
    struct reading g = {.r = r, .prefix = TSIM_DEEPSPEED_PREFIX, .is_beside = true};
    size_t size = 0;
    const char *text = tsim_recipe_read_beside(r, path, &size);
    const struct tsim_value *root = NULL;
    if (!text || tsim_document_parse_wide(r->arena, path, text, size, &root, r->diags) != TSIM_OK)
        return text != NULL;
    if (root->kind == TSIM_VALUE_MAPPING)
        tsim_recipe_each(r, root, add_setting, &g);
    struct tsim_setting_classes classes;
    if (tsim_setting_classes_read(r->arena, "deepspeed", &classes, r->diags) == TSIM_OK) {
        const struct tsim_setting_class section = {.patterns = TSIM_DEEPSPEED_PREFIX, .of_section = &classes};
        tsim_recipe_accepts_by(r, &(struct tsim_setting_classes){&section, 1});
    }
    return true;
}

int64_t tsim_deepspeed_put_sharding(struct tsim_recipe *r) {
    struct reading g = {.r = r, .prefix = TSIM_DEEPSPEED_PREFIX};
    pass_over_autos(&g);
    put_offload(&g);
    return put_zero(&g);
}

/* ---- what it printed ---- */

/* A log of DeepSpeed ends its list of settings with the file's own JSON. */
static enum tsim_status read_file(struct reading *g, const struct tsim_value **root) {
    struct tsim_recipe *r = g->r;
    const char *text = r->document->text;
    const size_t size = r->document->size;
    *root = tsim_log_json(r, "json = ");
    if (r->diags->n_errors > r->n_errors_before)
        return TSIM_ERR_SYNTAX;
    if (!*root) {
        TSIM_TRY(tsim_recipe_check_size(r));
        return tsim_document_parse_wide(r->arena, r->document->file, text, size, root, r->diags);
    }
    g->is_log = true;
    double ranks = tsim_log_largest(text, size, "  world_size ");
    g->world = ranks >= 1 && ranks <= 1e6 ? (int64_t)ranks : 0;
    return TSIM_OK;
}

static void put_measured(struct reading *g) {
    struct tsim_log_series series;
    if (tsim_log_series(g->r->document->text, g->r->document->size, TSIM_LOG_DEEPSPEED.label, NULL, &series))
        tsim_log_put_measured(g->r, &TSIM_LOG_DEEPSPEED, &series);
}

enum tsim_status tsim_import_deepspeed(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    struct reading g = {.r = &r, .prefix = ""};
    tsim_recipe_init(&r, arena, input, "DeepSpeed", "deepspeed", diags);
    enum tsim_status status = read_file(&g, &root);
    if (status == TSIM_OK) {
        tsim_recipe_each(g.r, root, add_setting, &g);
        pass_over_autos(&g);
        if (tsim_recipe_accepts(&r))
            build(&g);
        if (g.is_log)
            put_measured(&g);
        status = tsim_recipe_finish(&r, result);
    }
    tsim_recipe_release(&r);
    return status;
}
