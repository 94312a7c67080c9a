#include "campaign/reliability.h"

#include "config/provenance.h"

#include <math.h>

/* Counts out of 419 interruptions (Grattafiori et al. 2024, table 5): config/draft/reliability_tables.c has the
 * counts. */
static const double LLAMA3_COUNTS[TSIM_N_COMPONENTS] = {
    [TSIM_CAUSE_ACCELERATOR] = 196, [TSIM_CAUSE_HBM] = 72,  [TSIM_CAUSE_NIC] = 7,      [TSIM_CAUSE_LINK] = 35,
    [TSIM_CAUSE_SWITCH] = 0,        [TSIM_CAUSE_HOST] = 46, [TSIM_CAUSE_SOFTWARE] = 63};
#define LLAMA3_COUNT 419.0

/* ---- what fails ---- */

static double nics_of_a_node(const struct tsim_scenario *sc) {
    return sc->cluster.fabric ? (double)sc->cluster.node->nics : 0;
}

static double switches(double nics) {
    double ports = 64;
    return nics > ports ? ceil(nics * (nics <= ports * ports / 2 ? 3 : 5) / ports) : nics > 0 ? 1 : 0;
}

static const char *const KEYS[TSIM_N_CAUSES] = {[TSIM_CAUSE_ACCELERATOR] = "reliability.components.accelerator",
                                                [TSIM_CAUSE_HBM] = "reliability.components.hbm",
                                                [TSIM_CAUSE_NIC] = "reliability.components.nic",
                                                [TSIM_CAUSE_LINK] = "reliability.components.link",
                                                [TSIM_CAUSE_SWITCH] = "reliability.components.switch",
                                                [TSIM_CAUSE_HOST] = "reliability.components.host",
                                                [TSIM_CAUSE_SOFTWARE] = "reliability.components.software",
                                                [TSIM_CAUSE_PREEMPTION] =
                                                    "1 / reliability.preemption.rate: time between two of a node",
                                                [TSIM_CAUSE_STRAGGLER] = "reliability.stragglers.mtbf"};

static void set_processes(const struct tsim_scenario *sc, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double nodes = (double)sc->cluster.nodes, nics = nodes * nics_of_a_node(sc);
    const double units[TSIM_N_COMPONENTS] = {[TSIM_CAUSE_ACCELERATOR] = (double)tsim_all_accelerators(sc),
                                             [TSIM_CAUSE_HBM] = (double)tsim_all_accelerators(sc),
                                             [TSIM_CAUSE_NIC] = nics,
                                             [TSIM_CAUSE_LINK] = nics,
                                             [TSIM_CAUSE_SWITCH] = switches(nics),
                                             [TSIM_CAUSE_HOST] = nodes,
                                             [TSIM_CAUSE_SOFTWARE] = nodes};
    for (int c = 0; c < TSIM_N_COMPONENTS; c++) {
        bool is_whole = r->node_mtbf_s > 0, is_hardware = c != TSIM_CAUSE_SOFTWARE;
        double share = LLAMA3_COUNTS[c] / LLAMA3_COUNT;
        job->causes[c] =
            (struct tsim_failure_process){.units = is_whole ? nodes : units[c],
                                          .mtbf_s = !is_whole   ? r->component_mtbf_s[c]
                                                    : share > 0 ? r->node_mtbf_s / share
                                                                : 0,
                                          .key = is_whole ? "reliability.node_mtbf, over the cause's share" : KEYS[c],
                                          .shape = is_hardware ? r->shape : 1,
                                          .age_s = r->age_s,
                                          .takes_node = is_hardware && c != TSIM_CAUSE_LINK && c != TSIM_CAUSE_SWITCH};
    }
    job->causes[TSIM_CAUSE_PREEMPTION] =
        (struct tsim_failure_process){.units = nodes,
                                      .mtbf_s = r->preemption_per_s > 0 ? 1 / r->preemption_per_s : 0,
                                      .key = KEYS[TSIM_CAUSE_PREEMPTION],
                                      .shape = 1,
                                      .takes_node = true};
    job->causes[TSIM_CAUSE_STRAGGLER] = (struct tsim_failure_process){.units = nodes,
                                                                      .mtbf_s = r->straggler_mtbf_s,
                                                                      .key = KEYS[TSIM_CAUSE_STRAGGLER],
                                                                      .shape = 1,
                                                                      .takes_node = true};
}

/* ---- checkpoints ---- */

struct checkpoint {
    struct tsim_amount write, copy; /* of all to the storage; of an accelerator's part to its host */
    struct tsim_amount stall;       /* of training, of one for the storage */
    struct tsim_amount local_stall; /* of one that stays in the hosts' memory */
};

/* Returns the rate of the link to the host. A node's file may leave it out: then PCIe 4.0 x16, less what protocols
 * take. */
