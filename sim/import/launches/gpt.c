#include "import/launches/gpt.h"

#include "base/among.h"
#include "base/lower.h"
#include "config/catalogue_load.h"
#include "import/launches/deepspeed.h"
#include "import/launches/launch_adapter.h"
#include "import/launches/launch_words.h"
#include "import/launches/recipe_short.h"
#include "import/overrides.h"

#include <stdlib.h>
#include <string.h>

/* ---- the cluster ---- */

/* Treats a number of machines that only a command or the environment knows ($SLURM_NNODES, nvidia-smi) like one that
 * the file does not give. */
static const struct tsim_setting *said(struct tsim_gpt *g, const char *key) {
    const struct tsim_setting *s = find(g->r, key);
    if (!s || !s->lost)
        return s;
    tsim_recipe_note(g->r, s->name, s->value,
                     tsim_arena_printf(g->r->arena,
                                       "the value of %.40s is unknown: give the number with --nodes or --gpus",
                                       s->lost));
    return NULL;
}

static int64_t put_cluster(struct tsim_gpt *g) {
    int64_t ranks = g->tensor * g->context, experts = g->expert * g->expert_tensor;
    int64_t least = g->pipeline * (experts > ranks ? experts : ranks);
    least = least > g->least_world ? least : g->least_world;
    /* Each may write a note. As arguments of one call they would be written in an order that the compiler chooses. */
    const struct tsim_setting *ranks_per_node = said(g, "nproc_per_node");
    const struct tsim_setting *nodes = said(g, "nnodes");
    return tsim_recipe_put_cluster(g->r, nodes, ranks_per_node, find(g->r, "machine"), least);
}

/* ---- training ---- */

/* Returns whether Megatron-DeepSpeed runs it. */
static bool is_deepspeed(struct tsim_gpt *g) {
    return is_on(g->r, "deepspeed");
}

static bool says_none(const struct tsim_setting *s) {
    return TSIM_IS_ONE_OF(tsim_setting_text(s), "false", "False", "null", "None");
}

/* fp8 and fp4 are a flag (NeMo) or a format. fp8_hybrid and fp8_e4m3 are flags of Megatron-LM before 2024; in NeMo they
 * choose the format where fp8 is true, and say nothing without it (nemo/collections/nlp/modules/common/megatron). */
static const struct tsim_setting *quantized(struct tsim_gpt *g) {
    static const char *const KEYS[] = {"fp4_format", "fp4", "fp8_format", "fp8", "fp8_hybrid", "fp8_e4m3"};
    const struct tsim_setting *found = NULL;
    size_t n = sizeof KEYS / sizeof KEYS[0], n_switches = g->program == TSIM_GPT_NEMO ? n - 2 : n;
    for (size_t i = 0; i < n; i++) { /* all of them are used */
        const struct tsim_setting *s = find(g->r, KEYS[i]);
        if (s && i < n_switches && !found && !says_none(s))
            found = s;
    }
    return found;
}

/* Writes where the scales of fp8 come from (Megatron-Core, --fp8-recipe). */
static void put_scaling(struct tsim_gpt *g, const struct tsim_setting *recipe) {
    const char *scaling = tsim_launch_ours(tsim_fp8_recipes, tsim_setting_text(recipe));
    if (scaling)
        tsim_recipe_put(g->r, "software.fp8_scaling", recipe, NULL, "%s", scaling);
    else
        tsim_recipe_error(g->r, recipe, "'%.40s' is no recipe that is known: delayed, tensorwise, blockwise, mxfp8",
                          tsim_setting_text(recipe));
}

/* Returns NeMo's trainer.precision: bf16, bf16-mixed, 16, 16-mixed, 32. */
static const struct tsim_setting *named_precision(struct tsim_gpt *g, const char **word) {
    const struct tsim_setting *s = find(g->r, "precision");
    const char *text = s ? tsim_setting_text(s) : "";
    if (strncmp(text, "bf16", 4) == 0)
        *word = "bf16";
    else if (strncmp(text, "16", 2) == 0 || strncmp(text, "fp16", 4) == 0)
        *word = "fp16";
    else if (s && strncmp(text, "32", 2) != 0)
        tsim_recipe_error(g->r, s, "'%.40s' is no precision that is known: bf16, bf16-mixed, 16, 16-mixed, 32", text);
    return s;
}

static void put_gradient_precision(struct tsim_gpt *g, const char *word) {
    static const char *const KEYS[] = {"grad_reduce_in_bf16", "grad_reduce_in_fp32", "optim.grad_sync_dtype",
                                       "accumulate_allreduce_grads_in_fp32"};
    const struct tsim_setting *in_bf16 = find(g->r, KEYS[0]), *in_fp32 = find(g->r, KEYS[1]),
                              *named = find(g->r, KEYS[2]), *kept = find(g->r, KEYS[3]);
    bool is_megatron = g->program == TSIM_GPT_MEGATRON;
    const struct tsim_setting *main = find(g->r, "main_grads_dtype");
    if (main && strstr(tsim_setting_text(main), "bf16")) { /* beside an optimizer that is aware of precisions */
        tsim_recipe_put(g->r, "training.gradient_precision", main, NULL, "bf16");
        return;
    }
    if (in_bf16 && tsim_setting_flag(g->r, in_bf16))
        tsim_recipe_put(g->r, "training.gradient_precision", in_bf16, NULL, "bf16");
    else if (in_fp32)
        tsim_recipe_put(g->r, "training.gradient_precision", in_fp32, NULL,
                        tsim_setting_flag(g->r, in_fp32) ? "fp32" : "bf16");
    else if (named && strncmp(tsim_setting_text(named), "bf16", 4) == 0)
        tsim_recipe_put(g->r, "training.gradient_precision", named, NULL, "bf16");
    else if (is_megatron && strcmp(word, "fp16") == 0 && !(kept && tsim_setting_flag(g->r, kept)))
        tsim_recipe_put(g->r, "training.gradient_precision", NULL, "fp16 without --accumulate-allreduce-grads-in-fp32",
                        "fp16");
    else
        tsim_recipe_put(g->r, "training.gradient_precision", kept, kept ? NULL : "the program's default", "fp32");
}

