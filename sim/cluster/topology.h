/* topology.h - every link of a cluster, and which of them a message crosses. Const once built.
 *
 * A link is one direction of a wire, or of several that are used as one, with what long transfers reach on it in
 * bytes/s (cluster.h). Ranks are accelerators, node after node.
 *
 * On a node
 *   switch     a port out and a port in for each accelerator; the switches between them do not block.
 *   mesh       a link for each ordered pair.
 *   cube mesh  DGX-1V: 8 accelerators, 6 links each, to four neighbours (nvidia-smi topo -m; NVIDIA DGX-1 white paper
 *              WP-08437, figure 4). The others are reached through a neighbour of both, that with
 *              the wider way, else the lower (NCCL's NVB paths, src/graph/paths.cc).
 *   PCIe       slot, switch uplink (shared), link between sockets, switch downlink, slot.
 * Between nodes, from and to the NICs (an accelerator uses its own, or shares the nearest):
 *   crossbar   nothing in between.
 *   fat tree   every tier's groups have uplinks; a message climbs to the first tier at which both ends are in one
 *              group. Which of the equal uplinks it takes is a hash of its two ports and the seed (ECMP), and the way
 *              down is its mirror image; with adaptive routing the uplinks of a group are one. On rails the lowest
 *              tier's groups are the k-th ports of many nodes, and a message to another rail first goes to its
 *              neighbour on that rail (NCCL's PXN).
 *   dragonfly  local links between all routers of a group, global links between groups, minimal routes of at most
 *              local - global - local (Kim, Dally, Scott, Abts 2008); parallel global links by hash. The smallest that
 *              has the ports: a group has no more routers than these need, and their local links join those. With
 *              adaptive routing the local links of a router are one, of which a message takes two, the second for the
 *              router by way of which it goes (one where there are but two routers); those of a group to others are
 *              one.
 *   torus      six (four) links at each accelerator, in place of both NICs and scale-up links; dimension after
 *              dimension, the short way around, at equal length by the parity of the sender's coordinate. */
#pragma once

#include "cluster/cluster.h"

enum tsim_link_kind {
    TSIM_LINK_OUT, /* of an accelerator: its port to the switch, or its PCIe slot */
    TSIM_LINK_IN,
    TSIM_LINK_PAIR, /* from one accelerator of a node to another: mesh, cube mesh */
    TSIM_LINK_SWITCH_UP,
    TSIM_LINK_SWITCH_DOWN, /* of a PCIe switch */
    TSIM_LINK_SOCKET,      /* between two sockets */
    TSIM_LINK_NIC_OUT,
    TSIM_LINK_NIC_IN,
    TSIM_LINK_TIER_UP, /* of a group of a fat tree's tier */
    TSIM_LINK_TIER_DOWN,
    TSIM_LINK_LOCAL,  /* between routers of a group of a dragonfly */
    TSIM_LINK_GLOBAL, /* between groups of a dragonfly */
    TSIM_LINK_TORUS,
    TSIM_N_LINK_KINDS
};

enum { TSIM_MAX_TIERS = 4, TSIM_ROUTE_MAX = 96, TSIM_CUBE = 8 };

struct tsim_route {
    int32_t n; /* 0: the message stays on its rank */
    int32_t links[TSIM_ROUTE_MAX];
};

struct tsim_topology_tier {
    int32_t n_groups, n_uplinks; /* uplinks are those of each group */
    int64_t ports;               /* a group's; on rails of the lowest tier: its nodes */
};

struct tsim_topology {
    const struct tsim_cluster *cluster;
    int32_t n_ranks, ranks_per_node, n_links;
    int32_t first[TSIM_N_LINK_KINDS]; /* the first link of each kind; a kind without links has count 0 */
    int32_t count[TSIM_N_LINK_KINDS];
    const double *bytes_per_s; /* n_links values */
    const uint8_t *sorts;      /* by link: 0 .. TSIM_N_LINK_SORTS - 1 */
    uint64_t seed;
    int32_t nics_per_node, ports_per_node; /* NICs counted as links, and the physical ports behind them */
    /* Accelerators of a PCIe switch (0: none share one) and of a socket (0: there is one socket). */
    int32_t per_switch, per_socket;
    int32_t n_tiers;
    struct tsim_topology_tier tiers[TSIM_MAX_TIERS];
    int32_t first_up[TSIM_MAX_TIERS], first_down[TSIM_MAX_TIERS];
    int32_t routers, groups, global_per_pair; /* dragonfly: of a group; in all; links for each ordered pair */
    bool is_pooled;                           /* dragonfly: adaptive routing pools parallel links */
    int32_t shape[3];                         /* of the torus */
    bool wraps[3];
};

const struct tsim_topology *tsim_topology_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                const struct tsim_cluster *cluster);

void tsim_topology_route(const struct tsim_topology *topology, int32_t from, int32_t to, struct tsim_route *route);

/* Returns the number of a node's NICs, as links: no more than there are ranks to use them. */
int32_t tsim_nics_per_node(const struct tsim_cluster *cluster);

/* Returns the number of the NIC link that a rank uses, 0 .. count[TSIM_LINK_NIC_OUT] - 1. */
int32_t tsim_topology_nic(const struct tsim_topology *topology, int32_t rank);

enum tsim_link_kind tsim_topology_link_kind(const struct tsim_topology *topology, int32_t link);
/* Returns whether links of a kind are shared by several ranks; the others are one rank's or NIC's, or a pair's. */
bool tsim_link_is_shared(enum tsim_link_kind kind);

/* Returns the node whose ranks alone use the link; -1: others may, too. */
int32_t tsim_topology_link_node(const struct tsim_topology *topology, int32_t link);

/* Links of the same sort share a name: "NIC out", "tier 1 up". The sorts are the kinds, and then, for each tier of a fat
 * tree, its links up and its links down. */
enum { TSIM_N_LINK_SORTS = TSIM_N_LINK_KINDS + 2 * TSIM_MAX_TIERS };
const char *tsim_link_sort_name(int32_t sort);

/* Returns how many times more the ports below a tier's uplink can send than the uplink carries; 1 for other links. */
double tsim_topology_oversubscription(const struct tsim_topology *topology, int32_t link);

/* Writes a link's name: "node 3: NIC 2, out", "pod tier 1, group 4: uplink 7". */
void tsim_topology_link_name(const struct tsim_topology *topology, int32_t link, char *text, size_t size);

/* Returns the number of links between two accelerators of a cube mesh. */
int32_t tsim_cube_mesh_links(int32_t a, int32_t b);

/* Finds the rings of NCCL among some accelerators of a cube mesh, each one link wide. There are as many undirected
 * cycles through all of them as share no link, each used both ways around; between two accelerators there is one for
 * each link. If there is no such cycle, the result is one ring in the order of the accelerators' numbers, which passes
 * through neighbours. `members` has a bit for each accelerator, at least two; next[r][a] becomes the accelerator behind
 * a in ring r. Returns the number of rings. */
enum { TSIM_CUBE_RINGS = 6 };
int32_t tsim_cube_mesh_rings(uint32_t members, int8_t next[TSIM_CUBE_RINGS][TSIM_CUBE]);

/* A cube mesh is cut into parts of n accelerators, every `stride`-th. The first returns the number of rings in the part
 * with the fewest. The second returns at the rate of how many links each accelerator of the part sends while all send
 * equal amounts to all others; the slowest link sets the pace of the exchange. */
int32_t tsim_cube_mesh_part_rings(int32_t n, int32_t stride);
double tsim_cube_mesh_exchange_links(int32_t n, int32_t stride);
