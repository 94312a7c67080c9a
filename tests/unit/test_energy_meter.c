/* energy_meter.h against closed forms: what a run costs and emits by the hour. */
#include "campaign/energy_meter.h"
#include "support/campaign_job.h"
#include "support/training_rig.h"

#include <math.h>
#include <string.h>

/* ---- the mean of a profile ---- */

/* The profile is 0 for 12 hours and 1 for 12: from 18 h on, 30 hours hold 6 hours of 1, 12 of 0 and 12 of 1. */
TSIM_TEST(a_square_wave_is_integrated) {
    double values[24] = {0};
    for (int hour = 12; hour < 24; hour++)
        values[hour] = 1;
    const struct tsim_hourly day = {values, 24}, none = {NULL, 0};
    ck_assert_double_eq_tol(tsim_hourly_mean(&day, 18 * HOUR, 30 * HOUR, 9), 18.0 / 30, 1e-12);
    ck_assert_double_eq_tol(tsim_hourly_mean(&day, 0, 365 * DAY, 9), 0.5, 1e-12);
    ck_assert_double_eq_tol(tsim_hourly_mean(&day, 11.5 * HOUR, HOUR, 9), 0.5, 1e-12);
    ck_assert_double_eq_tol(tsim_hourly_mean(&day, 40 * DAY + 23.75 * HOUR, 0.5 * HOUR, 9), 0.5, 1e-12);
    ck_assert_double_eq(tsim_hourly_mean(&none, 0, DAY, 9), 9);
}

/* ---- a campaign at the meter ---- */

static void take(void *context, double begin_s, double end_s, int loss, double amount) {
    tsim_energy_meter_take(context, begin_s, end_s, loss, amount);
}

static struct tsim_campaign_job job_of(double work_s) {
    struct tsim_campaign_job job = without_failures((struct tsim_campaign_job){
        .work_s = work_s, .nodes = 128, .interval_s = (double)INFINITY, .durable_every = 1, .tells_hours = true});
    return job;
}

static const double NO_VALUES[24];
static const struct tsim_hourly A_DAY = {NO_VALUES, 24};

static struct tsim_energy_meter meter_of(const struct tsim_campaign_job *job, int n) {
    struct tsim_energy_meter meter;
    tsim_energy_meter_init(&arena, &A_DAY, job->start_s, &meter);
    for (int i = 0; i < n; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate_observed(job, i, take, &meter, &one);
    }
    return meter;
}

/* The time is 41 days and a half from 6:15 on, taken at once and hour by hour. */
TSIM_TEST(whole_days_are_taken_at_once) {
    struct tsim_energy_meter whole, pieces;
    const double end_s = 41.5 * DAY;
    tsim_energy_meter_init(&arena, &A_DAY, 6.25 * HOUR, &whole);
    tsim_energy_meter_init(&arena, &A_DAY, 6.25 * HOUR, &pieces);
    tsim_energy_meter_take(&whole, 0, end_s, TSIM_CAMPAIGN_RUNNING, 0.5 * end_s);
    tsim_energy_meter_take(&whole, 0, end_s, TSIM_CAMPAIGN_AWAY, 3);
    for (double at_s = 0; at_s < end_s; at_s += HOUR) {
        tsim_energy_meter_take(&pieces, at_s, at_s + HOUR, TSIM_CAMPAIGN_RUNNING, 0.5 * HOUR);
        tsim_energy_meter_take(&pieces, at_s, at_s + HOUR, TSIM_CAMPAIGN_AWAY, 3);
    }
    for (int hour = 0; hour < 24; hour++) {
        ck_assert_double_eq_tol(whole.hours[hour].time_s, pieces.hours[hour].time_s, 1e-3);
        ck_assert_double_eq_tol(whole.hours[hour].loaded_s, pieces.hours[hour].loaded_s, 1e-3);
        ck_assert_double_eq_tol(whole.hours[hour].away_node_s, pieces.hours[hour].away_node_s, 1e-3);
    }
}

