/* stage_group.h - private to sim/step: the state of one stage group and the programs of its streams (see program.h). */
#ifndef TSIM_STEP_STAGE_GROUP_H
#define TSIM_STEP_STAGE_GROUP_H

#include "network/traffic.h"
#include "step/pass/communicator.h"
#include "step/pass/host_stream.h"
#include "step/step_plan.h"

/* Returns a task's label, made of its kind, its item of the schedule and its segment. */
static inline int64_t tsim_label(enum tsim_task_kind kind, int32_t item, int32_t segment) {
    return ((int64_t)kind << 56) | ((int64_t)(item + 1) << 24) | segment;
}
static inline enum tsim_task_kind tsim_label_kind(int64_t label) {
    return (enum tsim_task_kind)(label >> 56);
}
static inline int32_t tsim_label_item(int64_t label) {
    return (int32_t)((label >> 24) & 0xffffffff) - 1;
}
static inline int32_t tsim_label_segment(int64_t label) {
    return (int32_t)(label & 0xffffff);
}
/* Returns the label of the same task of the item that comes so many later; the same label if it has no item. */
static inline int64_t tsim_label_moved(int64_t label, int32_t items) {
    int32_t item = tsim_label_item(label);
    return item < 0 ? label : tsim_label(tsim_label_kind(label), item + items, tsim_label_segment(label));
}

/* Is the task an operator of a pass, or a part of one? The last operator of a pass is its PASS. */
static inline bool tsim_label_is_operator(int64_t label) {
    enum tsim_task_kind kind = tsim_label_kind(label);
    return kind == TSIM_TASK_OPERATOR || (kind == TSIM_TASK_GO && (tsim_label_segment(label) == TSIM_TASK_OPERATOR ||
                                                                   tsim_label_segment(label) == TSIM_TASK_PASS));
}

/* The position of a stream in the operators of a pass. */
struct tsim_pass_cursor {
    bool is_active, is_alone, is_told;
    enum tsim_pass_kind kind;
    bool has_embedding, has_head;
    int64_t from, to; /* layers of the model */
    int32_t n_parts, part, step;
    const struct tsim_pass_program *program; /* the part's; NULL: to be looked up */
    double slowdown;                         /* of the compute stream's kernels, against their kind */
    bool begins_copies, ends_copies;         /* it lets copies between accelerators and hosts begin, waits for them */
    bool is_one_task;                        /* that is still to come: no operators are played */
    struct tsim_pass_cost cost;              /* of that */
    bool is_open;                            /* all that the pass waits for is there */
    int64_t label;                           /* of the whole pass, and what it lowers */
    int32_t n_lowers, lowers[TSIM_TASK_MAX_SIGNALS];
};

/* A task of the compute stream plays one operator, or several that nothing can disturb. */
struct tsim_operator_run {
    int32_t n, part, step;             /* what is joined, 0: one that is not; where the cursor stood before the first */
    const struct tsim_played *playing; /* the one that is not joined; NULL: waiting for the host */
    const struct tsim_played *waited_for; /* a collective of which all time is exposed, a START or a WAIT; else NULL */
    struct tsim_host_stream before;       /* the host's stream, before the first */
    tsim_tick kernels, host, exposed[TSIM_AXIS_PIPELINE]; /* with nothing in their way */
    double noise;                                         /* ticks of the kernels that chance has added */
    bool waits_for_copies;                                /* and does nothing else */
};

/* The position of a communicator's stream. It listens until the compute stream plays a START, then plays what is beside
 * the kernels of that part of the pass. */
struct tsim_beside_stream {
    struct tsim_stage_group *stage_group;
    enum tsim_axis axis;
    bool listens;                      /* and no START has come to it yet */
    struct tsim_pass_cursor cursor;    /* in the part that it plays; program NULL: none so far */
    const struct tsim_played *playing; /* NULL: it listens */
};

/* A link that collectives cross, and the bytes on it for each byte that a rank sends on its node, or through its NIC. */
struct tsim_crossed_link {
    struct tsim_demand link;
    bool is_between_nodes;
};

