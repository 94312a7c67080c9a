/* stage_group.h - private to sim/step: the state of one stage group and the programs of its streams (see program.h). */
#pragma once

#include "network/traffic.h"
#include "step/pass/communicator.h"
#include "step/pass/host_stream.h"
#include "step/step_plan.h"

/* A label says which task the engine tells of: its kind, its item of the schedule (-1: none) and its segment. */
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
/* Returns the label of the same task `items` items later, or the same label if the task has no item. */
static inline int64_t tsim_label_moved(int64_t label, int32_t items) {
    int32_t item = tsim_label_item(label);
    return item < 0 ? label : tsim_label(tsim_label_kind(label), item + items, tsim_label_segment(label));
}

/* Returns whether the task is an operator of a pass, or a part of one. The last operator of a pass is its PASS. */
static inline bool tsim_label_is_operator(int64_t label) {
    enum tsim_task_kind kind = tsim_label_kind(label);
    return kind == TSIM_TASK_OPERATOR || (kind == TSIM_TASK_GO && (tsim_label_segment(label) == TSIM_TASK_OPERATOR ||
                                                                   tsim_label_segment(label) == TSIM_TASK_PASS));
}

/* The place of a stream in a pass. A segment of a pass goes through parts of the model (the embedding, layers, the
 * head); each part has a program, whose entries are kernels, collectives, STARTs and WAITs (pass_program.h). */
struct tsim_pass_cursor {
    bool is_active; /* a pass is under way */
    bool is_alone;  /* no other micro-batch's pass runs beside it, to hide its exchanges of experts */
    bool is_told;   /* a listener wants each of its operators */
    enum tsim_pass_kind kind;
    bool has_embedding, has_head;            /* the segment goes through them */
    int64_t from, to;                        /* it goes through these layers of the model: from `from` to before `to` */
    int64_t kept_from;                       /* those from here on are not executed again (recompute: {layers: N}) */
    int32_t n_parts, part, step;             /* the parts of the segment, and the part and the entry that come next */
    const struct tsim_pass_program *program; /* of the part that comes next; NULL: it has not been looked up yet */
    double slowdown;                         /* time of the kernels over what the cost model says */
    bool begins_copies,
        ends_copies;            /* copies between accelerators and hosts begin with the pass; it waits for copies */
    bool is_one_task;           /* the pass is a single task, which has not been made yet */
    struct tsim_pass_cost cost; /* of the single task */
    bool is_open;               /* all that the pass waits for has come */
    int64_t label;              /* of the whole pass */
    int32_t n_lowers, lowers[TSIM_TASK_MAX_SIGNALS]; /* the counters that the end of the pass lowers */
};

/* The task of the compute stream plays one operator, or a run of operators that nothing can disturb. */
struct tsim_operator_run {
    int32_t n;                            /* operators of the run; 0: the task is one operator */
    int32_t part, step;                   /* where the cursor stood before the first operator */
    const struct tsim_played *playing;    /* the one operator; NULL: a run, or a wait for the host */
    const struct tsim_played *waited_for; /* a collective all of whose time is exposed, a START or a WAIT; NULL: none */
    struct tsim_host_stream before;       /* the host's stream before the first operator */
    /* Ticks that kernels, waits for the host and collectives of each axis take if nothing is in their way. */
    tsim_tick kernels, host, exposed[TSIM_AXIS_PIPELINE];
    double noise;          /* ticks of `kernels` that chance has added */
    bool waits_for_copies; /* the task only waits for copies */
};

/* The stream of a communicator, whose collectives run beside kernels. It listens until the compute stream plays a
 * START, then plays the collectives that run beside the kernels of that part of the pass. */
struct tsim_beside_stream {
    struct tsim_stage_group *stage_group;
    enum tsim_axis axis;
    bool listens;                      /* it waits for a START */
    struct tsim_pass_cursor cursor;    /* its place in the pass; no program: nothing has been played yet */
    const struct tsim_played *playing; /* the collective under way; NULL: it listens */
};

/* A link that collectives cross. The demand's units are bytes on the link for each byte that a rank sends. */
struct tsim_crossed_link {
    struct tsim_demand link;
    bool is_between_nodes; /* the rank's byte is one through its NIC; else one that stays on its node */
};

