/* energy_meter.h - a run's electricity over time: what draws power when, and what that costs or emits by the hour.
 *
 * The facility's power at a moment is the sum of
 *   loaded_w      for the share of a stretch in which the job works at full speed, also where that work is lost later;
 *                 if replicas are missing, for the share of replicas that work
 *   evaluating_w  in a pause for evaluation
 *   idle_w        in all other time
 *   away_w        for each node that has failed and is in repair, beside one of the above (negative: it draws less)
 *   gone_w        for each node that is preempted, likewise
 *
 * Energy is summed for each hour of the profile, which repeats from start_s on. So
 *
 *   sum over the hours of energy x the hour's value
 *
 * is exact: stretches are cut at the hours (replication.h), and power is constant within a stretch. */
#pragma once

#include "base/term.h"
#include "campaign/replication.h"

/* Sums over all times at which this hour of the profile came round. */
struct tsim_energy_meter_hour {
    double time_s, loaded_s, evaluating_s, away_node_s, gone_node_s;
};

struct tsim_energy_meter {
    const struct tsim_hourly *profile; /* a profile without hours has one, as long as the run */
    double start_s;
    size_t n_hours; /* at least 1 */
    struct tsim_energy_meter_hour *hours;
};

/* The facility's power in each state, in W; away and gone are per node. */
struct tsim_energy_meter_power {
    struct tsim_amount loaded, idle, evaluating, away, gone;
};
/* The members are the times in each state, in s; away and gone are sums over all nodes. */
struct tsim_energy_meter_time {
    struct tsim_amount loaded, idle, evaluating, away, gone;
};

void tsim_energy_meter_init(struct tsim_arena *arena, const struct tsim_hourly *profile, double start_s,
                            struct tsim_energy_meter *meter);
/* Adds a stretch of a run, with the arguments of tsim_campaign_take. */
void tsim_energy_meter_take(struct tsim_energy_meter *meter, double begin_s, double end_s, int loss, double amount);
/* Returns the energy in J: the sum over the states of time x power. */
struct tsim_amount tsim_energy_drawn(struct tsim_term_recorder *recorder, const struct tsim_energy_meter_time *time,
                                     const struct tsim_energy_meter_power *power);
/* Returns the sum over all hours. */
struct tsim_energy_meter_hour tsim_energy_meter_total(const struct tsim_energy_meter *meter);
/* Returns the mean of a profile that has hours, each hour weighted with its energy. */
double tsim_energy_meter_mean(const struct tsim_energy_meter *meter, const struct tsim_energy_meter_power *power);

/* Returns the mean of a profile over time_s from start_s on, or `even` if the profile has no hours. */
double tsim_hourly_mean(const struct tsim_hourly *profile, double start_s, double time_s, double even);
