/* Configurations of InternLM/InternEvo, and of InternLM before it, which are Python: dictionaries that names of the
 * module stand for (configs/7B_sft.py, doc/en/usage.md; internlm/initialize/launch.py has the defaults). Settings are
 * read under Megatron's names. */
#include "import/launches/gpt.h"
#include "import/launches/hub_names.h"
#include "import/launches/python_config.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"
#include "import/overrides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_type(struct tsim_recipe *r, const char *prefix) {
    const struct tsim_setting *s = find(r, "model_type");
    return strncmp(s ? tsim_setting_text(s) : "INTERNLM", prefix, strlen(prefix)) == 0;
}

/* Returns the degree in "tensor=4", or in "tensor=dict(size=4, mode=...)". */
static const struct tsim_setting *degree(struct tsim_recipe *r, const char *axis) {
    const struct tsim_setting *s = find(r, tsim_arena_printf(r->arena, "parallel.%s.size", axis));
    return s ? s : find(r, tsim_arena_printf(r->arena, "parallel.%s", axis));
}

static int64_t degree_of(struct tsim_recipe *r, const char *axis, int64_t least) {
    const struct tsim_setting *s = degree(r, axis);
    return s ? tsim_setting_int(r, s, least, 1000000) : 1;
}

/* ---- the model ---- */

/* Adds int(hidden * mlp_ratio), rounded up to a multiple of 256 (modules/mlp.py, multiple_of). */
static void add_width(struct tsim_recipe *r) {
    const struct tsim_setting *hidden = find(r, "model.hidden_size"), *ratio = find(r, "model.mlp_ratio");
    if (!hidden)
        return;
    const int64_t unit = tsim_recipe_int(r, "model.multiple_of", 1, 1000000, 256);
    const double width =
        (double)tsim_setting_int(r, hidden, 1, 10000000) * (ratio ? tsim_setting_number(r, ratio) : 4.0) + 1e-6;
    if (width >= 1 && width < 1e9)
        add_int(r, ratio, "ffn_hidden_size", ((int64_t)width + unit - 1) / unit * unit);
    else
        tsim_recipe_error(r, ratio, "is no ratio of the feed-forward block's width");
}

/* InternLM has biases in attention; its successors have them only if the file says so. */
static void add_biases(struct tsim_recipe *r) {
    const struct tsim_setting *own = find(r, "model.qkv_bias"), *none = find(r, "model.no_bias");
    const bool is_first = is_of_type(r, "INTERNLM") && !is_of_type(r, "INTERNLM2") && !is_of_type(r, "INTERNLM3");
    const bool has = own ? tsim_setting_flag(r, own) : none ? !tsim_setting_flag(r, none) : is_first;
    add(r, NULL, "disable_bias_linear", "true");
    if (has)
        add(r, own ? own : none, "add_qkv_bias", "true");
}

static void add_experts(struct tsim_recipe *r, int64_t replicas) {
    static const char *const ACTIVE[] = {"model.top_k", "moe.top_k", NULL};
    const struct tsim_setting *count = find(r, "model.num_experts"), *active = tsim_recipe_find_any(r, ACTIVE),
                              *shared = find(r, "model.num_shared_experts"), *ranks = degree(r, "expert"),
                              *kind = find(r, "model.moe_type"), *dense = find(r, "model.first_k_dense_replace");
    const int64_t n = count ? tsim_setting_int(r, count, 1, 100000) : 1;
    if (n <= 1)
        return;
    add_int(r, count, "num_experts", n);
    add(r, active, "moe_router_topk", active ? tsim_setting_text(active) : "2");
    if (shared)
        add(r, shared, "n_shared_experts", tsim_setting_text(shared));
    if (dense)
        add(r, dense, "first_k_dense_replace", tsim_setting_text(dense));
    int64_t wide = ranks ? tsim_setting_int(r, ranks, -1, 1000000) : 1;
    if (wide <= 0) /* as many as there are experts, or fewer ranks */
        for (wide = n < replicas ? n : replicas; n % wide != 0; wide--)
            ;
    add_int(r, ranks, "expert_model_parallel_size", wide);
    add(r, NULL, "moe_token_dispatcher_type", "alltoall");
    add(r, kind, "moe_grouped_gemm", kind && strcmp(tsim_setting_text(kind), "GShard") == 0 ? "false" : "true");
}

