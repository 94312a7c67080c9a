#include "import/launches/maxtext.h"

#include "base/among.h"
#include "config/recognize.h"
#include "config/text/document.h"
#include "import/launches/gpt.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_command.h"
#include "import/launches/launch_log.h"
#include "import/launches/launch_words.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"
#include "import/overrides.h"

#include <math.h>
#include <string.h>

/* A file of MaxText says what differs from MaxText/configs/base.yml, which `base_config` names; a log lists all
 * ("Config param steps: 100"). Degrees are products of those within a slice, or node, (ici) and between them (dcn). */

struct reading {
    struct tsim_recipe *r;
    int64_t tensor, pipeline, context, expert, fsdp, data; /* fsdp, data: -1, what is left */
    int64_t world, layers;
    int64_t devices; /* of an accelerator: the file counts these */
};

/* ---- degrees ---- */

/* Returns the degree within a slice times the degree between slices, or -1 if either of them is the rest. */
static int64_t degree(struct reading *g, const char *axis, int64_t within_otherwise, int64_t between_otherwise) {
    const struct tsim_setting *within = find(g->r, tsim_arena_printf(g->r->arena, "ici_%s_parallelism", axis)),
                              *between = find(g->r, tsim_arena_printf(g->r->arena, "dcn_%s_parallelism", axis));
    int64_t a = within ? tsim_setting_int(g->r, within, -1, 100000) : within_otherwise,
            b = between ? tsim_setting_int(g->r, between, -1, 100000) : between_otherwise;
    if (a == 0 || b == 0)
        tsim_recipe_error(g->r, a == 0 ? within : between, "0 is no degree: 1 or more, or -1 for what is left");
    return a < 0 || b < 0 ? -1 : a * b;
}

/* Returns the world size if the ranks of both axes that may be left open are said, else 0. */
static int64_t said_world(const struct reading *g) {
    const int64_t model = g->tensor * g->pipeline * g->context * g->expert;
    return g->fsdp > 0 && g->data > 0 ? model * g->fsdp * g->data : 0;
}

/* Returns the accelerator of the node that is given; NULL: none is. */
static const struct tsim_accelerator *given_accelerator(struct reading *g) {
    const char *id = tsim_import_override(&g->r->input, "cluster.node");
    const struct tsim_node *node = NULL;
    struct tsim_diags unused;
    tsim_diags_init(&unused);
    if (id && tsim_catalogue_load_node(g->r->arena, id, &node, &unused) != TSIM_OK)
        node = NULL;
    tsim_diags_release(&unused);
    return node ? node->accelerator : NULL;
}

/* Returns how many devices JAX shows in an accelerator of the node that is given. */
static int64_t devices_of(struct reading *g) {
    const struct tsim_accelerator *a = given_accelerator(g);
    return a && a->known_as && a->known_as->devices > 1 ? a->known_as->devices : 1;
}

/* Refuses degrees that divide the work among the devices of one accelerator. Degrees of data alone do not. */
static void check_devices(struct reading *g) {
    g->devices = devices_of(g);
    if (g->devices == 1)
        return;
    if (g->tensor * g->pipeline * g->context * g->expert > 1)
        tsim_recipe_error(g->r, NULL,
                          "the file counts devices, of which an accelerator has %lld, and tsim accelerators: it reads "
                          "degrees of data and fsdp alone",
                          (long long)g->devices);
    if (g->fsdp > 0 && g->fsdp % g->devices == 0)
        g->fsdp /= g->devices;
    else if (g->data > 0 && g->data % g->devices == 0)
        g->data /= g->devices;
}

/* A TPU's slice is given by its size; a node of GPUs has eight. -1 stands for all that --gpus leaves. */
static void put_cluster(struct reading *g) {
    const int64_t model = g->tensor * g->pipeline * g->context * g->expert,
                  known = (g->fsdp > 0 ? g->fsdp : 1) * (g->data > 0 ? g->data : 1) * model;
    const struct tsim_setting *logged = find(g->r, "Num_devices"), *topology = find(g->r, "compile_topology");
    const char *dash = topology ? strrchr(tsim_setting_text(topology), '-') : NULL;
    int64_t said = said_world(g), slice = 0;
    if (logged)
        said = tsim_setting_int(g->r, logged, 1, 10000000) / g->devices;
    else if (dash && tsim_setting_parse_int(dash + 1, &slice) && slice > 0 && slice < 1000000)
        said = slice * tsim_recipe_int(g->r, "compile_topology_num_slices", -1, 100000, 1);
    struct tsim_setting nodes = {"parallelism", "nnodes", NULL, true, NULL};
    const struct tsim_setting *visible = find(g->r, "visible_devices"), *each = NULL;
    int64_t seen = visible ? 1 : 0;
    for (const char *c = visible ? tsim_setting_text(visible) : ""; *c; c++)
        seen += *c == ',';
    if (seen > 0 && seen < 8 && said == 0 && g->r->input.gpus == 0) { /* a part of one node */
        said = seen;
        nodes.value = tsim_value_new_scalar(g->r->arena, visible->value, "1");
        add_int(g->r, visible, "nproc_per_node", seen);
        each = find(g->r, "nproc_per_node");
    }
    if (said >= 8 && said % 8 == 0 && g->r->input.gpus == 0)
        nodes.value = tsim_value_new_scalar(g->r->arena, logged ? logged->value : &g->r->at_top,
                                            tsim_arena_printf(g->r->arena, "%lld", (long long)(said / 8)));
    int64_t least = said > 0 ? said : known < 8 ? 8 : known;
    g->world = tsim_recipe_put_cluster(g->r, nodes.value ? &nodes : NULL, each, find(g->r, "machine"), least);
    if (said > 0)
        g->r->assumed_gpus = 0;
    if (g->world % model != 0)
        tsim_recipe_error(g->r, NULL, "%lld accelerators are no multiple of the %lld that one replica takes",
                          (long long)g->world, (long long)model);
    else if (said > 0 && g->world != said)
        tsim_recipe_error(g->r, NULL, "%lld accelerators, but its axes are %lld", (long long)g->world, (long long)said);
}

