#include "import/launches/recipes.h"

#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/recognize.h"
#include "import/launches/gpt.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_command.h"
#include "import/launches/launch_log.h"
#include "import/launches/launch_words.h"
#include "import/launches/launch_writer.h"
#include "import/launches/python_config.h"
#include "import/launches/titan_job.h"
#include "import/launches/toml.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Flavors of its models, as the catalogue has them. */
static const struct flavor {
    const char *name, *flavor, *id;
} FLAVORS[] = {
    {"llama", "7B", "llama2-7b"}, /* its name before Llama 3 */
    {"llama", "13B", "llama2-13b"},
    {"llama", "70B", "llama2-70b"},
    {"llama2", "7B", "llama2-7b"},
    {"llama2", "13B", "llama2-13b"},
    {"llama2", "70B", "llama2-70b"},
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3-405b"},
    {"llama3", "1B", "llama3.2-1b"},
    {"llama3", "3B", "llama3.2-3b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"llama4", "17bx128e", "llama4-maverick"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "236B", "deepseek-v2"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"deepseek_v3", "kimi_k2", "kimi-k2"},
    {"qwen3", "0.6B", "qwen3-0.6b"},
    {"qwen3", "1.7B", "qwen3-1.7b"},
    {"qwen3", "4B", "qwen3-4b"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "14B", "qwen3-14b"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
};

static bool has_sizes(const struct tsim_model *a, const struct tsim_model *b) {
    return a->layers == b->layers && a->hidden == b->hidden && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->ffn_hidden == b->ffn_hidden && a->vocab == b->vocab && a->experts.count == b->experts.count;
}

bool tsim_titan_flavor(const struct tsim_launch_writer *w, const char **name, const char **flavor) {
    struct tsim_diags unused;
    bool is_found = false;
    tsim_diags_init(&unused);
    for (size_t i = 0; i < sizeof FLAVORS / sizeof FLAVORS[0] && !is_found; i++) {
        const struct tsim_model *known;
        if (tsim_catalogue_load_model(w->arena, FLAVORS[i].id, &known, &unused) == TSIM_OK &&
            has_sizes(w->scenario->model, known)) {
            *name = FLAVORS[i].name;
            *flavor = FLAVORS[i].flavor;
            is_found = true;
        }
    }
    tsim_diags_release(&unused);
    return is_found;
}

struct reading {
    struct tsim_recipe *r;
    int64_t tensor, pipeline, context, expert, replicate, shard; /* shard: -1, what is left */
    int64_t world, layers, length;                               /* layers 0: not known; tokens of a sequence */
    int64_t chunks;                                              /* of the layers, on each rank of a pipeline */
    const char *configuration;                                   /* of a file in Python; NULL: it is no such file */
    bool is_script;
};

/* Finds a setting in any of the sections, which moved over the years. */
static const struct tsim_setting *find(struct reading *g, const char *name) {
    static const char *const SECTIONS[] = {"parallelism", "training", "experimental"};
    const struct tsim_setting *found = NULL;
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++) {
        const struct tsim_setting *s =
            tsim_recipe_find(g->r, tsim_arena_printf(g->r->arena, "%s.%s", SECTIONS[i], name));
        found = found ? found : s;
    }
    return found;
}

static int64_t degree(struct reading *g, const char *name, int64_t least, int64_t otherwise) {
    const struct tsim_setting *s = find(g, name);
    if (!s && strcmp(name, "tensor_parallel_degree") == 0)
        s = find(g, "sequence_parallel_degree"); /* its name in the first months */
    return s ? tsim_setting_int(g->r, s, least, 1000000) : otherwise;
}

static bool is_on(struct reading *g, const struct tsim_setting *s) {
    return s && tsim_setting_flag(g->r, s);
}

static void put_int(struct reading *g, const char *path, const struct tsim_setting *s, const char *why, int64_t value) {
    tsim_recipe_put(g->r, path, s, why, "%lld", (long long)value);
}

/* ---- the model ---- */

/* Tells whether a flavor is a known one, perhaps with words of a fork for its kernels: "8B_flex", "30B-A3B-deepep",
 * "opt-30B-A3B". */
static bool is_flavor(const char *text, const char *known) {
    static const char *const KERNELS[] = {"opt", "deepep", "flex", "fp8", "mxfp8", "compile", "varlen", "hf", "te"};
    const size_t length = strlen(known);
    text += strncmp(text, "opt-", 4) == 0 ? 4 : 0;
    if (strncmp(text, known, length) != 0)
        return false;
    for (text += length; *text == '-';) {
        const char *word = text + 1;
        const size_t n = strcspn(word, "-");
        bool is_of_kernels = false;
        for (size_t i = 0; i < sizeof KERNELS / sizeof KERNELS[0]; i++)
            is_of_kernels |= n == strlen(KERNELS[i]) && strncmp(word, KERNELS[i], n) == 0;
        if (!is_of_kernels)
            return false;
        text = word + n;
    }
    return *text == '\0' || *text == '_';
}

/* Puts what old versions and forks change: other norms, or rows of the vocabulary. */
static void put_changes(struct reading *g, const struct tsim_setting *from, const char *id) {
    const struct tsim_setting *norm = tsim_recipe_find(g->r, "model.norm_type"), *rows = find(g, "vocab_size");
    rows = rows ? rows : tsim_recipe_find(g->r, "model.vocab_size");
    const bool has_norm = tsim_setting_is(norm, "layernorm");
    if (has_norm || rows)
        tsim_recipe_put(g->r, "model.extends", from, NULL, "%s", id);
    if (has_norm)
        tsim_recipe_put(g->r, "model.norm", norm, NULL, "layernorm");
    if (rows)
        tsim_recipe_put_int(g->r, "model.vocab", rows, tsim_setting_int(g->r, rows, 1, 1000000000));
}

static void put_model(struct reading *g) {
    const struct tsim_setting *name = tsim_recipe_find(g->r, "model.name"),
                              *flavor = tsim_recipe_find(g->r, "model.flavor");
    const char *model = name               ? tsim_setting_text(name)
                        : g->configuration ? "of no known family"
                                           : "llama3",
               *size = flavor ? tsim_setting_text(flavor) : "debugmodel";
    const char *known = "";
    for (size_t i = 0; i < sizeof FLAVORS / sizeof FLAVORS[0]; i++) {
        const struct flavor *f = &FLAVORS[i];
        if (strcmp(f->name, model) == 0 && is_flavor(size, f->flavor)) {
            const struct tsim_model *known_model;
            if (tsim_catalogue_load_model(g->r->arena, f->id, &known_model, g->r->diags) == TSIM_OK) {
                g->layers = known_model->layers;
                tsim_recipe_put(g->r, "model", flavor, NULL, "%s", f->id);
                put_changes(g, flavor, f->id);
            }
            return;
        }
        known = tsim_arena_printf(g->r->arena, "%s%s%s %s", known, i > 0 ? ", " : "", f->name, f->flavor);
    }
    if (tsim_import_override(&g->r->input, "model"))
        return;
    const char *whole = tsim_arena_printf(g->r->arena, "%s-%s", model, size);
    const bool has_size = strpbrk(size, "0123456789") && strpbrk(size, "bBmM"),
               is_small =
                   strncmp(size, "debugmodel", 10) == 0 && /* of eight layers before the key's new name of 2025 */
                   tsim_recipe_find(g->r, "training.local_batch_size");
    if (flavor && (has_size || is_small || tsim_known_model(g->r, whole)) && tsim_put_hub_model(g->r, flavor, whole)) {
        const struct tsim_model *named = tsim_recipe_model(g->r); /* a fork's words for a model of the hub */
        g->layers = named ? named->layers : 0;
        return;
    }
    tsim_diag_hint(
        tsim_recipe_error(g->r, flavor ? flavor : name, "tsim does not know the model %.40s %.40s", model, size),
        "give the model with --set model=ID or a model file; it knows %s", known);
}

/* ---- the machine ---- */

/* Returns the text behind the first `word` of a line, or NULL. */
static const char *behind(const char *line, size_t length, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(line + i, word, n) == 0)
            return line + i + n;
    return NULL;
}

