/* YAML of mosaicml/llm-foundry (scripts/train/yamls; llmfoundry/models/mpt/configuration_mpt.py and
 * utils/config_utils.py have the defaults): MPT by its sizes, or a model of Hugging Face's hub, under PyTorch's
 * FSDP. */
#include "config/text/document.h"
#include "import/launches/gpt.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/hub_names.h"
#include "import/launches/omegaconf.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* NeMo's, which gpt.c reads too, has other words. */
#define PRECISION "composer.precision"

struct reading {
    struct tsim_recipe *r;
    struct tsim_omegaconf tree;
};

/* ---- what both kinds of model share ---- */

/* Adds compute: {gpus: 8, gpu_type: a100_80gb} of Mosaic's platform, which once was gpu_num and gpu_type. */
static void add_world(struct tsim_recipe *r) {
    static const char *const COUNTS[] = {"compute.gpus", "gpu_num", NULL}, *const TYPES[] = {"compute.gpu_type",
                                                                                             "gpu_type", NULL};
    const struct tsim_setting *gpus = tsim_recipe_find_any(r, COUNTS), *type = tsim_recipe_find_any(r, TYPES);
    const int64_t n = gpus ? tsim_setting_int(r, gpus, 0, 1000000) : 0, each = n < 8 ? n : 8;
    if (type && !tsim_setting_is(type, "none"))
        add_as(r, type, "machine");
    if (n > 0 && n % each == 0) {
        add(r, gpus, "nnodes", tsim_arena_printf(r->arena, "%lld", (long long)(n / each)));
        add(r, gpus, "nproc_per_node", tsim_arena_printf(r->arena, "%lld", (long long)each));
    }
}

/* Adds the precision: amp_bf16 and the like. */
static void add_precision(struct tsim_recipe *r) {
    static const char *const WORDS[][2] = {{"amp_bf16", "bf16"}, {"bf16", "bf16"},     {"amp_fp16", "fp16"},
                                           {"fp16", "fp16"},     {"amp_fp8", "fp8"},   {"fp8", "fp8"},
                                           {"fp32", "fp32"},     {"amp_tf32", "fp32"}, {"amp", "fp16"}};
    const struct tsim_setting *s = find(r, PRECISION);
    const char *word = NULL;
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (tsim_setting_is(s, WORDS[i][0]))
            word = WORDS[i][1];
    if (s && !word)
        tsim_recipe_refuse(r, s, "'%.40s' is not modelled: amp_bf16, amp_fp16, amp_fp8 and fp32 are",
                           tsim_setting_text(s));
    word = word ? word : "fp16";
    if (strcmp(word, "fp8") == 0)
        add(r, s, "fp8_format", "hybrid");
    if (strcmp(word, "fp32") != 0)
        add(r, s, strcmp(word, "fp16") == 0 ? "fp16" : "bf16", "true");
}

/* Puts the precision of gradients. PURE, the default of the recipes, reduces in the precision of the products; DEFAULT
 * and FULL reduce in fp32. */
static void put_gradients(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "fsdp_config.mixed_precision"), *s2 = find(r, "fsdp_config.mp_policy"),
                              *precision = find(r, PRECISION);
    const bool is_fp16 = has_text(precision, "fp16"), is_fp32 = has_text(precision, "32");
    const struct tsim_setting *from = s ? s : s2;
    if (from)
        tsim_recipe_put(r, "training.gradient_precision", from, NULL,
                        tsim_setting_is(from, "PURE") && !is_fp32 ? (is_fp16 ? "fp16" : "bf16") : "fp32");
}

static void add_recompute(struct tsim_recipe *r, const char *key, const char *value) {
    if (is_on(r, "fsdp_config.activation_checkpointing"))
        add(r, find(r, "fsdp_config.activation_checkpointing"), key, value);
}

/* Puts the stage of sharding, which is 0 without fsdp_config. */
static void put_sharding(struct tsim_recipe *r, bool has_fsdp) {
    const struct tsim_setting *s = find(r, "fsdp_config.sharding_strategy"),
                              *keeps = find(r, "fsdp_config.reshard_after_forward");
    const bool is_second = has_text(s, "GRAD_OP") || has_text(s, "ZERO2") || (keeps && !tsim_setting_flag(r, keeps));
    tsim_recipe_put(r, "parallelism.zero", s,
                    s          ? NULL
                    : has_fsdp ? "FULL_SHARD, the default"
                               : "no fsdp_config",
                    "%d",
                    !has_fsdp || has_text(s, "NO_SHARD") ? 0
                    : is_second                          ? 2
                                                         : 3);
    if (has_text(s, "HYBRID"))
        tsim_recipe_put(r, "parallelism.zero_group", s, NULL, "node");
}