/* ---- the model ---- */

static void put_int(struct reading *g, const char *path, const char *key, int64_t otherwise) {
    const struct tsim_setting *s = find(g->r, key);
    tsim_recipe_put(g->r, path, s, s ? NULL : "MaxText's default", "%lld",
                    (long long)(s ? tsim_setting_int(g->r, s, 1, INT64_C(1000000000)) : otherwise));
}

static const struct block {
    const char *name; /* of decoder_block */
    bool has_qk_norm, has_post_norms, is_gpt3;
    int64_t each,
        period; /* layers of one of base_num_decoder_layers; every so manieth has no window, 0: none has one */
} BLOCKS[] = {{"default", false, false, false, 1, 0},  {"llama2", false, false, false, 1, 0},
              {"mistral", false, false, false, 1, 0},  {"mixtral", false, false, false, 1, 0},
              {"gemma", false, false, false, 1, 0},    {"gemma2", false, true, false, 2, 2},
              {"gemma3", true, true, false, 1, 6},     {"gpt_oss", false, false, false, 1, 2},
              {"qwen2", false, false, false, 1, 0},    {"qwen3", true, false, false, 1, 0},
              {"qwen3_moe", true, false, false, 1, 0}, {"deepseek", false, false, false, 1, 0},
              {"gpt3", false, false, true, 1, 0}};

static const struct block *known_block(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "decoder_block");
    const char *text = s ? tsim_setting_text(s) : "llama2";
    for (size_t i = 0; i < sizeof BLOCKS / sizeof BLOCKS[0]; i++)
        if (strcmp(BLOCKS[i].name, text) == 0)
            return &BLOCKS[i];
    return NULL;
}

static const struct block *block_of(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "decoder_block");
    const struct block *block = known_block(g);
    const char *text = s ? tsim_setting_text(s) : "llama2";
    if (block)
        return block;
    tsim_diag_hint(tsim_recipe_error(g->r, s, "tsim does not know the sizes of the layers '%.40s'", text),
                   "name the model with --model ID or --hf CONFIG");
    return NULL;
}

static void put_experts(struct reading *g) {
    const struct tsim_setting *count = find(g->r, "num_experts"), *shared = find(g->r, "shared_experts");
    const struct tsim_setting *block = find(g->r, "decoder_block");
    bool is_deepseek = tsim_setting_is(block, "deepseek");
    find(g->r, "interleave_moe_layer_step");
    if (!count || tsim_setting_int(g->r, count, 1, 100000) < 2)
        return;
    put_int(g, "model.experts.count", "num_experts", 1);
    put_int(g, "model.experts.active", "num_experts_per_tok", 1);
    put_int(g, "model.experts.ffn_hidden", find(g->r, "base_moe_mlp_dim") ? "base_moe_mlp_dim" : "base_mlp_dim", 7168);
    if (is_deepseek)
        tsim_recipe_put(g->r, "model.experts.shared", shared, shared ? NULL : "MaxText's default", "%lld",
                        (long long)(shared ? tsim_setting_int(g->r, shared, 0, 100000) : 1));
    int64_t first = tsim_recipe_int(g->r, "first_num_dense_layers", 0, 100000, 0);
    if (first > 0)
        tsim_recipe_put_int(g->r, "model.experts.first", find(g->r, "first_num_dense_layers"), first);
    if (tsim_recipe_flag(g->r, "routed_bias", false))
        tsim_recipe_put(g->r, "model.experts.router_bias", find(g->r, "routed_bias"), NULL, "true");
    if (find(g->r, "mlp_activations_limit") && tsim_setting_number(g->r, find(g->r, "mlp_activations_limit")) > 0)
        tsim_recipe_put(g->r, "model.experts.limited", find(g->r, "mlp_activations_limit"), NULL, "true");
}

static void put_latent(struct reading *g) {
    const struct tsim_setting *type = find(g->r, "attention_type");
    if (!tsim_setting_is(type, "mla")) {
        if (type && !tsim_setting_is(type, "global") && !tsim_setting_is(type, "local_sliding"))
            tsim_recipe_refuse(g->r, type, "attention of the kind '%.40s' is not read", tsim_setting_text(type));
        return;
    }
    put_int(g, "model.latent.kv_rank", "kv_lora_rank", 512);
    if (tsim_recipe_int(g->r, "q_lora_rank", 0, 1000000, 0) > 0)
        put_int(g, "model.latent.query_rank", "q_lora_rank", 1);
    put_int(g, "model.latent.rope_dim", "qk_rope_head_dim", 64);
    put_int(g, "model.head_dim", "v_head_dim", 128);
    if (tsim_recipe_int(g->r, "qk_nope_head_dim", 1, 1000000, 128) !=
        tsim_recipe_int(g->r, "v_head_dim", 1, 1000000, 128))
        put_int(g, "model.latent.nope_dim", "qk_nope_head_dim", 128);
}

static void put_windows(struct reading *g, const struct block *block) {
    const struct tsim_setting *window = find(g->r, "sliding_window_size"), *type = find(g->r, "attention_type");
    if (!window || tsim_setting_int(g->r, window, 0, 1000000000) == 0 ||
        (block->period == 0 && !tsim_setting_is(type, "local_sliding")))
        return;
    tsim_recipe_put_window(g->r, window, tsim_setting_int(g->r, window, 1, 1000000000), block->period);
}