static void put_quantized(struct tsim_gpt *g, const struct tsim_setting *low) {
    static const char *const GATHERS[] = {"fp8_param_gather", "fp8_params", NULL};
    const struct tsim_setting *gathers = tsim_recipe_find_any(g->r, GATHERS), *recipe = find(g->r, "fp8_recipe");
    const struct tsim_setting *four_bits = find(g->r, "fp4_recipe");
    bool is_fp4 = strncmp(low->key, "fp4", 3) == 0, is_mxfp8 = !is_fp4 && tsim_recipe_is(g->r, "fp8_recipe", "mxfp8");
    if (is_fp4 && four_bits && strcmp(tsim_setting_text(four_bits), "nvfp4") != 0)
        tsim_recipe_refuse(g->r, four_bits, "'%.40s' is not modelled: nvfp4 is, of the types of four bits",
                           tsim_setting_text(four_bits));
    tsim_recipe_put(g->r, "training.precision", low, NULL, is_fp4 ? "nvfp4" : is_mxfp8 ? "mxfp8" : "fp8");
    if (is_fp4 || is_mxfp8)
        return;
    if (recipe)
        put_scaling(g, recipe);
    if (!gathers || !tsim_setting_flag(g->r, gathers))
        tsim_recipe_not_modelled(g->r, low, "the program gathers weights in 16 bits, tsim in fp8");
}

static void put_precision(struct tsim_gpt *g) {
    const char *word = "fp32";
    const struct tsim_setting *from = named_precision(g, &word), *bf16 = find(g->r, "bf16"), *fp16 = find(g->r, "fp16"),
                              *low = quantized(g);
    bool has_bf16 = bf16 && tsim_setting_flag(g->r, bf16), has_fp16 = fp16 && tsim_setting_flag(g->r, fp16);
    if (has_bf16 && has_fp16)
        tsim_recipe_error(g->r, fp16, "cannot be together with %.60s", bf16->name);
    if (has_bf16)
        from = bf16, word = "bf16";
    if (has_fp16)
        from = fp16, word = "fp16";
    if (low && strcmp(word, "fp32") == 0)
        tsim_recipe_error(g->r, low, "needs bf16 or fp16 beside it");
    put_gradient_precision(g, word);
    if (strcmp(word, "fp16") == 0 && g->program == TSIM_GPT_MEGATRON)
        tsim_recipe_put_loss_scaling(g->r, find(g->r, "loss_scale"), find(g->r, "loss_scale_window"),
                                     find(g->r, "hysteresis"));
    if (low)
        put_quantized(g, low);
    else
        tsim_recipe_put(g->r, "training.precision", from, from ? NULL : "the program's default", "%s", word);
}

/* Puts all of the optimizer on the host; a share of it is an argument of its own, which is refused. */
static void put_offload(struct tsim_gpt *g) {
    static const char *const KEYS[] = {"optimizer_cpu_offload", "cpu_optimizer", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, KEYS), *share = find(g->r, "optimizer_offload_fraction");
    if (!s || !tsim_setting_flag(g->r, s))
        return;
    tsim_recipe_put(g->r, "training.offload.optimizer", s, NULL, "true");
    if (share && tsim_setting_number(g->r, share) < 1.0)
        tsim_recipe_refuse(g->r, share,
                           "only part of the optimizer is on the host; tsim can put all of it there or none");
}

static void put_optimizer(struct tsim_gpt *g) {
    static const char *const KEYS[] = {"optimizer", "optim.name", "optim.optimizer", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, KEYS);
    const char *text = s ? tsim_setting_text(s) : "adam";
    char lower[64];
    tsim_lower(text, lower, sizeof lower);
    const bool is_on_host = TSIM_IS_ONE_OF(lower, "cpu-adam", "cpu_adam", "cpu_torch_adam");
    if (strcmp(text, "sgd") == 0)
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "momentum");
    else if (is_on_host || TSIM_IS_ONE_OF(lower, "adam", "adamw", "fused_adam", "fusedadam", "distributed_fused_adam",
                                          "megatron_fused_adam", "mcore_distributed_optim"))
        tsim_recipe_put(g->r, "training.optimizer", s, s ? NULL : "the program's default", "adamw");
    else if (strstr(text, "muon"))
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "muon");
    else
        tsim_recipe_refuse(g->r, s, "the optimizer '%.40s' is not modelled: its states and its step", text);
    if (is_on_host)
        tsim_recipe_put(g->r, "training.offload.optimizer", s, NULL, "true");
    else
        put_offload(g);
}

static void put_length(struct tsim_gpt *g) {
    static const struct {
        const char *key, *path;
    } LENGTHS[] = {{"train_iters", "training.steps"},
                   {"max_steps", "training.steps"},
                   {"train_samples", "training.samples"},
                   {"train_tokens", "training.tokens"}};
    const struct tsim_setting *first = NULL;
    for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
        const struct tsim_setting *s = find(g->r, LENGTHS[i].key);
        if (s && first && g->program == TSIM_GPT_MEGATRON && i == 2)
            tsim_recipe_error(g->r, s, "cannot be together with %.60s", first->name);
        else if (s && s->lost)
            tsim_recipe_note(
                g->r, s->name, s->value,
                tsim_arena_printf(g->r->arena, "the length of the run is unknown, because %.40s is empty", s->lost));
        else if (s && !first && tsim_setting_int(g->r, s, -1, INT64_C(1000000000000000)) > 0)
            tsim_recipe_put_int(g->r, LENGTHS[i].path, s, tsim_setting_int(g->r, s, 1, INT64_C(1000000000000000)));
        first = first ? first : s;
    }
}

/* ---- recomputation ---- */