static void add_preset(struct reading *g, const char *key, const char *line_start, int line, const char *from,
                       size_t length) {
    tsim_recipe_add(
        g->r, "comment", key,
        tsim_recipe_scalar(g->r, line, (int)(from - line_start) + 1, tsim_arena_strndup(g->r->arena, from, length)));
}

/* Finds "preset for 8 H100 GPUs (with 96GiB memory)" in a comment. */
static void find_preset(struct reading *g) {
    const struct tsim_document *d = g->r->document;
    int line = 1;
    for (const char *c = d->text, *end = d->text + d->size; c < end; line++) {
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        size_t length = (size_t)((stop ? stop : end) - c);
        const char *number = c[0] == '#' ? behind(c, length, "preset for ") : NULL;
        size_t digits = number ? strspn(number, "0123456789") : 0;
        if (digits > 0 && digits < 7 && behind(number, length - (size_t)(number - c), "GPU")) {
            const char *name = number + digits + strspn(number + digits, " ");
            add_preset(g, "preset.gpus", c, line, number, digits);
            add_preset(g, "preset.machine", c, line, name, length - (size_t)(name - c));
        }
        c = stop ? stop + 1 : end;
    }
}

/* Degrees are up to a million each; more accelerators than this are refused as a cluster. */
static int64_t times(int64_t ranks, int64_t degree) {
    const int64_t most = INT64_C(1000000000000);
    return ranks > most / degree ? most : ranks * degree;
}

static bool has_converter(const struct tsim_setting *s, const char *word);

/* Finds the machine in a comment. Several presets in fp8 keep the comment of a preset in 16 bits, so a machine without
 * fp8 does not count. */
static const struct tsim_setting *machine_of(struct reading *g) {
    const struct tsim_setting *machine = tsim_recipe_find(g->r, "preset.machine"),
                              *low = tsim_recipe_find(g->r, "model.converters"),
                              *old = tsim_recipe_find(g->r, "float8.enable_float8_linear");
    const struct tsim_accelerator *named = NULL;
    if (!machine || !(has_converter(low, "float8") || is_on(g, old)))
        return machine; /* the comment's, or that of Primus' folder */
    tsim_accelerator_named(g->r->arena, tsim_setting_text(machine), &named, g->r->diags);
    if (!named || named->peak_flops_per_s[TSIM_FP8] > 0)
        return machine;
    tsim_recipe_not_modelled(g->r, machine, "%s, which has no fp8", named->name);
    return NULL;
}

static void put_cluster(struct reading *g) {
    const struct tsim_setting *each = tsim_recipe_find(g->r, "nproc_per_node");
    if (each && !tsim_recipe_find(g->r, "nnodes")) /* torchrun's default */
        tsim_recipe_add(g->r, each->name, "nnodes", tsim_value_new_scalar(g->r->arena, each->value, "1"));
    int64_t ranks = times(g->tensor * g->pipeline, g->context);
    int64_t least = times(times(ranks, g->replicate), g->shard > 0 ? g->shard : 1);
    const struct tsim_setting *gpus = tsim_recipe_find(g->r, "preset.gpus"), *machine = machine_of(g);
    int64_t preset = gpus ? tsim_setting_int(g->r, gpus, 1, 1000000) : 0;
    struct tsim_setting nodes = {"comment", "nnodes", NULL, true, NULL},
                        of_each = {"degrees", "each", NULL, true, NULL};
    if (g->shard > 0 && preset > 0 && preset != least) { /* the degrees' product is the world; the comment is old */
        tsim_recipe_note(g->r, gpus->name, gpus->value, "the degrees say how many accelerators there are");
        preset = 0;
    }
    if (g->shard > 0 && preset == 0 && least > 8 && least % 8 != 0) { /* whole nodes, of fewer than eight */
        int64_t of_node = 8;
        while (least % of_node != 0)
            of_node--;
        const struct tsim_setting *shard = find(g, "data_parallel_shard_degree"),
                                  *from = shard ? shard : find(g, "data_parallel_degree");
        const struct tsim_value *at = from->value;
        nodes.name = of_each.name = from->name;
        nodes.value = tsim_value_new_scalar(g->r->arena, at,
                                            tsim_arena_printf(g->r->arena, "%lld", (long long)(least / of_node)));
        of_each.value =
            tsim_value_new_scalar(g->r->arena, at, tsim_arena_printf(g->r->arena, "%lld", (long long)of_node));
    } else if (preset >= 8 && preset % 8 == 0)
        nodes.value = tsim_value_new_scalar(g->r->arena, gpus->value,
                                            tsim_arena_printf(g->r->arena, "%lld", (long long)(preset / 8)));
    else if (preset > 0)
        least = preset;
    else if (g->shard < 0) { /* as many shards as a node has, or as its experts take */
        int64_t size = g->tensor * g->context, shards = 1;
        while (shards < 1000000 && (shards * size) % g->expert != 0)
            shards++;
        least = times(least, shards);
        least = least < 8 ? 8 : least;
    }
    const int64_t copies = times(ranks, g->replicate);
    machine = machine ? machine : tsim_recipe_find(g->r, "machine"); /* of Slurm */
    g->world = each ? tsim_recipe_put_cluster(g->r, tsim_recipe_find(g->r, "nnodes"), each, machine, 1)
                    : tsim_recipe_put_cluster(g->r, nodes.value ? &nodes : NULL, of_each.value ? &of_each : NULL,
                                              machine, least);
    if (g->world > 0 && g->world % copies != 0)
        tsim_recipe_error(g->r, find(g, "data_parallel_replicate_degree"),
                          "%lld accelerators are no multiple of the %lld that the degrees take", (long long)g->world,
                          (long long)copies);
    if (preset > 0 || g->shard > 0)
        g->r->assumed_gpus = 0; /* the comment, or the degrees, say how many */
}

