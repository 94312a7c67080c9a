/* Models of text and images: the vision tower and the projector, from vision_config and the keys around it. */
#include "import/models/hf_reading.h"

#include <stdlib.h>
#include <string.h>

/* A family of towers has its own names for sizes, and parts of them are always the same. A name is one key of
 * vision_config or several, of which the first that exists counts; a size without a default must be there. */
struct tower_family {
    const char *types; /* model_type of the whole */
    struct {
        const char *name;
        int64_t otherwise;
    } layers, hidden, heads, ffn;
    const char *merge; /* patches on the side of a square: a key of vision_config or of the whole; NULL: see `fixed` */
    bool is_any_size;  /* images are, and one of a side stands for them */
    struct tsim_tower fixed;
    void (*finish)(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *tower);
};

static int64_t size_of(struct tsim_hf_reading *vision, const char *names, int64_t otherwise) {
    const char *key = tsim_hf_key(vision, names);
    return otherwise > 0 ? tsim_hf_number(vision, key, 1, 10000000, otherwise)
                         : tsim_hf_required(vision, key, 10000000);
}

static void read_sizes(const struct tower_family *f, struct tsim_hf_reading *whole, struct tsim_hf_reading *vision,
                       struct tsim_tower *t) {
    *t = f->fixed;
    if (f->layers.name)
        t->layers = size_of(vision, f->layers.name, f->layers.otherwise);
    if (f->hidden.name)
        t->hidden = size_of(vision, f->hidden.name, f->hidden.otherwise);
    if (f->heads.name)
        t->heads = size_of(vision, f->heads.name, f->heads.otherwise);
    if (f->ffn.name)
        t->ffn_hidden = size_of(vision, f->ffn.name, f->ffn.otherwise);
    if (f->merge)
        t->merge = tsim_hf_number(tsim_hf_find(vision, f->merge) ? vision : whole, f->merge, 1, 1000, 2);
}

/* Returns the side of a square, which is written as one number or as two that are equal. */
static int64_t square_side(struct tsim_hf_reading *vision, const char *key) {
    const struct tsim_value *value = tsim_hf_find(vision, key);
    if (!value || value->kind != TSIM_VALUE_SEQUENCE)
        return tsim_hf_required(vision, key, 1000000);
    const struct tsim_value *side = value->n_items == 2 ? value->items[0] : NULL;
    double pixels = side && side->kind == TSIM_VALUE_SCALAR ? strtod(side->text, NULL) : 0;
    if (pixels < 1 || pixels > 1e6 || !tsim_value_is_text(value->items[1], side->text)) {
        tsim_hf_refuse(vision, key, "not the side of a square");
        return 1;
    }
    return (int64_t)pixels;
}

/* Reads CLIP's tower: a class token, learned positions, a norm before the first layer, and two products as wide as the
 * text. */
static void read_clip(struct tsim_hf_reading *vision, struct tsim_tower *t) {
    int64_t patch = square_side(vision, "patch_size"), size = square_side(vision, "image_size");
    t->image = (struct tsim_image){.size = patch > 0 ? size / patch * patch : size, /* what patches leave is not read */
                                   .patch = patch,
                                   .channels = tsim_hf_number(vision, "num_channels", 1, 1000, 3),
                                   .unbiased = true};
    t->other_parameters = 2 * t->hidden;
}

/* Reads windows of so many pixels on a side. The layers that fullatt_block_indexes names, at equal distances, have
 * none. */
static void read_windows(struct tsim_hf_reading *vision, struct tsim_tower *t) {
    const struct tsim_value *full = tsim_hf_find(vision, "fullatt_block_indexes");
    int64_t side = tsim_hf_required(vision, "window_size", 1000000) / t->image.patch;
    bool is_even =
        full && full->kind == TSIM_VALUE_SEQUENCE && full->n_items > 0 && t->layers % (int64_t)full->n_items == 0;
    int64_t every = is_even ? t->layers / (int64_t)full->n_items : 0;
    for (size_t i = 0; i < (is_even ? full->n_items : 0); i++) {
        char at[24];
        snprintf(at, sizeof at, "%lld", (long long)(every * ((int64_t)i + 1) - 1));
        is_even &= tsim_value_is_text(full->items[i], at);
    }
    if (!is_even) {
        tsim_hf_refuse(vision, "fullatt_block_indexes", "not every so many layers, the last among them");
        return;
    }
    t->attention_window = side * side;
    t->full_every = every;
}

