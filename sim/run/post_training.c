#include "run/post_training.h"

#include "cluster/power.h"
#include "config/provenance.h"
#include "partition/memory.h"
#include "run/evaluation.h"

static int scorers_of(const struct tsim_scenario *sc) {
    int n = sc->teaching != NULL;
    for (int scorer = 0; scorer < TSIM_N_SCORERS; scorer++)
        n += (sc->training.scoring >> scorer & 1) != 0;
    return n;
}

static bool trains_critic(const struct tsim_scenario *sc) {
    return (sc->training.scoring >> TSIM_SCORER_CRITIC & 1) != 0;
}

static double samples_of(const struct tsim_scenario *sc) {
    return tsim_generates(sc) ? (double)sc->generation.rollouts
                              : (double)sc->training.global_batch_size * tsim_samples_of_sequence(sc);
}

/* A batch counts packs if samples are packed. */
static double sequences_of(const struct tsim_scenario *sc) {
    return samples_of(sc) / tsim_samples_of_sequence(sc);
}

/* The parts come from all ranks that together hold the trained model once; if these lie on one node, over its own
 * links. */
static struct tsim_amount transfer_time(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                        const struct tsim_cluster *cluster, double weights_bytes, double model_bytes) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t holders = tsim_n_model_ranks(p) * (p->zero == 3 ? p->zero_group_ranks : 1);
    bool is_apart = sc->generation.nodes > 0;
    bool on_node = !is_apart && holders <= cluster->accelerators_per_node &&
                   sc->generation.tensor <= cluster->accelerators_per_node;
    double rate = on_node || !(cluster->nic_bytes_per_s > 0) ? cluster->scale_up_bytes_per_s : cluster->nic_bytes_per_s;
    double sent_bytes = model_bytes / (double)holders;
    if (!(rate > 0)) /* one accelerator */
        return (struct tsim_amount){0};
    struct tsim_amount bytes =
        tsim_given(r, "weights of a rank of an engine", weights_bytes, TSIM_BYTES, "generation.tensor of the scenario");
    if (is_apart && sent_bytes > weights_bytes)
        bytes = tsim_given(r, "weights of a rank that trains", sent_bytes, TSIM_BYTES,
                           "the whole model over the ranks that hold it once; engines hand on what they get");
    struct tsim_amount links = tsim_product(
        r, "by the links", "weights of a rank / rate of its links", TSIM_TIME_S,
        TSIM_PARTS(bytes, tsim_inverse(tsim_given(r, on_node ? "links of the node" : "share of the NICs", rate,
                                                  TSIM_BYTES_PER_S, "the cluster (sim/cluster/cluster.h)"))));
    if (!(sc->software->refit_bytes_per_s > 0))
        return tsim_largest(r, "post_training.transfer_s", "each rank gets its own part", TSIM_TIME_S,
                            TSIM_PARTS(links));
    struct tsim_amount gathered = tsim_product(
        r, "by the software", "weights of the model / rate", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "weights of the model", model_bytes, TSIM_BYTES,
                              "each rank gathers all of it, tensor after tensor, and its engine keeps a part"),
                   tsim_inverse(tsim_of_file(r, TSIM_CATALOGUE_SOFTWARE, sc->software->name, "refit_rate",
                                             sc->software->refit_bytes_per_s, TSIM_BYTES_PER_S))));
    return tsim_largest(r, "post_training.transfer_s", "the slower", TSIM_TIME_S, TSIM_PARTS(links, gathered));
}

/* ---- models that wait in the host's memory ---- */

struct held {
    double weights_bytes, states_bytes; /* of the rank that has most */
};

static struct held held_of(const struct tsim_scenario *sc) {
    struct held most = {0, 0};
    for (int32_t stage = 0; stage < sc->parallelism.pipeline; stage++) {
        struct tsim_stage_memory m;
        tsim_stage_memory(sc, stage, &m);
        double states_bytes = m.master_bytes + m.optimizer_bytes;
        if (m.weights_bytes + states_bytes > most.weights_bytes + most.states_bytes)
            most = (struct held){m.weights_bytes, states_bytes};
    }
    return most;
}

/* Returns the time of copies of so many bytes, at a rate of the software or at that of the host's link. */
static struct tsim_amount copy_time(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                    const struct tsim_cluster *cluster, const char *name, double bytes,
                                    const char *rate_key, double rate) {
    struct tsim_amount speed =
        rate > 0 ? tsim_of_file(r, TSIM_CATALOGUE_SOFTWARE, sc->software->name, rate_key, rate, TSIM_BYTES_PER_S)
                 : tsim_given(r, "host_link", cluster->host_link_bytes_per_s, TSIM_BYTES_PER_S, "the node");
    return tsim_product(
        r, name, "bytes of the rank that holds most / rate", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "bytes", bytes, TSIM_BYTES, "weights and states: tsim explain memory.peak_bytes"),
                   tsim_inverse(speed)));
}