/* ---- training ---- */

static void put_batch(struct reading *g) {
    static const char *const LOCAL[] = {"training.local_batch_size", "training.batch_size", NULL};
    const struct tsim_setting *local = tsim_recipe_find_any(g->r, LOCAL),
                              *global = tsim_recipe_find(g->r, "training.global_batch_size"),
                              *micro = find(g, "pipeline_parallel_microbatch_size"),
                              *parts = find(g, "pipeline_parallel_microbatches"),
                              *tokens = tsim_recipe_find(g->r, "training.num_tokens_per_microbatch_per_dp_rank");
    int64_t size = local ? tsim_setting_int(g->r, local, 1, 1000000) : 8, each = size;
    if (!local && tokens) { /* since 2026 the batch is said in tokens */
        const int64_t n = tsim_setting_int(g->r, tokens, 1, INT64_C(1000000000000));
        if (n % g->length != 0)
            tsim_recipe_refuse(g->r, tokens, "%lld tokens are no whole number of sequences of %lld", (long long)n,
                               (long long)g->length);
        local = tokens;
        each = size = n / g->length > 0 ? n / g->length : 1;
    }
    int64_t replicas = g->world / (g->tensor * g->pipeline * g->context);
    int64_t all = global ? tsim_setting_int(g->r, global, -1, INT64_C(1000000000000)) : -1;
    if (g->pipeline > 1 && parts && !micro)
        each = size / tsim_setting_int(g->r, parts, 1, 1000000);
    else if (g->pipeline > 1 && !micro && tsim_recipe_find(g->r, "experimental.pipeline_parallel_degree"))
        each = size / g->pipeline; /* until 2025 a batch had as many parts as the pipeline stages */
    else if (g->pipeline > 1)
        each = micro ? tsim_setting_int(g->r, micro, 1, 1000000) : 1;
    each = each > 0 ? each : 1;
    put_int(g, "training.micro_batch_size",
            each == size ? local
            : micro      ? micro
                         : parts,
            local ? NULL : "torchtitan's default", each);
    if (g->pipeline > 1 && replicas > 0 && all > size * replicas && all % (size * replicas) == 0 && size % each == 0)
        put_int(g, "parallelism.schedule_microbatches", local, NULL, size / each); /* a run for each batch of a rank */
    if (all > 0)
        put_int(g, "training.global_batch_size", global, NULL, all);
    else
        put_int(g, "training.global_batch_size", local, "x replicas", size * (replicas > 0 ? replicas : 1));
}

/* A number N recomputes every N-th layer of a stage. */
static void put_recompute(struct reading *g) {
    const struct tsim_setting *mode = tsim_recipe_find(g->r, "activation_checkpoint.mode"),
                              *option = tsim_recipe_find(g->r, "activation_checkpoint.selective_ac_option");
    const char *text = mode ? tsim_setting_text(mode) : "selective", *how = option ? tsim_setting_text(option) : "2";
    if (strcmp(text, "none") == 0)
        tsim_recipe_put(g->r, "training.recompute", mode, NULL, "none");
    else if (strcmp(text, "full") == 0 || (strcmp(text, "selective") == 0 && strcmp(how, "1") == 0))
        tsim_recipe_put(g->r, "training.recompute", mode, NULL, "full");
    else if (strcmp(text, "selective") == 0 && option && strcmp(how, "op") != 0 && g->layers > 0) {
        int64_t of_stage = g->layers / (g->pipeline * (g->chunks > 0 ? g->chunks : 1)),
                layers = of_stage / tsim_setting_int(g->r, option, 1, 100000);
        if (layers > 0)
            put_int(g, "training.recompute.layers", option, NULL, layers);
        else
            tsim_recipe_put(g->r, "training.recompute", option, "stages have fewer layers", "none");
    } else if (strcmp(text, "selective") == 0 || strcmp(text, "memory_budget") == 0) {
        tsim_recipe_put(g->r, "training.recompute", mode, mode ? NULL : "torchtitan's default", "selective");
        const struct tsim_setting *from = option ? option : mode;
        if (strcmp(text, "memory_budget") == 0)
            tsim_recipe_not_modelled(
                g->r, mode, "the compiler chooses what is recomputed; tsim recomputes operators in all layers");
        else if (from && strcmp(how, "op") != 0)
            tsim_recipe_not_modelled(
                g->r, from, "the program recomputes one layer in %.20s; tsim recomputes operators in all layers", how);
    } else
        tsim_recipe_error(g->r, mode, "'%.40s' is not one of none, selective, full", text);
}

/* Returns whether the model has a converter with this part of its name: "float8", "quantize.linear.mx". */
static bool has_converter(const struct tsim_setting *s, const char *word) {
    size_t n = s && s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->n_items : s ? 1 : 0;
    bool has = false;
    for (size_t i = 0; i < n; i++) {
        const struct tsim_value *item = s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->items[i] : s->value;
        const char *text = item->kind == TSIM_VALUE_SCALAR ? item->text : "";
        has |= strstr(text, word) != NULL;
    }
    return has;
}

