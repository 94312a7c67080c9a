#include "step/step_input.h"

#include "workload/memory.h"

#include <math.h>
#include <string.h>

/* Step and input pipeline last as long as each other within this part of themselves, or have taken so many turns. */
#define SAME_FRAC 1e-4
enum { MAX_TURNS = 8, MAX_TOP_UPS = 4 };
/* A step's clock counts picoseconds in 63 bits: 107 days. */
#define LONGEST_STEP_S 5e6

/* ---- who is fed where ---- */

/* Stages of the consumers on `node`, at most `room` of them; returns how many there are. */
static int32_t consumers_on(const struct tsim_scenario *sc, const struct tsim_placement *placement, int32_t node,
                            int32_t *stages, int32_t room) {
    int32_t n = 0, first = node * placement->ranks_per_node;
    for (int32_t rank = first; rank < first + placement->ranks_per_node && rank < placement->n_ranks; rank++) {
        struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
        if (at.at[TSIM_AXIS_TENSOR] > 0 || at.at[TSIM_AXIS_CONTEXT] > 0 ||
            !tsim_stage_has_embedding(sc, at.at[TSIM_AXIS_PIPELINE]))
            continue;
        if (n < room)
            stages[n] = at.at[TSIM_AXIS_PIPELINE];
        n++;
    }
    return n;
}

static int32_t fullest_node(const struct tsim_scenario *sc, const struct tsim_placement *placement,
                            int32_t *n_consumers, int32_t *n_all) {
    int32_t fullest = 0, nodes = (placement->n_ranks + placement->ranks_per_node - 1) / placement->ranks_per_node;
    *n_consumers = *n_all = 0;
    for (int32_t node = 0; node < nodes; node++) {
        int32_t n = consumers_on(sc, placement, node, NULL, 0);
        *n_all += n;
        if (n > *n_consumers) {
            *n_consumers = n;
            fullest = node;
        }
    }
    return fullest;
}

void tsim_input_pipeline_of(const struct tsim_scenario *sc, const struct tsim_placement *placement,
                            struct tsim_input_pipeline *pipeline) {
    const struct tsim_data_spec *data = &sc->data;
    const struct tsim_storage *storage = data->storage;
    bool is_random = data->access == TSIM_ACCESS_RANDOM;
    double samples = (double)sc->training.micro_batch_size;
    int32_t n_consumers, n_all;
    fullest_node(sc, placement, &n_consumers, &n_all);
    double rate = storage->bandwidth_bytes_per_s * (is_random ? storage->random_access_frac : 1);
    if (storage->is_shared) {
        rate *= (double)n_consumers / n_all;
        rate = storage->client_bytes_per_s > 0 ? fmin(rate, storage->client_bytes_per_s) : rate;
    }
    double read_bytes = samples * data->sample_bytes;
    double stream = storage->stream_bytes_per_s > 0 ? fmin(storage->stream_bytes_per_s, rate) : rate;
    *pipeline = (struct tsim_input_pipeline){.read_bytes = read_bytes,
                                             .read_alone_s =
                                                 (is_random ? samples : 1) * storage->latency_s + read_bytes / stream,
                                             .cpu_s = samples * data->sample_cpu_s,
                                             .transfer_bytes = samples * data->transfer_bytes,
                                             .storage_bytes_per_s = rate,
                                             .cores = (double)sc->cluster.node->host_cores,
                                             .link_bytes_per_s = sc->cluster.node->host_link_bytes_per_s,
                                             .workers = (int32_t)data->workers,
                                             .prefetch = (int32_t)data->prefetch,
                                             .n_consumers = n_consumers};
}

/* ---- gaps ---- */

/* A replica that is simulated has its own account, others are like the first. */
static const struct tsim_stage_group_account *account_of(const struct tsim_step_simulation *simulation, int32_t stage) {
    return &simulation->stage_groups[stage];
}

static void take_gaps(const struct tsim_step_simulation *simulation, const int32_t *stages,
                      struct tsim_input_pipeline *pipeline, double *gaps_s) {
    pipeline->n_batches = account_of(simulation, stages[0])->n_inputs;
    pipeline->gaps_s = gaps_s;
    for (int32_t i = 0; i < pipeline->n_consumers; i++) {
        const struct tsim_stage_group_account *account = account_of(simulation, stages[i]);
        TSIM_ASSERT(account->n_inputs == pipeline->n_batches);
        memcpy(gaps_s + (size_t)i * (size_t)(pipeline->n_batches + 1), account->input_gaps_s,
               (size_t)(pipeline->n_batches + 1) * sizeof *gaps_s);
    }
}

/* ---- turns ---- */