/* Returns an image of patches of several frames, so many a side, which stands for those of any size. */
static struct tsim_image patches_of_frames(struct tsim_hf_reading *vision, int64_t side) {
    int64_t patch = tsim_hf_required(vision, "patch_size", 1000000);
    const char *channels = tsim_hf_key(vision, "in_chans|in_channels");
    return (struct tsim_image){.size = side * patch,
                               .patch = patch,
                               .channels = tsim_hf_number(vision, channels, 1, 1000, 3) *
                                           tsim_hf_number(vision, "temporal_patch_size", 1, 1000, 2),
                               .patches_alone = true,
                               .unbiased = true};
}

static void finish_qwen2_5_vl(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    int64_t text = whole->model.hidden;
    t->image = patches_of_frames(vision, 32);
    t->inner = t->merge * t->merge * t->hidden;
    if (tsim_hf_number(vision, "out_hidden_size", 1, 10000000, text) != text)
        tsim_hf_refuse(vision, "out_hidden_size", "not the width of the text's layers");
    read_windows(vision, t);
}

/* ---- SigLIP's tower, and what its families make of it ---- */

/* Reads SigLIP's tower: patches alone, whose product has a bias, and learned positions. */
static void read_siglip(struct tsim_hf_reading *vision, struct tsim_tower *t) {
    read_clip(vision, t);
    t->image.patches_alone = true;
    t->image.unbiased = false;
    t->other_parameters = 0;
    tsim_hf_find(vision, "vision_use_head");
    tsim_hf_find(vision, "projection_dim");
}

static int64_t root_of(int64_t square) {
    int64_t root = 1;
    while (root * root < square)
        root++;
    return root;
}

/* Gemma 3 takes the mean of each square of patches, a norm, and a product without a bias. */
static void finish_gemma3(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    read_siglip(vision, t);
    int64_t side = t->image.patch > 0 ? t->image.size / t->image.patch : 0,
            out = root_of(tsim_hf_number(whole, "mm_tokens_per_image", 1, 1000000, 256));
    if (side % out != 0)
        tsim_hf_refuse(whole, "mm_tokens_per_image", "the patches of a side do not divide into as many");
    t->merge = side / out;
    t->pools = t->unbiased_projector = true;
    t->products = 1;
    t->other_parameters = t->hidden;
}

static void finish_paligemma(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    (void)whole;
    read_siglip(vision, t);
    t->products = 1;
}

/* Idefics 3 takes the values of a square side by side, and a product without a bias. */
static void finish_idefics3(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    read_siglip(vision, t);
    t->merge = tsim_hf_number(whole, "scale_factor", 1, 1000, 2);
    t->products = 1;
    t->unbiased_projector = true;
}

static void finish_llava(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    (void)whole;
    if (tsim_value_is_text(tsim_hf_find(vision, "model_type"), "clip_vision_model"))
        read_clip(vision, t);
    else if (tsim_value_is_text(tsim_hf_find(vision, "model_type"), "siglip_vision_model"))
        read_siglip(vision, t);
    else
        tsim_hf_refuse(vision, "model_type",
                       "not clip_vision_model or siglip_vision_model, the towers of a llava that are known");
}

/* ---- towers of their families alone ---- */

/* Returns n if 1 / n of a side is left: every n patches of it become one. */
static int64_t squares_of(struct tsim_hf_reading *r, const char *key) {
    return (int64_t)(1 / tsim_hf_share(r, key, 0.5) + 0.5);
}

/* Llama 4 has a norm before the first layer. Squares go through two products of the tower and one of the projector, all
 * without biases. */
