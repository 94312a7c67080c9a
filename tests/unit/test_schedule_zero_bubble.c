/* Schedules with a split backward pass: the orders of the papers' figures for few stages and micro-batches, and a
 * replay on equal stages with free communication for the idle time and the activations held. */
#include "partition/schedule_zero_bubble.h"
#include "support/schedule_order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Qi et al. 2023, figure 2: 4 stages, 8 micro-batches. The first stage computes weight gradients at once, the last
 * puts them off until four micro-batches are held. */
TSIM_TEST(zb_h1_figure) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_H1, 4, 1, 8};
    assert_order(z, 0, "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7");
    assert_order(z, 1, "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7");
    assert_order(z, 2, "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7");
    assert_order(z, 3, "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7");
}

/* Figure 3 has 4 stages and 8 micro-batches; 7, 5, 3, 1 forwards before the first backward, and a parallelogram. */
TSIM_TEST(zb_h2_figure) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_H2, 4, 1, 8};
    assert_order(z, 0, "F0 F1 F2 F3 F4 F5 F6 I0 W0 F7 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7");
    assert_order(z, 1, "F0 F1 F2 F3 F4 I0 W0 F5 I1 F6 I2 F7 I3 W1 I4 W2 I5 W3 I6 W4 I7 W5 W6 W7");
    assert_order(z, 3, "F0 I0 W0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 F7 I7 W1 W2 W3 W4 W5 W6 W7");
}

/* Section 6: chunk a of stage i is part i, chunk b part 2p-1-i. 3 stages, 6 micro-batches, by handcrafted_zb_v. */
TSIM_TEST(zb_v_order) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_V, 3, 2, 6};
    assert_order(z, 0,
                 "F0a F1a F2a F3a F4a F0b I0b W0b F1b I1b W1b F2b I2b W2b F5a I0a W0a F3b I3b W3b I1a W1a F4b "
                 "I4b W4b I2a W2a F5b I5b W5b I3a W3a I4a W4a I5a W5a");
    assert_order(z, 2,
                 "F0a F0b F1a F1b F2a F2b I0b W0b F3a I0a W0a F3b I1b W1b F4a I1a W1a F4b I2b W2b F5a I2a W2a "
                 "F5b I3b W3b I3a I4b I4a I5b I5a W3a W4b W5b W4a W5a");
    for (int32_t stage = 0; stage < 3; stage++) {
        ck_assert_int_eq(tsim_schedule_part(&z, stage, 0), stage);
        ck_assert_int_eq(tsim_schedule_part(&z, stage, 1), 5 - stage);
    }
}

/* DeepSeek-V3 report, figure 5: 8 ranks, 20 micro-batches, 10 in each direction; deepseek-ai/DualPipe, dualpipe.py, for
 * the ranks at the edge and in the middle. Rank 0: F0 x 6, F0F1, I1W1F1 x 3, then pairs. */
TSIM_TEST(dualpipe_figure) {
    struct tsim_schedule_shape z = {TSIM_SCHEDULE_DUALPIPE, 8, 2, 20};
    assert_order(z, 0,
                 "F0a F1a F2a F3a F4a F5a F6a F0b I0b W0b F1b I1b W1b F2b I2b W2b F3b F7a&B3b F4b&B0a F8a&B4b "
                 "F5b&B1a F9a&B5b F6b&B2a B6b F7b&B3a B7b F8b&B4a B8b F9b&B5a B9b I6a W6a I7a W7a I8a W8a I9a "
                 "W9a");
    assert_order(z, 3,
                 "F0a F0b F1a F1b F2a F2b F3a F3b F4a B0b F4b&B0a F5a&B1b F5b&B1a F6a&B2b F6b&B2a F7a&B3b "
                 "F7b&B3a F8a&B4b F8b&B4a F9a&B5b F9b&B5a B6b B6a B7b B7a I8b I8a I9b I9a W8b W8a W9b W9a");
    /* The second half is the first with the chunks exchanged. */
    assert_order(z, 4,
                 "F0b F0a F1b F1a F2b F2a F3b F3a F4b B0a F4a&B0b F5b&B1a F5a&B1b F6b&B2a F6a&B2b F7b&B3a "
                 "F7a&B3b F8b&B4a F8a&B4b F9b&B5a F9a&B5b B6a B6b B7a B7b I8a I8b I9a I9b W8a W8b W9a W9b");
    for (int32_t stage = 0; stage < 8; stage++) {
        ck_assert_int_eq(tsim_schedule_part(&z, stage, 0), stage);
        ck_assert_int_eq(tsim_schedule_part(&z, stage, 1), 7 - stage);
    }
}

