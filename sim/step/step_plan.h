/* step_plan.h - private to sim/step: the plan of a step, which does not change while the step runs. It holds the costs
 * of passes, buckets and messages, the schedule's order, and what may run beside what. */
#pragma once

#include "cost/update.h"
#include "partition/partition.h"
#include "step/folding/folding.h"
#include "step/program.h"

enum tsim_copy_direction { TSIM_COPY_OUT, TSIM_COPY_IN, TSIM_N_COPY_DIRECTIONS }; /* to the host, from it */

/* A direction is one kind of pass of one chunk: the whole pass, and the share of its time that each part takes
 * once, executed again or not. */
struct tsim_direction_plan {
    struct tsim_pass_cost whole;
    double frac[TSIM_N_PARTS], kept_frac[TSIM_N_PARTS];
    double copied_bytes[TSIM_N_COPY_DIRECTIONS]; /* that each rank copies beside the pass (copies.h) */
};

/* A collective of one group of ranks, which hold the same experts or the same of all else. With hybrid sharding,
 * scattered gradients are summed over replicas by a group of its own, after the scatter. Fully sharded, they are summed
 * on a stream of their own, beside the next scatter (torch.distributed.fsdp, _runtime_utils._reduce_grad); here they
 * are on one, and what both kernels hold of a device is spread over the time of both. */
struct tsim_group_collective {
    struct tsim_collective_cost cost;
    double units_share, memory_share; /* of the compute units and of HBM's rate, from passes beside it */
    int32_t first_part, n_parts;
};

/* A collective of the data-parallel group: first that of all parameters but the experts', then that of the experts. */
struct tsim_data_collective {
    struct tsim_collective_cost cost; /* of all parts together */
    struct tsim_group_collective groups[TSIM_MAX_GROUPS];
    int32_t n_groups;
    struct tsim_collective_part parts[TSIM_MAX_PARTS]; /* one for each group, in their order */
    double later_s[TSIM_MAX_PARTS];                    /* by part: what its pieces take beyond one collective */
    double up_bytes[TSIM_MAX_PARTS], nic_bytes[TSIM_MAX_PARTS]; /* by part, as in its cost */
    int32_t n_parts;
    unsigned axes;   /* of its group; 0: the data-parallel axes */
    double kernel_s; /* of kernels before it, which convert and divide gradients */
};

/* One layer has these collectives in fully sharded training. */
struct tsim_layer_collectives {
    struct tsim_data_collective gather, reduce, regather; /* regather: for the backward pass */
};

struct tsim_chunk_plan {
    bool has_embedding, has_head;
    int32_t alike;             /* its kind of chunk, an index of stage_plan->alike */
    int32_t n_layers, n_again; /* n_again: the first so many are recomputed, if any are */
    struct tsim_parts parts;   /* the parts that a pass goes through */
    int64_t first_layer;       /* its number in the model */
    /* Trained parameters of a tensor rank; expert_parameters is part of parameters. */
    double parameters, expert_parameters;
    double frozen_parameters;   /* beside adapters, without experts; 0: all parameters are trained */
    double host_gradient_bytes; /* that a rank sends for the host's update */
    struct tsim_direction_plan ways[TSIM_N_PASS_WAYS]; /* by tsim_pass_way */
    int32_t n_gathers, n_reduces; /* buckets: segments of the passes that meet the gathers, or release the reductions */
    int32_t first_gather, first_reduce;         /* among all chunks' buckets */
    struct tsim_data_collective gather, reduce; /* of one bucket */
};

/* Passes of one kind through one chunk have a route: where they send, and whether they receive. */
struct tsim_pass_route {
    struct tsim_schedule_hop hop;
    bool receives;
};

/* Fully sharded passes through a layer are cut into units, in execution order. A unit gathers what it works with, and
 * in a backward pass it reduces. There is one unit for a whole layer, or one for each product; products are twice as
 * many going backward if the layer is executed again. */
