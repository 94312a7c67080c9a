#include "step/folding/folding.h"

#include "base/alike.h"
#include "base/random.h"
#include "network/pattern.h"
#include "step/step_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A margin above the rounding of sums in another order. */
#define SAME_FRAC 1e-9

/* When they are folded, ranks of one NIC have their shares of it to themselves. That is right if each has as many
 * others beside it, and if these, all of the same stage and equally fast, demand the same at the same time. */
static bool nics_are_alike(const struct tsim_cluster *cluster, bool differ) {
    if (cluster->nodes == 1)
        return true;
    int64_t nics = tsim_nics_per_node(cluster), ranks = cluster->accelerators_per_node;
    return ranks % nics == 0 && (ranks == nics || !differ);
}

/* Tells whether messages of all ranks are alike. On a switch a message has the ports of its two ranks to itself. On
 * other nodes those of several ranks, or a message and a collective, meet on a link that a folded rank does not
 * have. */
static bool messages_are_alike(const struct tsim_cluster *cluster, const struct tsim_placement *placement) {
    struct tsim_neighbours neighbours = tsim_placement_neighbours(placement, TSIM_AXIS_PIPELINE);
    return neighbours.are_alike && (!neighbours.any_on_node || cluster->node->scale_up == TSIM_SCALE_UP_SWITCH);
}

/* Tells whether so many ranks in a row are a box of the torus wherever they begin: some whole dimensions and a part of
 * the next. */
static bool is_box(const struct tsim_cluster *cluster, int32_t n_ranks) {
    int32_t below = 1;
    for (int k = 0; k < TSIM_TORUS_DIGITS; k++) {
        int32_t size = tsim_torus_digit(cluster, k).size;
        if (n_ranks <= below * size)
            return n_ranks % below == 0 && size % (n_ranks / below) == 0;
        below *= size;
    }
    return true;
}

/* Returns whether so many ranks in a row fill whole dimensions. */
static bool fills_dimensions(const struct tsim_cluster *cluster, int32_t n_ranks) {
    int32_t below = 1;
    bool fills = n_ranks == 1;
    for (int d = 0; d < 3; d++) {
        below *= cluster->torus_shape[d];
        fills |= n_ranks == below;
    }
    return fills;
}

bool tsim_axes_have_own_dimensions(const struct tsim_cluster *cluster, const struct tsim_placement *placement) {
    bool has_own = cluster->torus_shape[0] > 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (placement->size[axis] > 1)
            has_own = has_own && (axis == TSIM_AXIS_TENSOR || axis == TSIM_AXIS_DATA) &&
                      fills_dimensions(cluster, placement->stride[axis]) &&
                      fills_dimensions(cluster, placement->stride[axis] * placement->size[axis]);
    return has_own;
}

/* Groups of one axis that are boxes have their links to themselves; those of two axes meet on them unless they go along
 * dimensions of their own, and so do messages of several hops. Exchanges of context ranks and of experts meet the
 * gradients of the same ranks. */
static bool boxes_are_alike(const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                            bool has_stages) {
    int n_axes = 0;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        n_axes += placement->size[axis] > 1;
        if (!is_box(cluster, placement->stride[axis] * placement->size[axis]))
            return false;
    }
    bool meets_gradients = placement->size[TSIM_AXIS_CONTEXT] > 1 || placement->size[TSIM_AXIS_EXPERT] > 1;
    return !has_stages && ((n_axes <= 1 && !meets_gradients) || tsim_axes_have_own_dimensions(cluster, placement));
}

/* ---- one replica for all ---- */

static bool is_of_routers(const struct tsim_topology *topology, int32_t link) {
    enum tsim_link_kind kind = tsim_topology_link_kind(topology, link);
    return kind == TSIM_LINK_LOCAL || kind == TSIM_LINK_GLOBAL;
}

