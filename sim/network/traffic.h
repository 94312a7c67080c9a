/* traffic.h - collectives on the engine, at two fidelities over the same links.
 *
 *   steps   Every message of a pattern is an activity with its route; ranks wait for each other's messages.
 *   fluid   The whole collective is one activity that crosses all its links at once.
 *
 * Both take the cost's time if nothing shares their links. If something does, steps lets the messages that are not
 * disturbed go on, as far as the ring allows, and fluid slows the whole collective down to the slowest link. */
#pragma once

#include "engine/engine.h"
#include "network/pattern.h"

/* The links of a topology are resources of an engine: link i is resource first_resource + i. */
struct tsim_links {
    struct tsim_engine *engine;
    const struct tsim_topology *topology;
    int32_t first_resource;
};

void tsim_links_add(struct tsim_links *links, struct tsim_engine *engine, const struct tsim_topology *topology);

enum { TSIM_TRAFFIC_HELD = 2 };
struct tsim_traffic_options {
    bool is_fluid;
    double weight;     /* relative to other activities; multiplies the rate alone; 0 means 1 */
    tsim_tick latency; /* that passes before the first use */
    /* The number of times that the collective runs, one after another; 0 means once. -1: as often as it is asked,
     * and its streams are excused from finishing. */
    int64_t n_uses;
    /* For steps alone, and either may be NULL; one signal for each of the pattern's ranks. Use number u of a rank's
     * lanes begins when signal go[i] + u % 2 has fired, and in a ring also that of the rank that follows. Each lane
     * lowers done[i] at the end of each use. Whoever starts use u arms the other go signal first. */
    const int32_t *go, *done;
    /* Resources of each rank (compute units, memory) that its messages also hold, in units/s while they flow at the
     * rate that they have alone. `of_rank` NULL: there are none. */
    struct {
        const int32_t *of_rank;
        double units_per_s;
    } held[TSIM_TRAFFIC_HELD];
};

struct tsim_traffic;

/* Adds the pattern's streams to the engine. The pattern and the arrays of the options must live as long as the traffic,
 * which lives in `arena`. */
struct tsim_traffic *tsim_traffic_add(struct tsim_arena *arena, const struct tsim_links *links,
                                      const struct tsim_pattern *pattern, const struct tsim_traffic_options *options);

/* Adds the number of each rank's lanes to counts[pattern->n_ranks]. */
void tsim_pattern_count_lanes(const struct tsim_pattern *pattern, int32_t *counts);

/* The first returns when the last message ended, the second how many messages have begun. */
tsim_tick tsim_traffic_end(const struct tsim_traffic *traffic);
int64_t tsim_traffic_n_messages(const struct tsim_traffic *traffic);

/* Describes a task of one of its streams ("rank 3: message 12 of 14 to rank 4"), or, with stream -2, what its counter
 * number `label` counts ("messages from rank 2 to rank 3"). Returns false if the stream or counter is not its own. */
bool tsim_traffic_describe(const struct tsim_traffic *traffic, int32_t stream, int64_t label, char *text, size_t size);

/* Plays one collective alone on the machine, at request->network's fidelity. It fills in the collective's cost, with
 * the time_s and the bus bandwidth that the links give (ideal: those of the cost). n_messages may be NULL; it becomes 0
 * unless the fidelity is steps. Returns what tsim_engine_run returns. */
enum tsim_status tsim_collective_alone(const struct tsim_topology *topology, const int32_t *ranks, int32_t n_ranks,
                                       const struct tsim_collective_request *request, struct tsim_collective_cost *cost,
                                       int64_t *n_messages, struct tsim_diags *diags);
