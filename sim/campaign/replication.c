#include "campaign/replication.h"

#include "base/random.h"
#include "engine/event_queue.h"

#include <math.h>
#include <string.h>

#define TICKS_PER_S 1e3
#define MOST_TIMES_WORK 1e3

/* The streams of random numbers: one for each cause, one of repairs, and one of which node was lost. */
enum { STREAM_REPAIR = TSIM_N_CAUSES, STREAM_NODE, N_STREAMS };
/* The items of the event queue: one for each cause, the job, maintenance; from FIRST_SLOT on one of each kind for each
 * slot: what comes back from repair, a replaced unit with an age of its own, a slow node that is found. */
enum { ITEM_JOB = TSIM_N_CAUSES, ITEM_MAINTENANCE, FIRST_SLOT };
enum slot_kind { SLOT_REPAIR, SLOT_YOUNG, SLOT_SLOW, N_SLOT_KINDS };

enum phase { PHASE_RUN, PHASE_EVALUATE, PHASE_SAVE, PHASE_DETECT, PHASE_WAIT, PHASE_MAINTAIN, PHASE_RESTART };

struct slots {
    int *cause; /* of a young unit, or why a node is away; else unused */
    int32_t *free;
    size_t n, capacity, n_free, free_capacity;
};

struct run {
    const struct tsim_campaign_job *job;
    struct tsim_replication *out;
    tsim_campaign_take take; /* or NULL */
    void *context;
    struct tsim_event_queue queue;
    struct tsim_random random[N_STREAMS];
    int64_t now, phase_began;                               /* in ticks */
    double original[TSIM_N_CAUSES], scale_s[TSIM_N_CAUSES]; /* scale: of Weibull lives */
    struct slots slots[N_SLOT_KINDS];
    int64_t available, idle_spares, n_slow;
    int64_t n_away, n_gone, away_since; /* nodes in repair; nodes preempted; when that last changed, in ticks */
    enum phase phase;
    int owner; /* the loss to which the time of a phase without progress is charged */
    bool maintenance_is_due;
    double speed;               /* of this run phase */
    double share;               /* the part of the full speed that the present nodes allow */
    double position, target;    /* work done; work at which the run phase ends */
    double next_mark;           /* work at which the next checkpoint begins */
    double marks_before_target; /* checkpoints before the target */
    double until_durable;       /* checkpoints before the next one for the storage; 0: it is the next */
    double durable;             /* position to which the job goes back */
    double in_memory, before;   /* the position in the local tier, and the one before it; -1: there is none */
    int64_t in_memory_at;       /* when training went on after the last one */
    double pending;             /* a checkpoint that is being written, < 0: none; it is durable at pending_at */
    int64_t pending_at;
    double restart_s; /* of this time */
    int64_t *lost;    /* nodes, since the last restart; of those that hold a local tier */
    size_t n_lost, lost_capacity;
    double next_evaluation;
};

static const char *const LOSS_NAMES[TSIM_N_CAMPAIGN_LOSSES] = {
#define WORD(NAME, word) word,
    TSIM_CAUSES(WORD) TSIM_LOSSES_BESIDE_CAUSES(WORD)
#undef WORD
};

const char *tsim_campaign_loss_name(int loss) {
    return LOSS_NAMES[loss];
}

static int64_t ticks(double seconds) {
    double t = seconds * TICKS_PER_S;
    return t < 9e18 ? (int64_t)(t + 0.5) : INT64_MAX / 2;
}

static double seconds(int64_t t) {
    return (double)t / TICKS_PER_S;
}

/* ---- failures to come ---- */

static double weibull_scale_s(const struct tsim_failure_process *p) {
    return p->mtbf_s / tgamma(1 + 1 / p->shape);
}

/* Draws the next failure of the units that have not been replaced. */
static void draw_original(struct run *run, int cause) {
    const struct tsim_failure_process *p = &run->job->causes[cause];
    double units = run->original[cause];
    if (!(p->mtbf_s > 0) || !(units > 0)) {
        tsim_event_queue_remove(&run->queue, cause);
        return;
    }
    double e = tsim_random_exponential(&run->random[cause]) / units, wait_s;
    if (p->shape == 1) {
        wait_s = p->mtbf_s * e;
    } else {
        double scale = run->scale_s[cause], age_s = p->age_s + seconds(run->now);
        wait_s = scale * pow(pow(age_s / scale, p->shape) + e, 1 / p->shape) - age_s;
    }
    tsim_event_queue_put(&run->queue, cause, run->now + ticks(wait_s), TSIM_PHASE_END);
}

