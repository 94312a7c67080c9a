#include "partition/partition.h"

#include "config/provenance.h"
#include "model/adapter.h"
#include "model/layer_list.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Returns the fewest that are at least `stages` and divide the micro-batches. */
static int64_t interleaved_group(int64_t stages, int64_t microbatches) {
    int64_t group = stages;
    while (microbatches % group != 0)
        group++;
    return group;
}

struct tsim_schedule_shape tsim_scenario_schedule(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t run = p->schedule_microbatches;
    bool has_runs = run > 0 && run < sc->n_microbatches && sc->n_microbatches % run == 0; /* not in short evaluations */
    int64_t n = has_runs ? run : sc->n_microbatches;
    bool is_interleaved = p->schedule == TSIM_SCHEDULE_INTERLEAVED && n > p->pipeline;
    return (struct tsim_schedule_shape){
        .schedule = sc->parallelism.schedule,
        .stages = (int32_t)sc->parallelism.pipeline,
        .chunks = tsim_schedule_chunks(sc->parallelism.schedule, sc->parallelism.virtual_pipeline),
        .microbatches = (int32_t)sc->n_microbatches,
        .group = is_interleaved ? (int32_t)interleaved_group(p->pipeline, n) : 0,
        .hides_exchanges = p->expert > 1 && p->overlap.expert,
        .run = has_runs ? (int32_t)run : 0};
}

bool tsim_chunk_has_embedding(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    return tsim_schedule_part(&shape, stage, chunk) == 0;
}

bool tsim_chunk_has_head(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    return tsim_schedule_part(&shape, stage, chunk) == tsim_schedule_n_parts(&shape) - 1;
}

bool tsim_stage_has_head(const struct tsim_scenario *sc, int32_t stage) {
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        if (tsim_chunk_has_head(sc, stage, c))
            return true;
    return false;
}

bool tsim_stage_has_embedding(const struct tsim_scenario *sc, int32_t stage) {
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        if (tsim_chunk_has_embedding(sc, stage, c))
            return true;
    return false;
}

bool tsim_ends_share_stage(const struct tsim_scenario *sc) {
    return tsim_stage_has_head(sc, 0); /* the embedding is on stage 0 in every schedule */
}

bool tsim_shares_table(const struct tsim_scenario *sc) {
    return (sc->model->tied_embeddings || sc->model->mtp_modules > 0) && !tsim_ends_share_stage(sc);
}

double tsim_shards(const struct tsim_scenario *sc) {
    return (double)sc->parallelism.zero_group_ranks * (sc->parallelism.schedule == TSIM_SCHEDULE_DUALPIPE ? 2 : 1);
}

double tsim_expert_shards(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double group = (double)(p->zero_group_ranks * p->tensor) / (double)(tsim_expert_tensor(p) * p->expert);
    return fmax(group, 1) * tsim_shards(sc) / (double)p->zero_group_ranks;
}

static int64_t layers_before(const struct tsim_scenario *sc, int32_t part) {
    int64_t n = 0;
    for (int32_t i = 0; i < part; i++)
        n += sc->parallelism.layers_per_chunk[i];
    return n;
}

int64_t tsim_chunk_first_layer(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    return layers_before(sc, tsim_schedule_part(&shape, stage, chunk));
}

struct tsim_parts tsim_chunk_parts(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t part = tsim_schedule_part(&shape, stage, chunk);
    int64_t first = tsim_model_has_one_kind(sc->model) ? 0 : layers_before(sc, part);
    struct tsim_parts parts = tsim_model_layers(sc->model, first, first + sc->parallelism.layers_per_chunk[part]);
    bool has_ends = tsim_model_has_ends(sc->model);
    parts.times[TSIM_PART_EMBEDDING] = has_ends && part == 0;
    parts.times[TSIM_PART_HEAD] = has_ends && part == tsim_schedule_n_parts(&shape) - 1;
    return parts;
}

double tsim_layer_rank_expert_parameters(const struct tsim_scenario *sc) {
    return tsim_layer_count(sc->model, TSIM_PART_EXPERT_LAYER).experts / /* whatever their mixer is */
           (double)(tsim_expert_tensor(&sc->parallelism) * sc->parallelism.expert);
}

