#include "run/generation.h"

#include "base/random.h"
#include "cluster/power.h"
#include "config/plan_choice.h"
#include "partition/memory.h"
#include "step/step.h"

#include <math.h>

enum { MOST_BATCHES = 24, GENERATION_STREAM = 0x67656e /* "gen": its random numbers are nobody else's */ };
/* A prefill pass takes prompts of so many tokens together: vLLM's guide recommends more than that for throughput
 * (max_num_batched_tokens, docs/configuration/optimization.md). */
enum { PREFILL_TOKENS = 8192 };

/* A decode pass of an engine with one batch: its time with an empty cache, and what each token of every sequence's
 * cache adds. */
struct decode {
    double batch;
    double time_s, time_s_per_token;
    double energy_j, energy_j_per_token;
};

struct engines {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario; /* of inference, divided as the engines are */
    struct tsim_diags *diags;
    int64_t n;       /* engines */
    int64_t sharing; /* so many of them share experts, and go from pass to pass together */
    int64_t slots;   /* sequences that one runs at a time */
    double prompt;   /* tokens */
    int64_t samples_per_prompt;
    struct decode decode[MOST_BATCHES]; /* of growing batches */
    int n_decode;
    double prefill_s_per_token, prefill_j_per_token;
    double host_time_per_pass_s, rest_w; /* between decode passes; of an engine at rest */
};

/* ---- passes ---- */

double tsim_cache_bytes(const struct tsim_scenario *sc, double tokens) {
    struct tsim_scenario cached = *sc;
    struct tsim_parts layers = tsim_model_layers(sc->model, 0, sc->model->layers);
    double bytes = 0;
    cached.training.micro_batch_size = 1;
    cached.training.sequence_length = 0;
    cached.training.lengths.mean = 0;
    cached.cached_tokens = tokens;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] > 0)
            bytes += layers.times[part] * tsim_layer_cache_bytes(&cached, (enum tsim_part)part);
    }
    return bytes;
}

/* Plays a pass of every engine: `sequences`, each of `tokens`, behind those in the cache. The energy is that of one
 * engine. */
static enum tsim_status play(const struct engines *e, int64_t sequences, int64_t tokens, double cached, double *time_s,
                             double *energy_j) {
    struct tsim_scenario pass = *e->scenario;
    pass.is_forward_only = true;
    pass.n_microbatches = 1;
    pass.training.micro_batch_size = sequences;
    pass.training.sequence_length = tokens;
    pass.cached_tokens = cached;
    struct tsim_machine machine = tsim_machine_of(e->arena, &pass, NULL);
    TSIM_TRY(tsim_step_time_and_energy(e->arena, &pass, &machine, time_s, energy_j, e->diags));
    *energy_j /= (double)e->n;
    return TSIM_OK;
}

static enum tsim_status play_decode(const struct engines *e, int64_t batch, double longest, struct decode *decode) {
    double short_s, long_s, short_j, long_j, first = e->prompt, last = fmax(longest, first + 1);
    TSIM_TRY(play(e, batch, 1, first, &short_s, &short_j));
    TSIM_TRY(play(e, batch, 1, last, &long_s, &long_j));
    double more_s = (long_s - short_s) / (last - first), more_j = (long_j - short_j) / (last - first);
    *decode = (struct decode){.batch = (double)batch,
                              .time_s = short_s - first * more_s,
                              .time_s_per_token = more_s,
                              .energy_j = short_j - first * more_j,
                              .energy_j_per_token = more_j};
    return TSIM_OK;
}

static enum tsim_status play_passes(struct engines *e, double longest) {
    double time_s, energy_j;
    int64_t prompts = (int64_t)fmax(floor(PREFILL_TOKENS / e->prompt), 1), tokens = (int64_t)ceil(e->prompt);
    TSIM_TRY(play(e, prompts, tokens, 0, &time_s, &energy_j));
    e->prefill_s_per_token = time_s / (double)(prompts * tokens);
    e->prefill_j_per_token = energy_j / (double)(prompts * tokens);
    for (int64_t batch = 1; e->n_decode < MOST_BATCHES; batch *= 2) {
        int64_t own = batch < e->slots ? batch : e->slots;
        TSIM_TRY(play_decode(e, own, longest, &e->decode[e->n_decode++]));
        if (own == e->slots)
            return TSIM_OK;
    }
    return TSIM_OK;
}

