#include "partition/schedule.h"
#include "support/schedule_order.h"

#include <stdio.h>
#include <string.h>

/* Narayanan et al. 2021, figure 4 (top), shows the order with 3 stages and 4 micro-batches. */
TSIM_TEST(one_forward_one_backward) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_1F1B, 3, 1, 4, 0};
    assert_order(z, 0, "F0 F1 F2 B0 F3 B1 B2 B3");
    assert_order(z, 1, "F0 F1 B0 F2 B1 F3 B2 B3");
    assert_order(z, 2, "F0 B0 F1 B1 F2 B2 F3 B3");
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, 0), 3);
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, 2), 1);
}

TSIM_TEST(gpipe_and_sequential) {
    struct tsim_schedule_shape gpipe = {TSIM_SCHEDULE_GPIPE, 2, 1, 3, 0};
    assert_order(gpipe, 0, "F0 F1 F2 B0 B1 B2");
    assert_order(gpipe, 1, "F0 F1 F2 B0 B1 B2");
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&gpipe, 1), 3);
    struct tsim_schedule_shape sequential = {TSIM_SCHEDULE_SEQUENTIAL, 2, 1, 2, 0};
    assert_order(sequential, 0, "F0 B0 F1 B1");
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&sequential, 0), 1);
}

/* Narayanan et al. 2021, figure 4 (bottom) with 2 stages, 2 chunks, 4 micro-batches: warm-up of stage s is
 * 2 (p - 1 - s) + (v - 1) p = 4 and 2. */
TSIM_TEST(interleaved) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 4, 0};
    assert_order(z, 0, "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a");
    assert_order(z, 1, "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a");
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, 0), 5);
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, 1), 3);
}

/* With one group of micro-batches Megatron does all forwards first. */
TSIM_TEST(interleaved_with_one_group) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 2, 0};
    assert_order(z, 1, "F0a F1a F0b F1b B0b B1b B0a B1a");
}

/* Three micro-batches, which two stages do not divide, as one group of three: a warm-up of 2 (p - 1 - s) + (v - 1) 3
 * (NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py, get_pp_rank_microbatches, get_schedule_table). */
TSIM_TEST(interleaved_in_larger_groups) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 3, 3};
    assert_order(z, 0, "F0a F1a F2a F0b F1b F2b B0b B1b B2b B0a B1a B2a");
    assert_order(z, 1, "F0a F1a F2a F0b B0b F1b B1b F2b B2b B0a B1a B2a");
}

/* Two calls of a schedule over two micro-batches each: the second begins where the first has drained. All passes of a
 * call are warm-up in one group (above). Slots number them in the order in which stages run them. */
TSIM_TEST(runs_of_the_schedule) {
    struct tsim_schedule_shape plain = {TSIM_SCHEDULE_1F1B, 2, 1, 4, .run = 2},
                               z = {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 4, .run = 2};
    assert_order(plain, 0, "F0 F1 B0 B1 F2 F3 B2 B3");
    assert_order(plain, 1, "F0 B0 F1 B1 F2 B2 F3 B3");
    assert_order(z, 1, "F0a F1a F0b F1b B0b B1b B0a B1a F2a F3a F2b F3b B2b B3b B2a B3a");
    ck_assert_int_eq(tsim_schedule_peak_in_flight(&plain, 0), 2);
    ck_assert_int_eq(tsim_schedule_regular(&plain, 0).step, 0);
    ck_assert_double_eq(tsim_schedule_bubble_s(&z, (struct tsim_stage_times){1, 2, 0}), 2 * (2 - 1) * 3 / 2.0);
    for (int32_t i = 0, n[2] = {0, 0}; i < 16; i++) {
        struct tsim_pass_item item = tsim_schedule_item(&z, 0, i);
        ck_assert_int_eq(tsim_schedule_slot(&z, item), n[item.kind == TSIM_PASS_BACKWARD]++);
    }
}

