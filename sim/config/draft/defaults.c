/* Defaults of keys that a draft leaves out and that follow from other keys, and what follows from a draft that keeps
 * the rules. */
#include "config/draft/rules.h"
#include "config/lengths.h"
#include "config/network_bill.h"

#include <math.h>
#include <string.h>

/* This is the root of 15.8 / 6.5, the prices of the fifth dearest and the fifth cheapest of fifty states
 * (energy.price_spread's help). */
#define USUAL_ELECTRICITY_SPREAD 1.6

enum { DEFAULT_SEQUENCE_LENGTH = 4096, DEFAULT_ADAPTER_RANK = 16, SAMPLES_PER_PROMPT = 16 };

/* Lin et al. 2018 (Deep Gradient Compression, arXiv:1712.01887) send 0.1 % of a gradient; Vogels et al. 2019 (PowerSGD,
 * arXiv:1905.13727) take rank 4 for their LSTM, and 2 for ResNet-18. */
#define DEFAULT_SENT_FRAC 0.001
enum { DEFAULT_FACTOR_RANK = 4 };

static void resolve_compression(struct tsim_compression_spec *compression) {
    if (compression->kind == TSIM_TOP_K && !(compression->fraction > 0))
        compression->fraction = DEFAULT_SENT_FRAC;
    if (compression->kind == TSIM_POWERSGD && compression->rank == 0)
        compression->rank = DEFAULT_FACTOR_RANK;
}

/* The defaults of PyTorch (torch.amp.GradScaler, growth_interval=2000) and NVIDIA's Apex (scale_window=2000). */
#define LOSS_SCALE_GROWTH_INTERVAL 2000

static void resolve_loss_scaling(struct tsim_training_spec *training) {
    struct tsim_loss_scaling_spec *l = &training->loss_scaling;
    if (training->precision != TSIM_FP16)
        return;
    l->growth_interval = l->growth_interval > 0 ? l->growth_interval : LOSS_SCALE_GROWTH_INTERVAL;
    l->skipped = l->skipped > 0 ? l->skipped : 1;
}

static void resolve_adapter(const struct tsim_draft *draft, struct tsim_adapter_spec *adapter) {
    if (adapter->kind == TSIM_ADAPTER_NONE)
        return;
    adapter->rank = adapter->rank > 0 ? adapter->rank : DEFAULT_ADAPTER_RANK;
    if (!adapter->targets)
        adapter->targets =
            tsim_adapter_targets(draft->scenario.model) &
            (1u << TSIM_TARGET_QKV | 1u << TSIM_TARGET_OUTPUT | 1u << TSIM_TARGET_GATE_UP | 1u << TSIM_TARGET_DOWN |
             1u << TSIM_TARGET_RECURRENCE_IN | 1u << TSIM_TARGET_RECURRENCE_OUT);
    if (adapter->kind == TSIM_ADAPTER_QLORA && !tsim_draft_has(draft, "training.adapter.base_precision"))
        adapter->base_precision = TSIM_BASE_NF4;
}

/* NeMo-RL's GRPO and PPO score with the policy as it was before the round; its share of the memory is that of its
 * examples (examples/configs/grpo_math_1B.yaml: vllm_cfg.gpu_memory_utilization 0.6, num_generations_per_prompt 16), on
 * nodes that do nothing else it is vLLM's own (gpu_memory_utilization 0.9), and so is the number of sequences
 * (max_num_seqs). */
static void resolve_generation(struct tsim_draft *draft) {
    static const unsigned SCORING[] = {[TSIM_DPO] = 1u << TSIM_SCORER_REFERENCE,
                                       [TSIM_GRPO] = 1u << TSIM_SCORER_POLICY | 1u << TSIM_SCORER_REFERENCE,
                                       [TSIM_PPO] = (1u << TSIM_N_SCORERS) - 1,
                                       [TSIM_DISTILL] = 0};
    struct tsim_scenario *sc = &draft->scenario;
    struct tsim_generation_spec *g = &sc->generation;
    if (sc->training.kind > TSIM_SFT && !sc->training.scoring)
        sc->training.scoring = SCORING[sc->training.kind];
    if (!tsim_generates(sc))
        return;
    if (!tsim_draft_has(draft, "generation.precision"))
        g->precision = sc->training.precision;
    g->tensor = g->tensor > 0 ? g->tensor : 1;
    g->expert = g->expert > 0 ? g->expert : 1;
    g->max_sequences = g->max_sequences > 0 ? g->max_sequences : 256;
    g->prompt = g->prompt > 0 ? g->prompt : 256;
    g->memory_frac = g->memory_frac > 0 ? g->memory_frac : g->nodes > 0 ? 0.9 : 0.6;
}