/* Interpolates between two batches that were played. */
static struct decode decode_of(const struct engines *e, double batch) {
    int i = 0;
    while (i + 1 < e->n_decode - 1 && e->decode[i + 1].batch < batch)
        i++;
    const struct decode *a = &e->decode[i], *b = &e->decode[i + 1 < e->n_decode ? i + 1 : i];
    double w = b->batch > a->batch ? (batch - a->batch) / (b->batch - a->batch) : 0;
    return (struct decode){.batch = batch,
                           .time_s = a->time_s + w * (b->time_s - a->time_s),
                           .time_s_per_token = a->time_s_per_token + w * (b->time_s_per_token - a->time_s_per_token),
                           .energy_j = a->energy_j + w * (b->energy_j - a->energy_j),
                           .energy_j_per_token =
                               a->energy_j_per_token + w * (b->energy_j_per_token - a->energy_j_per_token)};
}

/* ---- an engine ---- */

struct engine {
    double time_s, prefill_s, energy_j;
};

/* A response that runs: the decode pass that gives its last token, counted from the engine's first, and its length. */
struct running {
    double end, tokens;
};
struct queue { /* a binary heap: the first ends first */
    struct running *items;
    int64_t n;
};

static void swap(struct running *a, struct running *b) {
    struct running c = *a;
    *a = *b;
    *b = c;
}

static void push(struct queue *q, struct running item) {
    int64_t i = q->n++;
    q->items[i] = item;
    for (; i > 0 && q->items[i].end < q->items[(i - 1) / 2].end; i = (i - 1) / 2)
        swap(&q->items[i], &q->items[(i - 1) / 2]);
}

static struct running pop(struct queue *q) {
    struct running first = q->items[0];
    q->items[0] = q->items[--q->n];
    for (int64_t i = 0, child; (child = 2 * i + 1) < q->n; i = child) {
        if (child + 1 < q->n && q->items[child + 1].end < q->items[child].end)
            child++;
        if (q->items[i].end <= q->items[child].end)
            break;
        swap(&q->items[i], &q->items[child]);
    }
    return first;
}

/* Runs the engines that share experts, or one. Between the ends of two responses, every running sequence gets a token in
 * each pass. `cached` counts the tokens of all of them. Engines that share take new prompts where fewest run, so that all
 * have about as many; one without any goes through the passes of the others, and its experts do. */
static struct engine run_engine(const struct engines *e, const double *responses, int64_t n, struct running *items) {
    struct engine engine = {0};
    struct queue queue = {.items = items};
    double prompts = ceil((double)n / (double)e->samples_per_prompt), now = 0, cached = 0,
           n_engines = (double)e->sharing;
    int64_t next = 0;
    engine.prefill_s = ceil(prompts / n_engines) * e->prompt * e->prefill_s_per_token;
    engine.energy_j = prompts * e->prompt * e->prefill_j_per_token;
    engine.time_s = engine.prefill_s;
    while (queue.n > 0 || next < n) {
        for (; queue.n < e->slots * e->sharing && next < n; next++) {
            push(&queue, (struct running){.end = now + responses[next], .tokens = responses[next]});
            cached += e->prompt;
        }
        double passes = queue.items[0].end - now, batch = (double)queue.n;
        struct decode d = decode_of(e, fmax(batch / n_engines, 1));
        double tokens = cached / batch + (passes - 1) / 2; /* of a sequence's cache: the mean over the passes */
        engine.time_s += passes * (e->host_time_per_pass_s + d.time_s + d.time_s_per_token * tokens);
        engine.energy_j +=
            passes * n_engines * (e->host_time_per_pass_s * e->rest_w + d.energy_j + d.energy_j_per_token * tokens);
        cached += passes * batch;
        now += passes;
        while (queue.n > 0 && queue.items[0].end <= now)
            cached -= e->prompt + pop(&queue).tokens;
    }
    return engine;
}

