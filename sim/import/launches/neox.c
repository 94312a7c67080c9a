#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#include "config/text/document.h"
#include "import/launches/deepspeed.h"
#include "import/launches/gpt.h"

#include <stdlib.h>
#include <string.h>

/* GPT-NeoX is Megatron-LM of 2020 on DeepSpeed: its YAML has arguments of both under names of their own. They are read
 * under Megatron's, with GPT-NeoX's defaults beside them. */

#define OTHER_LAYERS "layers that tsim does not have: RWKV, Mamba, gated MLPs, or attention to a part of the tokens"

/* Settings that nothing asks for (gpt-neox' configs/neox_arguments.md). A setting that stands nowhere is an error. */
/* Its words are others than those of NeMo's setting of that name. */
#define PRECISION "neox_precision"

struct reading {
    struct tsim_recipe *r;
};

/* "num-layers" and "num_layers" are one setting. */
static void add_leaf(void *context, const char *path, const struct tsim_value *value) {
    struct reading *g = context;
    char *key = tsim_arena_strdup(g->r->arena, path);
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    tsim_recipe_add(g->r, path, strcmp(key, "precision") == 0 ? PRECISION : key, value);
}

/* ---- names ---- */

static void rename_settings(struct reading *g) {
    static const char *const NAMES[][2] = {{"pipe_parallel_size", "pipeline_model_parallel_size"},
                                           {"model_parallel_size", "tensor_model_parallel_size"},
                                           {"train_micro_batch_size_per_gpu", "micro_batch_size"},
                                           {"no_weight_tying", "untie_embeddings_and_output_weights"},
                                           {"rotary_pct", "rotary_percent"},
                                           {"num_kv_heads", "num_key_value_heads"},
                                           {"qk_norm", "qk_layernorm"},
                                           {"zero_optimization.stage", "zero_stage"},
                                           {"optimizer.type", "optimizer"},
                                           {"gas", "gradient_accumulation_steps"},
                                           {"fp16.loss_scale_window", "loss_scale_window"},
                                           {"fp16.hysteresis", "hysteresis"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct tsim_setting *s = find(g->r, NAMES[i][0]);
        if (s && i == 0 && tsim_setting_is(s, "0")) /* no pipeline: not even DeepSpeed's */
            continue;
        add_as(g->r, s, NAMES[i][1]);
    }
}

/* ---- the model ---- */

static void add_norm(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "norm");
    const char *text = s ? tsim_setting_text(s) : "layernorm";
    if (strcmp(text, "rmsnorm") == 0 || strcmp(text, "te_rmsnorm") == 0)
        add(g->r, s, "normalization", "RMSNorm");
    else if (strcmp(text, "non_parametric_layernorm") == 0)
        tsim_recipe_not_modelled(g->r, s, "norms without parameters; tsim gives each its two vectors");
    else if (s && strcmp(text, "layernorm") != 0 && strcmp(text, "te_layernorm") != 0)
        tsim_recipe_refuse(g->r, s, "'%.40s' is neither layernorm nor rmsnorm", text);
}

