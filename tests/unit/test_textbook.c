/* The examples' numbers against arithmetic done by hand, and that what is said of differences is true. */
#include "study/textbook.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>

static struct tsim_arena arena;
static struct tsim_diags diags;
static struct tsim_textbook textbook;

static void compute(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_textbook_compute(&arena, NULL, &textbook, &diags), TSIM_OK);
}

static void release(void) {
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static const struct tsim_textbook_value *find(const char *id, const char *what) {
    for (size_t i = 0; i < textbook.n_examples; i++)
        for (size_t j = 0; strcmp(textbook.examples[i].id, id) == 0 && j < textbook.examples[i].n_values; j++)
            if (strcmp(textbook.examples[i].values[j].what, what) == 0)
                return &textbook.examples[i].values[j];
    ck_abort_msg("no value '%s' in %s", what, id);
    return NULL;
}

static void check(const char *id, const char *what, double by_hand) {
    const struct tsim_textbook_value *value = find(id, what);
    ck_assert_msg(fabs(value->tsim / by_hand - 1) < 1e-4, "%s, %s: %.10g, by hand %.10g", id, what, value->tsim,
                  by_hand);
}

/* The example has B = 32 sequences of S = 1024 tokens, H = 1600, 25 heads of 64, and a vocabulary of 50,257 padded to
 * 50,304 on one rank. */
TSIM_TEST(flops_by_hand) {
    double tokens = 32 * 1024, h = 1600;
    check("gpt2-flops", "queries, keys, values: one layer, forward", 2 * tokens * 3 * h * h / 1e9);
    check("gpt2-flops", "attention scores: one layer, forward", 2 * tokens * 1024 * h / 1e9);
    check("gpt2-flops", "feed-forward block: one layer, forward (16 B S H^2)", 16 * tokens * h * h / 1e9);
    check("gpt2-flops", "a whole layer, forward", (24 * tokens * h * h + 4 * tokens * 1024 * h) / 1e9);
    check("gpt2-flops", "a step: forward and twice that backward",
          (6 * 1557611200.0 + 12 * 48 * h * 1024) * tokens / 1e12);
    check("gpt2-flops", "the step on one V100 at its peak", (6 * 1557611200.0 + 12 * 48 * h * 1024) * tokens / 125e12);
}

/* 1,557,611,200 parameters, of which the table has 47 rows of padding more. */
TSIM_TEST(memory_by_hand) {
    double n = 1557611200.0 + 47 * 1600, tokens = 32 * 1024, h = 1600;
    check("optimizer-memory", "parameters in fp32", 4 * n / 1e9);
    check("optimizer-memory", "all of these, fp32", 16 * n / 1e9);
    check("optimizer-memory", "the same in mixed precision: 2 + 2 + 4 + 8 bytes a parameter", 16 * n / 1e9);
    check("optimizer-memory", "the same: Adam", 3);
    check("activation-memory", "attention: queries, keys, values, result; one layer in fp16", 8 * tokens * h / 1e6);
    check("activation-memory", "feed-forward block: inner tensors; one layer", 16 * tokens * h / 1e6);
    /* Korthikanti et al. 2022 have in equation 1, without tensor parallelism, sbh (34 + 5 a s / h). */
    check("activation-memory", "one layer", tokens * h * (34 + 5 * 25 * 1024 / h) / 1e6);
    check("resnet-memory", "result of the first convolution, \"for a batch of 32\"", 32 * 112 * 112 * 64 * 4 / 1e6);
}

/* 14 GB of gradients cross links of 12.5 GB/s in 2 (n - 1) / n x 14 / 12.5. 90 epochs and 1e24 FLOP are divisions. */
TSIM_TEST(scaling_by_hand) {
    check("network-wall", "ring all-reduce of 14 GB over ever more GPUs at 12.5 GB/s", 2.24);
    check("network-wall", "over the 8 GPUs of the problem: 2 (n - 1) / n of the bytes", 1.96);
    check("network-wall", "28 GB at 900 GB/s of NVLink", 1.75 * 14e9 / 450e9 * 1e3);
    check("ceilings", "1e24 FLOP on one H100 at its peak", 1e24 / 989e12 / (365.25 * 86400));
    check("attention-memory", "scores of one head in fp32, 4,096 tokens", 4096.0 * 4096 * 4 / 1e6);
    check("attention-memory", "FLOPs of flash attention over those of standard, both passes, for the same scores",
          3.5 / 3);
    check("gradient-accumulation", "rent of 32 GPUs at 16 USD", 512);
    check("utility-bill", "buying 1,000 at 30,000 USD", 30);
    check("layers-over-devices", "crosses a boundary, one way, of a micro-batch of 4 x 1,024 tokens",
          4 * 1024 * 1024 * 2 / 1e6);
}

/* The figure's bars are 2 x 8 + 3 x (12 + 12), and 8 + 12 + 3 x 12; 32 x 1,024 tokens come at half a million a
 * second. */
TSIM_TEST(input_by_hand) {
    check("prefetching", "two epochs of three batches, one thing after another", 88);
    check("prefetching", "opened once, read under training", 56);
    check("prefetching", "two batches of 256 pictures of 1,024 x 1,024 in the host's memory",
          2 * 256 * 1024.0 * 1024 * 3 / 1e9);
    check("tokenization", "tokenized by one core, a batch each", 65.536);
    check("storage", "accelerator of 1,000 images/s, pipeline of 200: busy", 20);
}

/* A value that agrees says nobody is wrong; one that does not has a reason. */
TSIM_TEST(verdicts_are_true) {
    for (size_t i = 0; i < textbook.n_examples; i++)
        for (size_t j = 0; j < textbook.examples[i].n_values; j++) {
            const struct tsim_textbook_value *value = &textbook.examples[i].values[j];
            const char *id = textbook.examples[i].id;
            ck_assert_msg(isfinite(value->tsim), "%s, %s: tsim has no value", id, value->what);
            if (!isnan(value->text) && value->agrees)
                ck_assert_msg(value->right == TSIM_TEXTBOOK_BOTH, "%s, %s: agrees, but is said to differ", id,
                              value->what);
            else if (!isnan(value->text))
                ck_assert_msg(value->why != NULL, "%s, %s: differs by %+.1f %%, and nothing is said of it", id,
                              value->what, 100 * value->difference_frac);
        }
}

TSIM_TEST(ids) {
    const char *const *names;
    struct tsim_textbook one;
    size_t n;
    ck_assert_int_eq(tsim_textbook_ids(&arena, &names, &n, &diags), TSIM_OK);
    ck_assert_uint_eq(n, textbook.n_examples);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(names[i], names[j]);
    ck_assert_int_eq(tsim_textbook_compute(&arena, "gpt2-flops", &one, &diags), TSIM_OK);
    ck_assert_uint_eq(one.n_examples, 1);
    ck_assert_int_eq(tsim_textbook_compute(&arena, "gpt3-flops", &one, &diags), TSIM_OK);
    ck_assert_uint_eq(one.n_examples, 0);
}

/* Each number counts once: it agrees, or somebody is right. */
TSIM_TEST(score) {
    size_t n = textbook.n_agree;
    for (int right = 0; right < TSIM_N_TEXTBOOK_RIGHTS; right++)
        n += textbook.n_right[right];
    ck_assert_uint_eq(n, textbook.n_values);
}

TSIM_MAIN(CHECKS_LIMIT_S, compute, release)