/* Writes a model from the sizes base_*; base.yml gives what is not said. */
static void put_sizes(struct reading *g) {
    const struct block *block = block_of(g);
    const struct tsim_setting *layers = find(g->r, "base_num_decoder_layers"),
                              *activations = find(g->r, "mlp_activations"), *tied = find(g->r, "logits_via_embedding");
    if (!block)
        return;
    bool is_gated =
        !activations || (activations->value->kind == TSIM_VALUE_SEQUENCE && activations->value->n_items == 2);
    g->layers = (layers ? tsim_setting_int(g->r, layers, 1, 4096) : 16) * block->each;
    tsim_recipe_put(g->r, "model.name", NULL, NULL, "%s",
                    tsim_recipe_name(g->r->arena, g->r->document->file, "imported"));
    tsim_recipe_put(g->r, "model.kind", NULL, NULL, "transformer");
    tsim_recipe_put(g->r, "model.layers", layers, block->each > 1 ? "two of each" : NULL, "%lld", (long long)g->layers);
    put_int(g, "model.hidden", "base_emb_dim", 2048);
    put_int(g, "model.heads", "base_num_query_heads", 16);
    put_int(g, "model.kv_heads", "base_num_kv_heads", 16);
    put_int(g, "model.head_dim", "head_dim", 128);
    put_int(g, "model.ffn_hidden", "base_mlp_dim", 7168);
    put_int(g, "model.vocab", "vocab_size", 32000);
    tsim_recipe_put(g->r, "model.gated_mlp", activations, activations ? NULL : "MaxText's default",
                    is_gated ? "true" : "false");
    tsim_recipe_put(g->r, "model.norm", find(g->r, "decoder_block"), NULL, block->is_gpt3 ? "layernorm" : "rmsnorm");
    tsim_recipe_put(g->r, "model.tied_embeddings", tied, tied ? NULL : "MaxText's default",
                    tied && tsim_setting_flag(g->r, tied) ? "true" : "false");
    tsim_recipe_put(g->r, "model.bias", find(g->r, "decoder_block"), NULL, block->is_gpt3 ? "true" : "false");
    if (block->is_gpt3) {
        tsim_recipe_put(g->r, "model.position", find(g->r, "trainable_position_size"), NULL, "learned");
        put_int(g, "model.positions", "trainable_position_size", 2048);
    } else {
        tsim_recipe_put(g->r, "model.position", NULL, "MaxText's default", "rope");
    }
    if (block->has_qk_norm || tsim_recipe_flag(g->r, "use_qk_norm", false))
        tsim_recipe_put(g->r, "model.qk_norm", find(g->r, "use_qk_norm"), NULL, "true");
    if (block->has_post_norms || tsim_recipe_flag(g->r, "use_post_attn_norm", false))
        tsim_recipe_put(g->r, "model.post_norms", find(g->r, "use_post_attn_norm"), NULL, "true");
    find(g->r, "use_post_ffw_norm");
    if (tsim_recipe_flag(g->r, "attention_bias", false))
        tsim_recipe_put(g->r, "model.qkv_bias", find(g->r, "attention_bias"), NULL, "true");
    const bool has_all_biases = strcmp(block->name, "gpt_oss") == 0 && tsim_recipe_flag(g->r, "mlp_bias", false);
    if (has_all_biases)
        tsim_recipe_put(g->r, "model.bias", find(g->r, "mlp_bias"), NULL, "true");
    else if (tsim_recipe_flag(g->r, "mlp_bias", false))
        tsim_recipe_refuse(g->r, find(g->r, "mlp_bias"), "biases of the feed-forward block alone");
    if (tsim_recipe_flag(g->r, "rope_attention_scaling", false))
        tsim_recipe_put(g->r, "model.rotary_scaled", find(g->r, "rope_attention_scaling"), NULL, "true");
    put_windows(g, block);
    if (tsim_recipe_flag(g->r, "attention_sink", false))
        tsim_recipe_put(g->r, "model.sinks", find(g->r, "attention_sink"), NULL, "true");
    put_experts(g);
    put_latent(g);
}

static bool is_size(const char *key) {
    static const char *const SIZES[] = {"base_emb_dim",
                                        "base_num_query_heads",
                                        "base_num_kv_heads",
                                        "base_mlp_dim",
                                        "base_num_decoder_layers",
                                        "head_dim",
                                        "mlp_activations",
                                        "vocab_size",
                                        "decoder_block",
                                        "base_moe_mlp_dim",
                                        "num_experts",
                                        "num_experts_per_tok",
                                        "first_num_dense_layers",
                                        "shared_experts",
                                        "routed_bias",
                                        "attention_type",
                                        "q_lora_rank",
                                        "kv_lora_rank",
                                        "qk_nope_head_dim",
                                        "qk_rope_head_dim",
                                        "v_head_dim",
                                        "sliding_window_size",
                                        "use_qk_norm",
                                        "use_post_attn_norm",
                                        "use_post_ffw_norm",
                                        "attention_bias",
                                        "mlp_bias",
                                        "trainable_position_size",
                                        "chunk_attn_window_size",
                                        "interleave_moe_layer_step",
                                        "emb_dim",
                                        "num_query_heads",
                                        "num_kv_heads",
                                        "mlp_dim",
                                        "moe_mlp_dim",
                                        "num_decoder_layers"};
    return TSIM_IS_AMONG(key, SIZES);
}

/* Tells whether the sizes are those of the model of that name: then the file is the model's own. */
static bool are_its_own(struct reading *g, const char *id) {
    const struct tsim_model *model;
    return id && tsim_catalogue_load_model(g->r->arena, id, &model, g->r->diags) == TSIM_OK &&
           tsim_recipe_int(g->r, "base_emb_dim", 1, 10000000, 0) == model->hidden &&
           tsim_recipe_int(g->r, "base_num_decoder_layers", 1, 100000, 0) == model->layers &&
           tsim_recipe_int(g->r, find(g->r, "base_mlp_dim") ? "base_mlp_dim" : "base_moe_mlp_dim", 1, 10000000, 0) ==
               model->ffn_hidden &&
           tsim_recipe_int(g->r, "base_num_query_heads", 1, 1000000, 0) == model->heads &&
           tsim_recipe_int(g->r, "num_experts", 1, 100000, 1) == (model->experts.count > 0 ? model->experts.count : 1);
}