const int32_t *tsim_links_that_stand(struct tsim_arena *arena, const struct tsim_topology *topology,
                                     const struct tsim_placement *placement, const struct tsim_stand_ins *stand_ins) {
    if (stand_ins->links)
        return stand_ins->links;
    int32_t *stands = TSIM_NEW_ARRAY(arena, (size_t)topology->n_links, int32_t);
    int32_t per_node = topology->ranks_per_node, n_nodes = topology->n_ranks / per_node;
    for (int32_t link = 0; link < topology->n_links; link++)
        stands[link] = tsim_topology_oversubscription(topology, link) > 1 || is_of_routers(topology, link);
    for (int32_t rank = 0; rank < topology->n_ranks; rank++) {
        int32_t place = tsim_placement_coordinates(placement, rank).at[TSIM_AXIS_DATA];
        if (stand_ins->at[stand_ins->of[place]] != place)
            continue;
        int32_t node = rank / per_node;
        const int32_t nodes[] = {node, 0, n_nodes - 1}; /* the way to one of the ends goes through every tier above */
        for (int32_t i = 0; i < per_node * 3; i++) {
            int32_t other = nodes[i / per_node] * per_node + i % per_node;
            struct tsim_route there, back;
            tsim_topology_route(topology, rank, other, &there);
            tsim_topology_route(topology, other, rank, &back);
            for (int32_t k = 0; k < there.n; k++)
                stands[there.links[k]] = 1;
            for (int32_t k = 0; k < back.n; k++)
                stands[back.links[k]] = 1;
        }
    }
    return stands;
}

/* A message to the next or the previous stage, or to the next rank of a group that has collectives in passes. */
struct edge {
    enum tsim_axis axis;
    int32_t step;
};
static const struct edge EDGES[] = {{TSIM_AXIS_PIPELINE, 1},
                                    {TSIM_AXIS_PIPELINE, -1},
                                    {TSIM_AXIS_TENSOR, 1},
                                    {TSIM_AXIS_CONTEXT, 1},
                                    {TSIM_AXIS_EXPERT, 1}};
enum { N_EDGES = sizeof EDGES / sizeof EDGES[0] };

/* A message of a replica, or a step of a ring of it. Those of one `what` and of one first rank, the rank of the first
 * replica in whose place one sends, are the same in all replicas. */
struct message {
    uint64_t what, sorts;      /* what it is, and a number for the sorts of all its links */
    int32_t first_rank, place; /* the replica's place on the data axis */
    size_t end; /* of its links among those that all messages cross; they begin where those before it end */
};

/* This says what links carry. */
struct loads {
    struct tsim_arena arena;
    const struct tsim_topology *topology;
    const struct tsim_placement *placement;
    struct message *messages;
    int32_t *crossed; /* the links that the messages cross and that may be short, one message after the other */
    size_t n_messages, messages_capacity, n_crossed, crossed_capacity;
    uint64_t met;        /* a number for the sorts that the next message has met so far */
    bool *may_be_short;  /* by link; those that cannot be need not be alike */
    uint64_t *carried;   /* by link: which messages of which kinds of replicas cross it */
    double *data_bytes;  /* by link: of a collective of every data-parallel group */
    int32_t *data_loads; /* by link: equal where these bytes are */
};

static void find_short_links(struct loads *loads) {
    const struct tsim_topology *topology = loads->topology;
    loads->may_be_short = TSIM_NEW_ARRAY(&loads->arena, (size_t)topology->n_links, bool);
    for (int32_t link = 0; link < topology->n_links; link++)
        loads->may_be_short[link] =
            topology->sorts[link] < TSIM_N_LINK_KINDS || tsim_topology_oversubscription(topology, link) > 1;
}

static void cross(struct loads *loads, const int32_t *links, int32_t n) {
    loads->crossed =
        tsim_heap_grow(loads->crossed, &loads->crossed_capacity, loads->n_crossed + (size_t)n, sizeof *loads->crossed);
    for (int32_t i = 0; i < n; i++) {
        loads->met = tsim_random_mix(loads->met + loads->topology->sorts[links[i]] + 1);
        if (loads->may_be_short[links[i]])
            loads->crossed[loads->n_crossed++] = links[i];
    }
}