/* Puts the modules of --recompute-modules as parts of a layer, in the order of the scenario's own. */
static void put_modules(struct tsim_gpt *g, const struct tsim_setting *modules) {
    const char *parts[TSIM_N_RECOMPUTE_PARTS];
    size_t n = 0, n_items = modules->value->kind == TSIM_VALUE_SEQUENCE ? modules->value->n_items : 1;
    for (size_t i = 0; i < n_items; i++) {
        const struct tsim_value *item =
            modules->value->kind == TSIM_VALUE_SEQUENCE ? modules->value->items[i] : modules->value;
        size_t before = 0;
        const char *part =
            item->kind == TSIM_VALUE_SCALAR ? tsim_launch_ours(tsim_recompute_modules, item->text) : NULL;
        if (!part) {
            tsim_recipe_error(
                g->r, modules,
                "'%.40s' is no module: core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts",
                item->kind == TSIM_VALUE_SCALAR ? item->text : "a list");
            return;
        }
        while (before < n && strcmp(parts[before], part) != 0)
            before++;
        if (before == n && n < TSIM_N_RECOMPUTE_PARTS)
            parts[n++] = part;
    }
    tsim_recipe_put_list(g->r, "training.recompute", modules, parts, n);
}

static void put_full(struct tsim_gpt *g, const struct tsim_setting *from) {
    static const char *const METHODS[] = {"recompute_method", "activations_checkpoint_method", NULL},
                             *const COUNTS[] = {"recompute_num_layers", "activations_checkpoint_num_layers",
                                                "checkpoint_num_layers", NULL};
    const struct tsim_setting *method = tsim_recipe_find_any(g->r, METHODS),
                              *count = tsim_recipe_find_any(g->r, COUNTS);
    int64_t n = count ? tsim_setting_int(g->r, count, 0, 100000) : 1;
    int64_t per_chunk = g->layers / (g->pipeline * g->virtual_pipeline);
    const char *text = method ? tsim_setting_text(method) : "uniform";
    if (strcmp(text, "uniform") != 0 && strcmp(text, "block") != 0)
        tsim_recipe_error(g->r, method, "'%.40s' is neither uniform nor block", text);
    else if (n == 0)
        tsim_recipe_put(g->r, "training.recompute", count, "of no layer", "none");
    else if (strcmp(text, "uniform") == 0 && n > 1)
        tsim_recipe_put_int(g->r, "training.recompute.every", count, n);
    else if (strcmp(text, "block") == 0 && n < per_chunk)
        tsim_recipe_put_int(g->r, "training.recompute.layers", count ? count : method, n);
    else
        tsim_recipe_put(g->r, "training.recompute", from, NULL, "full");
}

static void put_recompute(struct tsim_gpt *g) {
    static const char *const GRANULARITIES[] = {"recompute_granularity", "activations_checkpoint_granularity", NULL};
    const struct tsim_setting *how = tsim_recipe_find_any(g->r, GRANULARITIES),
                              *modules = find(g->r, "recompute_modules"), *all = find(g->r, "checkpoint_activations"),
                              *method = find(g->r, "activations_checkpoint_method"),
                              *some = find(g->r, "recompute_activations");
    /* Megatron-LM sets the granularity to selective with --recompute-activations, whatever else was said. */
    const bool is_forced = some && tsim_setting_flag(g->r, some),
               is_selective = is_forced || tsim_setting_is(how, "selective");
    if (is_selective && modules)
        put_modules(g, modules);
    else if (is_selective)
        tsim_recipe_put(g->r, "training.recompute", is_forced ? some : how, NULL, "selective");
    else if (tsim_setting_is(how, "full"))
        put_full(g, how);
    else if (how)
        tsim_recipe_error(g->r, how, "'%.40s' is neither full nor selective", tsim_setting_text(how));
    else if (all && tsim_setting_flag(g->r, all))
        put_full(g, all);
    else if (method && g->program == TSIM_GPT_MEGATRON) /* that of 2021 had no granularity */
        put_full(g, method);
}

static void put_training(struct tsim_gpt *g, int64_t world) {
    static const char *const LENGTHS[] = {"encoder_seq_length", "data.seq_length", "seq_length",
                                          "data.train_ds.max_seq_length", NULL};
    const struct tsim_setting *length = tsim_recipe_find_any(g->r, LENGTHS);
    int64_t tokens = length ? tsim_setting_int(g->r, length, 1, 1000000000) : 0;
    if (length)
        tsim_recipe_put_int(g->r, "training.sequence_length", length, tokens);
    else
        tsim_recipe_error(g->r, NULL, "seq_length is missing");
    tsim_gpt_put_batch(g, world, tokens);
    put_precision(g);
    put_optimizer(g);
    put_recompute(g);
    put_length(g);
}

/* ---- software ---- */

static void put_attention(struct tsim_gpt *g) {
    static const char *const FLASH[] = {"use_flash_attn", "use_flash_attention", "use_flash_attn_v2", NULL};
    const struct tsim_setting *backend = find(g->r, "attention_backend"), *flash = tsim_recipe_find_any(g->r, FLASH);
    const char *kernel = backend ? tsim_launch_ours(tsim_attention_backends, tsim_setting_text(backend)) : NULL;
    if (kernel)
        tsim_recipe_put(g->r, "software.attention_kernel", backend, NULL, "%s", kernel);
    bool is_local =
        tsim_recipe_is(g->r, "transformer_impl", "local") || is_on(g->r, "use_legacy_models") || is_deepspeed(g);
    if (!backend && is_local && flash && tsim_setting_flag(g->r, flash))
        tsim_recipe_put(g->r, "software.attention_kernel", flash, NULL, "flash2");
}

static void put_dropout(struct tsim_gpt *g) {
    const struct tsim_setting *hidden = find(g->r, "hidden_dropout"), *attention = find(g->r, "attention_dropout");
    double otherwise = g->program == TSIM_GPT_NEMO ? 0.0 : 0.1;
    double a = hidden ? tsim_setting_number(g->r, hidden) : otherwise,
           b = attention ? tsim_setting_number(g->r, attention) : otherwise;
    const struct tsim_setting *from = a >= b ? hidden : attention;
    if ((a > 0.0) != (b > 0.0))
        tsim_recipe_not_modelled(g->r, hidden ? hidden : attention,
                                 "dropout of one of hidden states (%g) and attention (%g); of both here", a, b);
    tsim_recipe_put(g->r, "software.dropout", from, from ? NULL : "the program's default", "%g", a > b ? a : b);
}