/* Returns Adam, or Lion, which has one state. */
static const char *optimizer_of(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "optimizer.name");
    const char *text = s ? tsim_setting_text(s) : "decoupled_adamw";
    if (strstr(text, "lion") && strstr(text, "8b")) {
        tsim_recipe_not_modelled(r, s, "the optimizer's state has 8 bits; in tsim it has 32");
        return "momentum";
    }
    if (strstr(text, "lion") || strcmp(text, "sgd") == 0 || strcmp(text, "decoupled_sgdw") == 0)
        return "momentum";
    if (!strstr(text, "adam"))
        tsim_recipe_refuse(r, s, "the optimizer '%.40s' is not modelled: its states and its step", text);
    return "adamw";
}

/* Puts the length: 63900ba are batches, 300_000tok tokens, sp samples; epochs (ep) and shares of the run do not tell
 * it. */
static void put_length(struct tsim_recipe *r) {
    static const char *const UNITS[][2] = {
        {"ba", "training.steps"}, {"tok", "training.tokens"}, {"sp", "training.samples"}};
    const struct tsim_setting *s = find(r, "max_duration");
    const char *text = s ? tsim_setting_text(s) : "", *unit = text + strspn(text, "0123456789_e+.");
    int64_t n;
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strcmp(unit, UNITS[i][0]) == 0 &&
            tsim_setting_parse_int(tsim_arena_strndup(r->arena, text, (size_t)(unit - text)), &n) && n > 0)
            tsim_recipe_put_int(r, UNITS[i][1], s, n);
}

/* A pass has device_train_microbatch_size samples, or all that a step has on a device if these are fewer. */
static const struct tsim_setting *micro_batch(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "device_train_microbatch_size"), *all = find(r, "global_train_batch_size"),
                              *nodes = find(r, "nnodes"), *each = find(r, "nproc_per_node");
    const int64_t gpus = r->input.gpus > 0 && !r->input.is_smallest ? r->input.gpus
                         : nodes && each ? tsim_setting_int(r, nodes, 1, 1000000) * tsim_setting_int(r, each, 1, 10000)
                                         : 0,
                  batch = all ? tsim_setting_int(r, all, 1, INT64_C(1000000000000)) : 0;
    if (s && !tsim_setting_is(s, "auto") && gpus > 0 && batch % gpus == 0 && batch >= gpus &&
        batch / gpus < tsim_setting_int(r, s, 1, 1000000)) {
        tsim_recipe_add(r, all->name, "samples_of_device",
                        tsim_value_new_scalar(r->arena, all->value,
                                              tsim_arena_printf(r->arena, "%lld", (long long)(batch / gpus))));
        return find(r, "samples_of_device");
    }
    if (tsim_setting_is(s, "auto")) {
        tsim_recipe_note(r, s->name, s->value, "auto: the largest that fits; 1 here");
        return NULL;
    }
    return s;
}

/* ---- MPT ---- */

static void add_experts(struct tsim_recipe *r) {
    static const char *const COUNTS[] = {"model.ffn_config.moe_num_experts", "model.ffn_config.num_experts", NULL};
    const struct tsim_setting *count = tsim_recipe_find_any(r, COUNTS), *active = find(r, "model.ffn_config.moe_top_k"),
                              *ranks = find(r, "model.ffn_config.moe_world_size");
    if (!count)
        return;
    add_as(r, count, "num_experts");
    add(r, active, "moe_router_topk", active ? tsim_setting_text(active) : "1");
    add(r, NULL, "moe_token_dispatcher_type", "alltoall");
    add(r, NULL, "moe_grouped_gemm", "true");
    if (ranks)
        add_as(r, ranks, "expert_model_parallel_size");
}

static void add_positions(struct tsim_recipe *r) {
    const struct tsim_setting *alibi = find(r, "model.attn_config.alibi"), *rope = find(r, "model.attn_config.rope"),
                              *old = find(r, "model.alibi"), *learned = find(r, "model.learned_pos_emb");
    const bool has_rope = rope && tsim_setting_flag(r, rope);
    const struct tsim_setting *slope = alibi ? alibi : old;
    if (slope && tsim_setting_flag(r, slope))
        add(r, slope, "position_embedding_type", "alibi");
    else if (has_rope)
        add(r, rope, "position_embedding_type", "rope");
    else
        add(r, learned, "position_embedding_type",
            learned && !tsim_setting_flag(r, learned) ? "none" : "learned_absolute");
    add_as(r, find(r, "model.max_seq_len") ? find(r, "model.max_seq_len") : find(r, "max_seq_len"),
           "max_position_embeddings");
}