/* Adds the message of a rank, after its links. */
static void add_message(struct loads *loads, int32_t rank, int32_t place, uint64_t what) {
    int32_t first_rank = rank - place * loads->placement->stride[TSIM_AXIS_DATA];
    loads->messages =
        tsim_heap_grow(loads->messages, &loads->messages_capacity, loads->n_messages + 1, sizeof *loads->messages);
    loads->messages[loads->n_messages++] = (struct message){what, loads->met, first_rank, place, loads->n_crossed};
    loads->met = 0;
}

static void add_edges(struct loads *loads) {
    const struct tsim_placement *placement = loads->placement;
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        const struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
        for (int edge = 0; edge < N_EDGES; edge++) {
            enum tsim_axis axis = EDGES[edge].axis;
            int32_t size = placement->size[axis], to = (at.at[axis] + EDGES[edge].step + size) % size;
            struct tsim_route route;
            if (size == 1)
                continue;
            tsim_topology_route(loads->topology, rank, rank + (to - at.at[axis]) * placement->stride[axis], &route);
            cross(loads, route.links, route.n);
            add_message(loads, rank, at.at[TSIM_AXIS_DATA], (uint64_t)edge);
        }
    }
}

/* Adds the messages of one group's collective. */
static void add_collective(struct loads *loads, const int32_t *ranks, int32_t n, enum tsim_collective_op op) {
    const struct tsim_collective_request request = {.op = op, .bytes = 1e9};
    struct tsim_pattern pattern;
    struct tsim_route route;
    tsim_pattern_build(&pattern, loads->topology, ranks, n, &request);
    for (int32_t i = 0; i < pattern.n_lanes * pattern.n_phases; i++) {
        const struct tsim_pattern_phase *phase = &pattern.phases[i];
        for (int32_t k = 0; k < phase->n_messages && pattern.kind == TSIM_PATTERN_PAIRWISE; k++) {
            tsim_pattern_route(&pattern, i, k, &route);
            cross(loads, route.links, route.n);
        }
        for (int32_t k = 0; k < phase->n_shares; k++)
            cross(loads, &pattern.shares[phase->first_share + k].link, 1);
        int32_t rank = ranks[phase->owner];
        add_message(loads, rank, tsim_placement_coordinates(loads->placement, rank).at[TSIM_AXIS_DATA],
                    tsim_random_mix_of(N_EDGES, (uint64_t)op, (uint64_t)(phase->bytes * phase->n_messages)));
    }
    tsim_pattern_release(&pattern);
}

/* On a torus a collective of a pass goes through the dimensions of its box, both ways. */
static void add_boxes(struct loads *loads) {
    const struct tsim_placement *placement = loads->placement;
    int32_t *ranks = TSIM_NEW_ARRAY(&loads->arena, (size_t)placement->n_ranks, int32_t);
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        unsigned axes = axis == TSIM_AXIS_EXPERT ? placement->expert_axes : 1u << axis;
        for (int32_t rank = 0; rank < placement->n_ranks && axis != TSIM_AXIS_DATA; rank++) {
            int32_t n =
                tsim_placement_leads(placement, rank, axes) ? tsim_placement_ranks(placement, rank, axes, ranks) : 0;
            if (n <= 1)
                continue;
            add_collective(loads, ranks, n, TSIM_ALL_GATHER);
            add_collective(loads, ranks, n, TSIM_ALL_TO_ALL);
        }
    }
}

/* Adds a collective of each group that sums or gathers parameters, or those of experts. A factor of its own for
 * each stage keeps loads apart that are as many bytes, but of stages that reduce at other moments. */