/* Megatron-LM's own default gathers the tokens of all expert ranks on each of them, which is not modelled. */
static void check_dispatcher(struct tsim_gpt *g) {
    const struct tsim_setting *type = find(g->r, "moe_token_dispatcher_type");
    if (g->expert == 1)
        return;
    if (type && strcmp(tsim_setting_text(type), "allgather") == 0)
        tsim_recipe_refuse(g->r, type,
                           "gathering the tokens of all expert ranks is not modelled: alltoall and flex are");
    else if (!type && g->program == TSIM_GPT_MEGATRON && !is_deepspeed(g))
        tsim_recipe_not_modelled(g->r, find(g->r, "expert_model_parallel_size"),
                                 "without --moe-token-dispatcher-type Megatron-LM gathers the tokens of all expert "
                                 "ranks, which is not modelled: they are exchanged all to all here");
}

/* The fused permutation (Megatron-Core since 0.11) is younger than the dispatcher by width (to 0.9). */
static void put_expert_software(struct tsim_gpt *g) {
    const struct tsim_setting *deepep = find(g->r, "moe_enable_deepep"),
                              *flex = find(g->r, "moe_flex_dispatcher_backend"),
                              *fused = find(g->r, "moe_permute_fusion"), *grouped = find(g->r, "moe_grouped_gemm");
    bool is_fused = fused && tsim_setting_flag(g->r, fused);
    check_dispatcher(g);
    if (deepep && tsim_setting_flag(g->r, deepep))
        tsim_recipe_put(g->r, "software.expert_dispatch", deepep, NULL, "per-node");
    else if (is_on(g->r, "use_turbo_deepep")) /* Primus' */
        tsim_recipe_put(g->r, "software.expert_dispatch", find(g->r, "use_turbo_deepep"), NULL, "per-node");
    else if (flex && strcmp(tsim_setting_text(flex), "deepep") == 0)
        tsim_recipe_put(g->r, "software.expert_dispatch", flex, NULL, "per-node");
    else if (is_fused)
        tsim_recipe_put(g->r, "software.expert_dispatch", fused, "of the versions that can", "all-to-all");
    if (is_fused)
        tsim_recipe_put(g->r, "software.expert_permutation", fused, NULL, "fused");
    if (!grouped || !tsim_setting_flag(g->r, grouped))
        tsim_recipe_put(g->r, "software.expert_products", grouped, grouped ? NULL : "without moe_grouped_gemm",
                        "sequential");
}

/* Graphs may cover whole layers, captured by Megatron-Core or Transformer Engine, or the parts of a layer that a scope
 * names (attn, ...). In a layer with experts a graph can hold only attention and the router. */
static void put_graphs(struct tsim_gpt *g) {
    const struct tsim_setting *impl = find(g->r, "cuda_graph_impl"), *scope = find(g->r, "cuda_graph_scope");
    const struct tsim_setting *from = NULL;
    if (impl && !tsim_recipe_is(g->r, "cuda_graph_impl", "none"))
        from = impl;
    else if (is_on(g->r, "enable_cuda_graph"))
        from = find(g->r, "enable_cuda_graph");
    else if (is_on(g->r, "external_cuda_graph"))
        from = find(g->r, "external_cuda_graph");
    if (!from)
        return;
    if (!scope || tsim_recipe_is(g->r, "cuda_graph_scope", "full") ||
        (tsim_setting_lists(scope, "attn") && tsim_setting_lists(scope, "moe_router")))
        tsim_recipe_put(g->r, "software.cuda_graphs", from, NULL, "layers");
    else if (tsim_recipe_is(g->r, "cuda_graph_scope", "full_iteration"))
        tsim_recipe_put(g->r, "software.cuda_graphs", scope, NULL, "step");
    else
        tsim_recipe_not_modelled(g->r, scope, "CUDA graphs of parts of a layer: the host's time is counted in full");
}

static void put_software(struct tsim_gpt *g) {
    const struct tsim_setting *bucket = find(g->r, "ddp_bucket_size"), *old = find(g->r, "use_legacy_models"),
                              *impl = find(g->r, "transformer_impl");
    bool is_local = impl && strcmp(tsim_setting_text(impl), "local") == 0;
    if (g->software)
        tsim_recipe_put(g->r, "software.extends", NULL, g->r->program, "%s", g->software);
    else if (is_deepspeed(g))
        tsim_recipe_put(g->r, "software.extends", find(g->r, "deepspeed"), "Megatron-DeepSpeed", "bloom-2022");
    else if (g->is_bridge)
        tsim_recipe_put(g->r, "software.extends", NULL, "Megatron-Bridge", "megatron-core-2025");
    else if (g->program == TSIM_GPT_NEMO)
        tsim_recipe_put(g->r, "software.extends", NULL, "NeMo", "nemo-2024");
    else if (is_local || (old && tsim_setting_flag(g->r, old)))
        tsim_recipe_put(g->r, "software.extends", is_local ? impl : old, "without Transformer Engine", "megatron-2022");
    else
        tsim_recipe_put(g->r, "software.extends", NULL, "Megatron-Core with Transformer Engine", "megatron-core-2024");
    put_attention(g);
    put_dropout(g);
    put_graphs(g);
    if (bucket)
        tsim_recipe_put_int(g->r, "software.bucket", bucket, tsim_setting_int(g->r, bucket, 1, INT64_C(1000000000000)));
    if (tsim_gpt_experts(g))
        put_expert_software(g);
}

/* ---- parallelism ---- */

static void put_overlap(struct tsim_gpt *g, const char *path, const char *const *keys, bool is_negative) {
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, keys);
    bool value = s && tsim_setting_flag(g->r, s) != is_negative;
    if (!s)
        value = is_negative;
    tsim_recipe_put(g->r, path, s, s ? NULL : "the program's default", value ? "true" : "false");
}