/* ---- replay ---- */

enum { MAX_STAGES = 16, MAX_SLOTS = 128, MAX_ITEMS = 512 };
static const double NOT_YET = -1;

struct replay {
    struct tsim_schedule_shape shape;
    struct tsim_stage_times times; /* of a chunk */
    struct tsim_pass_item items[MAX_STAGES][MAX_ITEMS];
    double arrived[2][MAX_STAGES][2][MAX_SLOTS]; /* activations, gradients; stage, chunk, micro-batch */
    int32_t at[MAX_STAGES];
    double now[MAX_STAGES], begin[MAX_STAGES];
};
static struct replay r;

static double *inbox(int32_t stage, struct tsim_pass_item item) {
    return &r.arrived[item.kind != TSIM_PASS_FORWARD][stage][item.chunk][item.microbatch];
}

static double duration(struct tsim_pass_item item) {
    const double times[] = {[TSIM_PASS_FORWARD] = r.times.forward_s,
                            [TSIM_PASS_BACKWARD] = r.times.input_s + r.times.weight_s,
                            [TSIM_PASS_INPUT_GRADIENT] = r.times.input_s,
                            [TSIM_PASS_WEIGHT_GRADIENT] = r.times.weight_s};
    return times[item.kind];
}

/* Plays the next item, or pair, of a stage. Returns false if it still waits for a message. */
static bool step(int32_t stage) {
    const struct tsim_pass_item *first = &r.items[stage][r.at[stage]];
    int32_t n = first->pair == TSIM_PAIR_FIRST ? 2 : 1, neighbours[] = {-1, 1};
    double begin = r.now[stage], end;
    for (int32_t i = 0; i < n; i++) {
        if (!tsim_schedule_receives(&r.shape, stage, first[i]))
            continue;
        if (*inbox(stage, first[i]) == NOT_YET)
            return false;
        begin = fmax(begin, *inbox(stage, first[i]));
    }
    end = begin + duration(first[0]) + (n == 2 ? duration(first[1]) : 0);
    for (int32_t i = 0; i < n; i++) {
        struct tsim_schedule_hop hop = tsim_schedule_hop(&r.shape, stage, first[i]);
        struct tsim_pass_item there = first[i];
        there.chunk = hop.chunk;
        if (hop.sends)
            *inbox((stage + neighbours[hop.to_next] + r.shape.stages) % r.shape.stages, there) = end;
    }
    if (r.at[stage] == 0)
        r.begin[stage] = begin;
    r.now[stage] = end;
    r.at[stage] += n;
    return true;
}

struct outcome {
    double longest_s, last_s; /* from a stage's first pass to its last, the most; the end of all */
};

static struct outcome replay(struct tsim_schedule_shape shape, struct tsim_stage_times chunk_times) {
    memset(&r, 0, sizeof r);
    r.shape = shape;
    r.times = chunk_times;
    for (int32_t s = 0; s < shape.stages; s++) {
        tsim_schedule_fill(&shape, s, r.items[s]);
        for (int way = 0; way < 2; way++)
            for (int32_t c = 0; c < 2; c++)
                for (int32_t m = 0; m < MAX_SLOTS; m++)
                    r.arrived[way][s][c][m] = NOT_YET;
    }
    struct outcome out = {0, 0};
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t s = 0; s < shape.stages; s++)
            while (r.at[s] < tsim_schedule_n_items(&shape, s) && step(s))
                moved = true;
    }
    for (int32_t s = 0; s < shape.stages; s++) {
        ck_assert_int_eq(r.at[s], tsim_schedule_n_items(&shape, s)); /* nobody waits for ever */
        out.longest_s = fmax(out.longest_s, r.now[s] - r.begin[s]);
        out.last_s = fmax(out.last_s, r.now[s]);
    }
    return out;
}