static struct tsim_amount counted(struct tsim_term_recorder *r, const struct tsim_model *m, const char *name,
                                  double n) {
    return tsim_given(r, name, n, TSIM_COUNT,
                      tsim_record_text(r, "counted from the model's dimensions%s%s (sim/model/model.h)",
                                       m->source ? ", " : "", m->source ? m->source : ""));
}

static struct tsim_amount cut(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const char *name,
                              double n) {
    double tp = (double)sc->parallelism.tensor;
    return tsim_product(r, name, "parameters / tensor ranks", TSIM_COUNT,
                        TSIM_PARTS(counted(r, sc->model, "parameters", n),
                                   tsim_inverse(tsim_of_scenario(r, "parallelism.tensor", tp, TSIM_COUNT))));
}

/* Matrices are cut over the tensor ranks; norms and the row-parallel biases are whole on each. */
static struct tsim_amount layer_parameters(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                           enum tsim_part kind) {
    const struct tsim_model *m = sc->model;
    struct tsim_part_list parts = {.recorder = r};
    struct tsim_layer_parameters p = tsim_layer_count(m, kind);
    double expert_ranks = (double)(tsim_expert_tensor(&sc->parallelism) * sc->parallelism.expert);
    tsim_part_add(&parts, cut(r, sc, "attention", p.attention));
    tsim_part_add(&parts, counted(r, m, "latent projections", p.latent));
    tsim_part_add(&parts, counted(r, m, "norms", p.norms));
    tsim_part_add(&parts, counted(r, m, "modulation", p.modulation));
    tsim_part_add(&parts, cut(r, sc, "mean of the list's blocks", p.block));
    tsim_part_add(&parts, cut(r, sc, "feed-forward", p.ffn));
    tsim_part_add(&parts, cut(r, sc, "cross attention", p.cross));
    tsim_part_add(&parts, counted(r, m, "norm of cross attention", p.cross_norm));
    tsim_part_add(&parts, counted(r, m, "router", p.router));
    tsim_part_add(&parts, cut(r, sc, "shared experts", p.shared));
    tsim_part_add(&parts, counted(r, m, "experts of this rank", p.experts / expert_ranks));
    return tsim_sum_of(&parts, tsim_record_text(r, "parameters of one %s", tsim_layer_kind(kind)->word),
                       "on one tensor rank", TSIM_COUNT);
}

double tsim_layer_rank_parameters(const struct tsim_scenario *sc, enum tsim_part kind) {
    return layer_parameters(NULL, sc, kind).value;
}

double tsim_layer_rank_product_parameters(const struct tsim_scenario *sc, enum tsim_part kind) {
    struct tsim_layer_parameters p = tsim_layer_count(sc->model, kind);
    return tsim_layer_rank_parameters(sc, kind) - p.norms - p.cross_norm - p.router;
}

bool tsim_gathers_products(const struct tsim_scenario *sc) {
    return sc->software->gather_unit == TSIM_UNIT_PRODUCT && sc->parallelism.zero == 3 && !tsim_products_obstacle(sc);
}

enum tsim_part tsim_products_part(const struct tsim_model *m) {
    return tsim_model_layer(m, m->layers - 1);
}

void tsim_layer_product_parameters(const struct tsim_scenario *sc, double parameters[TSIM_N_LAYER_PRODUCTS]) {
    const struct tsim_model *m = sc->model;
    double tp = (double)sc->parallelism.tensor, of_attention = (double)(m->heads * m->head_dim * m->hidden) / tp;
    struct tsim_layer_parameters p = tsim_layer_count(m, tsim_products_part(m));
    double expert_ranks = (double)(tsim_expert_tensor(&sc->parallelism) * sc->parallelism.expert);
    double down = (double)(m->ffn_hidden * m->hidden) / tp, experts = p.experts / expert_ranks;
    if (p.experts > 0)
        down = (double)(m->experts.count * m->experts.ffn_hidden *
                        (m->experts.latent > 0 ? m->experts.latent : m->hidden)) /
               expert_ranks;
    parameters[TSIM_PRODUCT_DOWN] = down;
    parameters[TSIM_PRODUCT_UP] = p.ffn / tp + experts + p.router - down;
    parameters[TSIM_PRODUCT_OUT] = of_attention;
    parameters[TSIM_PRODUCT_QKV] = p.attention / tp - of_attention + p.norms;
}

int32_t tsim_unit_places(const struct tsim_scenario *sc) {
    return sc->parallelism.overlap.parameters ? (int32_t)sc->parallelism.prefetch + 1 : 1;
}