/* Checks sizes beside a model's name: in a log they are those of the model's file, elsewhere they change the model. */
static void check_sizes(struct reading *g, bool is_given) {
    for (size_t i = 0; i < g->r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        struct tsim_setting *s = &g->r->settings[i];
        if (!is_size(s->key))
            continue;
        s->is_used = true;
        if (!g->r->lists_all && !is_given)
            tsim_recipe_refuse(g->r, s,
                               "changes the model that model_name names: give the change with --set model.KEY=VALUE");
    }
}

static void put_model(struct reading *g) {
    const struct tsim_setting *name = find(g->r, "model_name");
    bool is_given = tsim_import_override(&g->r->input, "model") != NULL,
         is_named = name && !tsim_setting_is(name, "default") && (is_given || !tsim_setting_is_lost(g->r, name));
    const char *id = is_named ? tsim_known_model(g->r, tsim_setting_text(name)) : NULL;
    if (is_named || is_given)
        check_sizes(g, is_given || are_its_own(g, id));
    const struct tsim_model *model;
    if (!is_named && !is_given && !known_block(g)) { /* a file of a model of the catalogue, by its own name */
        id = tsim_known_model(g->r, tsim_recipe_name(g->r->arena, g->r->document->file, ""));
        id = are_its_own(g, id) ? id : NULL;
        name = id ? find(g->r, "decoder_block") : name;
        if (id)
            check_sizes(g, true);
    }
    if (id)
        tsim_recipe_put(g->r, "model", name, NULL, "%s", id);
    else if (is_named && !is_given && !tsim_put_hub_model(g->r, name, tsim_setting_text(name)))
        tsim_diag_hint(tsim_recipe_error(g->r, name, "'%.60s' is no model of the catalogue", tsim_setting_text(name)),
                       "name the model with --model ID or --hf CONFIG");
    else if (!is_named && !is_given)
        put_sizes(g);
    if (g->layers == 0 && (is_named || is_given) && (model = tsim_recipe_model(g->r)))
        g->layers = model->layers;
}

/* ---- training ---- */

/* A step has per_device_batch_size x devices samples, and a replica those of its tensor, context and stage ranks. */
static void put_batch(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "per_device_batch_size"),
                              *parts = find(g->r, "num_pipeline_microbatches");
    const int64_t each_of = g->tensor * g->pipeline * g->context,
                  steps = tsim_recipe_int(g->r, "gradient_accumulation_steps", 1, 100000, 1);
    double each = (s ? tsim_setting_number(g->r, s) : 12) * (double)g->devices, pass = each * (double)each_of;
    int64_t n = parts ? tsim_setting_int(g->r, parts, -1, 100000) : -1;
    n = g->pipeline == 1 ? 1 : n > 0 ? n : g->pipeline;
    pass /= (double)n;
    if (!(pass >= 1 && pass < 1e6) || fabs(pass - round(pass)) > 1e-9) {
        tsim_recipe_error(g->r, s,
                          "%g samples a device are %g of a pass on the %lld ranks of a replica, no whole number", each,
                          pass, (long long)each_of);
        return;
    }
    tsim_recipe_put(g->r, "training.micro_batch_size", s,
                    each_of > 1      ? "x ranks of a replica"
                    : g->devices > 1 ? "x devices of an accelerator"
                    : s              ? NULL
                                     : "MaxText's default",
                    "%.0f", pass);
    tsim_recipe_put(g->r, "training.global_batch_size", s, "x accelerators", "%.0f",
                    round(pass) * (double)(n * steps) * ((double)g->world / (double)each_of));
}

static void put_precision(struct reading *g) {
    const struct tsim_setting *type = find(g->r, "dtype"), *low = find(g->r, "quantization"),
                              *kept = find(g->r, "weight_dtype"), *gradients = find(g->r, "grad_dtype");
    const char *text = type ? tsim_setting_text(type) : "bfloat16", *word = low ? tsim_setting_text(low) : "";
    bool is_fp8 = strstr(word, "fp8") != NULL;
    const char *known = tsim_launch_ours(tsim_torch_types, tsim_arena_printf(g->r->arena, "torch.%s", text));
    if (!known)
        tsim_recipe_refuse(g->r, type, "'%.40s' is neither bfloat16 nor float16 nor float32", text);
    if (*word && !is_fp8)
        tsim_recipe_refuse(g->r, low, "products in '%.40s' are not modelled: fp8 is", word);
    tsim_recipe_put(g->r, "training.precision", is_fp8 ? low : type, is_fp8 || type ? NULL : "MaxText's default", "%s",
                    strstr(word, "mxfp8") ? "mxfp8"
                    : is_fp8              ? "fp8"
                    : known               ? known
                                          : "bf16");
    if (tsim_setting_is(kept, "bfloat16"))
        tsim_recipe_put(g->r, "training.master_weights", kept, NULL, "false");
    if (tsim_setting_is(gradients, "float32"))
        tsim_recipe_put(g->r, "training.gradient_precision", gradients, NULL, "fp32");
    else if (tsim_setting_is(gradients, "bfloat16"))
        tsim_recipe_put(g->r, "training.gradient_precision", gradients, NULL, "bf16");
}

/* The results that a layer keeps on the accelerator, or on the host, are counted. */
struct kept {
    int64_t on_device, on_host;
};

