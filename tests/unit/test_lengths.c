/* Samples of many lengths: closed forms of the lognormal, padding, packs, and what a pass and the memory take. */
#include "config/lengths.h"
#include "model/local_shape.h"
#include "model/operators.h"
#include "partition/memory.h"
#include "step/pass/pass.h"
#include "support/example.h"
#include "support/operator_list.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static struct example e;

static void init(double mean, double cv, enum tsim_batching batching) {
    example_init(&e);
    e.scenario.training.kind = TSIM_SFT;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.training.sequence_length = 1 << 20; /* nothing is cut */
    e.scenario.training.lengths = (struct tsim_lengths_spec){.mean = mean, .cv = cv, .batching = batching};
    example_finish(&e);
}

static void resolve(void) {
    tsim_lengths_measure(&e.scenario);
    tsim_lengths_resolve(&e.scenario);
}

/* E[l^2] / E[l] is M (1 + c^2); the longest of two is 2 M Phi(sigma / sqrt 2) on average, sigma^2 = ln(1 + c^2). With
 * one replica nobody waits for another. */
TSIM_TEST(lognormal) {
    for (double cv = 0.25; cv <= 1; cv *= 2) {
        init(4096, cv, TSIM_BATCHING_LONGEST);
        e.scenario.parallelism.data = 1;
        e.scenario.training.micro_batch_size = 2;
        resolve();
        const struct tsim_lengths_spec *l = &e.scenario.training.lengths;
        const double sigma = sqrt(log(1 + cv * cv));
        ck_assert_double_eq_tol(l->useful / 4096, 1, 2e-3);
        ck_assert_double_eq_tol(l->attended / (4096 * (1 + cv * cv)), 1,
                                1.5e-2); /* 1 in 4,000, from the tail, is missing */
        ck_assert_double_eq_tol((double)l->pass / (2 * 4096 * gsl_cdf_ugaussian_P(sigma / sqrt(2))), 1, 5e-3);
    }
}

/* Samples of one length are not padded, but to whole 8 tokens of each tensor rank. Long ones are cut. The slowest of
 * many replicas takes longer, but less so if each has many micro-batches. */
TSIM_TEST(limits) {
    init(1001, 0, TSIM_BATCHING_LONGEST);
    e.scenario.parallelism.tensor = 4;
    resolve();
    ck_assert_int_eq(e.scenario.training.lengths.pass, 1024);
    init(1000, 2, TSIM_BATCHING_LONGEST);
    e.scenario.training.sequence_length = 1200;
    e.scenario.training.micro_batch_size = 64;
    resolve();
    ck_assert_int_eq(e.scenario.training.lengths.pass, 1200);
    ck_assert_double_lt(e.scenario.training.lengths.useful, 700);
    int64_t pass[3];
    static const struct { int64_t data, microbatches; } CASES[] = {{1, 8}, {64, 8}, {64, 512}};
    for (int i = 0; i < 3; i++) {
        init(1000, 1, TSIM_BATCHING_LONGEST);
        e.scenario.parallelism.data = CASES[i].data;
        e.scenario.n_microbatches = CASES[i].microbatches;
        resolve();
        pass[i] = e.scenario.training.lengths.pass;
    }
    ck_assert_int_lt(pass[0], pass[2]);
    ck_assert_int_lt(pass[2], pass[1]);
}

/* Packs are whole sequences whose tokens attend to their own sample; padding is worked on like any token. */
TSIM_TEST(passes) {
    struct tsim_op_list list;
    init(512, 1, TSIM_BATCHING_PACKED);
    e.scenario.training.sequence_length = 4096;
    resolve();
    const struct tsim_lengths_spec *l = &e.scenario.training.lengths;
    ck_assert_double_eq(tsim_op_shape_first(&e.scenario).t, 4096);
    ck_assert_double_eq(tsim_useful_length(&e.scenario), 4096);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "attention core")->sequence, l->attended);
    ck_assert_double_eq_tol(find(&list, "attention core")->flops, 2.0 * 4096 * l->attended * 2 * 1024 / 2, 1);
    e.model.attention_window = 64; /* shorter than a sample */
    tsim_operators_forward(&e.scenario, TSIM_PART_WINDOW_LAYER, 0, &list);
    ck_assert_double_gt(find(&list, "attention core")->window_keys, 0);
    e.model.attention_window = 2048; /* longer than most */
    tsim_operators_forward(&e.scenario, TSIM_PART_WINDOW_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "attention core")->window_keys, 0);
    e.scenario.training.lengths.batching = TSIM_BATCHING_WHOLE;
    resolve();
    ck_assert_double_eq(tsim_op_shape_first(&e.scenario).t, 4096);
    ck_assert_double_lt(tsim_useful_length(&e.scenario), 512);
}

/* Samples of 0.6 of a pack have one each; of 0.5, two; of 0.3, three. If short and long ones are mixed, short ones fill
 * the rest; what stays empty is padding. */
