#include "run/evaluation.h"

#include "config/provenance.h"

#include <math.h>

/* Beyond so many micro-batches each further one adds the same: a pipeline that only goes forward is in its rhythm. */
enum { MOST_SIMULATED = 256 };

static enum tsim_status simulate(struct tsim_arena *arena, struct tsim_scenario *sc, const struct tsim_machine *machine,
                                 int64_t microbatches, struct tsim_forward_passes *passes, struct tsim_diags *diags) {
    sc->n_microbatches = passes->microbatches = microbatches;
    return tsim_step_time_and_energy(arena, sc, machine, &passes->time_s, &passes->energy_j, diags);
}

static double samples_of(const struct tsim_scenario *sc) {
    const struct tsim_evaluation_spec *e = &sc->training.evaluation;
    return e->samples > 0 ? e->samples : e->steps * (double)sc->training.global_batch_size;
}

/* Counts micro-batches of each replica: enough for all samples, and as many as the schedule takes. */
static int64_t microbatches_of(const struct tsim_scenario *sc, double samples) {
    double each = (double)(sc->training.micro_batch_size * sc->parallelism.data);
    int64_t n = (int64_t)ceil(samples / each);
    while (!tsim_microbatches_work(sc, n))
        n++;
    return n;
}

static int64_t simulated_microbatches(const struct tsim_scenario *sc, int64_t n) {
    int64_t most = n < MOST_SIMULATED ? n : MOST_SIMULATED;
    while (most < n && !tsim_microbatches_work(sc, most))
        most++;
    return most;
}

/* Returns how many samples are passed. */
static double record(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int64_t microbatches,
                     const struct tsim_evaluation *evaluation) {
    static const char *const FORMULA = "simulated on the engine: forward passes alone, of more than 256 micro-batches "
                                       "the last ones all alike; and one of each token (sim/run/evaluation.h)";
    struct tsim_amount each = tsim_counted(r, "micro-batches of a replica", "as many as hold all samples",
                                           (double)microbatches, TSIM_COUNT, "training.evaluation of the scenario");
    struct tsim_amount tokens =
        tsim_of_scenario(r, "training.evaluation.tokens", sc->training.evaluation.tokens, TSIM_COUNT);
    struct tsim_amount samples =
        tsim_product(r, "evaluation.samples", "micro-batches x replicas x their size", TSIM_COUNT,
                     TSIM_PARTS(each, tsim_of_scenario(r, "parallelism.data", (double)sc->parallelism.data, TSIM_COUNT),
                                tsim_of_scenario(r, "training.micro_batch_size", (double)sc->training.micro_batch_size,
                                                 TSIM_COUNT)));
    tsim_outcome(r, "evaluation.time_s", FORMULA, evaluation->time_s, TSIM_TIME_S, TSIM_PARTS(each, tokens));
    tsim_outcome(r, "evaluation.energy_j", FORMULA, evaluation->energy_j, TSIM_JOULES, TSIM_PARTS(each, tokens));
    return samples.value;
}

static struct tsim_scenario forward_of(const struct tsim_scenario *scenario) {
    struct tsim_scenario forward = *scenario;
    forward.is_forward_only = true;
    if (tsim_is_asynchronous(forward.parallelism.schedule))
        forward.parallelism.schedule = TSIM_SCHEDULE_1F1B;
    return forward;
}

struct tsim_forward_passes tsim_forward_passes_bound(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                     const struct tsim_machine *machine, enum tsim_least of,
                                                     double samples) {
    struct tsim_scenario forward = forward_of(scenario);
    struct tsim_step_result step = {.simulated = false};
    forward.n_microbatches = microbatches_of(scenario, samples);
    tsim_step_bound(arena, &forward, machine, of == TSIM_LEAST_STEP ? TSIM_LEAST_PASSES : of, &step);
    return (struct tsim_forward_passes){step.terms.time_s, step.energy_j, forward.n_microbatches};
}

enum tsim_status tsim_forward_passes_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                              const struct tsim_machine *machine, double samples,
                                              struct tsim_forward_passes *passes, struct tsim_diags *diags) {
    struct tsim_scenario forward = forward_of(scenario);
    struct tsim_forward_passes half;
    int64_t n = microbatches_of(scenario, samples), most = simulated_microbatches(scenario, n);
    TSIM_TRY(simulate(arena, &forward, machine, most, passes, diags));
    passes->microbatches = n;
    if (most == n)
        return TSIM_OK;
    int64_t fewer = simulated_microbatches(scenario, most / 2);
    TSIM_TRY(simulate(arena, &forward, machine, fewer, &half, diags));
    double more = (double)(n - most) / (double)(most - fewer);
    passes->time_s += more * (passes->time_s - half.time_s);
    passes->energy_j += more * (passes->energy_j - half.energy_j);
    return TSIM_OK;
}

/* Plays the pass of one token that is sampled, on the ranks that train. Half of the text is in the cache on average. */
static enum tsim_status simulate_token(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       struct tsim_forward_passes *pass, struct tsim_diags *diags) {
    struct tsim_scenario token = forward_of(scenario);
    token.training.micro_batch_size = 1;
    token.training.sequence_length = 1;
    token.training.lengths = (struct tsim_lengths_spec){0};
    token.cached_tokens = scenario->training.evaluation.tokens / 2;
    struct tsim_machine machine = tsim_machine_of(arena, &token, NULL);
    return simulate(arena, &token, &machine, microbatches_of(&token, (double)scenario->parallelism.data), pass, diags);
}

enum tsim_status tsim_evaluation_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_machine *machine, struct tsim_term_recorder *recorder,
                                          struct tsim_evaluation *evaluation, struct tsim_diags *diags) {
    struct tsim_forward_passes passes = {0}, token = {0};
    double tokens = scenario->training.evaluation.tokens;
    if (!(samples_of(scenario) > 0) && !(tokens > 0))
        return TSIM_OK;
    if (samples_of(scenario) > 0)
        TSIM_TRY(tsim_forward_passes_simulate(arena, scenario, machine, samples_of(scenario), &passes, diags));
    if (tokens > 0)
        TSIM_TRY(simulate_token(arena, scenario, &token, diags));
    *evaluation = (struct tsim_evaluation){.has = true,
                                           .time_s = passes.time_s + tokens * token.time_s,
                                           .energy_j = passes.energy_j + tokens * token.energy_j};
    evaluation->samples = record(recorder, scenario, passes.microbatches, evaluation);
    return TSIM_OK;
}
