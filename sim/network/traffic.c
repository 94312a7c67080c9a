#include "network/traffic.h"

#include <string.h>

struct lane {
    int64_t use;
    int32_t phase, message;
    struct tsim_demand route[TSIM_TASK_MAX_DEMANDS]; /* pairwise: of the message under way */
    struct tsim_demand *long_route;                  /* the same, if that is too short */
};

struct tsim_traffic {
    int32_t n_held; /* resources of a rank that its messages hold */
    struct tsim_links links;
    const struct tsim_pattern *pattern;
    struct tsim_traffic_options options;
    struct lane *lanes;
    tsim_tick *latencies;        /* of a message of phase i */
    struct tsim_demand *demands; /* of phase i its shares, by resource, and one more for what its rank holds, from
                                    first_share + i on; fluid: all links */
    int32_t n_demands, first_stream, n_streams, first_counter;
    int32_t first_meeting; /* signals: by lanes that meet, the phase that they have ended, and even and odd uses */
    int64_t n_messages;
    tsim_tick end;
    struct tsim_arena *arena;
};

void tsim_links_add(struct tsim_links *links, struct tsim_engine *engine, const struct tsim_topology *topology) {
    *links = (struct tsim_links){.engine = engine, .topology = topology, .first_resource = -1};
    for (int32_t i = 0; i < topology->n_links; i++) {
        /* links that nothing can go over, as between strangers in a cube mesh, are there but never used */
        double rate = topology->bytes_per_s[i];
        int32_t resource = tsim_engine_add_resource(engine, rate > 0 ? rate : 1);
        if (i == 0)
            links->first_resource = resource;
    }
}

/* ---- fluid ---- */

static bool next_fluid(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_traffic *traffic = context;
    const struct tsim_collective_cost *cost = &traffic->pattern->cost;
    struct tsim_engine *engine = traffic->links.engine;
    double flow_s = cost->time_s - cost->latency_s;
    (void)stream;
    if (traffic->n_messages > 0)
        traffic->end = tsim_engine_now(engine);
    if (traffic->n_messages == traffic->options.n_uses || !(cost->time_s > 0))
        return false;
    task->latency = cost->latency_s > 0 ? tsim_engine_ticks(engine, cost->latency_s) : 0;
    if (traffic->n_messages++ == 0)
        task->latency += traffic->options.latency;
    task->work = flow_s;
    task->bound_per_s = 1;
    task->weight = traffic->options.weight;
    task->more_demands = traffic->demands;
    task->n_more_demands = traffic->n_demands;
    return true;
}

/* Finds the demands per second of flow. */
static void find_fluid_demands(struct tsim_traffic *traffic, struct tsim_arena *arena) {
    const struct tsim_pattern *pattern = traffic->pattern;
    const struct tsim_topology *topology = pattern->topology;
    double *link_bytes = TSIM_NEW_ARRAY(arena, (size_t)topology->n_links, double);
    double flow_s = pattern->cost.time_s - pattern->cost.latency_s;
    tsim_pattern_link_bytes(pattern, link_bytes);
    traffic->demands = TSIM_NEW_ARRAY(arena, (size_t)topology->n_links, struct tsim_demand);
    for (int32_t i = 0; i < topology->n_links; i++)
        if (link_bytes[i] > 0)
            traffic->demands[traffic->n_demands++] =
                (struct tsim_demand){traffic->links.first_resource + i, link_bytes[i] / flow_s};
}

/* ---- steps ---- */

static bool is_wave(const struct tsim_traffic *traffic) {
    return traffic->pattern->kind == TSIM_PATTERN_WAVES;
}

static const struct tsim_pattern_phase *phase_of(const struct tsim_traffic *traffic, int32_t lane, int32_t phase) {
    return &traffic->pattern->phases[lane * traffic->pattern->n_phases + phase];
}