int32_t tsim_layer_product_places(const struct tsim_scenario *sc, enum tsim_layer_product product, bool is_backward) {
    double weights[TSIM_N_LAYER_PRODUCTS], between = 0, limit = sc->software->gather_ahead_parameters;
    int32_t at = (int32_t)product, places = 2, step = is_backward ? 1 : TSIM_N_LAYER_PRODUCTS - 1;
    if (!(limit > 0) || !sc->parallelism.overlap.parameters)
        return tsim_unit_places(sc);
    tsim_layer_product_parameters(sc, weights);
    for (; places < TSIM_MOST_PLACES; places++) {
        at = (at + step) % TSIM_N_LAYER_PRODUCTS;
        between += weights[at];
        if (between >= limit)
            break;
    }
    return places;
}

const struct tsim_scenario *tsim_stage_part(const struct tsim_scenario *sc, int32_t stage,
                                            struct tsim_stage_part *part) {
    if (sc->parallelism.pipeline == 1 || !tsim_model_layers_vary(sc->model))
        return sc;
    part->scenario = *sc;
    part->scenario.model = &part->model;
    tsim_list_part(sc->model, tsim_chunk_first_layer(sc, stage, 0), tsim_chunk_layers(sc, stage, 0), &part->model);
    return &part->scenario;
}

struct tsim_parts tsim_kept_layers(const struct tsim_scenario *sc, const struct tsim_parts *parts, int64_t first) {
    int64_t n = 0;
    if (sc->training.recompute != TSIM_RECOMPUTE_LAYERS)
        return (struct tsim_parts){.times = {0}};
    for (int part = 0; part < TSIM_N_PARTS; part++)
        n += tsim_layer_kind((enum tsim_part)part)->is_end ? 0 : (int64_t)parts->times[part];
    return tsim_model_layers(sc->model, first + tsim_recomputed_layers(sc, n), first + n);
}

double tsim_chunk_sum(const struct tsim_scenario *sc, int32_t stage, int32_t chunk, tsim_layer_fn of_layer) {
    struct tsim_parts parts = tsim_chunk_parts(sc, stage, chunk);
    struct tsim_stage_part of_stage;
    const struct tsim_scenario *own = tsim_stage_part(sc, stage, &of_stage);
    double sum = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (parts.times[part] > 0 && !tsim_layer_kind((enum tsim_part)part)->is_end)
            sum += parts.times[part] * of_layer(own, (enum tsim_part)part);
    return sum;
}

double tsim_largest_layer(const struct tsim_scenario *sc, int32_t stage, tsim_layer_fn of_layer) {
    struct tsim_parts parts = tsim_model_parts(sc->model);
    struct tsim_stage_part of_stage;
    const struct tsim_scenario *own = tsim_stage_part(sc, stage, &of_stage);
    double largest = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (parts.times[part] > 0 && !tsim_layer_kind((enum tsim_part)part)->is_end)
            largest = fmax(largest, of_layer(own, (enum tsim_part)part));
    return largest;
}

double tsim_message_bytes(const struct tsim_scenario *sc, int32_t from, int32_t to) {
    struct tsim_stage_part own;
    int32_t stage = from < to ? from : to;
    enum tsim_part part = tsim_model_layer(sc->model, tsim_chunk_first_layer(sc, stage, 0));
    return tsim_layer_flow_bytes(tsim_stage_part(sc, stage, &own), part);
}

double tsim_chunk_expert_parameters(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_parts parts = tsim_chunk_parts(sc, stage, chunk);
    double layers = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        layers += tsim_layer_has_experts((enum tsim_part)part) ? parts.times[part] : 0;
    return layers * tsim_layer_rank_expert_parameters(sc);
}

static struct tsim_amount layers_parameters(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                            enum tsim_part kind, double n) {
    return tsim_product(
        r, tsim_record_text(r, "its %ss", tsim_layer_kind(kind)->word), "layers x parameters of each", TSIM_COUNT,
        TSIM_PARTS(tsim_given(r, "layers", n, TSIM_COUNT, TSIM_OF_LAYERS), layer_parameters(r, sc, kind)));
}