/* 10 hours of work from 7:30 on, with 20 minutes for a checkpoint after every two hours of work: 9:30 to 9:50, 11:50 to
 * 12:10, 14:10 to 14:30, 16:30 to 16:50; the end is at 18:50. */
TSIM_TEST(checkpoints_are_idle_in_their_hour) {
    struct tsim_campaign_job job = job_of(10 * HOUR);
    job.interval_s = 2 * HOUR;
    job.stall_s = 20 * 60;
    job.start_s = 7.5 * HOUR;
    const struct {
        int hour;
        double time_min, loaded_min;
    } EXPECTED[] = {{6, 0, 0},    {7, 30, 30},  {8, 60, 60},  {9, 60, 40},  {10, 60, 60}, {11, 60, 50}, {12, 60, 50},
                    {13, 60, 60}, {14, 60, 40}, {15, 60, 60}, {16, 60, 40}, {17, 60, 60}, {18, 50, 50}, {19, 0, 0}};
    struct tsim_energy_meter meter = meter_of(&job, 1);
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++) {
        const struct tsim_energy_meter_hour *hour = &meter.hours[EXPECTED[i].hour];
        ck_assert_double_eq_tol(hour->time_s, EXPECTED[i].time_min * 60, 1e-2);
        ck_assert_double_eq_tol(hour->loaded_s, EXPECTED[i].loaded_min * 60, 1e-2);
    }
}

/* Nodes fail at the rate n / m and are away for r on average: by Little's law n r / m of them at a time. In 40 runs of
 * 100 days with 2,000 failures each the count's standard error is 0.35 %, that of the mean repair 0.35 %. */
TSIM_TEST(nodes_in_repair_are_counted) {
    enum { N = 40 };
    struct tsim_campaign_job job = job_of(100 * DAY);
    job.interval_s = HOUR;
    job.repair_s = 6 * HOUR;
    job.spares = 1000;
    job.causes[TSIM_CAUSE_HOST] = taking_nodes(128, 128 * DAY / 20);
    struct tsim_energy_meter meter = meter_of(&job, N);
    double time_s = 0, away_s = 0;
    for (int hour = 0; hour < 24; hour++) {
        time_s += meter.hours[hour].time_s;
        away_s += meter.hours[hour].away_node_s;
    }
    ck_assert_double_eq_tol(away_s / time_s, 20.0 * 6 / 24, 4 * 0.005 * 20 * 6 / 24);
}

/* Preempted nodes follow the same law: at the rate 20 a day with a gap of 6 h. */
TSIM_TEST(preempted_nodes_are_counted) {
    enum { N = 40 };
    struct tsim_campaign_job job = job_of(100 * DAY);
    job.interval_s = HOUR;
    job.gap_s = 6 * HOUR;
    job.spares = 1000;
    job.causes[TSIM_CAUSE_PREEMPTION] = taking_nodes(128, 128 * DAY / 20);
    double time_s = 0, gone_s = 0, metered_s = 0;
    for (int i = 0; i < N; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate(&job, i, &one);
        time_s += one.time_s;
        gone_s += one.gone_node_s;
    }
    ck_assert_double_eq_tol(gone_s / time_s, 20.0 * 6 / 24, 4 * 0.005 * 20 * 6 / 24);
    struct tsim_energy_meter meter = meter_of(&job, N);
    for (int hour = 0; hour < 24; hour++) {
        metered_s += meter.hours[hour].gone_node_s;
        ck_assert_double_eq(meter.hours[hour].away_node_s, 0);
    }
    ck_assert_double_eq_tol(metered_s / gone_s, 1, 1e-9);
}

/* ---- a scenario ---- */

#define FAILS "{node_mtbf: 1000 h, repair: 5 h, replications: 20, spares: 2}"

static struct tsim_campaign run_with(const char *reliability, const char *energy) {
    const struct tsim_override overrides[] = {{"energy", energy}, {"reliability", reliability}};
    struct tsim_result result = train(load_shipped("llama70b", overrides, reliability ? 2 : 1));
    ck_assert(result.campaign.has);
    return result.campaign;
}

