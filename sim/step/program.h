/* program.h - one optimizer step as lazily generated programs on the engine.
 *
 * A *stage group* is the ranks that run a pipeline stage of one replica in lock-step: its tensor x context ranks. Each
 * stage group has the streams that its work needs:
 *   compute     runs forward and backward passes in the schedule's order, then the gradient's norm and the optimizer
 *   data        runs collectives of the data-parallel group: gathers of parameters, reductions of gradients
 *   send next   carries activations to the next part of the model
 *   send prev   carries gradients to the previous part (both sends are on the compute stream without overlap.pipeline)
 *   out, in     copy to the host and from it (copies.h)
 *   batch       copies batches of the input pipeline from the host
 *   beside      runs the collectives beside a pass's own kernels, one stream for each axis
 *   host        launches what the compute stream plays (host_stream.h); it has no tasks of its own, and kernels wait
 *               for it A rank's work exists only as the state of these small machines; nothing is laid out in advance.
 *
 * Operators. The compute stream plays a pass operator by operator (pass_program.h, pass_tasks.h): each kernel and each
 * collective is a task. Operators that follow one another and that nothing can disturb are joined into one task, which
 * takes to the tick what they take one by one. A whole part of the model, with what runs beside its kernels, takes what
 * it took when it was played alone (pass_alone.h), as long as nothing else uses the device and the links that it
 * crosses have room for all who may use them (peak_demand.h). If somebody listens to operators, parts are played one by
 * one.
 *
 * A pass is one task in three cases: with `simulation.detail: passes`, unless its collectives meet others (step_plan.h,
 * enum tsim_operators_of); if it is cut through the middle of a layer, as ZeRO-3 that gathers product by product does;
 * and if a pass through a layer list is cut at all.
 *
 * Segments. A pass is cut into segments where something outside must see its inside. The first micro-batch's forward
 * pass waits for parameters bucket by bucket. The last micro-batch's backward pass releases gradients bucket by bucket.
 * Fully sharded training (ZeRO-3) gathers and reduces layer by layer in every pass.
 *
 * Resources. A member of a stage group has its compute units and its HBM (each 1 second per second), and both
 * directions of its scale-up link and of its share of the NICs (unfolded: the links of the topology, expansion.h). A
 * kernel demands all compute units, and the share of HBM that it needs. A collective demands the links that it crosses,
 * the compute units that its blocks take, and the HBM that it reads and writes. Collectives are weighted far above
 * kernels: they keep their rate, and kernels get the rest. A pass that is one task demands all compute units, and the
 * links at its average rates. If it has collectives of its own, it weighs as much as other collectives and shares the
 * links as an equal.
 *
 * Zero bubble. These schedules take the optimizer's step without waiting for other stages and validate the gradient's
 * norm afterwards (post-validation, Qi et al. 2023, section 4). Stages work shifted against each other step after step,
 * so a step takes what the slowest stage takes from its first pass to the end of its optimizer. The rare rollback is
 * not modelled. In dualpipe two stages hold each part, and its gradients are reduced over both.
 *
 * Input. With an input pipeline, a forward pass that begins with the embedding (or the first layer of a list) comes
 * after the arrival of its batch (step_input.h).
 *
 * Folding. Data-parallel replicas that cannot differ are simulated once. Replicas that differ only by the speed of
 * their accelerators are simulated once for each speed (stand_ins.h). One rank of a stage group stands for all its
 * ranks. Unfolded, every rank has its own resources and the collectives join all replicas; the times are the same. */
#pragma once

#include "cost/collective.h"
#include "engine/engine.h"
#include "step/pass/pass.h"

#define TSIM_STEP_TICK_S 1e-12 /* the engine's tick in a step */

