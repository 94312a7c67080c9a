/* The engine's use of sharing: an activity takes nothing before it flows, and rates are solved once per tick, only in
 * regions that have changed. Ticks of 1 ps; S is a second. n_filled counts the activities that went through filling. */
#include "engine/engine_internal.h"
#include "support/script_rig.h"

static struct script_step *after(struct script_step *step, int32_t signal) {
    step->task.waits[step->task.n_waits++] = signal;
    return step;
}

static struct script_step *lowering(struct script_step *step, int32_t signal) {
    step->task.lowers[step->task.n_lowers++] = signal;
    return step;
}

static int64_t n_filled(void) {
    return script.engine->sharing.n_filled;
}

/* Starts, ends, and solves that changed a rate: what is left of n_events are the solves. */
static void expect_solves(int64_t n_tasks, int64_t n_solves) {
    ck_assert_int_eq(tsim_engine_n_events(script.engine) - 2 * n_tasks, n_solves);
}

/* ---- latency ---- */

/* 1 unit/s. A's 1 unit takes 1 s; a hundred others wait out latencies of just 1 s: at that tick A ends, before they
 * begin to flow. Nobody ever shares with A, and the hundred are solved for once. 100 units at 1/100 each: 100 s. */
TSIM_TEST(latency_takes_nothing) {
    enum { N = 100 };
    int32_t link = resource(1);
    struct script_step *a = script_flow(&script, script_stream(&script), 1, 0, link), *others[N];
    for (int i = 0; i < N; i++)
        others[i] = script_flow(&script, script_stream(&script), 1, S, link);
    script_run(&script);
    script_expect(a, 0, S);
    for (int i = 0; i < N; i++)
        script_expect(others[i], 0, S + N * S);
    ck_assert_int_eq(n_filled(), N);
    expect_solves(N + 1, 1);
}

/* A (2 units) has the link alone until B's latency of 1 s is over; then 1/2 each. A has 1 left: 2 s more, 3 s. B (2
 * units) has 1 left then, which it moves alone: 4 s. B's latency goes by in full although the link is never free. */
TSIM_TEST(latency_goes_by_beside_a_busy_link) {
    int32_t link = resource(1);
    struct script_step *a = script_flow(&script, script_stream(&script), 2, 0, link);
    struct script_step *b = script_flow(&script, script_stream(&script), 2, S, link);
    script_run(&script);
    script_expect(a, 0, 3 * S);
    script_expect(b, 0, 4 * S);
}

/* A join waits for its last party (2 s), then waits out its latency (1 s), and only then slows A down. 1 unit/s; A has
 * 4 units, 1 left at 3 s, at 1/2: 5 s. The message of 3 units has 2 left then: 7 s. */
TSIM_TEST(neither_joining_nor_latency_takes_anything) {
    int32_t link = resource(1), early = script_stream(&script), late = script_stream(&script);
    struct script_step *a = script_flow(&script, script_stream(&script), 4, 0, link);
    script_step(&script, late, 0, 2 * S);
    struct script_step *sent = script_party(&script, early, 5, 2), *received = script_party(&script, late, 5, 2);
    sent->task.work = received->task.work = 3;
    sent->task.latency = S;
    script_demand(sent, link, 1);
    script_run(&script);
    script_expect(a, 0, 5 * S);
    script_expect(sent, 2 * S, 7 * S);
    script_expect(received, 2 * S, 7 * S);
}

/* ---- bounds ---- */

/* 10 units/s. Three bounded to 1, 2, 3 units/s leave 4 to an unbounded fourth. With 1, 2, 3 and 4 units all take 1 s;
 * the fourth was limited by the link alone, which it leaves with the others: no solve at the end. */
TSIM_TEST(bounds_leave_the_rest) {
    int32_t link = resource(10);
    struct script_step *steps[4];
    for (int i = 0; i < 4; i++) {
        steps[i] = script_flow(&script, script_stream(&script), i + 1, 0, link);
        steps[i]->task.bound_per_s = i < 3 ? i + 1 : 0;
    }
    script_run(&script);
    for (int i = 0; i < 4; i++)
        script_expect(steps[i], 0, S);
    expect_solves(4, 1);
}

/* 10 units/s for ten that are bounded to 1 each: together just the capacity, so nobody is ever in anybody's way. They
 * come and go at 0, 1, 2 ... s and each takes 5 s; up to five at a time. */
TSIM_TEST(bounds_that_fit_need_no_solve) {
    int32_t link = resource(10);
    struct script_step *steps[10];
    for (int i = 0; i < 10; i++) {
        steps[i] = script_flow(&script, script_stream(&script), 5, i * S, link);
        steps[i]->task.bound_per_s = 1;
    }
    script_run(&script);
    for (int i = 0; i < 10; i++)
        script_expect(steps[i], 0, (i + 5) * S);
    ck_assert_int_eq(n_filled(), 0);
    expect_solves(10, 0);
}

/* A bound that a share falls below stops binding, and binds again later. 4 units/s; A is bounded to 3 and has 8 units.
 * Alone until 1 s (3 done). Then B (4 units): 2 each, until B ends at 3 s (A: 4 more, 1 left). Alone at 3: 1/3 s. */
