/* Pipelines that are never flushed: each stage works all the time, and keeps the versions that passes in flight began
 * with. */
#include "partition/schedule.h"
#include "support/training_rig.h"

#include <math.h>

enum { STAGES = 4, MICROBATCHES = 12 };

static const char *text_of(const char *schedule, const char *more) {
    return tsim_arena_printf(
        &arena,
        "schema: tsim/v1\nname: a\n"
        "model: {layers: 8, hidden: 1024, heads: 8, vocab: 4096, position: rope, tied_embeddings: false}\n"
        "cluster: {node: dgx-h100, nodes: 1, accelerators_per_node: 4}\n"
        "training: {sequence_length: 1024, global_batch_size: %d, micro_batch_size: 1, precision: bf16, optimizer: "
        "adam}\n"
        "parallelism: {pipeline: %d, schedule: %s, zero: 0}\nsimulation: {network: ideal%s}\n",
        MICROBATCHES, STAGES, schedule, more);
}

static struct tsim_result run(const char *schedule) {
    return train(load_text(text_of(schedule, "")));
}

/* The last stage has the head and is the slowest: a step is its passes and its update. 1f1b waits for a forward and a
 * backward pass of each stage before it as well. */
TSIM_TEST(nothing_fills_and_drains) {
    struct tsim_result flushed = run("1f1b"), two = run("pipedream-2bw"), each = run("pipedream");
    const struct tsim_step_terms *t = &two.step.terms;
    ck_assert_double_eq_tol(t->bubble_s / t->time_s, 0, 1e-6);
    SAME(t->compute_s, flushed.step.terms.compute_s);
    SAME(t->time_s, t->compute_s + t->optimizer_s + t->exposed_pipeline_s);
    ck_assert_double_lt(t->exposed_pipeline_s, 0.01 * t->time_s);
    ck_assert_double_gt(flushed.step.terms.bubble_s, (STAGES - 1) * t->compute_s / MICROBATCHES / 2);
    /* There is an update after each micro-batch. */
    SAME(each.step.terms.optimizer_s, MICROBATCHES * t->optimizer_s);
    SAME(each.step.terms.time_s - t->time_s, (MICROBATCHES - 1) * t->optimizer_s);
}

/* Stage 0 keeps the weights of 4 versions; with two, every stage keeps one more. 2 bytes each. */
TSIM_TEST(versions_are_kept) {
    struct tsim_result flushed = run("1f1b"), two = run("pipedream-2bw"), each = run("pipedream");
    for (int32_t stage = 0; stage < STAGES; stage++) {
        double weights = flushed.step.ranks[stage].memory.weights_bytes,
               buffers = flushed.step.ranks[stage].memory.buffers_bytes;
        ck_assert_double_eq_tol(two.step.ranks[stage].memory.buffers_bytes - buffers, weights, 1);
        ck_assert_double_eq_tol(each.step.ranks[stage].memory.buffers_bytes - buffers, (STAGES - 1 - stage) * weights,
                                1);
        ck_assert_double_eq(each.step.ranks[stage].memory.activations_bytes,
                            flushed.step.ranks[stage].memory.activations_bytes);
    }
}

/* Every micro-batch goes forward and backward once in a step; a stage is ahead by as many as are in flight. */
TSIM_TEST(a_step_has_each_pass_once) {
    const struct tsim_schedule_shape shape = {
        .schedule = TSIM_SCHEDULE_PIPEDREAM, .stages = STAGES, .chunks = 1, .microbatches = MICROBATCHES};
    for (int32_t stage = 0; stage < STAGES; stage++) {
        struct tsim_pass_item items[2 * MICROBATCHES];
        ck_assert_int_eq(tsim_schedule_n_items(&shape, stage), 2 * MICROBATCHES);
        tsim_schedule_fill(&shape, stage, items);
        for (int32_t i = 0; i < MICROBATCHES; i++) {
            ck_assert_int_eq(items[2 * i].kind, TSIM_PASS_BACKWARD);
            ck_assert_int_eq(items[2 * i].microbatch, i);
            ck_assert_int_eq(items[2 * i + 1].kind, TSIM_PASS_FORWARD);
            ck_assert_int_eq(items[2 * i + 1].microbatch, (i + STAGES - stage) % MICROBATCHES);
        }
    }
}

TSIM_TEST(unfolded_is_the_same) {
    struct tsim_result folded = run("pipedream-2bw"),
                       unfolded = train(load_text(text_of("pipedream-2bw", ", fold: off")));
    SAME(unfolded.step.terms.time_s, folded.step.terms.time_s);
}

TSIM_TEST(needs_a_full_pipeline) {
    ck_assert_ptr_null(try_text("schema: tsim/v1\nname: a\nmodel: llama2-7b\ncluster: {node: dgx-h100}\n"
                                "training: {global_batch_size: 4}\n"
                                "parallelism: {pipeline: 8, schedule: pipedream, zero: 0}\n"));
    tsim_diags_release(&diags);
    tsim_diags_init(&diags);
    ck_assert_ptr_null(try_text("schema: tsim/v1\nname: a\nmodel: llama2-7b\ncluster: {node: dgx-h100}\n"
                                "parallelism: {pipeline: 4, schedule: pipedream, zero: 1}\n"));
    tsim_diags_release(&diags);
    tsim_diags_init(&diags);
    ck_assert_ptr_null(try_text("schema: tsim/v1\nname: a\nmodel: gpt2-small\ncluster: {node: dgx-h100}\n"
                                "training: {sequence_length: 1024}\n"
                                "parallelism: {pipeline: 4, schedule: pipedream-2bw}\n"));
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
