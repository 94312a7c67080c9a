#include "training/input.h"

#include "workload/memory.h"

#include <math.h>
#include <string.h>

/* Gaps agree within this part of a step, or the two have taken so many turns. */
#define SAME_FRAC 1e-6
enum { MAX_TURNS = 12 };

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

void tsim_input_feed(const struct tsim_scenario *sc, const struct tsim_placement *placement, struct tsim_feed *feed) {
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
    *feed = (struct tsim_feed){.read_bytes = read_bytes,
                               .read_alone_s = (is_random ? samples : 1) * storage->latency_s + read_bytes / stream,
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
static const struct tsim_gang_account *account_of(const struct tsim_step_simulation *simulation, int32_t stage) {
    return &simulation->gangs[stage];
}

static void take_gaps(const struct tsim_step_simulation *simulation, const int32_t *stages, struct tsim_feed *feed,
                      double *gaps_s) {
    feed->n_batches = account_of(simulation, stages[0])->n_inputs;
    feed->gaps_s = gaps_s;
    for (int32_t i = 0; i < feed->n_consumers; i++) {
        const struct tsim_gang_account *account = account_of(simulation, stages[i]);
        TSIM_ASSERT(account->n_inputs == feed->n_batches);
        memcpy(gaps_s + (size_t)i * (size_t)(feed->n_batches + 1), account->input_gaps_s,
               (size_t)(feed->n_batches + 1) * sizeof *gaps_s);
    }
}

static double largest_difference(const double *a, const double *b, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
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
    int64_t events;
};

static enum tsim_status simulate_step(struct turns *t, const struct tsim_step_sink *sink,
                                      struct tsim_step_simulation *simulation) {
    TSIM_TRY(tsim_step_simulate_fed(t->arena, t->scenario, t->cluster, t->placement, t->costs, &t->input, sink,
                                    simulation, t->diags));
    t->events += simulation->events;
    return TSIM_OK;
}

static enum tsim_status take_turns(struct turns *t, struct tsim_step_simulation *simulation,
                                   struct tsim_feed_flow *flow) {
    struct tsim_feed feed;
    tsim_input_feed(t->scenario, t->placement, &feed);
    int32_t n_consumers, n_all, node = fullest_node(t->scenario, t->placement, &n_consumers, &n_all);
    int32_t *stages = TSIM_NEW_ARRAY(t->arena, (size_t)n_consumers, int32_t);
    consumers_on(t->scenario, t->placement, node, stages, n_consumers);
    TSIM_TRY(simulate_step(t, NULL, simulation));
    size_t n_gaps = (size_t)n_consumers * ((size_t)account_of(simulation, stages[0])->n_inputs + 1);
    double *gaps_s = TSIM_NEW_ARRAY(t->arena, n_gaps, double), *before_s = TSIM_NEW_ARRAY(t->arena, n_gaps, double);
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        take_gaps(simulation, stages, &feed, gaps_s);
        if (turn > 0 && largest_difference(gaps_s, before_s, n_gaps) <= SAME_FRAC * simulation->time_s)
            return TSIM_OK;
        TSIM_TRY(tsim_feed_simulate(t->arena, &feed, flow, t->diags));
        t->events += flow->events;
        if (turn == 0 && flow->bound == TSIM_FEED_NONE)
            return TSIM_OK;
        t->input.waits_s = flow->waits_s;
        memcpy(before_s, gaps_s, n_gaps * sizeof *gaps_s);
        TSIM_TRY(simulate_step(t, NULL, simulation));
    }
    return TSIM_OK;
}

enum tsim_status tsim_input_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                     const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                     const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                     struct tsim_step_simulation *simulation, struct tsim_feed_flow *flow,
                                     struct tsim_diags *diags) {
    struct turns turns = {.arena = arena,
                          .scenario = scenario,
                          .cluster = cluster,
                          .placement = placement,
                          .costs = costs,
                          .diags = diags};
    *flow = (struct tsim_feed_flow){.bound = TSIM_FEED_NONE};
    if (!scenario->data.has)
        return tsim_step_simulate_heard(arena, scenario, cluster, placement, costs, sink, simulation, diags);
    TSIM_TRY(take_turns(&turns, simulation, flow));
    if (sink)
        TSIM_TRY(simulate_step(&turns, sink, simulation));
    simulation->events = turns.events;
    return TSIM_OK;
}
