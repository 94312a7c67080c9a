/* The edges of what may be asked of the engine: nothing to do, no time to do it in, everything at once, very large
 * beside very small, messages that nobody expects, and the same system put together in another order. Times are worked
 * out by hand. A tick is 1 ps unless a test says otherwise; S is a second in ticks. */
#include "engine/engine_internal.h"
#include "support/script_rig.h"

#include <math.h>

static void start_anew(double tick_s) {
    script_end(&script);
    script_begin(&script, tick_s);
}

static struct script_step *flow(double work, tsim_tick latency, int32_t over) {
    return script_flow(&script, script_stream(&script), work, latency, over);
}

static void expect_flowed(int32_t through, double units) {
    double got = tsim_engine_resource_flowed(script.engine, through);
    ck_assert_msg(fabs(got - units) <= 1e-15 * units, "%.17g units have flowed, not %.17g", got, units);
}

/* ---- nothing to do ---- */

/* A link of 1 GB/s carries 1 GB. At 1/2 s another stream sends a thousand empty messages over it, without latency: all
 * take place at that tick, and the link knows nothing of them. */
TSIM_TEST(empty_messages_take_no_time_and_no_share) {
    enum { N = 1000 };
    int32_t link = resource(1e9), stream = script_stream(&script);
    struct script_step *large = flow(1e9, 0, link), *empty[N];
    script_step(&script, stream, 0, S / 2);
    for (int i = 0; i < N; i++)
        empty[i] = script_flow(&script, stream, 0, 0, link);
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(empty[i], S / 2, S / 2);
    script_expect(large, 0, S);
    expect_flowed(link, 1e9);
    ck_assert_int_eq(tsim_engine_n_events(script.engine), 2 * (N + 2)); /* starts and ends, no solve */
}

/* Empty messages with a latency: the latency alone, however many are under way at once. */
TSIM_TEST(empty_messages_with_latency_take_just_that) {
    int32_t link = resource(1);
    struct script_step *steps[100];
    for (int i = 0; i < 100; i++)
        steps[i] = flow(0, i, link);
    script_run(&script);
    for (int i = 0; i < 100; i++)
        script_expect(steps[i], 0, i);
    expect_flowed(link, 0);
}

/* A barrier: a join of nothing. Parties come at 0, 1, ... 9 s and all leave at 9 s. */
TSIM_TEST(a_join_of_nothing_is_a_barrier) {
    struct script_step *steps[10];
    for (int i = 0; i < 10; i++) {
        int32_t stream = script_stream(&script);
        script_step(&script, stream, 0, i * S);
        steps[i] = script_party(&script, stream, 7, 10);
    }
    script_run(&script);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(steps[i]->ready, i * S);
        script_expect(steps[i], 9 * S, 9 * S);
    }
}

/* A token goes round 1,000 ranks in messages without length and latency, rank i to rank i + 1: all at the tick at which
 * the first rank sends it, 1 s. */
TSIM_TEST(a_token_without_length_goes_round_at_once) {
    enum { N = 1000 };
    struct script_step *received[N];
    for (int i = 0; i < N; i++) {
        int32_t stream = script_stream(&script);
        if (i > 0)
            received[i] = script_party(&script, stream, i - 1, 2);
        else
            received[i] = script_step(&script, stream, 0, S);
        if (i < N - 1)
            script_party(&script, stream, i, 2);
    }
    script_run(&script);
    for (int i = 1; i < N; i++)
        script_expect(received[i], S, S);
    ck_assert_int_eq(tsim_engine_now(script.engine), S);
}

/* Every stream is empty, or there is no stream at all: the run ends at 0. */
TSIM_TEST(streams_without_tasks) {
    for (int i = 0; i < 10; i++)
        script_stream(&script);
    script_run(&script);
    ck_assert_int_eq(tsim_engine_now(script.engine), 0);
    ck_assert_int_eq(tsim_engine_n_events(script.engine), 0);
}

/* ---- no time ---- */

/* Without latency two messages over links of 1 B/s follow each other without a gap: 1 byte each, 1 s, 2 s. */
TSIM_TEST(without_latency_there_are_no_gaps) {
    int32_t first = resource(1), second = resource(1), arrived = signal_of(1);
    struct script_step *hop = flow(1, 0, first), *next = flow(1, 0, second);
    hop->task.lowers[hop->task.n_lowers++] = arrived;
    next->task.waits[next->task.n_waits++] = arrived;
    script_run(&script);
    script_expect(hop, 0, S);
    script_expect(next, S, 2 * S);
}

