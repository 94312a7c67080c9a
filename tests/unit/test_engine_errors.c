/* Deadlocks that name who waits for whom, and bugs of ours that end the program. */
#include "engine/engine_internal.h"
#include "support/engine_rig.h"

#include <math.h>

/* ---- what goes wrong ---- */

static void expect_deadlock(const char *const *messages, size_t n_messages) {
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_items, n_messages);
    for (size_t i = 0; i < n_messages; i++)
        ck_assert_str_eq(diags.items[i].message, messages[i]);
}

/* Rank 0 sends what rank 1 does not expect: both are named. */
TSIM_TEST(a_mismatched_send_names_both) {
    for (int i = 0; i < 3; i++)
        add_stream();
    add_party(0, 8, 2, 1);
    add_task(1, 0, S);
    add_party(1, 9, 2, 1);
    add_task(2, 0, S);
    const char *const messages[] = {"deadlock after 1 s: 2 of 3 streams wait for ever",
                                    "join 8 has 1 of its 2 parties: stream 0 (rank 0 operation 0)",
                                    "join 9 has 1 of its 2 parties: stream 1 (rank 1 operation 1)"};
    expect_deadlock(messages, 3);
    expect(2, 0, 0, 0, S);
}

TSIM_TEST(parties_that_disagree_in_number_never_start) {
    add_stream();
    add_stream();
    add_party(0, 8, 2, 1);
    add_party(1, 8, 3, 1);
    const char *const messages[] = {"deadlock after 0 s: 2 of 2 streams wait for ever",
                                    "the parties of join 8 disagree: stream 0 (rank 0 operation 0) of 2 parties with 0 "
                                    "units, stream 1 (rank 1 operation 0) of 3 parties with 0 units"};
    expect_deadlock(messages, 2);
    ck_assert_int_eq(n_records, 0);
}

TSIM_TEST(parties_that_disagree_in_work_never_start) {
    add_stream();
    add_stream();
    add_party(0, 8, 2, 1)->work = 1e9;
    add_party(1, 8, 2, 1)->work = 1;
    const char *const messages[] = {
        "deadlock after 0 s: 2 of 2 streams wait for ever",
        "the parties of join 8 disagree: stream 0 (rank 0 operation 0) of 2 parties with 1e+09 "
        "units, stream 1 (rank 1 operation 0) of 2 parties with 1 units"};
    expect_deadlock(messages, 2);
}

/* A third party of a join of two comes too late: it opens a new one, which stays alone. */
TSIM_TEST(a_party_too_many_waits_for_ever) {
    for (int i = 0; i < 3; i++)
        add_party(add_stream(), 8, 2, 10);
    const char *const messages[] = {"deadlock after 1e-11 s: 1 of 3 streams wait for ever",
                                    "join 8 has 1 of its 2 parties: stream 2 (rank 2 operation 0)"};
    expect_deadlock(messages, 2);
    expect(0, 0, 0, 0, 10);
}

/* A circle: each waits for what the other would lower after. The signal's name comes from `describe`, too. */
TSIM_TEST(a_circle_of_signals) {
    int32_t first = tsim_engine_add_signals(engine, 2, 1);
    for (int i = 0; i < 2; i++) {
        struct tsim_task *task = add_task(add_stream(), 0, 1);
        wait_for(task, first + i);
        lower(task, first + 1 - i);
    }
    const char *const messages[] = {
        "deadlock after 0 s: 2 of 2 streams wait for ever",
        "stream 0 (rank 0 operation 0) waits for signal 0 (gradient 0), which must be lowered 1 more time",
        "stream 1 (rank 1 operation 0) waits for signal 1 (gradient 1), which must be lowered 1 more time"};
    expect_deadlock(messages, 3);
}

TSIM_TEST(a_counter_that_stays_behind) {
    int32_t counter = tsim_engine_add_counters(engine, 1);
    add_task(add_stream(), 0, S)->raised_counter = counter;
    await(add_task(add_stream(), 0, S), counter, 3);
    const char *const messages[] = {
        "deadlock after 1 s: 1 of 2 streams wait for ever",
        "stream 1 (rank 1 operation 0) waits for counter 0 (arrivals 0) to reach 3, which is 1"};
    expect_deadlock(messages, 2);
}

/* Only the first few of many are named: one line, four joins, and three of the parties of a join of eight. */
TSIM_TEST(a_long_report_is_cut) {
    for (int i = 0; i < 7; i++)
        add_party(add_stream(), 5, 8, 0);
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_str_eq(diags.items[1].message,
                     "join 5 has 7 of its 8 parties: stream 0 (rank 0 operation 0), stream 1 (rank "
                     "1 operation 0), stream 2 (rank 2 operation 0) and 4 more");
}

static bool go_round(void *context, int32_t stream, struct tsim_task *task) {
    (void)context;
    (void)stream;
    task->label = 42;
    return true; /* no work, no latency, for ever */
}

/* It ends with exit status 70. */
TSIM_EXIT_TEST(an_endless_loop_at_one_tick_is_a_bug, 70) {
    tsim_engine_release(engine);
    struct tsim_engine_options options = {.tick_s = 1e-12, .max_events_per_tick = 1000};
    engine = tsim_engine_create(&options);
    tsim_engine_add_stream(engine, go_round, NULL);
    tsim_engine_run(engine, &diags);
}