static int32_t item_of(enum slot_kind kind, int32_t slot) {
    return FIRST_SLOT + N_SLOT_KINDS * slot + (int32_t)kind;
}

static int32_t take_slot(struct slots *slots) {
    if (slots->n_free > 0)
        return slots->free[--slots->n_free];
    slots->cause = tsim_heap_grow(slots->cause, &slots->capacity, slots->n + 1, sizeof *slots->cause);
    return (int32_t)slots->n++;
}

static void give_slot(struct slots *slots, int32_t slot) {
    slots->free = tsim_heap_grow(slots->free, &slots->free_capacity, slots->n_free + 1, sizeof *slots->free);
    slots->free[slots->n_free++] = slot;
}

static void draw_young(struct run *run, int32_t slot) {
    int cause = run->slots[SLOT_YOUNG].cause[slot];
    const struct tsim_failure_process *p = &run->job->causes[cause];
    double life_s = run->scale_s[cause] * pow(tsim_random_exponential(&run->random[cause]), 1 / p->shape);
    tsim_event_queue_put(&run->queue, item_of(SLOT_YOUNG, slot), run->now + ticks(life_s), TSIM_PHASE_END);
}

/* Renews a unit of the cause that has failed: draws the next failure of original units, and the life of the new
 * unit. */
static void renew(struct run *run, int cause) {
    if (run->job->causes[cause].shape != 1) {
        run->original[cause] -= 1;
        int32_t slot = take_slot(&run->slots[SLOT_YOUNG]);
        run->slots[SLOT_YOUNG].cause[slot] = cause;
        draw_young(run, slot);
    }
    draw_original(run, cause);
}

/* ---- phases ---- */

static void charge(struct run *run, int loss, double lost_s) {
    run->out->lost_s[loss] += lost_s;
}

static void enter(struct run *run, enum phase phase, double duration_s) {
    run->phase = phase;
    run->phase_began = run->now;
    if (phase == PHASE_WAIT)
        tsim_event_queue_remove(&run->queue, ITEM_JOB);
    else
        tsim_event_queue_put(&run->queue, ITEM_JOB, run->now + ticks(duration_s), TSIM_PHASE_START);
}

/* ---- checkpoints: mark n is the n-th from now on, beginning with 0 ---- */

/* Counts the checkpoints for the storage among the first n. */
static double durable_marks(const struct run *run, double n) {
    return n > run->until_durable ? floor((n - 1 - run->until_durable) / run->job->durable_every) + 1 : 0;
}

/* Returns the time until the stall of mark n begins, in the run phase. */
static double mark_begins_s(const struct run *run, double n) {
    const struct tsim_campaign_job *job = run->job;
    return (run->next_mark - run->position) / run->speed + n * (job->interval_s / run->speed + job->stall_s) +
           durable_marks(run, n) * job->durable_stall_s;
}

static double stall_of_s(const struct run *run, double n) {
    return run->job->stall_s + (durable_marks(run, n + 1) - durable_marks(run, n)) * run->job->durable_stall_s;
}