static struct tsim_amount host_link(struct tsim_term_recorder *recorder, const struct tsim_node *node) {
    double rate = node->host_link_bytes_per_s;
    if (rate > 0)
        return tsim_of_file(recorder, TSIM_CATALOGUE_NODES, node->name, "host_link", rate, TSIM_BYTES_PER_S);
    return tsim_given(recorder, "link to the host", 25e9, TSIM_BYTES_PER_S,
                      "PCIe 4.0 x16, where the node's file has none");
}

static struct tsim_amount shared(struct tsim_term_recorder *recorder, const struct tsim_node *node, const char *key,
                                 double rate, const char *name, double n) {
    return tsim_product(
        recorder, name, "rate / accelerators that share it", TSIM_BYTES_PER_S,
        TSIM_PARTS(
            tsim_of_file(recorder, TSIM_CATALOGUE_NODES, node->name, key, rate, TSIM_BYTES_PER_S),
            tsim_inverse(tsim_given(recorder, "accelerators that share it", n, TSIM_COUNT, "placement of the ranks"))));
}

/* Returns the rate of a copy to the host. All accelerators of a node copy at once: each over its own link, and over its
 * share of what it has in common with others, as copies within a step do (step/groups/copies.h). */
static struct tsim_amount way_to_host(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc) {
    const struct tsim_node *node = sc->cluster.node;
    double n = (double)sc->cluster.accelerators_per_node, on_switch = (double)node->accelerators_per_switch;
    struct tsim_amount parts[3] = {host_link(recorder, node)};
    size_t n_parts = 1;
    if (node->accelerators_per_switch > 0)
        parts[n_parts++] = shared(recorder, node, "scale_up.switch_uplink", node->switch_uplink_bytes_per_s,
                                  "an accelerator's share of its switch's uplink", fmin(on_switch, n));
    if (node->host_memory_bytes_per_s > 0)
        parts[n_parts++] = shared(recorder, node, "host_memory_bandwidth", node->host_memory_bytes_per_s,
                                  "an accelerator's share of the host's memory", n);
    return n_parts == 1 ? parts[0]
                        : tsim_smallest(recorder, "an accelerator's way to its host", "the narrowest part of it",
                                        TSIM_BYTES_PER_S, parts, n_parts);
}

/* Returns the time of writing a checkpoint with nothing beside it; over NICs it is no faster than they carry it. */
static struct tsim_amount write_time(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc,
                                     const struct tsim_campaign_steps *of) {
    if (!sc->reliability.has)
        return tsim_given(recorder, "a checkpoint", 0, TSIM_TIME_S, "the scenario has no reliability: none is taken");
    struct tsim_amount rate = tsim_of_scenario(recorder, "reliability.checkpoint.bandwidth",
                                               sc->reliability.checkpoint_bytes_per_s, TSIM_BYTES_PER_S);
    if (sc->reliability.checkpoint_network == TSIM_STORAGE_NICS && of->nics_bytes_per_s.value > 0)
        rate = tsim_smallest(recorder, "rate of the writing", "the lower of the storage's and that of all NICs",
                             TSIM_BYTES_PER_S, TSIM_PARTS(rate, of->nics_bytes_per_s));
    return tsim_product(recorder, "a checkpoint written to the storage", "bytes / rate", TSIM_TIME_S,
                        TSIM_PARTS(of->checkpoint_bytes, tsim_inverse(rate)));
}

static struct checkpoint checkpoint_of(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc,
                                       const struct tsim_campaign_steps *of) {
    static const char *const NAME = "campaign.checkpoint.stall_s";
    const struct tsim_reliability_spec *r = &sc->reliability;
    bool waits_for_storage = r->mode == 0;
    struct tsim_amount share =
        tsim_product(recorder, "an accelerator's share", "bytes / accelerators", TSIM_BYTES,
                     TSIM_PARTS(of->checkpoint_bytes, tsim_inverse(tsim_training_accelerators_of(recorder, sc))));
    struct checkpoint c = {.write = write_time(recorder, sc, of),
                           .copy = tsim_product(recorder, "its copy to the host",
                                                "an accelerator's share / its way to the host", TSIM_TIME_S,
                                                TSIM_PARTS(share, tsim_inverse(way_to_host(recorder, sc))))};
    struct tsim_part_list waits = {.recorder = recorder}, local_waits = {.recorder = recorder};
    if (r->local.has || !waits_for_storage)
        tsim_part_add(&waits, c.copy);
    if (of->copies.lasts_s.value > 0)
        tsim_part_add(&waits, of->copies.slows_s);
    if (waits_for_storage)
        tsim_part_add(&waits, c.write);
    else if (of->writing.lasts_s.value > 0)
        tsim_part_add(&waits, of->writing.slows_s);
    c.stall =
        tsim_sum_of(&waits, NAME,
                    waits_for_storage ? "all that training waits for, the writing too"
                                      : "the only part that training waits for; writing continues in the background",
                    TSIM_TIME_S);
    if (!r->local.has)
        return c;
    tsim_part_add(&local_waits, c.copy);
    if (of->copies.lasts_s.value > 0)
        tsim_part_add(&local_waits, of->copies.slows_s);
    c.local_stall =
        tsim_sum_of(&local_waits, "campaign.checkpoint.local.stall_s",
                    "the copy to the host, plus the slowdown of steps by copies to other nodes", TSIM_TIME_S);
    return c;
}