enum tsim_stage_group_stream {
    TSIM_STREAM_COMPUTE,
    TSIM_STREAM_DATA,
    TSIM_STREAM_NEXT,
    TSIM_STREAM_PREV,
    TSIM_STREAM_OUT, /* copies to the host, from it, and of batches from it */
    TSIM_STREAM_IN,
    TSIM_STREAM_BATCH,
    TSIM_STREAM_BESIDE, /* by axis: collectives beside the kernels of a pass */
    TSIM_N_STREAMS = TSIM_STREAM_BESIDE + TSIM_AXIS_PIPELINE,
    TSIM_STREAM_HOST = TSIM_N_STREAMS /* no stream of the engine: its launches are reported as its tasks */
};
enum { TSIM_N_TOLD_STREAMS = TSIM_STREAM_HOST + 1 };

enum tsim_task_kind {
    TSIM_TASK_PASS,   /* label: item, segment (a position in execution order) */
    TSIM_TASK_SEND,   /* label: item */
    TSIM_TASK_GATHER, /* label: item (or -1), segment */
    TSIM_TASK_REDUCE, /* label: item (or -1), segment */
    TSIM_TASK_TIED,   /* sum of the tied embedding's gradient, over first and last stage */
    TSIM_TASK_NORM,   /* the gradient's global norm, over all ranks */
    TSIM_TASK_OPTIMIZER,
    TSIM_TASK_OPERATOR, /* label: item, segment; the last operator of a pass is the PASS */
    /* The label has the item. The task waits until the item's batch has come from the input pipeline (segment 0), or
     * has been copied (segment 1). */
    TSIM_TASK_INPUT,
    /* A collective except for its last task; the segment is its kind. Sinks are told of its parts under that kind. */
    TSIM_TASK_GO,
    TSIM_TASK_COPY /* label: item, or -1 for a batch; segment: enum tsim_copy_direction */
};

struct tsim_stage_group_account {
    int32_t stage, replica;
    int32_t multiplicity;                /* accelerators for which it stands */
    struct tsim_step_terms terms;        /* they add up to the step's time */
    double matrix_busy_s, memory_busy_s; /* of each accelerator of the stage group */
    double scale_up_bytes, nic_bytes;    /* sent by each accelerator */
    double pass_nic_bytes;               /* the part of nic_bytes that collectives inside passes send */
    double exposed_gather_s, exposed_reduce_s, exposed_norm_s, interference_s; /* the parts of exposed_data_s */
    /* Parts of terms.compute_s if passes are tasks: what their kernels take beyond the cost model's time, what waiting
     * for the host adds, and what chance adds. The last one is the part of recompute_s that chance adds. */
    double slowdown, host_wait_s, chance_s, recompute_chance_s;
    double copy_wait_s; /* part of compute_s: waits for copies to and from the host, and kernels slowed by them */
    /* By axis, the time that collectives of passes add to the step beyond what each adds to a pass that is played
     * alone, because they meet other traffic. It is below 0 if that makes them begin later, and so hides them. */
    double met_s[TSIM_N_AXES];
    bool plays_operators;            /* true: operators are timed one by one, in some or all passes */
    double data_busy_s, send_busy_s; /* of the other streams, hidden or not */
    /* For each accelerator, the buffers of data-parallel collectives (S of cost/collective.h) and the messages to other
     * stages; and the time of the passes beside which such collectives may run. */
    double data_bytes, sent_bytes, beside_data_s;
    /* The n_inputs + 1 gaps between batches, as input_pipeline.h defines them, if the stage takes batches from an input
     * pipeline. */
    double *input_gaps_s;
    int32_t n_inputs;
};

/* The links of one sort over the step. In a folded step they are those of the ranks that are simulated. */
struct tsim_link_utilization {
    const char *sort; /* "NIC out" */
    int32_t n_links;
    double mean_frac, highest_frac; /* parts of capacity x step time */
    double highest_bytes, highest_capacity_bytes_per_s;
    char busiest[80]; /* name of the link with the highest load, the first of equals */
};

/* Foreign traffic got this far in the step. */
struct tsim_background_progress {
    double bytes;   /* bytes that got through in the step, on the link where least did */
    double until_s; /* when all had got through everywhere, or the step's time */
};