/* Returns, for each rank, a second of the whole flow over the bytes that the rank sends in it. */
static double *seconds_per_byte(const struct tsim_pattern *p, struct tsim_arena *arena) {
    double *per_byte = TSIM_NEW_ARRAY(arena, (size_t)p->n_ranks, double);
    for (int32_t i = 0; i < p->n_lanes * p->n_phases; i++)
        per_byte[p->phases[i].from] += p->phases[i].bytes * p->phases[i].n_messages;
    for (int32_t i = 0; i < p->n_ranks; i++)
        if (per_byte[i] > 0)
            per_byte[i] = (p->cost.time_s - p->cost.latency_s) / per_byte[i];
    return per_byte;
}

static void find_step_tasks(struct tsim_traffic *traffic, struct tsim_arena *arena) {
    const struct tsim_pattern *p = traffic->pattern;
    size_t n_phases = (size_t)p->n_lanes * (size_t)p->n_phases;
    double *per_byte = seconds_per_byte(p, arena);
    traffic->demands = TSIM_NEW_ARRAY(arena, p->n_shares + TSIM_TRAFFIC_HELD * n_phases, struct tsim_demand);
    for (int h = 0; h < TSIM_TRAFFIC_HELD; h++)
        traffic->n_held += traffic->options.held[h].units_per_s > 0;
    traffic->latencies = TSIM_NEW_ARRAY(arena, n_phases, tsim_tick);
    for (size_t i = 0; i < n_phases; i++) {
        const struct tsim_pattern_phase *phase = &p->phases[i];
        traffic->latencies[i] = phase->latency_s > 0 ? tsim_engine_ticks(traffic->links.engine, phase->latency_s) : 0;
        struct tsim_demand *demands = traffic->demands + phase->first_share + TSIM_TRAFFIC_HELD * i;
        for (int32_t j = 0; j < phase->n_shares; j++) {
            const struct tsim_share *share = &p->shares[phase->first_share + j];
            demands[j] = (struct tsim_demand){traffic->links.first_resource + share->link, share->frac};
        }
        int32_t n = phase->n_shares;
        for (int h = 0; h < TSIM_TRAFFIC_HELD; h++)
            if (traffic->options.held[h].units_per_s > 0)
                demands[n++] = (struct tsim_demand){traffic->options.held[h].of_rank[phase->from],
                                                    traffic->options.held[h].units_per_s * per_byte[phase->from]};
    }
}

static void await_phase(const struct tsim_traffic *traffic, int32_t lane, int32_t phase, int64_t value,
                        struct tsim_task *task) {
    if (value == 0 || phase_of(traffic, lane, phase)->successor < 0)
        return;
    task->awaited_counter = traffic->first_counter + lane * traffic->pattern->n_phases + phase;
    task->awaited_value = value;
}

/* The first message of a use of a lane waits for its own rank and, in a ring, for the receiving rank, which has no
 * buffer for it before. (The receiver cannot be a use ahead, because it needs this lane's messages.) */
static void await_go(const struct tsim_traffic *traffic, int32_t lane, int64_t use, struct tsim_task *task) {
    const struct tsim_pattern_phase *phase = phase_of(traffic, lane, 0);
    const int32_t *go = traffic->options.go;
    if (use == 0)
        task->latency += traffic->options.latency;
    if (!go)
        return;
    task->waits[task->n_waits++] = go[phase->owner] + (int32_t)(use % 2);
    if (phase->successor >= 0)
        task->waits[task->n_waits++] = go[phase->to] + (int32_t)(use % 2);
}

/* Returns the signal that fires when all lanes that meet have ended the phase; of a wave, when all may begin. */
static int32_t meeting_of(const struct tsim_traffic *traffic, int32_t lane, int32_t phase, int64_t use) {
    const struct tsim_pattern *p = traffic->pattern;
    return traffic->first_meeting + 2 * (lane / p->n_meeting * p->n_phases + phase) + (int32_t)(use % 2);
}

/* Arms the meetings of the next use. Those of the use before last are over for all lanes. */
static void arm_meetings(const struct tsim_traffic *traffic, int32_t lane, int64_t use) {
    const struct tsim_pattern *p = traffic->pattern;
    for (int32_t phase = 0; phase < p->n_phases && p->n_meeting > 0; phase++)
        tsim_engine_rearm(traffic->links.engine, meeting_of(traffic, lane, phase, use + 1), p->n_meeting);
}