/* 1e-18 s of work is a tick, not nothing: so a thousand bytes, one by one over a link of 1e18 B/s, take a thousand
 * ticks; in one message they take 1e-15 s, a tick. */
TSIM_TEST(what_is_shorter_than_a_tick_takes_one) {
    int32_t one_by_one = resource(1e18), together = resource(1e18), stream = script_stream(&script);
    struct script_step *byte = NULL;
    for (int i = 0; i < 1000; i++)
        byte = script_flow(&script, stream, 1, 0, one_by_one);
    struct script_step *message = flow(1000, 0, together);
    script_run(&script);
    script_expect(byte, 999, 1000);
    script_expect(message, 0, 1);
    expect_flowed(one_by_one, 1000);
    expect_flowed(together, 1000);
}

/* A thousand such bytes at once share the link: 1e18/1000 B/s each is still less than a tick. All end at tick 1. */
TSIM_TEST(many_at_once_within_a_tick) {
    enum { N = 1000 };
    int32_t link = resource(1e18);
    struct script_step *steps[N];
    for (int i = 0; i < N; i++)
        steps[i] = flow(1, 0, link);
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(steps[i], 0, 1);
    expect_flowed(link, N);
}

/* ---- everything at once ---- */

/* 1,000 messages of 3 bytes over a link of 7 B/s: each has 7/1000 B/s and takes 3000/7 s = 428571428571428.57 ticks.
 * All end at the same tick, though nothing here is a whole number in binary. */
TSIM_TEST(equal_messages_end_at_the_same_tick) {
    enum { N = 1000 };
    int32_t link = resource(7);
    struct script_step *steps[N];
    for (int i = 0; i < N; i++)
        steps[i] = flow(3, 0, link);
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(steps[i], 0, INT64_C(428571428571429));
    ck_assert_int_eq(tsim_engine_n_events(script.engine), 2 * N + 1);
    expect_flowed(link, 3 * N);
}

/* At 1 s: A ends on the link, B's latency is over, C's stream gets its next task, and D's signal fires, which A lowers.
 * Ends come first, so A is alone to its end; B, C and D share from 1 s on: 1 unit each at 1/3 unit/s, 4 s. */
TSIM_TEST(ends_come_before_starts) {
    int32_t link = resource(1), fired = signal_of(1), stream = script_stream(&script);
    struct script_step *b = flow(1, S, link);
    script_step(&script, stream, 0, S);
    struct script_step *c = script_flow(&script, stream, 1, 0, link), *d = flow(1, 0, link), *a = flow(1, 0, link);
    d->task.waits[d->task.n_waits++] = fired;
    a->task.lowers[a->task.n_lowers++] = fired;
    script_run(&script);
    script_expect(a, 0, S);
    script_expect(b, 0, 4 * S);
    script_expect(c, S, 4 * S);
    script_expect(d, S, 4 * S);
}

/* 500 pairs of ranks exchange messages of 1 byte at one tick over one switch of 1000 B/s, at 2 B/s each, in 1/2 s. */
TSIM_TEST(many_joins_at_one_tick) {
    enum { N = 500 };
    int32_t crossbar = resource(1000);
    struct script_step *steps[N];
    for (int i = 0; i < N; i++) {
        steps[i] = script_party(&script, script_stream(&script), i, 2);
        steps[i]->task.work = 1;
        script_demand(steps[i], crossbar, 1);
    }
    for (int i = N - 1; i >= 0; i--)
        script_party(&script, script_stream(&script), i, 2)->task.work = 1;
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(steps[i], 0, S / 2);
    ck_assert_int_eq(tsim_engine_n_events(script.engine), 4 * N + 1);
}

/* ---- large beside small ---- */

/* 1 GB/s. The byte comes when half of the billion has gone: at 5e8 B/s each it takes 2 ns, and delays the other by the
 * nanosecond that a byte takes. */
TSIM_TEST(a_byte_amid_a_billion) {
    int32_t link = resource(1e9);
    struct script_step *billion = flow(1e9, 0, link), *one = flow(1, S / 2, link);
    script_run(&script);
    script_expect(one, 0, S / 2 + 2000);
    script_expect(billion, 0, S + 1000);
    expect_flowed(link, 1e9 + 1);
}