static bool is_kept(struct reading *g, struct kept *kept, const char *name, const char *otherwise) {
    const struct tsim_setting *s = find(g->r, name);
    const char *place = s ? tsim_setting_text(s) : otherwise;
    kept->on_device += strcmp(place, "device") == 0;
    kept->on_host += strcmp(place, "offload") == 0;
    if (!TSIM_IS_ONE_OF(place, "device", "offload", "remat"))
        tsim_recipe_error(g->r, s, "'%.40s' is none of device, offload and remat", place);
    return strcmp(place, "device") == 0 || strcmp(place, "offload") == 0;
}

static void put_parts(struct reading *g, const struct tsim_setting *s, const char *const *parts, size_t n) {
    enum { MOST_PARTS = 8 };
    const char *all[MOST_PARTS];
    const struct tsim_model *model = tsim_recipe_model(g->r);
    size_t n_all = 0;
    for (size_t i = 0; i < n && n_all + 1 < MOST_PARTS; i++) {
        all[n_all++] = parts[i];
        if (strcmp(parts[i], "ffn") == 0 && model && model->experts.count > 0)
            all[n_all++] = "experts";
    }
    tsim_recipe_put_list(g->r, "training.recompute", s, all, n_all);
}

/* Puts a policy that says of each result whether it is kept (base.yml, remat_policy: custom). */
static void put_custom(struct reading *g, const struct tsim_setting *s) {
    static const char *const PROJECTIONS[] = {"query_proj", "key_proj", "value_proj"};
    struct kept kept = {0, 0};
    const char *parts[4] = {"norms"};
    size_t n = 1, n_projections = 0;
    is_kept(g, &kept, "decoder_layer_input", "device");
    bool has_others = false;
    for (size_t i = 0; i < g->r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        struct tsim_setting *other = &g->r->settings[i];
        const struct tsim_setting_class *class = tsim_setting_class_of(other->key, other->value, &g->r->classes);
        if (class || other->is_used || !TSIM_IS_ONE_OF(tsim_setting_text(other), "device", "offload", "remat"))
            continue; /* what remains is a result of another version of the program */
        other->is_used = true;
        has_others |= is_kept(g, &kept, other->key, "remat");
    }
    for (size_t i = 0; i < sizeof PROJECTIONS / sizeof PROJECTIONS[0]; i++)
        n_projections += is_kept(g, &kept, PROJECTIONS[i], "remat");
    const bool has_context = is_kept(g, &kept, "context", "remat"), has_output = is_kept(g, &kept, "out_proj", "remat"),
               has_fused = is_kept(g, &kept, "mlpwi", "remat"), has_gate = is_kept(g, &kept, "mlpwi_0", "remat"),
               has_up = is_kept(g, &kept, "mlpwi_1", "remat"), has_down = is_kept(g, &kept, "mlpwo", "remat"),
               has_ffn = (has_fused || (has_gate && has_up)) && has_down;
    if (!has_context)
        parts[n++] = "attention";
    if (!has_output)
        parts[n++] = "output";
    parts[n++] = has_ffn ? "activation" : "ffn";
    if (n_projections == 3)
        put_parts(g, s, parts, n);
    else
        tsim_recipe_put(g->r, "training.recompute", s, NULL, "full");
    const bool has_more =
        has_others          ? true
        : n_projections < 3 ? n_projections || has_context || has_output || has_fused || has_gate || has_up || has_down
                            : !has_ffn && (has_fused || has_gate || has_up || has_down);
    if (has_more)
        tsim_recipe_not_modelled(g->r, s, "more is kept than training.recompute can say; tsim recomputes the rest");
    if (kept.on_host > 0 && kept.on_device > 0)
        tsim_recipe_refuse(g->r, s,
                           "some results are kept on the host and others on the accelerator, which tsim does not have");
    else if (kept.on_host > 0)
        tsim_recipe_put(g->r, "training.offload.activations", s, NULL, "100 %%");
}

/* Policies by what of a layer is computed again (MaxText/layers/decoders.py, get_remat_policy); proj is of 2023. */
static void put_recompute(struct reading *g) {
    enum { MOST_PARTS = 4 };
    static const struct {
        const char *policy, *ours, *why; /* ours: NULL is its parts; why: it is not quite so */
        const char *parts[MOST_PARTS];
    } POLICIES[] = {
        {"full", "full", NULL, {NULL}},
        {"none", "none", NULL, {NULL}},
        {"minimal", NULL, NULL, {"attention", "norms", "activation"}},
        {"minimal_flash", NULL, NULL, {"norms", "activation"}},
        {"minimal_with_context", NULL, NULL, {"norms", "activation"}},
        {"minimal_with_context_and_quantization", NULL, NULL, {"norms", "activation"}},
        {"save_dot_with_context_except_mlp", NULL, NULL, {"norms", "ffn"}},
        {"save_dot_except_mlp", NULL, NULL, {"attention", "norms", "ffn"}},
        {"save_dot_except_mlpwi",
         NULL,
         "the last product of the feed-forward block is kept; tsim recomputes it",
         {"attention", "norms", "ffn"}},
        {"save_qkv_proj", NULL, NULL, {"attention", "output", "norms", "ffn"}},
        {"proj", "full", "what the projections of attention give is kept; tsim recomputes it", {NULL}},
        {"save_out_proj", "full", "what the last projection of attention gives is kept; tsim recomputes it", {NULL}}};
    const struct tsim_setting *s = find(g->r, "remat_policy");
    const char *text = s ? tsim_setting_text(s) : "full";
    if (strcmp(text, "custom") == 0) {
        put_custom(g, s);
        return;
    }
    for (size_t i = 0; i < sizeof POLICIES / sizeof POLICIES[0]; i++) {
        if (strcmp(POLICIES[i].policy, text) != 0)
            continue;
        size_t n = 0;
        while (n < MOST_PARTS && POLICIES[i].parts[n])
            n++;
        if (POLICIES[i].ours)
            tsim_recipe_put(g->r, "training.recompute", s, s ? NULL : "MaxText's default", "%s", POLICIES[i].ours);
        else
            put_parts(g, s, POLICIES[i].parts, n);
        if (POLICIES[i].why)
            tsim_recipe_not_modelled(g->r, s, "%s", POLICIES[i].why);
        return;
    }
    tsim_diag_hint(tsim_recipe_error(g->r, s, "tsim does not know what the policy '%.60s' keeps, or where", text),
                   "--ignore remat_policy and --set training.recompute=full, selective, none or a list of parts");
}