static void begin_use(const struct tsim_traffic *traffic, int32_t lane, int64_t use, struct tsim_task *task) {
    await_go(traffic, lane, use, task);
    arm_meetings(traffic, lane, use);
}

static void take_route(struct tsim_traffic *traffic, int32_t number, struct lane *lane, struct tsim_task *task) {
    struct tsim_route route;
    tsim_pattern_route(traffic->pattern, number, lane->message, &route);
    if (route.n > TSIM_TASK_MAX_DEMANDS && !lane->long_route)
        lane->long_route = TSIM_NEW_ARRAY(traffic->arena, TSIM_ROUTE_MAX, struct tsim_demand);
    struct tsim_demand *demands = route.n > TSIM_TASK_MAX_DEMANDS ? lane->long_route : lane->route;
    for (int32_t i = 0; i < route.n; i++)
        demands[i] = (struct tsim_demand){traffic->links.first_resource + route.links[i], 1};
    task->more_demands = demands;
    task->n_more_demands = route.n;
}

static void send(struct tsim_traffic *traffic, int32_t number, struct lane *lane, struct tsim_task *task) {
    const struct tsim_pattern_phase *phase = phase_of(traffic, number, lane->phase);
    task->latency = traffic->latencies[phase - traffic->pattern->phases];
    task->work = phase->bytes;
    task->bound_per_s = phase->bytes_per_s;
    task->weight = phase->bytes_per_s * traffic->options.weight;
    if (traffic->pattern->kind == TSIM_PATTERN_PAIRWISE) {
        take_route(traffic, number, lane, task);
    } else {
        task->more_demands =
            traffic->demands + phase->first_share + TSIM_TRAFFIC_HELD * (phase - traffic->pattern->phases);
        task->n_more_demands = phase->n_shares + traffic->n_held;
    }
    if (phase->successor >= 0)
        task->raised_counter = traffic->first_counter + phase->successor * traffic->pattern->n_phases + lane->phase;
    if (is_wave(traffic))
        task->waits[task->n_waits++] = meeting_of(traffic, number, 0, lane->use);
    else if (lane->message > 0)
        await_phase(traffic, number, lane->phase, lane->use * phase->n_messages + lane->message, task);
    else if (lane->phase > 0 && traffic->pattern->n_meeting > 0)
        task->waits[task->n_waits++] = meeting_of(traffic, number, lane->phase - 1, lane->use);
    else if (lane->phase > 0)
        await_phase(traffic, number, lane->phase - 1,
                    (lane->use + 1) * phase_of(traffic, number, lane->phase - 1)->n_messages, task);
    if (lane->phase == 0 && lane->message == 0)
        begin_use(traffic, number, lane->use, task);
    traffic->n_messages++;
}

/* Makes a task that takes no time: it ends when all messages of the phase have arrived at this lane. Waves meet before
 * their message: it ends when the lane's rank has begun. */
static void meet(struct tsim_traffic *traffic, int32_t number, struct lane *lane, struct tsim_task *task) {
    if (is_wave(traffic))
        begin_use(traffic, number, lane->use, task);
    else
        await_phase(traffic, number, lane->phase, (lane->use + 1) * phase_of(traffic, number, lane->phase)->n_messages,
                    task);
    task->lowers[task->n_lowers++] = meeting_of(traffic, number, lane->phase, lane->use);
}

/* A lane's use is over when the messages that are sent to it in the last phase have arrived. */
static void finish_use(struct tsim_traffic *traffic, int32_t number, struct lane *lane, struct tsim_task *task) {
    int32_t last = traffic->pattern->n_phases - 1;
    const struct tsim_pattern_phase *phase = phase_of(traffic, number, last);
    task->label = -1;
    await_phase(traffic, number, last, (lane->use + 1) * phase->n_messages, task);
    if (last == 0 && phase->n_messages == 0)
        await_go(traffic, number, lane->use, task);
    if (traffic->options.done)
        task->lowers[task->n_lowers++] = traffic->options.done[phase->owner];
    lane->use++;
    lane->phase = lane->message = 0;
}