/* The groups whose collectives cross links: the data-parallel group, the ranks that hold the same experts, and, in
 * passes, the groups of each axis. */
enum {
    TSIM_CROSSED_DATA,
    TSIM_CROSSED_EXPERT_DATA,
    TSIM_CROSSED_PASS,
    TSIM_N_CROSSED = TSIM_CROSSED_PASS + TSIM_AXIS_PIPELINE
};

struct tsim_crossed_links {
    struct tsim_crossed_link *items;
    int32_t n, capacity;
};

/* The links of an accelerator's way to its host or back, its slot first, with what a copied byte takes of each. */
enum { TSIM_MOST_COPY_LINKS = 3 };
struct tsim_copy_way {
    struct tsim_demand links[TSIM_MOST_COPY_LINKS];
    int32_t n;
};

/* For each resource, the slot that a NIC's bytes cross (-1: none), and what each byte takes of it. */
struct tsim_slots {
    int32_t n, *of;
    bool *is_taken;
    double per_byte;
};

/* The position of a stream of copies. */
struct tsim_copying {
    int32_t item;
    bool is_of_update; /* the item's own are copied */
};

/* The resources of one rank. Folded to stages they are its own, and only meters if they cannot be short (peak_demand.h).
 * Otherwise scale_up and NICs are links of the topology. */
struct tsim_member {
    int32_t rank; /* -1: stands for many */
    int32_t units, memory, scale_up_out, scale_up_in, nic_out, nic_in;
    int32_t host_memory; /* its share; -1: not known, or nobody copies */
    struct tsim_copy_way to_host[TSIM_N_COPY_DIRECTIONS];
    /* The links that its part of the collectives crosses, for its data-parallel group and for the ranks that hold the
     * same experts; none: its own links, as above. */
    struct tsim_crossed_links crossed[TSIM_N_CROSSED];
};

/* The messages that a stage group sends over the topology's links. */
enum { TSIM_SENT_TO_NEXT, TSIM_SENT_TO_PREV, TSIM_SENT_TIED, TSIM_N_SENT };

/* A data-parallel collective of a stage group, message by message: signals for each of its parts. */
struct tsim_expansion {
    const struct tsim_data_collective *collective;
    int32_t go[TSIM_MAX_PARTS], done[TSIM_MAX_PARTS], n_lanes[TSIM_MAX_PARTS];
    int64_t n_uses;
};

/* The rest of a collective of several tasks that is under way on a stream. */
struct tsim_expanding {
    const struct tsim_data_collective *collective; /* NULL: none */
    int32_t part; /* message by message: the one that has been begun; else the next group */
    /* The last task stands for the collective: */
    int64_t label, join;
    int32_t n_parties, n_lowers, lowers[TSIM_TASK_MAX_SIGNALS];
    int32_t raised_counter;
};

/* The time at which a message was under way; 0: not yet. */
struct tsim_transfer {
    tsim_tick begin, end;
};

