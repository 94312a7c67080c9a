/* pattern.h - a collective as messages: who sends how much to whom over which links, in which order. Const once built.
 *
 * A pattern consists of lanes, one after another's messages of one rank (or of one edge of a tree). A lane does this,
 * by pattern:
 *   rings     phases of a ring; in a phase of R messages a lane sends message k when message k - 1 of its predecessor
 *             has come, and begins the next phase when all R have. ring: one phase. hierarchical: scatter on the node,
 *             ring across nodes, gather on the node. torus: a lane for each part and direction (cost/torus.h); scatter
 *             along dimension after dimension, gather backwards.
 *   pairwise  every rank sends to every other, those on its node in one lane, the others in another; nothing is waited
 *             for.
 *   waves     one message for each edge of the trees, pipelined: it starts as many latencies after the collective as it
 *             has edges before it, and all flow at the same time.
 *
 * Channels are not lanes: a message uses every link for the share that all channels together give it. In a ring of g
 * channels over several nodes g - 1 leave a rank towards its neighbour on the node and one towards the next node, so
 * 1/g of each message crosses the rank's own NIC. On a mesh they spread over all links.
 *
 * Times come from the collective's cost (cost/collective.h): its latency is spread evenly over the messages in a row,
 * and a message flows at the rate at which the cost has a rank send, unless a link is in the way. So without
 * contention a pattern takes exactly as long as the cost says, where all its ranks have the same number of
 * messages to send at the same rate. */
#ifndef TSIM_NETWORK_PATTERN_H
#define TSIM_NETWORK_PATTERN_H

#include "cluster/topology.h"
#include "cost/collective.h"

enum tsim_pattern_kind { TSIM_PATTERN_RINGS, TSIM_PATTERN_PAIRWISE, TSIM_PATTERN_WAVES };

struct
    tsim_share { /* the part of a message's bytes that crosses a link; shares may add up to more than 1: links in a row */
    int32_t link;
    double frac;
};

struct tsim_pattern_phase {
    int32_t from, to; /* the group's ranks by their place in it; a tree's edge is that of the first of its nodes */
    int32_t owner;    /* whose collective is not over before this: the sender, of what comes down a tree the receiver */
    int32_t successor; /* rings: lane that waits for these messages; -1: nobody does */
    int32_t n_messages;
    double bytes; /* of one message */
    double bytes_per_s;
    double latency_s; /* of one message */
    int32_t first_share, n_shares;
};

struct tsim_pattern {
    enum tsim_pattern_kind kind;
    const struct tsim_topology *topology;
    const int32_t *ranks;               /* of the group, ascending */
    int32_t n_ranks, n_lanes, n_phases; /* phases of each lane */
    struct tsim_pattern_phase *phases;  /* [n_lanes * n_phases] */
    struct tsim_share *shares;          /* pairwise: none, see tsim_pattern_route */
    size_t n_shares, share_capacity;
    struct tsim_collective_cost cost; /* alone, on links that nothing shares */
};

/* Returns the group that `ranks` (ascending) are. */
struct tsim_group tsim_group_of_ranks(const struct tsim_topology *topology, const int32_t *ranks, int32_t n);

/* request->group is taken from `ranks`, which must live as long as the pattern. One rank or no bytes: no lanes.
 * Released with tsim_pattern_release. */
void tsim_pattern_build(struct tsim_pattern *pattern, const struct tsim_topology *topology, const int32_t *ranks,
                        int32_t n_ranks, const struct tsim_collective_request *request);
void tsim_pattern_release(struct tsim_pattern *pattern);

/* Returns where message k of a lane goes in a pairwise exchange, and finds its route. */
int32_t tsim_pattern_route(const struct tsim_pattern *pattern, int32_t lane, int32_t k, struct tsim_route *route);

/* Bytes of the whole collective on every link: adds to link_bytes[topology->n_links]. */
void tsim_pattern_link_bytes(const struct tsim_pattern *pattern, double *link_bytes);

/* Returns the collective as one activity that crosses all its links at once: latency + max(bytes / own rate, load /
 * capacity over all links). Equal to cost.time_s where no link is shared. */
double tsim_pattern_fluid_s(const struct tsim_pattern *pattern);

#endif