/* Names the model of Hugging Face's code (model_type HF), whose sizes only its config.json has. */
static void name_hub_model(struct tsim_recipe *r, struct tsim_gpt *gpt) {
    const struct tsim_setting *type = find(r, "model_type"), *name = find(r, "HF_MODEL_NAME");
    if (tsim_import_override(&r->input, "model"))
        return;
    gpt->named = name ? tsim_known_model(r, tsim_setting_text(name)) : NULL;
    gpt->named_from = name;
    if (!gpt->named)
        tsim_diag_hint(tsim_recipe_error(r, name ? name : type, "only the model's code has its sizes"),
                       "name the model with --model ID or --hf CONFIG");
}

static void add_model(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model.hidden_size", "hidden_size"},
                                           {"model.num_layers", "num_layers"},
                                           {"model.num_attention_heads", "num_attention_heads"},
                                           {"model.num_kv_attention_heads", "num_query_groups"},
                                           {"model.head_dim", "kv_channels"},
                                           {"model.vocab_size", "padded_vocab_size"}};
    const struct tsim_setting *norm = find(r, "model.norm_type"), *tied = find(r, "model.tie_embeddings_and_lm_head");
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], false);
    if (find(r, "model.num_kv_attention_heads"))
        add(r, find(r, "model.num_kv_attention_heads"), "group_query_attention", "true");
    add(r, NULL, "swiglu", "true"); /* the first two products are side by side with any activation */
    add(r, norm, "normalization", norm && strcmp(tsim_setting_text(norm), "layernorm") == 0 ? "LayerNorm" : "RMSNorm");
    add(r, NULL, "position_embedding_type", "rope");
    if (is_on(r, "model.qk_norm") || is_of_type(r, "QWEN3"))
        add(r, find(r, "model_type"), "qk_layernorm", "true");
    if (!tied || !tsim_setting_flag(r, tied))
        add(r, tied, "untie_embeddings_and_output_weights", is_of_type(r, "GEMMA") ? "false" : "true");
    add_width(r);
    add_biases(r);
}

/* ---- training ---- */

static void add_precision(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "model.dtype");
    const char *text = s ? tsim_setting_text(s) : "torch.half";
    text = strncmp(text, "torch.", 6) == 0 ? text + 6 : text;
    if (strcmp(text, "bfloat16") == 0)
        add(r, s, "bf16", "true");
    else if (strcmp(text, "float16") == 0 || strcmp(text, "half") == 0)
        add(r, s, "fp16", "true");
    else if (strcmp(text, "float32") != 0 && strcmp(text, "tf32") != 0)
        tsim_recipe_refuse(
            r, s, "'%.40s' is not modelled: torch.bfloat16, torch.float16, torch.float32 and torch.tf32 are", text);
    if (strcmp(text, "float32") != 0 && strcmp(text, "tf32") != 0) /* reduced as they are (solver/optimizer/utils.py) */
        add(r, s, strcmp(text, "bfloat16") == 0 ? "grad_reduce_in_bf16" : "grad_reduce_in_fp32",
            strcmp(text, "bfloat16") == 0 ? "true" : "false");
}

/* The first layers of each stage may be recomputed, a share of them; otherwise InternLM's norms are
 * (dropout_selective_checkpoint). */