struct tsim_stage_group {
    const struct tsim_step_plan *plan;
    const struct tsim_stage_plan *stage_plan;
    struct tsim_stage_group *next, *prev; /* stage group of the next / previous stage of this replica, in a ring */
    struct tsim_step_message to_next, to_prev;
    struct tsim_engine *engine;
    int32_t stage, replica, n_members, streams[TSIM_N_STREAMS];
    double slowdown; /* of its slowest member's kernels: 1, or more with a degraded accelerator */
    struct tsim_member *members;
    /* Scratch for demands of more members than a task holds: a block for each stream, which grows with what its tasks
     * need (a block for the longest routes of all members would be 100 MB with thousands of stage groups). */
    struct tsim_arena *arena;
    struct tsim_demand *demands[TSIM_N_STREAMS];
    int32_t n_demands[TSIM_N_STREAMS];
    const struct tsim_links *links;            /* NULL: those of its members, folded to stages */
    const struct tsim_slots *slots;            /* NULL: nothing else goes through them */
    int32_t copies_go, copied, host_gradients; /* signals: two for each item, and one */
    struct tsim_copying copying[TSIM_N_COPY_DIRECTIONS];
    /* Signals by batch: in the host's memory, where the pass had to wait for that; on the accelerator; in use */
    int32_t batch_there, batch_copied, batch_taken;
    int32_t batch; /* next to be copied */
    struct tsim_crossed_links sent[TSIM_N_SENT];
    struct tsim_expansion *expansions;
    int32_t n_expansions;
    struct tsim_expanding expanding[TSIM_N_STREAMS];
    struct tsim_pass_cursor cursor;
    struct tsim_communicator communicators[TSIM_AXIS_PIPELINE]; /* by axis, as their streams */
    struct tsim_beside_stream beside[TSIM_AXIS_PIPELINE];
    int64_t n_exchanges[2]; /* of experts so far: on the compute stream, beside it */
    bool keeps_step;        /* exchanges of experts, with those of all other groups (in_step.h) */
    bool plays_pass;        /* the pass under way has operators, else it is one task */
    bool is_told;           /* somebody listens to its operators ... */
    const bool *told_items; /* ... of these items of the whole schedule, NULL: of all; each of them is told */
    /* For each axis of collectives in passes (peak_demand.h): true if the links that they cross have room for
     * everything but the stage group's own data stream. If they have room for that too, what each rank sends is only
     * counted. */
    bool has_spare_links[TSIM_AXIS_PIPELINE];
    struct tsim_axis_meters {
        int32_t scale_up, nic; /* of the engine; 0: none */
    } meters[TSIM_AXIS_PIPELINE];
    struct tsim_host_stream host;
    struct tsim_operator_run run; /* on the compute stream */
    double pass_noise; /* ticks that chance has added to the kernels of the pass's segment, so far as they ended */
    const struct tsim_data_collective *asked[TSIM_N_STREAMS]; /* of the task that the program makes now */
    tsim_tick go_end; /* data: when the messages of the collective under way began */
    /* Signals: by tsim_stage_group_slot */
    int32_t activation_in, gradient_in, forward_out, backward_out;
    /* First signals, by bucket, or by (item, unit) when fully sharded; segment_done by (slot, bucket of the chunk)
     * where each micro-batch reduces; one */
    int32_t gathered, segment_done, reduced;
    int32_t n_reductions;
    int32_t reductions, n_released; /* a counter of those that are over, and how many passes have released so far */
    struct tsim_transfer *activations, *gradients; /* into this stage group, as the signals */
    /* The schedule's order from here on; periods.h shortens it. */
    const struct tsim_pass_item *items;
    int32_t n_items, n_skipped[2]; /* slots left out: of forward passes, of the others */
    /* Program state */
    int32_t item, segment;               /* compute: next pass */
    int32_t n_asked;                     /* compute: batches of the input pipeline so far */
    bool has_batch;                      /* compute: the next pass has its own */
    bool awaits_copy;                    /* compute: it is in the host's memory */
    int32_t tail, tail_at;               /* compute: what follows the passes */
    int32_t send_at[2];                  /* next item to look at: activations, gradients */
    int32_t gather_chunk, gather_bucket; /* data: next parameters */
    int32_t reduce_item, reduce_bucket;  /* data: next gradients */
    int32_t unit_item, unit_position;    /* data, fully sharded */
    int32_t owed[2], n_owed;             /* items whose synchronous sends are due on the compute stream */
    /* Account */
    tsim_tick steps_ready, steps_begin, operator_end; /* of the pass under way: its first operator, its last so far */
    tsim_tick copies_end;                             /* the last so far */
    bool has_operators;
    int32_t n_arrived; /* batches, the last of them at last_arrival */
    tsim_tick last_arrival;
    tsim_tick first_begin, last_end; /* where the step begins for this stage group; the end of its last task */
    int32_t accounted, n_pending;    /* the next pass to be told; messages that have come for it and those after it */
    int64_t *totals;                 /* account.h */
    int32_t n_totals, most_segments;
    struct tsim_stage_group_account *account;
};

/* task_demands.c. Demands so many bytes a second of each member on the links of what it sends (TSIM_SENT_...). */
void tsim_stage_group_demand_sent(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, int what,
                                  double bytes_per_s, struct tsim_task *task);

