/* replication.h - one whole run, from its first step to its last, through failures: a discrete-event simulation on the
 * engine's event queue, with a tick of 1 ms. Nothing here knows a model or a machine; reliability.h makes the job.
 *
 * The job does `work_s` of training at full speed. It is in one phase at a time:
 *   run        progress, with a stall for a checkpoint after every interval_s of work
 *   evaluate   a pause
 *   down       detection, then (while a node is missing) waiting, then restart, then warm-up; no progress
 *   save       a checkpoint on notice, or before maintenance
 *
 * A failure in any phase throws the job back to its last usable checkpoint and starts `down` anew (Daly 2006). A
 * failure during maintenance takes a node and does nothing else.
 *
 * Checkpoints have one or two tiers. Each holds the job for stall_s. With a local tier it then lies in the hosts'
 * memory, and every so-many-th goes on to the storage: with durable_stall_s more, or under training. A failure that
 * takes no node (software, a link, a switch) goes back to the local tier. A failure that takes a node loses what that
 * node's memory held, and the job goes back to the storage. Where other nodes hold copies, it does so only if all nodes
 * of a group of copies + 1 are lost before the job has restarted (Moody et al. 2010, SC '10, doi:10.1109/SC.2010.18;
 * Wang et al. 2023, Gemini, SOSP '23, doi:10.1145/3600006.3613145).
 *
 * A straggler is a node that turns slow and does not fail. Every step takes `slowdown` times as long, however many
 * nodes are slow at a time, until each is found a fixed time later. Then the job saves, puts another node in its place
 * and restarts.
 *
 * Failures of identical units at a constant rate are superposed: n streams of rate r are one Poisson stream of rate n
 * r, so 16,384 accelerators cost one event a failure. With a Weibull shape k other than 1 the units have ages. Those
 * that are left of the n original ones are one stream again, whose next failure comes when the sum of their cumulative
 * hazards n (age / scale)^k has grown by an exponential variate; every replaced unit is a renewal process of its own.
 * Both are exact, without approximation (tests/unit/test_campaign.c compares with one stream a unit).
 *
 * Checkpoints between two events are not events: how far a run has come and what is durable is computed when something
 * happens. A checkpoint holds the job for stall_s and is durable write_s after that; the writing of one must end before
 * the next begins (reliability.h sees to it).
 *
 * Random numbers depend on (seed, replication, cause) alone, so replications may be played in any order, by any
 * thread. */
#pragma once

#include "base/term.h"
#include "config/scenario.h"

struct tsim_failure_process {
    double units;
    double mtbf_s;   /* mean time between failures of one unit; 0: it never fails */
    const char *key; /* the scenario's key that sets the rate, for messages */
    double shape;    /* of the Weibull distribution; 1: exponential */
    double age_s;    /* age of the units at the beginning */
    bool takes_node;
};

struct tsim_campaign_job {
    double work_s;
    struct tsim_failure_process causes[TSIM_N_CAUSES];
    double detection_s, restart_s, warmup_s;
    double repair_s, gap_s;                 /* mean times, exponential, until a failed or a preempted node is back */
    double slowdown, straggler_detection_s; /* for the cause TSIM_CAUSE_STRAGGLER */
    int64_t nodes, spares;
    int64_t replicas;         /* elastic: the job goes on with fewer of them; 0: it waits */
    double nodes_per_replica; /* may be a fraction */
    double interval_s;        /* work between checkpoints; INFINITY: none are taken */
    double stall_s, write_s;
    double save_s;                                /* time of a checkpoint that training waits for until it is durable */
    bool local_tier;                              /* checkpoints stay in the hosts' memory, too */
    double durable_every;                         /* every so-many-th goes on to the storage; whole, at least 1 */
    double durable_stall_s;                       /* added to stall_s for one that goes on to the storage */
    int64_t copies;                               /* other nodes that hold a copy of what a node holds */
    double copy_s;                                /* from the end of the stall until the copies are complete */
    double local_restart_s;                       /* in place of restart_s, from the local tier */
    bool saves_on_notice;                         /* a preemption loses no work */
    double evaluation_interval_s, evaluation_s;   /* the interval counts work; 0: none */
    double maintenance_interval_s, maintenance_s; /* the interval counts time; 0: none */
    bool tells_hours; /* `take` hears running stretches cut at full hours, counted from start_s */
    double start_s;
    double give_up_s; /* a run that has not ended by then has is_finished false; 0: 1,000 x work_s */
    uint64_t seed;
};