/* The groups with links are those of the parts of data-parallel collectives, and, in passes, the groups of each axis. */
enum {
    TSIM_CROSSED_DATA, /* for each enum tsim_among, two: of all else and of experts */
    TSIM_CROSSED_PASS = 2 * TSIM_N_AMONG,
    TSIM_N_CROSSED = TSIM_CROSSED_PASS + TSIM_AXIS_PIPELINE
};

static inline int tsim_crossed_by(enum tsim_among among, bool is_expert) {
    return TSIM_CROSSED_DATA + 2 * (int)among + is_expert;
}

struct tsim_crossed_links {
    struct tsim_crossed_link *items;
    int32_t n, capacity;
};

/* The links between an accelerator and its host in one direction, the accelerator's slot first. The demand's units are
 * bytes on the link for each byte copied. */
enum { TSIM_MOST_COPY_LINKS = 3 };
struct tsim_copy_way {
    struct tsim_demand links[TSIM_MOST_COPY_LINKS];
    int32_t n;
};

/* Traffic of NICs crosses these PCIe slots of accelerators. */
struct tsim_slots {
    int32_t n;        /* resources */
    int32_t *first;   /* by resource: a slot that its bytes cross; -1: none */
    int32_t *next;    /* by slot: another one of the same NIC; -1: none */
    int32_t *n_ranks; /* by resource: so many slots share its bytes evenly */
    double per_byte;  /* units of the slots for each byte */
};

/* The place of a stream of copies. */
struct tsim_copying {
    int32_t item;      /* whose copies come next */
    bool is_of_update; /* the item's activations are copied; its gradients for the host's update come next */
};

/* In place of a link: another one stands for it (alike_links.h). */
#define TSIM_OTHER_STANDS INT32_MIN

/* The engine's resources of one rank. If one step of each stage is simulated (folding.h), they are the rank's own,
 * and a resource that cannot be short is a meter, which only counts (peak_demand.h). Otherwise scale_up and NICs are
 * links of the topology. */
struct tsim_member {
    int32_t rank; /* -1: it stands for many ranks */
    int32_t units, memory, scale_up_out, scale_up_in, nic_out, nic_in;
    int32_t host_memory; /* the rank's share of it; -1: its rate is not known, or nobody copies */
    struct tsim_copy_way to_host[TSIM_N_COPY_DIRECTIONS];
    /* The links that the rank's part of collectives crosses, by TSIM_CROSSED_...; none: the rank's own links above. */
    struct tsim_crossed_links crossed[TSIM_N_CROSSED];
};

/* The messages that a stage group sends over the topology's links. */
enum { TSIM_SENT_TO_NEXT, TSIM_SENT_TO_PREV, TSIM_SENT_TIED, TSIM_N_SENT };

/* A data-parallel collective of a stage group that is played message by message (expansion.h). */
struct tsim_expansion {
    const struct tsim_data_collective *collective;
    /* By part of the collective: the signals that begin it and end it, and the streams that carry its messages. */
    int32_t go[TSIM_MAX_PARTS], done[TSIM_MAX_PARTS], n_lanes[TSIM_MAX_PARTS];
    int64_t n_uses; /* how often the collective has begun */
};

/* A collective that takes several tasks of a stream has this left to do. */
struct tsim_expanding {
    const struct tsim_data_collective *collective; /* NULL: no such collective is under way */
    int32_t part; /* message by message: the part that has begun; else the group of ranks that comes next */
    /* The caller asked this of the whole collective, and its last task does it: */
    int64_t label, join;
    int32_t n_parties, n_lowers, lowers[TSIM_TASK_MAX_SIGNALS];
    int32_t raised_counter;
};

/* When a message was under way; 0: it has not been sent. */
struct tsim_transfer {
    tsim_tick begin, end;
};

