/* energy_meter.h - electricity of a run over its time: who draws what when, and what that costs or emits by the hour.
 *
 * The facility draws at every moment: loaded_w for the share of a stretch in which the job works at full speed (also
 * work that is lost later, and with fewer replicas the share of them), evaluating_w in a pause for evaluation, else
 * idle_w; and away_w more for every node that has failed and is in repair (less: it is negative), gone_w less for one
 * that is preempted. Energy is summed for
 * each hour of the profile, over and over from start_s on; then
 *
 *   sum over the hours of energy x the hour's value
 *
 * is exact: stretches are cut at the hours (replication.h), and within one the power is taken as even. */
#ifndef TSIM_CAMPAIGN_ENERGY_METER_H
#define TSIM_CAMPAIGN_ENERGY_METER_H

#include "base/term.h"
#include "campaign/replication.h"

struct tsim_energy_meter_hour { /* sums over all times that the hour came by */
    double time_s, loaded_s, evaluating_s, away_node_s, gone_node_s;
};

struct tsim_energy_meter {
    const struct tsim_hourly *profile; /* without hours: one that is as long as the run */
    double start_s;
    size_t n_hours; /* at least 1 */
    struct tsim_energy_meter_hour *hours;
};

struct tsim_energy_meter_power { /* the facility's draw in each state; away and gone: a node's */
    struct tsim_amount loaded, idle, evaluating, away, gone;
};
struct tsim_energy_meter_time { /* how long it draws which of them; away and gone: of all nodes together */
    struct tsim_amount loaded, idle, evaluating, away, gone;
};

void tsim_energy_meter_init(struct tsim_arena *arena, const struct tsim_hourly *profile, double start_s,
                            struct tsim_energy_meter *meter);
/* Counts a stretch of a run, as tsim_campaign_take tells it. */
void tsim_energy_meter_take(struct tsim_energy_meter *meter, double begin_s, double end_s, int loss, double amount);
/* Returns the energy that is drawn in a time. */
struct tsim_amount tsim_energy_drawn(struct tsim_term_recorder *recorder, const struct tsim_energy_meter_time *time,
                                     const struct tsim_energy_meter_power *power);
/* Returns the sum over all hours. */
struct tsim_energy_meter_hour tsim_energy_meter_total(const struct tsim_energy_meter *meter);
/* Returns the mean of a profile that has hours, each weighted with its energy. */
double tsim_energy_meter_mean(const struct tsim_energy_meter *meter, const struct tsim_energy_meter_power *power);

/* Returns the mean of a profile over time_s from start_s on, or `even` where the profile has no hours. */
double tsim_hourly_mean(const struct tsim_hourly *profile, double start_s, double time_s, double even);

#endif