/* By default, a round generates as many samples as a step trains on, rounded to whole prompts if sequences are packed
 * and their number is an estimate. 16 samples answer one prompt, or the largest part of 16 that divides their
 * number. */
static void resolve_rollouts(struct tsim_scenario *sc) {
    struct tsim_generation_spec *g = &sc->generation;
    if (g->rollouts == 0) {
        double of_step = (double)sc->training.global_batch_size * tsim_samples_of_sequence(sc);
        int64_t whole = g->samples_per_prompt > 0 ? g->samples_per_prompt : SAMPLES_PER_PROMPT;
        g->rollouts = tsim_is_packed(sc) ? (int64_t)ceil(of_step / (double)whole) * whole : (int64_t)of_step;
    }
    if (g->samples_per_prompt == 0)
        for (g->samples_per_prompt = SAMPLES_PER_PROMPT; g->rollouts % g->samples_per_prompt != 0;)
            g->samples_per_prompt /= 2;
}

static void resolve_training(struct tsim_draft *draft) {
    struct tsim_scenario *sc = &draft->scenario;
    enum tsim_attention_kernel kernel = sc->software->attention_kernel;
    bool is_standard = kernel == TSIM_ATTENTION_UNFUSED || kernel == TSIM_ATTENTION_FUSED_SOFTMAX;
    if (draft->attention < 0)
        draft->attention = is_standard ? TSIM_ATTENTION_STANDARD : TSIM_ATTENTION_FLASH;
    sc->training.attention = (enum tsim_attention)draft->attention;
    sc->training.no_master_weights = !draft->master_weights;
    resolve_loss_scaling(&sc->training);
    resolve_adapter(draft, &sc->training.adapter);
    resolve_compression(&sc->training.compression);
    if (!sc->training.sequence_length && sc->model->list)
        sc->training.sequence_length = 1;
    if (!sc->training.sequence_length && sc->model->image.patch > 0)
        sc->training.sequence_length = sc->model->image.tokens;
    if (!sc->training.sequence_length)
        sc->training.sequence_length =
            sc->model->position == TSIM_POSITION_LEARNED && sc->model->positions < DEFAULT_SEQUENCE_LENGTH
                ? sc->model->positions
                : DEFAULT_SEQUENCE_LENGTH;
    if (sc->model->encoder_layers > 0 && !sc->training.decoder_sequence_length)
        sc->training.decoder_sequence_length = sc->training.sequence_length;
    sc->training.length_kind = draft->tokens > 0                         ? TSIM_LENGTH_TOKENS
                               : draft->samples > 0 || draft->epochs > 0 ? TSIM_LENGTH_SAMPLES
                               : draft->steps > 0                        ? TSIM_LENGTH_STEPS
                                                                         : TSIM_LENGTH_NONE;
    /* one of them */
    sc->training.length = draft->tokens + draft->samples + draft->epochs * sc->data.samples + draft->steps;
    tsim_lengths_measure(sc);
    resolve_generation(draft);
}

/* Returns the precision with the fewest errors of range that software and accelerator both have, 16 bits before more:
 * software of 2020 knows no bf16, and a V100 has none. */
static enum tsim_precision usual_precision(const struct tsim_scenario *sc) {
    static const enum tsim_precision USUAL[] = {TSIM_BF16, TSIM_FP16, TSIM_TF32, TSIM_FP32};
    for (size_t i = 0; i < sizeof USUAL / sizeof USUAL[0]; i++)
        if (tsim_is_in(sc->software->supports.precisions, USUAL[i]) &&
            sc->cluster.node->accelerator->peak_flops_per_s[USUAL[i]] > 0)
            return USUAL[i];
    return TSIM_BF16;
}