/* A policy that trains makes room for engines on the same accelerators, and then for the reference: it is copied away,
 * the reference takes its place, and the returning policy overwrites the reference. */
static struct tsim_amount copies_time(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                      const struct tsim_cluster *cluster) {
    const struct tsim_software *software = sc->software;
    struct held held = held_of(sc);
    bool makes_room = tsim_generates(sc) && sc->generation.nodes == 0;
    double all_bytes = makes_room ? (trains_critic(sc) ? 2 : 1) * (held.weights_bytes + held.states_bytes) : 0;
    double reference_bytes = (sc->training.scoring >> TSIM_SCORER_REFERENCE & 1) != 0 ? 3 * held.weights_bytes : 0;
    if (!(cluster->host_link_bytes_per_s > 0) || !(all_bytes + reference_bytes > 0))
        return (struct tsim_amount){0};
    return tsim_sum(
        r, "post_training.copies_s", "to the host and back", TSIM_TIME_S,
        TSIM_PARTS(copy_time(r, sc, cluster, "leave", all_bytes, "offload_rate", software->offload_bytes_per_s),
                   copy_time(r, sc, cluster, "return", all_bytes, "onload_rate", software->onload_bytes_per_s),
                   copy_time(r, sc, cluster, "reference", reference_bytes, "", 0)));
}

/* ---- rounds of engines that are ahead ---- */

/* The rounds are followed twice: the first time fills what engines are ahead. */
enum { N_FOLLOWED = 2 * TSIM_ROUNDS };

/* Times of each round: engines are done with it, steps on it are over, its weights have arrived. */
struct clock {
    double generated_s[N_FOLLOWED], trained_s[N_FOLLOWED], sent_s[N_FOLLOWED];
};

/* A round is generated from `begin_s` on, and waits for each transfer that begins before it is done. */
static double generated_at(const struct clock *clock, int round, double begin_s, double work_s) {
    double end_s = begin_s + work_s;
    for (int before = 0; before < round; before++)
        if (clock->sent_s[before] > begin_s && clock->trained_s[before] < end_s)
            end_s += clock->sent_s[before] - fmax(clock->trained_s[before], begin_s);
    return end_s;
}

double tsim_rounds_ahead_s(const double generation_s[TSIM_ROUNDS], double training_s, double transfer_s,
                           int64_t ahead) {
    struct clock clock = {.generated_s = {0}};
    for (int i = 0; i < N_FOLLOWED; i++) {
        double free_s = i > 0 ? clock.generated_s[i - 1] : 0, allowed_s = i > ahead ? clock.sent_s[i - 1 - ahead] : 0;
        clock.generated_s[i] = generated_at(&clock, i, fmax(free_s, allowed_s), generation_s[i % TSIM_ROUNDS]);
        clock.trained_s[i] = fmax(clock.generated_s[i], i > 0 ? clock.sent_s[i - 1] : 0) + training_s;
        clock.sent_s[i] = clock.trained_s[i] + transfer_s;
    }
    return (clock.sent_s[N_FOLLOWED - 1] - clock.sent_s[TSIM_ROUNDS - 1]) / TSIM_ROUNDS;
}

/* ---- a round ---- */

struct tsim_run_memo *tsim_run_memo_new(struct tsim_arena *arena) {
    struct tsim_run_memo *memo = TSIM_NEW(arena, struct tsim_run_memo);
    *memo = (struct tsim_run_memo){tsim_pass_memo_new(arena), tsim_pass_memo_new(arena), NULL};
    return memo;
}

/* Returns the machine of a scorer: the job's plan scores by itself, or its teacher by the same plan. */
static struct tsim_machine machine_of_scorer(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                             const struct tsim_machine *machine, const struct tsim_run_memo *memo) {
    return sc->teaching ? tsim_machine_of(arena, sc->teaching, memo ? memo->teacher : NULL) : *machine;
}

/* Accelerators that neither train nor generate are switched on. */
static double rest_j(const struct tsim_scenario *sc, const struct tsim_machine *machine,
                     const struct tsim_post_training *round) {
    double rest_w = tsim_power_at_rest(NULL, machine->cluster).value;
    double at_work_s = round->scoring_s + round->training_s;
    if (sc->generation.nodes == 0)
        return rest_w * (double)sc->n_accelerators * (round->transfer_s + round->copies_s);
    return rest_w * ((double)sc->n_accelerators * (round->time_s - at_work_s) +
                     (double)tsim_generating_accelerators(sc) * (round->time_s - round->generation.time_s));
}