/* A thousand bytes one by one, each at half rate for 2 ns: 2 us in all, and the billion is 1 us late, to the tick. */
TSIM_TEST(a_thousand_bytes_amid_a_billion) {
    int32_t link = resource(1e9), stream = script_stream(&script);
    struct script_step *billion = flow(1e9, 0, link), *one = NULL;
    for (int i = 0; i < 1000; i++)
        one = script_flow(&script, stream, 1, 0, link);
    script_run(&script);
    script_expect(one, 999 * 2000, 1000 * 2000);
    script_expect(billion, 0, S + 1000 * 1000);
}

/* Weights in proportion to size: the billion has 1e9 of 1e9 + 1 parts of the link, the byte has one; both take (1e9 +
 * 1) / 1e9 s, 1 s and 1 ns. */
TSIM_TEST(weights_of_a_billion_and_one) {
    int32_t link = resource(1e9);
    struct script_step *billion = flow(1e9, 0, link), *one = flow(1, 0, link);
    billion->task.weight = 1e9;
    script_run(&script);
    script_expect(billion, 0, S + 1000);
    script_expect(one, 0, S + 1000);
}

/* Each of 22 links of 1e-3, 1e-2, ... 1e18 B/s carries a message of two seconds, which takes 2 s on every one. */
TSIM_TEST(capacities_over_21_decades) {
    enum { N = 22 };
    struct script_step *steps[N];
    for (int i = 0; i < N; i++) {
        double capacity = pow(10, i - 3);
        steps[i] = flow(2 * capacity, 0, resource(capacity));
    }
    script_run(&script);
    for (int i = 0; i < N; i++)
        script_expect(steps[i], 0, 2 * S);
}

/* The same links with one more message, of 1e-3 bytes over all of them (in more_demands). The slowest link gives it
 * half, 5e-4 B/s, so it takes 2 s. It takes 1e-3 bytes from the message of each link of C B/s, which ends 1e-3 / C s
 * late: 1 s on the slowest, 0.1 s on the next, ... 10 ps at 1e8 B/s. From 1e9 B/s on it changes the other's rate by
 * less than TSIM_SHARING_SAME, and is not noticed. */
TSIM_TEST(a_message_over_links_of_21_decades) {
    enum { N = 22 };
    static struct tsim_demand demands[N];
    struct script_step *steps[N];
    for (int i = 0; i < N; i++) {
        double capacity = pow(10, i - 3);
        demands[i] = (struct tsim_demand){resource(capacity), 1};
        steps[i] = flow(2 * capacity, 0, demands[i].resource);
    }
    struct script_step *across = script_step(&script, script_stream(&script), 1e-3, 0);
    across->task.more_demands = demands;
    across->task.n_more_demands = N;
    script_run(&script);
    script_expect(across, 0, 2 * S);
    tsim_tick late = S;
    for (int i = 0; i<N; i++, late = late> 10 ? late / 10 : 0)
        script_expect(steps[i], 0, 2 * S + late);
}

/* Units mean nothing: 1e300 units over 1e300 units/s and 1e-300 over 1e-300 take 1 s, two of them 2 s each. */
TSIM_TEST(units_of_any_size) {
    struct script_step *steps[4];
    for (int i = 0; i < 4; i += 2) {
        double unit = i ? 1e-300 : 1e300;
        int32_t link = resource(unit);
        steps[i] = flow(unit, 0, link);
        steps[i + 1] = flow(unit, 0, link);
    }
    script_run(&script);
    for (int i = 0; i < 4; i++)
        script_expect(steps[i], 0, 2 * S);
}

/* ---- the end of time ---- */

/* A link of 1 b/s, 0.125 B/s. 1 GB takes 8e9 s: in ticks of 1 ns a result, exact; 1 MB takes 8e6 s: in ticks of 1 ps as
 * well. Two of 0.5 MB at half rate: the same. */