static void put_recompute(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "model.checkpoint"), *norms = find(r, "model.dropout_selective_checkpoint");
    const char *text = s ? tsim_setting_text(s) : "false";
    const bool is_word = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    const double share = is_word ? (strcmp(text, "true") == 0 ? 1.0 : 0.0) : tsim_setting_number(r, s);
    const struct tsim_setting *layers = find(r, "model.num_layers");
    const int64_t of_stage = layers ? tsim_setting_int(r, layers, 1, 100000) / degree_of(r, "pipeline", 1) : 0,
                  recomputed = (int64_t)(share * (double)of_stage);
    static const char *const NORMS[] = {"norms"};
    if (share < 0.0 || share > 1.0)
        tsim_recipe_error(r, s, "'%.40s' is neither true nor false nor a share of the layers", text);
    else if (recomputed > 0 && recomputed < of_stage)
        tsim_recipe_put_int(r, "training.recompute.layers", s, recomputed);
    else if (share > 0.0)
        tsim_recipe_put(r, "training.recompute", s, NULL, "full");
    else if (is_of_type(r, "INTERNLM") && !(norms && !tsim_setting_flag(r, norms)))
        tsim_recipe_put_list(r, "training.recompute", s, NORMS, 1);
}

/* "16 8 300": micro-batches of a pass, more of them, and after how many steps; an empty text is none. */
static void check_ramp(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "data.rampup_batch_size");
    if (s && *tsim_setting_text(s))
        tsim_recipe_not_modelled(r, s, "a batch that grows: each step has the last one here");
}

/* ---- parallelism ---- */

/* Accelerators as the user gives them, else a node: what -1 stands for depends on them. */
static int64_t given_world(struct tsim_recipe *r, int64_t least) {
    const char *nodes = tsim_import_override(&r->input, "cluster.nodes");
    const int64_t n = nodes ? strtoll(nodes, NULL, 10) : 0;
    const int64_t world = r->input.gpus > 0 ? r->input.gpus : n > 0 && n < 1000000 ? 8 * n : 8;
    return world > least ? world : least;
}

/* isp divides the sequence, not the products: it has Ulysses' exchange around attention, and gathers weights over the
 * ranks of `weight` like full sharding. */
static void put_weights(struct tsim_recipe *r, bool is_isp, int64_t replicas) {
    const struct tsim_setting *zero = degree(r, "zero1"), *weight = degree(r, "weight");
    const int64_t ranks = degree_of(r, "weight", -1), states = zero ? tsim_setting_int(r, zero, -1, 1000000) : -1;
    if (is_isp && ranks > 1) {
        tsim_recipe_put(r, "parallelism.zero", weight, "weights gathered layer by layer", "3");
        if (ranks < replicas)
            tsim_recipe_put_int(r, "parallelism.zero_group", weight, ranks);
        if (ranks < replicas && states != ranks)
            tsim_recipe_not_modelled(
                r, weight,
                "the program divides optimizer states among more ranks than the weights, tsim among as many");
        return;
    }
    tsim_recipe_put(r, "parallelism.zero", zero, zero ? NULL : "InternEvo's default", "%d", states == 1 ? 0 : 1);
    if (states > 1 && states < replicas)
        tsim_recipe_put_int(r, "parallelism.zero_group", zero, states);
}