/* ---- intervals ---- */

static double interval_s(const struct tsim_period *interval, double step_s) {
    return interval->kind == TSIM_PERIOD_STEPS ? interval->value * step_s : interval->value;
}

/* Evaluations come between two steps. */
static double evaluation_interval_s(const struct tsim_evaluation_spec *evaluation, double step_s) {
    return evaluation->time_s > 0 ? fmax(1, round(interval_s(&evaluation->interval, step_s) / step_s)) * step_s : 0;
}

static double wanted_interval_s(const struct tsim_period *interval, double step_s, double stall_s,
                                const struct tsim_campaign_job *job, enum tsim_campaign_kind kind) {
    if (interval->kind == TSIM_PERIOD_OPTIMAL)
        return tsim_optimal_interval_s(stall_s, tsim_campaign_mtbf_s(job, kind));
    return interval_s(interval, step_s);
}

static bool is_optimal(const struct tsim_period *interval) {
    return interval->kind == TSIM_PERIOD_OPTIMAL;
}

/* Records why there are so many steps between two checkpoints. */
static struct tsim_amount steps_between(struct tsim_term_recorder *recorder, const char *name, double steps,
                                        const struct tsim_period *interval, const char *key, struct tsim_amount stall,
                                        struct tsim_amount mtbf, struct tsim_amount step) {
    if (is_optimal(interval) && isfinite(mtbf.value))
        return tsim_outcome(recorder, name,
                            "Daly's optimum, searched among whole numbers of steps (sim/campaign/replication.h)", steps,
                            TSIM_COUNT, TSIM_PARTS(stall, mtbf, step));
    return tsim_counted(recorder, name,
                        "the given interval as a whole number of steps, no shorter than the writing takes", steps,
                        TSIM_COUNT, tsim_record_text(recorder, "%s of the scenario", key));
}

static struct tsim_amount of_steps(struct tsim_term_recorder *recorder, const char *name, struct tsim_amount steps,
                                   struct tsim_amount step) {
    return tsim_product(recorder, name, "steps between two x step time", TSIM_TIME_S, TSIM_PARTS(steps, step));
}

/* Sets the interval to a whole number of steps, at least one, which is long enough for the writing under it. */
static void set_interval(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc, struct tsim_amount step,
                         const struct checkpoint *checkpoint, struct tsim_campaign_job *job) {
    const struct tsim_period *interval = &sc->reliability.checkpoint_interval;
    double step_s = step.value,
           wanted_s = wanted_interval_s(interval, step_s, job->stall_s, job, TSIM_CAMPAIGN_LOSING_WORK);
    double least = fmax(1, ceil((job->write_s - checkpoint->copy.value) / step_s)),
           steps = fmax(1, floor(wanted_s / step_s));
    struct tsim_amount mtbf = tsim_campaign_mtbf(recorder, job, TSIM_CAMPAIGN_LOSING_WORK);
    bool is_best = is_optimal(interval) && isfinite(wanted_s);
    if (is_best && tsim_daly_time_s(1, (steps + 1) * step_s, job->stall_s, 0, mtbf.value) <
                       tsim_daly_time_s(1, steps * step_s, job->stall_s, 0, mtbf.value))
        steps += 1;
    steps = fmax(least, is_best ? steps : round(wanted_s / step_s));
    job->interval_s = steps * step_s;
    if (recorder && isfinite(job->interval_s))
        of_steps(recorder, "campaign.checkpoint.interval_s",
                 steps_between(recorder, "steps between two checkpoints", steps, interval,
                               "reliability.checkpoint.interval", checkpoint->stall, mtbf, step),
                 step);
}

/* Sets the intervals of both tiers. A whole number of local checkpoints lies between two of the storage. Each tier's
 * optimum follows from the failures that go back to it; to first order the tiers do not affect each other. */