struct tsim_layer_unit {
    enum tsim_layer_product product; /* if units are products */
    bool gathers, reduces;
    int32_t places; /* it is gathered when the unit that is so many places before it is done */
    double frac;    /* its part of the layer's time in the pass, and of its FLOPs and bytes */
};
struct tsim_layer_units {
    struct tsim_layer_unit at[2 * TSIM_N_LAYER_PRODUCTS];
    int32_t n;
};

/* A rank sends a message to the next or to the previous stage, on one node or between two. */
struct tsim_step_message {
    struct tsim_collective_cost cost;
    bool on_node;
};

struct tsim_stage_plan {
    struct tsim_chunk_plan *chunks;
    /* By kind of chunk, the first chunk of that kind. Passes and collectives of chunks of one kind cost the
         * same. */
    int32_t *alike;
    int32_t n_alike;
    const struct tsim_pass_item *items; /* in the schedule's order */
    int32_t n_items;
    /* Collectives of the data-parallel group may run beside the items before the first of these, and beside those from
     * the second on. */
    int32_t met_until, met_from;
    const struct tsim_pass_route *routes;    /* by chunk and kind */
    int32_t n_gathers, n_reduces;            /* number of buckets over all chunks */
    double optimizer_s, optimizer_hbm_bytes; /* without the wait for gradients that a host's update has */
    struct tsim_host_update host_update;
    struct tsim_step_message next, prev; /* those of the first replica */
    /* ZeRO-3 */
    struct tsim_layer_collectives *layers; /* by kind of layer; NULL: not fully sharded */
    struct tsim_data_collective root_gather, root_reduce;
    struct tsim_data_collective *product_gathers, *product_reduces; /* by product; NULL if units are layers */
    struct tsim_pass_programs *programs;                            /* set if operators are played */
};

/* The passes that are played by their operators; the others are one task each. MET is for simulation.detail: passes. It
 * means the passes beside which collectives of the data-parallel group may run, if passes have collectives of their
 * own: two collectives that share a link, while kernels share a device with one of them, have no mean rate. */
enum tsim_operators_of { TSIM_OPERATORS_OF_NONE, TSIM_OPERATORS_OF_MET, TSIM_OPERATORS_OF_ALL };

/* The plan of a step, which all stage groups share. */
struct tsim_step_plan {
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_step_input *input; /* NULL: batches are always there */
    struct tsim_schedule_shape schedule;
    const int32_t *slots;                  /* of the first chunk's forward passes, by micro-batch */
    int32_t first_slot[2], slots_apart[2]; /* forward, others: of chunk 0, and from one chunk to the next */
    struct tsim_stage_plan *stages;
    struct tsim_layer_kernel *layer_kernels; /* see step_plan.c */
    int32_t n_layer_kernels;
    struct tsim_layer_units layer_units[2]; /* fully sharded: forward and backward */
    bool gathers_products;                  /* units are products, not layers */
    int32_t n_units;                        /* fully sharded: segments of the pass that has most of them */
    int32_t n_rounds;                       /* how often a step reduces a bucket */
    bool is_mirrored;     /* dualpipe: stages s and p-1-s hold the same parts, and reduce and gather together */
    bool is_ideal;        /* network: ideal */
    bool is_stepped;      /* network: steps */
    bool is_forward_only; /* for evaluation (run/evaluation.h) */
    bool shards_fully;    /* ZeRO-3 */
    bool has_data_group;  /* more than one rank reduces */
    bool has_copies;      /* there are copies between accelerators and their hosts */
    bool copies_input;    /* batches are among the copies */
    /* The part of HBM's rate that a copy of a byte a second asks for; and that of the compute units, if passes that are
     * one task have no HBM of their own. */
    double copy_memory_per_byte, copy_units_per_byte;
    bool gathers; /* ZeRO-1, -2: parameters are gathered after the optimizer */
    bool overlaps_gathers, overlaps_reduces, reduces_every_microbatch, sends_async;
    bool waits_for_reductions; /* ZeRO-2 and -3 without overlap: a pass begins when what was released is reduced */
    bool bypasses_norm;        /* no stage waits for another before its optimizer (program.h) */
    bool has_tied_reduction;
    struct tsim_data_collective tied;
    struct tsim_collective_cost norm;
    enum tsim_folding folding; /* this and the next three are tsim_fold's */
    struct tsim_stand_ins stand_ins;
    int32_t n_replicas;                           /* those that are simulated */
    int32_t n_exchanging;                         /* replicas in a row whose ranks exchange tokens for experts */
    double noise_mean_frac, noise_deviation_frac; /* of a stage group's pass (noise.h) */
    enum tsim_operators_of plays_operators;
    bool tells_operators; /* somebody listens to operators */
    struct tsim_data_collective *pass_collectives;
    int32_t n_pass_collectives;
};