TSIM_TEST(a_constant_profile_is_the_scalar) {
    const char *const RELIABILITY[] = {NULL, FAILS};
    for (int i = 0; i < 2; i++) {
        struct tsim_campaign scalar = run_with(RELIABILITY[i], "{price: 0.25 USD/kWh, carbon: 0.125 kg/kWh}");
        struct tsim_campaign hourly =
            run_with(RELIABILITY[i],
                     "{price_profile: [0.25 USD/kWh, 0.25 USD/kWh], carbon_profile: [0.125 kg/kWh], start: 5 h}");
        ck_assert_double_eq_tol(hourly.energy_kwh / scalar.energy_kwh, 1, 1e-9);
        ck_assert_double_eq_tol(hourly.electricity_usd / scalar.electricity_usd, 1, 1e-9);
        ck_assert_double_eq_tol(hourly.co2_kg / scalar.co2_kg, 1, 1e-9);
        ck_assert_double_eq_tol(hourly.electricity_usd, 0.25 * hourly.energy_kwh, 1e-6 * hourly.electricity_usd);
    }
}

/* Without failures the power is even: what an hour costs counts as long as it lasts. */
TSIM_TEST(without_failures_only_the_hours_count) {
    struct tsim_campaign c = run_with(NULL, "{price_profile: [0 USD/kWh, 0.2 USD/kWh, 0 USD/kWh], carbon_profile: "
                                            "[1 kg/kWh, 0 kg/kWh], start: 1.5 h}");
    double hours = c.days * 24, dear = 0, dirty = 0;
    for (double at = 1.5; at < 1.5 + hours;) {
        double next = fmin(floor(at) + 1, 1.5 + hours);
        dear += fmod(floor(at), 3) == 1 ? next - at : 0;
        dirty += fmod(floor(at), 2) == 0 ? next - at : 0;
        at = next;
    }
    ck_assert_double_eq_tol(c.electricity_usd, 0.2 * c.energy_kwh * dear / hours, 1e-9 * c.electricity_usd);
    ck_assert_double_eq_tol(c.co2_kg, c.energy_kwh * dirty / hours, 1e-9 * c.co2_kg);
}

/* With failures: over four hours, of which one costs, each of the four beginnings pays for another quarter of the same
 * run, and all of them together for all of it. */
TSIM_TEST(beginnings_share_the_run) {
    double sum = 0, energy_kwh = 0, last = 0;
    for (int start = 0; start < 4; start++) {
        struct tsim_campaign c = run_with(
            FAILS, tsim_arena_printf(
                       &arena, "{price_profile: [1 USD/kWh, 0 USD/kWh, 0 USD/kWh, 0 USD/kWh], start: %d h}", start));
        sum += c.electricity_usd;
        energy_kwh = c.energy_kwh;
        ck_assert_double_ne(c.electricity_usd, last);
        ck_assert_double_eq_tol(c.electricity_usd / c.energy_kwh, 0.25, 0.01);
        last = c.electricity_usd;
    }
    ck_assert_double_eq_tol(sum, energy_kwh, 1e-9 * sum);
}

/* Nodes in repair draw half the power of idle ones, or are switched off: the same difference twice. */
TSIM_TEST(a_node_in_repair_can_be_switched_off) {
    double kwh[3];
    const char *const FRACTIONS[] = {"1", "0.5", "0"};
    for (int i = 0; i < 3; i++)
        kwh[i] = run_with(tsim_arena_printf(&arena,
                                            "{node_mtbf: 1000 h, repair: 5 h, replications: 20, spares: 2, "
                                            "repair_power: %s}",
                                            FRACTIONS[i]),
                          "{}")
                     .energy_kwh;
    ck_assert_double_gt(kwh[0], kwh[1]);
    ck_assert_double_eq_tol(kwh[0] - kwh[1], kwh[1] - kwh[2], 1e-6 * (kwh[0] - kwh[1]));
}

TSIM_MAIN(60, set_up, tear_down)