static void check_converters(struct reading *g, const struct tsim_setting *s) {
    size_t n = s && s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->n_items : s ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const struct tsim_value *item = s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->items[i] : s->value;
        const char *text = item->kind == TSIM_VALUE_SCALAR ? item->text : "a list";
        if (*text && !strstr(text, "float8") && !strstr(text, "mx"))
            tsim_recipe_error(g->r, s, "the converter '%.40s' is not known: float8 and mx are", text);
    }
}

/* Sections about a data type that no converter asks for. */
static void pass_over(struct reading *g, const char *prefix) {
    for (size_t i = 0; i < g->r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        g->r->settings[i].is_used |= strncmp(g->r->settings[i].key, prefix, strlen(prefix)) == 0;
}

/* FSDP keeps parameters and optimizer in training.dtype, computes in one type and reduces gradients in another. */
static void put_precision(struct reading *g) {
    const struct tsim_setting *param = tsim_recipe_find(g->r, "training.mixed_precision_param"),
                              *reduce = tsim_recipe_find(g->r, "training.mixed_precision_reduce"),
                              *old = tsim_recipe_find(g->r, "float8.enable_float8_linear"),
                              *experts = tsim_recipe_find(g->r, "primus_turbo.use_moe_fp8"),
                              *converters = tsim_recipe_find(g->r, "model.converters");
    const struct tsim_setting *kept = tsim_recipe_find(g->r, "training.dtype");
    bool is_fp32 = param && strcmp(tsim_setting_text(param), "float32") == 0;
    check_converters(g, converters);
    bool has_blocks = has_converter(converters, "mx");
    const struct tsim_setting *low = has_blocks || has_converter(converters, "float8") ? converters
                                     : is_on(g, old)                                   ? old
                                                                                       : NULL;
    const struct tsim_setting *recipe = low && !has_blocks ? tsim_recipe_find(g->r, "float8.recipe_name") : NULL;
    bool scales_rows = recipe && strcmp(tsim_setting_text(recipe), "rowwise") == 0;
    if (scales_rows)
        tsim_recipe_put(g->r, "software.fp8_scaling", recipe, NULL, "rows");
    else if (recipe && strcmp(tsim_setting_text(recipe), "tensorwise") != 0)
        tsim_recipe_not_modelled(g->r, recipe, "how fp8 values are scaled");
    if (!scales_rows && low && !has_blocks && !is_on(g, tsim_recipe_find(g->r, "float8.enable_fsdp_float8_all_gather")))
        tsim_recipe_not_modelled(g->r, low, "the program gathers weights in 16 bits, tsim in fp8");
    if (low && experts && g->expert > 1 && !is_on(g, experts))
        tsim_recipe_not_modelled(g->r, experts,
                                 "the program keeps products of experts in 16 bits; tsim has them in fp8");
    if (kept && strcmp(tsim_setting_text(kept), "bfloat16") == 0) {
        tsim_recipe_put(g->r, "training.master_weights", kept, NULL, "false");
        tsim_recipe_put(g->r, "training.state_precision", kept, NULL, "bf16");
    }
    const struct tsim_setting *states = tsim_recipe_find(g->r, "optimizer.state_dtype"); /* of some forks */
    if (states && strcmp(tsim_setting_text(states), "bfloat16") == 0)
        tsim_recipe_put(g->r, "training.state_precision", states, NULL, "bf16");
    else if (states && strcmp(tsim_setting_text(states), "float32") != 0)
        tsim_recipe_refuse(g->r, states, "optimizer states of '%.40s' are not modelled", tsim_setting_text(states));
    if (low)
        tsim_recipe_put(g->r, "training.precision", low, NULL, has_blocks ? "mxfp8" : "fp8");
    else
        tsim_recipe_put(g->r, "training.precision", param, param ? NULL : "torchtitan's default",
                        is_fp32 ? "fp32" : "bf16");
    if (!low) {
        pass_over(g, "float8.");
        pass_over(g, "mx.");
        pass_over(g, "quantize.");
    }
    bool in_bf16 = reduce && strcmp(tsim_setting_text(reduce), "bfloat16") == 0;
    tsim_recipe_put(g->r, "training.gradient_precision", reduce, reduce ? NULL : "torchtitan's default",
                    in_bf16 ? "bf16" : "fp32");
}

static void put_training(struct reading *g) {
    const struct tsim_setting *length = tsim_recipe_find(g->r, "training.seq_len"),
                              *newer = tsim_recipe_find(g->r, "training.max_context_length"),
                              *steps = tsim_recipe_find(g->r, "training.steps"),
                              *optimizer = tsim_recipe_find(g->r, "optimizer.name");
    const char *name = optimizer ? tsim_setting_text(optimizer) : "AdamW";
    length = length ? length : newer;
    g->length = length ? tsim_setting_int(g->r, length, 1, 1000000000) : 2048;
    put_int(g, "training.sequence_length", length, length ? NULL : "torchtitan's default", g->length);
    put_batch(g);
    put_precision(g);
    const bool is_muon = strcmp(name, "Muon") == 0;
    if (strcmp(name, "Adam") != 0 && strcmp(name, "AdamW") != 0 && !is_muon)
        tsim_recipe_not_modelled(g->r, optimizer, "tsim has no optimizer '%.40s' and takes adamw for it", name);
    tsim_recipe_put(g->r, "training.optimizer", optimizer, optimizer ? NULL : "torchtitan's default",
                    is_muon ? "muon" : "adamw");
    if (steps)
        put_int(g, "training.steps", steps, NULL, tsim_setting_int(g->r, steps, 1, INT64_C(1000000000000)));
}

/* ---- software and parallelism ---- */

/* compile.components are "model" and "loss" by default; fusion means the model's blocks. */
static void put_software(struct reading *g) {
    static const char *const COMPILE[] = {"compile.enable", "training.compile", NULL};
    const struct tsim_setting *compile = tsim_recipe_find_any(g->r, COMPILE),
                              *parts = tsim_recipe_find(g->r, "compile.components");
    bool is_compiled = is_on(g, compile), has_model = is_compiled && (!parts || tsim_setting_lists(parts, "model"));
    tsim_recipe_put(g->r, "software.extends", NULL, "torchtitan", "torchtitan-2024");
    tsim_recipe_put(g->r, "software.fusion", is_compiled && !has_model ? parts : compile,
                    is_compiled && !has_model ? "without the model"
                    : compile                 ? NULL
                                              : "torchtitan's default",
                    has_model ? "compile" : "none");
    if (is_compiled && !has_model && tsim_setting_lists(parts, "loss"))
        tsim_recipe_not_modelled(g->r, parts, "the program compiles the loss alone; tsim fuses nothing");
    if (has_model && parts && !tsim_setting_lists(parts, "loss"))
        tsim_recipe_not_modelled(g->r, parts, "the program compiles the model alone; tsim has the loss compiled, too");
}

/* FSDP within a pipeline keeps gathered parameters until the step's end, which is ZeRO-2. */
static void put_sharding(struct reading *g) {
    const struct tsim_setting *shard = find(g, "data_parallel_shard_degree"),
                              *replicate = find(g, "data_parallel_replicate_degree"),
                              *policy = find(g, "fsdp_reshard_after_forward");
    const char *text = policy ? tsim_setting_text(policy) : "default";
    int64_t ranks = g->world / (g->tensor * g->pipeline);
    bool is_sharded = g->shard != 1 || g->context > 1, keeps = strcmp(text, "never") == 0 || g->pipeline > 1;
    put_int(g, "parallelism.zero", is_sharded ? shard : replicate,
            !is_sharded       ? "replicas alone"
            : g->pipeline > 1 ? "gathered once a step in a pipeline"
            : !shard          ? "torchtitan's default: fully sharded"
                              : NULL,
            !is_sharded       ? 0
            : g->pipeline > 1 ? 2
                              : 3);
    if (is_sharded && keeps && g->pipeline == 1)
        tsim_recipe_put(g->r, "parallelism.reshard_after_forward", policy, NULL, "false");
    if (g->pipeline > 1 && strcmp(text, "always") == 0)
        tsim_recipe_not_modelled(g->r, policy, "not modelled in a pipeline: parameters gathered for each micro-batch");
    if (is_sharded && g->replicate > 1 && ranks % g->replicate == 0)
        put_int(g, "parallelism.zero_group", replicate, "ranks that shard", ranks / g->replicate);
}

/* Stages have as many layers as the file says, where the embedding and the head count as a layer each. By default each
 * rank has two stages (torchtitan/distributed/pipeline_parallel.py). */
static void put_chunks(struct reading *g, const struct tsim_setting *schedule, const struct tsim_setting *per_stage) {
    int64_t each = per_stage ? tsim_setting_int(g->r, per_stage, 1, 100000) : 0;
    int64_t stages = each > 0 ? (g->layers + 2 + each - 1) / each : 2 * g->pipeline;
    if (each > 0 && (g->layers == 0 || stages % g->pipeline != 0 || stages / g->pipeline < 2))
        tsim_recipe_error(g->r, per_stage,
                          "%lld layers a stage give no whole number of stages, two or more, to each of %lld ranks",
                          (long long)each, (long long)g->pipeline);
    put_int(g, "parallelism.virtual_pipeline", per_stage ? per_stage : schedule, per_stage ? NULL : "two stages a rank",
            stages / g->pipeline);
    g->chunks = stages / g->pipeline;
}

static void put_schedule(struct reading *g) {
    const struct tsim_setting *s = find(g, "pipeline_parallel_schedule"),
                              *per_stage = find(g, "pipeline_parallel_layers_per_stage");
    const char *text = s ? tsim_setting_text(s) : "1F1B";
    const char *ours = tsim_launch_ours(tsim_titan_schedules, text);
    if (!ours) {
        tsim_recipe_error(g->r, s, "the schedule '%.40s' is not known: 1F1B, GPipe, Interleaved1F1B, ZBVZeroBubble",
                          text);
        return;
    }
    tsim_recipe_put(g->r, "parallelism.schedule", s, s ? NULL : "torchtitan's default", "%s", ours);
    g->chunks = 1;
    if (strcmp(ours, "interleaved") == 0)
        put_chunks(g, s, per_stage);
    if (g->layers > 0 && g->chunks > 0 && g->layers % (g->chunks * g->pipeline) != 0)
        tsim_recipe_put(g->r, "parallelism.layers_per_stage", NULL, "stages are as even as layers allow", "balance");
    else if (per_stage)
        tsim_recipe_note(g->r, per_stage->name, per_stage->value, "stages are as even as layers allow");
    if (strcmp(tsim_launch_theirs(tsim_titan_schedules, ours), text) != 0 || strcmp(ours, "zb-h1") == 0)
        tsim_recipe_not_modelled(g->r, s, "not modelled as it is: %s is the nearest", ours);
}

static void put_context(struct reading *g) {
    const struct tsim_setting *how = find(g, "context_parallel_rotate_method");
    const char *exchange = tsim_launch_ours(tsim_rotate_methods, how ? tsim_setting_text(how) : "allgather");
    put_int(g, "parallelism.context", find(g, "context_parallel_degree"), NULL, g->context);
    tsim_recipe_put(g->r, "parallelism.context_exchange", how, how ? NULL : "torchtitan's default", "%s",
                    exchange ? exchange : "all-gather");
}

/* Experts are divided by tensors among one rank (torchtitan's default) or as many as the rest of a layer is. */
static void put_experts(struct reading *g) {
    const struct tsim_setting *tensor = find(g, "expert_tensor_parallel_degree");
    put_int(g, "parallelism.expert", find(g, "expert_parallel_degree"), NULL, g->expert);
    put_int(g, "parallelism.expert_tensor", tensor, tensor ? NULL : "torchtitan's default",
            tensor ? tsim_setting_int(g->r, tensor, 1, 1000000) : 1);
}

static void put_parallelism(struct reading *g) {
    const struct tsim_setting *async = find(g, "enable_async_tensor_parallel");
    put_int(g, "parallelism.tensor", find(g, "tensor_parallel_degree"), NULL, g->tensor);
    put_int(g, "parallelism.pipeline", find(g, "pipeline_parallel_degree"), NULL, g->pipeline);
    if (g->pipeline > 1)
        put_schedule(g);
    if (g->context > 1)
        put_context(g);
    if (g->expert > 1)
        put_experts(g);
    put_sharding(g);
    if (is_on(g, async))
        tsim_recipe_put(g->r, "parallelism.overlap.tensor", async, NULL, "true");
}

/* ---- configurations in Python ---- */

/* Returns whether the document has "def llama3_8b() -> Trainer.Config:", or an import of its classes. */
static bool is_python(const struct tsim_document *d) {
    for (const char *c = d->text, *end = d->text + d->size; c && c < end;) {
        if (strncmp(c, "def ", 4) == 0 || strncmp(c, "from ", 5) == 0 || strncmp(c, "import ", 7) == 0)
            return true;
        c = memchr(c, '\n', (size_t)(end - c));
        c = c ? c + 1 : NULL;
    }
    return false;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

/* Sections of the configuration in Python by those of TOML; "" is of no effect. */
static const char *toml_key(struct reading *g, const char *path) {
    static const char *const SECTIONS[][2] = {
        {"model_spec._0", "model.flavor"},
        {"model_spec.flavor", "model.flavor"},
        {"model_spec.moe_comm_backend", "parallelism.expert_parallel_comm_backend"},
        {"model_spec.attn_backend", "job.attn_backend"},
        {"hf_assets_path", "model.hf_assets_path"},
        {"dump_folder", "job.dump_folder"},
        {"dataloader", "training.dataset"},
        {"tokenizer", "job.tokenizer"},
        {"validator", "validation"},
        {"loss", "job.loss"},
        {"profiler", "profiling"}};
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++) {
        size_t length = strlen(SECTIONS[i][0]);
        if (strncmp(path, SECTIONS[i][0], length) == 0 && (path[length] == '.' || path[length] == '\0'))
            return tsim_arena_printf(g->r->arena, "%s%s", SECTIONS[i][1], path + length);
    }
    return path;
}

/* Returns the section of a converter by its class, Float8LinearConverter.Config. */
static const char *converter_word(const char *class) {
    return strstr(class, "MX")                                   ? "mx"
           : strstr(class, "Float8") && !strstr(class, "Expert") ? "float8"
           : strstr(class, "Float8")                             ? "float8.experts"
                                                                 : class;
}

/* Returns whether a value belongs to a list of converters, of the job or, since 2026, of the model's registry. */
static bool is_of_converter(const char *path) {
    return strstr(path, "converters[") || strstr(path, "quantization[");
}

static void add_converters(struct reading *g, const struct tsim_python *python) {
    enum { MOST_CONVERTERS = 16 };
    const struct tsim_value *items[MOST_CONVERTERS];
    size_t n = 0;
    for (size_t i = 0; i < python->n_values && n < MOST_CONVERTERS; i++) {
        const struct tsim_python_value *v = &python->values[i];
        if (!is_of_converter(v->path) || !ends_with(v->path, "]._call"))
            continue;
        const char *word = converter_word(v->text);
        items[n++] = tsim_recipe_scalar(g->r, v->line, v->column, word);
        for (size_t k = 0; k < python->n_values; k++) {
            const struct tsim_python_value *of = &python->values[k];
            size_t length = strlen(v->path) - strlen("_call");
            if (strncmp(of->path, v->path, length) == 0 && of->path[length] != '_' &&
                !strstr(of->path, "compile_enabled"))
                tsim_recipe_add(g->r, of->path,
                                tsim_arena_printf(g->r->arena, "%s.%.*s",
                                                  strncmp(word, "float8", 6) == 0 ? "float8" : word,
                                                  (int)strcspn(of->path + length, "["), of->path + length),
                                tsim_recipe_scalar(g->r, of->line, of->column, of->text));
        }
    }
    if (n > 0)
        tsim_recipe_add(g->r, "converters", "model.converters", tsim_value_new_list(g->r->arena, items[0], items, n));
}

/* Joins "compile.components[0]" and the items behind it to one list. */
static void add_list(struct reading *g, const struct tsim_python *python, size_t first) {
    enum { MOST_ITEMS = 64 };
    const struct tsim_value *items[MOST_ITEMS];
    const char *path = python->values[first].path;
    const size_t length = strcspn(path, "[");
    size_t n = 0;
    for (size_t i = first; i < python->n_values && n < MOST_ITEMS; i++)
        if (strncmp(python->values[i].path, path, length + 1) == 0 && ends_with(python->values[i].path, "]"))
            items[n++] =
                tsim_recipe_scalar(g->r, python->values[i].line, python->values[i].column, python->values[i].text);
    const char *name = tsim_arena_strndup(g->r->arena, path, length);
    if (n > 0)
        tsim_recipe_add(g->r, name, toml_key(g, name), tsim_value_new_list(g->r->arena, items[0], items, n));
}

static void add_python(struct reading *g, const struct tsim_python *python) {
    add_converters(g, python);
    for (size_t i = 0; i < python->n_values; i++) {
        const struct tsim_python_value *v = &python->values[i];
        if (is_of_converter(v->path))
            continue;
        if (strcmp(v->path, "optimizer._call") == 0 && strstr(v->text, "InBackward"))
            tsim_recipe_add(g->r, v->text, "optimizer.early_step_in_backward",
                            tsim_recipe_scalar(g->r, v->line, v->column, "true"));
        if (ends_with(v->path, "_call"))
            continue;
        if (ends_with(v->path, "[0]"))
            add_list(g, python, i);
        else if (!strchr(v->path, '['))
            tsim_recipe_add(g->r, v->path, toml_key(g, v->path), tsim_recipe_scalar(g->r, v->line, v->column, v->text));
    }
}

/* The model's family is in the function's name, or it is the folder of the file: models/qwen3/config_registry.py. */
static void add_family(struct reading *g, const char *function) {
    static const char *const NAMES[] = {"llama3", "llama4", "deepseek_v3", "qwen3", "gpt_oss", "llama2"};
    const char *family = NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0] && !family; i++)
        family = strstr(function, NAMES[i]) ? NAMES[i] : NULL;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0] && !family; i++)
        family = strstr(g->r->document->file, tsim_arena_printf(g->r->arena, "/%s/", NAMES[i])) ? NAMES[i] : NULL;
    if (family)
        tsim_recipe_add(g->r, function, "model.name", tsim_value_new_scalar(g->r->arena, &g->r->at_top, family));
}