TSIM_TEST(a_bound_binds_again) {
    int32_t link = resource(4);
    struct script_step *a = script_flow(&script, script_stream(&script), 8, 0, link);
    struct script_step *b = script_flow(&script, script_stream(&script), 4, S, link);
    a->task.bound_per_s = 3;
    script_run(&script);
    script_expect(b, 0, 3 * S);
    script_expect(a, 0, 3 * S + 333333333333);
}

/* ---- once per tick ---- */

/* 50 streams send 4 messages each, one after another, 1 unit at 1/50 unit/s: they end at 50, 100, 150, 200 s. At each
 * of these ticks 50 end and 50 start, with one solve, for 50. */
TSIM_TEST(ends_and_starts_of_a_tick_are_one_solve) {
    enum { N = 50, ROUNDS = 4 };
    int32_t link = resource(1);
    struct script_step *steps[N][ROUNDS];
    for (int i = 0; i < N; i++) {
        int32_t stream = script_stream(&script);
        for (int k = 0; k < ROUNDS; k++)
            steps[i][k] = script_flow(&script, stream, 1, 0, link);
    }
    script_run(&script);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < ROUNDS; k++)
            script_expect(steps[i][k], k * N * S, (k + 1) * N * S);
    ck_assert_int_eq(n_filled(), ROUNDS * N);
    expect_solves(N * ROUNDS, ROUNDS);
}

/* A cascade within one tick: a chain of 20 tasks of no length, each of which sets off a flow. All 20 flows start at
 * that tick, through 20 signals one after the other, and there is one solve. 20 units at 1 unit/s: 20 s. */
TSIM_TEST(a_cascade_within_a_tick_is_one_solve) {
    enum { N = 20 };
    int32_t link = resource(1), before = signal_of(0);
    struct script_step *flows[N];
    for (int i = 0; i < N; i++) {
        int32_t fired = signal_of(1);
        lowering(after(script_step(&script, script_stream(&script), 0, 0), before), fired);
        flows[i] = after(script_flow(&script, script_stream(&script), 1, 0, link), fired);
        before = fired;
    }
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(flows[i], 0, N * S);
    ck_assert_int_eq(n_filled(), N);
    expect_solves(2 * N, 1);
}

/* Two links with a change each at the same tick (1 s): B comes on one, D on the other; one solve for both pairs. A and
 * C (2 units) have 1 left, at 1/2: 3 s. B and D (1 unit) have 1/2 done at 2 s and end at 3 s too. */
TSIM_TEST(changes_on_two_links_are_one_solve) {
    int32_t first = resource(1), second = resource(1);
    struct script_step *a = script_flow(&script, script_stream(&script), 2, 0, first);
    struct script_step *b = script_flow(&script, script_stream(&script), 1, S, first);
    struct script_step *c = script_flow(&script, script_stream(&script), 2, 0, second);
    struct script_step *d = script_flow(&script, script_stream(&script), 1, S, second);
    script_run(&script);
    script_expect(a, 0, 3 * S);
    script_expect(b, 0, 3 * S);
    script_expect(c, 0, 3 * S);
    script_expect(d, 0, 3 * S);
    ck_assert_int_eq(n_filled(), 4);
    expect_solves(4, 1);
}

/* ---- only what changed ---- */

/* 100 links of 3 units/s with two flows each (at 3/2, solved for at 0: 200). One more comes on link 7 at 1 s and goes:
 * 3 are looked at when it comes, the 2 that stay when it goes, the other 198 never again. 6 units at 3/2: 4 s. On link
 * 7: 1 s at 3/2, then at 1; the third ends its 1 unit at 2 s; 6 - 3/2 - 1 = 7/2 at 3/2: 7/3 s, 13/3 s. */
TSIM_TEST(other_links_are_not_looked_at) {
    enum { N = 100, BUSY = 7 };
    struct script_step *steps[N][2], *third = NULL;
    for (int i = 0; i < N; i++) {
        int32_t link = resource(3);
        for (int k = 0; k < 2; k++)
            steps[i][k] = script_flow(&script, script_stream(&script), 6, 0, link);
        if (i == BUSY)
            third = script_flow(&script, script_stream(&script), 1, S, link);
    }
    script_run(&script);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++)
            script_expect(steps[i][k], 0, i == BUSY ? 4333333333333 : 4 * S);
    script_expect(third, 0, 2 * S);
    ck_assert_int_eq(n_filled(), 2 * N + 3 + 2);
    expect_solves(2 * N + 1, 3);
}

/* Two links of 1 unit/s with a flow of 2 units each. At 1 s a message of 1/2 unit over both makes them one component:
 * all at 1/2, it ends at 2 s. Two alone again, 1/2 left each: 5/2 s. 3 are looked at when it comes, 2 when it goes. */
TSIM_TEST(a_bridge_joins_two_components) {
    int32_t first = resource(1), second = resource(1);
    struct script_step *a = script_flow(&script, script_stream(&script), 2, 0, first);
    struct script_step *b = script_flow(&script, script_stream(&script), 2, 0, second);
    struct script_step *bridge = script_flow(&script, script_stream(&script), 0.5, S, first);
    script_demand(bridge, second, 1);
    script_run(&script);
    script_expect(bridge, 0, 2 * S);
    script_expect(a, 0, 2 * S + S / 2);
    script_expect(b, 0, 2 * S + S / 2);
    ck_assert_int_eq(n_filled(), 3 + 2);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