struct tsim_stage_group {
    const struct tsim_step_plan *plan;
    const struct tsim_stage_plan *stage_plan;
    struct tsim_stage_group *next, *prev; /* the next and the previous stage of this replica, in a ring */
    struct tsim_step_message to_next, to_prev;
    struct tsim_engine *engine;
    int32_t stage, replica, n_members, streams[TSIM_N_STREAMS];
    double slowdown; /* time of the slowest member's kernels over the usual time: above 1 with a degraded accelerator */
    struct tsim_member *members;
    /* Room for the demands of a task that has more of them than a task holds. Each stream has a block, which grows with
     * what its tasks need: a block for the longest routes of all members would take 100 MB with thousands of groups. */
    struct tsim_arena *arena;
    struct tsim_demand *demands[TSIM_N_STREAMS];
    int32_t n_demands[TSIM_N_STREAMS];
    const struct tsim_links *links; /* the topology's; NULL: each member has links of its own */
    /* Copies between accelerators and hosts (copies.h): */
    const struct tsim_slots *slots; /* NULL: no other traffic crosses the slots */
    int32_t copies_go, copied;      /* signals by item: its copies may begin; they are over */
    int32_t host_gradients;         /* signal: the host has all gradients */
    struct tsim_copying copying[TSIM_N_COPY_DIRECTIONS];
    /* Signals by batch of the input pipeline: it is in the host's memory, on the accelerator, in use. `batch_there`
     * tells only of batches for which a pass had to wait. */
    int32_t batch_there, batch_copied, batch_taken;
    int32_t batch;    /* the next batch to copy */
    int32_t reads_go; /* signals by batch: it is in use, and another one may be read over the NICs (input_reads.h) */
    /* Collectives and messages: */
    struct tsim_crossed_links sent[TSIM_N_SENT]; /* the links that messages to other stages cross */
    struct tsim_expansion *expansions;           /* network: steps */
    int32_t n_expansions;
    struct tsim_expanding expanding[TSIM_N_STREAMS];
    struct tsim_pass_cursor cursor;                             /* of the compute stream */
    struct tsim_communicator communicators[TSIM_AXIS_PIPELINE]; /* by axis, as their streams */
    struct tsim_beside_stream beside[TSIM_AXIS_PIPELINE];
    int64_t n_exchanges[2]; /* exchanges of experts so far, on the compute stream and beside it */
    bool keeps_step;        /* its exchanges of experts begin together with those of all other groups (in_step.h) */
    bool plays_pass;        /* the pass under way is played operator by operator; else it is one task */
    bool is_told; /* a listener wants operators: those of the items in `told_items`, or of all items if NULL */
    const bool *told_items; /* by item of the whole schedule */
    /* By axis of a pass's collectives: the links that they cross have room for all traffic but the group's own data
     * stream (peak_demand.h). If they have room for that as well, what each rank sends is only counted, by meters. */
    bool has_spare_links[TSIM_AXIS_PIPELINE];
    struct tsim_axis_meters {
        int32_t scale_up, nic; /* handles of the engine, below 0; 0: no meter */
    } meters[TSIM_AXIS_PIPELINE];
    struct tsim_host_stream host;
    struct tsim_operator_run run; /* the task of the compute stream */
    double pass_noise;            /* ticks that chance has added to the segment's kernels that have ended */
    const struct tsim_data_collective *asked[TSIM_N_STREAMS]; /* the collective that the task being made stands for */
    tsim_tick go_end; /* data stream: when the messages of the collective under way began */
    /* First signals, by tsim_stage_group_slot: what a pass waits for has come; what it sends may go. */
    int32_t activation_in, gradient_in, forward_out, backward_out;
    /* First signals, by bucket, or by (item, unit) in fully sharded training: parameters are gathered, gradients are
     * there. If each micro-batch reduces, segment_done goes by (slot, bucket of the chunk). `reduced` is one signal:
     * all `n_reductions` are over. */
    int32_t gathered, segment_done, reduced;
    int32_t n_reductions;
    int32_t reductions;                            /* a counter of the reductions that are over */
    int32_t n_released;                            /* the reductions that passes have let begin so far */
    struct tsim_transfer *activations, *gradients; /* messages to this stage group, by slot */
    /* The schedule from here on; periods.h leaves out what repeats. */
    const struct tsim_pass_item *items;
    int32_t n_items, n_skipped[2]; /* slots left out: of forward passes, of other passes */
    /* From here on, the places of the programs. The compute stream: */
    int32_t item, segment; /* the next pass */
    int32_t n_asked;       /* batches of the input pipeline so far */
    bool has_batch;        /* the next pass has its batch */
    bool awaits_copy;      /* its batch is in the host's memory */
    int32_t tail, tail_at; /* what follows the passes, and the next chunk of that */
    /* The streams that send activations and gradients: */
    int32_t send_at[2]; /* the next item to look at */
    /* The data stream: */
    int32_t gather_chunk, gather_bucket; /* the next parameters */
    int32_t reduce_item, reduce_bucket;  /* the next gradients */
    int32_t unit_item, unit_position;    /* fully sharded: the next unit */
    int32_t owed[2], n_owed;             /* items whose sends the compute stream has still to make, if it makes them */
    /* The account of the step (account.h): */
    /* The first operator of the pass under way, and its last operator so far. */
    tsim_tick steps_ready, steps_begin, operator_end;
    tsim_tick copies_end; /* of the last copy so far */
    bool has_operators;   /* the pass under way has had an operator */
    int32_t n_arrived;    /* batches; the last one came at last_arrival */
    tsim_tick last_arrival;
    tsim_tick first_begin, last_end; /* when the step began for this stage group; when its last task so far ended */
    int32_t accounted;               /* the next pass to be accounted for */
    int32_t n_pending;               /* messages that have come for that pass and those after it */
    int64_t *totals;
    int32_t n_totals, most_segments;
    struct tsim_stage_group_account *account;
};