struct tsim_step_simulation {
    double time_s;
    int64_t events, repeated_events; /* repeated_events, which events includes, were not simulated again (periods.h) */
    int32_t n_stage_groups, n_stages, n_replicas; /* stage group g = replica * n_stages + stage */
    double nic_out_bytes, nic_in_bytes; /* that flowed through the engine's NIC resources, over all stage groups */
    const struct tsim_stage_group_account *stage_groups;
    /* The busiest come first; sorts of links that nothing crossed are left out. */
    const struct tsim_link_utilization *link_utilizations;
    int32_t n_link_utilizations;
    /* One for each entry of cluster.background; NULL: nothing flows. */
    const struct tsim_background_progress *background;
};

/* The gradient's norm is one number per rank, the smallest message that there is. */
#define TSIM_NORM_BYTES 8.0

/* One of the collectives that follow one another in a collective of the data-parallel group: over the whole group, over
 * each of the parts that shard together, or over those that hold the same shard. */
enum tsim_among { TSIM_AMONG_ALL, TSIM_AMONG_SHARDS, TSIM_AMONG_REPLICAS, TSIM_N_AMONG };

struct tsim_collective_part {
    enum tsim_collective_op op;
    double bytes; /* S of cost/collective.h */
    enum tsim_among among;
    bool is_expert; /* its group are the ranks that hold the same experts */
};

enum { TSIM_MAX_GROUPS = 4, TSIM_MAX_PARTS = 4 };

/* The events, by number, that a task waits for and brings about. The task began when three things had happened: the
 * task before it on its stream had ended; so had all tasks that bring about one of its `waits`; and `awaited` tasks had
 * ended that raise awaited_count. It brings about the events in `lowers`. An event that no task brings about was there
 * from the beginning. */
struct tsim_task_events {
    int32_t n_waits, n_lowers, waits[TSIM_TASK_MAX_SIGNALS], lowers[TSIM_TASK_MAX_SIGNALS];
    int32_t awaited_count, raised_count; /* -1: none */
    int64_t awaited;
};

/* A kernel of a pass, a collective of it, or a meeting. A meeting takes no time: at it the compute stream waits for
 * what the pass waits for, waits for collectives beside its kernels, or lets such begin. Only sinks that need events
 * are told of meetings. */
struct tsim_step_operator {
    const char *name, *phase; /* "ffn up", "forward" | "backward" | "recompute" | "host" */
    enum tsim_part part;
    int64_t layer; /* -1: no layer, or all layers of a kind that vary */
    enum tsim_bound bound;
    bool is_collective, is_meeting;
    enum tsim_axis axis; /* of collectives */
    enum tsim_collective_op collective;
    double collective_bytes; /* S of cost/collective.h; a piece has its part */
    /* collectives: the compute stream goes on beside it; the second as in tsim_op. */
    bool is_beside, goes_once_per_node;
    int32_t piece, n_pieces; /* of a collective beside the pieces of a product; 0 of 1 is all of it */
    double hbm_bytes;
};

/* A task of a stage group's stream, which a sink is told of when it has ended. A collective that is played message by
 * message is one task. Operators are of kind OPERATOR. Collectives of a pass are on the stream of their axis, even if
 * kernels wait for them. The launch of an operator is a task of the host's stream, of the operator's kind and without
 * work. */
struct tsim_step_task {
    int32_t stage_group; /* its number in the simulation */
    enum tsim_stage_group_stream stream;
    enum tsim_task_kind kind;
    const struct tsim_pass_item *item;   /* of passes, their operators and messages; else NULL */
    const struct tsim_step_operator *op; /* of operators; else NULL */
    int32_t segment;
    bool is_last_segment; /* of a pass */
    double begin_s, end_s;
    /* These are for each accelerator of the stage group. */
    double flops, matrix_busy_s, memory_busy_s, scale_up_bytes, nic_bytes;
    int32_t to_stage_group;        /* of a message; else -1 */
    int64_t message;               /* number of the message that it sends, or for which the pass has waited; -1: none */
    struct tsim_parts model_parts; /* the parts that a pass goes through, */
    struct tsim_parts kept_parts;  /* and those of them that it does not execute again while it does others */
    /* Gathers and reductions: the part of one group; message by message: all parts. */
    const struct tsim_collective_part *parts;
    int32_t n_parts;
    const struct tsim_task_events *events; /* NULL unless the sink needs them */
};