/* Reads one of the functions of config_registry.py, which a script names, or the user behind "--" (also as --config
 * NAME). */
static enum tsim_status read_python(struct reading *g, const char *chosen) {
    struct tsim_recipe *r = g->r;
    struct tsim_python python = {0};
    const char *known = "";
    for (size_t i = 0; i < r->input.n_arguments && !g->is_script; i++)
        chosen = r->input.arguments[i][0] == '-' ? chosen : r->input.arguments[i];
    tsim_python_functions(r, &python);
    bool is_there = false;
    for (size_t i = 0; i < python.n_functions; i++) {
        is_there |= chosen && strcmp(python.functions[i], chosen) == 0;
        known = strlen(known) < 400
                    ? tsim_arena_printf(r->arena, "%s%s%s", known, i > 0 ? ", " : "", python.functions[i])
                    : known;
    }
    if (!chosen && python.n_functions == 1)
        chosen = python.functions[0], is_there = true;
    if (!is_there) {
        struct tsim_diag *diag =
            chosen ? tsim_recipe_error(r, NULL, "there is no function '%.60s' in it", chosen)
                   : tsim_recipe_error(r, NULL, "%zu functions, each a configuration", python.n_functions);
        if (python.n_functions > 0)
            tsim_diag_hint(diag, "name one behind --, as in '-- %s'; there are %s", python.functions[0], known);
        return TSIM_ERR_INFEASIBLE;
    }
    enum tsim_status status = tsim_python_read(r, chosen, &python);
    if (status == TSIM_OK && python.n_values == 0) {
        tsim_recipe_error(r, NULL, "%.60s returns nothing that can be read: an object with keywords is", chosen);
        status = TSIM_ERR_INFEASIBLE;
    }
    if (status == TSIM_OK) {
        g->configuration = chosen;
        add_family(g, chosen);
        add_python(g, &python);
        if (!tsim_recipe_find(r, "activation_checkpoint.selective_ac_option")) /* since there is a registry */
            tsim_recipe_add(r, "torchtitan's default", "activation_checkpoint.selective_ac_option",
                            tsim_value_new_scalar(r->arena, &r->at_top, "op"));
        if (python.unread_line > 0)
            tsim_value_warning(r->diags, tsim_recipe_scalar(r, python.unread_line, 1, ""), "",
                               "what is done here is not followed: only keywords and assignments are");
    }
    tsim_heap_free(python.values);
    return status;
}