static void add_data_collectives(struct loads *loads, const struct tsim_step_plan *plan, enum tsim_among among,
                                 bool is_expert) {
    const struct tsim_placement *placement = loads->placement;
    const unsigned axes = is_expert ? placement->expert_data_axes
                                    : 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    int32_t n_ranks = loads->topology->n_ranks, *ranks = TSIM_NEW_ARRAY(&loads->arena, (size_t)n_ranks, int32_t);
    int32_t *all = TSIM_NEW_ARRAY(&loads->arena, (size_t)n_ranks, int32_t), n;
    for (int32_t rank = 0; rank < n_ranks; rank++) {
        if (!tsim_placement_leads(placement, rank, axes))
            continue;
        int32_t n_all = tsim_placement_ranks(placement, rank, axes, all),
                stage = tsim_placement_coordinates(placement, rank).at[TSIM_AXIS_PIPELINE];
        struct tsim_collective_request request = tsim_step_data_request(plan, stage, n_all, among, is_expert);
        struct tsim_pattern pattern;
        if (!(request.bytes > 0))
            continue;
        request.bytes *= 1 + 0x1p-18 * (double)(tsim_random_mix_of((uint64_t)stage, is_expert, (uint64_t)among) >> 48);
        for (int32_t k = 0; (n = tsim_ranks_among(plan->scenario, among, is_expert, all, n_all, k, ranks)) > 1; k++) {
            tsim_pattern_build(&pattern, loads->topology, ranks, n, &request);
            tsim_pattern_link_bytes(&pattern, loads->data_bytes);
            tsim_pattern_release(&pattern);
        }
    }
}

/* This says what each link of a run carries, from `first` on. */
struct load {
    double bytes;
    int32_t first;
};

static int by_bytes(const void *a, const void *b) {
    const struct load *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : x->first - y->first;
}

/* Numbers the loads: sums of the same bytes in another order have the same number. */
static void number_loads(struct loads *loads) {
    int32_t n = loads->topology->n_links;
    const double *bytes = loads->data_bytes;
    struct load *sorted = TSIM_NEW_ARRAY(&loads->arena, (size_t)n, struct load);
    size_t n_runs = 0;
    for (int32_t link = 0; link < n; link++)
        if (link == 0 || bytes[link] < bytes[link - 1] || bytes[link] > bytes[link - 1])
            sorted[n_runs++] = (struct load){bytes[link], link};
    qsort(sorted, n_runs, sizeof *sorted, by_bytes);
    for (size_t i = 0, number = 0; i < n_runs; i++) {
        number += i > 0 && sorted[i].bytes - sorted[i - 1].bytes > SAME_FRAC * sorted[i].bytes;
        for (int32_t link = sorted[i].first;
             link < n && !(bytes[link] < sorted[i].bytes || bytes[link] > sorted[i].bytes); link++)
            loads->data_loads[link] = (int32_t)number;
    }
}

/* Gives replicas different kinds that are of different kinds already, or that meet different traffic: other messages,
 * or links of another sort. Returns the number of kinds. */
static int32_t tell_apart(struct loads *loads, int32_t *kinds) {
    int32_t n = loads->placement->size[TSIM_AXIS_DATA], n_kinds = 0;
    uint64_t *met = TSIM_NEW_ARRAY(&loads->arena, (size_t)n, uint64_t);
    memset(loads->carried, 0, (size_t)loads->topology->n_links * sizeof *loads->carried);
    for (size_t i = 0, k = 0; i < loads->n_messages; i++) {
        const struct message *message = &loads->messages[i];
        uint64_t number =
            tsim_random_mix_of((uint64_t)message->first_rank, message->what, (uint64_t)kinds[message->place]);
        for (; k < message->end; k++)
            loads->carried[loads->crossed[k]] += number;
    }
    for (int32_t place = 0; place < n; place++)
        met[place] = (uint64_t)kinds[place];
    for (size_t i = 0, k = 0; i < loads->n_messages; i++) {
        const struct message *message = &loads->messages[i];
        uint64_t *of = &met[message->place];
        *of = tsim_random_mix_of(*of, message->what, message->sorts);
        for (; k < message->end; k++) {
            int32_t link = loads->crossed[k];
            *of = tsim_random_mix_of(*of, loads->carried[link], (uint64_t)loads->data_loads[link]);
        }
    }
    for (int32_t place = 0; place < n; place++) {
        int32_t first = 0;
        while (met[first] != met[place])
            first++;
        kinds[place] = first == place ? n_kinds++ : kinds[first];
    }
    return n_kinds;
}