static void put_overlaps(struct tsim_gpt *g) {
    static const char *const
        GRADIENTS[] = {"overlap_grad_reduce", "optim.overlap_grad_sync", "ddp.overlap_grad_reduce", NULL},
        *const PARAMETERS[] = {"overlap_param_gather", "optim.overlap_param_sync", "ddp.overlap_param_gather", NULL},
        *const TENSOR[] = {"tp_comm_overlap", "ub_tp_comm_overlap", "tp_comm_overlap_enabled", NULL},
        *const NO_PIPELINE[] = {"no_overlap_p2p_communication", NULL}, *const PIPELINE[] = {"overlap_p2p_comm", NULL},
        *const EXPERT[] = {"overlap_moe_expert_parallel_comm", NULL};
    if (is_deepspeed(g) || (g->software && !g->says_overlaps))
        return; /* as its profile has it */
    put_overlap(g, "parallelism.overlap.gradients", GRADIENTS, false);
    put_overlap(g, "parallelism.overlap.parameters", PARAMETERS, false);
    put_overlap(g, "parallelism.overlap.tensor", TENSOR, false);
    if (find(g->r, PIPELINE[0]))
        put_overlap(g, "parallelism.overlap.pipeline", PIPELINE, false);
    else
        put_overlap(g, "parallelism.overlap.pipeline", NO_PIPELINE, true);
    if (find(g->r, EXPERT[0]))
        put_overlap(g, "parallelism.overlap.expert", EXPERT, false);
}

static int sharding(struct tsim_gpt *g, const struct tsim_setting **from) {
    const struct tsim_setting *strategy = find(g->r, "data_parallel_sharding_strategy"),
                              *fsdp = find(g->r, "use_torch_fsdp2"), *stage = find(g->r, "zero_stage"),
                              *distributed = find(g->r, "use_distributed_optimizer"), *fused = find(g->r, "optim.name"),
                              *layerwise = find(g->r, "optimizer"), *file = find(g->r, "deepspeed_config");
    int n = -1;
    if (fsdp && tsim_setting_flag(g->r, fsdp)) {
        *from = fsdp;
        return 3;
    }
    const char *zero = strategy ? tsim_launch_ours(tsim_sharding_strategies, tsim_setting_text(strategy)) : NULL;
    if (zero && zero[0] > '0' && (is_on(g->r, "use_megatron_fsdp") || is_on(g->r, "use_custom_fsdp"))) {
        *from = strategy;
        return zero[0] - '0';
    }
    if (file && is_deepspeed(g) && tsim_deepspeed_add_file(g->r, file)) {
        *from = find(g->r, TSIM_DEEPSPEED_PREFIX "zero_optimization.stage");
        *from = *from ? *from : file;
        n = (int)tsim_deepspeed_put_sharding(g->r);
    } else if (stage && is_deepspeed(g)) {
        *from = stage;
        n = (int)tsim_setting_int(g->r, stage, 0, 3);
    }
    if (n >= 0)
        return n == 0 && is_on(g->r, "bf16") ? 1 : n; /* its bf16 optimizer shards the state by itself */
    if (layerwise && strncmp(tsim_setting_text(layerwise), "dist_", 5) == 0) {
        *from = layerwise;
        tsim_recipe_not_modelled(g->r, layerwise, "the program all-reduces gradients; tsim only scatters them");
        return 1;
    }
    *from = distributed;
    if (distributed)
        return tsim_setting_flag(g->r, distributed);
    *from = fused;
    return fused && strstr(tsim_setting_text(fused), "distributed") ? 1 : 0;
}

static void put_zero(struct tsim_gpt *g, int64_t world) {
    const struct tsim_setting *from = NULL, *instances = find(g->r, "num_distributed_optimizer_instances"),
                              *keeps = find(g->r, "torch_fsdp2_no_reshard_after_forward");
    int zero = sharding(g, &from);
    int64_t ranks = world / (g->tensor * g->pipeline);
    tsim_recipe_put(g->r, "parallelism.zero", from, from ? NULL : "no distributed optimizer", "%d", zero);
    if (zero == 3 && !is_deepspeed(g)) /* PyTorch's, or Megatron's own */
        tsim_recipe_put(g->r, "software.shard_copies", from, NULL,
                        from == find(g->r, "use_torch_fsdp2") ? "per-parameter" : "in-place");
    if (zero == 3 && keeps && tsim_setting_flag(g->r, keeps))
        tsim_recipe_put(g->r, "parallelism.reshard_after_forward", keeps, NULL, "false");
    int64_t n = instances ? tsim_setting_int(g->r, instances, 1, 1000000) : 1;
    if (n > 1 && ranks % n != 0)
        tsim_recipe_error(g->r, instances, "%lld does not divide the %lld data-parallel ranks", (long long)n,
                          (long long)ranks);
    else if (n > 1)
        tsim_recipe_put_int(g->r, "parallelism.zero_group", instances, ranks / n);
}

static void put_context(struct tsim_gpt *g) {
    static const char *const HOW[] = {"cp_comm_type", "context_parallel_algo", NULL}; /* the latter is MindSpeed's */
    const struct tsim_setting *how = tsim_recipe_find_any(g->r, HOW);
    if (g->context == 1)
        return;
    tsim_recipe_put_int(g->r, "parallelism.context", find(g->r, "context_parallel_size"), g->context);
    const char *exchange = how ? tsim_launch_ours(tsim_context_kinds, tsim_setting_text(how)) : NULL;
    if (exchange)
        tsim_recipe_put(g->r, "parallelism.context_exchange", how, NULL, "%s", exchange);
    if ((how && !exchange) || (how && how->value->kind == TSIM_VALUE_SEQUENCE && how->value->n_items > 1))
        tsim_recipe_refuse(g->r, how, "is not modelled: p2p, allgather or a2a, one for all layers, are");
}

static void put_sequence(struct tsim_gpt *g) {
    const struct tsim_setting *s = find(g->r, "sequence_parallel");
    bool wants = s && tsim_setting_flag(g->r, s);
    if (g->tensor > 1)
        tsim_recipe_put(g->r, "parallelism.sequence", s, s ? NULL : "the program's default", wants ? "true" : "false");
    else if (wants)
        tsim_recipe_put(g->r, "parallelism.sequence", s, "without effect where tensor is 1", "false");
    if (g->tensor > 1 && g->expert > 1 && !wants && g->program == TSIM_GPT_MEGATRON)
        tsim_recipe_error(g->r, find(g->r, "expert_model_parallel_size"),
                          "experts over ranks with tensor parallelism need --sequence-parallel");
}

