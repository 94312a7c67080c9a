/* Small systems whose times are worked out by hand (support/engine_rig.h). */
#include "base/stop.h"
#include "engine/engine_internal.h"
#include "support/engine_rig.h"

/* ---- one activity ---- */

/* The roofline: 3e12 FLOP at 1e12 FLOP/s take 3 s, their 2e9 bytes at 1e9 B/s 2 s: 3 s, after 5 ticks of latency. */
TSIM_TEST(alone_it_takes_its_roofline_time) {
    int32_t matrix = tsim_engine_add_resource(engine, 1e12), memory = tsim_engine_add_resource(engine, 1e9);
    struct tsim_task *task = add_flow(add_stream(), 3e12, 5, matrix);
    task->demands[task->n_demands++] = (struct tsim_demand){memory, 2e9 / 3e12};
    run();
    expect(0, 0, 0, 0, 5 + 3 * S);
    expect_flowed(matrix, 3e12);
    expect_flowed(memory, 3e12 * (2e9 / 3e12));
    ck_assert_int_eq(tsim_engine_now(engine), 5 + 3 * S);
    ck_assert_int_eq(tsim_engine_n_events(engine), 2); /* a start and an end; no solve for one who is alone */
}

/* It takes 2.5 s for 10 units at no more than 4 a second, with and without a resource. */
TSIM_TEST(its_bound_holds) {
    int32_t wide = tsim_engine_add_resource(engine, 100);
    add_flow(add_stream(), 10, 0, wide)->bound_per_s = 4;
    add_task(add_stream(), 10, S)->bound_per_s = 4;
    run();
    expect(0, 0, 0, 0, 2 * S + S / 2);
    expect(1, 0, 0, 0, S + 2 * S + S / 2);
}

/* A meter counts what goes through it, and holds up nobody: two tasks of 10 units, each at its bound. */
TSIM_TEST(a_meter_only_counts) {
    int32_t meter = tsim_engine_add_meter(engine), link = tsim_engine_add_resource(engine, 1e9);
    ck_assert_int_eq(meter, -1);
    for (int i = 0; i < 2; i++) {
        struct tsim_task *task = i == 0 ? add_task(add_stream(), 10, 0) : add_flow(add_stream(), 10, 0, link);
        task->bound_per_s = 4;
        task->demands[tsim_metered_place(task->n_metered++)] = (struct tsim_demand){meter, 3};
    }
    run();
    expect(0, 0, 0, 0, 2 * S + S / 2);
    expect(1, 0, 0, 0, 2 * S + S / 2);
    expect_flowed(meter, 60);
    tsim_engine_book_flow(engine, meter, 5);
    expect_flowed(meter, 65);
}

/* Tasks of one stream that follow at once and ask for the same, or for another amount of the same: beside a flow that
 * takes half of the link they get the other half, and beside nobody all of it. */
TSIM_TEST(what_follows_at_once_shares_alike) {
    int32_t link = tsim_engine_add_resource(engine, 10), first = add_stream(), second = add_stream();
    add_flow(first, 10, 0, link);
    add_flow(first, 10, 0, link);
    add_flow(first, 10, 0, link)->demands[0].per_unit = 2;
    add_flow(first, 10, 0, link)->demands[0].per_unit = 2;
    add_flow(second, 40, 0, link);
    run();
    expect(0, 0, 0, 0, 2 * S);
    expect(0, 1, 2 * S, 2 * S, 4 * S);
    /* 2 x + x = 10: of the second 20 units are left, and go in 6 s */
    expect(0, 2, 4 * S, 4 * S, 7 * S);
    expect(0, 3, 7 * S, 7 * S, 10 * S);
    expect(1, 0, 0, 0, 10 * S);
    expect_flowed(link, 20 + 40 + 40);
}

/* Two tasks of nothing at tick 0, one of latency only, one of nothing at its end, all in order on one stream; a task of
 * no work with a demand takes nothing of the resource. */
TSIM_TEST(nothing_takes_no_time) {
    int32_t link = tsim_engine_add_resource(engine, 1), stream = add_stream();
    add_task(stream, 0, 0);
    add_flow(stream, 0, 0, link);
    add_flow(stream, 0, 7, link);
    add_task(stream, 0, 0);
    run();
    expect(0, 0, 0, 0, 0);
    expect(0, 1, 0, 0, 0);
    expect(0, 2, 0, 0, 7);
    expect(0, 3, 7, 7, 7);
    expect_flowed(link, 0);
}