static double work_s(struct tsim_schedule_shape shape, struct tsim_stage_times t) {
    return tsim_schedule_chunk_microbatches(&shape) * shape.chunks * (t.forward_s + t.input_s + t.weight_s);
}

/* Equal stages: the idle time between a stage's first and last pass is the published closed form. f, b, w are not
 * equal; dualpipe's form is exact for f = b. */
TSIM_TEST(published_bubbles) {
    static const struct tsim_stage_times TIMES[] = {{1, 1, 1}, {2, 2, 1}, {10, 11, 9}, {3, 5, 2}, {4, 4, 3}};
    static const int32_t SIZES[][2] = {{2, 4}, {4, 8}, {4, 12}, {8, 20}, {8, 64}};
    for (size_t t = 0; t < sizeof TIMES / sizeof TIMES[0]; t++)
        for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++) {
            struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_H1, SIZES[s][0], 1, SIZES[s][1]};
            struct outcome h1 = replay(z, TIMES[t]);
            ck_assert_double_eq_tol(h1.last_s - work_s(z, TIMES[t]), tsim_schedule_bubble_s(&z, TIMES[t]), 1e-9);
            z.schedule = TSIM_SCHEDULE_ZB_H2;
            struct outcome h2 = replay(z, TIMES[t]);
            ck_assert_double_eq_tol(h2.longest_s - work_s(z, TIMES[t]), tsim_schedule_bubble_s(&z, TIMES[t]), 1e-9);
            if (TIMES[t].forward_s != TIMES[t].input_s)
                continue;
            z.schedule = TSIM_SCHEDULE_DUALPIPE;
            z.chunks = 2;
            struct outcome dual = replay(z, TIMES[t]);
            ck_assert_double_eq_tol(dual.last_s - work_s(z, TIMES[t]), tsim_schedule_bubble_s(&z, TIMES[t]), 1e-9);
        }
}

/* zb-v with f = b = w: no stage is ever idle between its first pass and its last; with unequal times a little (section
 * 6: the bubble depends on how near they are). */
TSIM_TEST(zb_v_bubble) {
    for (int32_t p = 1; p <= 8; p++) {
        struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_V, p, 2, 2 * p + 3};
        struct tsim_stage_times equal = {1, 1, 1}, unequal = {10, 11, 9};
        ck_assert_double_eq_tol(replay(z, equal).longest_s, work_s(z, equal), 1e-9);
        struct tsim_schedule_shape h1 = {TSIM_SCHEDULE_ZB_H1, p, 1, 2 * p + 3};
        struct tsim_stage_times whole = {20, 22, 18};
        ck_assert_double_le(replay(z, unequal).longest_s - work_s(z, unequal),
                            0.2 * tsim_schedule_bubble_s(&h1, whole));
    }
}

/* Expects every pass of every micro-batch once, in an order that is possible on the stage alone. A whole backward pass
 * counts as both gradients. */
static void check_once(struct tsim_schedule_shape z, int32_t stage) {
    int32_t seen[3][2][MAX_SLOTS] = {{{0}}}, m = tsim_schedule_chunk_microbatches(&z), total = 0;
    for (int32_t i = 0; i < tsim_schedule_n_items(&z, stage); i++) {
        struct tsim_pass_item item = tsim_schedule_item(&z, stage, i), filled[MAX_ITEMS];
        tsim_schedule_fill(&z, stage, filled);
        ck_assert_int_eq(item.kind, filled[i].kind);
        ck_assert_int_eq(item.microbatch, filled[i].microbatch);
        ck_assert_int_eq(item.chunk, filled[i].chunk);
        ck_assert(item.microbatch >= 0 && item.microbatch < m);
        bool is_input = item.kind == TSIM_PASS_BACKWARD || item.kind == TSIM_PASS_INPUT_GRADIENT;
        bool is_weight = item.kind == TSIM_PASS_BACKWARD || item.kind == TSIM_PASS_WEIGHT_GRADIENT;
        if (item.kind == TSIM_PASS_FORWARD)
            ck_assert_int_eq(seen[0][item.chunk][item.microbatch]++, 0);
        if (is_input) {
            ck_assert_int_eq(seen[0][item.chunk][item.microbatch], 1);
            ck_assert_int_eq(seen[1][item.chunk][item.microbatch]++, 0);
        }
        if (is_weight) {
            ck_assert_int_eq(seen[1][item.chunk][item.microbatch], 1);
            ck_assert_int_eq(seen[2][item.chunk][item.microbatch]++, 0);
        }
        total += (item.kind == TSIM_PASS_FORWARD) + is_input + is_weight;
    }
    ck_assert_int_eq(total, 3 * m * z.chunks);
}