/* Every pass comes exactly once, each backward after its forward, and the in-flight peak is counted. */
TSIM_TEST(every_pass_once) {
    struct tsim_schedule_shape shapes[] = {
        {TSIM_SCHEDULE_1F1B, 5, 1, 7, 0},        {TSIM_SCHEDULE_1F1B, 6, 1, 3, 0},
        {TSIM_SCHEDULE_GPIPE, 3, 1, 5, 0},       {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 8, 0},
        {TSIM_SCHEDULE_INTERLEAVED, 3, 2, 3, 0}, {TSIM_SCHEDULE_SEQUENTIAL, 4, 1, 4, 0},
        {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 9, 3}, {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 16, .run = 8},
        {TSIM_SCHEDULE_GPIPE, 3, 1, 9, .run = 3}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
        for (int32_t stage = 0; stage < shapes[k].stages; stage++) {
            int seen[2][64] = {{0}}, live = 0, peak = 0;
            for (int32_t i = 0; i < tsim_schedule_n_items(&shapes[k], stage); i++) {
                struct tsim_pass_item item = tsim_schedule_item(&shapes[k], stage, i);
                int at = item.chunk * shapes[k].microbatches + item.microbatch;
                bool is_backward = item.kind == TSIM_PASS_BACKWARD;
                ck_assert_int_eq(seen[is_backward][at]++, 0);
                ck_assert(!is_backward || seen[0][at]);
                live += is_backward ? -1 : 1;
                peak = live > peak ? live : peak;
            }
            ck_assert_int_eq(peak, tsim_schedule_peak_in_flight(&shapes[k], stage));
            ck_assert_int_eq(live, 0);
        }
}

static void assert_same(struct tsim_pass_item a, struct tsim_pass_item b) {
    ck_assert_int_eq(a.kind, b.kind);
    ck_assert_int_eq(a.pair, b.pair);
    ck_assert_int_eq(a.microbatch, b.microbatch);
    ck_assert_int_eq(a.chunk, b.chunk);
    ck_assert_int_eq(a.is_alone, b.is_alone);
}

/* Passes that no pass of the other direction takes turns with: warm-up and the first after it, and as many at the end;
 * in dualpipe what is in no pair, of 16 stages in half h = 0 ... 7 from outside 2 (7 - h) + 2 (h + 1) + 7 - h forward
 * (steps 1 to 3 of deepseek-ai/DualPipe) and as many backward, and one more of each in the middle. */
TSIM_TEST_LOOP(passes_alone, 0, 16) {
    static const struct {
        struct tsim_schedule_shape shape;
        int32_t stage, forward, backward;
    } CASES[] = {{{TSIM_SCHEDULE_1F1B, 4, 1, 8, 0, true}, 0, 4, 4},
                 {{TSIM_SCHEDULE_1F1B, 4, 1, 8, 0, true}, 3, 1, 1},
                 {{TSIM_SCHEDULE_1F1B, 4, 1, 8, 0, false}, 0, 0, 0},
                 {{TSIM_SCHEDULE_1F1B, 1, 1, 8, 0, true}, 0, 1, 1},
                 {{TSIM_SCHEDULE_1F1B, 1, 1, 1, 0, true}, 0, 1, 1},
                 {{TSIM_SCHEDULE_1F1B, 4, 1, 2, 0, true}, 0, 2, 2},
                 {{TSIM_SCHEDULE_INTERLEAVED, 4, 2, 8, 0, true}, 0, 2 * 3 + 4 + 1, 2 * 3 + 4 + 1},
                 {{TSIM_SCHEDULE_INTERLEAVED, 4, 2, 8, 0, true}, 3, 4 + 1, 4 + 1},
                 {{TSIM_SCHEDULE_INTERLEAVED, 4, 2, 4, 0, true}, 3, 8, 8},
                 {{TSIM_SCHEDULE_GPIPE, 2, 1, 3, 0, true}, 1, 3, 3},
                 {{TSIM_SCHEDULE_SEQUENTIAL, 2, 1, 3, 0, true}, 1, 3, 3},
                 {{TSIM_SCHEDULE_ZB_H1, 4, 1, 8, 0, true}, 0, 4, 4},
                 {{TSIM_SCHEDULE_ZB_H2, 4, 1, 8, 0, true}, 0, 7, 7},
                 {{TSIM_SCHEDULE_DUALPIPE, 16, 2, 40, 0, true}, 0, 23, 23},
                 {{TSIM_SCHEDULE_DUALPIPE, 16, 2, 40, 0, true}, 12, 20, 20},
                 {{TSIM_SCHEDULE_DUALPIPE, 16, 2, 40, 0, true}, 7, 17, 17}};
    const struct tsim_schedule_shape *z = &CASES[_i].shape;
    int32_t n_alone[2] = {0, 0}, n = tsim_schedule_n_items(z, CASES[_i].stage);
    struct tsim_pass_item items[256];
    ck_assert_int_le(n, 256);
    tsim_schedule_fill(z, CASES[_i].stage, items);
    for (int32_t i = 0; i < n; i++) {
        assert_same(items[i], tsim_schedule_item(z, CASES[_i].stage, i));
        n_alone[items[i].kind != TSIM_PASS_FORWARD] += items[i].is_alone;
    }
    ck_assert_int_eq(n_alone[0], CASES[_i].forward);
    ck_assert_int_eq(n_alone[1], CASES[_i].backward);
}

/* Filling an order at once, and replaying what it holds, does as item by item; the latter in any unit. */
TSIM_TEST_LOOP(filled_as_item_by_item, 0, 6) {
    static const struct tsim_schedule_shape shapes[] = {
        {TSIM_SCHEDULE_1F1B, 4, 1, 6, 0},        {TSIM_SCHEDULE_GPIPE, 2, 1, 3, 0},
        {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 8, 0}, {TSIM_SCHEDULE_INTERLEAVED, 4, 2, 4, 0},
        {TSIM_SCHEDULE_INTERLEAVED, 2, 5, 6, 0}, {TSIM_SCHEDULE_INTERLEAVED, 2, 2, 9, 3}};
    static const double HELD[] = {7, 3, 2, 5, 11}, KILO[] = {7e-3, 3e-3, 2e-3, 5e-3, 11e-3};
    const struct tsim_schedule_shape *z = &shapes[_i];
    for (int32_t stage = 0; stage < z->stages; stage++) {
        struct tsim_pass_item items[64];
        double live = 0, peak = 0;
        ck_assert_int_lt(tsim_schedule_n_items(z, stage), 64);
        memset(items, 0x5a, sizeof items);
        const struct tsim_pass_item beyond = items[63];
        tsim_schedule_fill(z, stage, items);
        ck_assert_mem_eq(&items[tsim_schedule_n_items(z, stage)], &beyond, sizeof beyond);
        for (int32_t i = 0; i < tsim_schedule_n_items(z, stage); i++) {
            struct tsim_pass_item item = tsim_schedule_item(z, stage, i);
            assert_same(items[i], item);
            live += item.kind == TSIM_PASS_FORWARD ? HELD[item.chunk] : -HELD[item.chunk];
            peak = live > peak ? live : peak;
        }
        int32_t counts[5] = {0};
        double counted = 0;
        ck_assert_double_eq(tsim_schedule_peak(z, stage, HELD, counts), peak);
        for (int32_t c = 0; c < z->chunks; c++)
            counted += counts[c] * HELD[c];
        ck_assert_double_eq(counted, peak);
        ck_assert_double_eq_tol(tsim_schedule_peak(z, stage, KILO, NULL), peak / 1000, 1e-12);
    }
}

/* A middle that is said to repeat does so, kind by kind, slots as many further as said. */
TSIM_TEST_LOOP(regular_middle, 0, 7) {
    const struct tsim_schedule_shape shapes[] = {{TSIM_SCHEDULE_1F1B, 5, 1, 17, 0},
                                                 {TSIM_SCHEDULE_1F1B, 4, 1, 3, 0},
                                                 {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 20, 0},
                                                 {TSIM_SCHEDULE_INTERLEAVED, 3, 2, 3, 0},
                                                 {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 30, 5},
                                                 {TSIM_SCHEDULE_1F1B, 5, 1, 17, 0, true},
                                                 {TSIM_SCHEDULE_INTERLEAVED, 4, 3, 20, 0, true}};
    const struct tsim_schedule_shape *z = &shapes[_i];
    int32_t n_compared = 0;
    for (int32_t stage = 0; stage < z->stages; stage++) {
        struct tsim_schedule_stretch regular = tsim_schedule_regular(z, stage);
        ck_assert_int_gt(regular.step, 0);
        for (int32_t i = regular.from; i + regular.step < regular.to; i++, n_compared++) {
            struct tsim_pass_item a = tsim_schedule_item(z, stage, i),
                                  b = tsim_schedule_item(z, stage, i + regular.step);
            ck_assert(a.kind == b.kind && a.chunk == b.chunk && a.pair == b.pair && !a.is_alone && !b.is_alone);
            ck_assert_int_eq(tsim_schedule_slot(z, b) - tsim_schedule_slot(z, a), regular.slots);
        }
    }
    ck_assert(n_compared > 0 || z->microbatches < 2 * z->stages);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