/* task_demands.c adds demands to a task. */
/* Each member sends `bytes_per_s` over the links of its message `what` (TSIM_SENT_...). */
void tsim_stage_group_demand_sent(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, int what,
                                  double bytes_per_s, struct tsim_task *task);

/* The task takes `per_unit` of the resource for each unit of its work. The demand stands in the task or, if that is
 * full, in the stage group's own room. */
void tsim_stage_group_demand(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                             struct tsim_task *task, int32_t resource, double per_unit);
/* A member sends `up` bytes/s inside its node and `nic` bytes/s to other nodes, over the links that its collectives
 * `which` (TSIM_CROSSED_...) cross or, if they cross none, over its own links. */
void tsim_stage_group_demand_links(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                   struct tsim_task *task, const struct tsim_member *member, int which, double up,
                                   double nic);
/* Every member uses these fractions of its compute units and of its HBM's rate. Members do the same at the same time,
 * so one device stands for all of them, unless messages are played one by one. */
void tsim_stage_group_demand_device(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                    struct tsim_task *task, double units, double memory);
/* Makes `task` a whole pass, or the optimizer. */
void tsim_stage_group_pass_task(struct tsim_stage_group *group, const struct tsim_pass_cost *cost,
                                struct tsim_task *task);

/* stage_group_collective.c makes `task` the collective. The caller adds other signals that the task waits for or
 * lowers, and whom it joins. */
void tsim_stage_group_collective(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                                 const struct tsim_data_collective *collective, struct tsim_task *task);
struct tsim_expansion *tsim_stage_group_expansion(const struct tsim_stage_group *group,
                                                  const struct tsim_data_collective *collective);
/* Makes the stream's next task: the next one of the collective under way or, if there is none, what `next` makes. */
bool tsim_stage_group_next(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task,
                           bool (*next)(struct tsim_stage_group *, struct tsim_task *));