/* Fills in what the software does if the scenario does not say. */
static void resolve_software_defaults(struct tsim_draft *draft) {
    struct tsim_training_spec *training = &draft->scenario.training;
    struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    const struct tsim_software *software = draft->scenario.software;
    const struct tsim_software_defaults *defaults = &software->defaults;
    if (!tsim_draft_has(draft, "training.precision"))
        training->precision = usual_precision(&draft->scenario);
    if (!tsim_draft_has(draft, "training.optimizer"))
        training->optimizer = (enum tsim_optimizer)defaults->optimizer;
    if (!tsim_draft_has(draft, "training.recompute"))
        training->recompute = draft->scenario.model->list ? TSIM_RECOMPUTE_NONE : defaults->recompute;
    bool is_unsharded = training->compression.kind != TSIM_UNCOMPRESSED ||
                        (draft->schedule >= 0 && tsim_is_asynchronous((enum tsim_schedule)draft->schedule));
    if (!tsim_draft_has(draft, "parallelism.zero") && !is_unsharded)
        draft->zero = p->pipeline > 1 ? defaults->zero_staged : defaults->zero;
    if (!tsim_draft_has(draft, "parallelism.context_exchange"))
        p->context_exchange = (enum tsim_context_exchange)defaults->context_exchange;
    if (!tsim_draft_has(draft, "parallelism.sequence")) /* the tokens of an image seldom divide */
        p->sequence = p->tensor > 1 && draft->scenario.model->image.patch == 0 && defaults->sequence &&
                      tsim_is_in(software->supports.splits, TSIM_SPLIT_SEQUENCE);
    if (!tsim_draft_has(draft, "parallelism.zero_group"))
        draft->zero_group = TSIM_ZERO_GROUP_USUAL;
}

/* The accelerator's compiler makes a compiled program, so no profile changes what overlaps. If compute and exchange
 * take turns, nothing overlaps. */
static void resolve_execution(struct tsim_draft *draft, struct tsim_arena *arena) {
    struct tsim_scenario *sc = &draft->scenario;
    enum tsim_execution execution = sc->cluster.node->accelerator->execution;
    if (execution == TSIM_EXECUTION_LAUNCHED)
        return;
    struct tsim_software *compiled = TSIM_NEW(arena, struct tsim_software);
    *compiled = *sc->software;
    compiled->fusion = TSIM_FUSION_COMPILE;
    compiled->host_time_per_op_s = compiled->host_time_per_collective_s = compiled->host_time_per_checkpoint_s = 0;
    compiled->host_time_per_fp8_op_s = compiled->host_time_per_sample_s = 0;
    compiled->shard_copies = TSIM_COPIES_NONE;
    if (execution == TSIM_EXECUTION_BULK_SYNCHRONOUS)
        compiled->overlap = sc->parallelism.overlap = (struct tsim_overlap){0};
    sc->software = compiled;
}

static void resolve_cluster(struct tsim_draft *draft) {
    struct tsim_cluster_spec *cluster = &draft->scenario.cluster;
    if (!cluster->accelerators_per_node)
        cluster->accelerators_per_node = cluster->node->accelerators;
    int64_t generating =
        draft->scenario.generation.nodes < cluster->nodes ? draft->scenario.generation.nodes : 0; /* else refused */
    draft->scenario.n_accelerators = (cluster->nodes - generating) * cluster->accelerators_per_node;
    tsim_draft_resolve_shape(draft);
}

/* Returns the price of a node beyond its accelerators, over their price; negative if the node has no price. */
static double host_frac(const struct tsim_node *node) {
    double accelerators_usd = (double)node->accelerators * node->accelerator->purchase_usd;
    return node->purchase_usd > 0 && accelerators_usd > 0 ? node->purchase_usd / accelerators_usd - 1 : -1;
}

/* Returns the network's price over that of the accelerators, rounded to hundredths of a per cent, so that a resolved
 * scenario repeats it; negative if it is not known. */