static void build(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"data.seq_len", "seq_length"},
                                           {"data.micro_bsz", "micro_batch_size"},
                                           {"data.micro_num", "gradient_accumulation_steps"},
                                           {"data.total_steps", "train_iters"},
                                           {"model.num_chunks", "virtual_pipeline_model_parallel_size"}};
    static const char *const GRADIENTS[] = {"hybrid_zero_optimizer.overlap_sync_grad",
                                            "hybrid_zero_optimizer.zero_overlap_communication", NULL}; /* older */
    struct tsim_gpt gpt = {.r = r, .program = TSIM_GPT_MEGATRON, .software = "internevo-2023"};
    const struct tsim_setting *mode = find(r, "parallel.tensor.mode"), *all = find(r, "parallel.sequence_parallel"),
                              *gradients = tsim_recipe_find_any(r, GRADIENTS),
                              *parameters = find(r, "hybrid_zero_optimizer.overlap_sync_param");
    const char *word = mode ? tsim_setting_text(mode) : all && tsim_setting_flag(r, all) ? "msp" : "mtp";
    const bool is_isp = strcmp(word, "isp") == 0;
    const int64_t tensor = degree_of(r, "tensor", 1), pipeline = degree_of(r, "pipeline", 1),
                  weight = is_isp ? degree_of(r, "weight", -1) : 1, ranks = tensor * pipeline;
    gpt.least_world = pipeline * (weight > tensor ? weight : tensor);
    const int64_t replicas = given_world(r, gpt.least_world) / ranks;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (i != 4 || pipeline > 1)
            add_as(r, find(r, NAMES[i][0]), NAMES[i][1]);
    if (!is_isp && strcmp(word, "mtp") != 0 && strcmp(word, "msp") != 0 && strcmp(word, "fsp") != 0)
        tsim_recipe_error(r, mode, "'%.40s' is none of mtp, msp, fsp and isp", word);
    add_int(r, degree(r, "tensor"), is_isp ? "context_parallel_size" : "tensor_model_parallel_size", tensor);
    if (is_isp)
        add(r, mode, "cp_comm_type", "a2a");
    add_int(r, degree(r, "pipeline"), "pipeline_model_parallel_size", pipeline);
    add(r, mode, "sequence_parallel", !is_isp && strcmp(word, "mtp") != 0 && tensor > 1 ? "true" : "false");
    add(r, NULL, "hidden_dropout", "0");
    add(r, NULL, "attention_dropout", "0");
    if (is_of_type(r, "HF"))
        name_hub_model(r, &gpt);
    else
        add_model(r);
    add_experts(r, replicas);
    add_precision(r);
    check_ramp(r);
    const struct tsim_setting *flash = find(r, "model.use_flash_attn");
    tsim_gpt_build(&gpt);
    if (flash && !tsim_setting_flag(r, flash))
        tsim_recipe_put(r, "training.attention", flash, NULL, "standard");
    put_recompute(r);
    put_weights(r, is_isp, replicas * (is_isp ? tensor : 1));
    if (gradients)
        tsim_recipe_put(r, "parallelism.overlap.gradients", gradients, NULL,
                        tsim_setting_flag(r, gradients) ? "true" : "false");
    if (parameters)
        tsim_recipe_put(r, "parallelism.overlap.parameters", parameters, NULL,
                        tsim_setting_flag(r, parameters) ? "true" : "false");
}

/* Adds the sections that describe training; learning rates, logs and checkpoints stand in others. */
static void add_settings(struct tsim_recipe *r, const struct tsim_python *python) {
    static const char *const SECTIONS[] = {"model.", "parallel.", "data.", "hybrid_zero_optimizer.", "moe."};
    for (size_t i = 0; i < python->n_values; i++) {
        const struct tsim_python_value *v = &python->values[i];
        bool is_read = strcmp(v->path, "model_type") == 0 || strcmp(v->path, "HF_MODEL_NAME") == 0;
        for (size_t k = 0; k < sizeof SECTIONS / sizeof SECTIONS[0]; k++)
            is_read |= strncmp(v->path, SECTIONS[k], strlen(SECTIONS[k])) == 0;
        if (is_read && !strchr(v->path, '[') && !strstr(v->path, "._") && !strstr(v->path, ".rest"))
            tsim_recipe_add(r, v->path, v->path, tsim_recipe_scalar(r, v->line, v->column, v->text));
    }
}

enum tsim_status tsim_import_internevo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct tsim_python python = {0};
    tsim_recipe_init(&r, arena, input, "InternEvo", "internevo", diags);
    enum tsim_status status = tsim_python_read(&r, NULL, &python);
    if (status == TSIM_OK) {
        add_settings(&r, &python);
        if (!find(&r, "data.seq_len") && !find(&r, "parallel.zero1") && !find(&r, "parallel.zero1.size"))
            tsim_diag_hint(
                tsim_recipe_error(&r, NULL, "neither data = dict(seq_len=...) nor parallel = dict(...) in it"),
                "the Python file that train.py --config takes");
        else if (tsim_recipe_accepts(&r))
            build(&r);
        status = tsim_recipe_finish(&r, result);
    }
    tsim_heap_free(python.values);
    tsim_recipe_release(&r);
    return status;
}