static void set_tiers(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc, struct tsim_amount step,
                      const struct checkpoint *checkpoint, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double step_s = step.value, storage_s = wanted_interval_s(&r->checkpoint_interval, step_s, job->durable_stall_s,
                                                              job, TSIM_CAMPAIGN_TO_STORAGE);
    double local_s = wanted_interval_s(&r->local.interval, step_s, job->stall_s, job, TSIM_CAMPAIGN_TO_LOCAL_TIER);
    double least = fmax(1, ceil(job->copy_s / step_s)), most = fmax(1, floor(job->work_s / step_s));
    if (!is_optimal(&r->checkpoint_interval))
        local_s = fmin(local_s, storage_s);
    double steps = fmin(most, fmax(least, round(local_s / step_s)));
    job->interval_s = steps * step_s;
    double least_every = ceil((job->write_s - checkpoint->copy.value) / job->interval_s);
    job->durable_every = fmax(fmax(1, least_every), round(fmin(storage_s, job->work_s) / job->interval_s));
    if (!recorder)
        return;
    struct tsim_amount between =
        of_steps(recorder, "campaign.checkpoint.local.interval_s",
                 steps_between(recorder, "steps between two local checkpoints", steps, &r->local.interval,
                               "reliability.checkpoint.local.interval", checkpoint->local_stall,
                               tsim_campaign_mtbf(recorder, job, TSIM_CAMPAIGN_TO_LOCAL_TIER), step),
                 step);
    struct tsim_amount every =
        steps_between(recorder, "local checkpoints for one of the storage", job->durable_every, &r->checkpoint_interval,
                      "reliability.checkpoint.interval", checkpoint->write,
                      tsim_campaign_mtbf(recorder, job, TSIM_CAMPAIGN_TO_STORAGE), between);
    tsim_product(recorder, "campaign.checkpoint.interval_s", "local interval x local checkpoints for one", TSIM_TIME_S,
                 TSIM_PARTS(between, every));
}

/* ---- the job ---- */

/* Traffic beside training slows steps down. The job instead waits for so long first, and works at full speed for the
 * rest of the time that the traffic lasts: when the traffic is through, the same work is done. */
static double after_wait_s(const struct tsim_checkpoint_traffic *traffic) {
    return traffic->lasts_s.value - traffic->slows_s.value;
}

static void set_checkpoint(const struct tsim_scenario *sc, const struct tsim_campaign_steps *of,
                           const struct checkpoint *checkpoint, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    double write_s = checkpoint->write.value, copy_s = checkpoint->copy.value;
    bool waits_for_storage = r->mode == 0, is_over_nics = of->writing.lasts_s.value > 0;
    job->copy_s = after_wait_s(&of->copies);
    job->save_s = waits_for_storage && !r->local.has ? write_s : copy_s + write_s;
    if (!waits_for_storage)
        job->write_s = is_over_nics ? job->copy_s + after_wait_s(&of->writing) : write_s;
    job->stall_s = (r->local.has ? checkpoint->local_stall : checkpoint->stall).value;
    if (r->local.has)
        job->durable_stall_s = waits_for_storage ? write_s : of->writing.slows_s.value;
}

void tsim_reliability_job(struct tsim_term_recorder *recorder, const struct tsim_scenario *sc,
                          const struct tsim_campaign_steps *of, double work_s, struct tsim_campaign_job *job) {
    const struct tsim_reliability_spec *r = &sc->reliability;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct checkpoint checkpoint = checkpoint_of(recorder, sc, of);
    *job = (struct tsim_campaign_job){
        .work_s = work_s,
        .detection_s = r->detection_s,
        .restart_s = r->restart_s,
        .warmup_s = r->warmup_s,
        .repair_s = r->repair_s,
        .gap_s = r->gap_s,
        .slowdown = r->straggler_slowdown,
        .straggler_detection_s = r->straggler_detection_s,
        .nodes = sc->cluster.nodes,
        .spares = r->spares,
        .replicas = r->elastic ? p->data : 0,
        .nodes_per_replica = (double)tsim_training_nodes(sc) / (double)p->data,
        .local_tier = r->checkpoint_memory || r->local.has,
        .durable_every = 1,
        .copies = r->local.copies,
        .local_restart_s = r->local.restart_s > 0 ? r->local.restart_s : r->restart_s,
        .evaluation_interval_s = evaluation_interval_s(&sc->training.evaluation, of->step_s.value),
        .evaluation_s = sc->training.evaluation.time_s,
        .maintenance_interval_s = r->maintenance_interval_s,
        .maintenance_s = r->maintenance_s,
        .tells_hours = sc->energy.price_profile.n_hours > 1 || sc->energy.carbon_profile.n_hours > 1,
        .start_s = sc->energy.start_s,
        .seed = (uint64_t)sc->simulation.seed,
    };
    set_checkpoint(sc, of, &checkpoint, job);
    job->saves_on_notice = job->save_s <= r->notice_s;
    set_processes(sc, job);
    if (r->local.has)
        set_tiers(recorder, sc, of->step_s, &checkpoint, job);
    else
        set_interval(recorder, sc, of->step_s, &checkpoint, job);
}