/* Returns for how many links each link of a torus stands, itself included: the first of those that the same messages
 * cross, so that the demands of all replicas on it are those on each of the others. */
static const int32_t *find_standing_links(struct tsim_arena *arena, struct loads *loads) {
    int32_t n = loads->topology->n_links, *stands = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    uint64_t *what = TSIM_NEW_ARRAY(&loads->arena, (size_t)n, uint64_t);
    for (int32_t i = 0; i < n; i++) /* at the ends of a dimension that is no ring there are no links */
        what[i] =
            tsim_random_mix_of(loads->carried[i], (uint64_t)loads->data_loads[i], loads->topology->bytes_per_s[i] > 0);
    const int32_t *first = tsim_first_alike(&loads->arena, &loads->arena, what, n);
    for (int32_t i = 0; i < n; i++)
        stands[first[i]]++;
    return stands;
}

/* Returns whether every switch, socket and NIC of a node has equally many ranks. */
static bool nodes_are_even(const struct tsim_cluster *cluster) {
    int64_t ranks = cluster->accelerators_per_node, per_switch = cluster->node->accelerators_per_switch,
            per_socket = cluster->node->accelerators_per_socket;
    return nics_are_alike(cluster, false) && (per_switch == 0 || ranks % per_switch == 0) &&
           (per_socket == 0 || ranks % per_socket == 0);
}

/* Copies meet those of other replicas behind the same switch, and what these send through the same NIC. */
static bool may_copy(const struct tsim_scenario *scenario) {
    return scenario->cluster.node->host_link_bytes_per_s > 0 &&
           (scenario->data.transfer_bytes > 0 || scenario->training.offload.optimizer ||
            scenario->training.offload.activations_frac > 0 || tsim_streams_weights(scenario));
}

static bool nodes_are_alike(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster) {
    bool is_torus = cluster->torus_shape[0] > 0, /* its links are not NICs */
        has_own_nics = is_torus || tsim_nics_per_node(cluster) == cluster->accelerators_per_node,
         has_others = tsim_has_slow_accelerators(scenario) || scenario->cluster.n_background > 0;
    return (is_torus || nodes_are_even(cluster)) && (has_own_nics || !has_others) &&
           (!may_copy(scenario) || (has_own_nics && cluster->node->accelerators_per_switch == 0));
}

/* Finds the replicas that stand for others; returns false if all must be simulated. Replicas of one kind stay in step
 * if each message of one meets as many messages of each kind as that of any other. So kinds are told apart by what they
 * meet, until these kinds are told apart no further (the coarsest equitable partition, by colour refinement). */
static bool find_kinds(struct tsim_arena *arena, const struct tsim_placement *placement,
                       const struct tsim_step_plan *plan, struct tsim_stand_ins *stand_ins) {
    int32_t n = placement->size[TSIM_AXIS_DATA], n_kinds = stand_ins->n, n_before = 0;
    if (n == 1 || !nodes_are_alike(plan->scenario, plan->cluster))
        return false;
    int32_t *kinds = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    memcpy(kinds, stand_ins->of, (size_t)n * sizeof *kinds);
    struct loads loads = {.placement = placement};
    tsim_arena_init(&loads.arena);
    loads.topology = tsim_topology_build(&loads.arena, plan->scenario, plan->cluster);
    size_t n_links = (size_t)loads.topology->n_links;
    loads.carried = TSIM_NEW_ARRAY(&loads.arena, n_links, uint64_t);
    loads.data_bytes = TSIM_NEW_ARRAY(&loads.arena, n_links, double);
    loads.data_loads = TSIM_NEW_ARRAY(&loads.arena, n_links, int32_t);
    for (int i = 0; i < 2 * TSIM_N_AMONG && plan->has_data_group; i++)
        add_data_collectives(&loads, plan, (enum tsim_among)(i / 2), i % 2);
    number_loads(&loads);
    find_short_links(&loads);
    add_edges(&loads);
    if (loads.topology->count[TSIM_LINK_TORUS] > 0)
        add_boxes(&loads);
    while (n_kinds > n_before && n_kinds < n) {
        n_before = n_kinds;
        n_kinds = tell_apart(&loads, kinds);
    }
    *stand_ins = tsim_stand_ins_of(arena, kinds, n);
    if (plan->cluster->torus_shape[0] > 0)
        stand_ins->links = find_standing_links(arena, &loads);
    tsim_heap_free(loads.messages);
    tsim_heap_free(loads.crossed);
    tsim_arena_release(&loads.arena);
    return n_kinds < n;
}

