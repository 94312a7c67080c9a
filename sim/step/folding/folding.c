#include "step/folding/folding.h"

#include "base/random.h"
#include "network/pattern.h"

#include <math.h>

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
    for (int d = 0; d < 3; d++) {
        int32_t size = cluster->torus_shape[d];
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

const bool *tsim_links_that_stand(struct tsim_arena *arena, const struct tsim_topology *topology,
                                  const struct tsim_placement *placement, const struct tsim_stand_ins *stand_ins) {
    bool *stands = TSIM_NEW_ARRAY(arena, (size_t)topology->n_links, bool);
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
                stands[there.links[k]] = true;
            for (int32_t k = 0; k < back.n; k++)
                stands[back.links[k]] = true;
        }
    }
    return stands;
}

/* These two sums tell whether links carry the same. */
struct loads {
    struct tsim_arena arena;
    const struct tsim_topology *topology;
    const struct tsim_placement *placement;
    uint64_t *messages; /* by link: which messages and which steps of rings cross it, whatever the replica */
    double *data_bytes; /* by link: of a collective of every data-parallel group */
};

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

static bool is_there(const struct tsim_placement *placement, int edge) {
    return placement->size[EDGES[edge].axis] > 1;
}

static void route_edge(const struct loads *loads, int32_t rank, int edge, struct tsim_route *route) {
    const struct tsim_placement *placement = loads->placement;
    enum tsim_axis axis = EDGES[edge].axis;
    struct tsim_coordinates to = tsim_placement_coordinates(placement, rank);
    to.at[axis] = (to.at[axis] + EDGES[edge].step + placement->size[axis]) % placement->size[axis];
    tsim_topology_route(loads->topology, rank, tsim_placement_rank(placement, &to), route);
}

/* Returns the rank at the same place of the first replica. */
static int32_t in_first_replica(const struct tsim_placement *placement, int32_t rank) {
    struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
    at.at[TSIM_AXIS_DATA] = 0;
    return tsim_placement_rank(placement, &at);
}

static void add_messages(struct loads *loads) {
    for (int32_t rank = 0; rank < loads->topology->n_ranks; rank++)
        for (int edge = 0; edge < N_EDGES; edge++) {
            struct tsim_route route;
            if (!is_there(loads->placement, edge))
                continue;
            route_edge(loads, rank, edge, &route);
            uint64_t whose = (uint64_t)in_first_replica(loads->placement, rank) * N_EDGES + (uint64_t)edge;
            struct tsim_random mixed;
            tsim_random_init(&mixed, whose, 0, 0);
            uint64_t number = tsim_random_bits(&mixed); /* sums of such numbers are equal if the messages are */
            for (int32_t i = 0; i < route.n; i++)
                loads->messages[route.links[i]] += number;
        }
}

static void add_data_collectives(struct loads *loads) {
    const unsigned axes = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    int32_t n_ranks = loads->topology->n_ranks, *ranks = TSIM_NEW_ARRAY(&loads->arena, (size_t)n_ranks, int32_t);
    for (int32_t rank = 0; rank < n_ranks; rank++) {
        if (!tsim_placement_leads(loads->placement, rank, axes))
            continue;
        int32_t n = tsim_placement_ranks(loads->placement, rank, axes, ranks);
        if (n == 1)
            continue;
        struct tsim_collective_request request = {.op = TSIM_ALL_GATHER, .bytes = 1e8 * n};
        struct tsim_pattern pattern;
        tsim_pattern_build(&pattern, loads->topology, ranks, n, &request);
        tsim_pattern_link_bytes(&pattern, loads->data_bytes);
        tsim_pattern_release(&pattern);
    }
}

/* Returns whether two routes meet the same traffic; links that cannot be short need not be alike. */
static bool meets_the_same(const struct loads *loads, const struct tsim_route *a, const struct tsim_route *b) {
    const struct tsim_topology *t = loads->topology;
    bool is_same = a->n == b->n;
    for (int32_t i = 0; i < a->n && is_same; i++) {
        int32_t x = a->links[i], y = b->links[i], sort = tsim_topology_link_sort(t, x);
        bool is_tier = sort >= TSIM_N_LINK_KINDS;
        is_same = sort == tsim_topology_link_sort(t, y);
        if (!is_tier || tsim_topology_oversubscription(t, x) > 1)
            is_same &= loads->messages[x] == loads->messages[y] &&
                       fabs(loads->data_bytes[x] - loads->data_bytes[y]) <= 1e-9 * loads->data_bytes[x];
    }
    return is_same;
}