/* Zero-bubble schedules (sail-sg/zero-bubble-pipeline-parallelism and its copies): the number of micro-batches that
 * wait for their weight gradients tells which of them it is. */
static void put_schedule(struct tsim_gpt *g) {
    static const char *const ON[] = {"enable_zero_bubble", "enable_zb_runtime", "enable_zbh1_pipeline", NULL};
    const struct tsim_setting *on = tsim_recipe_find_any(g->r, ON), *v = find(g->r, "zero_bubble_v_schedule"),
                              *pending = find(g->r, "zero_bubble_max_pending_backward");
    const bool is_v = v && tsim_setting_flag(g->r, v);
    if (g->pipeline == 1 || !(is_v || (on && tsim_setting_flag(g->r, on))))
        return;
    const bool is_long = pending && tsim_setting_int(g->r, pending, 0, 1000000) >= 2 * g->pipeline;
    tsim_recipe_put(g->r, "parallelism.schedule", is_v ? v : on, NULL, "%s",
                    is_v      ? "zb-v"
                    : is_long ? "zb-h2"
                              : "zb-h1");
}

/* Stages as even as they are with layers that do nothing, without those. */
static void put_idle_stages(struct tsim_gpt *g, int64_t n) {
    enum { MOST_STAGES = 1024 };
    const char *texts[MOST_STAGES];
    if (n < 2 || n > MOST_STAGES)
        return;
    if (g->counted_layers % n != 0) {
        tsim_recipe_error(g->r, find(g->r, "num_layers"), "%lld layers do not split into %lld stages",
                          (long long)g->counted_layers, (long long)n);
        return;
    }
    for (int64_t i = 0, each = g->counted_layers / n; i < n; i++) {
        int64_t layers = 0;
        for (int64_t layer = i * each; layer < (i + 1) * each; layer++)
            layers += layer >= TSIM_MOST_IDLE_LAYERS || !g->idle[layer];
        texts[i] = tsim_arena_printf(g->r->arena, "%lld", (long long)layers);
    }
    tsim_recipe_put_list(g->r, "parallelism.layers_per_stage", g->noop, texts, (size_t)n);
}

/* Marks those that a list "61,62,63" names. */
static void mark_idle(struct tsim_gpt *g, bool *idle, const struct tsim_value *item) {
    for (const char *c = item->kind == TSIM_VALUE_SCALAR ? item->text : ""; *c;) {
        char *end;
        const long long layer = strtoll(c, &end, 10);
        if (end != c && layer >= 0 && layer < TSIM_MOST_IDLE_LAYERS && layer < g->counted_layers && !idle[layer]) {
            idle[layer] = true;
            g->layers--;
        }
        c = end != c ? end : c + 1;
        c += *c == ',';
    }
}

static void leave_out_idle(struct tsim_gpt *g) {
    bool *idle = TSIM_NEW_ARRAY(g->r->arena, TSIM_MOST_IDLE_LAYERS, bool);
    memset(idle, 0, TSIM_MOST_IDLE_LAYERS * sizeof *idle);
    g->idle = idle;
    g->noop = find(g->r, "noop_layers");
    g->counted_layers = g->layers;
    if (g->noop && g->noop->value->kind == TSIM_VALUE_SEQUENCE)
        for (size_t i = 0; i < g->noop->value->n_items; i++)
            mark_idle(g, idle, g->noop->value->items[i]);
    else if (g->noop)
        mark_idle(g, idle, g->noop->value);
}

/* Puts the stages of a layout. Returns false if there is none. */
static bool put_layout(struct tsim_gpt *g) {
    const struct tsim_setting *s = find(g->r, "pipeline_model_parallel_layout");
    int *layers = TSIM_NEW_ARRAY(g->r->arena, TSIM_MOST_LAYOUT_STAGES, int);
    const char *texts[TSIM_MOST_LAYOUT_STAGES];
    /* A wrong layout was refused when its stages were counted. */
    const size_t n = g->r->diags->n_errors > g->r->n_errors_before ? 0 : tsim_gpt_layout(g, layers);
    for (size_t i = 0; i < n; i++)
        texts[i] = tsim_arena_printf(g->r->arena, "%d", layers[i]);
    if (n > 1)
        tsim_recipe_put_list(g->r, "parallelism.layers_per_stage", s, texts, n);
    return s && !tsim_value_is_off(s->value);
}

/* Stages of unequal length: the first and the last as they are given, the others evenly. */
static void put_stages(struct tsim_gpt *g) {
    static const char *const FIRST[] = {"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage",
                                        NULL},
                             *const LAST[] = {"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage",
                                              NULL};
    const struct tsim_setting *first = tsim_recipe_find_any(g->r, FIRST), *last = tsim_recipe_find_any(g->r, LAST),
                              *embedding = find(g->r, "account_for_embedding_in_pipeline_split"),
                              *loss = find(g->r, "account_for_loss_in_pipeline_split"),
                              *method = find(g->r, "pp_partition_method"); /* DeepSpeed's */
    bool counts_ends = method && strstr(tsim_setting_text(method), "embedding"),
         less_first = counts_ends || (embedding && tsim_setting_flag(g->r, embedding)),
         less_last = counts_ends || (loss && tsim_setting_flag(g->r, loss));
    enum { MOST_STAGES = 1024 };
    int64_t n = g->pipeline * g->virtual_pipeline;
    bool is_even = !first && !last && !less_first && !less_last;
    if (put_layout(g))
        return;
    if (g->noop) {
        put_idle_stages(g, n);
        return;
    }
    if (is_even && g->layers % n != 0 && !is_deepspeed(g) && !g->software &&
        !find(g->r, "pipeline_model_parallel_layout") &&
        !tsim_import_override(&g->r->input, "parallelism.layers_per_stage"))
        tsim_recipe_error(g->r, find(g->r, "num_layers"), "%lld layers do not split into %lld stages",
                          (long long)g->layers, (long long)n);
    if ((is_even && !g->further) || n < 2 || n > MOST_STAGES)
        return;
    const struct tsim_setting *from = first         ? first
                                      : last        ? last
                                      : counts_ends ? method
                                      : embedding   ? embedding
                                      : loss        ? loss
                                                    : find(g->r, "mtp_num_layers");
    if (g->virtual_pipeline > 1 && (first || last)) {
        tsim_recipe_refuse(g->r, from,
                           "unequal stages of a virtual pipeline: --set parallelism.layers_per_stage=[...]");
        return;
    }
    int64_t middle = (g->layers + less_first + less_last) / n,
            a = first ? tsim_setting_int(g->r, first, 0, g->layers) : -1,
            b = last ? tsim_setting_int(g->r, last, 0, g->layers) : -1, n_even = n - (first != NULL) - (last != NULL);
    if (n_even > 0 && (first || last))
        middle = (g->layers - (a > 0 ? a : 0) - (b > 0 ? b : 0)) / n_even;
    const char *texts[MOST_STAGES];
    int64_t most = (g->layers + 2 + n - 1) / n, left = g->layers + 2; /* DeepSpeed fills one stage after another */
    for (int64_t i = 0; i < n; i++) {
        int64_t layers = middle, part = left < most ? left : most;
        left -= part;
        if (counts_ends)
            layers = part - (i == 0) - (i == n - 1);
        else if (i == 0)
            layers = first ? a : middle - less_first;
        else if (i == n - 1)
            layers = last ? b : middle - less_last;
        layers += i == n - 1 ? g->further : 0;
        texts[i] = tsim_arena_printf(g->r->arena, "%lld", (long long)layers);
    }
    tsim_recipe_put_list(g->r, "parallelism.layers_per_stage", from, texts, (size_t)n);
}