static double network_frac(const struct tsim_scenario *sc) {
    const struct tsim_cluster_spec *cluster = &sc->cluster;
    double usd = tsim_network_bill(cluster->fabric, (double)cluster->nodes * (double)cluster->node->nics).usd;
    double accelerators_usd = (double)tsim_all_accelerators(sc) * sc->cost.purchase_usd;
    if (!cluster->fabric || cluster->nodes == 1)
        return 0;
    return usd > 0 && accelerators_usd > 0 ? floor(1e4 * usd / accelerators_usd + 0.5) / 1e4 : -1;
}

static void resolve_cost(struct tsim_draft *draft) {
    struct tsim_scenario *sc = &draft->scenario;
    double rounding = 0.01, least = 1e-6, own_host_frac = host_frac(sc->cluster.node); /* least: the key's */
    if (!tsim_draft_has(draft, "cost.host") && own_host_frac > -rounding)
        sc->cost.host_frac = own_host_frac >= least ? own_host_frac : 0;
    if (!tsim_draft_has(draft, "cost.rent"))
        sc->cost.rent_usd_per_s = sc->cluster.node->accelerator->rent_usd_per_s;
    if (!tsim_draft_has(draft, "cost.purchase"))
        sc->cost.purchase_usd = sc->cluster.node->accelerator->purchase_usd;
    double own_network_frac = network_frac(sc);
    if (!tsim_draft_has(draft, "cost.network") && own_network_frac >= 0)
        sc->cost.network_frac = own_network_frac;
    if (!tsim_draft_has(draft, "cost.price_spread"))
        sc->cost.price_spread = tsim_draft_has(draft, "cost.rent") ? 1 : sc->cluster.node->accelerator->price_spread;
    if (!tsim_draft_has(draft, "energy.price_spread")) {
        bool is_said = tsim_draft_has(draft, "energy.price") || tsim_draft_has(draft, "energy.price_profile") ||
                       tsim_draft_has(draft, "energy.region");
        sc->energy.price_spread = is_said ? 1 : USUAL_ELECTRICITY_SPREAD;
    }
    sc->simulation.fold = draft->fold;
}

/* Returns the mean of a profile, or `otherwise` without one. */
static double mean_of(const struct tsim_hourly *profile, double otherwise) {
    double sum = 0;
    for (size_t hour = 0; hour < profile->n_hours; hour++)
        sum += profile->values[hour];
    return profile->n_hours > 0 ? sum / (double)profile->n_hours : otherwise;
}

/* The place where a value was said, the later ones winning: nowhere, in a file that the scenario extends, in its own
 * file, by --set or an axis. */
enum said { SAID_NOWHERE, SAID_IN_A_BASE, SAID_IN_THE_FILE, SAID_ON_TOP };

static enum said said_at(const struct tsim_draft *draft, const char *path) {
    const struct tsim_value *value = tsim_value_find_path(draft->root, path);
    if (!value)
        return SAID_NOWHERE;
    if (value->document->is_override)
        return SAID_ON_TOP;
    return strcmp(value->document->file, draft->root->document->file) == 0 ? SAID_IN_THE_FILE : SAID_IN_A_BASE;
}

/* A value that the scenario says itself wins over its region's, unless the region was named later. */
static bool follows_region(const struct tsim_draft *draft, const char *path, const char *profile_path) {
    enum said own = said_at(draft, path), profile = said_at(draft, profile_path);
    return said_at(draft, "energy.region") > (own > profile ? own : profile);
}

/* Takes the region's value and profile if they count. Returns whether the result is, on average, the region's value. */
static bool resolve_from_region(const struct tsim_draft *draft, const char *path, const char *profile_path,
                                double of_region, const struct tsim_hourly *profile_of_region, double *value,
                                struct tsim_hourly *profile) {
    double mean = mean_of(profile_of_region, of_region);
    if (follows_region(draft, path, profile_path)) {
        *value = of_region;
        *profile = *profile_of_region;
    }
    return mean_of(profile, *value) == mean;
}