/* The size of a step. A sink is told this before the first task. */
struct tsim_step_outline {
    int32_t n_stage_groups, n_stages;
    int64_t n_messages;       /* the messages have the numbers below this */
    const int32_t *stand_ins; /* by replica: which replica is simulated for it */
    /* The number of operators in a micro-batch's passes by stage, wanted launches included; NULL if passes are not
     * played by operators. */
    const int64_t *n_operators;
    bool has_launches;  /* the host's stream is played */
    bool bypasses_norm; /* stages work shifted against each other: a step takes what the longest of them takes */
};

/* The links of one sort, which several ranks share, for a short while: parts of their capacity. */
struct tsim_step_links_sample {
    int32_t sort; /* tsim_link_sort_name */
    double begin_s, end_s;
    double mean_frac, highest_frac; /* of all links of the sort; of the busiest */
};

/* A listener to a step. It is told `begin` before the first task. The tasks of a stream come in the order of time, a
 * pass after its operators. A period that repeats is simulated once and told as often as it happens (periods.h), unless
 * the sink needs the tasks' events. An operator is told if `wants_operators` is true for its stage group and
 * `wants_item` for its item. Without `wants_operators` no operator is told; without `wants_item` those of all items
 * are. Other passes are joined as if there were no sink. */
struct tsim_step_sink {
    void (*begin)(void *context, const struct tsim_step_outline *outline);
    void (*take)(void *context, const struct tsim_step_task *task);
    void *context;
    /* needs_whole_passes: with simulation.detail: passes all passes are one task. */
    bool needs_events, needs_whole_passes;
    bool wants_launches; /* true: launches are told with the operators */
    /* Tells of links that several ranks share, sort by sort, in samples without gaps. NULL: not wanted. Where one rank
     * stands for all of a stage's, links are not told: none is in anybody's way. */
    void (*take_links)(void *context, const struct tsim_step_links_sample *sample);
    bool (*wants_operators)(void *context, int32_t stage_group);
    bool (*wants_item)(void *context, const struct tsim_pass_item *item);
};

/* Returns the energy of each accelerator of the stage group over `time_s`, with its part of the node. */
struct tsim_amount tsim_stage_group_energy(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster,
                                           const struct tsim_stage_group_account *group, double time_s);

/* The waits of passes for their batches, n_waits of them, in the order of each stage, and equal on all stages that take
 * batches. */
struct tsim_step_input {
    const double *waits_s; /* NULL: no pass waits */
    /* The bytes of a batch that come over the NIC of each rank that gets it, and their highest rate (data.network). 0
     * means that none come over NICs. */
    double read_bytes, read_bytes_per_s;
};

/* Simulates a step whose passes wait for their batches as `input` says; with NULL they do not wait. `sink` may be
 * NULL. */
enum tsim_status tsim_step_simulate_with_late_batches(
    struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
    const struct tsim_placement *placement, const struct tsim_pass_costs *costs, const struct tsim_step_input *input,
    const struct tsim_step_sink *sink, struct tsim_step_simulation *simulation, struct tsim_diags *diags);
/* Simulates a step whose batches are always there, and tells `sink`, which may be NULL, what happens. */
enum tsim_status tsim_step_simulate_observed(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                             const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                             const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                             struct tsim_step_simulation *simulation, struct tsim_diags *diags);
/* Simulates a step that nobody listens to. */
enum tsim_status tsim_step_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                    const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                    const struct tsim_pass_costs *costs, struct tsim_step_simulation *simulation,
                                    struct tsim_diags *diags);
