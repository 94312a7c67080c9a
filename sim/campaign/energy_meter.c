#include "campaign/energy_meter.h"

#include <math.h>
#include <string.h>

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
    double whole_s = TSIM_HOUR_S * floor(length_s / (TSIM_HOUR_S * (double)meter->n_hours)); /* of each hour */
    for (size_t i = 0; i < meter->n_hours && whole_s > 0; i++)
        add(&meter->hours[i], whole_s, loss, loss == TSIM_CAMPAIGN_RUNNING ? amount * whole_s / length_s : amount);
    for (double at_s = begin_s + whole_s * (double)meter->n_hours; at_s < end_s;) {
        double hour = floor((at_s + meter->start_s) / TSIM_HOUR_S);
        double next_s = fmin(end_s, (hour + 1) * TSIM_HOUR_S - meter->start_s);
        if (!(next_s > at_s)) { /* rounding */
            hour += 1;
            next_s = fmin(end_s, (hour + 1) * TSIM_HOUR_S - meter->start_s);
        }
        double share = loss == TSIM_CAMPAIGN_RUNNING ? (next_s - at_s) / length_s : 1;
        add(&meter->hours[(size_t)fmod(hour, (double)meter->n_hours)], next_s - at_s, loss, amount * share);
        at_s = next_s;
    }
}

struct tsim_amount tsim_energy_drawn(struct tsim_term_recorder *r, const struct tsim_energy_meter_time *time,
                                     const struct tsim_energy_meter_power *power) {
    static const char *const FORMULA = "power x time";
    return tsim_sum(
        r, "energy of the run, at the meter", "training + pauses + at rest + nodes that are away", TSIM_JOULES,
        TSIM_PARTS(tsim_product(r, "training", FORMULA, TSIM_JOULES, TSIM_PARTS(power->loaded, time->loaded)),
                   tsim_product(r, "evaluating", FORMULA, TSIM_JOULES, TSIM_PARTS(power->evaluating, time->evaluating)),
                   tsim_product(r, "at rest", FORMULA, TSIM_JOULES, TSIM_PARTS(power->idle, time->idle)),
                   tsim_product(r, "nodes in repair, beside a node at rest", FORMULA, TSIM_JOULES,
                                TSIM_PARTS(power->away, time->away)),
                   tsim_inverse(tsim_product(r, "preempted nodes, which others pay for", FORMULA, TSIM_JOULES,
                                             TSIM_PARTS(power->gone, time->gone)))));
}

struct tsim_energy_meter_hour tsim_energy_meter_total(const struct tsim_energy_meter *meter) {
    struct tsim_energy_meter_hour total = {0};
    for (size_t i = 0; i < meter->n_hours; i++) {
        const struct tsim_energy_meter_hour *hour = &meter->hours[i];
        total.time_s += hour->time_s;
        total.loaded_s += hour->loaded_s;
        total.evaluating_s += hour->evaluating_s;
        total.away_node_s += hour->away_node_s;
        total.gone_node_s += hour->gone_node_s;
    }
    return total;
}

static double energy_j(const struct tsim_energy_meter_hour *hour, const struct tsim_energy_meter_power *power) {
    const struct tsim_energy_meter_time time = {.loaded = {.value = hour->loaded_s},
                                                .idle = {.value = hour->time_s - hour->loaded_s - hour->evaluating_s},
                                                .evaluating = {.value = hour->evaluating_s},
                                                .away = {.value = hour->away_node_s},
                                                .gone = {.value = hour->gone_node_s}};
    return tsim_energy_drawn(NULL, &time, power).value;
}

double tsim_energy_meter_mean(const struct tsim_energy_meter *meter, const struct tsim_energy_meter_power *power) {
    double sum = 0, all_j = 0;
    for (size_t hour = 0; hour < meter->n_hours; hour++) {
        double hour_j = energy_j(&meter->hours[hour], power);
        sum += hour_j * meter->profile->values[hour];
        all_j += hour_j;
    }
    return sum / all_j;
}

/* Returns the integral from the profile's first hour to t. */
static double integral(const struct tsim_hourly *profile, double t_s) {
    double period_s = TSIM_HOUR_S * (double)profile->n_hours, periods = floor(t_s / period_s), whole = 0, sum = 0;
    double rest = (t_s - periods * period_s) / TSIM_HOUR_S;
    for (size_t hour = 0; hour < profile->n_hours; hour++) {
        whole += profile->values[hour];
        sum += profile->values[hour] * fmax(0, fmin(1, rest - (double)hour));
    }
    return TSIM_HOUR_S * (periods * whole + sum);
}

double tsim_hourly_mean(const struct tsim_hourly *profile, double start_s, double time_s, double even) {
    if (profile->n_hours == 0 || !(time_s > 0))
        return even;
    return (integral(profile, start_s + time_s) - integral(profile, start_s)) / time_s;
}