/* The causes to which time that does not go into the work is charged: the causes of interruption and these, X(NAME,
 * word). Shrunk is the time lost by running on fewer nodes and by growing again. */
#define TSIM_LOSSES_BESIDE_CAUSES(X)                                                                                   \
    X(CHECKPOINT, "checkpoint") X(EVALUATION, "evaluation") X(MAINTENANCE, "maintenance") X(SHRUNK, "shrunk")
enum tsim_campaign_loss {
    TSIM_CAMPAIGN_LAST_CAUSE = TSIM_N_CAUSES - 1,
#define TSIM_CAMPAIGN_LOSS_ENUM(NAME, word) TSIM_CAMPAIGN_LOSS_##NAME,
    TSIM_LOSSES_BESIDE_CAUSES(TSIM_CAMPAIGN_LOSS_ENUM)
#undef TSIM_CAMPAIGN_LOSS_ENUM
        TSIM_N_CAMPAIGN_LOSSES
};
const char *tsim_campaign_loss_name(int loss); /* "checkpoint"; for a cause of interruption its name: "hbm" */

struct tsim_replication {
    bool is_finished;                    /* false: given up after TSIM_CAMPAIGN_MOST_EVENTS, or give_up_s */
    double time_s;                       /* work_s + the sum of lost_s */
    double interruptions[TSIM_N_CAUSES]; /* their number, by cause */
    double lost_s[TSIM_N_CAMPAIGN_LOSSES];
    double redone_s;       /* work that was done and lost: a part of lost_s, but at full load */
    double local_restarts; /* interruptions after which the job went back to the local tier */
    int64_t events;
    int64_t most_away;  /* most nodes that were in repair or preempted at a time */
    double gone_node_s; /* node-seconds for which preempted nodes were missing */
};
enum { TSIM_CAMPAIGN_MOST_EVENTS = 1000000 };

void tsim_campaign_replicate(const struct tsim_campaign_job *job, int64_t replication, struct tsim_replication *out);

/* Does the same, and calls `take` for every stretch of time from the first to the last. `loss` is what the stretch is
 * charged to, or TSIM_CAMPAIGN_RUNNING while there is progress; `amount` is then the work done in it, also if that is
 * lost later. Stretches follow each other without gaps. Beside these come stretches of TSIM_CAMPAIGN_AWAY, in which
 * `amount` nodes are in repair, and of TSIM_CAMPAIGN_GONE, in which `amount` nodes are preempted. */
enum { TSIM_CAMPAIGN_RUNNING = -1, TSIM_CAMPAIGN_AWAY = -2, TSIM_CAMPAIGN_GONE = -3 };
typedef void (*tsim_campaign_take)(void *context, double begin_s, double end_s, int loss, double amount);
void tsim_campaign_replicate_observed(const struct tsim_campaign_job *job, int64_t replication, tsim_campaign_take take,
                                      void *context, struct tsim_replication *out);

/* The kinds of interruption. tsim_campaign_mtbf_s returns the mean time between interruptions of a kind, in units of
 * the job's work and without replaced units; INFINITY if there are none. */
enum tsim_campaign_kind {
    TSIM_CAMPAIGN_ANY,
    TSIM_CAMPAIGN_LOSING_WORK,
    TSIM_CAMPAIGN_TO_LOCAL_TIER, /* those that lose work and leave the local tier intact */
    TSIM_CAMPAIGN_TO_STORAGE     /* those that lose work and go back to the storage */
};
struct tsim_amount tsim_campaign_mtbf(struct tsim_term_recorder *recorder, const struct tsim_campaign_job *job,
                                      enum tsim_campaign_kind kind);
static inline double tsim_campaign_mtbf_s(const struct tsim_campaign_job *job, enum tsim_campaign_kind kind) {
    return tsim_campaign_mtbf(NULL, job, kind).value;
}

/* Returns the work t between checkpoints that minimises Daly's expected time M e^(R/M) (e^((t+d)/M) - 1) W / t (2006,
 * "A higher order estimate of the optimum checkpoint interval", FGCS 22), with d the stall of a checkpoint, M the mean
 * time between failures, R the restart and W the work. It is the root of 1 - t/M = e^(-(t+d)/M), which is near Young's
 * sqrt(2 d M) where d is far below M. The result is INFINITY if nothing fails, and 0 if the stall is 0. */
double tsim_optimal_interval_s(double stall_s, double mtbf_s);
/* Returns that expected time. restart_s is all that passes between a failure and the next progress. */
double tsim_daly_time_s(double work_s, double interval_s, double stall_s, double restart_s, double mtbf_s);