/* Activations held, in micro-batches of a whole stage: zb-h1 p (as 1f1b), zb-h2 2p-1 (Qi et al. 2023, table 2), zb-v p
 * (two chunks of half a stage each), dualpipe p+1 (DeepSeek-V3, table 2): on every stage. */
TSIM_TEST(published_memory) {
    const int32_t most = getenv("TSIM_CASES") ? 9 : 6;
    for (int32_t p = 1; p <= most; p++)
        for (int32_t m = 1; m <= 3 * p + 2; m++)
            for (int32_t s = 0; s < p; s++) {
                struct tsim_schedule_shape z = {TSIM_SCHEDULE_ZB_H1, p, 1, m};
                check_once(z, s);
                ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, s), m < p ? m : p);
                z.schedule = TSIM_SCHEDULE_ZB_H2;
                check_once(z, s);
                ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, s), m < 2 * p - 1 ? m : 2 * p - 1);
                z.chunks = 2;
                if (m >= 2 * p - 1) {
                    z.schedule = TSIM_SCHEDULE_ZB_V;
                    check_once(z, s);
                    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, s), 2 * p);
                }
                if (p % 2 == 0 && m % 2 == 0 && m >= 2 * p) {
                    z.schedule = TSIM_SCHEDULE_DUALPIPE;
                    check_once(z, s);
                    ck_assert_int_eq(tsim_schedule_peak_in_flight(&z, s), p + 1);
                }
            }
}

/* The peak with what stays for the weight gradient is that of counting item by item, in any unit. */
TSIM_TEST(peak_by_counting) {
    static const enum tsim_schedule SCHEDULES[] = {TSIM_SCHEDULE_ZB_H1, TSIM_SCHEDULE_ZB_H2, TSIM_SCHEDULE_ZB_V,
                                                   TSIM_SCHEDULE_DUALPIPE};
    static const double WHOLE[] = {5, 3}, KEPT[] = {2, 4}, KILO_WHOLE[] = {5e-3, 3e-3}, KILO_KEPT[] = {2e-3, 4e-3};
    for (size_t k = 0; k < 4; k++)
        for (int32_t s = 0; s < 6; s++) {
            struct tsim_schedule_shape z = {SCHEDULES[k], 6, tsim_schedule_chunks(SCHEDULES[k], 1), 22};
            struct tsim_schedule_program program;
            double held = 0, peak = 0;
            for (int32_t i = 0; i < tsim_schedule_n_items(&z, s); i++) {
                struct tsim_pass_item item = tsim_schedule_item(&z, s, i);
                double w = WHOLE[item.chunk], left = KEPT[item.chunk];
                held += item.kind == TSIM_PASS_FORWARD          ? w
                        : item.kind == TSIM_PASS_BACKWARD       ? -w
                        : item.kind == TSIM_PASS_INPUT_GRADIENT ? left - w
                                                                : -left;
                peak = fmax(peak, held);
            }
            memset(&program, 0x5a, sizeof program); /* phases that there are not */
            tsim_schedule_program_build(&z, s, &program);
            struct tsim_schedule_held n;
            ck_assert_double_eq(tsim_schedule_program_peak(&program, WHOLE, KEPT, &n), peak);
            double counted = 0;
            for (int32_t c = 0; c < z.chunks; c++)
                counted += n.whole[c] * WHOLE[c] + n.kept[c] * KEPT[c];
            ck_assert_double_eq(counted, peak);
            ck_assert_double_eq_tol(tsim_schedule_program_peak(&program, KILO_WHOLE, KILO_KEPT, NULL), peak / 1000,
                                    1e-12);
            ck_assert_double_eq(held, 0);
        }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