/* ---- which ---- */

static bool stages_fold(const struct tsim_cluster *cluster, const struct tsim_placement *placement, bool has_slow) {
    bool has_stages = placement->size[TSIM_AXIS_PIPELINE] > 1;
    if (cluster->torus_shape[0] > 0)
        return boxes_are_alike(cluster, placement, has_stages);
    if (cluster->node->accelerators_per_switch > 0 || cluster->node->accelerators_per_socket > 0)
        return placement->n_ranks == 1; /* collectives meet on uplinks and between sockets */
    return nics_are_alike(cluster, has_stages || has_slow) && (!has_stages || messages_are_alike(cluster, placement));
}

/* One replica's links say nothing of the others' where routes are hashed. On tori and on nodes alone, replicas that are
 * slower, and other jobs, meet the rest at other times. On nodes alone a sum of whole gradients, which may run on a
 * tree, loads the uplinks of a node by its place in that. */
static bool replicas_may_fold(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                              bool has_tiers) {
    if (has_tiers)
        return scenario->cluster.fabric->routing == TSIM_ROUTING_ADAPTIVE;
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    bool has_rings = cluster->nodes == 1 ||
                     (p->zero > 0 && p->zero_group_ranks == p->data * p->context && tsim_workers_apart(p) <= 1);
    bool has_others = tsim_has_slow_accelerators(scenario) || scenario->cluster.n_background > 0;
    return !has_others && (has_rings || cluster->torus_shape[0] > 0);
}

static enum tsim_folding find_folding(struct tsim_arena *arena, const struct tsim_placement *placement,
                                      const struct tsim_step_plan *plan, struct tsim_stand_ins *stand_ins) {
    const struct tsim_scenario *sc = plan->scenario;
    const struct tsim_fabric *fabric = sc->cluster.fabric;
    bool has_tiers =
        fabric && (fabric->topology == TSIM_TOPOLOGY_FAT_TREE || fabric->topology == TSIM_TOPOLOGY_DRAGONFLY);
    *stand_ins = tsim_stand_ins_by_speed(arena, sc, placement);
    if (sc->simulation.fold && !has_tiers && stages_fold(plan->cluster, placement, tsim_has_slow_accelerators(sc)))
        return TSIM_FOLD_STAGES;
    if (sc->simulation.fold && replicas_may_fold(sc, plan->cluster, has_tiers) &&
        find_kinds(arena, placement, plan, stand_ins))
        return TSIM_FOLD_REPLICAS;
    *stand_ins = tsim_stand_ins_all(arena, placement);
    return TSIM_FOLD_NONE;
}

void tsim_fold(struct tsim_arena *arena, const struct tsim_placement *placement, struct tsim_step_plan *plan) {
    plan->folding = find_folding(arena, placement, plan, &plan->stand_ins);
    plan->n_exchanging = placement->size[TSIM_AXIS_EXPERT];
    bool are_alike = plan->folding == TSIM_FOLD_STAGES && !tsim_has_slow_accelerators(plan->scenario);
    plan->n_replicas = are_alike ? 1 : plan->stand_ins.n * plan->n_exchanging;
}