static void resolve_region(const struct tsim_draft *draft, struct tsim_reader *reader,
                           struct tsim_energy_spec *energy) {
    const struct tsim_region *region = energy->region;
    bool has_price = region->price_usd_per_j > 0 || region->price_profile.n_hours > 0;
    bool counts = resolve_from_region(draft, "energy.carbon", "energy.carbon_profile", region->carbon_kg_per_j,
                                      &region->carbon_profile, &energy->carbon_kg_per_j, &energy->carbon_profile);
    if (has_price)
        counts |= resolve_from_region(draft, "energy.price", "energy.price_profile", region->price_usd_per_j,
                                      &region->price_profile, &energy->price_usd_per_j, &energy->price_profile);
    if (!counts)
        tsim_diag_hint(WARN_IN(draft, reader, "energy.region", "this has no effect, because %s",
                               has_price ? "carbon and price are given beside it"
                                         : "carbon is given beside it and the region "
                                           "has no price"),
                       "leave out %s%s", has_price ? "energy.carbon or energy.price" : "energy.carbon",
                       said_at(draft, "energy.region") == SAID_ON_TOP
                           ? ""
                           : ", or name the region with --set, which wins over the file");
}

/* The mean stands for the profile from here on; another value beside it is not used. */
static void take_mean(const struct tsim_draft *draft, struct tsim_reader *reader, const char *path,
                      const struct tsim_hourly *profile, double *value) {
    double mean = mean_of(profile, *value);
    const char *profile_path = tsim_arena_printf(reader->arena, "%s_profile", path);
    if (mean != *value && tsim_draft_has(draft, path) && tsim_draft_has(draft, profile_path))
        WARN_IN(draft, reader, path, "this has no effect, because %s is given", profile_path);
    *value = mean;
}

static void resolve_energy(struct tsim_draft *draft, struct tsim_reader *reader) {
    struct tsim_energy_spec *energy = &draft->scenario.energy;
    if (energy->region)
        resolve_region(draft, reader, energy);
    take_mean(draft, reader, "energy.carbon", &energy->carbon_profile, &energy->carbon_kg_per_j);
    take_mean(draft, reader, "energy.price", &energy->price_profile, &energy->price_usd_per_j);
    if (energy->start_s > 0 && energy->carbon_profile.n_hours + energy->price_profile.n_hours == 0)
        WARN_IN(draft, reader, "energy.start",
                "this has no effect, because there is neither a price_profile nor a carbon_profile");
}

static void resolve_sayings(struct tsim_draft *draft) {
    struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    p->says_overlap_pipeline = tsim_draft_has(draft, "parallelism.overlap.pipeline");
    p->says_overlap_expert = tsim_draft_has(draft, "parallelism.overlap.expert");
    p->says_schedule = draft->schedule >= 0;
    p->says_layers = draft->layers;
    draft->scenario.training.says_gradients = tsim_draft_has(draft, "training.gradient_precision");
    if (!tsim_has_tensor_overlap(draft->scenario.training.precision) &&
        !tsim_draft_has(draft, "parallelism.overlap.tensor"))
        p->overlap.tensor = false;
}

void tsim_draft_fill(struct tsim_draft *draft, struct tsim_reader *reader) {
    resolve_execution(draft, reader->arena);
    resolve_software_defaults(draft);
    resolve_training(draft);
    tsim_draft_resolve_data(draft);
    resolve_cluster(draft);
    resolve_cost(draft);
    resolve_energy(draft, reader);
    tsim_draft_resolve_reliability(draft);
    resolve_sayings(draft);
}

/* Returns the software's group if it cuts the ranks into equal groups, otherwise 0: a default that does not fit is no
 * error. */
static int64_t usual_zero_group(const struct tsim_draft *draft) {
    const struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    int64_t own = draft->scenario.software->defaults.zero_group, ranks = draft->data * p->context;
    int64_t group = own == -1 ? draft->scenario.cluster.accelerators_per_node / p->tensor : own;
    return draft->zero > 0 && group > 0 && group < ranks && ranks % group == 0 && p->expert == 1 ? group : 0;
}