/* ---- scripts ---- */

/* Tells a script from TOML, in which the name of a section stands on a line of its own. */
static bool is_shell(const struct tsim_document *d) {
    bool has_command = false;
    for (const char *c = d->text, *end = d->text + d->size; c && c < end;) {
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        const size_t length = (size_t)((stop ? stop : end) - c);
        if (length > 2 && c[0] == '[' && isalpha((unsigned char)c[1]))
            return false;
        has_command |= c[0] != '#' && (behind(c, length, "run_train.sh") || behind(c, length, "torchrun") ||
                                       behind(c, length, "torchtitan.train") || behind(c, length, "train.py"));
        c = stop ? stop + 1 : NULL;
    }
    return has_command;
}

/* Returns the text of a file that the script names: beside it, or in its tree, whose root is a folder above it. */
static const char *file_in_tree(struct reading *g, const char *path, size_t *size) {
    enum { MOST_FOLDERS = 6 };
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    for (int i = strstr(path, "..") ? MOST_FOLDERS : 0; i <= MOST_FOLDERS; i++) {
        const char *text = tsim_recipe_read_beside(g->r, path, size);
        if (text)
            return text;
        path = tsim_arena_printf(g->r->arena, "%s%s", path[0] == '/' ? "" : "../", path);
    }
    return NULL;
}