/* Returns the messages of a lane's phase and, where lanes meet before the next or before a wave, the meeting. */
static int32_t n_tasks_of(const struct tsim_traffic *traffic, int32_t lane, int32_t phase) {
    const struct tsim_pattern *p = traffic->pattern;
    return phase_of(traffic, lane, phase)->n_messages +
           (is_wave(traffic) || (p->n_meeting > 0 && phase + 1 < p->n_phases));
}

static bool next_message(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_traffic *traffic = context;
    int32_t number = stream - traffic->first_stream;
    struct lane *lane = &traffic->lanes[number];
    if (lane->phase == 0 && lane->message == 0 && lane->use > 0) {
        tsim_tick now = tsim_engine_now(traffic->links.engine);
        traffic->end = now > traffic->end ? now : traffic->end;
        if (lane->use == traffic->options.n_uses)
            return false;
    }
    const struct tsim_pattern *p = traffic->pattern;
    while (lane->phase < p->n_phases && lane->message == n_tasks_of(traffic, number, lane->phase)) {
        lane->phase++;
        lane->message = 0;
    }
    if (lane->phase == p->n_phases) {
        finish_use(traffic, number, lane, task);
        return true;
    }
    int32_t n = phase_of(traffic, number, lane->phase)->n_messages,
            message = is_wave(traffic) ? n - lane->message : lane->message;
    task->label = (int64_t)lane->phase << 32 | message;
    if (message < n)
        send(traffic, number, lane, task);
    else
        meet(traffic, number, lane, task);
    lane->message++;
    return true;
}

/* ---- both ---- */

struct tsim_traffic *tsim_traffic_add(struct tsim_arena *arena, const struct tsim_links *links,
                                      const struct tsim_pattern *pattern, const struct tsim_traffic_options *options) {
    struct tsim_traffic *traffic = TSIM_NEW(arena, struct tsim_traffic);
    *traffic = (struct tsim_traffic){.links = *links, .pattern = pattern, .options = *options, .arena = arena};
    if (traffic->options.n_uses == 0)
        traffic->options.n_uses = 1;
    if (!(traffic->options.weight > 0))
        traffic->options.weight = 1;
    if (options->is_fluid) {
        find_fluid_demands(traffic, arena);
        traffic->first_stream = tsim_engine_add_stream(links->engine, next_fluid, traffic);
        traffic->n_streams = 1;
        return traffic;
    }
    find_step_tasks(traffic, arena);
    traffic->lanes = TSIM_NEW_ARRAY(arena, (size_t)pattern->n_lanes, struct lane);
    traffic->first_counter = tsim_engine_add_counters(links->engine, pattern->n_lanes * pattern->n_phases);
    traffic->n_streams = pattern->n_lanes;
    if (pattern->n_meeting > 0)
        traffic->first_meeting = tsim_engine_add_signals(
            links->engine, 2 * pattern->n_lanes / pattern->n_meeting * pattern->n_phases, pattern->n_meeting);
    for (int32_t i = 0; i < pattern->n_lanes; i++) {
        int32_t stream = tsim_engine_add_stream(links->engine, next_message, traffic);
        if (i == 0)
            traffic->first_stream = stream;
        if (options->n_uses < 0)
            tsim_engine_excuse(links->engine, stream);
    }
    return traffic;
}

void tsim_pattern_count_lanes(const struct tsim_pattern *pattern, int32_t *counts) {
    for (int32_t i = 0; i < pattern->n_lanes; i++)
        counts[pattern->phases[i * pattern->n_phases].owner]++;
}

tsim_tick tsim_traffic_end(const struct tsim_traffic *traffic) {
    return traffic->end;
}

int64_t tsim_traffic_n_messages(const struct tsim_traffic *traffic) {
    return traffic->n_messages;
}