static void finish_llama4(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    (void)whole;
    read_clip(vision, t);
    t->merge = squares_of(vision, "pixel_shuffle_ratio");
    t->products = 3;
    t->inner = tsim_hf_required(vision, "projector_input_dim", 10000000);
    t->second_inner = tsim_hf_required(vision, "projector_output_dim", 10000000);
    t->unbiased_projector = true;
}

/* InternViT has no last norm, but a scale for each block's result and, in its largest version, norms of queries and
 * keys over all heads. The projector begins with a norm of the squares. */
static void finish_internvl(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    const struct tsim_value *norm = tsim_hf_find(vision, "norm_type");
    bool is_rms = norm && tsim_value_is_text(norm, "rms_norm"),
         has_head_norms = tsim_hf_flag(vision, "qk_normalization", tsim_hf_flag(vision, "use_qk_norm", false)),
         has_bias = tsim_hf_flag(vision, "qkv_bias", tsim_hf_flag(vision, "attention_bias", true));
    read_clip(vision, t);
    t->image.unbiased = false;
    t->norm = is_rms ? TSIM_NORM_RMSNORM : TSIM_NORM_LAYERNORM;
    t->merge = squares_of(whole, "downsample_ratio");
    int64_t scales = 2, of_norms = has_head_norms ? 2 : 0, qkv = has_bias ? 0 : -3, last = is_rms ? 1 : 2;
    t->other_parameters =
        t->layers * (scales + of_norms + qkv) * t->hidden + (2 * t->merge * t->merge - last) * t->hidden;
    if (t->other_parameters < 0)
        tsim_hf_refuse(vision, "qkv_bias", "a model file cannot express biases everywhere except there");
}

/* MoonViT reads patches and a square table of positions; a norm and two products of the squares follow. Kimi K2.5's has
 * a table of frames beside it, which is not trained, and the mean of up to four frames (vLLM, kimi_k25_vit.py). */
static void finish_kimi(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    const struct tsim_value *projector = tsim_hf_find(vision, "mm_projector_type");
    (void)whole;
    int64_t patch = tsim_hf_required(vision, "patch_size", 1000000),
            side = tsim_hf_number(vision, "init_pos_emb_height", 1, 100000, 64);
    if (tsim_hf_number(vision, "init_pos_emb_width", 1, 100000, side) != side)
        tsim_hf_refuse(vision, "init_pos_emb_width", "not as init_pos_emb_height: images here are squares");
    t->image = (struct tsim_image){.size = side * patch, .patch = patch, .patches_alone = true};
    t->inner = t->merge * t->merge * t->hidden;
    t->other_parameters = 2 * t->hidden;
    if (projector && !tsim_value_is_text(projector, "patchmerger"))
        tsim_hf_refuse(vision, "mm_projector_type", "not patchmerger, a norm and two products of the squares");
}

static void finish_qwen2_vl(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    (void)whole;
    t->ffn_hidden = tsim_hf_number(vision, "mlp_ratio", 1, 100, 4) * t->hidden;
    t->image = patches_of_frames(vision, 32);
    t->inner = t->merge * t->merge * t->hidden;
}

/* Qwen3-VL has learned positions, as many as a square image has patches, and projectors beside the last, each with a
 * norm of its squares. */
static void finish_qwen3_vl(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    const struct tsim_value *deep = tsim_hf_find(vision, "deepstack_visual_indexes");
    int64_t positions = tsim_hf_number(vision, "num_position_embeddings", 1, 100000000, 2304),
            beside = deep && deep->kind == TSIM_VALUE_SEQUENCE ? (int64_t)deep->n_items : 0;
    (void)whole;
    t->image = patches_of_frames(vision, root_of(positions));
    t->image.unbiased = false;
    t->inner = t->merge * t->merge * t->hidden;
    t->projectors = 1 + beside;
    t->other_parameters = beside * 2 * t->merge * t->merge * t->hidden;
    if (root_of(positions) * root_of(positions) != positions)
        tsim_hf_refuse(vision, "num_position_embeddings", "not a square: images here are");
}