/* Returns the last mark that has begun elapsed_s after the phase did, or -1 if there is none. */
static double last_mark(const struct run *run, double elapsed_s) {
    const struct tsim_campaign_job *job = run->job;
    double since_s = elapsed_s - (run->next_mark - run->position) / run->speed;
    if (since_s < 0 || run->marks_before_target < 1)
        return -1;
    double cycle_s = job->interval_s / run->speed + job->stall_s, most = run->marks_before_target - 1;
    double low = fmin(most, floor(since_s / (cycle_s + job->durable_stall_s))),
           high = fmin(most, floor(since_s / cycle_s));
    while (low < high) {
        double middle = ceil((low + high) / 2);
        if (mark_begins_s(run, middle) <= elapsed_s)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Returns the number of checkpoints that begin before `target`; one that falls together with it comes after it. */
static double marks_before(const struct run *run, double target) {
    return target > run->next_mark ? ceil((target - run->next_mark) / run->job->interval_s) : 0;
}

/* Returns the share of the full speed that the nodes that are there reach. */
static double share_of(const struct run *run) {
    const struct tsim_campaign_job *job = run->job;
    if (run->available >= job->nodes)
        return 1;
    double missing = ceil((double)(job->nodes - run->available) / job->nodes_per_replica);
    return job->replicas > 0 ? fmax(0, 1 - missing / (double)job->replicas) : 0;
}

static void enter_run(struct run *run) {
    const struct tsim_campaign_job *job = run->job;
    run->share = share_of(run);
    run->speed = run->share / (run->n_slow > 0 ? job->slowdown : 1);
    run->target = fmin(job->work_s, run->next_evaluation);
    run->marks_before_target = marks_before(run, run->target);
    double n = run->marks_before_target;
    double stalls_s = n > 0 ? n * job->stall_s + durable_marks(run, n) * job->durable_stall_s : 0;
    enter(run, PHASE_RUN, (run->target - run->position) / run->speed + stalls_s);
}

static void settle_pending(struct run *run) {
    if (run->pending >= 0 && run->pending_at <= run->now) {
        run->durable = run->pending;
        run->pending = -1;
    }
}

/* Keeps mark n, the last one for the storage that is finished, which was so `ago_s` ago. */
static void keep_durable(struct run *run, double n, double ago_s, double elapsed_s) {
    const struct tsim_campaign_job *job = run->job;
    double mark = run->next_mark + n * job->interval_s, last = n - job->durable_every;
    run->pending = -1;
    if (job->write_s <= ago_s) {
        run->durable = mark;
        return;
    }
    if (last >= 0 && mark_begins_s(run, last) + stall_of_s(run, last) + job->write_s <= elapsed_s)
        run->durable = mark - job->durable_every * job->interval_s;
    run->pending = mark;
    run->pending_at = run->now + ticks(job->write_s - ago_s);
}

/* Keeps the `done` checkpoints that were finished in the run phase. */
static void keep_checkpoints(struct run *run, double done, double elapsed_s) {
    double step = run->job->interval_s, every = run->job->durable_every, last = done - 1;
    settle_pending(run);
    if (done < 1)
        return;
    double ago_s = fmax(0, elapsed_s - mark_begins_s(run, last) - stall_of_s(run, last));
    run->before = done > 1 ? run->next_mark + (last - 1) * step : run->in_memory;
    run->in_memory = run->next_mark + last * step;
    run->in_memory_at = run->now - ticks(ago_s);
    double durable = durable_marks(run, done);
    if (durable > 0) {
        double n = run->until_durable + (durable - 1) * every;
        keep_durable(run, n, n < last ? elapsed_s - mark_begins_s(run, n) - stall_of_s(run, n) : ago_s, elapsed_s);
    }
    run->until_durable += durable * every - done;
    run->next_mark += done * step;
}

/* Returns the position of the run phase, which has not been settled, elapsed_s after its beginning. */
static double position_after(const struct run *run, double elapsed_s) {
    double n = last_mark(run, elapsed_s);
    if (n < 0)
        return fmin(run->target, run->position + elapsed_s * run->speed);
    double after_s = fmax(0, elapsed_s - mark_begins_s(run, n) - stall_of_s(run, n));
    return fmin(run->target, run->next_mark + n * run->job->interval_s + run->speed * after_s);
}

/* A run longer than this has its work spread evenly over the hours between failures. */
#define MOST_TOLD_S (10 * TSIM_YEAR_S)

static double next_hour_s(const struct run *run, double at_s) {
    double start_s = run->job->start_s;
    double next_s = (floor((at_s + start_s) / TSIM_HOUR_S) + 1) * TSIM_HOUR_S - start_s;
    return next_s > at_s ? next_s : next_s + TSIM_HOUR_S;
}

/* Tells a listener of the run phase so far. */
static void tell_run(const struct run *run, bool is_at_target) {
    double began_s = seconds(run->phase_began), end_s = seconds(run->now), at_s = began_s, position = run->position;
    bool tells_hours = run->job->tells_hours && run->target < MOST_TOLD_S;
    while (at_s < end_s) {
        double next_s = tells_hours ? fmin(end_s, next_hour_s(run, at_s)) : end_s;
        double to = next_s >= end_s && is_at_target ? run->target : position_after(run, next_s - began_s);
        run->take(run->context, at_s, next_s, TSIM_CAMPAIGN_RUNNING, to - position);
        at_s = next_s;
        position = to;
    }
}

/* Turns the time of the run phase so far into progress, checkpoints and losses. */
static void settle_run(struct run *run, bool is_at_target) {
    double elapsed_s = seconds(run->now - run->phase_began), began = run->position;
    double position = is_at_target ? run->target : position_after(run, elapsed_s);
    double last = last_mark(run, elapsed_s), done = last + 1;
    if (is_at_target)
        done = run->marks_before_target;
    else if (last >= 0 && elapsed_s < mark_begins_s(run, last) + stall_of_s(run, last))
        done = last;
    keep_checkpoints(run, done, elapsed_s);
    run->position = position;
    double work_s = position - began;
    charge(run, TSIM_CAMPAIGN_LOSS_SHRUNK, work_s / run->share - work_s);
    charge(run, TSIM_CAUSE_STRAGGLER, work_s / run->speed - work_s / run->share);
    charge(run, TSIM_CAMPAIGN_LOSS_CHECKPOINT, elapsed_s - work_s / run->speed);
}

/* Settles the present phase until now, at which it is over. */
static void settle(struct run *run, bool is_at_end) {
    int loss = run->phase == PHASE_EVALUATE ? (int)TSIM_CAMPAIGN_LOSS_EVALUATION : run->owner;
    if (run->phase == PHASE_RUN) {
        if (run->take)
            tell_run(run, is_at_end);
        settle_run(run, is_at_end);
        return;
    }
    if (run->take)
        run->take(run->context, seconds(run->phase_began), seconds(run->now), loss, 0);
    settle_pending(run);
    charge(run, loss, seconds(run->now - run->phase_began));
}

static void save_here(struct run *run) {
    run->durable = run->in_memory = run->before = run->position;
    run->in_memory_at = run->now;
    run->pending = -1;
    run->next_mark = run->position + run->job->interval_s;
    run->until_durable = run->job->durable_every - 1;
    run->restart_s = run->job->restart_s;
}

/* Returns whether a copy of what a lost node held is left on another one. Nodes are in groups of copies + 1 that hold
 * each other's copies (the last group may be larger); until the job has restarted, losses add up. */
static bool peers_hold(struct run *run) {
    const struct tsim_campaign_job *job = run->job;
    int64_t size = job->copies + 1, last_group = job->nodes / size - 1, node, lost_of_group = 0;
    bool is_known;
    if (job->copies == 0 || (int64_t)run->n_lost >= job->nodes)
        return false;
    do {
        node = (int64_t)(tsim_random_uniform(&run->random[STREAM_NODE]) * (double)job->nodes);
        is_known = node >= job->nodes;
        for (size_t i = 0; i < run->n_lost; i++)
            is_known |= run->lost[i] == node;
    } while (is_known);
    run->lost = tsim_heap_grow(run->lost, &run->lost_capacity, run->n_lost + 1, sizeof *run->lost);
    run->lost[run->n_lost++] = node;
    int64_t group = node / size < last_group ? node / size : last_group;
    for (size_t i = 0; i < run->n_lost; i++)
        lost_of_group += (run->lost[i] / size < last_group ? run->lost[i] / size : last_group) == group;
    return lost_of_group <= job->copies;
}

/* Takes the job back to the local tier, or, if a lost node held a part of it that no other node holds, to the
 * storage. */
static void roll_back(struct run *run, int cause) {
    const struct tsim_campaign_job *job = run->job;
    bool loses_node = job->causes[cause].takes_node;
    bool has_local = job->local_tier && run->in_memory >= 0 && (!loses_node || peers_hold(run));
    bool is_copied = !loses_node || run->in_memory_at + ticks(job->copy_s) <= run->now;
    double to = run->durable, next_durable = run->next_mark + run->until_durable * job->interval_s;
    if (has_local)
        to = fmax(to, is_copied ? run->in_memory : run->before);
    double redone_s = run->position - to;
    charge(run, cause, redone_s);
    run->out->redone_s += redone_s;
    run->out->local_restarts += has_local;
    run->restart_s = has_local ? job->local_restart_s : job->restart_s;
    run->position = to;
    run->next_mark = to + job->interval_s;
    if (!has_local || loses_node) { /* with a host's memory what it was writing is gone */
        next_durable = has_local && run->pending >= 0 ? 0 : next_durable;
        run->pending = -1;
    }
    double marks = round((next_durable - to) / job->interval_s) - 1;
    run->until_durable = has_local ? fmin(fmax(0, marks), job->durable_every - 1) : job->durable_every - 1;
    run->in_memory = has_local ? to : -1;
    run->before = run->in_memory;
    run->in_memory_at = INT64_MIN / 2;
}

static void restart_when_possible(struct run *run) {
    if (share_of(run) > 0)
        enter(run, PHASE_RESTART, run->restart_s + run->job->warmup_s);
    else
        enter(run, PHASE_WAIT, 0);
}

/* ---- what happens ---- */

/* Counts so many more nodes as in repair, or preempted, from now on. */
static void count_away(struct run *run, int64_t more, bool is_preempted) {
    double from_s = seconds(run->away_since), to_s = seconds(run->now);
    if (run->take && run->n_away > 0 && to_s > from_s)
        run->take(run->context, from_s, to_s, TSIM_CAMPAIGN_AWAY, (double)run->n_away);
    if (run->take && run->n_gone > 0 && to_s > from_s)
        run->take(run->context, from_s, to_s, TSIM_CAMPAIGN_GONE, (double)run->n_gone);
    run->out->gone_node_s += (double)run->n_gone * (to_s - from_s);
    *(is_preempted ? &run->n_gone : &run->n_away) += more;
    if (run->n_away + run->n_gone > run->out->most_away)
        run->out->most_away = run->n_away + run->n_gone;
    run->away_since = run->now;
}

static void lose_node(struct run *run, int cause) {
    bool is_preempted = cause == TSIM_CAUSE_PREEMPTION;
    count_away(run, 1, is_preempted);
    int32_t slot = take_slot(&run->slots[SLOT_REPAIR]);
    run->slots[SLOT_REPAIR].cause[slot] = cause;
    double away_s =
        (is_preempted ? run->job->gap_s : run->job->repair_s) * tsim_random_exponential(&run->random[STREAM_REPAIR]);
    if (run->idle_spares > 0)
        run->idle_spares--;
    else
        run->available--;
    tsim_event_queue_put(&run->queue, item_of(SLOT_REPAIR, slot), run->now + ticks(away_s), TSIM_PHASE_END);
}

/* Draws whether the node that was hit is in the job, if only so many are left of those that fail. */
static bool hits(struct run *run, int cause) {
    const struct tsim_campaign_job *job = run->job;
    if (run->available >= job->nodes || !job->causes[cause].takes_node)
        return true;
    return tsim_random_uniform(&run->random[cause]) * (double)job->nodes <= (double)run->available;
}

static void preempt(struct run *run) {
    const struct tsim_campaign_job *job = run->job;
    bool was_running = run->phase == PHASE_RUN || run->phase == PHASE_EVALUATE;
    settle(run, false);
    run->owner = TSIM_CAUSE_PREEMPTION;
    if (was_running && job->saves_on_notice) {
        enter(run, PHASE_SAVE, job->save_s);
        return;
    }
    roll_back(run, TSIM_CAUSE_PREEMPTION);
    restart_when_possible(run); /* it was announced, so nothing has to be detected */
}

/* Stops the job for a planned pause, in which nothing is lost but time. */
static void stop_for(struct run *run, int owner) {
    settle(run, false);
    run->owner = owner;
    enter(run, PHASE_SAVE, run->job->save_s);
}

static void change_speed(struct run *run) {
    if (run->phase != PHASE_RUN)
        return;
    settle(run, false);
    enter_run(run);
}

static void turn_slow(struct run *run) {
    int32_t slot = take_slot(&run->slots[SLOT_SLOW]);
    tsim_event_queue_put(&run->queue, item_of(SLOT_SLOW, slot), run->now + ticks(run->job->straggler_detection_s),
                         TSIM_PHASE_END);
    if (run->n_slow++ == 0)
        change_speed(run);
}

static void find_slow(struct run *run, int32_t slot) {
    give_slot(&run->slots[SLOT_SLOW], slot);
    run->n_slow--;
    lose_node(run, TSIM_CAUSE_STRAGGLER);
    if (run->phase == PHASE_RUN || run->phase == PHASE_EVALUATE) {
        run->out->interruptions[TSIM_CAUSE_STRAGGLER] += 1;
        stop_for(run, TSIM_CAUSE_STRAGGLER);
    } else if (run->phase == PHASE_RESTART) { /* it restarts anew, with another node */
        settle(run, false);
        restart_when_possible(run);
    }
}

static void fail(struct run *run, int cause) {
    const struct tsim_failure_process *p = &run->job->causes[cause];
    if (!hits(run, cause))
        return;
    if (cause == TSIM_CAUSE_STRAGGLER) {
        turn_slow(run);
        return;
    }
    if (p->takes_node)
        lose_node(run, cause);
    if (run->phase == PHASE_MAINTAIN)
        return;
    run->out->interruptions[cause] += 1;
    if (cause == TSIM_CAUSE_PREEMPTION) {
        preempt(run);
        return;
    }
    settle(run, false);
    roll_back(run, cause);
    run->owner = cause;
    enter(run, PHASE_DETECT, run->job->detection_s);
}

static void come_back(struct run *run, int32_t slot) {
    give_slot(&run->slots[SLOT_REPAIR], slot);
    count_away(run, -1, run->slots[SLOT_REPAIR].cause[slot] == TSIM_CAUSE_PREEMPTION);
    if (run->available >= run->job->nodes) {
        run->idle_spares++;
        return;
    }
    run->available++;
    if (run->phase == PHASE_WAIT && share_of(run) > 0) {
        settle(run, false);
        enter(run, PHASE_RESTART, run->restart_s + run->job->warmup_s);
    } else if (run->phase == PHASE_RUN && share_of(run) > run->share) {
        stop_for(run, TSIM_CAMPAIGN_LOSS_SHRUNK);
    }
}

static void begin_maintenance(struct run *run) {
    tsim_event_queue_put(&run->queue, ITEM_MAINTENANCE, run->now + ticks(run->job->maintenance_interval_s),
                         TSIM_PHASE_END);
    if (run->phase == PHASE_RUN)
        stop_for(run, TSIM_CAMPAIGN_LOSS_MAINTENANCE);
    else
        run->maintenance_is_due = true;
}

static void resume(struct run *run) {
    if (!run->maintenance_is_due) {
        enter_run(run);
        return;
    }
    run->maintenance_is_due = false;
    run->owner = TSIM_CAMPAIGN_LOSS_MAINTENANCE;
    enter(run, PHASE_SAVE, run->job->save_s);
}

/* Ends the phase of the job; returns false when the run is over. */
static bool end_phase(struct run *run) {
    enum phase phase = run->phase;
    settle(run, true);
    switch (phase) {
    case PHASE_RUN:
        if (run->position >= run->job->work_s)
            return false;
        run->next_evaluation += run->job->evaluation_interval_s;
        enter(run, PHASE_EVALUATE, run->job->evaluation_s);
        return true;
    case PHASE_EVALUATE:
        resume(run);
        return true;
    case PHASE_SAVE:
        save_here(run);
        if (run->owner == TSIM_CAMPAIGN_LOSS_MAINTENANCE)
            enter(run, PHASE_MAINTAIN, run->job->maintenance_s);
        else
            restart_when_possible(run);
        return true;
    case PHASE_DETECT:
    case PHASE_MAINTAIN:
        restart_when_possible(run);
        return true;
    case PHASE_RESTART:
        run->n_lost = 0;
        resume(run);
        return true;
    case PHASE_WAIT:
        break;
    }
    TSIM_BUG("a campaign's phase %d ended by itself", (int)phase);
}

static void begin(struct run *run, int64_t replication) {
    const struct tsim_campaign_job *job = run->job;
    TSIM_ASSERT(job->work_s > 0 && job->interval_s > 0 && job->durable_every >= 1);
    tsim_event_queue_init(&run->queue);
    for (uint64_t stream = 0; stream < N_STREAMS; stream++)
        tsim_random_init(&run->random[stream], job->seed, (uint64_t)replication, stream);
    run->available = job->nodes;
    run->idle_spares = job->spares;
    run->in_memory = run->before = run->pending = -1;
    run->restart_s = job->restart_s;
    run->next_mark = job->interval_s;
    run->until_durable = job->durable_every - 1;
    run->next_evaluation = job->evaluation_interval_s > 0 ? job->evaluation_interval_s : (double)INFINITY;
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++) {
        run->original[cause] = job->causes[cause].units;
        run->scale_s[cause] = weibull_scale_s(&job->causes[cause]);
        draw_original(run, cause);
    }
    if (job->maintenance_interval_s > 0)
        tsim_event_queue_put(&run->queue, ITEM_MAINTENANCE, ticks(job->maintenance_interval_s), TSIM_PHASE_END);
    enter_run(run);
}

static void handle_slot(struct run *run, enum slot_kind kind, int32_t slot) {
    if (kind == SLOT_REPAIR) {
        come_back(run, slot);
    } else if (kind == SLOT_SLOW) {
        find_slow(run, slot);
    } else {
        draw_young(run, slot);
        fail(run, run->slots[SLOT_YOUNG].cause[slot]);
    }
}

static void handle(struct run *run, int32_t item) {
    if (item < TSIM_N_CAUSES) {
        renew(run, item);
        fail(run, item);
    } else if (item == ITEM_MAINTENANCE) {
        begin_maintenance(run);
    } else {
        int32_t slot = (item - FIRST_SLOT) / N_SLOT_KINDS;
        handle_slot(run, (enum slot_kind)((item - FIRST_SLOT) % N_SLOT_KINDS), slot);
    }
}

static bool is_hopeless(const struct run *run) {
    const struct tsim_campaign_job *job = run->job;
    double most_s = job->give_up_s > 0 ? job->give_up_s : MOST_TIMES_WORK * job->work_s;
    return run->out->events > TSIM_CAMPAIGN_MOST_EVENTS || seconds(run->now) > most_s;
}

static void release(struct run *run) {
    tsim_event_queue_release(&run->queue);
    tsim_heap_free(run->lost);
    for (int kind = 0; kind < N_SLOT_KINDS; kind++) {
        tsim_heap_free(run->slots[kind].cause);
        tsim_heap_free(run->slots[kind].free);
    }
}

void tsim_campaign_replicate(const struct tsim_campaign_job *job, int64_t replication, struct tsim_replication *out) {
    tsim_campaign_replicate_observed(job, replication, NULL, NULL, out);
}

void tsim_campaign_replicate_observed(const struct tsim_campaign_job *job, int64_t replication, tsim_campaign_take take,
                                      void *context, struct tsim_replication *out) {
    struct run run = {.job = job, .out = out, .take = take, .context = context};
    struct tsim_event event;
    memset(out, 0, sizeof *out);
    begin(&run, replication);
    while (tsim_event_queue_pop(&run.queue, &event)) {
        run.now = event.tick;
        out->events++;
        if (event.item == ITEM_JOB && !end_phase(&run)) {
            out->is_finished = true;
            break;
        }
        if (event.item != ITEM_JOB)
            handle(&run, event.item);
        if (is_hopeless(&run))
            break;
    }
    count_away(&run, 0, false);
    out->time_s = seconds(run.now);
    release(&run);
}

/* ---- closed forms ---- */

/* Returns the mean rate of failures over the work, for the units that are there at the beginning. */
static struct tsim_amount failures_per_s(struct tsim_term_recorder *r, const struct tsim_campaign_job *job, int cause) {
    const struct tsim_failure_process *p = &job->causes[cause];
    const char *name = tsim_record_text(r, "%s: failures a second", tsim_campaign_loss_name(cause));
    struct tsim_amount units =
        tsim_given(r, "units", p->units, TSIM_FRACTION, "counted in the cluster (sim/campaign/reliability.h)");
    if (p->shape == 1)
        return tsim_product(
            r, name, "units / time between failures of one", TSIM_FRACTION,
            TSIM_PARTS(units, tsim_inverse(tsim_given(r, p->key, p->mtbf_s, TSIM_TIME_S, "the scenario"))));
    double scale = weibull_scale_s(p), work_s = job->work_s;
    struct tsim_amount of_one = tsim_counted(
        r, "failures a second of one", "((age + work) / scale)^shape - (age / scale)^shape, over the work",
        (pow((p->age_s + work_s) / scale, p->shape) - pow(p->age_s / scale, p->shape)) / work_s, TSIM_FRACTION,
        tsim_record_text(r, "%s, reliability.shape and reliability.age of the scenario (sim/campaign/replication.h)",
                         p->key));
    return tsim_product(r, name, "units x failures of one", TSIM_FRACTION, TSIM_PARTS(units, of_one));
}

/* Tells whether the local tier outlives an interruption; that two nodes are lost at a time is left out. */
static bool is_local(const struct tsim_campaign_job *job, int cause) {
    return job->local_tier && (!job->causes[cause].takes_node || job->copies > 0);
}

static bool is_announced(const struct tsim_campaign_job *job, int cause) {
    return cause == TSIM_CAUSE_STRAGGLER || (cause == TSIM_CAUSE_PREEMPTION && job->saves_on_notice);
}

/* Returns the rate at which all nodes of a group are lost, to first order: one node is, and in the restart after it the
 * others of its group. */
static double group_rate_per_s(const struct tsim_campaign_job *job) {
    double node_per_s = 0, restart_s = job->detection_s + job->local_restart_s + job->warmup_s;
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++)
        if (job->causes[cause].mtbf_s > 0 && job->causes[cause].takes_node && !is_announced(job, cause))
            node_per_s += failures_per_s(NULL, job, cause).value;
    double rate_per_s = node_per_s;
    for (int64_t i = 1; i <= job->copies; i++)
        rate_per_s *= fmin(1, node_per_s * restart_s) * (double)(job->copies + 1 - i) / (double)(job->nodes - i);
    return rate_per_s;
}