static struct tsim_amount chunk_parameters(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                           int32_t chunk) {
    const struct tsim_model *m = sc->model;
    struct tsim_end_parameters p = tsim_model_ends(m);
    double h = (double)m->hidden, table = tsim_padded_vocab_per_rank(sc) * h;
    struct tsim_parts there = tsim_chunk_parts(sc, stage, chunk);
    struct tsim_stage_part of_stage;
    const struct tsim_scenario *part = tsim_stage_part(sc, stage, &of_stage);
    struct tsim_part_list parts = {.recorder = r};
    for (int i = 0; i < TSIM_N_PARTS; i++)
        if (there.times[i] > 0 && !tsim_layer_kind((enum tsim_part)i)->is_end)
            tsim_part_add(&parts, layers_parameters(r, part, (enum tsim_part)i, there.times[i]));
    bool first = tsim_chunk_has_embedding(sc, stage, chunk), last = tsim_chunk_has_head(sc, stage, chunk);
    bool is_image = tsim_model_is_of_patches(m);
    if (first)
        tsim_part_add(&parts, counted(r, m, "embedding",
                                      is_image ? p.embedding
                                               : table + (double)m->positions * h + (double)m->other_parameters +
                                                     tsim_model_stacks(m) * (double)(m->relative_buckets * m->heads) /
                                                         (double)sc->parallelism.tensor +
                                                     tsim_tower_embedding_parameters(m) +
                                                     tsim_shared_parameters(m) / (double)sc->parallelism.tensor));
    if (last)
        tsim_part_add(&parts, counted(r, m, "final norm", p.final_norm + p.pooler));
    if (last && m->mtp_modules > 0)
        tsim_part_add(&parts, counted(r, m, "modules of further tokens",
                                      p.further / (double)sc->parallelism.tensor + p.further_norms));
    if (last && m->mtp_modules > 0 && !m->tied_embeddings && tsim_shares_table(sc))
        tsim_part_add(&parts, counted(r, m, "embedding, for further tokens", table));
    /* A tied table is held once if the first and the last part share a stage, otherwise twice. */
    if (last && (is_image || !m->tied_embeddings || !tsim_ends_share_stage(sc)))
        tsim_part_add(&parts, counted(r, m, "head", is_image ? p.head : table));
    return tsim_sum_of(&parts, "parameters of a chunk", "on one tensor rank, unsharded", TSIM_COUNT);
}

double tsim_chunk_parameters(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    return chunk_parameters(NULL, sc, stage, chunk).value;
}

bool tsim_chunk_is_like_last(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    if (chunk == 0 || !tsim_model_layers_are_alike(sc->model))
        return false;
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t part = tsim_schedule_part(&shape, stage, chunk), last = tsim_schedule_part(&shape, stage, chunk - 1),
            end = tsim_schedule_n_parts(&shape) - 1;
    return part > 0 && last > 0 && part < end && last < end &&
           sc->parallelism.layers_per_chunk[part] == sc->parallelism.layers_per_chunk[last];
}

bool tsim_stage_is_like_last(const struct tsim_scenario *sc, int32_t stage) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    if (stage < 2 || stage == shape.stages - 1 || tsim_model_layers_vary(sc->model) ||
        tsim_schedule_splits_backward(shape.schedule))
        return false;
    for (int32_t c = 0; c < shape.chunks; c++) {
        struct tsim_parts parts[2], kept[2];
        for (int32_t i = 0; i < 2; i++) {
            parts[i] = tsim_chunk_parts(sc, stage - i, c);
            kept[i] = tsim_kept_layers(sc, &parts[i], tsim_chunk_first_layer(sc, stage - i, c));
        }
        if (memcmp(&parts[0], &parts[1], sizeof parts[0]) != 0 || memcmp(&kept[0], &kept[1], sizeof kept[0]) != 0)
            return false;
    }
    return true;
}

struct tsim_amount tsim_stage_parameters_recorded(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                  int32_t stage) {
    struct tsim_part_list chunks = {.recorder = r};
    struct tsim_amount of_chunk = {0};
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++) {
        of_chunk = tsim_chunk_is_like_last(sc, stage, c) ? of_chunk : chunk_parameters(r, sc, stage, c);
        tsim_part_add(&chunks, of_chunk);
    }
    return tsim_sum_of(&chunks, tsim_record_text(r, "parameters of stage %d", stage), "sum over its chunks",
                       TSIM_COUNT);
}

double tsim_stage_parameters(const struct tsim_scenario *sc, int32_t stage) {
    return tsim_stage_parameters_recorded(NULL, sc, stage).value;
}