/* Adds a demand to a task, in the task's own room or, if that is full, in the stage group's scratch. */
void tsim_stage_group_demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                             struct tsim_task *task, int32_t resource, double per_unit);
/* Demands `up` bytes/s inside a node and `nic` bytes/s between nodes, on the links that a member's collectives cross
 * (TSIM_CROSSED_...) or, without such, on the member's own. */
void tsim_stage_group_demand_links(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                   struct tsim_task *task, const struct tsim_member *member, int which, double up,
                                   double nic);
/* Demands so much of the compute units and of HBM's rate of every member. Members do the same at the same time, so one
 * device stands for all but message by message. */
void tsim_stage_group_demand_device(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                    struct tsim_task *task, double units, double memory);
/* Makes `task` a pass, or the optimizer, that is one task. */
void tsim_stage_group_pass_task(struct tsim_stage_group *group, const struct tsim_pass_cost *cost,
                                struct tsim_task *task);

/* stage_group_collective.c. Makes `task` the collective. The caller adds what else it waits for, lowers and joins. */
void tsim_stage_group_collective(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                 const struct tsim_data_collective *collective, struct tsim_task *task);
struct tsim_expansion *tsim_stage_group_expansion(const struct tsim_stage_group *group,
                                                  const struct tsim_data_collective *collective);
/* Makes the stream's next task: one of the collective under way, or else what `next` makes. */
bool tsim_stage_group_next(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                           bool (*next)(struct tsim_stage_group *, struct tsim_task *));