static void put_training(struct reading *g) {
    const struct tsim_setting *steps = find(g->r, "steps"), *optimizer = find(g->r, "opt_type"),
                              *attention = find(g->r, "attention"), *sft = find(g->r, "use_sft");
    const char *name = optimizer ? tsim_setting_text(optimizer) : "adamw";
    put_int(g, "training.sequence_length", "max_target_length", 2048);
    if (sft && tsim_setting_flag(g->r, sft))
        tsim_recipe_put(g->r, "training.kind", sft, NULL, "sft");
    put_batch(g);
    put_precision(g);
    if (strncmp(name, "adam", 4) != 0 && strcmp(name, "sgd") != 0 && strcmp(name, "muon") != 0)
        tsim_recipe_refuse(g->r, optimizer, "the optimizer '%.40s' is not modelled: its states and its step", name);
    else
        tsim_recipe_put(g->r, "training.optimizer", optimizer, optimizer ? NULL : "MaxText's default", "%s",
                        name[0] == 'a' ? "adamw" : name);
    put_recompute(g);
    if (steps && tsim_setting_int(g->r, steps, -1, INT64_C(1000000000000)) > 0)
        tsim_recipe_put_int(g->r, "training.steps", steps, tsim_setting_int(g->r, steps, 1, INT64_C(1000000000000)));
    if (tsim_setting_is(attention, "dot_product"))
        tsim_recipe_put(g->r, "training.attention", attention, NULL, "standard");
}

/* ---- parallelism ---- */

static void put_pipeline(struct reading *g) {
    const int64_t per_stage = tsim_recipe_int(g->r, "num_layers_per_pipeline_stage", 1, 4096, 1),
                  all = g->pipeline * per_stage;
    const struct tsim_setting *s = find(g->r, "num_layers_per_pipeline_stage"),
                              *repeats = find(g->r, "num_pipeline_repeats");
    int64_t n = repeats ? tsim_setting_int(g->r, repeats, -1, 4096) : -1;
    if (n < 1 && g->layers > 0)
        n = g->layers % all == 0 ? g->layers / all : 0;
    tsim_recipe_put_int(g->r, "parallelism.pipeline", find(g->r, "ici_pipeline_parallelism"), g->pipeline);
    if (n < 1) {
        tsim_recipe_error(g->r, s, "%lld layers are no multiple of %lld stages of %lld", (long long)g->layers,
                          (long long)g->pipeline, (long long)per_stage);
        return;
    }
    tsim_recipe_put(g->r, "parallelism.schedule", repeats ? repeats : s, NULL, n > 1 ? "interleaved" : "gpipe");
    if (n > 1) {
        tsim_recipe_put_int(g->r, "parallelism.virtual_pipeline", repeats ? repeats : s, n);
        tsim_recipe_not_modelled(g->r, repeats ? repeats : find(g->r, "ici_pipeline_parallelism"),
                                 "stages run in a loop of the compiler's, forward and then backward: interleaved here");
    }
}

static void put_parallelism(struct reading *g) {
    const int64_t ranks = g->world / (g->tensor * g->pipeline);
    tsim_recipe_put_int(g->r, "parallelism.tensor", find(g->r, "ici_tensor_parallelism"), g->tensor);
    if (g->pipeline > 1)
        put_pipeline(g);
    if (g->context > 1)
        tsim_recipe_put_int(g->r, "parallelism.context", find(g->r, "ici_context_parallelism"), g->context);
    if (g->expert > 1)
        tsim_recipe_put_int(g->r, "parallelism.expert", find(g->r, "ici_expert_parallelism"), g->expert);
    bool is_sharded = g->fsdp != 1;
    tsim_recipe_put(g->r, "parallelism.zero", find(g->r, "ici_fsdp_parallelism"),
                    !is_sharded       ? "replicas alone"
                    : g->pipeline > 1 ? "gathered once a step in a pipeline"
                                      : "fully sharded",
                    !is_sharded       ? "0"
                    : g->pipeline > 1 ? "2"
                                      : "3");
    int64_t shards = g->fsdp > 0                           ? g->fsdp * g->context * g->expert
                     : g->data > 0 && ranks % g->data == 0 ? ranks / g->data
                                                           : ranks;
    if (is_sharded && shards < ranks && shards > 1)
        tsim_recipe_put_int(g->r, "parallelism.zero_group", find(g->r, "ici_fsdp_parallelism"), shards);
}

/* Puts the blocks and tiles of kernels. Blocks that base.yml sets differently are those of Google's recipes in the
 * profile; its tiles are those of base.yml. */
static void put_blocks(struct reading *g) {
    enum { BASE_BLOCK = 512 };
    static const struct {
        const char *setting, *path;
        int64_t base; /* what base.yml has; 0: the profile has it */
    } SIZES[] = {{"sa_block_q", "software.attention_blocks.queries", BASE_BLOCK},
                 {"sa_block_kv", "software.attention_blocks.keys", BASE_BLOCK},
                 {"sa_block_q_dkv", "software.attention_blocks.backward_queries", BASE_BLOCK},
                 {"sa_block_kv_dkv", "software.attention_blocks.backward_keys", BASE_BLOCK},
                 {"tile_batch_seq", "software.expert_tiles.rows", 0},
                 {"tile_batch_seq", "software.expert_tiles.weight_gradient_rows", 0},
                 {"wi_tile_fwd_batch_seq", "software.expert_tiles.rows", 0},
                 {"wi_tile_drhs_batch_seq", "software.expert_tiles.weight_gradient_rows", 0}};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        const struct tsim_setting *s = find(g->r, SIZES[i].setting);
        int64_t tokens = s ? tsim_setting_int(g->r, s, 1, INT64_C(1000000000)) : SIZES[i].base;
        if (tokens > 0)
            tsim_recipe_put(g->r, SIZES[i].path, s, s ? NULL : "MaxText's default", "%lld", (long long)tokens);
    }
}