/* These are the programs (tsim_program_fn) of the streams; their context is the stage group. */
bool tsim_stage_group_compute(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_data(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_send_next(void *context, int32_t stream, struct tsim_task *task);
bool tsim_stage_group_send_prev(void *context, int32_t stream, struct tsim_task *task);

/* segments.c finds the cost of a segment of an item's pass; segments are numbered in execution order. */
void tsim_stage_group_segment_cost(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                                   struct tsim_pass_cost *cost);
/* Returns by how much the item's kernels are slower (or, by chance, faster) than such kernels usually are. */
double tsim_stage_group_slowdown(const struct tsim_stage_group *group, int32_t item, int32_t segment);
/* Finds the cost of one segment of an item whose pass is cut into `n` segments, without noise. */
void tsim_stage_group_pass_cost(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment,
                                int32_t n, struct tsim_pass_cost *cost);

/* A segment of an item goes through the layers of the model from `from` to before `to`, and through the ends of the
 * model. */
struct tsim_segment_layers {
    int64_t from, to;
    bool has_embedding, has_head;
};
struct tsim_segment_layers tsim_stage_group_segment_layers(const struct tsim_stage_group *group, int32_t item,
                                                           int32_t segment);
/* Returns the collective of the data-parallel group that a task with this item (of the whole schedule, or -1) and this
 * segment is. */
const struct tsim_data_collective *tsim_stage_group_data_collective(const struct tsim_stage_group *group,
                                                                    bool is_gather, int32_t item, int32_t segment);

/* Returns the collective of a unit of an item's pass in fully sharded training, by its position in execution order. */
const struct tsim_data_collective *tsim_stage_group_unit(const struct tsim_stage_group *group, enum tsim_pass_kind kind,
                                                         int32_t position, bool is_gather);
/* Returns whether the unit has such a collective. The root unit is gathered once a step, so it has none in backward
 * passes. */
bool tsim_stage_group_unit_has(const struct tsim_stage_group *group, enum tsim_pass_kind kind, int32_t position,
                               bool is_gather);
/* Returns the index of the pass among the signals. Passes after a left-out period take the signals of that period. */
static inline int32_t tsim_stage_group_slot(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    return tsim_step_slot(group->plan, item) - group->n_skipped[item.kind != TSIM_PASS_FORWARD];
}
/* Passes that cost the same share a place in the account. Each kind of pass has place 0 for passes that are not cut and
 * one place for each segment, and each of these twice: for passes that are one task, and for those played by
 * operators. */
static inline int32_t tsim_stage_group_n_places(const struct tsim_stage_group *group) {
    return 2 * group->stage_plan->n_alike * TSIM_N_PASS_WAYS * (1 + group->most_segments);
}
static inline int32_t tsim_stage_group_place(const struct tsim_stage_group *group, struct tsim_pass_item item,
                                             int32_t place, bool is_played) {
    int32_t alike = group->stage_plan->chunks[item.chunk].alike;
    return 2 * ((alike * TSIM_N_PASS_WAYS + tsim_item_way(item)) * (1 + group->most_segments) + place) + is_played;
}
/* Returns the item at `index`; a negative index is an item that periods.h has left out. */
static inline struct tsim_pass_item tsim_stage_group_item(const struct tsim_stage_group *group, int32_t index) {
    return group->items[index];
}
/* Returns the number of items that were left out. */
static inline int32_t tsim_stage_group_n_left_out(const struct tsim_stage_group *group) {
    return (int32_t)(group->items - group->stage_plan->items);
}
/* Returns whether somebody listens to the operators of this item of the whole schedule. */
static inline bool tsim_stage_group_tells(const struct tsim_stage_group *group, int64_t index) {
    return group->is_told && (!group->told_items || group->told_items[index]);
}

/* Returns whether the operators of an item's pass are played. A pass that is cut through the middle of a layer, or of a
 * layer list, stays a single task. */
static inline bool tsim_pass_is_played(const struct tsim_stage_group *group, int32_t index, bool is_cut) {
    const struct tsim_step_plan *plan = group->plan;
    if (plan->plays_operators == TSIM_OPERATORS_OF_NONE || plan->gathers_products ||
        (is_cut && tsim_model_layers_vary(plan->scenario->model)))
        return false;
    return plan->plays_operators == TSIM_OPERATORS_OF_ALL ||
           tsim_item_is_met(group->stage_plan, index + tsim_stage_group_n_left_out(group));
}

/* Returns whether this pass meets gathers (forward) or releases reductions (backward). */
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

/* copies.c returns whether the item's pass needs a batch of the input pipeline. */
bool tsim_stage_group_takes_input(const struct tsim_stage_group *group, int32_t item);

/* Finds where the result of a pass goes: the stage group and the item that waits for it there. Returns false if nothing
 * is sent. */
bool tsim_stage_group_route(const struct tsim_stage_group *group, struct tsim_pass_item item,
                            struct tsim_stage_group **to, struct tsim_pass_item *there);
/* Returns the cost of that message, from this stage to the next or the previous one. */
const struct tsim_collective_cost *tsim_stage_group_message(const struct tsim_stage_group *group,
                                                            struct tsim_pass_item item);