TSIM_TEST(a_megabyte_at_one_bit_per_second) {
    struct script_step *large = flow(1e6, 0, resource(0.125));
    int32_t shared = resource(0.125);
    struct script_step *one = flow(0.5e6, 0, shared), *other = flow(0.5e6, 0, shared);
    script_run(&script);
    script_expect(large, 0, INT64_C(8000000000000000000));
    script_expect(one, 0, INT64_C(8000000000000000000));
    script_expect(other, 0, INT64_C(8000000000000000000));
    start_anew(1e-9);
    struct script_step *gigabyte = flow(1e9, 0, resource(0.125));
    script_run(&script);
    script_expect(gigabyte, 0, INT64_C(8000000000000000000));
}

static void expect_limit(const char *message) {
    ck_assert_int_eq(tsim_engine_run(script.engine, &script.diags), TSIM_ERR_LIMIT);
    ck_assert_uint_eq(script.diags.n_items, 1);
    ck_assert_int_eq(script.diags.items[0].status, TSIM_ERR_LIMIT);
    ck_assert_str_eq(script.diags.items[0].message, message);
}

/* 1 GB at 1 b/s in ticks of 1 ps ends after 2^63 ps = 9.22e6 s: an error that names the message. Everything before
 * that has been done, with right times: B shares A's link and is bounded; C is elsewhere. */
TSIM_TEST(a_gigabyte_at_one_bit_per_second) {
    int32_t slow = resource(0.125);
    struct script_step *a = flow(1e9, 0, slow), *b = flow(0.1, 0, slow), *c = flow(5, 0, resource(1));
    a->text = "send of 1 GB from rank 0 to rank 1";
    b->task.bound_per_s = 0.025;
    expect_limit(
        "stream 0 (send of 1 GB from rank 0 to rank 1) would end after 107 days, where the simulated clock ends");
    ck_assert(!a->has_ended);
    script_expect(b, 0, 4 * S);
    script_expect(c, 0, 5 * S);
}

/* Latencies up to the last tick but one are results; the last tick is the end of time; and no sum runs over it. */
TSIM_TEST(the_last_ticks) {
    struct script_step *step = script_step(&script, script_stream(&script), 0, INT64_MAX - 1);
    script_run(&script);
    script_expect(step, 0, INT64_MAX - 1);
    start_anew(1e-12);
    script_step(&script, script_stream(&script), 0, INT64_MAX);
    expect_limit("stream 0 (task 0) would end after 107 days, where the simulated clock ends");
    start_anew(1e-12);
    int32_t stream = script_stream(&script);
    script_step(&script, stream, 0, INT64_MAX - 1);
    script_step(&script, stream, 0, INT64_MAX - 1);
    expect_limit("stream 0 (task 1) would end after 107 days, where the simulated clock ends");
}

/* Needs that no double can hold as a rate, 1e-3 / 1e308 units/s: the end of time too, not a division by zero. */
TSIM_TEST(a_rate_of_nearly_nothing) {
    int32_t slow = resource(1e-3);
    script_demand(script_step(&script, script_stream(&script), 1, 0), slow, 1e308);
    expect_limit("stream 0 (task 0) would end after 107 days, where the simulated clock ends");
}

/* ---- messages that nobody expects ---- */

static struct script_step *message(int32_t stream, int64_t join, double bytes, const char *text) {
    struct script_step *step = script_party(&script, stream, join, 2);
    step->task.work = bytes;
    step->task.bound_per_s = 1e9;
    step->text = text;
    return step;
}