static enum tsim_precision usual_gradients(const struct tsim_software_defaults *defaults, enum tsim_precision precision,
                                           int64_t zero) {
    if (precision < TSIM_FP16)
        return TSIM_FP32;
    if (defaults->halves_sharded_gradients && zero >= 2)
        return tsim_unquantized(precision);
    return precision == TSIM_FP16 ? defaults->fp16_gradients : defaults->bf16_gradients;
}

void tsim_draft_fill_plan(struct tsim_draft *draft) {
    struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    int64_t n = draft->scenario.n_accelerators;
    if (draft->data == 0 && tsim_ranks_divide(p, n))
        draft->data = n / tsim_n_model_ranks(p);
    const struct tsim_software *software = draft->scenario.software;
    if (!p->says_overlap_pipeline)
        p->overlap.pipeline = tsim_hides_messages(software, p->virtual_pipeline, draft->schedule);
    if (!p->says_overlap_expert)
        p->overlap.expert = tsim_hides_exchanges(software, draft->schedule);
    p->schedule = draft->schedule >= 0      ? (enum tsim_schedule)draft->schedule
                  : p->virtual_pipeline > 1 ? TSIM_SCHEDULE_INTERLEAVED
                                            : (enum tsim_schedule)software->defaults.schedule;
    if (draft->zero_group == TSIM_ZERO_GROUP_USUAL)
        draft->zero_group = usual_zero_group(draft);
    struct tsim_training_spec *training = &draft->scenario.training;
    if (!training->says_gradients)
        training->gradient_precision = usual_gradients(&software->defaults, training->precision, draft->zero);
}

/* ---- what follows from a valid draft ---- */

/* Tensor ranks are innermost, then context and data: a node holds (accelerators / tensor) ranks of a sharding group. */
static int64_t zero_group_ranks(const struct tsim_draft *draft) {
    const struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    int64_t ranks = draft->data * p->context, in_node = draft->scenario.cluster.accelerators_per_node / p->tensor;
    if (draft->zero_group > 0)
        return draft->zero_group;
    if (tsim_workers_apart(p) > 0)
        ranks /= tsim_workers_apart(p);
    if (draft->zero_group == 0 || in_node > ranks)
        return ranks;
    return in_node > 0 ? in_node : 1;
}

static void spread_layers(int64_t n, int64_t n_chunks, int64_t *layers) {
    for (int64_t i = 0; i < n_chunks; i++)
        layers[i] = n * (i + 1) / n_chunks - n * i / n_chunks;
}

/* The teacher runs forward with the student's plan, its layers divided anew. */
static void finish_teacher(struct tsim_scenario *sc, struct tsim_arena *arena) {
    if (!sc->training.teacher)
        return;
    struct tsim_scenario *teaching = TSIM_NEW(arena, struct tsim_scenario);
    *teaching = *sc;
    teaching->model = sc->training.teacher;
    teaching->training.kind = TSIM_PRETRAIN;
    teaching->training.teacher = NULL;
    teaching->training.adapter = (struct tsim_adapter_spec){0};
    if (teaching->model->list || teaching->model->image.patch > 0)
        teaching->training.sequence_length = teaching->model->list ? 1 : teaching->model->image.tokens;
    int64_t n_chunks = tsim_n_model_parts(&sc->parallelism), *layers = TSIM_NEW_ARRAY(arena, (size_t)n_chunks, int64_t);
    spread_layers(teaching->model->layers, n_chunks, layers);
    teaching->parallelism.layers_per_chunk = layers;
    teaching->parallelism.balances = false;
    sc->teaching = teaching;
}

static void finish_layers(struct tsim_draft *draft, struct tsim_arena *arena) {
    struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    int64_t n_chunks = tsim_n_model_parts(p), ends, others;
    p->layers_per_chunk = draft->layers;
    if (draft->layers)
        return;
    int64_t *layers = TSIM_NEW_ARRAY(arena, (size_t)n_chunks, int64_t), n = draft->scenario.model->layers;
    p->layers_per_chunk = layers;
    if (p->balances) {
        spread_layers(n, n_chunks, layers);
        return;
    }
    TSIM_ASSERT(tsim_layers_even(draft->scenario.model->layers, n_chunks, &ends, &others));
    for (int64_t i = 0; i < n_chunks; i++)
        layers[i] = i == 0 || i == n_chunks - 1 ? ends : others;
}

