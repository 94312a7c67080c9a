#include "cluster/topology.h"

#include <math.h>
#include <string.h>

/* Edges of the hybrid cube mesh: the double ones make one Hamiltonian cycle, 0-3-2-1-5-6-7-4, the single ones another,
 * 0-1-3-7-5-4-6-2; so its six rings (both ways around the first twice, around the second once) use every link. */
int32_t tsim_cube_mesh_links(int32_t a, int32_t b) {
    static const int8_t LINKS[TSIM_CUBE][TSIM_CUBE] = {
        {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
        {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
    return LINKS[a][b];
}

struct cycle_search {
    int32_t n, members[TSIM_CUBE];
    int8_t rest[TSIM_CUBE][TSIM_CUBE]; /* links that no cycle has yet */
    int32_t n_cycles, cycles[TSIM_CUBE_RINGS / 2][TSIM_CUBE];
    int32_t n_best, best[TSIM_CUBE_RINGS / 2][TSIM_CUBE];
    int32_t bound; /* each cycle takes two links of a member */
};

static void find_cycles(struct cycle_search *s);

/* Lengthens the cycle at hand by each member that its last one has a link to. Each cycle comes once: its second member
 * is lower than its last. */
static void lengthen_cycle(struct cycle_search *s, uint32_t seen, int32_t length) {
    int32_t *cycle = s->cycles[s->n_cycles], last = cycle[length - 1];
    if (length == s->n) {
        if (s->rest[last][cycle[0]] == 0 || cycle[1] > last)
            return;
        int8_t before[TSIM_CUBE][TSIM_CUBE];
        memcpy(before, s->rest, sizeof before);
        for (int32_t i = 0; i < s->n; i++) {
            int32_t a = cycle[i], b = cycle[(i + 1) % s->n];
            s->rest[a][b]--;
            s->rest[b][a]--;
        }
        s->n_cycles++;
        find_cycles(s);
        s->n_cycles--;
        memcpy(s->rest, before, sizeof before);
        return;
    }
    for (int32_t i = 1; i < s->n && s->n_best < s->bound; i++) {
        int32_t member = s->members[i];
        if (seen >> member & 1 || s->rest[last][member] == 0)
            continue;
        cycle[length] = member;
        lengthen_cycle(s, seen | 1u << member, length + 1);
    }
}

static void find_cycles(struct cycle_search *s) {
    if (s->n_cycles > s->n_best) {
        s->n_best = s->n_cycles;
        memcpy(s->best, s->cycles, sizeof s->best);
    }
    if (s->n_best == s->bound)
        return;
    s->cycles[s->n_cycles][0] = s->members[0];
    lengthen_cycle(s, 1u << s->members[0], 1);
}

int32_t tsim_cube_mesh_rings(uint32_t members, int8_t next[TSIM_CUBE_RINGS][TSIM_CUBE]) {
    struct cycle_search s = {.bound = TSIM_CUBE_RINGS / 2};
    for (int32_t a = 0; a < TSIM_CUBE; a++) {
        int32_t links = 0;
        if (!(members >> a & 1))
            continue;
        s.members[s.n++] = a;
        for (int32_t b = 0; b < TSIM_CUBE; b++)
            links += s.rest[a][b] = (int8_t)(members >> b & 1 ? tsim_cube_mesh_links(a, b) : 0);
        s.bound = links / 2 < s.bound ? links / 2 : s.bound;
    }
    TSIM_ASSERT(s.n >= 2);
    int32_t n_rings = s.n == 2 ? tsim_cube_mesh_links(s.members[0], s.members[1]) : 0;
    if (s.n > 2) {
        find_cycles(&s);
        n_rings = 2 * s.n_best;
    }
    bool is_found = n_rings > 0 && s.n > 2;
    n_rings = n_rings > 0 ? n_rings : 1;
    for (int32_t r = 0; r < n_rings; r++)
        for (int32_t i = 0; i < s.n; i++) {
            const int32_t *order = is_found ? s.best[r / 2] : s.members;
            next[r][order[i]] = (int8_t)order[(i + (r % 2 ? s.n - 1 : 1)) % s.n];
        }
    return n_rings;
}

int32_t tsim_cube_mesh_part_rings(int32_t n, int32_t stride) {
    static const int8_t RINGS[TSIM_CUBE + 1][TSIM_CUBE] = {
        [2] = {0, 1, 1, 1, 1, 1, 1, 1}, [3] = {0, 1, 1, 1}, [4] = {0, 4, 2}, [5] = {0, 1}, [6] = {0, 2}, [7] = {0, 4},
        [8] = {0, TSIM_CUBE_RINGS}};
    TSIM_ASSERT(n >= 2 && n <= TSIM_CUBE && stride >= 1 && (n - 1) * stride < TSIM_CUBE);
    return RINGS[n][stride];
}

double tsim_cube_mesh_exchange_links(int32_t n, int32_t stride) {
    /* Half the messages that the busiest link carries, by its width. */
    static const int8_t HALVES[TSIM_CUBE + 1][TSIM_CUBE] = {[2] = {0, 2, 2, 2, 2, 2, 2, 1},
                                                            [3] = {0, 2, 4, 4},
                                                            [4] = {0, 2, 6},
                                                            [5] = {0, 4},
                                                            [6] = {0, 6},
                                                            [7] = {0, 6},
                                                            [8] = {0, 6}};
    TSIM_ASSERT(n >= 2 && n <= TSIM_CUBE && stride >= 1 && (n - 1) * stride < TSIM_CUBE);
    return 2.0 * (n - 1) / HALVES[n][stride];
}

static bool is_torus(const struct tsim_topology *t) {
    return t->count[TSIM_LINK_TORUS] > 0;
}

/* ---- building ---- */

static void add_links(struct tsim_topology *t, enum tsim_link_kind kind, int64_t count) {
    TSIM_ASSERT(count >= 0 && t->n_links + count < INT32_MAX);
    t->first[kind] = t->n_links;
    t->count[kind] = (int32_t)count;
    t->n_links += (int32_t)count;
}

static void plan_node(struct tsim_topology *t) {
    const struct tsim_node *node = t->cluster->node;
    int64_t g = t->ranks_per_node, nodes = t->cluster->nodes;
    if (g < 2)
        return;
    if (node->scale_up == TSIM_SCALE_UP_MESH || node->scale_up == TSIM_SCALE_UP_CUBE_MESH) {
        add_links(t, TSIM_LINK_PAIR, nodes * g * g);
        return;
    }
    add_links(t, TSIM_LINK_OUT, t->n_ranks);
    add_links(t, TSIM_LINK_IN, t->n_ranks);
    if (node->scale_up != TSIM_SCALE_UP_PCIE)
        return;
    t->per_switch = (int32_t)node->accelerators_per_switch;
    t->per_socket = (int32_t)node->accelerators_per_socket;
    if (t->per_switch > 0) {
        int64_t switches = (g + t->per_switch - 1) / t->per_switch;
        add_links(t, TSIM_LINK_SWITCH_UP, nodes * switches);
        add_links(t, TSIM_LINK_SWITCH_DOWN, nodes * switches);
    }
    if (t->per_socket > 0) {
        int64_t sockets = (g + t->per_socket - 1) / t->per_socket;
        add_links(t, TSIM_LINK_SOCKET, nodes * sockets * sockets);
    }
}

static void plan_fat_tree(struct tsim_topology *t) {
    const struct tsim_fabric *fabric = t->cluster->fabric;
    int64_t nodes = t->cluster->nodes, n_up = 0;
    double oversubscription = 1;
    t->n_tiers = (int32_t)(fabric->n_tiers < TSIM_MAX_TIERS ? fabric->n_tiers : TSIM_MAX_TIERS);
    for (int32_t i = 0; i < t->n_tiers; i++) {
        struct tsim_topology_tier *tier = &t->tiers[i];
        bool is_rail = fabric->rails && i == 0;
        tier->ports = fabric->tiers[i].ports;
        int64_t ends = is_rail ? nodes : nodes * t->ports_per_node;
        tier->n_groups = (int32_t)((ends + tier->ports - 1) / tier->ports * (is_rail ? t->ports_per_node : 1));
        oversubscription *= fabric->tiers[i].oversubscription;
        double uplinks = fmax(1, floor((double)tier->ports / oversubscription));
        tier->n_uplinks = fabric->routing == TSIM_ROUTING_ADAPTIVE ? 1 : (int32_t)uplinks;
        t->first_up[i] = (int32_t)n_up;
        n_up += (int64_t)tier->n_groups * tier->n_uplinks;
    }
    add_links(t, TSIM_LINK_TIER_UP, n_up);
    add_links(t, TSIM_LINK_TIER_DOWN, n_up);
    for (int32_t i = 0; i < t->n_tiers; i++) {
        t->first_down[i] = t->first[TSIM_LINK_TIER_DOWN] + t->first_up[i];
        t->first_up[i] += t->first[TSIM_LINK_TIER_UP];
    }
}

/* A message may take any of a router's or a group's links: all links out are one pool, and all links in another. */
static void plan_pools(struct tsim_topology *t) {
    if (t->groups * t->routers > 1)
        add_links(t, TSIM_LINK_LOCAL, (int64_t)t->groups * t->routers * 2);
    if (t->groups > 1)
        add_links(t, TSIM_LINK_GLOBAL, (int64_t)t->groups * 2);
}

static void plan_dragonfly(struct tsim_topology *t) {
    const struct tsim_fabric *fabric = t->cluster->fabric;
    int64_t ports = t->cluster->nodes * t->ports_per_node;
    int64_t all_routers = (ports + fabric->dragonfly_ports - 1) / fabric->dragonfly_ports;
    t->routers = (int32_t)(all_routers < fabric->dragonfly_routers ? all_routers : fabric->dragonfly_routers);
    t->groups = (int32_t)((all_routers + t->routers - 1) / t->routers);
    t->is_pooled = fabric->routing == TSIM_ROUTING_ADAPTIVE;
    if (t->is_pooled) {
        plan_pools(t);
        return;
    }
    add_links(t, TSIM_LINK_LOCAL, (int64_t)t->groups * t->routers * t->routers);
    if (t->groups < 2)
        return;
    int64_t per_pair = fabric->dragonfly_global_links * t->routers / (t->groups - 1);
    t->global_per_pair = per_pair < 1 ? 1 : (int32_t)per_pair;
    add_links(t, TSIM_LINK_GLOBAL, (int64_t)t->groups * t->groups * t->global_per_pair);
}

static int32_t ports_per_node(const struct tsim_cluster *cluster) {
    return (int32_t)lround(fmax(1, cluster->nics_per_accelerator * (double)cluster->accelerators_per_node));
}

int32_t tsim_nics_per_node(const struct tsim_cluster *cluster) {
    int32_t ports = ports_per_node(cluster), ranks = (int32_t)cluster->accelerators_per_node;
    return ports < ranks ? ports : ranks;
}

static void plan_fabric(struct tsim_topology *t) {
    const struct tsim_cluster *cluster = t->cluster;
    if (cluster->nodes < 2)
        return;
    t->ports_per_node = ports_per_node(cluster);
    t->nics_per_node = tsim_nics_per_node(cluster);
    add_links(t, TSIM_LINK_NIC_OUT, cluster->nodes * t->nics_per_node);
    add_links(t, TSIM_LINK_NIC_IN, cluster->nodes * t->nics_per_node);
    if (cluster->fabric->topology == TSIM_TOPOLOGY_FAT_TREE)
        plan_fat_tree(t);
    if (cluster->fabric->topology == TSIM_TOPOLOGY_DRAGONFLY)
        plan_dragonfly(t);
}

static void plan_torus(struct tsim_topology *t) {
    memcpy(t->shape, t->cluster->torus_shape, sizeof t->shape);
    memcpy(t->wraps, t->cluster->torus_wraps, sizeof t->wraps);
    add_links(t, TSIM_LINK_TORUS, (int64_t)t->n_ranks * 6);
}

static const uint8_t *new_sorts(struct tsim_arena *arena, const struct tsim_topology *t) {
    uint8_t *sorts = TSIM_NEW_ARRAY(arena, (size_t)t->n_links, uint8_t);
    for (int kind = 0; kind < TSIM_N_LINK_KINDS; kind++)
        memset(sorts + t->first[kind], kind, (size_t)t->count[kind]);
    for (int32_t i = 0; i < t->n_tiers; i++) {
        size_t n = (size_t)t->tiers[i].n_groups * (size_t)t->tiers[i].n_uplinks;
        memset(sorts + t->first_up[i], TSIM_N_LINK_KINDS + 2 * i, n);
        memset(sorts + t->first_down[i], TSIM_N_LINK_KINDS + 2 * i + 1, n);
    }
    return sorts;
}

/* ---- capacities ---- */

static double link_rate(const struct tsim_cluster *cluster) {
    return cluster->fabric->link_bytes_per_s * cluster->fabric->efficiency_frac;
}

static void fill(const struct tsim_topology *t, enum tsim_link_kind kind, double *rates, double rate) {
    for (int32_t i = 0; i < t->count[kind]; i++)
        rates[t->first[kind] + i] = rate;
}

static void fill_cube_mesh(const struct tsim_topology *t, double *rates) {
    double link = t->cluster->scale_up_bytes_per_s / 6;
    int32_t g = t->ranks_per_node;
    for (int32_t i = 0; i < t->count[TSIM_LINK_PAIR]; i++)
        rates[t->first[TSIM_LINK_PAIR] + i] = link * tsim_cube_mesh_links(i / g % g, i % g);
}

static void fill_tiers(const struct tsim_topology *t, double *rates) {
    double oversubscription = 1;
    for (int32_t i = 0; i < t->n_tiers; i++) {
        const struct tsim_topology_tier *tier = &t->tiers[i];
        oversubscription *= t->cluster->fabric->tiers[i].oversubscription;
        double rate = link_rate(t->cluster) * (double)tier->ports / oversubscription / tier->n_uplinks;
        for (int32_t j = 0; j < tier->n_groups * tier->n_uplinks; j++)
            rates[t->first_up[i] + j] = rates[t->first_down[i] + j] = rate;
    }
}

static void fill_dragonfly(const struct tsim_topology *t, double *rates) {
    const struct tsim_fabric *fabric = t->cluster->fabric;
    double local =
        (double)(fabric->dragonfly_local_links > 0 ? fabric->dragonfly_local_links : fabric->dragonfly_routers - 1);
    double global = (double)fabric->dragonfly_global_links * t->routers, rate = link_rate(t->cluster);
    if (t->is_pooled) {
        fill(t, TSIM_LINK_LOCAL, rates, rate * local / (t->routers > 2 ? 2 : 1));
        fill(t, TSIM_LINK_GLOBAL, rates, rate * global);
        return;
    }
    fill(t, TSIM_LINK_LOCAL, rates, rate * local / fmax(t->routers - 1, 1));
    if (t->groups > 1) /* if there are fewer links than pairs of groups, each pair has a part of one */
        fill(t, TSIM_LINK_GLOBAL, rates, rate * fmin(1, global / (t->groups - 1)));
}

static void fill_rates(const struct tsim_topology *t, double *rates) {
    const struct tsim_cluster *cluster = t->cluster;
    const struct tsim_node *node = cluster->node;
    if (is_torus(t)) {
        fill(t, TSIM_LINK_TORUS, rates, link_rate(cluster));
        return;
    }
    fill(t, TSIM_LINK_OUT, rates, cluster->scale_up_bytes_per_s);
    fill(t, TSIM_LINK_IN, rates, cluster->scale_up_bytes_per_s);
    fill(t, TSIM_LINK_PAIR, rates, cluster->pair_bytes_per_s);
    if (node->scale_up == TSIM_SCALE_UP_CUBE_MESH)
        fill_cube_mesh(t, rates);
    fill(t, TSIM_LINK_SWITCH_UP, rates, node->switch_uplink_bytes_per_s);
    fill(t, TSIM_LINK_SWITCH_DOWN, rates, node->switch_uplink_bytes_per_s);
    fill(t, TSIM_LINK_SOCKET, rates, node->socket_link_bytes_per_s);
    if (t->nics_per_node == 0)
        return;
    double nic = cluster->nic_bytes_per_s * t->ranks_per_node / t->nics_per_node;
    fill(t, TSIM_LINK_NIC_OUT, rates, nic);
    fill(t, TSIM_LINK_NIC_IN, rates, nic);
    fill_tiers(t, rates);
    if (t->groups > 0)
        fill_dragonfly(t, rates);
}

static void slow_down(const struct tsim_topology *t, enum tsim_link_kind kind, int64_t at, double frac, double *rates) {
    if (at < t->count[kind])
        rates[t->first[kind] + at] *= frac;
}

/* Slows the links of one accelerator of a node, or of all: a link between two of them once. */
static void degrade_scale_up(const struct tsim_topology *t, const struct tsim_degraded *d, double *rates) {
    const int64_t g = t->ranks_per_node, first = d->node * g;
    for (int64_t from = 0; from < g; from++) {
        bool is_it = d->index < 0 || d->index == from;
        for (int64_t to = 0; to < g; to++)
            if (is_it || d->index == to)
                slow_down(t, TSIM_LINK_PAIR, (first + from) * g + to, d->rate_frac, rates);
        if (!is_it)
            continue;
        slow_down(t, TSIM_LINK_OUT, first + from, d->rate_frac, rates);
        slow_down(t, TSIM_LINK_IN, first + from, d->rate_frac, rates);
        for (int64_t i = 0; i < 6 && is_torus(t); i++)
            slow_down(t, TSIM_LINK_TORUS, (int64_t)tsim_torus_place(t->cluster, (int32_t)(first + from)) * 6 + i,
                      d->rate_frac, rates);
    }
}

static void degrade(const struct tsim_topology *t, const struct tsim_degraded *d, double *rates) {
    if (d->link == TSIM_DEGRADED_ACCELERATOR)
        return;
    if (d->link == TSIM_DEGRADED_FABRIC) {
        const struct tsim_topology_tier *tier = &t->tiers[d->tier];
        for (int64_t i = 0; i < tier->n_uplinks && d->group < tier->n_groups; i++) {
            rates[t->first_up[d->tier] + d->group * tier->n_uplinks + i] *= d->rate_frac;
            rates[t->first_down[d->tier] + d->group * tier->n_uplinks + i] *= d->rate_frac;
        }
    } else if (d->link == TSIM_DEGRADED_SCALE_UP) {
        degrade_scale_up(t, d, rates);
    } else {
        /* several ports that are one link here lose what one of them loses */
        int64_t bundle = t->nics_per_node > 0 ? t->ports_per_node / t->nics_per_node : 1;
        for (int64_t nic = 0; nic < t->nics_per_node; nic++)
            if (d->index < 0 || d->index / bundle == nic) {
                double frac = d->index < 0 ? d->rate_frac : 1 - (1 - d->rate_frac) / (double)bundle;
                slow_down(t, TSIM_LINK_NIC_OUT, d->node * t->nics_per_node + nic, frac, rates);
                slow_down(t, TSIM_LINK_NIC_IN, d->node * t->nics_per_node + nic, frac, rates);
            }
    }
}

const struct tsim_topology *tsim_topology_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                const struct tsim_cluster *cluster) {
    struct tsim_topology *t = TSIM_NEW(arena, struct tsim_topology);
    t->cluster = cluster;
    t->ranks_per_node = (int32_t)cluster->accelerators_per_node;
    t->n_ranks = (int32_t)(cluster->nodes * cluster->accelerators_per_node);
    t->seed = (uint64_t)scenario->simulation.seed;
    if (cluster->torus_shape[0] > 0) {
        plan_torus(t);
    } else {
        plan_node(t);
        plan_fabric(t);
    }
    double *rates = TSIM_NEW_ARRAY(arena, (size_t)t->n_links, double);
    fill_rates(t, rates);
    for (size_t i = 0; i < scenario->cluster.n_degraded; i++)
        degrade(t, &scenario->cluster.degraded[i], rates);
    t->bytes_per_s = rates;
    t->sorts = new_sorts(arena, t);
    return t;
}

/* ---- routes ---- */

static void cross(struct tsim_route *route, int32_t link) {
    TSIM_ASSERT(route->n < TSIM_ROUTE_MAX);
    route->links[route->n++] = link;
}

/* Returns splitmix64 (Steele, Lea, Flood 2014) of both ports, the tier and the seed. */
static uint64_t hash_pair(const struct tsim_topology *t, int32_t from, int32_t to, int32_t tier) {
    uint64_t z = t->seed + ((uint64_t)(uint32_t)from << 32 | (uint32_t)to) * 0x9e3779b97f4a7c15u + (uint64_t)tier;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int32_t pair_link(const struct tsim_topology *t, int32_t from, int32_t to) {
    return t->first[TSIM_LINK_PAIR] + from * t->ranks_per_node + to % t->ranks_per_node;
}

static void route_cube_mesh(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t g = t->ranks_per_node, base = from - from % g, a = from % g, b = to % g, via = -1, widest = 0;
    if (tsim_cube_mesh_links(a, b) > 0) {
        cross(route, pair_link(t, from, to));
        return;
    }
    for (int32_t other = 0; other < g; other++) {
        int32_t first = tsim_cube_mesh_links(a, other), second = tsim_cube_mesh_links(other, b);
        int32_t width = first < second ? first : second;
        if (width > widest) {
            widest = width;
            via = other;
        }
    }
    TSIM_ASSERT(via >= 0);
    cross(route, pair_link(t, from, base + via));
    cross(route, pair_link(t, base + via, to));
}

/* Routes between slots of the PCIe tree. */
static void route_pcie(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t g = t->ranks_per_node, node = from / g, a = from % g, b = to % g;
    int32_t switches = t->per_switch > 0 ? (g + t->per_switch - 1) / t->per_switch : 0;
    bool is_same_switch = t->per_switch > 0 && a / t->per_switch == b / t->per_switch;
    if (switches > 0 && !is_same_switch)
        cross(route, t->first[TSIM_LINK_SWITCH_UP] + node * switches + a / t->per_switch);
    if (t->per_socket > 0 && a / t->per_socket != b / t->per_socket) {
        int32_t sockets = (g + t->per_socket - 1) / t->per_socket;
        cross(route, t->first[TSIM_LINK_SOCKET] + (node * sockets + a / t->per_socket) * sockets + b / t->per_socket);
    }
    if (switches > 0 && !is_same_switch)
        cross(route, t->first[TSIM_LINK_SWITCH_DOWN] + node * switches + b / t->per_switch);
}

static void route_node(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    if (t->cluster->node->scale_up == TSIM_SCALE_UP_CUBE_MESH) {
        route_cube_mesh(t, from, to, route);
    } else if (t->count[TSIM_LINK_PAIR] > 0) {
        cross(route, pair_link(t, from, to));
    } else {
        cross(route, t->first[TSIM_LINK_OUT] + from);
        if (t->cluster->node->scale_up == TSIM_SCALE_UP_PCIE)
            route_pcie(t, from, to, route);
        cross(route, t->first[TSIM_LINK_IN] + to);
    }
}

int32_t tsim_topology_nic(const struct tsim_topology *topology, int32_t rank) {
    const struct tsim_topology *t = topology;
    int32_t g = t->ranks_per_node;
    return rank / g * t->nics_per_node + (int32_t)((int64_t)(rank % g) * t->nics_per_node / g);
}

/* Returns the physical port of a NIC link, or the first if the link stands for several. */
static int32_t port_of(const struct tsim_topology *t, int32_t nic) {
    int32_t n = t->nics_per_node;
    return nic / n * t->ports_per_node + (int32_t)((int64_t)(nic % n) * t->ports_per_node / n);
}

static int32_t group_of(const struct tsim_topology *t, int32_t tier, int32_t port) {
    if (tier == 0 && t->cluster->fabric->rails) {
        int32_t node = port / t->ports_per_node, rail = port % t->ports_per_node;
        return (int32_t)(node / t->tiers[0].ports) * t->ports_per_node + rail;
    }
    return (int32_t)(port / t->tiers[tier].ports);
}

static void route_fat_tree(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t down[TSIM_MAX_TIERS], top = 0;
    for (; top < t->n_tiers; top++) {
        int32_t a = group_of(t, top, from), b = group_of(t, top, to), n = t->tiers[top].n_uplinks;
        if (a == b)
            break;
        int32_t chosen = n == 1 ? 0 : (int32_t)(hash_pair(t, from, to, top) % (uint64_t)n);
        cross(route, t->first_up[top] + a * n + chosen);
        down[top] = t->first_down[top] + b * n + chosen;
    }
    while (top > 0)
        cross(route, down[--top]);
}

/* Returns the router that holds link j from group `from` to group `to`: a group's global ports go around the other
 * groups. */
static int32_t gateway(const struct tsim_topology *t, int32_t from, int32_t to, int32_t j) {
    int32_t slot = (to - from - 1 + t->groups) % t->groups;
    int64_t port = (int64_t)slot * t->global_per_pair + j;
    return (int32_t)(port / t->cluster->fabric->dragonfly_global_links % t->routers);
}

static void cross_local(const struct tsim_topology *t, int32_t group, int32_t from, int32_t to,
                        struct tsim_route *route) {
    if (from != to)
        cross(route, t->first[TSIM_LINK_LOCAL] + (group * t->routers + from) * t->routers + to);
}

static void route_dragonfly(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t ports = (int32_t)t->cluster->fabric->dragonfly_ports;
    int32_t a = from / ports, b = to / ports, group_a = a / t->routers, group_b = b / t->routers;
    if (t->is_pooled) {
        if (a == b)
            return;
        cross(route, t->first[TSIM_LINK_LOCAL] + 2 * a);
        if (group_a != group_b) {
            cross(route, t->first[TSIM_LINK_GLOBAL] + 2 * group_a);
            cross(route, t->first[TSIM_LINK_GLOBAL] + 2 * group_b + 1);
        }
        cross(route, t->first[TSIM_LINK_LOCAL] + 2 * b + 1);
        return;
    }
    if (group_a == group_b) {
        cross_local(t, group_a, a % t->routers, b % t->routers, route);
        return;
    }
    int32_t j = (int32_t)(hash_pair(t, from, to, 0) % (uint64_t)t->global_per_pair);
    cross_local(t, group_a, a % t->routers, gateway(t, group_a, group_b, j), route);
    cross(route, t->first[TSIM_LINK_GLOBAL] + (group_a * t->groups + group_b) * t->global_per_pair + j);
    cross_local(t, group_b, gateway(t, group_b, group_a, j), b % t->routers, route);
}

static void route_fabric(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t nic_from = tsim_topology_nic(t, from), nic_to = tsim_topology_nic(t, to), n = t->nics_per_node;
    if (t->cluster->fabric->rails && nic_from % n != nic_to % n && n == t->ranks_per_node) {
        int32_t neighbour = from - from % n + nic_to % n; /* on the receiver's rail */
        route_node(t, from, neighbour, route);
        nic_from = tsim_topology_nic(t, neighbour);
    }
    cross(route, t->first[TSIM_LINK_NIC_OUT] + nic_from);
    if (t->n_tiers > 0)
        route_fat_tree(t, port_of(t, nic_from), port_of(t, nic_to), route);
    else if (t->groups > 0)
        route_dragonfly(t, port_of(t, nic_from), port_of(t, nic_to), route);
    cross(route, t->first[TSIM_LINK_NIC_IN] + nic_to);
}

/* Steps along a dimension, positive or negative. */
static int32_t torus_way(const struct tsim_topology *t, int d, int32_t from, int32_t to) {
    int32_t size = t->shape[d], way = to - from;
    if (!t->wraps[d])
        return way;
    int32_t up = (way + size) % size, down = size - up;
    if (up == down)
        return from % 2 == 0 ? up : -down;
    return up < down ? up : -down;
}

static void route_torus(const struct tsim_topology *t, int32_t from, int32_t to, struct tsim_route *route) {
    int32_t stride = 1, at = tsim_torus_place(t->cluster, from);
    to = tsim_torus_place(t->cluster, to);
    for (int d = 0; d < 3; d++) {
        int32_t size = t->shape[d], here = at / stride % size;
        int32_t way = torus_way(t, d, here, to / stride % size), step = way > 0 ? 1 : -1;
        for (int32_t i = 0; i != way; i += step) {
            cross(route, t->first[TSIM_LINK_TORUS] + at * 6 + 2 * d + (step < 0));
            int32_t next = (here + step + size) % size;
            at += (next - here) * stride;
            here = next;
        }
        stride *= size;
    }
}

void tsim_topology_route(const struct tsim_topology *topology, int32_t from, int32_t to, struct tsim_route *route) {
    TSIM_ASSERT(from >= 0 && from < topology->n_ranks && to >= 0 && to < topology->n_ranks);
    route->n = 0;
    if (from == to)
        return;
    if (is_torus(topology))
        route_torus(topology, from, to, route);
    else if (from / topology->ranks_per_node == to / topology->ranks_per_node)
        route_node(topology, from, to, route);
    else
        route_fabric(topology, from, to, route);
}

/* ---- names ---- */

enum tsim_link_kind tsim_topology_link_kind(const struct tsim_topology *topology, int32_t link) {
    int sort = topology->sorts[link];
    if (sort < TSIM_N_LINK_KINDS)
        return (enum tsim_link_kind)sort;
    return (sort - TSIM_N_LINK_KINDS) % 2 == 0 ? TSIM_LINK_TIER_UP : TSIM_LINK_TIER_DOWN;
}

bool tsim_link_is_shared(enum tsim_link_kind kind) {
    switch (kind) {
    case TSIM_LINK_SWITCH_UP:
    case TSIM_LINK_SWITCH_DOWN:
    case TSIM_LINK_SOCKET:
    case TSIM_LINK_TIER_UP:
    case TSIM_LINK_TIER_DOWN:
    case TSIM_LINK_LOCAL:
    case TSIM_LINK_GLOBAL:
    case TSIM_LINK_TORUS:
        return true;
    case TSIM_LINK_OUT:
    case TSIM_LINK_IN:
    case TSIM_LINK_PAIR:
    case TSIM_LINK_NIC_OUT:
    case TSIM_LINK_NIC_IN:
    case TSIM_N_LINK_KINDS:
        break;
    }
    return false;
}

int32_t tsim_topology_link_node(const struct tsim_topology *topology, int32_t link) {
    enum tsim_link_kind kind = tsim_topology_link_kind(topology, link);
    int32_t n_nodes = topology->n_ranks / topology->ranks_per_node;
    return kind > TSIM_LINK_SOCKET ? -1 : (link - topology->first[kind]) / (topology->count[kind] / n_nodes);
}

/* Returns the tier of a fat tree that the link leads up from, or down to; -1: it is another link. */
static int32_t tier_of(const struct tsim_topology *t, int32_t link) {
    int sort = t->sorts[link];
    return sort < TSIM_N_LINK_KINDS ? -1 : (sort - TSIM_N_LINK_KINDS) / 2;
}

double tsim_topology_oversubscription(const struct tsim_topology *topology, int32_t link) {
    double oversubscription = 1;
    for (int32_t i = tier_of(topology, link); i >= 0; i--)
        oversubscription *= topology->cluster->fabric->tiers[i].oversubscription;
    return oversubscription;
}

const char *tsim_link_sort_name(int32_t sort) {
    static const char *const NAMES[TSIM_N_LINK_SORTS] = {
        [TSIM_LINK_OUT] = "scale-up out",
        [TSIM_LINK_IN] = "scale-up in",
        [TSIM_LINK_PAIR] = "scale-up, pairs",
        [TSIM_LINK_SWITCH_UP] = "PCIe switch up",
        [TSIM_LINK_SWITCH_DOWN] = "PCIe switch down",
        [TSIM_LINK_SOCKET] = "socket to socket",
        [TSIM_LINK_NIC_OUT] = "NIC out",
        [TSIM_LINK_NIC_IN] = "NIC in",
        [TSIM_LINK_LOCAL] = "router to router",
        [TSIM_LINK_GLOBAL] = "group to group",
        [TSIM_LINK_TORUS] = "torus",
        [TSIM_N_LINK_KINDS] = "tier 0 up",
        [TSIM_N_LINK_KINDS + 1] = "tier 0 down",
        [TSIM_N_LINK_KINDS + 2] = "tier 1 up",
        [TSIM_N_LINK_KINDS + 3] = "tier 1 down",
        [TSIM_N_LINK_KINDS + 4] = "tier 2 up",
        [TSIM_N_LINK_KINDS + 5] = "tier 2 down",
        [TSIM_N_LINK_KINDS + 6] = "tier 3 up",
        [TSIM_N_LINK_KINDS + 7] = "tier 3 down",
    };
    return NAMES[sort];
}

static void name_tier(const struct tsim_topology *t, enum tsim_link_kind kind, int32_t link, char *text, size_t size) {
    int32_t tier = tier_of(t, link), n = t->tiers[tier].n_uplinks;
    int32_t at = link - (kind == TSIM_LINK_TIER_UP ? t->first_up : t->first_down)[tier];
    const char *way = kind == TSIM_LINK_TIER_UP ? "up" : "down";
    if (n == 1)
        snprintf(text, size, "tier %d, group %d: %s", tier, at, way);
    else
        snprintf(text, size, "tier %d, group %d: %slink %d", tier, at / n, way, at % n);
}

static void name_dragonfly(const struct tsim_topology *t, enum tsim_link_kind kind, int at, char *text, size_t size) {
    int n = t->routers;
    const char *way = at % 2 == 0 ? "out" : "in";
    if (kind == TSIM_LINK_LOCAL && t->is_pooled)
        snprintf(text, size, "group %d: router %d, %s", at / 2 / n, at / 2 % n, way);
    else if (kind == TSIM_LINK_LOCAL)
        snprintf(text, size, "group %d: router %d to %d", at / n / n, at / n % n, at % n);
    else if (t->is_pooled)
        snprintf(text, size, "group %d: to all others, %s", at / 2, way);
    else
        snprintf(text, size, "group %d to %d: link %d", at / t->global_per_pair / t->groups,
                 at / t->global_per_pair % t->groups, at % t->global_per_pair);
}

void tsim_topology_link_name(const struct tsim_topology *topology, int32_t link, char *text, size_t size) {
    const struct tsim_topology *t = topology;
    enum tsim_link_kind kind = tsim_topology_link_kind(t, link);
    int g = t->ranks_per_node;
    int at = link - t->first[kind], n = t->nics_per_node;
    int switches = t->per_switch > 0 ? (g + t->per_switch - 1) / t->per_switch : 1;
    int sockets = t->per_socket > 0 ? (g + t->per_socket - 1) / t->per_socket : 1;
    switch (kind) {
    case TSIM_LINK_OUT:
    case TSIM_LINK_IN:
        snprintf(text, size, "node %d: accelerator %d, %s", at / g, at % g, kind == TSIM_LINK_OUT ? "out" : "in");
        break;
    case TSIM_LINK_PAIR:
        snprintf(text, size, "node %d: accelerator %d to %d", at / g / g, at / g % g, at % g);
        break;
    case TSIM_LINK_SWITCH_UP:
    case TSIM_LINK_SWITCH_DOWN:
        snprintf(text, size, "node %d: PCIe switch %d, %s", at / switches, at % switches,
                 kind == TSIM_LINK_SWITCH_UP ? "up" : "down");
        break;
    case TSIM_LINK_SOCKET:
        snprintf(text, size, "node %d: socket %d to %d", at / sockets / sockets, at / sockets % sockets, at % sockets);
        break;
    case TSIM_LINK_NIC_OUT:
    case TSIM_LINK_NIC_IN:
        snprintf(text, size, "node %d: NIC %d, %s", at / n, at % n, kind == TSIM_LINK_NIC_OUT ? "out" : "in");
        break;
    case TSIM_LINK_TIER_UP:
    case TSIM_LINK_TIER_DOWN:
        name_tier(t, kind, link, text, size);
        break;
    case TSIM_LINK_LOCAL:
    case TSIM_LINK_GLOBAL:
        name_dragonfly(t, kind, at, text, size);
        break;
    case TSIM_LINK_TORUS:
        snprintf(text, size, "(%d, %d, %d): %c%c", at / 6 % t->shape[0], at / 6 / t->shape[0] % t->shape[1],
                 at / 6 / t->shape[0] / t->shape[1], at % 2 == 0 ? '+' : '-', "xyz"[at % 6 / 2]);
        break;
    case TSIM_N_LINK_KINDS:
        TSIM_BUG("link %d has no kind", link);
    }
}