static void expect_deadlock(const char *const *messages, size_t n_messages) {
    ck_assert_int_eq(tsim_engine_run(script.engine, &script.diags), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(script.diags.n_items, n_messages);
    for (size_t i = 0; i < n_messages; i++)
        ck_assert_str_eq(script.diags.items[i].message, messages[i]);
}

/* Rank 0 sends microbatch 3, rank 1 receives microbatch 4: both ranks and both operations are named. The message
 * before, microbatch 2, has arrived: 1e9 bytes at 1e9 B/s. */
TSIM_TEST(a_send_of_the_wrong_microbatch) {
    int32_t rank0 = script_stream(&script), rank1 = script_stream(&script);
    struct script_step *sent = message(rank0, 2, 1e9, "rank 0: send of microbatch 2 to rank 1");
    message(rank0, 3, 1e9, "rank 0: send of microbatch 3 to rank 1");
    message(rank1, 2, 1e9, "rank 1: receive of microbatch 2 from rank 0");
    message(rank1, 4, 1e9, "rank 1: receive of microbatch 4 from rank 0");
    const char *const messages[] = {
        "deadlock after 1 s: 2 of 2 streams wait for ever",
        "join 3 has 1 of its 2 parties: stream 0 (rank 0: send of microbatch 3 to rank 1)",
        "join 4 has 1 of its 2 parties: stream 1 (rank 1: receive of microbatch 4 from rank 0)"};
    expect_deadlock(messages, 3);
    script_expect(sent, 0, S);
}

/* A send that the other side has no receive for: rank 1 is through with its work, so rank 0 alone waits. */
TSIM_TEST(a_send_without_a_receive) {
    int32_t rank0 = script_stream(&script), rank1 = script_stream(&script);
    message(rank0, 1, 1e9, "rank 0: send of microbatch 1 to rank 1");
    script_step(&script, rank1, 0, S);
    const char *const messages[] = {"deadlock after 1 s: 1 of 2 streams wait for ever",
                                    "join 1 has 1 of its 2 parties: stream 0 (rank 0: send of microbatch 1 to rank 1)"};
    expect_deadlock(messages, 2);
}

/* Both send first, and sends wait for their receives: each waits for what the other would do next. */
TSIM_TEST(two_that_send_first) {
    int32_t rank0 = script_stream(&script), rank1 = script_stream(&script);
    message(rank0, 10, 1, "rank 0: send of activations to rank 1");
    message(rank0, 20, 1, "rank 0: receive of gradients from rank 1");
    message(rank1, 20, 1, "rank 1: send of gradients to rank 0");
    message(rank1, 10, 1, "rank 1: receive of activations from rank 0");
    const char *const messages[] = {"deadlock after 0 s: 2 of 2 streams wait for ever",
                                    "join 10 has 1 of its 2 parties: stream 0 (rank 0: send of activations to rank 1)",
                                    "join 20 has 1 of its 2 parties: stream 1 (rank 1: send of gradients to rank 0)"};
    expect_deadlock(messages, 3);
}

/* Sender and receiver disagree on the size, which gives a report, and not one of the two sizes. */
TSIM_TEST(a_receive_of_another_size) {
    message(script_stream(&script), 1, 1000, "rank 0: send of microbatch 1 to rank 1");
    message(script_stream(&script), 1, 999, "rank 1: receive of microbatch 1 from rank 0");
    const char *const messages[] = {
        "deadlock after 0 s: 2 of 2 streams wait for ever",
        "the parties of join 1 disagree: stream 0 (rank 0: send of microbatch 1 to rank 1) of 2 parties with 1000 "
        "units, "
        "stream 1 (rank 1: receive of microbatch 1 from rank 0) of 2 parties with 999 units"};
    expect_deadlock(messages, 2);
}

/* Messages that nobody has to wait for are counted where they arrive. Rank 0 sends three, rank 1 takes a fourth: the
 * receive is named, and by its counter the sender. The third came at 3 s. */
TSIM_TEST(a_message_too_few) {
    int32_t arrived = tsim_engine_add_counters(script.engine, 1);
    int32_t rank0 = script_stream(&script), rank1 = script_stream(&script);
    script.counter_text = "messages from rank 0 to rank 1";
    for (int i = 1; i <= 4; i++) {
        struct script_step *received = script_step(&script, rank1, 0, 0);
        received->task.awaited_counter = arrived;
        received->task.awaited_value = i;
        received->text = i < 4 ? "another" : "rank 1: receive of message 4";
        if (i < 4)
            script_step(&script, rank0, 0, S)->task.raised_counter = arrived;
    }
    const char *const messages[] = {"deadlock after 3 s: 1 of 2 streams wait for ever",
                                    "stream 1 (rank 1: receive of message 4) waits for counter 0 (messages from rank 0 "
                                    "to rank 1) to reach 4, which is 3"};
    expect_deadlock(messages, 2);
}

/* Both wait for what the other's next operation would signal. */
TSIM_TEST(two_that_wait_for_each_other) {
    int32_t forward = signal_of(1), backward = signal_of(1);
    script.signal_text = "activations or gradients";
    for (int rank = 0; rank < 2; rank++) {
        struct script_step *step = script_step(&script, script_stream(&script), 1, 0);
        step->text = rank ? "rank 1: backward" : "rank 0: forward";
        step->task.bound_per_s = 1;
        step->task.waits[step->task.n_waits++] = rank ? forward : backward;
        step->task.lowers[step->task.n_lowers++] = rank ? backward : forward;
    }
    const char *first = "stream 0 (rank 0: forward) waits for signal 1 (activations or gradients), which must be "
                        "lowered 1 more time";
    const char *second = "stream 1 (rank 1: backward) waits for signal 0 (activations or gradients), which must be "
                         "lowered 1 more time";
    const char *const messages[] = {"deadlock after 0 s: 2 of 2 streams wait for ever", first, second};
    expect_deadlock(messages, 3);
}

/* One rank of a reduction of four is stuck in a send: the send is named, and the three who wait for its rank. */
TSIM_TEST(a_collective_that_waits_for_a_stuck_rank) {
    message(script_stream(&script), 9, 1, "rank 0: send of microbatch 0 to rank 9");
    for (int rank = 1; rank < 4; rank++)
        script_party(&script, script_stream(&script), 50, 4)->text = "reduce";
    script_party(&script, 0, 50, 4);
    const char *three_wait = "join 50 has 3 of its 4 parties: stream 1 (reduce), stream 2 (reduce), stream 3 (reduce)";
    const char *const messages[] = {"deadlock after 0 s: 4 of 4 streams wait for ever",
                                    "join 9 has 1 of its 2 parties: stream 0 (rank 0: send of microbatch 0 to rank 9)",
                                    three_wait};
    expect_deadlock(messages, 3);
}

/* ---- the order of creation ---- */

/* Returns which of 0, 1, 2, 3 comes at a place of the p-th of the 24 permutations. */
static void permute(int p, int order[4]) {
    int left[4] = {0, 1, 2, 3};
    for (int i = 0, divisor = 6; i < 4; i++) {
        int k = p / divisor;
        p %= divisor;
        divisor = i < 2 ? divisor / (3 - i) : 1;
        order[i] = left[k];
        for (; k < 3; k++)
            left[k] = left[k + 1];
    }
}

/* Links 0 to 3 of 1, 1, 2, 4 units/s, and four ranks; rank i sends 3 units over link i, then 3 units over links i and
 * i + 1 (the last over its own alone), after a signal of each of the others' first messages has fired.
 * The first messages take 3, 3, 3/2, 3/4 s; all signals have fired at 3 s. Then link 0 has message 0, link 1 messages 0
 * and 1, link 2 messages 1 and 2, link 3 messages 2 and 3. Link 1 fills at 1/2: messages 0 and 1 have 1/2; link 2
 * leaves 3/2 to message 2, link 3 leaves 5/2 to message 3. Message 3 needs 6/5 s: 4.2 s. Message 2 is still limited by
 * link 2: 2 s, 5 s. Messages 0 and 1, limited by link 1: 6 s, 9 s. */
TSIM_TEST(any_order_of_creation_gives_the_same_times) {
    for (int p = 0; p < 24 * 24; p++) {
        static const double capacities[4] = {1, 1, 2, 4};
        static const tsim_tick first_end[4] = {3 * S, 3 * S, 3 * S / 2, 3 * S / 4};
        static const tsim_tick second_end[4] = {9 * S, 9 * S, 5 * S, 42 * S / 10};
        int order[4], links[4], signals[4], streams[4];
        struct script_step *first[4], *second[4];
        start_anew(1e-12);
        permute(p % 24, order);
        for (int i = 0; i < 4; i++)
            links[order[i]] = resource(capacities[order[i]]);
        for (int i = 3; i >= 0; i--)
            signals[order[i]] = signal_of(1);
        permute(p / 24, order);
        for (int i = 0; i < 4; i++)
            streams[order[i]] = script_stream(&script);
        for (int i = 0; i < 4; i++) {
            first[i] = script_flow(&script, streams[i], 3, 0, links[i]);
            first[i]->task.lowers[first[i]->task.n_lowers++] = signals[i];
            second[i] = script_flow(&script, streams[i], 3, 0, links[i]);
            if (i < 3)
                script_demand(second[i], links[i + 1], 1);
            for (int k = 0; k < 4; k++)
                second[i]->task.waits[second[i]->task.n_waits++] = signals[order[k]];
        }
        script_run(&script);
        for (int i = 0; i < 4; i++) {
            script_expect(first[i], 0, first_end[i]);
            script_expect(second[i], 3 * S, second_end[i]);
        }
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
