/* pattern.h - a collective as messages: who sends how much to whom over which links, in which order. A pattern is const
 * once built.
 *
 * A pattern consists of lanes. A lane is one rank's messages (or those of one edge of a tree), one after another. The
 * patterns differ in what a lane does:
 *   rings     A lane goes through phases of a ring. In a phase of R messages it sends message k when message k - 1 of
 *             its predecessor has come, and begins the next phase when all R have come. ring: one phase. hierarchical:
 *             scatter on the node, ring across nodes, gather on the node. torus: a lane for each part and direction
 *             (cost/torus.h); scatter along dimension after dimension, gather backwards. There the lanes of a rank begin
 *             each phase together, and each sends at the rate with which it is done when the longest is: no part meets
 *             another on its dimension, and what a link carries does not change within a phase.
 *   pairwise  Every rank sends to every other: to those on its node in one lane, to the others in another. Nothing is
 *             waited for.
 *   waves     Each edge of the trees has one message, pipelined: it starts as many latencies after the collective as
 *             there are edges before it, and all messages flow at the same time. They begin when all ranks have: a
 *             sum has every rank's bytes in it.
 *
 * Channels are not lanes: a message uses every link for the share that all channels together give it. In a ring of g
 * channels over several nodes, g - 1 channels leave a rank towards its neighbour on the node and one towards the next
 * node, so 1/g of each message crosses the rank's own NIC. On a mesh they spread over all links.
 *
 * Times come from the collective's cost (cost/collective.h): its latency is spread evenly over the messages in a row,
 * and a message flows at the rate at which the cost has a rank send, unless a link is in the way. So without contention
 * a pattern takes exactly as long as the cost says, if all its ranks have the same number of messages to send at the
 * same rate. */
#pragma once

#include "cluster/topology.h"
#include "cost/collective.h"

enum tsim_pattern_kind { TSIM_PATTERN_RINGS, TSIM_PATTERN_PAIRWISE, TSIM_PATTERN_WAVES };

/* The part of a message's bytes that crosses a link. Shares may add up to more than 1, because links may be in a
     * row. */
struct tsim_share {
    int32_t link;
    double frac;
};

struct tsim_pattern_phase {
    int32_t from, to;  /* ranks by their place in the group; an edge of a tree takes the first of its nodes */
    int32_t owner;     /* the rank whose collective it belongs to: its sender; down a tree, its receiver */
    int32_t successor; /* rings: the lane that waits for these messages; -1: none */
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
    int32_t n_ranks, n_lanes, n_phases; /* n_phases: of each lane */
    int32_t n_meeting;                  /* so many lanes in a row begin each phase together; 0: each when it is ready */
    struct tsim_pattern_phase *phases;  /* n_lanes * n_phases of them */
    struct tsim_share *shares;          /* pairwise: NULL, see tsim_pattern_route */
    size_t n_shares, share_capacity;
    struct tsim_collective_cost cost; /* of the collective alone, on links that nothing shares */
};

/* Returns the group that `ranks`, ascending, form. */
struct tsim_group tsim_group_of_ranks(const struct tsim_topology *topology, const int32_t *ranks, int32_t n);

/* Builds the pattern of a request, whose group is that of `ranks`; these must live as long as the pattern. With one
 * rank or no bytes it has no lanes. Release it with tsim_pattern_release. */
void tsim_pattern_build(struct tsim_pattern *pattern, const struct tsim_topology *topology, const int32_t *ranks,
                        int32_t n_ranks, const struct tsim_collective_request *request);
void tsim_pattern_release(struct tsim_pattern *pattern);

/* Finds the route of message k of a lane in a pairwise exchange, and returns the rank that receives it. */
int32_t tsim_pattern_route(const struct tsim_pattern *pattern, int32_t lane, int32_t k, struct tsim_route *route);

/* Adds the bytes of the whole collective on every link to link_bytes[topology->n_links]. */
void tsim_pattern_link_bytes(const struct tsim_pattern *pattern, double *link_bytes);

/* Returns the time of the collective as one activity that crosses all its links at once: latency + max(bytes / own
 * rate, load / capacity over all links). It equals cost.time_s if no link is shared. */
double tsim_pattern_fluid_s(const struct tsim_pattern *pattern);