static void add_positions(struct reading *g) {
    static const char *const KINDS[][2] = {
        {"learned", "learned_absolute"}, {"rotary", "rope"}, {"alibi", "alibi"}, {"none", "none"}};
    const struct tsim_setting *s = find(g->r, "pos_emb");
    for (size_t i = 0; s && i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (tsim_setting_is(s, KINDS[i][0])) {
            add(g->r, s, "position_embedding_type", KINDS[i][1]);
            return;
        }
    if (s)
        tsim_recipe_refuse(g->r, s, "positions of the kind '%.40s' are not modelled", tsim_setting_text(s));
}

/* The width of the block between its products. Gated blocks have two thirds of intermediate_size, rounded up, in two
 * halves; those of mlp_type llama, and gated of Stability AI's fork, two thirds of 4 x hidden_size
 * (megatron/model/transformer.py: ParallelMLP, LLaMAParallelMLP). */
static void add_feed_forward(struct reading *g) {
    const struct tsim_setting *activation = find(g->r, "activation"), *type = find(g->r, "mlp_type"),
                              *given = find(g->r, "intermediate_size"), *multiple = find(g->r, "mlp_multiple_of"),
                              *factor = find(g->r, "expansion_factor");
    const bool is_llama = tsim_setting_is(type, "llama") || tsim_setting_is(type, "gated"),
               is_gated = activation && strstr(tsim_setting_text(activation), "glu");
    const int64_t hidden = tsim_recipe_int(g->r, "hidden_size", 1, 10000000, 1),
                  unit = multiple   ? tsim_setting_int(g->r, multiple, 1, 1000000)
                         : is_llama ? 256
                                    : 1;
    int64_t width = given    ? tsim_setting_int(g->r, given, 1, 100000000)
                    : factor ? (int64_t)(tsim_setting_number(g->r, factor) * (double)hidden)
                             : 4 * hidden;
    if (type && !is_llama && !tsim_setting_is(type, "regular"))
        tsim_recipe_refuse(g->r, type, "a feed-forward block of the kind '%.40s' is not modelled",
                           tsim_setting_text(type));
    if (is_llama && !given)
        width = (2 * 4 * hidden / 3 + unit - 1) / unit * unit;
    else if (is_gated && !is_llama)
        width = (width * 2 / 3 + 2 * unit - 1) / (2 * unit) * unit;
    if (is_gated || is_llama)
        add(g->r, is_llama ? type : activation, "swiglu", "true");
    add(g->r, given ? given : type, "ffn_hidden_size", tsim_arena_printf(g->r->arena, "%lld", (long long)width));
}

static void add_vocabulary(struct reading *g) {
    const struct tsim_setting *type = find(g->r, "tokenizer_type"), *file = find(g->r, "vocab_file");
    const bool is_own = file && strstr(tsim_setting_text(file), "20B_tokenizer");
    if (find(g->r, "vocab_size") || find(g->r, "padded_vocab_size"))
        return;
    if (is_own) /* the Pile's has 50,277 tokens */
        add(g->r, file, "vocab_size", "50277");
    else if (!type || tsim_setting_is(type, "GPT2BPETokenizer"))
        add(g->r, type, "vocab_size", "50257");
}

/* ---- the rest ---- */

/* [[["flash"], 24]] lists kinds of attention and the number of layers of each. */
static void add_attention(struct reading *g) {
    static const char *const OTHERS[] = {
        "local", "sparse_variable", "sparse_fixed",   "bigbird", "bslongformer", "gmlp", "amlp",
        "rwkv",  "mamba",           "fastfeedforward"};
    const struct tsim_setting *s = find(g->r, "attention_config");
    for (size_t i = 0; s && i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (tsim_setting_lists(s, OTHERS[i])) {
            tsim_recipe_refuse(g->r, s, OTHER_LAYERS);
            return;
        }
    if (s && tsim_setting_lists(s, "flash"))
        add(g->r, s, "use_flash_attn", "true");
}

/* Older files say bfloat16 by fp16.type. */
static void add_precision(struct reading *g) {
    const struct tsim_setting *word = find(g->r, PRECISION), *type = find(g->r, "fp16.type");
    const bool says_bf16 =
        tsim_setting_is(word, "bfloat16") || tsim_setting_is(type, "bfloat16") || is_on(g->r, "bf16.enabled");
    if (says_bf16)
        add(g->r, word ? word : type, "bf16", "true");
    else if (is_on(g->r, "fp16.enabled") || tsim_setting_is(word, "fp16"))
        add(g->r, find(g->r, "fp16.enabled"), "fp16", "true");
}

static void add_ranks(struct reading *g, const struct tsim_setting *from, int64_t ranks) {
    const int64_t per_node = ranks < 8 ? ranks : 8;
    if (ranks < 1 || ranks % per_node != 0 || ranks > 1000000)
        return;
    add(g->r, from, "nnodes", tsim_arena_printf(g->r->arena, "%lld", (long long)(ranks / per_node)));
    add(g->r, from, "nproc_per_node", tsim_arena_printf(g->r->arena, "%lld", (long long)per_node));
}

/* Adds the machine in comments of published models' files: "(trained on 256 gpus)", "(assuming 96 GPUs)". */
static void add_preset(struct reading *g) {
    static const char *const BEFORE[] = {"trained on ", "assuming "};
    const char *text = g->r->document->text;
    for (size_t i = 0; i < sizeof BEFORE / sizeof BEFORE[0]; i++) {
        const char *at = strstr(text, BEFORE[i]), *number = at ? at + strlen(BEFORE[i]) : "";
        const size_t digits = strspn(number, "0123456789");
        int line = 1;
        for (const char *c = text; c < at; c++)
            line += *c == '\n';
        if (digits == 0 || digits > 6 || (strncmp(number + digits, " gpu", 4) && strncmp(number + digits, " GPU", 4)))
            continue;
        const struct tsim_setting from = {"comment", "comment", tsim_recipe_scalar(g->r, line, 1, ""), true, NULL};
        add_ranks(g, &from, strtoll(number, NULL, 10));
        return;
    }
}

/* The number of accelerators follows from the three sizes of the batch, if all are given. */
static void add_world(struct reading *g) {
    const struct tsim_setting *all = find(g->r, "train_batch_size"), *micro = find(g->r, "micro_batch_size"),
                              *steps = find(g->r, "gradient_accumulation_steps");
    if (all)
        add(g->r, all, "global_batch_size", tsim_setting_text(all));
    if (!micro)
        add(g->r, NULL, "micro_batch_size", "1");
    if (!all || !micro || !steps) {
        add_preset(g);
        return;
    }
    const int64_t total = tsim_setting_int(g->r, all, 1, 1000000000), each = tsim_setting_int(g->r, micro, 1, 1000000),
                  n = tsim_setting_int(g->r, steps, 1, 1000000), replicas = total / (each * n),
                  ranks = tsim_recipe_int(g->r, "tensor_model_parallel_size", 1, 10000, 1) *
                          tsim_recipe_int(g->r, "pipeline_model_parallel_size", 1, 10000, 1) * replicas;
    if (replicas > 0 && total % (each * n) == 0)
        add_ranks(g, all, ranks);
}

static void add_defaults(struct reading *g) {
    static const char *const DEFAULTS[][2] = {
        {"hidden_dropout", "0"}, {"attention_dropout", "0"}, {"deepspeed", "true"}};
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++)
        if (!find(g->r, DEFAULTS[i][0]))
            add(g->r, NULL, DEFAULTS[i][0], DEFAULTS[i][1]);
    const struct tsim_setting *biases = find(g->r, "use_bias_in_attn_linear"),
                              *offload = find(g->r, "zero_optimization.cpu_offload"),
                              *device = find(g->r, "zero_optimization.offload_optimizer.device");
    const struct tsim_setting *of_block = find(g->r, "use_bias_in_mlp");
    const bool has_none = biases && !tsim_setting_flag(g->r, biases);
    if (has_none || tsim_setting_is(find(g->r, "mlp_type"), "llama"))
        add(g->r, biases, "disable_bias_linear", "true");
    else if (of_block && !tsim_setting_flag(g->r, of_block)) {
        add(g->r, of_block, "disable_bias_linear", "true");
        add(g->r, of_block, "add_qkv_bias", "true");
    }
    if (offload && tsim_setting_flag(g->r, offload))
        add(g->r, offload, "optimizer_cpu_offload", "true");
    else if (tsim_setting_is(device, "cpu"))
        add(g->r, device, "optimizer_cpu_offload", "true");
}

/* Puts attention and feed-forward block side by side, with a norm each unless they share it. */
static void put_parallel_block(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "gpt_j_residual");
    if (!s || !tsim_setting_flag(g->r, s))
        return;
    tsim_recipe_put(g->r, "model.parallel_block", s, NULL, "true");
    tsim_recipe_put(g->r, "model.parallel_norms", s, NULL, is_on(g->r, "gpt_j_tied") ? "false" : "true");
}

/* DeepSpeed's own pipelines reduce behind the last pass, whatever overlap_comm says. */
static void put_overlap(struct reading *g, const struct tsim_gpt *gpt) {
    const struct tsim_setting *s = find(g->r, "zero_optimization.overlap_comm");
    if (s && gpt->pipeline == 1)
        tsim_recipe_put(g->r, "parallelism.overlap.gradients", s, NULL, tsim_setting_flag(g->r, s) ? "true" : "false");
}

enum tsim_status tsim_import_neox(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r};
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_MEGATRON};
    const struct tsim_value *root;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "GPT-NeoX", "gpt-neox", diags);
    tsim_recipe_each(&r, root, add_leaf, &g);
    if (tsim_recipe_accepts(&r)) {
        rename_settings(&g);
        add_norm(&g);
        add_positions(&g);
        if (find(g.r, "hidden_size"))
            add_feed_forward(&g);
        add_vocabulary(&g);
        add_attention(&g);
        add_precision(&g);
        add_world(&g);
        add_defaults(&g);
        tsim_gpt_build(&gpt);
        if (!gpt.is_given)
            put_parallel_block(&g);
        put_overlap(&g, &gpt);
    }
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