static bool describe_counter(const struct tsim_traffic *traffic, int64_t counter, char *text, size_t size) {
    const struct tsim_pattern *p = traffic->pattern;
    int64_t number = counter - traffic->first_counter;
    if (traffic->options.is_fluid || number < 0 || number >= (int64_t)p->n_lanes * p->n_phases)
        return false;
    int32_t lane = (int32_t)number / p->n_phases, k = (int32_t)number % p->n_phases;
    for (int32_t from = 0; from < p->n_lanes; from++) {
        const struct tsim_pattern_phase *phase = phase_of(traffic, from, k);
        if (phase->successor == lane)
            snprintf(text, size, "messages from rank %d to rank %d", p->ranks[phase->from], p->ranks[phase->to]);
    }
    return true;
}

bool tsim_traffic_describe(const struct tsim_traffic *traffic, int32_t stream, int64_t label, char *text, size_t size) {
    if (stream == -2)
        return describe_counter(traffic, label, text, size);
    int32_t number = stream - traffic->first_stream;
    if (number < 0 || number >= traffic->n_streams)
        return false;
    const struct tsim_pattern *p = traffic->pattern;
    if (traffic->options.is_fluid) {
        snprintf(text, size, "%s of %d ranks", tsim_algorithm_name(p->cost.algorithm), p->n_ranks);
        return true;
    }
    int32_t message = (int32_t)(label & INT32_MAX), k = (int32_t)((uint64_t)label >> 32);
    const struct tsim_pattern_phase *phase = phase_of(traffic, number, label < 0 ? p->n_phases - 1 : k);
    struct tsim_route route;
    int32_t to = p->ranks[phase->to];
    if (label >= 0 && p->kind == TSIM_PATTERN_PAIRWISE)
        to = tsim_pattern_route(p, number, message, &route);
    if (label < 0 || (p->n_meeting > 0 && message == phase->n_messages))
        snprintf(text, size, "rank %d: the %s its %s", p->ranks[phase->from],
                 label < 0          ? "end of"
                 : is_wave(traffic) ? "beginning of"
                                    : "end of a phase of",
                 tsim_algorithm_name(p->cost.algorithm));
    else
        snprintf(text, size, "rank %d: message %d of %d to rank %d", p->ranks[phase->from], message + 1,
                 phase->n_messages, to);
    return true;
}

/* ---- alone ---- */

static enum tsim_status run_steps(const struct tsim_pattern *pattern, double *time_s, int64_t *n_messages,
                                  struct tsim_diags *diags) {
    struct tsim_engine_options engine_options = {.tick_s = 1e-12};
    struct tsim_traffic_options options = {.is_fluid = false};
    struct tsim_engine *engine = tsim_engine_create(&engine_options);
    struct tsim_arena arena;
    struct tsim_links links;
    tsim_arena_init(&arena);
    tsim_links_add(&links, engine, pattern->topology);
    struct tsim_traffic *traffic = tsim_traffic_add(&arena, &links, pattern, &options);
    enum tsim_status status = tsim_engine_run(engine, diags);
    *time_s = tsim_engine_seconds(engine, traffic->end);
    *n_messages = traffic->n_messages;
    tsim_arena_release(&arena);
    tsim_engine_release(engine);
    return status;
}

enum tsim_status tsim_collective_alone(const struct tsim_topology *topology, const int32_t *ranks, int32_t n_ranks,
                                       const struct tsim_collective_request *request, struct tsim_collective_cost *cost,
                                       int64_t *n_messages, struct tsim_diags *diags) {
    enum tsim_status status = TSIM_OK;
    struct tsim_pattern pattern;
    int64_t n = 0;
    tsim_pattern_build(&pattern, topology, ranks, n_ranks, request);
    *cost = pattern.cost;
    if (request->network == TSIM_NETWORK_FLUID)
        cost->time_s = tsim_pattern_fluid_s(&pattern);
    else if (request->network == TSIM_NETWORK_STEPS && pattern.n_lanes > 0)
        status = run_steps(&pattern, &cost->time_s, &n, diags);
    if (cost->time_s > 0)
        cost->bus_bandwidth_bytes_per_s = request->bytes / cost->time_s * tsim_bus_factor(request->op, n_ranks);
    if (n_messages)
        *n_messages = n;
    tsim_pattern_release(&pattern);
    return status;
}