static void put_parallelism(struct tsim_gpt *g, int64_t world) {
    struct tsim_recipe *r = g->r;
    const struct tsim_setting *order = find(r, "use_tp_pp_dp_mapping"), *tensor = find(r, "tensor_model_parallel_size"),
                              *pipeline = find(r, "pipeline_model_parallel_size");
    tsim_recipe_put(r, "parallelism.tensor", tensor, tensor ? NULL : "the program's default", "%lld",
                    (long long)g->tensor);
    tsim_recipe_put(r, "parallelism.pipeline", pipeline, pipeline ? NULL : "the program's default", "%lld",
                    (long long)g->pipeline);
    put_context(g);
    if (g->expert > 1)
        tsim_recipe_put_int(g->r, "parallelism.expert", find(r, "expert_model_parallel_size"), g->expert);
    if (g->expert_tensor != g->tensor)
        tsim_recipe_put_int(g->r, "parallelism.expert_tensor", find(r, "expert_tensor_parallel_size"),
                            g->expert_tensor);
    put_sequence(g);
    put_schedule(g);
    put_stages(g);
    put_zero(g, world);
    put_overlaps(g);
    if (order && tsim_setting_flag(r, order)) {
        const char *axes[TSIM_N_AXES];
        for (int i = 0; i < TSIM_N_AXES; i++)
            axes[i] = tsim_axis_name(tsim_tp_pp_dp_order[i]);
        tsim_recipe_put_list(r, "parallelism.order", order, axes, TSIM_N_AXES);
    }
}

static int64_t degree(struct tsim_gpt *g, const char *key, int64_t otherwise) {
    return tsim_recipe_int(g->r, key, 1, 1000000, otherwise);
}

static void read_virtual(struct tsim_gpt *g) {
    static const char *const COUNTS[] = {"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size",
                                         NULL};
    const struct tsim_setting *per_stage = find(g->r, "num_layers_per_virtual_pipeline_stage"),
                              *count = tsim_recipe_find_any(g->r, COUNTS), *from = count ? count : per_stage;
    g->virtual_pipeline = 1;
    if (!from) {
        const struct tsim_setting *layout = find(g->r, "pipeline_model_parallel_layout");
        const size_t n = tsim_gpt_layout(g, TSIM_NEW_ARRAY(g->r->arena, TSIM_MOST_LAYOUT_STAGES, int));
        if ((int64_t)n > g->pipeline) {
            g->virtual_pipeline = (int64_t)n / g->pipeline;
            tsim_recipe_put_int(g->r, "parallelism.virtual_pipeline", layout, g->virtual_pipeline);
        }
        return;
    }
    if (per_stage && count)
        tsim_recipe_error(g->r, per_stage, "cannot be together with %.60s", count->name);
    int64_t n = tsim_setting_int(g->r, from, 1, 100000), stage = g->counted_layers / g->pipeline;
    if (!count && (stage == 0 || stage % n != 0)) {
        tsim_recipe_error(g->r, from, "%lld does not divide the %lld layers of a stage", (long long)n,
                          (long long)stage);
        return;
    }
    g->virtual_pipeline = count ? n : stage / n;
    if (g->virtual_pipeline > 1 && g->pipeline == 1)
        tsim_recipe_error(g->r, from, "a virtual pipeline needs pipeline_model_parallel_size above 1");
    else if (g->virtual_pipeline > 1)
        tsim_recipe_put_int(g->r, "parallelism.virtual_pipeline", from, g->virtual_pipeline);
}

static int64_t required(struct tsim_gpt *g, const char *key, int64_t most) {
    const struct tsim_setting *s = find(g->r, key);
    if (s)
        return tsim_setting_int(g->r, s, 1, most);
    tsim_diag_hint(tsim_recipe_error(g->r, NULL, "%s is missing", key),
                   "a model's sizes must be in the file, or come from --model ID or --hf CONFIG");
    return 1;
}

static void read_degrees(struct tsim_gpt *g) {
    g->tensor = degree(g, "tensor_model_parallel_size", 1);
    g->pipeline = degree(g, "pipeline_model_parallel_size", 1);
    g->context = degree(g, "context_parallel_size", 1);
    g->expert = degree(g, "expert_model_parallel_size", 1);
    g->expert_tensor = degree(g, "expert_tensor_parallel_size", g->tensor);
    if (is_on(g->r, "moe_tp_extend_ep")) { /* MindSpeed's: whole experts on the tensor ranks, too */
        g->expert *= g->tensor;
        g->expert_tensor = 1;
    }
}