/* A positive duration is at least a tick: 1e-30 s of flow is 1 tick. */
TSIM_TEST(a_little_work_takes_a_tick) {
    add_flow(add_stream(), 1e-30, 0, tsim_engine_add_resource(engine, 1));
    run();
    expect(0, 0, 0, 0, 1);
}

TSIM_TEST(seconds_and_ticks) {
    ck_assert_int_eq(tsim_engine_ticks(engine, 0), 0);
    ck_assert_int_eq(tsim_engine_ticks(engine, 1e-300), 1);
    ck_assert_int_eq(tsim_engine_ticks(engine, 1.4e-12), 1);
    ck_assert_int_eq(tsim_engine_ticks(engine, 1.6e-12), 2);
    ck_assert_int_eq(tsim_engine_ticks(engine, 1), S);
    ck_assert_int_eq(tsim_engine_ticks(engine, 86400), 86400 * S);
    ck_assert_double_eq_tol(tsim_engine_seconds(engine, 3 * S), 3, 1e-15);
}

/* ---- several activities on one resource ---- */

/* Two equal flows at half rate take exactly twice as long, and end at the same tick. 1/3 s is no whole number of ticks:
 * 2/3 s is 666666666666.67 ticks. */
TSIM_TEST(two_flows_take_twice_as_long) {
    int32_t link = tsim_engine_add_resource(engine, 3);
    add_flow(add_stream(), 1, 0, link);
    add_flow(add_stream(), 1, 0, link);
    run();
    expect(0, 0, 0, 0, 666666666667);
    expect(1, 0, 0, 0, 666666666667);
    ck_assert_int_eq(tsim_engine_n_events(engine), 5); /* two starts, two ends, one solve for both */
}

/* 1 unit/s. A (2 units) begins at 0, B (2 units) at 1 s. At 1 s A has 1 left; both run at 1/2; A ends at 3 s; B has
 * then moved 1 and moves the other in one second: 4 s. */
TSIM_TEST(a_late_flow_slows_down_the_early_one) {
    int32_t link = tsim_engine_add_resource(engine, 1);
    add_flow(add_stream(), 2, 0, link);
    add_flow(add_stream(), 2, S, link);
    run();
    expect(0, 0, 0, 0, 3 * S);
    expect(1, 0, 0, 0, 4 * S);
    expect_flowed(link, 4);
}

/* 4 units/s, weights 3 and 1, 3 units each: rates 3 and 1, A ends at 1 s; B has 2 left at 4 units/s: 1.5 s. */
TSIM_TEST(weights_set_the_rates) {
    int32_t link = tsim_engine_add_resource(engine, 4);
    add_flow(add_stream(), 3, 0, link)->weight = 3;
    add_flow(add_stream(), 3, 0, link);
    run();
    expect(0, 0, 0, 0, S);
    expect(1, 0, 0, 0, S + S / 2);
}

/* 1 unit/s; A bounded to 1/4 needs 4 s for its unit; B has 3/4: 3 units in 4 s. Both end together. */
TSIM_TEST(a_bound_leaves_the_rest) {
    int32_t link = tsim_engine_add_resource(engine, 1);
    add_flow(add_stream(), 1, 0, link)->bound_per_s = 0.25;
    add_flow(add_stream(), 3, 0, link);
    run();
    expect(0, 0, 0, 0, 4 * S);
    expect(1, 0, 0, 0, 4 * S);
}

/* A link of 1e9 B/s, one message of 1e9 bytes and one of 1 byte: at 5e8 B/s each the byte needs 2 ns, in which the
 * other moves a byte too; its remaining 1e9 - 1 bytes need 1 s - 1 ns: 1 s + 1 ns in all (the link was never idle). */
TSIM_TEST(a_billion_bytes_and_one_byte) {
    int32_t link = tsim_engine_add_resource(engine, 1e9);
    add_flow(add_stream(), 1e9, 0, link);
    add_flow(add_stream(), 1, 0, link);
    run();
    expect(1, 0, 0, 0, 2000);
    expect(0, 0, 0, 0, S + 1000);
    expect_flowed(link, 1e9 + 1);
}

