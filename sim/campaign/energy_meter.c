#include "campaign/energy_meter.h"

#include <math.h>
#include <string.h>

#define HOUR_S 3600.0

void tsim_energy_meter_init(struct tsim_arena *arena, const struct tsim_hourly *profile, double start_s,
                            struct tsim_energy_meter *meter) {
    size_t n = profile->n_hours > 0 ? profile->n_hours : 1;
    *meter = (struct tsim_energy_meter){.profile = profile, .start_s = start_s, .n_hours = n};
    meter->hours = TSIM_NEW_ARRAY(arena, n, struct tsim_energy_meter_hour);
    memset(meter->hours, 0, n * sizeof *meter->hours);
}

static void add(struct tsim_energy_meter_hour *hour, double time_s, int loss, double amount) {
    if (loss == TSIM_CAMPAIGN_AWAY) {
        hour->away_node_s += amount * time_s;
        return;
    }
    if (loss == TSIM_CAMPAIGN_GONE) {
        hour->gone_node_s += amount * time_s;
        return;
    }
    hour->time_s += time_s;
    if (loss == TSIM_CAMPAIGN_RUNNING)
        hour->loaded_s += amount;
    if (loss == (int)TSIM_CAMPAIGN_LOSS_EVALUATION)
        hour->evaluating_s += time_s;
}

void tsim_energy_meter_take(struct tsim_energy_meter *meter, double begin_s, double end_s, int loss, double amount) {
    double length_s = end_s - begin_s;
    if (meter->n_hours == 1) {
        add(&meter->hours[0], length_s, loss, amount);
        return;
    }
    for (double at_s = begin_s; at_s < end_s;) {
        double hour = floor((at_s + meter->start_s) / HOUR_S);
        double next_s = fmin(end_s, (hour + 1) * HOUR_S - meter->start_s);
        if (!(next_s > at_s)) { /* rounding */
            hour += 1;
            next_s = fmin(end_s, (hour + 1) * HOUR_S - meter->start_s);
        }
        double share = loss == TSIM_CAMPAIGN_RUNNING ? (next_s - at_s) / length_s : 1;
        add(&meter->hours[(size_t)fmod(hour, (double)meter->n_hours)], next_s - at_s, loss, amount * share);
        at_s = next_s;
    }
}

static double energy_j(const struct tsim_energy_meter_hour *hour, const struct tsim_energy_meter_power *power) {
    double idle_s = hour->time_s - hour->loaded_s - hour->evaluating_s;
    return hour->loaded_s * power->loaded_w + hour->evaluating_s * power->evaluating_w + idle_s * power->idle_w +
           hour->away_node_s * power->away_w + hour->gone_node_s * power->gone_w;
}

double tsim_energy_meter_sum(const struct tsim_energy_meter *meter, const struct tsim_energy_meter_power *power,
                             double even) {
    double sum = 0;
    for (size_t hour = 0; hour < meter->n_hours; hour++)
        sum +=
            energy_j(&meter->hours[hour], power) * (meter->profile->n_hours > 0 ? meter->profile->values[hour] : even);
    return sum;
}

/* The integral from the profile's first hour to t. */
static double integral(const struct tsim_hourly *profile, double t_s) {
    double period_s = HOUR_S * (double)profile->n_hours, periods = floor(t_s / period_s), whole = 0, sum = 0;
    double rest = (t_s - periods * period_s) / HOUR_S;
    for (size_t hour = 0; hour < profile->n_hours; hour++) {
        whole += profile->values[hour];
        sum += profile->values[hour] * fmax(0, fmin(1, rest - (double)hour));
    }
    return HOUR_S * (periods * whole + sum);
}

double tsim_hourly_mean(const struct tsim_hourly *profile, double start_s, double time_s, double even) {
    if (profile->n_hours == 0 || !(time_s > 0))
        return even;
    return (integral(profile, start_s + time_s) - integral(profile, start_s)) / time_s;
}