/* Returns tsim_schedule_slot from the plan's table, which needs no division. */
static inline int32_t tsim_step_slot(const struct tsim_step_plan *plan, struct tsim_pass_item item) {
    int is_other = item.kind != TSIM_PASS_FORWARD;
    return plan->slots[item.microbatch] + plan->first_slot[is_other] + item.chunk * plan->slots_apart[is_other];
}

/* Builds the plan, but for what tsim_fold says. `sink` is who will listen, or NULL. */
struct tsim_step_plan *tsim_step_plan_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                            const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                            const struct tsim_pass_costs *costs, const struct tsim_step_input *input,
                                            const struct tsim_step_sink *sink);

/* A sketch is for those who try splits of the layers: it plans single stages with what the scenario gives them at the
 * moment, but for their order, messages and programs, and for a tied table. */
struct tsim_step_sketch;
struct tsim_step_sketch *tsim_step_sketch_new(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                              const struct tsim_cluster *cluster,
                                              const struct tsim_placement *placement,
                                              const struct tsim_pass_costs *costs);
/* Plans a stage. It stays until the next call; the plan that is returned has no other stages. */
const struct tsim_step_plan *tsim_step_sketch_stage(struct tsim_step_sketch *sketch, int32_t stage,
                                                    const struct tsim_stage_plan **planned);

/* Returns what stands for all that a stage's n ranks with the same parameters, or with the same experts, sum and gather
 * among some of them: a sum as it is, because it may run on trees; everything else around a ring, with so many bytes
 * that its latency does not count. There are no bytes if they do neither among these. */
struct tsim_collective_request tsim_step_data_request(const struct tsim_step_plan *plan, int32_t stage, int32_t n,
                                                      enum tsim_among among, bool is_expert);
/* Finds the k-th group of those into which n ranks, ascending, fall. Returns its size, or 0 if there are no more. */
int32_t tsim_ranks_among(const struct tsim_scenario *scenario, enum tsim_among among, bool is_expert,
                         const int32_t *all, int32_t n, int32_t k, int32_t *ranks);

/* Costs the message that each rank of a stage group sends to stage `to`. `at` is one of the stage group's ranks. The
 * message counts as one on a node only if those of all its ranks stay on their nodes. */
void tsim_step_message_of(const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                          struct tsim_coordinates at, int32_t to, struct tsim_step_message *message);

/* Returns the unit of a layer to which a segment belongs in fully sharded training; NULL for the root, which is the
 * embedding. */
const struct tsim_layer_unit *tsim_layer_unit_at(const struct tsim_step_plan *plan, enum tsim_pass_kind kind,
                                                 int32_t segment);
/* Returns the number of units of a pass: those of the layers, and the root. */
static inline int32_t tsim_step_n_units(const struct tsim_step_plan *plan, enum tsim_pass_kind kind) {
    return 1 + (int32_t)plan->scenario->model->layers * plan->layer_units[kind != TSIM_PASS_FORWARD].n;
}

/* Returns whether collectives of the data-parallel group may run beside an item of the whole schedule. */
static inline bool tsim_item_is_met(const struct tsim_stage_plan *sp, int64_t index) {
    return index < sp->met_until || index >= sp->met_from;
}