/* A link of 1 b/s = 1/8 B/s: 1e9 bytes take 8e9 s, 8e18 ticks of 1 ns. In ticks of 1 ps that is beyond the end of time
 * (9.2e6 s): no wrong number, an error that names the task. */
TSIM_TEST(a_link_of_one_bit_per_second) {
    create(1e-9);
    add_flow(add_stream(), 1e9, 0, tsim_engine_add_resource(engine, 0.125));
    run();
    expect(0, 0, 0, 0, INT64_C(8000000000000000000));
    set_up();
    add_flow(add_stream(), 1e9, 0, tsim_engine_add_resource(engine, 0.125));
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_LIMIT);
    ck_assert_str_eq(diags.items[0].message,
                     "stream 0 (rank 0 operation 0) would end after 107 days, where the simulated clock ends");
    ck_assert_str_eq(diags.items[0].hint, "it waits 0 s and then moves 1e+09 units at 0.125 units/s: a capacity is far "
                                          "too small for it");
}

/* A flow that is slow for now may still end in time: 1 unit/s, weights 1 and 1e-30; when the heavy one ends after 1 s,
 * the other has the link and needs 1 s. */
TSIM_TEST(slow_for_now_is_not_for_ever) {
    int32_t link = tsim_engine_add_resource(engine, 1);
    add_flow(add_stream(), 1, 0, link);
    add_flow(add_stream(), 1, 0, link)->weight = 1e-30;
    run();
    expect(0, 0, 0, 0, S);
    expect(1, 0, 0, 0, 2 * S);
}

/* Ticks of 1 s, 8 units/s, eight flows at 1 unit/s; seven end at 1 s. The last has 1.6 units, due at 2 s; at 1 s it has
 * 0.6 left and gets 8 units/s: 0.075 s, less than half a tick, so it ends at that tick and not one later. */
TSIM_TEST(a_rest_below_half_a_tick_ends_at_once) {
    create(1);
    int32_t link = tsim_engine_add_resource(engine, 8);
    for (int i = 0; i < MAX_STREAMS; i++)
        add_flow(add_stream(), i == 3 ? 1.6 : 1, 0, link);
    run();
    for (int i = 0; i < MAX_STREAMS; i++)
        expect(i, 0, 0, 0, 1);
}

/* A latency up to the end of time and one tick of work end beyond it. */
TSIM_TEST(a_latency_beyond_the_end_of_time) {
    add_task(add_stream(), 1e-12, INT64_MAX - 1)->bound_per_s = 0.5;
    ck_assert_int_eq(tsim_engine_run(engine, &diags), TSIM_ERR_LIMIT);
    ck_assert_int_eq(n_records, 0);
}

static bool next_of_many(void *context, int32_t stream, struct tsim_task *task) {
    int *n_left = context;
    (void)stream;
    task->latency = 1;
    return (*n_left)-- > 0;
}

static bool at_once(void *context) {
    (void)context;
    return true;
}

/* A run ends soon after its thread's work shall end, if it may, and then has nothing to report. */
TSIM_TEST(a_run_is_stopped) {
    for (int may_stop = 0; may_stop < 2; may_stop++) {
        int n_left = 1000000;
        struct tsim_engine *many =
            tsim_engine_create(&(struct tsim_engine_options){.tick_s = 1e-12, .may_stop = may_stop});
        tsim_engine_add_stream(many, next_of_many, &n_left);
        tsim_stop_set(at_once, NULL);
        ck_assert_int_eq(tsim_engine_run(many, &diags), may_stop ? TSIM_ERR_STOPPED : TSIM_OK);
        tsim_stop_set(NULL, NULL);
        ck_assert_int_eq(n_left > 900000, may_stop);
        ck_assert_uint_eq(diags.n_errors, 0);
        tsim_engine_release(many);
    }
}

/* While it waits out its latency an activity uses nothing: A alone for 1 s; then both. A: 1.5 units, 1 done at 1 s, the
 * other half at rate 1/2: 2 s. B: half a unit until 2 s, the other half alone: 2.5 s. */
TSIM_TEST(latency_uses_nothing) {
    int32_t link = tsim_engine_add_resource(engine, 1), other = tsim_engine_add_resource(engine, 1);
    add_flow(add_stream(), 1.5, 0, link);
    struct tsim_task *task = add_flow(add_stream(), 1, S, link);
    task->demands[task->n_demands++] = (struct tsim_demand){other, 0.5};
    run();
    expect(0, 0, 0, 0, 2 * S);
    expect(1, 0, 0, 0, 2 * S + S / 2);
    expect_flowed(other, 0.5);
}