/* With the same limit there are more events than that, but two at each tick. */
TSIM_TEST(the_limit_is_for_one_tick) {
    tsim_engine_release(engine);
    struct tsim_engine_options options = {.tick_s = 1e-12, .max_events_per_tick = 2};
    engine = tsim_engine_create(&options);
    int32_t stream = add_stream();
    for (int i = 0; i < MAX_TASKS; i++)
        add_task(stream, 0, 1);
    run();
    ck_assert_int_eq(tsim_engine_n_events(engine), 2 * MAX_TASKS);
}

TSIM_EXIT_TEST(work_without_any_limit_is_a_bug, 70) {
    add_task(add_stream(), 1, 0);
    tsim_engine_run(engine, &diags);
}

TSIM_EXIT_TEST(lowering_a_fired_signal_is_a_bug, 70) {
    lower(add_task(add_stream(), 0, 1), tsim_engine_add_signals(engine, 1, 0));
    tsim_engine_run(engine, &diags);
}

TSIM_EXIT_TEST(two_that_wait_for_one_counter_are_a_bug, 70) {
    int32_t counter = tsim_engine_add_counters(engine, 1);
    await(add_task(add_stream(), 0, S), counter, 1);
    await(add_task(add_stream(), 0, S), counter, 1);
    tsim_engine_run(engine, &diags);
}

TSIM_EXIT_TEST(rearming_under_a_waiter_is_a_bug, 70) {
    int32_t n_rounds = 1; /* so that `consume` rearms at once, while stream 0 waits */
    recycled_signal = tsim_engine_add_signals(engine, 1, 1);
    wait_for(add_task(add_stream(), 0, 1), recycled_signal);
    tsim_engine_add_stream(engine, consume, &n_rounds);
    tsim_engine_run(engine, &diags);
}
/* A program can get these wrong about a task: each ends as a bug of ours (exit status 70). */
enum wrong {
    TOO_MANY_DEMANDS,
    FEWER_THAN_NO_WAITS,
    NEGATIVE_WORK,
    INFINITE_WEIGHT,
    NEGATIVE_LATENCY,
    NO_PARTIES,
    NO_SUCH_SIGNAL,
    NEGATIVE_SIGNAL,
    NO_SUCH_COUNTER,
    N_WRONG
};

TSIM_EXIT_TEST_LOOP(a_task_that_cannot_be_is_a_bug, 70, 0, N_WRONG) {
    struct tsim_task *task = add_task(add_stream(), 0, S);
    switch ((enum wrong)_i) {
    case TOO_MANY_DEMANDS:
        task->n_demands = TSIM_TASK_MAX_DEMANDS + 1;
        break;
    case FEWER_THAN_NO_WAITS:
        task->n_waits = -1;
        break;
    case NEGATIVE_WORK:
        task->work = -1;
        break;
    case INFINITE_WEIGHT:
        task->weight = (double)INFINITY;
        break;
    case NEGATIVE_LATENCY:
        task->latency = -1;
        break;
    case NO_PARTIES:
        task->join = 3;
        task->n_parties = 0;
        break;
    case NO_SUCH_SIGNAL:
        wait_for(task, tsim_engine_add_signals(engine, 2, 1) + 2);
        break;
    case NEGATIVE_SIGNAL:
        lower(task, -7);
        break;
    case NO_SUCH_COUNTER:
        await(task, tsim_engine_add_counters(engine, 2) + 2, 1);
        break;
    case N_WRONG:
        break;
    }
    tsim_engine_run(engine, &diags);
}

/* Four of five joins are named, four of five that wait, and "1 more time" or "2 more times". */
TSIM_TEST(only_the_first_few_are_named) {
    int32_t signals = tsim_engine_add_signals(engine, 1, 2);
    for (int i = 0; i < 3; i++)
        add_party(add_stream(), 5 + i, 2, 0);
    for (int i = 0; i < 5; i++)
        wait_for(add_task(add_stream(), 0, S), signals);
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_items, 1 + 3 + 4);
    ck_assert_str_eq(
        diags.items[4].message,
        "stream 3 (rank 3 operation 0) waits for signal 0 (gradient 0), which must be lowered 2 more times");
    tear_down();
    set_up();
    for (int i = 0; i < 5; i++)
        add_party(add_stream(), 5 + i, 2, 0);
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_items, 1 + 4);
}

/* Without anyone who knows what tasks mean, numbers have to do. */
TSIM_TEST(a_deadlock_without_names) {
    tsim_engine_release(engine);
    struct tsim_engine_options options = {.tick_s = 1e-12};
    engine = tsim_engine_create(&options);
    wait_for(add_task(add_stream(), 0, S), tsim_engine_add_signals(engine, 1, 1));
    const char *const messages[] = {"deadlock after 0 s: 1 of 1 streams wait for ever",
                                    "stream 0 (task 0) waits for signal 0, which must be lowered 1 more time"};
    expect_deadlock(messages, 2);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