/* Completes the tower of GLM-4.1V and 4.5V: RMS norms, one of them behind the product of the patches, learned positions,
 * and gated blocks as wide as the text. A product makes one token of a square; one more, and a gated block of
 * intermediate_size, follow. */
static void finish_glm4v(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    int64_t out = tsim_hf_number(vision, "out_hidden_size", 1, 10000000, whole->model.hidden),
            context = tsim_hf_required(vision, "intermediate_size", 10000000),
            patch = tsim_hf_number(vision, "patch_size", 1, 1000000, 14);
    t->ffn_hidden = out;
    t->image = patches_of_frames(vision, tsim_hf_number(vision, "image_size", 1, 1000000, 336) / patch);
    t->image.unbiased = false;
    t->inner = out;
    t->second_inner = context;
    t->other_parameters = 3 * out + t->hidden;
    if (out != whole->model.hidden)
        tsim_hf_refuse(vision, "out_hidden_size", "not the width of the text's layers");
    if (tsim_hf_flag(vision, "attention_bias", false))
        tsim_hf_refuse(vision, "attention_bias", "biases, which no released GLM-4V has");
}

/* Pixtral's tower has RMS norms, one of them before the first layer, rotary positions and no biases. The projector has a
 * norm, a product of the squares back to the tower's width, and two more. */
static void finish_mistral3(struct tsim_hf_reading *whole, struct tsim_hf_reading *vision, struct tsim_tower *t) {
    t->head_dim = tsim_hf_number(vision, "head_dim", 1, 1000000, t->hidden / t->heads);
    int64_t patch = tsim_hf_number(vision, "patch_size", 1, 1000000, 14);
    t->image = (struct tsim_image){.size = 32 * patch, .patch = patch, .patches_alone = true, .unbiased = true};
    t->inner = t->hidden;
    t->second_inner = whole->model.hidden;
    t->unbiased_projector = !tsim_hf_flag(whole, "multimodal_projector_bias", false);
    t->other_parameters = t->hidden;
    if (!t->unbiased_projector)
        t->other_parameters -= t->hidden; /* the first product has none all the same */
}

/* ---- all of them ---- */

#define OF_CLIP                                                                                                        \
    .layers = {"num_hidden_layers", 0}, .hidden = {"hidden_size", 0}, .heads = {"num_attention_heads", 0},             \
    .ffn = {"intermediate_size", 0}
#define OF_QWEN                                                                                                        \
    .layers = {"depth", 0}, .hidden = {"hidden_size", 0}, .heads = {"num_heads", 0}, .merge = "spatial_merge_size",    \
    .is_any_size = true
#define LEARNED                                                                                                        \
    { .bias = true, .positions = true }