/* A thousand rate changes leave an untouched activity where it was: 1 s / 3 on its own link, to the tick; the ten
 * changes here are the tasks of the other stream on the other link, which it also loads a little. */
TSIM_TEST(untouched_activities_do_not_drift) {
    int32_t mine = tsim_engine_add_resource(engine, 3), shared = tsim_engine_add_resource(engine, 100);
    struct tsim_task *task = add_flow(add_stream(), 1, 0, mine);
    task->demands[task->n_demands++] = (struct tsim_demand){shared, 1};
    int32_t other = add_stream();
    for (int i = 0; i < MAX_TASKS; i++)
        add_flow(other, 3 + 0.1 * i, 0, shared);
    run();
    expect(0, 0, 0, 0, 333333333333);
}

/* ---- streams and signals ---- */

/* Stream 0: 2 s, then 1 s. Stream 1: 1 s, then a task that waits for stream 0's first and takes 3 s: ready at 2 s. */
TSIM_TEST(a_task_waits_for_its_signal) {
    int32_t done = tsim_engine_add_signals(engine, 1, 1), first = add_stream(), second = add_stream();
    lower(add_task(first, 0, 2 * S), done);
    add_task(first, 0, S);
    add_task(second, 0, S);
    wait_for(add_task(second, 0, 3 * S), done);
    run();
    expect(0, 1, 2 * S, 2 * S, 3 * S);
    expect(1, 0, 0, 0, S);
    expect(1, 1, 2 * S, 2 * S, 5 * S);
}

/* A signal that three must lower fires with the last of them (3 s); one that has fired already holds nobody up; a task
 * that waits for two, twice for one of them, waits for the later (3 s). */
TSIM_TEST(a_countdown_fires_at_zero) {
    int32_t three = tsim_engine_add_signals(engine, 1, 3), fired = tsim_engine_add_signals(engine, 1, 0);
    int32_t one = tsim_engine_add_signals(engine, 1, 1);
    for (int i = 1; i <= 3; i++)
        lower(add_task(add_stream(), 0, i * S), three);
    lower(&scripts[0].tasks[0], one);
    struct tsim_task *task = add_task(add_stream(), 0, 1);
    wait_for(task, fired);
    wait_for(task, three);
    wait_for(task, one);
    wait_for(task, three);
    wait_for(add_task(add_stream(), 0, 1), fired);
    run();
    expect(3, 0, 3 * S, 3 * S, 3 * S + 1);
    expect(4, 0, 0, 0, 1);
}

/* Many tasks on one signal: all become ready at the tick at which it fires. */
TSIM_TEST(a_signal_wakes_all) {
    int32_t go = tsim_engine_add_signals(engine, 1, 1);
    for (int i = 0; i < MAX_STREAMS - 1; i++)
        wait_for(add_task(add_stream(), 0, 5), go);
    lower(add_task(add_stream(), 0, 10), go);
    run();
    for (int i = 0; i < MAX_STREAMS - 1; i++)
        expect(i, 0, 10, 10, 15);
}

/* Rounds of 10 ticks: the consumer is ready at 10, 20, 30. */
TSIM_TEST(signals_can_be_recycled) {
    int32_t n_rounds = 0, producer = add_stream();
    recycled_signal = tsim_engine_add_signals(engine, 1, 1);
    for (int i = 0; i < 3; i++)
        lower(add_task(producer, 0, 10), recycled_signal);
    tsim_engine_add_stream(engine, consume, &n_rounds);
    run();
    for (int i = 0; i < 3; i++)
        expect(1, i, 10 * (i + 1), 10 * (i + 1), 10 * (i + 1));
}

/* The sender is as far ahead as it likes: messages end at 1, 2, 3, 4 s; the receiver takes 3 s over each. Its third
 * waits for the third message only, which has come; its last for a fourth, and a signal that fires at 20 s. */