static void read_sizes(struct tsim_gpt *g) {
    const bool has_sizes = find(g->r, "num_layers") && find(g->r, "hidden_size") && find(g->r, "num_attention_heads");
    struct tsim_recipe *r = g->r;
    const size_t n_errors = r->diags->n_errors;
    const struct tsim_model *model = g->named || has_sizes ? NULL : tsim_recipe_given_model(g->r);
    if (r->diags->n_errors > n_errors)
        return;
    if (model) {
        g->is_given = true;
        g->layers = model->layers;
        g->hidden = model->hidden;
    } else if (!g->named) {
        g->layers = required(g, "num_layers", 100000);
        g->hidden = required(g, "hidden_size", 10000000);
        required(g, "num_attention_heads", 1000000);
    } else if (tsim_catalogue_load_model(g->r->arena, g->named, &model, g->r->diags) == TSIM_OK) {
        g->layers = tsim_recipe_int(g->r, "num_layers", 1, 100000, model->layers);
        g->hidden = tsim_recipe_int(g->r, "hidden_size", 1, 10000000, model->hidden);
        g->named_model = model;
    }
}

/* If the user names a model, the file's own sizes are read but do not count. */
static void put_model(struct tsim_gpt *g) {
    struct tsim_recipe *r = g->r;
    struct tsim_diags *diags = r->diags, unheard;
    struct tsim_lines assumed = r->assumed, not_modelled = r->not_modelled, notes = r->notes;
    if (!g->is_given) {
        tsim_gpt_put_model(g);
        return;
    }
    tsim_diags_init(&unheard);
    r->diags = &unheard;
    r->assumed = r->not_modelled = r->notes = (struct tsim_lines){NULL, 0, 0};
    tsim_gpt_put_model(g);
    tsim_heap_free(r->assumed.text);
    tsim_heap_free(r->not_modelled.text);
    tsim_heap_free(r->notes.text);
    r->assumed = assumed, r->not_modelled = not_modelled, r->notes = notes;
    r->diags = diags;
    tsim_diags_release(&unheard);
}

static void put_named(struct tsim_gpt *g) {
    tsim_recipe_put(g->r, "model", g->named_from, NULL, "%s", g->named);
    if (g->named_model)
        tsim_gpt_put_changes(g, g->named_model);
}

/* Puts LoRA of MindSpeed-LLM (--lora-r), Primus (lora.dim), Megatron-Bridge and NeMo (peft). */
static void put_adapter(struct tsim_gpt *g) {
    static const char *const RANKS[] = {"lora_r", "lora_rank", "lora.dim", "peft.dim", "peft.lora_tuning.adapter_dim",
                                        NULL},
                             *const TARGETS[] = {"lora_target_modules", "lora.target_modules", "peft.target_modules",
                                                 "peft.lora_tuning.target_modules", NULL},
                             *const DROPOUTS[] = {"lora_dropout", "lora.dropout", "peft.dropout",
                                                  "peft.lora_tuning.adapter_dropout", NULL};
    const struct tsim_setting *shares = find(g->r, "peft.share_expert_adapters");
    const struct tsim_adapter_settings adapter = {
        .rank = tsim_recipe_find_any(g->r, RANKS),
        .targets = tsim_recipe_find_any(g->r, TARGETS),
        .dropout = tsim_recipe_find_any(g->r, DROPOUTS),
        .experts = shares && !tsim_setting_flag(g->r, shares) ? "each" : "shared",
        .why_experts = shares ? "share_expert_adapters" : "the default of Megatron-Bridge",
        .default_rank = 32, /* Megatron-Bridge's */
        .why = "the program's default"};
    const struct tsim_setting *kind = find(g->r, "peft"), *on = find(g->r, "lora.enabled"),
                              *scheme = find(g->r, "peft.peft_scheme");
    const bool is_off = (on && !tsim_setting_flag(g->r, on)) || tsim_setting_is(scheme, "none");
    if (!is_off && (adapter.rank || tsim_setting_is(kind, "lora") || tsim_setting_is(scheme, "lora")))
        tsim_recipe_put_adapter(g->r, &adapter);
}

/* Layers that predict further tokens stand behind the others, in the last stage. A model that the user gives has them
 * or not. */
static void put_further(struct tsim_gpt *g) {
    const struct tsim_setting *s = find(g->r, "mtp_num_layers");
    if (!s || g->further == 0)
        return;
    if (g->named)
        tsim_recipe_put(g->r, "model.extends", g->named_from, NULL, "%s", g->named);
    tsim_recipe_put_int(g->r, "model.layers", s, g->layers + g->further);
    tsim_recipe_put_int(g->r, "model.mtp_layers", s, g->further);
}

/* Puts Adam's moments in 16 bits. */
static void put_states(struct tsim_gpt *g) {
    const struct tsim_setting *first = find(g->r, "exp_avg_dtype"), *second = find(g->r, "exp_avg_sq_dtype");
    const bool is_first = tsim_setting_is(first, "bf16"), is_second = tsim_setting_is(second, "bf16");
    if (is_first && is_second)
        tsim_recipe_put(g->r, "training.state_precision", first, NULL, "bf16");
    else if (is_first || is_second)
        tsim_recipe_refuse(g->r, is_first ? first : second, "two moments of which one alone is in 16 bits");
}

void tsim_gpt_build(struct tsim_gpt *g) {
    struct tsim_recipe *r = g->r;
    read_sizes(g);
    leave_out_idle(g);
    g->further = g->is_given ? 0 : tsim_recipe_int(r, "mtp_num_layers", 0, 1000, 0);
    read_degrees(g);
    if (r->diags->n_errors > r->n_errors_before)
        return;
    tsim_recipe_put(r, "schema", NULL, NULL, "tsim/v1");
    tsim_recipe_put(r, "name", NULL, NULL, "%s", tsim_recipe_name(r->arena, r->document->file, "imported"));
    if (g->named)
        put_named(g);
    else
        put_model(g);
    put_further(g);
    int64_t world = put_cluster(g);
    read_virtual(g);
    put_training(g, world);
    put_adapter(g);
    put_states(g);
    put_software(g);
    put_parallelism(g, world);
}