/* Without sparse products and without buffers of a fixed length each expert computes all tokens (layers/moe.py,
 * dense_matmul). */
static void check_experts(struct reading *g) {
    const struct tsim_setting *sparse = find(g->r, "sparse_matmul"), *length = find(g->r, "capacity_factor");
    const struct tsim_model *model = tsim_recipe_model(g->r);
    if (model && model->experts.count > 0 && sparse && !tsim_setting_flag(g->r, sparse) &&
        !(length && tsim_setting_number(g->r, length) > 0))
        tsim_recipe_refuse(g->r, sparse,
                           "each expert computes all tokens, because capacity_factor gives its buffer no "
                           "length; tsim has no such products");
    if (length && tsim_setting_number(g->r, length) > 0)
        tsim_recipe_not_modelled(g->r, length,
                                 "experts have buffers of a fixed length: add --set model.experts.capacity_factor=%s",
                                 tsim_setting_text(length));
}

/* The head takes its tokens in pieces, and its backward pass scans over them again (utils/vocabulary_tiling.py). */
static void put_head_pieces(struct reading *g) {
    int64_t pieces = tsim_recipe_int(g->r, "num_vocab_tiling", 1, INT64_C(1000000), 1),
            tokens = tsim_recipe_int(g->r, "max_target_length", 1, INT64_C(1000000000), 2048);
    const struct tsim_setting *s = find(g->r, "num_vocab_tiling");
    if (pieces == 1)
        return;
    tsim_recipe_put_int(g->r, "software.head_tokens", s, (tokens + pieces - 1) / pieces);
    tsim_recipe_put(g->r, "software.recomputes_logits", s, NULL, "true");
}

/* TPUs are MaxText's default, and nothing but the user says which. */
static void put_software(struct reading *g) {
    const char *node = tsim_import_override(&g->r->input, "cluster.node");
    const struct tsim_setting *hardware = find(g->r, "hardware");
    const struct tsim_accelerator *accelerator = given_accelerator(g);
    const bool is_tpu = accelerator && accelerator->vendor && strcmp(accelerator->vendor, "Google") == 0;
    tsim_recipe_put(g->r, "software.extends", NULL, "MaxText", is_tpu ? "maxtext-tpu-2025" : "maxtext-2024");
    const struct tsim_setting *fused = find(g->r, "sa_use_fused_bwd_kernel"),
                              *tokamax = find(g->r, "use_tokamax_splash");
    if (is_tpu && !(fused && tsim_setting_flag(g->r, fused)) && !(tokamax && tsim_setting_flag(g->r, tokamax)))
        tsim_recipe_put(g->r, "software.splits_attention_backward", fused, fused ? NULL : "MaxText's default", "true");
    if (is_tpu)
        put_blocks(g);
    put_head_pieces(g);
    if (!node && (!hardware || tsim_setting_is(hardware, "tpu")))
        tsim_value_warning(
            g->r->diags, &g->r->at_top, "",
            "without 'hardware: gpu' it is for TPUs, and it does not say which: --node tpu-v5p-host, for example");
}

/* Settings of a pipeline say nothing if there is none. */
static void drop_unused(struct tsim_recipe *r) {
    static const char *const DEGREES[] = {"ici_pipeline_parallelism", "dcn_pipeline_parallelism"};
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0]; i++) {
        const struct tsim_setting *s = find(r, DEGREES[i]);
        if (s && !tsim_setting_is(s, "1"))
            return;
    }
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (TSIM_IS_ONE_OF(r->settings[i].key, "pipeline_parallel_layers", "pipeline_delay_activation_forwarding"))
            r->settings[i].key = "unused.pipeline";
}

enum tsim_status tsim_maxtext_job(struct tsim_recipe *r, struct tsim_import_result *result) {
    struct reading g = {.r = r};
    drop_unused(r);
    if (tsim_recipe_accepts(r)) {
        g.tensor = degree(&g, "tensor", 1, 1);
        g.pipeline = degree(&g, "pipeline", 1, 1);
        g.context = degree(&g, "context", 1, 1);
        g.expert = degree(&g, "expert", 1, 1);
        g.fsdp = degree(&g, "fsdp", -1, 1);
        g.data = degree(&g, "data", 1, -1);
        int64_t parts = degree(&g, "tensor_sequence", 1, 1);
        const int64_t others = g.pipeline * g.context * (g.fsdp > 0 ? g.fsdp : 1),
                      left = others > 0 && others <= 8 && 8 % others == 0 ? 8 / others
                             : others > 8                                 ? 1
                                                                          : -1;
        parts = parts < 0 && g.tensor == 1 && g.expert == 1 ? left : parts; /* of a node */
        g.expert = g.expert < 0 && g.tensor == 1 && parts == 1 ? left : g.expert;
        g.tensor = parts < 0 ? -1 : g.tensor * parts;
        const int64_t transposed = degree(&g, "fsdp_transpose", 1, 1);
        if (g.tensor < 1 || g.pipeline < 1 || g.context < 1 || g.expert < 1 || transposed < 1)
            tsim_recipe_error(r, NULL,
                              "-1 is known for the axes data and fsdp, and for one other within a node of eight");
    }
    if (r->diags->n_errors == r->n_errors_before) {
        g.fsdp *= g.fsdp > 0 ? degree(&g, "fsdp_transpose", 1, 1) : 1;
        if (g.tensor > 100000 || g.pipeline > 100000 || g.context > 100000 || g.expert > 100000 || g.fsdp > 1000000 ||
            g.data > 1000000 || g.tensor * g.pipeline > 1000000 || g.context * g.expert > 1000000)
            tsim_recipe_error(r, NULL, "degrees of more than a million ranks");
    }
    if (r->diags->n_errors == r->n_errors_before) {
        tsim_recipe_put(r, "schema", NULL, NULL, "tsim/v1");
        tsim_recipe_put(r, "name", NULL, NULL, "%s", tsim_recipe_name(r->arena, r->document->file, "imported"));
        put_model(&g);
        check_devices(&g);
        put_cluster(&g);
    }
    if (r->diags->n_errors == r->n_errors_before) {
        put_training(&g);
        put_software(&g);
        check_experts(&g);
        put_parallelism(&g);
        struct tsim_log_series series;
        if (r->lists_all &&
            tsim_log_series(r->document->text, r->document->size, TSIM_LOG_MAXTEXT.label, NULL, &series))
            tsim_log_put_measured(r, &TSIM_LOG_MAXTEXT, &series);
    }
    return tsim_recipe_finish(r, result);
}