double tsim_stage_expert_parameters(const struct tsim_scenario *sc, int32_t stage) {
    double n = 0;
    if (sc->model->experts.count == 0)
        return 0;
    for (int32_t c = 0; c < sc->parallelism.virtual_pipeline; c++)
        n += tsim_chunk_expert_parameters(sc, stage, c);
    return n;
}

static struct tsim_amount divided(struct tsim_term_recorder *r, const char *name, struct tsim_amount parameters,
                                  double ranks) {
    if (ranks == 1)
        return parameters;
    return tsim_product(
        r, name, "parameters / ranks that shard them", TSIM_COUNT,
        TSIM_PARTS(parameters, tsim_inverse(tsim_given(r, "ranks", ranks, TSIM_COUNT, "parallelism of the scenario"))));
}

static struct tsim_amount shard_of(struct tsim_term_recorder *r, const struct tsim_scenario *sc, struct tsim_amount all,
                                   double n_experts) {
    if (n_experts == 0)
        return divided(r, "parameters held", all, tsim_shards(sc));
    struct tsim_amount experts =
        tsim_given(r, "experts", n_experts, TSIM_COUNT, "counted from the model's dimensions (sim/model/model.h)");
    struct tsim_amount rest = tsim_sum(r, "all but experts", "parameters of the stage - experts", TSIM_COUNT,
                                       TSIM_PARTS(all, tsim_inverse(experts)));
    return tsim_sum(r, "parameters held", "experts are sharded apart", TSIM_COUNT,
                    TSIM_PARTS(divided(r, "all but experts, of a rank", rest, tsim_shards(sc)),
                               divided(r, "experts of a rank", experts, tsim_expert_shards(sc))));
}

struct tsim_held_parameters tsim_held_parameters(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                 int32_t stage) {
    struct tsim_amount all = tsim_stage_parameters_recorded(r, sc, stage);
    return (struct tsim_held_parameters){all, shard_of(r, sc, all, tsim_stage_expert_parameters(sc, stage))};
}

double tsim_chunk_adapter_parameters(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    return tsim_chunk_sum(sc, stage, chunk, tsim_layer_adapter_parameters);
}

double tsim_chunk_routed_adapter_parameters(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    return tsim_chunk_sum(sc, stage, chunk, tsim_layer_routed_adapter_parameters);
}

static double frozen_of_layer(const struct tsim_scenario *sc, enum tsim_part part) {
    return tsim_layer_is_frozen(sc, part) ? tsim_layer_rank_parameters(sc, part) : 0;
}

double tsim_chunk_tower_parameters(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    if (!sc->model->tower.frozen)
        return 0;
    bool has_patches = tsim_chunk_has_embedding(sc, stage, chunk);
    return tsim_chunk_sum(sc, stage, chunk, frozen_of_layer) +
           (has_patches ? tsim_tower_embedding_parameters(sc->model) : 0);
}

/* Counts what is trained beside a frozen tower. */
static struct tsim_held_parameters without_tower(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                 int32_t stage, struct tsim_held_parameters held) {
    double frozen = 0;
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        frozen += tsim_chunk_tower_parameters(sc, stage, c);
    struct tsim_amount all = tsim_sum(
        r, tsim_record_text(r, "trained parameters of stage %d", stage), "all - those of the frozen tower", TSIM_COUNT,
        TSIM_PARTS(held.all, tsim_inverse(tsim_given(r, "frozen tower", frozen, TSIM_COUNT, "model.tower.frozen"))));
    return (struct tsim_held_parameters){all, shard_of(r, sc, all, tsim_stage_expert_parameters(sc, stage))};
}

struct tsim_held_parameters tsim_trained_parameters(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                    int32_t stage) {
    if (!tsim_is_frozen(sc)) {
        struct tsim_held_parameters held = tsim_held_parameters(r, sc, stage);
        return sc->model->tower.frozen ? without_tower(r, sc, stage, held) : held;
    }
    double adapters = 0, of_experts = 0;
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++) {
        adapters += tsim_chunk_adapter_parameters(sc, stage, c);
        of_experts += tsim_chunk_routed_adapter_parameters(sc, stage, c);
    }
    struct tsim_amount all = tsim_given(r, tsim_record_text(r, "adapters of stage %d", stage), adapters, TSIM_COUNT,
                                        "training.adapter of the scenario (sim/model/adapter.h)");
    return (struct tsim_held_parameters){all, shard_of(r, sc, all, of_experts)};
}