/* Applies the square root rule to the largest chunk: with n layers of which every k-th keeps its input, memory n/k + k
 * is least at k = sqrt(n). */
static void finish_recompute(struct tsim_draft *draft) {
    const struct tsim_parallelism_spec *p = &draft->scenario.parallelism;
    int64_t most = 1;
    for (int64_t i = 0; i < tsim_n_model_parts(p); i++)
        most = p->layers_per_chunk[i] > most ? p->layers_per_chunk[i] : most;
    if (draft->scenario.training.recompute == TSIM_RECOMPUTE_SQRT)
        draft->scenario.training.recompute_every = (int64_t)lround(sqrt((double)most));
}

/* The number of steps that suffices for a 99th percentile. */
#define STEPS_THAT_VARY 100

bool tsim_scenario_varies(const struct tsim_scenario *sc) {
    const struct tsim_variability_spec *v = &sc->variability;
    return v->compute_cv > 0 || (v->straggler_frac > 0 && v->straggler_slowdown > 1);
}

/* Returns whether ranks that would be folded may differ by their links or by chance, or whether each of their messages
 * is wanted. */
static bool needs_every_rank(const struct tsim_scenario *sc) {
    bool needs = sc->variability.compute_cv > 0 || sc->simulation.network == TSIM_NETWORK_STEPS;
    for (size_t i = 0; i < sc->cluster.n_degraded; i++)
        needs |= sc->cluster.degraded[i].link != TSIM_DEGRADED_ACCELERATOR;
    return needs;
}

const struct tsim_scenario *tsim_scenario_without_variation(struct tsim_arena *arena,
                                                            const struct tsim_scenario *scenario) {
    struct tsim_scenario *steady = TSIM_NEW(arena, struct tsim_scenario);
    *steady = *scenario;
    steady->variability = (struct tsim_variability_spec){.straggler_slowdown = 1};
    steady->simulation.fold = !needs_every_rank(steady);
    return steady;
}

/* Software without tied matrices loads the matrix that embedding and head share twice. */
static void untie_embeddings(struct tsim_scenario *sc, struct tsim_arena *arena) {
    if (!sc->software->unties_embeddings || !sc->model->tied_embeddings)
        return;
    struct tsim_model *own = tsim_arena_alloc(arena, sizeof *own);
    *own = *sc->model;
    own->tied_embeddings = false;
    sc->model = own;
}

void tsim_draft_finish(struct tsim_draft *draft, struct tsim_arena *arena) {
    struct tsim_scenario *sc = &draft->scenario;
    struct tsim_parallelism_spec *p = &sc->parallelism;
    untie_embeddings(sc, arena);
    if (p->parameter_server.servers > 0 && p->parameter_server.workers == 0)
        p->parameter_server.workers = draft->data;
    if (sc->cluster.nodes == 1 && sc->cluster.fabric && sc->cluster.fabric->topology != TSIM_TOPOLOGY_TORUS)
        sc->cluster.fabric = NULL;
    if (needs_every_rank(sc))
        draft->fold = 0;
    sc->simulation.fold = draft->fold == 1;
    if (tsim_scenario_varies(sc) && !tsim_draft_has(draft, "simulation.steps"))
        sc->simulation.steps = STEPS_THAT_VARY;
    if (!tsim_is_replicated(p, draft->data) || tsim_streams_weights(sc))
        draft->zero = 0;
    if (p->tensor == 1)
        p->sequence = false;
    p->schedule = tsim_played_schedule(p);
    draft->schedule = (int)p->schedule;
    draft->zero_group = zero_group_ranks(draft);
    p->zero_group_ranks = draft->zero_group;
    p->zero = (int)draft->zero;
    p->data = draft->data;
    sc->n_microbatches = sc->training.global_batch_size / (sc->training.micro_batch_size * p->data);
    tsim_lengths_resolve(sc);
    if (tsim_generates(sc))
        resolve_rollouts(sc);
    finish_layers(draft, arena);
    finish_recompute(draft);
    finish_teacher(sc, arena);
}