/* Reads the TOML or the registry that the command names; its settings come before those of the command. */
static enum tsim_status read_named(struct reading *g, const struct tsim_setting *file, const char *module,
                                   const char *config) {
    static const char *const FOLDERS[] = {"models", "experiments"};
    struct tsim_recipe *r = g->r;
    const char *path = file ? tsim_setting_text(file) : NULL, *text = NULL;
    size_t size = 0;
    if (path)
        text = file_in_tree(g, path, &size);
    for (size_t i = 0; !path && module && !text && i < 2; i++)
        text = file_in_tree(g, tsim_arena_printf(r->arena, "torchtitan/%s/%s/config_registry.py", FOLDERS[i], module),
                            &size);
    path = path ? path : tsim_arena_printf(r->arena, "%s/config_registry.py", module);
    if (!text) {
        tsim_diag_hint(tsim_recipe_error(r, file, "'%.120s' is not beside the script, and says most settings", path),
                       "put it there, or import it and say with --set what the command changes");
        return TSIM_ERR_INFEASIBLE;
    }
    const struct tsim_document *script = r->document;
    struct tsim_document *named = TSIM_NEW(r->arena, struct tsim_document);
    *named = (struct tsim_document){.arena = r->arena, .file = path, .text = text, .size = size};
    r->document = named;
    const enum tsim_status status = config && !file ? read_python(g, config) : tsim_toml_read(r);
    if (status == TSIM_OK)
        find_preset(g);
    r->document = script;
    return status;
}