static const struct tower_family FAMILIES[] = {
    {"llava", OF_CLIP, .fixed = LEARNED, .finish = finish_llava},
    {"gemma3", OF_CLIP, .fixed = LEARNED, .finish = finish_gemma3},
    {"paligemma", OF_CLIP, .fixed = LEARNED, .finish = finish_paligemma},
    {"idefics3|smolvlm", OF_CLIP, .fixed = LEARNED, .finish = finish_idefics3},
    {"llama4", OF_CLIP, .fixed = LEARNED, .finish = finish_llama4},
    {"internvl|internvl_chat", OF_CLIP, .fixed = LEARNED, .finish = finish_internvl},
    {"kimi_vl|kimi_k25", .layers = {"num_hidden_layers|vt_num_hidden_layers", 0},
     .hidden = {"hidden_size|vt_hidden_size", 0}, .heads = {"num_attention_heads|vt_num_attention_heads", 0},
     .ffn = {"intermediate_size|vt_intermediate_size", 0}, .is_any_size = true,
     .fixed = {.bias = true, .positions = true, .merge = 2}, .finish = finish_kimi},
    {"mistral3", .layers = {"num_hidden_layers", 24}, .hidden = {"hidden_size", 1024},
     .heads = {"num_attention_heads", 16}, .ffn = {"intermediate_size", 4096}, .merge = "spatial_merge_size",
     .is_any_size = true, .fixed = {.gated_mlp = true, .norm = TSIM_NORM_RMSNORM, .products = 3},
     .finish = finish_mistral3},
    {"glm4v|glm4v_moe|glm46v", OF_QWEN,
     .fixed = {.gated_mlp = true,
               .positions = true,
               .norm = TSIM_NORM_RMSNORM,
               .products = 4,
               .gated_projector = true,
               .unbiased_projector = true},
     .finish = finish_glm4v},
    {"qwen2_vl", .layers = {"depth", 32}, .hidden = {"embed_dim", 1280}, .heads = {"num_heads", 16},
     .merge = "spatial_merge_size", .is_any_size = true, .fixed = {.bias = true}, .finish = finish_qwen2_vl},
    {"qwen2_5_vl", OF_QWEN, .ffn = {"intermediate_size", 0},
     .fixed = {.gated_mlp = true, .bias = true, .norm = TSIM_NORM_RMSNORM}, .finish = finish_qwen2_5_vl},
    {"qwen3_vl|qwen3_vl_moe|qwen3_5|qwen3_5_moe", OF_QWEN, .ffn = {"intermediate_size", 0}, .fixed = LEARNED,
     .finish = finish_qwen3_vl}};
enum { N_FAMILIES = sizeof FAMILIES / sizeof FAMILIES[0] };

static size_t family_of(const struct tsim_value *type) {
    size_t i = 0;
    while (i < N_FAMILIES &&
           !(type && type->kind == TSIM_VALUE_SCALAR && tsim_hf_has_type(FAMILIES[i].types, type->text)))
        i++;
    return i;
}

bool tsim_hf_has_tower(const struct tsim_value *type) {
    return family_of(type) < N_FAMILIES;
}

void tsim_hf_add_tower(struct tsim_hf_reading *r) {
    const struct tsim_value *mapping = tsim_value_find(r->around, "vision_config");
    size_t family = family_of(tsim_value_find(r->around, "model_type"));
    struct tsim_model *m = &r->model;
    if (!mapping || mapping->kind != TSIM_VALUE_MAPPING || family == N_FAMILIES) {
        tsim_hf_refuse(r, "vision_config", "not a mapping of the tower's sizes");
        return;
    }
    struct tsim_hf_reading vision = *r, whole = *r;
    vision.root = mapping;
    vision.type = "vision_config";
    vision.is_used = TSIM_NEW_ARRAY(r->arena, mapping->n_items + 1, bool);
    whole.root = r->around;
    whole.is_used = TSIM_NEW_ARRAY(r->arena, r->around->n_items + 1, bool);
    read_sizes(&FAMILIES[family], &whole, &vision, &m->tower);
    FAMILIES[family].finish(&whole, &vision, &m->tower);
    tsim_hf_failed(r, vision.status);
    tsim_hf_failed(r, whole.status);
    if (r->status != TSIM_OK)
        return;
    const struct tsim_image *image = &m->tower.image;
    if (image->size % image->patch != 0 || (m->tower.merge > 0 && image->size / image->patch % m->tower.merge != 0)) {
        tsim_hf_refuse(&vision, "image_size", "its patches do not divide into the squares that become tokens");
        tsim_hf_failed(r, vision.status);
        return;
    }
    m->layers += m->tower.layers + 1;
    tsim_tower_finish(r->arena, m);
    tsim_hf_note(r,
                 FAMILIES[family].is_any_size
                     ? tsim_arena_printf(r->arena,
                                         "layers counts those of the vision tower and the projector; a sample has one "
                                         "image of %lld x %lld patches (tower.image.size).",
                                         (long long)(m->tower.image.size / m->tower.image.patch),
                                         (long long)(m->tower.image.size / m->tower.image.patch))
                     : "layers counts those of the vision tower and the projector; a sample has one image.");
}