/* Adds up the parts of a round, which follow one another. `scoring` is of one model, the step of one batch. */
static void add_up(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_machine *machine,
                   const struct tsim_forward_passes *scoring, double step_s, double step_j,
                   struct tsim_post_training *round) {
    struct tsim_amount batches = tsim_counted(r, "post_training.steps", "samples of a round / batch", round->steps,
                                              TSIM_COUNT, "generation.rollouts of the scenario");
    struct tsim_amount trained = tsim_given(r, "models that are trained", trains_critic(sc) ? 2 : 1, TSIM_COUNT,
                                            "training.scoring of the scenario");
    struct tsim_amount training =
        tsim_product(r, "post_training.training_s", "steps x models x step time", TSIM_TIME_S,
                     TSIM_PARTS(batches, trained, tsim_elsewhere(r, "step.time_s", step_s, TSIM_TIME_S)));
    struct tsim_amount passes = tsim_outcome(r, "forward passes of all samples", "simulated on the engine",
                                             scoring->time_s, TSIM_TIME_S, TSIM_PARTS(batches));
    struct tsim_amount scored =
        tsim_product(r, "post_training.scoring_s", "models x forward passes", TSIM_TIME_S,
                     TSIM_PARTS(tsim_given(r, "models that score", scorers_of(sc), TSIM_COUNT,
                                           sc->teaching ? "the teacher" : "training.scoring of the scenario"),
                                passes));
    struct tsim_amount generated = {0}, transfer = {0}, copies = copies_time(r, sc, machine->cluster);
    if (round->generation.has) {
        generated = tsim_outcome(r, "post_training.generation_s", "simulated on the engine: sim/run/generation.h",
                                 round->generation.time_s, TSIM_TIME_S, TSIM_PARTS(batches));
        transfer =
            transfer_time(r, sc, machine->cluster, round->generation.received_bytes, round->generation.model_bytes);
    }
    round->scoring_s = scored.value;
    round->training_s = training.value;
    round->transfer_s = transfer.value;
    round->copies_s = copies.value;
    double in_turn_s = generated.value + scored.value + training.value + transfer.value + copies.value;
    if (sc->generation.ahead > 0 && round->generation.has)
        round->time_s =
            tsim_outcome(r, "post_training.time_s",
                         "rounds of many lengths, generated ahead and trained on side by side: sim/run/post_training.h",
                         tsim_rounds_ahead_s(round->generation.rounds_s, scored.value + training.value + copies.value,
                                             transfer.value, sc->generation.ahead),
                         TSIM_TIME_S, TSIM_PARTS(generated, scored, training, transfer, copies))
                .value;
    else
        round->time_s = tsim_sum(r, "post_training.time_s", "one after another", TSIM_TIME_S,
                                 TSIM_PARTS(generated, scored, training, transfer, copies))
                            .value;
    round->beside_s = in_turn_s - round->time_s;
    round->energy_j = round->generation.energy_j + scorers_of(sc) * scoring->energy_j +
                      round->steps * trained.value * step_j + rest_j(sc, machine, round);
    round->samples_per_s = samples_of(sc) / round->time_s;
}

static struct tsim_post_training round_of(const struct tsim_scenario *sc, const struct tsim_run_memo *memo) {
    struct tsim_post_training round = {.has = true, .steps = sequences_of(sc) / (double)sc->training.global_batch_size};
    if (memo && memo->generation)
        round.generation = *memo->generation;
    return round;
}

enum tsim_status tsim_post_training_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                             const struct tsim_machine *machine, double step_s, double step_j,
                                             const struct tsim_run_memo *memo, struct tsim_term_recorder *r,
                                             struct tsim_post_training *round, struct tsim_diags *diags) {
    if (!tsim_has_rounds(sc))
        return TSIM_OK;
    struct tsim_post_training out = round_of(sc, memo);
    struct tsim_forward_passes scoring;
    if (tsim_generates(sc) && !out.generation.has)
        TSIM_TRY(tsim_generation_simulate(arena, sc, &out.generation, diags));
    struct tsim_machine of_scorer = machine_of_scorer(arena, sc, machine, memo);
    TSIM_TRY(tsim_forward_passes_simulate(arena, sc->teaching ? sc->teaching : sc, &of_scorer, sequences_of(sc),
                                          &scoring, diags));
    add_up(r, sc, machine, &scoring, step_s, step_j, &out);
    *round = out;
    return TSIM_OK;
}

void tsim_post_training_bound(struct tsim_arena *arena, const struct tsim_scenario *sc,
                              const struct tsim_machine *machine, enum tsim_least of, double step_s, double step_j,
                              const struct tsim_run_memo *memo, struct tsim_post_training *round) {
    if (!tsim_has_rounds(sc))
        return;
    struct tsim_post_training out = round_of(sc, memo);
    struct tsim_machine of_scorer = machine_of_scorer(arena, sc, machine, memo);
    struct tsim_forward_passes scoring =
        tsim_forward_passes_bound(arena, sc->teaching ? sc->teaching : sc, &of_scorer, of, sequences_of(sc));
    add_up(NULL, sc, machine, &scoring, step_s, step_j, &out);
    *round = out;
}