/* Returns the setting that is there without a value (find() passes over it). */
static const struct tsim_setting *empty_setting(struct tsim_recipe *r, const char *key) {
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(r->settings[i].key, key) == 0 && tsim_value_is_null(r->settings[i].value) &&
            !tsim_import_override(&r->input, "model"))
            return &r->settings[i];
    return NULL;
}

static void add_mpt(struct tsim_recipe *r) {
    static const char *const SIZES[][3] = {{"model.d_model", "hidden_size", "2048"},
                                           {"model.n_layers", "num_layers", "24"},
                                           {"model.n_heads", "num_attention_heads", "16"},
                                           {"model.vocab_size", "padded_vocab_size", "50368"}};
    const struct tsim_setting *ratio = find(r, "model.expansion_ratio"),
                              *width = find(r, "model.ffn_config.ffn_hidden_size"),
                              *kind = find(r, "model.ffn_config.ffn_type"),
                              *groups = find(r, "model.attn_config.kv_n_heads"),
                              *attention = find(r, "model.attn_config.attn_type"), *norm = find(r, "model.norm_type"),
                              *tied = find(r, "model.tie_word_embeddings"),
                              *flash = find(r, "model.attn_config.attn_impl");
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        const struct tsim_setting *s = find(r, SIZES[i][0]), *empty = s ? NULL : empty_setting(r, SIZES[i][0]);
        if (empty)
            tsim_diag_hint(tsim_recipe_error(r, empty, "has no value: what starts the job fills it in"),
                           "give the file with its value, or the model with --model ID or --hf CONFIG");
        if (s)
            add_as(r, s, SIZES[i][1]);
        else
            add(r, NULL, SIZES[i][1], SIZES[i][2]);
    }
    const double times = ratio ? tsim_setting_number(r, ratio) : 4.0,
                 inner = times * (double)tsim_recipe_int(r, "hidden_size", 1, 10000000, 2048);
    if (width)
        add_as(r, width, "ffn_hidden_size");
    else if (inner >= 1 && inner < 1e8)
        add(r, ratio, "ffn_hidden_size", tsim_arena_printf(r->arena, "%.0f", inner));
    add(r, kind, "swiglu", has_text(kind, "glu") ? "true" : "false");
    if (groups || tsim_setting_is(attention, "multiquery_attention")) {
        add(r, groups ? groups : attention, "group_query_attention", "true");
        add(r, groups ? groups : attention, "num_query_groups", groups ? tsim_setting_text(groups) : "1");
    }
    if (is_on(r, "model.attn_config.qk_ln") || is_on(r, "model.attn_config.qk_gn") || is_on(r, "model.attn_qk_ln"))
        add(r, find(r, "model.attn_config.qk_ln"), "qk_layernorm", "true");
    add(r, norm, "normalization", has_text(norm, "rms") ? "RMSNorm" : "LayerNorm");
    if (is_on(r, "model.no_bias"))
        add(r, find(r, "model.no_bias"), "disable_bias_linear", "true");
    if (tied && !tsim_setting_flag(r, tied))
        add(r, tied, "untie_embeddings_and_output_weights", "true");
    for (int i = 0; i < 2; i++) {
        const struct tsim_setting *p = find(r, i == 0 ? "model.resid_pdrop" : "model.attn_config.attn_pdrop");
        add(r, p, i == 0 ? "hidden_dropout" : "attention_dropout", p ? tsim_setting_text(p) : "0");
    }
    add_positions(r);
    add_experts(r);
    if (tsim_setting_is(flash, "torch"))
        tsim_recipe_put(r, "software.attention_kernel", flash, NULL, "unfused");
    else if (tsim_setting_is(flash, "flash") || !flash) /* the default since 2023 */
        tsim_recipe_put(r, "software.attention_kernel", flash, flash ? NULL : "llm-foundry's default", "flash2");
}

static void build_mpt(struct tsim_recipe *r, bool has_fsdp) {
    struct tsim_gpt gpt = {.r = r, .program = TSIM_GPT_MEGATRON, .software = "llm-foundry-2023"};
    const struct tsim_setting *micro = micro_batch(r), *length = find(r, "max_seq_len"),
                              *own = find(r, "model.max_seq_len");
    add_mpt(r);
    add_as(r, length ? length : own, "seq_length");
    add(r, micro, "micro_batch_size", micro ? tsim_setting_text(micro) : "1");
    add_as(r, find(r, "global_train_batch_size"), "global_batch_size");
    add_recompute(r, "recompute_granularity", "full");
    tsim_gpt_build(&gpt);
    tsim_recipe_put(r, "training.optimizer", find(r, "optimizer.name"),
                    find(r, "optimizer.name") ? NULL : "llm-foundry's default", "%s", optimizer_of(r));
    put_sharding(r, has_fsdp);
}