TSIM_TEST(a_counter_counts_what_came_early) {
    int32_t arrived = tsim_engine_add_counters(engine, 2) + 1, late = tsim_engine_add_signals(engine, 1, 1);
    int32_t sender = add_stream(), receiver = add_stream();
    for (int i = 0; i < 4; i++) {
        add_task(sender, 0, S)->raised_counter = arrived;
        await(add_task(receiver, 0, 3 * S), arrived, i + 1);
    }
    wait_for(&scripts[receiver].tasks[3], late);
    lower(add_task(add_stream(), 0, 20 * S), late);
    run();
    expect(receiver, 0, S, S, 4 * S);
    expect(receiver, 1, 4 * S, 4 * S, 7 * S);
    expect(receiver, 2, 7 * S, 7 * S, 10 * S);
    expect(receiver, 3, 20 * S, 20 * S, 23 * S);
}

/* ---- joins ---- */

/* A send and its receive: the sender is ready at 1 s, the receiver at 3 s; the message of 4 units over both ports at 2
 * units/s takes 2 s after 5 ticks. Work, weight and latency are those of the smaller stream number, whoever comes
 * first. */
TSIM_TEST(a_join_of_two) {
    int32_t out = tsim_engine_add_resource(engine, 2), in = tsim_engine_add_resource(engine, 8);
    int32_t receiver = add_stream(), sender = add_stream();
    add_task(receiver, 0, 3 * S);
    add_task(sender, 0, S);
    struct tsim_task *send = add_flow(sender, 4, 999, out), *receive = add_flow(receiver, 4, 5, in);
    send->join = receive->join = 1234567890123;
    send->n_parties = receive->n_parties = 2;
    add_task(sender, 0, S);
    run();
    expect(receiver, 1, 3 * S, 3 * S, 5 * S + 5);
    expect(sender, 1, S, 3 * S, 5 * S + 5);
    expect(sender, 2, 5 * S + 5, 5 * S + 5, 6 * S + 5);
    expect_flowed(out, 4);
    expect_flowed(in, 4);
}

/* Five parties that come at 5, 4, 3, 2, 1 s; each brings a demand of 1/5 on the one link of 1 unit/s: 2 units take 2 s
 * from 5 s on. Each frees a signal, on which the last stream waits for all five. */
TSIM_TEST(a_join_of_many_adds_up_their_demands) {
    int32_t link = tsim_engine_add_resource(engine, 1), done = tsim_engine_add_signals(engine, 1, 5);
    struct tsim_demand fifth = {link, 0.2};
    for (int i = 0; i < 5; i++) {
        int32_t stream = add_stream();
        add_task(stream, 0, (5 - i) * S);
        struct tsim_task *task = add_party(stream, -1, 5, 0);
        task->join = 77;
        task->work = 2;
        if (i < 4) {
            task->demands[task->n_demands++] = fifth;
        } else {
            task->more_demands = &fifth;
            task->n_more_demands = 1;
        }
        lower(task, done);
    }
    wait_for(add_task(add_stream(), 0, 1), done);
    run();
    for (int i = 0; i < 5; i++)
        expect(i, 1, (5 - i) * S, 5 * S, 7 * S);
    expect(5, 0, 7 * S, 7 * S, 7 * S + 1);
    ck_assert_double_eq_tol(tsim_engine_resource_flowed(engine, link), 2, 1e-12);
}

/* Joins come in other orders on each stream, many open at once: a triangle of pairs and a join of one. */
TSIM_TEST(joins_may_overlap) {
    for (int i = 0; i < 3; i++)
        add_stream();
    add_party(0, 100, 2, 10);
    add_party(0, 102, 2, 10);
    add_party(0, 103, 1, 10);
    add_party(1, 100, 2, 10);
    add_party(1, 101, 2, 10);
    add_party(2, 101, 2, 10);
    add_party(2, 102, 2, 10);
    run();
    expect(1, 0, 0, 0, 10);
    expect(2, 0, 0, 10, 20); /* stream 1 comes at 10 */
    expect(0, 1, 10, 20, 30);
    expect(0, 2, 30, 30, 40);
}

static bool join_again(void *context, int32_t stream, struct tsim_task *task) {
    int64_t *n_joins = context;
    task->join = n_joins[stream];
    task->n_parties = 2;
    task->work = 1;
    task->demands[task->n_demands++] = (struct tsim_demand){0, 1};
    return n_joins[stream]++ < 1000;
}