/* Reads CONFIG_FILE=FILE ./run_train.sh --training.steps 100, and torchrun ... -m torchtitan.train with the same. */
static enum tsim_status read_script(struct reading *g) {
    static const char *const ARGUMENTS[] = {"job.config_file",
                                            "module",
                                            "config",
                                            "training.steps",
                                            "training.local_batch_size",
                                            "training.batch_size",
                                            "training.seq_len",
                                            "parallelism.tensor_parallel_degree",
                                            "parallelism.data_parallel_shard_degree",
                                            "parallelism.expert_parallel_degree",
                                            "parallelism.pipeline_parallel_degree",
                                            "model.flavor",
                                            "model.name",
                                            "activation_checkpoint.mode",
                                            NULL},
                             *const VARIABLES[][2] = {{"CONFIG_FILE", "job.config_file"},
                                                      {"MODULE", "module"},
                                                      {"CONFIG", "config"},
                                                      {"NGPU", "nproc_per_node"},
                                                      {NULL, NULL}},
                             *const OWN[] = {"job.config_file", "module", "config", "program"};
    static const struct tsim_command_kind COMMAND = {
        .telling = ARGUMENTS,
        .of = "torchtitan",
        .line = "CONFIG_FILE=llama3_8b.toml ./run_train.sh --parallelism.tensor_parallel_degree 2",
        .script = "run_train.sh",
        .variables = VARIABLES};
    struct tsim_recipe *r = g->r;
    TSIM_TRY(tsim_command_read(r, &COMMAND));
    const struct tsim_setting *file = tsim_recipe_find(r, "job.config_file"), *module = tsim_recipe_find(r, "module"),
                              *config = tsim_recipe_find(r, "config");
    const struct tsim_setting named = file ? *file : (struct tsim_setting){.name = ""};
    if (!file && !(module && config)) {
        tsim_diag_hint(tsim_recipe_error(r, NULL, "the command names no configuration"),
                       "CONFIG_FILE or --job.config_file does, or MODULE and CONFIG");
        return TSIM_ERR_INFEASIBLE;
    }
    if ((file && tsim_setting_is_lost(r, file)) || (!file && config && tsim_setting_is_lost(r, config)))
        return TSIM_ERR_INFEASIBLE;
    const size_t n = r->n_settings;
    struct tsim_setting *arguments = TSIM_NEW_ARRAY(r->arena, n + 1, struct tsim_setting);
    memcpy(arguments, r->settings, n * sizeof *arguments);
    r->n_settings = 0;
    g->is_script = true;
    TSIM_TRY(read_named(g, file ? &named : NULL, module ? tsim_setting_text(module) : NULL,
                        config ? tsim_setting_text(config) : NULL));
    for (size_t i = 0; i < n; i++) {
        const struct tsim_setting *s = &arguments[i];
        const size_t before = r->n_settings;
        if (TSIM_IS_AMONG(s->key, OWN) || strncmp(s->key, "launcher.", 9) == 0)
            continue;
        tsim_recipe_add(r, s->name, s->key, s->value);
        if (r->n_settings > before)
            r->settings[before].lost = s->lost;
    }
    return TSIM_OK;
}

/* ---- what it printed ---- */

/* Finds "CUDA capacity: NVIDIA H100 (0) with 95.04GiB memory". */
static void find_capacity(struct reading *g) {
    const struct tsim_document *d = g->r->document;
    int line = 1;
    for (const char *c = d->text, *end = d->text + d->size; c && c < end; line++) {
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        const size_t length = (size_t)((stop ? stop : end) - c);
        const char *name = behind(c, length, " capacity: ");
        if (name && behind(name, length - (size_t)(name - c), "GiB memory")) {
            tsim_recipe_add(g->r, "capacity", "preset.machine",
                            tsim_recipe_scalar(g->r, line, (int)(name - c) + 1,
                                               tsim_arena_strndup(g->r->arena, name, length - (size_t)(name - c))));
            return;
        }
        c = stop ? stop + 1 : NULL;
    }
}

/* Reads a log with the configuration (job.print_args) and the mesh of its ranks, or the TOML. */
static enum tsim_status read_file(struct reading *g) {
    struct tsim_recipe *r = g->r;
    const struct tsim_value *root = tsim_log_json(r, "Running with args: ");
    double ranks = tsim_log_mesh(r->document->text, r->document->size);
    if (r->diags->n_errors > r->n_errors_before)
        return TSIM_ERR_SYNTAX;
    if (!root) {
        TSIM_TRY(tsim_recipe_check_size(r));
        if (is_python(r->document))
            return read_python(g, NULL);
        if (is_shell(r->document))
            return read_script(g);
        TSIM_TRY(tsim_toml_read(r));
        find_preset(g);
        return TSIM_OK;
    }
    r->lists_all = true;
    tsim_recipe_each(r, root, tsim_recipe_add_leaf, r);
    find_capacity(g);
    if (ranks > 0)
        tsim_recipe_add(r, "device mesh", "preset.gpus",
                        tsim_value_new_scalar(r->arena, &r->at_top, tsim_arena_printf(r->arena, "%.0f", ranks)));
    return TSIM_OK;
}

static void put_measured(struct reading *g) {
    struct tsim_log_series series;
    const char *text = g->r->document->text;
    const size_t size = g->r->document->size;
    for (int i = 0; i < 2; i++)
        if (tsim_log_series(text, size, TSIM_LOG_TORCHTITAN[i].label, NULL, &series)) {
            tsim_log_put_measured(g->r, &TSIM_LOG_TORCHTITAN[i], &series);
            return;
        }
}

static enum tsim_status job(struct reading *g, struct tsim_import_result *result) {
    struct tsim_recipe *r = g->r;
    if (!tsim_recipe_accepts(r))
        return TSIM_ERR_INFEASIBLE;
    const struct tsim_setting *profiles = tsim_recipe_find(r, "profiling.enable_profiling");
    if (profiles && tsim_value_is_off(profiles->value))
        pass_over(g, "profiling.");
    else if (profiles)
        tsim_recipe_not_modelled(r, profiles, "the program profiles itself, which costs time that tsim does not count");
    g->tensor = degree(g, "tensor_parallel_degree", 1, 1);
    g->pipeline = degree(g, "pipeline_parallel_degree", 1, 1);
    g->context = degree(g, "context_parallel_degree", 1, 1);
    g->expert = degree(g, "expert_parallel_degree", 1, 1);
    g->replicate = degree(g, "data_parallel_replicate_degree", 1, 1);
    g->shard = degree(g, "data_parallel_shard_degree", -1, degree(g, "data_parallel_degree", -1, -1));
    tsim_recipe_put(r, "schema", NULL, NULL, "tsim/v1");
    tsim_recipe_put(r, "name", NULL, NULL, "%s",
                    tsim_recipe_name(r->arena, g->configuration ? g->configuration : r->document->file, "imported"));
    put_model(g);
    put_cluster(g);
    put_training(g);
    put_software(g);
    put_parallelism(g);
    put_recompute(g); /* which depends on the layers of a stage */
    if (r->lists_all)
        put_measured(g);
    return tsim_recipe_finish(r, result);
}

enum tsim_status tsim_titan_job(struct tsim_recipe *r, struct tsim_import_result *result) {
    struct reading g = {.r = r};
    return job(&g, result);
}

enum tsim_status tsim_import_torchtitan(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r};
    tsim_recipe_init(&r, arena, input, "torchtitan", "torchtitan", diags);
    enum tsim_status status = read_file(&g);
    if (status == TSIM_OK)
        status = job(&g, result);
    tsim_recipe_release(&r);
    return status;
}