/* A replica that is slower than others meets their messages at other times, which does not matter on links that cannot
 * be short. */
static bool may_be_short(const struct tsim_topology *topology, const struct tsim_route *route) {
    bool may = false;
    for (int32_t i = 0; i < route->n; i++)
        may |=
            tsim_topology_oversubscription(topology, route->links[i]) > 1 || is_of_routers(topology, route->links[i]);
    return may;
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

static bool replicas_are_alike(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                               const struct tsim_placement *placement) {
    bool has_slow = tsim_has_slow_accelerators(scenario),
         has_own_nics = tsim_nics_per_node(cluster) == cluster->accelerators_per_node;
    if (placement->size[TSIM_AXIS_DATA] == 1 || !nodes_are_even(cluster) ||
        (!has_own_nics && (has_slow || scenario->cluster.n_background > 0)) ||
        (may_copy(scenario) && (!has_own_nics || cluster->node->accelerators_per_switch > 0)))
        return false;
    struct loads loads = {.placement = placement};
    tsim_arena_init(&loads.arena);
    loads.topology = tsim_topology_build(&loads.arena, scenario, cluster);
    loads.messages = TSIM_NEW_ARRAY(&loads.arena, (size_t)loads.topology->n_links, uint64_t);
    loads.data_bytes = TSIM_NEW_ARRAY(&loads.arena, (size_t)loads.topology->n_links, double);
    add_messages(&loads);
    add_data_collectives(&loads);
    bool are_alike = true;
    for (int32_t rank = 0; rank < placement->n_ranks && are_alike; rank++)
        for (int edge = 0; edge < N_EDGES && are_alike; edge++) {
            struct tsim_route own, its;
            if (!is_there(placement, edge))
                continue;
            route_edge(&loads, rank, edge, &own);
            route_edge(&loads, in_first_replica(placement, rank), edge, &its);
            are_alike = meets_the_same(&loads, &own, &its) && !(has_slow && may_be_short(loads.topology, &own));
        }
    tsim_arena_release(&loads.arena);
    return are_alike;
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

/* One replica's links say nothing of the others' where routes are hashed, nor on a torus, whose links carry what others
 * send each other. On nodes alone, replicas that are slower, and other jobs, meet the rest on uplinks at other times,
 * and a sum of whole gradients, which may run on a tree, loads the uplinks of a node by its place in that. */
static bool replicas_may_fold(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                              bool has_tiers) {
    if (has_tiers)
        return scenario->cluster.fabric->routing == TSIM_ROUTING_ADAPTIVE;
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    bool has_rings = cluster->nodes == 1 ||
                     (p->zero > 0 && p->zero_group_ranks == p->data * p->context && tsim_workers_apart(p) <= 1);
    return cluster->torus_shape[0] == 0 && scenario->cluster.n_background == 0 &&
           !tsim_has_slow_accelerators(scenario) && has_rings;
}

enum tsim_folding tsim_folding_of(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                                  const struct tsim_placement *placement) {
    const struct tsim_fabric *fabric = scenario->cluster.fabric;
    bool has_tiers =
        fabric && (fabric->topology == TSIM_TOPOLOGY_FAT_TREE || fabric->topology == TSIM_TOPOLOGY_DRAGONFLY);
    if (!scenario->simulation.fold)
        return TSIM_FOLD_NONE;
    if (!has_tiers && stages_fold(cluster, placement, tsim_has_slow_accelerators(scenario)))
        return TSIM_FOLD_STAGES;
    return replicas_may_fold(scenario, cluster, has_tiers) && replicas_are_alike(scenario, cluster, placement)
               ? TSIM_FOLD_REPLICAS
               : TSIM_FOLD_NONE;
}