/* A thousand joins one after another take the memory of one. */
TSIM_TEST(memory_is_that_of_the_living) {
    int64_t n_joins[2] = {0, 0};
    tsim_engine_add_resource(engine, 1000);
    for (int i = 0; i < 2; i++)
        tsim_engine_add_stream(engine, join_again, n_joins);
    run();
    ck_assert_uint_le(engine->join_capacity, 16);
    ck_assert_uint_le(engine->sharing.n_demands, 2);
    ck_assert_int_eq(tsim_engine_now(engine), 2 * S);
}

static bool expect_zeroed(void *context, int32_t stream, struct tsim_task *task) {
    int32_t *n_calls = context;
    (void)stream;
    struct tsim_task zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    zeroed.join = zeroed.awaited_counter = zeroed.raised_counter = -1;
    memcpy(zeroed.demands, task->demands, sizeof zeroed.demands); /* beyond their counts */
    memcpy(zeroed.waits, task->waits, sizeof zeroed.waits);
    memcpy(zeroed.lowers, task->lowers, sizeof zeroed.lowers);
    ck_assert_mem_eq(task, &zeroed, sizeof zeroed);
    static const struct tsim_demand more = {0, 1};
    task->label = task->latency = 1;
    task->work = task->weight = task->bound_per_s = 1;
    task->join = *n_calls;
    task->n_parties = 1;
    task->n_demands = TSIM_TASK_MAX_DEMANDS;
    task->n_waits = task->n_lowers = TSIM_TASK_MAX_SIGNALS;
    for (int i = 0; i < TSIM_TASK_MAX_DEMANDS; i++)
        task->demands[i] = (struct tsim_demand){1, 1};
    for (int i = 0; i < TSIM_TASK_MAX_SIGNALS; i++) {
        task->waits[i] = 1;
        task->lowers[i] = 2;
    }
    task->more_demands = &more;
    task->n_more_demands = 1;
    return (*n_calls)++ < 3;
}

TSIM_TEST(tasks_arrive_zeroed) {
    int32_t n_calls = 0;
    tsim_engine_add_resource(engine, 1);
    tsim_engine_add_resource(engine, 1);
    tsim_engine_add_signals(engine, 2, 0);
    tsim_engine_add_signals(engine, 1, 3 * TSIM_TASK_MAX_SIGNALS);
    tsim_engine_add_stream(engine, expect_zeroed, &n_calls);
    run();
    ck_assert_int_eq(n_calls, 4);
}

/* ---- engines and questions ---- */

struct nested {
    int32_t resource;
    double flowed;
    tsim_tick other_end;
    bool is_asked;
};

/* After 1 s: how much has flowed? And, meanwhile, another engine runs from its beginning to its end. */
static bool ask_and_nest(void *context, int32_t stream, struct tsim_task *task) {
    struct nested *nested = context;
    (void)stream;
    if (nested->is_asked)
        return false;
    if (tsim_engine_now(engine) == 0) {
        task->latency = S;
        return true;
    }
    nested->is_asked = true;
    nested->flowed = tsim_engine_resource_flowed(engine, nested->resource);
    struct tsim_engine_options options = {.tick_s = 1e-3};
    struct tsim_engine *other = tsim_engine_create(&options);
    static struct script script;
    script = (struct script){.n_tasks = 1};
    script.tasks[0] = (struct tsim_task){.latency = 17, .join = -1, .awaited_counter = -1, .raised_counter = -1};
    tsim_engine_add_stream(other, play, &script);
    ck_assert_int_eq(tsim_engine_run(other, &diags), TSIM_OK);
    nested->other_end = tsim_engine_now(other);
    tsim_engine_release(other);
    return false;
}

/* 5 units at 2 units/s: after 1 s 2 units have flowed, at the end 5. */
TSIM_TEST(engines_live_side_by_side) {
    struct nested nested = {.resource = tsim_engine_add_resource(engine, 2)};
    add_flow(add_stream(), 5, 0, nested.resource);
    tsim_engine_add_stream(engine, ask_and_nest, &nested);
    run();
    ck_assert(nested.is_asked);
    ck_assert_double_eq_tol(nested.flowed, 2, 1e-12);
    ck_assert_int_eq(nested.other_end, 17);
    expect(0, 0, 0, 0, 2 * S + S / 2);
    expect_flowed(nested.resource, 5);
}

TSIM_TEST(an_engine_without_streams_ends_at_once) {
    run();
    ck_assert_int_eq(tsim_engine_now(engine), 0);
    ck_assert_int_eq(tsim_engine_n_events(engine), 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