struct turns {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_pass_costs *costs;
    struct tsim_diags *diags;
    struct tsim_step_input input;
    double *waits_s; /* in the step */
    int64_t events;
};

static enum tsim_status simulate_step(struct turns *t, const struct tsim_step_sink *sink,
                                      struct tsim_step_simulation *simulation) {
    TSIM_TRY(tsim_step_simulate_with_late_batches(t->arena, t->scenario, t->cluster, t->placement, t->costs, &t->input,
                                                  sink, simulation, t->diags));
    t->events += simulation->events;
    return TSIM_OK;
}

static enum tsim_status refuse(const struct turns *t, const struct tsim_input_pipeline_flow *flow) {
    struct tsim_place nowhere = {.file = t->scenario->file};
    char text[40];
    tsim_diag_hint(tsim_diags_error(t->diags, TSIM_ERR_INFEASIBLE, nowhere, "data", "a step waits %s for its data",
                                    tsim_quantity_human(flow->wait_s, TSIM_TIME_S, text, sizeof text)),
                   "check sample_size, sample_cpu_time and the storage's bandwidth and latency");
    return TSIM_ERR_INFEASIBLE;
}

static bool is_same(const struct tsim_step_simulation *simulation, const struct tsim_input_pipeline_flow *flow) {
    return fabs(simulation->time_s - flow->step_s) <= SAME_FRAC * flow->step_s;
}

/* Waits that fall into slack do not lengthen the step, and the next input pipeline finds them too short by as much
 * again. What is missing when they have taken their turns, the first batch waits longer: then the whole step moves. */
static enum tsim_status top_up(struct turns *t, const struct tsim_input_pipeline_flow *flow,
                               struct tsim_step_simulation *simulation) {
    for (int i = 0; i < MAX_TOP_UPS && !is_same(simulation, flow) && simulation->time_s < flow->step_s; i++) {
        t->waits_s[0] += flow->step_s - simulation->time_s;
        TSIM_TRY(simulate_step(t, NULL, simulation));
    }
    return TSIM_OK;
}

static enum tsim_status take_turns(struct turns *t, struct tsim_step_simulation *simulation,
                                   struct tsim_input_pipeline_flow *flow) {
    struct tsim_input_pipeline pipeline;
    tsim_input_pipeline_of(t->scenario, t->placement, &pipeline);
    int32_t n_consumers, n_all, node = fullest_node(t->scenario, t->placement, &n_consumers, &n_all);
    int32_t *stages = TSIM_NEW_ARRAY(t->arena, (size_t)n_consumers, int32_t);
    consumers_on(t->scenario, t->placement, node, stages, n_consumers);
    TSIM_TRY(simulate_step(t, NULL, simulation));
    size_t n_batches = (size_t)account_of(simulation, stages[0])->n_inputs;
    double *gaps_s = TSIM_NEW_ARRAY(t->arena, (size_t)n_consumers * (n_batches + 1), double);
    t->waits_s = TSIM_NEW_ARRAY(t->arena, n_batches, double);
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        take_gaps(simulation, stages, &pipeline, gaps_s);
        TSIM_TRY(tsim_input_pipeline_simulate(t->arena, &pipeline, flow, t->diags));
        t->events += flow->events;
        if (turn == 0 && flow->bound == TSIM_INPUT_BOUND_NONE)
            return TSIM_OK;
        if (flow->step_s > LONGEST_STEP_S)
            return refuse(t, flow);
        memcpy(t->waits_s, flow->waits_s, n_batches * sizeof *t->waits_s);
        t->input.waits_s = t->waits_s;
        TSIM_TRY(simulate_step(t, NULL, simulation));
        if (is_same(simulation, flow))
            return TSIM_OK;
    }
    return top_up(t, flow, simulation);
}

enum tsim_status tsim_step_simulate_with_input(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                               const struct tsim_cluster *cluster,
                                               const struct tsim_placement *placement,
                                               const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                               struct tsim_step_simulation *simulation,
                                               struct tsim_input_pipeline_flow *flow, struct tsim_diags *diags) {
    struct turns turns = {.arena = arena,
                          .scenario = scenario,
                          .cluster = cluster,
                          .placement = placement,
                          .costs = costs,
                          .diags = diags};
    *flow = (struct tsim_input_pipeline_flow){.bound = TSIM_INPUT_BOUND_NONE};
    if (!scenario->data.has)
        return tsim_step_simulate_observed(arena, scenario, cluster, placement, costs, sink, simulation, diags);
    TSIM_TRY(take_turns(&turns, simulation, flow));
    if (sink)
        TSIM_TRY(simulate_step(&turns, sink, simulation));
    simulation->events = turns.events;
    return TSIM_OK;
}