/* These are the programs (tsim_program_fn) of the streams; their context is the stage group. */
bool tsim_stage_group_compute(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_data(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_send_next(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_send_prev(void *context, int32_t stream, struct tsim_task *task);

/* segments.c. Finds the cost of a segment of an item's pass; segments are numbered in execution order. */
void tsim_stage_group_segment_cost(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                                   struct tsim_pass_cost *cost);
/* Returns by how much the item's kernels are slower (or, by chance, faster) than such kernels usually are. */
double tsim_stage_group_slowdown(const struct tsim_stage_group *group, int32_t item, int32_t segment);
/* Returns the cost of an item without noise, for a pass in `n` segments. */
void tsim_stage_group_pass_cost(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment,
                                int32_t n, struct tsim_pass_cost *cost);

/* The part of the model that an item's segment goes through: layers of the model from `from` to before `to`. */
struct tsim_segment_layers {
    int64_t from, to;
    bool has_embedding, has_head;
};
struct tsim_segment_layers tsim_stage_group_segment_layers(const struct tsim_stage_group *group, int32_t item,
                                                           int32_t segment);
/* Returns the gather or reduction of the data-parallel group that a task is. `item` is one of the whole schedule, or -1. */
const struct tsim_data_collective *tsim_stage_group_data_collective(const struct tsim_stage_group *group,
                                                                    bool is_gather, int32_t item, int32_t segment);

/* Returns the collective of a unit of an item's pass in fully sharded training, by its position in execution order. */
const struct tsim_data_collective *tsim_stage_group_unit(const struct tsim_stage_group *group, enum tsim_pass_kind kind,
                                                         int32_t position, bool is_gather);
/* Does the unit have such a collective? The root, which is gathered once a step, does not gather going backward. */
bool tsim_stage_group_unit_has(const struct tsim_stage_group *group, enum tsim_pass_kind kind, int32_t position,
                               bool is_gather);
/* Returns the index of the pass among the signals. Passes that come after what was left out take the signals of what was
 * left out. */
static inline int32_t tsim_stage_group_slot(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    return tsim_step_slot(group->plan, item) - group->n_skipped[item.kind != TSIM_PASS_FORWARD];
}
/* The account has a place for each kind of pass that costs the same: 0 for a pass that is not cut, the following ones for
 * segments. Passes that are one task and passes whose operators are played have places of their own. */
static inline int32_t tsim_stage_group_n_places(const struct tsim_stage_group *group) {
    return 2 * group->stage_plan->n_alike * TSIM_N_PASS_WAYS * (1 + group->most_segments);
}
static inline int32_t tsim_stage_group_place(const struct tsim_stage_group *group, struct tsim_pass_item item,
                                             int32_t place, bool is_played) {
    int32_t alike = group->stage_plan->chunks[item.chunk].alike;
    return 2 * ((alike * TSIM_N_PASS_WAYS + tsim_item_way(item)) * (1 + group->most_segments) + place) + is_played;
}
/* Returns the item so many places on; a negative index is one before, which periods.h may have left out. */
static inline struct tsim_pass_item tsim_stage_group_item(const struct tsim_stage_group *group, int32_t index) {
    return group->items[index];
}
/* Returns the number of items that were left out. */
static inline int32_t tsim_stage_group_n_left_out(const struct tsim_stage_group *group) {
    return (int32_t)(group->items - group->stage_plan->items);
}
/* Does somebody listen to the operators of this item of the whole schedule? */
static inline bool tsim_stage_group_tells(const struct tsim_stage_group *group, int64_t index) {
    return group->is_told && (!group->told_items || group->told_items[index]);
}

/* Are the operators of an item's pass played? One that is cut through the middle of a layer, or of a layer list, stays a
 * single task. */
static inline bool tsim_pass_is_played(const struct tsim_stage_group *group, int32_t index, bool is_cut) {
    const struct tsim_step_plan *plan = group->plan;
    if (plan->plays_operators == TSIM_OPERATORS_OF_NONE || plan->gathers_products ||
        (is_cut && tsim_model_layers_vary(plan->scenario->model)))
        return false;
    return plan->plays_operators == TSIM_OPERATORS_OF_ALL ||
           tsim_item_is_met(group->stage_plan, index + tsim_stage_group_n_left_out(group));
}

/* Does this pass meet gathers (forward) or release reductions (backward)? */
static inline bool tsim_stage_group_meets_data(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    const struct tsim_step_plan *plan = group->plan;
    if (!plan->has_data_group || item.kind == TSIM_PASS_INPUT_GRADIENT)
        return false;
    if (item.kind == TSIM_PASS_FORWARD)
        return plan->gathers && plan->overlaps_gathers && item.microbatch == 0;
    return plan->overlaps_reduces &&
           (plan->reduces_every_microbatch || item.microbatch == tsim_schedule_chunk_microbatches(&plan->schedule) - 1);
}

/* Returns the number of segments of an item's pass. */
static inline int32_t tsim_stage_group_n_segments(const struct tsim_stage_group *group, int32_t index) {
    struct tsim_pass_item item = tsim_stage_group_item(group, index);
    if (group->plan->shards_fully)
        return tsim_step_n_units(group->plan, item.kind);
    if (!tsim_stage_group_meets_data(group, item))
        return 1;
    const struct tsim_chunk_plan *chunk = &group->stage_plan->chunks[item.chunk];
    return item.kind == TSIM_PASS_FORWARD ? chunk->n_gathers : chunk->n_reduces;
}

static inline const struct tsim_pass_route *tsim_stage_group_path(const struct tsim_stage_group *group,
                                                                  struct tsim_pass_item item) {
    return &group->stage_plan->routes[item.chunk * TSIM_N_PASS_KINDS + (int32_t)item.kind];
}
static inline struct tsim_schedule_hop tsim_stage_group_hop(const struct tsim_stage_group *group,
                                                            struct tsim_pass_item item) {
    return tsim_stage_group_path(group, item)->hop;
}
static inline bool tsim_stage_group_receives(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    return tsim_stage_group_path(group, item)->receives;
}

/* copies.c. Does the item's pass need a batch of the input pipeline? */
bool tsim_stage_group_takes_input(const struct tsim_stage_group *group, int32_t item);

/* Finds where the result of a pass goes: the stage group and the item that waits for it there. Returns false if nothing
 * is sent. */
bool tsim_stage_group_route(const struct tsim_stage_group *group, struct tsim_pass_item item,
                            struct tsim_stage_group **to, struct tsim_pass_item *there);
/* Returns the cost of that message, from this stage to the next or the previous one. */
const struct tsim_collective_cost *tsim_stage_group_message(const struct tsim_stage_group *group,
                                                            struct tsim_pass_item item);

#endif