TSIM_TEST(packs) {
    static const struct {
        double mean, cv, least, most;
    } CASES[] = {{600, 0, 0.6, 0.6}, {500, 0, 1, 1}, {300, 0, 0.9, 0.9}, {700, 0.2, 0.7, 0.75}, {400, 1, 1, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        init(CASES[i].mean, CASES[i].cv, TSIM_BATCHING_PACKED);
        e.scenario.training.sequence_length = 1000;
        resolve();
        double useful = tsim_useful_length(&e.scenario) / 1000;
        ck_assert_msg(useful >= CASES[i].least - 1e-9 && useful <= CASES[i].most + 1e-9, "%g", useful);
        ck_assert_double_eq(tsim_pass_length(&e.scenario), 1000);
        ck_assert_double_eq_tol(tsim_samples_of_sequence(&e.scenario),
                                1000 * useful / e.scenario.training.lengths.sample, 1e-9);
    }
}

/* Passes that stand for all have the mean length of a pass, and its spread but for the tails: the
 * variance of a normal's quantiles in the middle of eight equal parts. If samples are alike, or packed or padded to the
 * end, passes are alike. */
TSIM_TEST(lengths_of_passes) {
    int64_t lengths[TSIM_PASS_LENGTHS];
    double mean = 0, log_mean = 0, variance = 0;
    init(40000, 0.1, TSIM_BATCHING_LONGEST);
    e.scenario.parallelism.data = 1;
    e.scenario.training.micro_batch_size = 1;
    resolve();
    ck_assert_int_eq(tsim_lengths_of_passes(&e.scenario, lengths), TSIM_PASS_LENGTHS);
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++) {
        mean += (double)lengths[i] / TSIM_PASS_LENGTHS;
        log_mean += log((double)lengths[i]) / TSIM_PASS_LENGTHS;
        ck_assert_int_eq(lengths[i] % 8, 0);
    }
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++)
        variance += pow(log((double)lengths[i]) - log_mean, 2) / TSIM_PASS_LENGTHS;
    ck_assert_double_eq_tol(mean / tsim_pass_length(&e.scenario), 1, 1e-3);
    double expected = 0;
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++)
        expected += pow(gsl_cdf_ugaussian_Pinv((i + 0.5) / TSIM_PASS_LENGTHS), 2) / TSIM_PASS_LENGTHS;
    ck_assert_double_eq_tol(variance / (log(1 + 0.1 * 0.1) * expected), 1, 1e-2);
    init(40000, 0, TSIM_BATCHING_LONGEST);
    ck_assert_int_eq(tsim_lengths_of_passes(&e.scenario, lengths), 0);
    init(40000, 0.1, TSIM_BATCHING_WHOLE);
    ck_assert_int_eq(tsim_lengths_of_passes(&e.scenario, lengths), 0);
}

struct kernels {
    double time_s[2 * TSIM_MAX_OPS];
    int32_t n;
};

static void take(void *context, const struct tsim_pass_operator *row) {
    struct kernels *kernels = context;
    kernels->time_s[kernels->n++] = row->time_s;
}

/* A kernel takes the mean of what it takes in passes of each length. */
TSIM_TEST(mean_of_lengths) {
    int64_t lengths[TSIM_PASS_LENGTHS];
    struct kernels all = {.n = 0};
    double sum_s[2 * TSIM_MAX_OPS] = {0};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    init(300, 0.6, TSIM_BATCHING_LONGEST);
    e.scenario.training.sequence_length = 512;
    resolve();
    struct tsim_scenario own = e.scenario;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    ck_assert_int_eq(tsim_lengths_of_passes(&e.scenario, lengths), TSIM_PASS_LENGTHS);
    tsim_pass_visit(&e.scenario, cluster, placement, TSIM_PART_LAYER, TSIM_PASS_FORWARD, take, &all);
    own.training.lengths.cv = 0;
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++) {
        struct kernels one = {.n = 0};
        own.training.lengths.pass = lengths[i];
        tsim_pass_visit(&own, cluster, placement, TSIM_PART_LAYER, TSIM_PASS_FORWARD, take, &one);
        ck_assert_int_eq(one.n, all.n);
        for (int32_t k = 0; k < one.n; k++)
            sum_s[k] += one.time_s[k] / TSIM_PASS_LENGTHS;
    }
    for (int32_t k = 0; k < all.n; k++)
        ck_assert_double_eq_tol(all.time_s[k] / sum_s[k], 1, 1e-9);
    tsim_arena_release(&arena);
}

/* Memory is that of the longest sample, whatever is padded to. */
TSIM_TEST(memory) {
    struct tsim_stage_memory padded, whole;
    init(512, 1, TSIM_BATCHING_LONGEST);
    e.scenario.training.sequence_length = 4096;
    resolve();
    ck_assert_int_lt(e.scenario.training.lengths.pass, 4096);
    tsim_stage_memory(&e.scenario, 0, &padded);
    e.scenario.training.lengths = (struct tsim_lengths_spec){0};
    tsim_stage_memory(&e.scenario, 0, &whole);
    ck_assert_double_eq(padded.activations_bytes, whole.activations_bytes);
    ck_assert_double_eq(padded.total_bytes, whole.total_bytes);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