/* ---- a round ---- */

/* Draws a sample from training.lengths and takes its prompt off: at least one token is left. */
static double draw_response(const struct tsim_scenario *sc, struct tsim_random *random) {
    const struct tsim_lengths_spec *l = &sc->training.lengths;
    double tokens = (double)sc->training.sequence_length;
    if (l->mean > 0) {
        double variance = log(1 + l->cv * l->cv);
        tokens = fmin(exp(log(l->mean) - variance / 2 + sqrt(variance) * tsim_random_normal(random)), tokens);
    }
    return fmax(round(tokens - sc->generation.prompt), 1);
}

/* Returns the scenario as engines run it: inference by their software, divided over tensor ranks, and its experts over
 * `expert` engines. NULL: rules refuse it. */
static const struct tsim_scenario *inference_of(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                                int64_t expert) {
    struct tsim_scenario job = *sc;
    struct tsim_model *model = TSIM_NEW(arena, struct tsim_model);
    struct tsim_plan_choice plan = {.value = {[TSIM_PLAN_TENSOR] = sc->generation.tensor,
                                              [TSIM_PLAN_PIPELINE] = 1,
                                              [TSIM_PLAN_VIRTUAL] = 1,
                                              [TSIM_PLAN_CONTEXT] = 1,
                                              [TSIM_PLAN_EXPERT] = expert,
                                              [TSIM_PLAN_MICRO_BATCH] = 1,
                                              [TSIM_PLAN_RECOMPUTE] = TSIM_RECOMPUTE_NONE,
                                              [TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B}};
    const struct tsim_scenario *inference;
    *model = *sc->model;
    model->layers -= model->mtp_layers; /* which help training alone */
    model->mtp_layers = model->mtp_modules = 0;
    job.model = model;
    if (sc->generation.nodes > 0)
        job.cluster.nodes = sc->generation.nodes;
    job.n_accelerators = tsim_generating_accelerators(sc);
    job.software = sc->generation.software;
    job.training = (struct tsim_training_spec){.sequence_length = sc->training.sequence_length,
                                               .global_batch_size = job.n_accelerators / sc->generation.tensor,
                                               .precision = sc->generation.precision,
                                               .gradient_precision = sc->training.gradient_precision,
                                               .optimizer = sc->training.optimizer,
                                               .attention = TSIM_ATTENTION_FLASH};
    job.generation = (struct tsim_generation_spec){0};
    job.data.has = false; /* prompts are there */
    job.parallelism.overlap = sc->generation.software->overlap;
    job.parallelism.expert_tensor = 0;
    job.parallelism.zero_group_ranks = 0; /* training's group need not divide the engines */
    return tsim_scenario_replan(arena, &job, &plan, &inference) ? inference : NULL;
}

static enum tsim_status refused(const struct tsim_scenario *sc, struct tsim_diags *diags) {
    struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){sc->file, 0, 0},
                                              "generation.tensor", "%lld ranks cannot divide %.40s to generate",
                                              (long long)sc->generation.tensor, sc->model->name);
    tsim_diag_hint(diag, "tsim check says why, with parallelism: {tensor: %lld, expert: %lld} of the same model",
                   (long long)sc->generation.tensor, (long long)sc->generation.expert);
    return TSIM_ERR_INFEASIBLE;
}

static enum tsim_status too_large(const struct tsim_scenario *sc, double needed_bytes, double has_bytes,
                                  struct tsim_diags *diags) {
    char needs[40], has[40];
    struct tsim_diag *diag = tsim_diags_error(
        diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){sc->file, 0, 0}, "generation.tensor",
        "weights and the cache of one sequence take %s of an accelerator, but generation.memory leaves %s",
        tsim_quantity_human(needed_bytes, TSIM_BYTES, needs, sizeof needs),
        tsim_quantity_human(has_bytes, TSIM_BYTES, has, sizeof has));
    tsim_diag_hint(diag, "more ranks that divide the model (generation.tensor), or a larger share of the memory");
    return TSIM_ERR_INFEASIBLE;
}