struct tsim_amount tsim_campaign_mtbf(struct tsim_term_recorder *r, const struct tsim_campaign_job *job,
                                      enum tsim_campaign_kind kind) {
    static const char *const NAMES[] = {
        [TSIM_CAMPAIGN_ANY] = "campaign.mtbf_s",
        [TSIM_CAMPAIGN_LOSING_WORK] = "time between failures that lose work",
        [TSIM_CAMPAIGN_TO_LOCAL_TIER] = "time between failures that the local tier outlives",
        [TSIM_CAMPAIGN_TO_STORAGE] = "time between failures that go back to the storage"};
    struct tsim_part_list causes = {.recorder = r};
    if (kind == TSIM_CAMPAIGN_TO_STORAGE && job->local_tier && job->copies > 0)
        tsim_part_add(&causes,
                      tsim_counted(r, "groups of nodes lost a second",
                                   "a node, and in the restart after it the others of its group", group_rate_per_s(job),
                                   TSIM_FRACTION, "to first order (sim/campaign/replication.c)"));
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++) {
        bool counts = kind == TSIM_CAMPAIGN_ANY ||
                      (!is_announced(job, cause) && (kind == TSIM_CAMPAIGN_LOSING_WORK ||
                                                     is_local(job, cause) == (kind == TSIM_CAMPAIGN_TO_LOCAL_TIER)));
        if (job->causes[cause].mtbf_s > 0 && counts)
            tsim_part_add(&causes, failures_per_s(r, job, cause));
    }
    if (!(causes.sum > 0))
        return (struct tsim_amount){.value = (double)INFINITY};
    struct tsim_amount all = tsim_sum_of(&causes, "failures a second", "sum over all causes", TSIM_FRACTION);
    return tsim_product(r, NAMES[kind], "1 / failures a second", TSIM_TIME_S, TSIM_PARTS(tsim_inverse(all)));
}

double tsim_optimal_interval_s(double stall_s, double mtbf_s) {
    if (isinf(mtbf_s))
        return mtbf_s;
    double low = 0, high = 1, stall = stall_s / mtbf_s;
    for (int i = 0; i < 100; i++) {
        double x = (low + high) / 2;
        *(1 - x > exp(-x - stall) ? &low : &high) = x;
    }
    return low * mtbf_s;
}

double tsim_daly_time_s(double work_s, double interval_s, double stall_s, double restart_s, double mtbf_s) {
    return mtbf_s * exp(restart_s / mtbf_s) * expm1((interval_s + stall_s) / mtbf_s) * work_s / interval_s;
}
