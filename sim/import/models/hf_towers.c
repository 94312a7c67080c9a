/* Models of text and images: the vision tower and the projector, from vision_config and the keys around it. */
#include "import/models/hf_reading.h"

#include <string.h>

bool tsim_hf_has_tower(const struct tsim_value *type) {
    return tsim_value_is_text(type, "llava");
}

/* Reads CLIP's tower: a class token, learned positions, a norm before the first layer, and two products as wide as the
 * text. */
static void read_clip(struct tsim_hf_reading *vision, struct tsim_tower *t) {
    t->layers = tsim_hf_required(vision, "num_hidden_layers", 100000);
    t->hidden = tsim_hf_required(vision, "hidden_size", 10000000);
    t->heads = tsim_hf_required(vision, "num_attention_heads", 1000000);
    t->ffn_hidden = tsim_hf_required(vision, "intermediate_size", 10000000);
    t->bias = t->positions = true;
    t->image = (struct tsim_image){.size = tsim_hf_required(vision, "image_size", 1000000),
                                   .patch = tsim_hf_required(vision, "patch_size", 1000000),
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

static void read_qwen(struct tsim_hf_reading *vision, const struct tsim_model *text, struct tsim_tower *t) {
    t->layers = tsim_hf_required(vision, "depth", 100000);
    t->hidden = tsim_hf_required(vision, "hidden_size", 10000000);
    t->heads = tsim_hf_required(vision, "num_heads", 1000000);
    t->ffn_hidden = tsim_hf_required(vision, "intermediate_size", 10000000);
    t->gated_mlp = t->bias = true;
    t->norm = TSIM_NORM_RMSNORM;
    t->merge = tsim_hf_number(vision, "spatial_merge_size", 1, 1000, 2);
    int64_t patch = tsim_hf_required(vision, "patch_size", 1000000);
    t->image = (struct tsim_image){.size = 32 * patch,
                                   .patch = patch,
                                   .channels = tsim_hf_number(vision, "in_chans", 1, 1000, 3) *
                                               tsim_hf_number(vision, "temporal_patch_size", 1, 1000, 2),
                                   .patches_alone = true,
                                   .unbiased = true};
    t->inner = t->merge * t->merge * t->hidden;
    if (tsim_hf_number(vision, "out_hidden_size", 1, 10000000, text->hidden) != text->hidden)
        tsim_hf_refuse(vision, "out_hidden_size", "not the width of the text's layers");
    read_windows(vision, t);
}

void tsim_hf_add_tower(struct tsim_hf_reading *r) {
    const struct tsim_value *mapping = tsim_value_find(r->around, "vision_config");
    struct tsim_model *m = &r->model;
    bool is_llava = tsim_hf_has_tower(tsim_value_find(r->around, "model_type"));
    if (!mapping || mapping->kind != TSIM_VALUE_MAPPING) {
        tsim_hf_refuse(r, "vision_config", "not a mapping of the tower's sizes");
        return;
    }
    struct tsim_hf_reading vision = *r;
    vision.root = mapping;
    vision.type = "vision_config";
    vision.is_used = TSIM_NEW_ARRAY(r->arena, mapping->n_items + 1, bool);
    if (is_llava && !tsim_value_is_text(tsim_hf_find(&vision, "model_type"), "clip_vision_model"))
        tsim_hf_refuse(&vision, "model_type", "not clip_vision_model, the only tower of a llava that is known");
    if (is_llava)
        read_clip(&vision, &m->tower);
    else
        read_qwen(&vision, m, &m->tower);
    tsim_hf_failed(r, vision.status);
    if (r->status != TSIM_OK)
        return;
    m->layers += m->tower.layers + 1;
    tsim_tower_finish(r->arena, m);
    tsim_hf_note(r, is_llava
                        ? "layers counts those of the vision tower and the projector; a sample has one image."
                        : "layers counts those of the vision tower and the projector; a sample has one image of 32 "
                          "x 32 patches (tower.image.size).");
}

const char *tsim_hf_put_tower(struct tsim_arena *arena, const struct tsim_tower *t, const char *text) {
    static const char *const NORMS[] = {[TSIM_NORM_LAYERNORM] = "layernorm", [TSIM_NORM_RMSNORM] = "rmsnorm"};
    text =
        tsim_arena_printf(arena, "%stower:\n  layers: %lld\n  hidden: %lld\n  heads: %lld\n  ffn_hidden: %lld\n", text,
                          (long long)t->layers, (long long)t->hidden, (long long)t->heads, (long long)t->ffn_hidden);
    text = tsim_arena_printf(arena, "%s  norm: %s\n  bias: %s\n", text, NORMS[t->norm], t->bias ? "true" : "false");
    if (t->gated_mlp)
        text = tsim_arena_printf(arena, "%s  gated_mlp: true\n", text);
    if (t->positions)
        text = tsim_arena_printf(arena, "%s  positions: true\n", text);
    if (t->full_every > 0)
        text = tsim_arena_printf(arena, "%s  attention_window: %lld\n  full_every: %lld\n", text,
                                 (long long)t->attention_window, (long long)t->full_every);
    text = tsim_arena_printf(arena, "%s  image: {size: %lld, patch: %lld, channels: %lld%s, unbiased: true}\n", text,
                             (long long)t->image.size, (long long)t->image.patch, (long long)t->image.channels,
                             t->image.patches_alone ? ", patches_alone: true" : "");
    text = tsim_arena_printf(arena, "%s  merge: %lld\n  inner: %lld\n", text, (long long)t->merge, (long long)t->inner);
    if (t->other_parameters > 0)
        text = tsim_arena_printf(arena, "%s  other_parameters: %lld\n", text, (long long)t->other_parameters);
    return text;
}
