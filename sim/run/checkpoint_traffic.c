#include "run/checkpoint_traffic.h"

#include "config/provenance.h"
#include "step/program.h"

#include <math.h>
#include <string.h>

/* A step beside bytes of a checkpoint. */
struct beside {
    double time_s;
    struct tsim_background_progress progress;
};

/* Adds the traffic to that of others. */
static enum tsim_status simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 const struct tsim_machine *machine, const struct tsim_background *traffic,
                                 struct beside *beside, struct tsim_diags *diags) {
    struct tsim_scenario sc = *scenario;
    size_t n = scenario->cluster.n_background;
    struct tsim_background *all = TSIM_NEW_ARRAY(arena, n + 1, struct tsim_background);
    if (n > 0)
        memcpy(all, scenario->cluster.background, n * sizeof *all);
    all[n] = *traffic;
    sc.cluster.background = all;
    sc.cluster.n_background = n + 1;
    const struct tsim_background_progress *progress;
    TSIM_TRY(tsim_step_beside_others(arena, &sc, machine, &beside->time_s, &progress, diags));
    beside->progress = progress[n];
    return TSIM_OK;
}

/* Goes through the steps in which all of the traffic gets through: all but the last one are alike. */
static enum tsim_status follow(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                               const struct tsim_machine *machine, const struct tsim_background *traffic, double step_s,
                               double *lasts_s, double *slows_s, struct tsim_diags *diags) {
    struct tsim_background rest = *traffic;
    struct beside whole, last;
    TSIM_TRY(simulate(arena, scenario, machine, traffic, &whole, diags));
    double n = ceil(traffic->bytes / whole.progress.bytes) - 1;
    rest.bytes = traffic->bytes - n * whole.progress.bytes;
    last = whole;
    if (n > 0)
        TSIM_TRY(simulate(arena, scenario, machine, &rest, &last, diags));
    *lasts_s = n * whole.time_s + last.progress.until_s;
    *slows_s = fmax(0, n * (whole.time_s - step_s) + last.time_s - step_s);
    return TSIM_OK;
}

static struct tsim_amount say(struct tsim_term_recorder *r, const char *name, double seconds, struct tsim_amount bytes,
                              struct tsim_amount step_s) {
    return tsim_outcome(r, name, "simulated on the engine, step by step (sim/run/checkpoint_traffic.h)", seconds,
                        TSIM_TIME_S, TSIM_PARTS(bytes, step_s));
}

/* Sends `each` bytes from an accelerator. */
static enum tsim_status send(struct tsim_arena *arena, const struct tsim_scenario *sc,
                             const struct tsim_machine *machine, struct tsim_term_recorder *r,
                             const struct tsim_background *traffic, struct tsim_amount each,
                             const struct tsim_campaign_steps *steps, struct tsim_checkpoint_traffic *sent,
                             struct tsim_diags *diags) {
    double lasts_s, slows_s, nic = machine->cluster->nic_bytes_per_s;
    if (sc->simulation.network == TSIM_NETWORK_IDEAL) { /* nothing shares a link */
        lasts_s = traffic->bytes / (traffic->rate_bytes_per_s > 0 ? fmin(traffic->rate_bytes_per_s, nic) : nic);
        slows_s = 0;
    } else {
        TSIM_TRY(follow(arena, sc, machine, traffic, steps->step_s.value, &lasts_s, &slows_s, diags));
    }
    sent->lasts_s = say(r, tsim_record_text(r, "%s, beside steps", traffic->name), lasts_s, each, steps->step_s);
    sent->slows_s = say(r, tsim_record_text(r, "slowdown of steps by %s", traffic->name), slows_s, each, steps->step_s);
    return TSIM_OK;
}

enum tsim_status tsim_checkpoint_traffic_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                                  const struct tsim_machine *machine, struct tsim_term_recorder *r,
                                                  struct tsim_campaign_steps *steps, struct tsim_diags *diags) {
    const struct tsim_reliability_spec *reliability = &sc->reliability;
    bool writes = reliability->checkpoint_network == TSIM_STORAGE_NICS, has_copies = reliability->local.copies > 0;
    if (!reliability->has || !(machine->cluster->nic_bytes_per_s > 0) || !(writes || has_copies))
        return TSIM_OK;
    struct tsim_amount accelerators = tsim_training_accelerators_of(r, sc);
    struct tsim_amount share =
        tsim_product(r, "an accelerator's share of a checkpoint", "bytes / accelerators", TSIM_BYTES,
                     TSIM_PARTS(steps->checkpoint_bytes, tsim_inverse(accelerators)));
    if (has_copies) {
        struct tsim_amount copies =
            tsim_product(r, "copied to other nodes by each accelerator", "its share x copies", TSIM_BYTES,
                         TSIM_PARTS(share, tsim_of_scenario(r, "reliability.checkpoint.local.copies",
                                                            (double)reliability->local.copies, TSIM_COUNT)));
        const struct tsim_background traffic = {.name = "copies of a checkpoint",
                                                .direction = TSIM_DIRECTION_BOTH,
                                                .bytes = copies.value,
                                                .is_of_host = true};
        TSIM_TRY(send(arena, sc, machine, r, &traffic, copies, steps, &steps->copies, diags));
    }
    if (!writes)
        return TSIM_OK;
    steps->nics_bytes_per_s =
        tsim_product(r, "NICs of all accelerators", "accelerators x their share of the NICs", TSIM_BYTES_PER_S,
                     TSIM_PARTS(accelerators, tsim_cluster_nic_rate(r, machine->cluster)));
    if (reliability->mode == 0)
        return TSIM_OK; /* training waits: nothing is beside it */
    const struct tsim_background traffic = {.name = "the writing of a checkpoint",
                                            .direction = TSIM_DIRECTION_OUT,
                                            .rate_bytes_per_s =
                                                reliability->checkpoint_bytes_per_s / accelerators.value,
                                            .bytes = share.value,
                                            .is_of_host = true};
    return send(arena, sc, machine, r, &traffic, share, steps, &steps->writing, diags);
}