/* ---- files ---- */

static const char CONFIG[] = "Config param ";

/* Adds "Config param steps: 100" from a log, and "Num_devices: 256, shape ...". */
static bool add_logged(struct tsim_recipe *r) {
    const char *text = r->document->text, *end = text + r->document->size;
    bool has_any = false;
    int line = 1;
    for (const char *c = text; c < end; line++) {
        const char *stop = memchr(c, '\n', (size_t)(end - c)), *at = c;
        stop = stop ? stop : end;
        while (at < stop && strncmp(at, CONFIG, sizeof CONFIG - 1) != 0 && strncmp(at, "Num_devices: ", 13) != 0)
            at++;
        if (at < stop) {
            const char *key = *at == 'C' ? at + sizeof CONFIG - 1 : at;
            size_t length = 0;
            while (key + length < stop && key[length] != ':')
                length++;
            if (key + length + 1 < stop) {
                const char *value = key + length + 1 + (key[length + 1] == ' ');
                const char *comma = *at == 'N' ? memchr(value, ',', (size_t)(stop - value)) : NULL;
                const char *name = tsim_arena_strndup(r->arena, key, length);
                size_t n = (size_t)((comma ? comma : stop) - value);
                while (n > 0 && (value[n - 1] == '\r' || value[n - 1] == ' '))
                    n--;
                tsim_recipe_add(
                    r, name, name,
                    tsim_recipe_scalar(r, line, (int)(value - c) + 1, tsim_arena_strndup(r->arena, value, n)));
                has_any |= *at == 'C';
            }
        }
        c = stop + 1;
    }
    return has_any;
}

/* Reads python3 -m MaxText.train CONFIG KEY=VALUE ... */
static enum tsim_status read_command(struct tsim_recipe *r) {
    static const char *const ARGUMENTS[] = {
        "per_device_batch_size", "base_output_directory", "model_name",           "run_name", "steps",
        "max_target_length",     "remat_policy",          "ici_fsdp_parallelism", NULL};
    static const char *const VARIABLES[][2] = {TSIM_VISIBLE_DEVICES, {NULL, NULL}};
    static const struct tsim_command_kind COMMAND = {
        ARGUMENTS, "MaxText", "python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3-8b ...", true,
        VARIABLES};
    static const char *const OLD[][2] = {{"base_num_heads", "base_num_query_heads"},
                                         {"base_num_heads", "base_num_kv_heads"},
                                         {"scale", "global_parameter_scale"}}; /* of 2023 */
    TSIM_TRY(tsim_command_read(r, &COMMAND));
    const struct tsim_setting *program = find(r, "program");
    if (program && !strstr(tsim_setting_text(program), "train"))
        tsim_diag_hint(tsim_recipe_error(r, program, "'%.80s' is no program that trains: its settings are elsewhere",
                                         tsim_setting_text(program)),
                       "the line that starts MaxText.train, or a log of it with its 'Config param' lines");
    add_renamed(r, OLD, sizeof OLD / sizeof OLD[0], true);
    const struct tsim_setting *config = find(r, "config");
    const char *text = config ? tsim_setting_text(config) : "", *slash = strrchr(text, '/');
    if (config && strcmp(slash ? slash + 1 : text, "base.yml") != 0)
        tsim_diag_hint(tsim_recipe_error(r, config, "'%.80s' is another file, whose settings are unknown here", text),
                       "--ignore config reads the command as if base.yml stood there; --set gives what the file says");
    return TSIM_OK;
}

enum tsim_status tsim_import_maxtext(struct tsim_arena *arena, const struct tsim_import_input *input,
                                     struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    tsim_recipe_init(&r, arena, input, "MaxText", "maxtext", diags);
    enum tsim_status status = TSIM_OK;
    if (add_logged(&r)) {
        r.lists_all = true;
    } else if (!tsim_looks_like_yaml(input->text, input->size)) {
        status = tsim_recipe_check_size(&r);
        status = status == TSIM_OK ? read_command(&r) : status;
    } else if ((status = tsim_recipe_check_size(&r)) == TSIM_OK &&
               (status = tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags)) ==
                   TSIM_OK) {
        tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
        if (!tsim_value_find(root, "model_name") && !tsim_value_find(root, "base_emb_dim") &&
            !tsim_value_find(root, "base_config")) {
            tsim_diag_hint(tsim_recipe_error(&r, NULL, "neither base_config nor model_name nor base_emb_dim is in it"),
                           "the YAML that MaxText.train takes, or a log of it with its 'Config param' lines");
            status = TSIM_ERR_INFEASIBLE;
        }
    }
    if (status == TSIM_OK)
        status = tsim_maxtext_job(&r, result);
    tsim_recipe_release(&r);
    return status;
}
