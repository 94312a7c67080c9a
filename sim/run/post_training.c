#include "run/post_training.h"

#include "cluster/power.h"
#include "config/provenance.h"
#include "run/evaluation.h"

static int scorers_of(const struct tsim_scenario *sc) {
    int n = sc->teaching != NULL;
    for (int scorer = 0; scorer < TSIM_N_SCORERS; scorer++)
        n += (sc->training.scoring >> scorer & 1) != 0;
    return n;
}

static double samples_of(const struct tsim_scenario *sc) {
    return tsim_generates(sc) ? (double)sc->generation.rollouts
                              : (double)sc->training.global_batch_size * tsim_samples_of_sequence(sc);
}

/* A batch counts packs where samples are packed. */
static double sequences_of(const struct tsim_scenario *sc) {
    return samples_of(sc) / tsim_samples_of_sequence(sc);
}

/* The parts come from all ranks that hold the trained model once; where these lie on one node, by its own links. */
static struct tsim_amount transfer_time(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                        const struct tsim_cluster *cluster, double weights_bytes) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t holders = tsim_n_model_ranks(p) * (p->zero == 3 ? p->zero_group_ranks : 1);
    bool on_node = holders <= cluster->accelerators_per_node && sc->generation.tensor <= cluster->accelerators_per_node;
    double rate = on_node || !(cluster->nic_bytes_per_s > 0) ? cluster->scale_up_bytes_per_s : cluster->nic_bytes_per_s;
    if (!(rate > 0)) /* one accelerator */
        return (struct tsim_amount){0};
    return tsim_product(r, "post_training.transfer_s", "weights of a rank / rate of its links", TSIM_TIME_S,
                        TSIM_PARTS(tsim_given(r, "weights of a rank of an engine", weights_bytes, TSIM_BYTES,
                                              "generation.tensor of the scenario"),
                                   tsim_inverse(tsim_given(r, on_node ? "links of the node" : "share of the NICs", rate,
                                                           TSIM_BYTES_PER_S, "the cluster (sim/cluster/cluster.h)"))));
}

enum tsim_status tsim_post_training_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                             const struct tsim_machine *machine, double step_s, double step_j,
                                             struct tsim_generation_phase *kept, struct tsim_term_recorder *r,
                                             struct tsim_post_training *round, struct tsim_diags *diags) {
    if (sc->training.kind <= TSIM_SFT)
        return TSIM_OK;
    struct tsim_post_training out = {.has = true, .steps = sequences_of(sc) / (double)sc->training.global_batch_size};
    struct tsim_forward_passes scoring;
    if (kept)
        out.generation = *kept;
    if (tsim_generates(sc) && !out.generation.has)
        TSIM_TRY(tsim_generation_simulate(arena, sc, &out.generation, diags));
    if (kept)
        *kept = out.generation;
    struct tsim_machine of_scorer = sc->teaching ? tsim_machine_of(arena, sc->teaching, NULL) : *machine;
    TSIM_TRY(tsim_forward_passes_simulate(arena, sc->teaching ? sc->teaching : sc, &of_scorer, sequences_of(sc),
                                          &scoring, diags));

    struct tsim_amount batches = tsim_counted(r, "post_training.steps", "samples of a round / batch", out.steps,
                                              TSIM_COUNT, "generation.rollouts of the scenario");
    struct tsim_amount trained =
        tsim_given(r, "models that are trained", sc->training.scoring >> TSIM_SCORER_CRITIC & 1 ? 2 : 1, TSIM_COUNT,
                   "training.scoring of the scenario");
    struct tsim_amount training =
        tsim_product(r, "post_training.training_s", "steps x models x step time", TSIM_TIME_S,
                     TSIM_PARTS(batches, trained, tsim_elsewhere(r, "step.time_s", step_s, TSIM_TIME_S)));
    struct tsim_amount passes = tsim_outcome(r, "forward passes of all samples", "simulated on the engine",
                                             scoring.time_s, TSIM_TIME_S, TSIM_PARTS(batches));
    struct tsim_amount scored =
        tsim_product(r, "post_training.scoring_s", "models x forward passes", TSIM_TIME_S,
                     TSIM_PARTS(tsim_given(r, "models that score", scorers_of(sc), TSIM_COUNT,
                                           sc->teaching ? "the teacher" : "training.scoring of the scenario"),
                                passes));
    struct tsim_amount generated = {0}, transfer = {0};
    if (out.generation.has) {
        generated = tsim_outcome(r, "post_training.generation_s", "simulated on the engine: sim/run/generation.h",
                                 out.generation.time_s, TSIM_TIME_S, TSIM_PARTS(batches));
        transfer = transfer_time(r, sc, machine->cluster, out.generation.weights_bytes);
    }
    out.scoring_s = scored.value;
    out.training_s = training.value;
    out.transfer_s = transfer.value;
    out.time_s = tsim_sum(r, "post_training.time_s", "one after another", TSIM_TIME_S,
                          TSIM_PARTS(generated, scored, training, transfer))
                     .value;
    double rest_w = tsim_power_at_rest(NULL, machine->cluster).value * (double)sc->n_accelerators;
    out.energy_j = out.generation.energy_j + scorers_of(sc) * scoring.energy_j + out.steps * trained.value * step_j +
                   rest_w * out.transfer_s;
    out.samples_per_s = samples_of(sc) / out.time_s;
    *round = out;
    return TSIM_OK;
}