/* Weights of layers are held in the precision of their products, those of the embedding and the head in that of
 * activations. */
static double weights_bytes_of(const struct tsim_scenario *inference, enum tsim_precision precision) {
    struct tsim_scenario wide = *inference;
    const struct tsim_model *m = inference->model;
    struct tsim_stage_memory memory;
    wide.training.precision = tsim_unquantized(precision);
    tsim_stage_memory(&wide, 0, &memory);
    if (!tsim_is_quantized(precision))
        return memory.weights_bytes;
    double bytes = tsim_operand_bytes(wide.training.precision), matrices = m->tied_embeddings ? 1 : 2;
    double ends = matrices * tsim_padded_vocab_per_rank(inference) * (double)m->hidden;
    return ends * bytes + (memory.weights_bytes / bytes - ends) * tsim_operand_bytes(precision);
}

/* An engine holds the weights, and beside them the cache of as many sequences as fit at their mean length. */
static enum tsim_status size_engines(struct engines *e, const struct tsim_scenario *sc, double mean_tokens,
                                     double most_tokens, double *weights_bytes, double *excess_bytes) {
    double has_bytes = sc->generation.memory_frac * sc->cluster.node->accelerator->memory_bytes;
    *weights_bytes = weights_bytes_of(e->scenario, sc->generation.precision);
    double left_bytes = has_bytes - *weights_bytes, one_bytes = tsim_cache_bytes(e->scenario, most_tokens);
    *excess_bytes = fmax((one_bytes - left_bytes) / sc->generation.memory_frac, 0);
    if (*excess_bytes > 0)
        return too_large(sc, *weights_bytes + one_bytes, has_bytes, e->diags);
    double slots = fmax(floor(left_bytes / tsim_cache_bytes(e->scenario, mean_tokens)), 1);
    e->slots = (int64_t)fmin(slots, (double)sc->generation.max_sequences);
    return TSIM_OK;
}

/* The responses of some rounds, as long as they were drawn, round after round. */
struct responses {
    int32_t n_rounds;
    double *tokens;
    double mean;         /* of all */
    double longest;      /* of all ... */
    double mean_longest; /* ... and of a round, on average */
};

static void draw_rounds(struct tsim_arena *arena, const struct tsim_scenario *sc, struct responses *responses) {
    const int64_t rollouts = sc->generation.rollouts;
    const int32_t n = sc->training.lengths.mean > 0 && sc->training.lengths.cv > 0 ? TSIM_ROUNDS : 1; /* or all alike */
    *responses = (struct responses){.n_rounds = n, .tokens = TSIM_NEW_ARRAY(arena, (size_t)(n * rollouts), double)};
    for (int64_t round = 0; round < n; round++) {
        struct tsim_random random;
        double longest = 0;
        tsim_random_init(&random, (uint64_t)sc->simulation.seed, (uint64_t)round, GENERATION_STREAM);
        for (int64_t i = 0; i < rollouts; i++) {
            double tokens = responses->tokens[round * rollouts + i] = draw_response(sc, &random);
            responses->mean += tokens / (double)(n * rollouts);
            longest = fmax(longest, tokens);
        }
        responses->longest = fmax(responses->longest, longest);
        responses->mean_longest += longest / n;
    }
}