/* ---- models of the hub ---- */

static void build_hub(struct tsim_recipe *r, bool has_fsdp) {
    static const char *const RANKS[] = {"model.peft_config.r", "model.peft_config.lora_r", NULL};
    static const struct tsim_hf_trainer DEFAULTS = {
        .why = "llm-foundry's default", .micro_batch = 1, .optimizer = "adamw_torch", .software = "llm-foundry-2023"};
    const struct tsim_setting *rank = tsim_recipe_find_any(r, RANKS),
                              *targets = find(r, "model.peft_config.target_modules"),
                              *packing = find(r, "train_loader.dataset.packing_ratio");
    const struct tsim_setting *micro = micro_batch(r);
    add_as(r, find(r, "model.pretrained_model_name_or_path"), "model_name_or_path");
    add_as(r, micro, "per_device_train_batch_size");
    add_as(r, find(r, "global_train_batch_size"), "train_batch_size");
    add_as(r, find(r, "max_seq_len"), "max_seq_length");
    add_recompute(r, "gradient_checkpointing", "true");
    if (has_text(find(r, PRECISION), "fp8"))
        add(r, find(r, PRECISION), "fp8", "true");
    if (rank) {
        add_as(r, rank, "lora_r");
        if (targets)
            add_as(r, targets, "lora_targets");
        else
            add(r, rank, "lora_targets", "q_proj,v_proj");
        add_as(r, find(r, "model.peft_config.lora_dropout"), "lora_dropout");
    }
    if (tsim_setting_is(find(r, "train_loader.name"), "finetuning") && !packing)
        add(r, find(r, "train_loader.name"), "unpacked", "true");
    tsim_hf_trainer_build(r, &DEFAULTS);
    tsim_put_changed_sizes(r, find(r, "model.pretrained_model_name_or_path"), "model.config_overrides");
    tsim_recipe_put(r, "training.optimizer", find(r, "optimizer.name"),
                    find(r, "optimizer.name") ? NULL : "llm-foundry's default", "%s", optimizer_of(r));
    put_sharding(r, has_fsdp);
    tsim_recipe_put(r, "software.attention_kernel", find(r, "model.use_flash_attention_2"),
                    find(r, "model.use_flash_attention_2") ? NULL : "PyTorch's", "flash2");
}

static void add_setting(void *context, const char *name, const struct tsim_value *value) {
    struct reading *g = context;
    const char *key = strncmp(name, "parameters.", 11) == 0 ? name + 11 : name;
    key = strncmp(key, "variables.max_seq_len", 21) == 0 ? key + 10 : strcmp(key, "precision") == 0 ? PRECISION : key;
    tsim_recipe_add(g->r, name, key, tsim_omegaconf_value(&g->tree, name, value));
}

enum tsim_status tsim_import_llm_foundry(struct tsim_arena *arena, const struct tsim_import_input *input,
                                         struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root, *job, *model;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    job = tsim_value_find(root, "parameters");
    struct reading g = {
        .r = &r, .tree = {.arena = arena, .input = input, .root = job && job->kind == TSIM_VALUE_MAPPING ? job : root}};
    tsim_recipe_init(&r, arena, input, "llm-foundry", "llm-foundry", diags);
    tsim_recipe_each(&r, root, add_setting, &g);
    model = tsim_value_find(g.tree.root, "model");
    const struct tsim_setting *name = find(&r, "model.name");
    const bool has_fsdp = tsim_value_find(g.tree.root, "fsdp_config") != NULL;
    if (!model || !name)
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "model.name is missing"),
                       "the YAML that train.py of llm-foundry takes");
    else if (tsim_recipe_accepts(&r)) {
        add_world(&r);
        add_precision(&r);
        if (has_text(name, "mpt") || has_text(name, "mosaic_gpt"))
            build_mpt(&r, has_fsdp);
        else if (has_text(name, "hf_causal_lm"))
            build_hub(&r, has_fsdp);
        else
            tsim_recipe_refuse(&r, name, "'%.40s' is not known: mpt_causal_lm and hf_causal_lm are",
                               tsim_setting_text(name));
        if (diags->n_errors == r.n_errors_before) {
            put_gradients(&r);
            put_length(&r);
        }
    }
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