/* Draws the responses, and makes engines that hold the model and their caches. */
static enum tsim_status begin(struct tsim_arena *arena, const struct tsim_scenario *sc, struct engines *e,
                              struct responses *responses, double *weights_bytes, double *excess_bytes,
                              struct tsim_diags *diags) {
    const struct tsim_generation_spec *g = &sc->generation;
    *e =
        (struct engines){.arena = arena,
                         .scenario = inference_of(arena, sc, g->expert),
                         .sharing = g->expert,
                         .diags = diags,
                         .n = tsim_generating_accelerators(sc) / g->tensor,
                         .prompt = g->prompt,
                         .host_time_per_pass_s = g->software->host_time_per_pass_s * sc->cluster.node->host_time_factor,
                         .samples_per_prompt = g->samples_per_prompt};
    *excess_bytes = 0;
    if (!e->scenario)
        return refused(sc, diags);
    draw_rounds(arena, sc, responses);
    return size_engines(e, sc, g->prompt + responses->mean, g->prompt + responses->longest, weights_bytes,
                        excess_bytes);
}

enum tsim_status tsim_generation_check(struct tsim_arena *arena, const struct tsim_scenario *sc, double *excess_bytes,
                                       struct tsim_diags *diags) {
    struct engines e;
    struct responses responses;
    double weights_bytes;
    return begin(arena, sc, &e, &responses, &weights_bytes, excess_bytes, diags);
}

/* Engines share the samples; those that are done rest. Returns the slowest. */
static struct engine run_round(const struct engines *e, const double *responses, int64_t rollouts,
                               struct running *items, double *energy_j) {
    struct engine slowest = {0};
    double busy_s = 0;
    *energy_j = 0;
    for (int64_t i = 0; i < e->n / e->sharing; i++) {
        int64_t from = i * e->sharing * rollouts / e->n, to = (i + 1) * e->sharing * rollouts / e->n;
        struct engine engine = run_engine(e, responses + from, to - from, items);
        busy_s += engine.time_s * (double)e->sharing;
        *energy_j += engine.energy_j;
        if (engine.time_s > slowest.time_s)
            slowest = engine;
    }
    *energy_j += e->rest_w * ((double)e->n * slowest.time_s - busy_s);
    return slowest;
}

enum tsim_status tsim_generation_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                          struct tsim_generation_phase *generation, struct tsim_diags *diags) {
    const struct tsim_generation_spec *g = &sc->generation;
    struct engines e;
    struct responses responses;
    double weights_bytes, excess_bytes;
    TSIM_TRY(begin(arena, sc, &e, &responses, &weights_bytes, &excess_bytes, diags));
    int64_t most = (g->rollouts + e.n - 1) / e.n;
    struct running *items = TSIM_NEW_ARRAY(arena, (size_t)(most * e.sharing), struct running);
    e.slots = e.slots < most ? e.slots : most;
    TSIM_TRY(play_passes(&e, g->prompt + responses.longest));

    const struct tsim_cluster *cluster = tsim_cluster_build(arena, e.scenario);
    e.rest_w = tsim_power_at_rest(NULL, cluster).value * (double)g->tensor;
    *generation = (struct tsim_generation_phase){
        .has = true,
        .tokens = responses.mean * (double)g->rollouts,
        .longest_tokens = responses.mean_longest,
        .sequences = (double)e.slots,
        .weights_bytes = weights_bytes,
        .received_bytes = weights_bytes_of(e.scenario, tsim_unquantized(sc->training.precision))};
    const struct tsim_scenario *whole = g->expert > 1 ? inference_of(arena, sc, 1) : e.scenario;
    generation->model_bytes =
        (double)g->tensor * weights_bytes_of(whole ? whole : e.scenario, tsim_unquantized(sc->training.precision));
    const int32_t n = responses.n_rounds;
    for (int32_t round = 0; round < n; round++) {
        double energy_j;
        struct engine slowest = run_round(&e, responses.tokens + round * g->rollouts, g->rollouts, items, &energy_j);
        generation->rounds_s[round] = slowest.time_s;
        generation->time_s += slowest.time_s / n;
        generation->prefill_s += slowest.prefill_s / n;
        generation->energy_j += energy_j / n;
    }
    for (int32_t round = n; round < TSIM_ROUNDS; round++)
        generation->rounds_s[round] = generation->rounds_s[0];
    generation->tokens_per_s_per_gpu =
        generation->tokens / generation->time_s / (double)tsim_generating_accelerators(sc);
    return TSIM_OK;
}
