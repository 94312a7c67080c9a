/* The input pipeline: rates and waits that come out of the simulation, against closed forms and worked examples of
 * Machine Learning Systems, chapter on training (harvard-edge/cs249r_book). */
#include "cost/compute.h"
#include "step/input/step_input.h"
#include "support/training_rig.h"

#include <math.h>
#include <string.h>

/* Returns the flow if every consumer computes `compute_s` on each of its n batches, one after another. */
static struct tsim_input_pipeline_flow flow_of(struct tsim_input_pipeline pipeline, double compute_s) {
    int32_t n = pipeline.n_batches + 1;
    double *gaps_s = TSIM_NEW_ARRAY(&arena, (size_t)(n * pipeline.n_consumers), double);
    struct tsim_input_pipeline_flow flow;
    for (int32_t i = 0; i < n * pipeline.n_consumers; i++)
        gaps_s[i] = i % n == 0 ? 0 : compute_s;
    pipeline.gaps_s = gaps_s;
    ck_assert_int_eq(tsim_input_pipeline_simulate(&arena, &pipeline, &flow, &diags), TSIM_OK);
    /* A step is what it asked for and what it waited for. */
    ck_assert_double_eq_tol(flow.step_s, pipeline.n_batches * compute_s + flow.wait_s, 1e-6 * flow.step_s);
    return flow;
}

/* A worker alone reads as fast as the storage. */
static struct tsim_input_pipeline pipeline_of(double read_s, double cpu_s, double copy_s, int32_t workers,
                                              int32_t prefetch) {
    return (struct tsim_input_pipeline){.read_bytes = read_s,
                                        .read_alone_s = read_s > 0 ? read_s : 1,
                                        .cpu_s = cpu_s,
                                        .transfer_bytes = copy_s,
                                        .storage_bytes_per_s = 1,
                                        .link_bytes_per_s = 1,
                                        .workers = workers,
                                        .prefetch = prefetch,
                                        .n_consumers = 1,
                                        .n_batches = 1};
}

static double step_s(struct tsim_input_pipeline pipeline, double compute_s) {
    return flow_of(pipeline, compute_s).step_s;
}

/* ---- the slowest of storage, cores, link and accelerator sets the pace ---- */

TSIM_TEST(min_of_three) {
    SAME(step_s(pipeline_of(0.010, 0.040, 0.001, 8, 2), 0.012),
         0.012); /* accelerator: 10 and 40 / 8 = 5 ms are faster */
    SAME(step_s(pipeline_of(0.030, 0.040, 0.001, 8, 2), 0.012), 0.030); /* storage, however many workers read */
    SAME(step_s(pipeline_of(0.001, 0.160, 0.001, 8, 2), 0.012), 0.020); /* 160 ms on 8 cores */
    SAME(step_s(pipeline_of(0.010, 0.040, 0.050, 8, 2), 0.012), 0.050); /* PCIe */
}

/* It holds for any mix, several consumers and batches a step, with buffers that are deep enough. */
TSIM_TEST(min_of_four_anywhere) {
    unsigned seed = 12345;
    for (int round = 0; round < 200; round++) {
        double s[4];
        for (int i = 0; i < 4; i++) {
            seed = seed * 1103515245 + 12345;
            s[i] = 1e-3 * pow(100, (double)(seed >> 8 & 0xffff) / 65536);
        }
        int32_t workers = 1 + (int32_t)(seed >> 12 & 15), consumers = 1 + (int32_t)(seed >> 20 & 3);
        struct tsim_input_pipeline pipeline = pipeline_of(s[0], s[1], s[2], workers, 16);
        pipeline.n_consumers = consumers;
        pipeline.n_batches = 1 + (int32_t)(seed >> 16 & 3);
        double node_s = fmax(s[0], s[1] / workers) * consumers, expected_s = fmax(fmax(node_s, s[2]), s[3]);
        struct tsim_input_pipeline_flow flow = flow_of(pipeline, s[3]);
        ck_assert_msg(fabs(flow.step_s / (pipeline.n_batches * expected_s) - 1) < 2e-3,
                      "round %d: %d workers, %d consumers, read %g, cpu %g, copy %g, compute %g: %g, not %g", round,
                      workers, consumers, s[0], s[1], s[2], s[3], flow.step_s / pipeline.n_batches, expected_s);
    }
}

TSIM_TEST(what_binds_is_named) {
    ck_assert_int_eq(flow_of(pipeline_of(0.010, 0.040, 0.001, 8, 2), 0.012).bound, TSIM_INPUT_BOUND_NONE);
    ck_assert_int_eq(flow_of(pipeline_of(0.030, 0.040, 0.001, 8, 2), 0.012).bound, TSIM_INPUT_BOUND_STORAGE);
    ck_assert_int_eq(flow_of(pipeline_of(0.001, 0.160, 0.001, 8, 2), 0.012).bound, TSIM_INPUT_BOUND_CPU);
    ck_assert_int_eq(flow_of(pipeline_of(0.010, 0.040, 0.050, 8, 2), 0.012).bound, TSIM_INPUT_BOUND_LINK);
    ck_assert_int_eq(flow_of(pipeline_of(0.010, 0.040, 0.001, 8, 0), 0.012).bound, TSIM_INPUT_BOUND_AHEAD);
    struct tsim_input_pipeline slow = pipeline_of(0.001, 0.010, 0.001, 8, 2);
    slow.read_alone_s = 0.4;
    ck_assert_int_eq(flow_of(slow, 0.012).bound, TSIM_INPUT_BOUND_REQUESTS);
    SAME(step_s(slow, 0.012), 0.4 / 8);
}

/* ---- what prefetching hides ---- */

TSIM_TEST(without_prefetch_times_add_up) {
    SAME(step_s(pipeline_of(0.010, 0.040, 0.003, 1, 0), 0.012), 0.010 + 0.040 + 0.003 + 0.012);
    SAME(step_s(pipeline_of(0.010, 0.040, 0.003, 8, 0), 0.012), 0.010 + 0.040 + 0.003 + 0.012);
}

/* One batch under way per worker: reading, transforming and copying follow each other, under the accelerator's work. */
TSIM_TEST(one_batch_ahead) {
    SAME(step_s(pipeline_of(0.010, 0.040, 0.003, 1, 1), 0.012), 0.010 + 0.040 + 0.003);
    SAME(step_s(pipeline_of(0.010, 0.040, 0.003, 1, 2), 0.012), 0.040);
}

/* Crop, jitter and normalization take 10 + 15 + 5 ms a batch: a delay before each pass, or none at all; and one worker
 * of 30 ms cannot feed a pass of 10 ms. */
TSIM_TEST(preprocessing_of_30_ms) {
    SAME(step_s(pipeline_of(0, 0.030, 0, 1, 0), 0.100), 0.130);
    SAME(step_s(pipeline_of(0, 0.030, 0, 1, 2), 0.100), 0.100);
    SAME(step_s(pipeline_of(0, 0.030, 0, 1, 2), 0.010), 0.030);
}

/* The figure's bars: two epochs of three batches in all, files opened in 8 s, read in 12 s, trained on for 12 s. One
 * after another, opening twice: 88 s (the figure says about 90). Reading under training, opened once: 56 s (55). The
 * simulation is asked for the time of three batches in a row from empty buffers: that of one step of three. */
TSIM_TEST(prefetch_timeline) {
    struct tsim_input_pipeline pipeline = pipeline_of(12, 0, 0, 1, 0);
    pipeline.n_batches = 3;
    double sequential_s = 2 * 8 + flow_of(pipeline, 12).first_step_s;
    pipeline.prefetch = 2;
    double overlapped_s = 8 + flow_of(pipeline, 12).first_step_s; /* the first read has nothing to hide under */
    ck_assert_double_eq_tol(step_s(pipeline, 12), 36, 1e-6);      /* as those of later steps have */
    ck_assert_double_eq_tol(sequential_s, 88, 1e-6);
    ck_assert_double_eq_tol(overlapped_s, 56, 1e-6);
    ck_assert_double_eq_tol(sequential_s, 90, 2.5);
    ck_assert_double_eq_tol(overlapped_s, 55, 1.5);
    ck_assert_double_eq_tol(1 - overlapped_s / sequential_s, 0.389, 0.03); /* the text's reduction */
}

/* ---- GPT-2: 32 sequences of 1,024 tokens, half a million tokens a second and core, 256 KiB over PCIe 3.0 ---- */

static struct tsim_input_pipeline gpt2(int32_t workers, int32_t prefetch) {
    struct tsim_input_pipeline pipeline = pipeline_of(0, 32 * 1024 / 500e3, 0, workers, prefetch);
    pipeline.transfer_bytes = 32 * 1024 * 8;
    pipeline.link_bytes_per_s = 15.75e9;
    return pipeline;
}

TSIM_TEST(tokenization) {
    SAME(step_s(gpt2(1, 2), 1e-3), 65.536e-3);
    SAME(step_s(gpt2(8, 2), 1e-3), 8.192e-3);
    SAME(step_s(gpt2(1, 2), 80e-3), 80e-3);     /* V100: just hidden */
    SAME(step_s(gpt2(1, 2), 45e-3), 65.536e-3); /* A100: tokenization limits */
    SAME(step_s(gpt2(8, 2), 45e-3), 45e-3);
    ck_assert_double_eq_tol(step_s(gpt2(1, 0), 80e-3), 80e-3 + 65.536e-3 + 0.0166e-3, 0.1e-6);
}

/* A pipeline of 200 images/s keeps an accelerator of 1,000 images/s busy a fifth of the time, one of 2,000 a tenth. */
TSIM_TEST(starved_resnet) {
    for (int32_t workers = 1; workers <= 8; workers *= 2) {
        struct tsim_input_pipeline pipeline = pipeline_of(0, workers / 200.0, 0, workers, 2);
        ck_assert_double_eq_tol(1e-3 / step_s(pipeline, 1e-3), 0.20, 1e-6);
        ck_assert_double_eq_tol(0.5e-3 / step_s(pipeline, 0.5e-3), 0.10, 1e-6);
    }
}

/* Workers beyond the cores gain nothing. */
TSIM_TEST(workers_share_cores) {
    struct tsim_input_pipeline pipeline = pipeline_of(0, 0.080, 0, 16, 2);
    pipeline.cores = 4;
    SAME(step_s(pipeline, 1e-3), 0.080 / 4);
}

/* ---- scenarios ---- */

static const struct tsim_scenario *load(const char *data) {
    return load_text(tsim_arena_printf(&arena,
                                       "schema: tsim/v1\nname: r\nmodel: resnet50\ncluster: {node: dgx-a100}\n"
                                       "training: {global_batch_size: 2048, micro_batch_size: 256, precision: fp16}\n"
                                       "data: {%s}\n",
                                       data));
}

/* NVMe reads 3.5 GB/s in order, 0.35 GB/s at random. */
TSIM_TEST(nvme_by_access) {
    struct tsim_result random = train_fully(load("storage: nvme, sample_size: 1 MB"));
    ck_assert_double_eq_tol(random.step.throughput.samples_per_s, 350, 0.1);
    ck_assert(random.step.bottleneck_is_data);
    ck_assert_str_eq(random.step.input.bound, "storage");
    struct tsim_result in_order = train(load("storage: nvme, sample_size: 1 MB, access: sequential"));
    ck_assert_double_eq_tol(in_order.step.throughput.samples_per_s, 3500, 1);
}

TSIM_TEST(inline_storage) {
    struct tsim_result result =
        train(load("storage: {bandwidth: 2 GB/s, random_access: 0.25, shared: false}, sample_size: 100 kB"));
    ck_assert_double_eq_tol(result.step.throughput.samples_per_s, 5000, 5);
}

/* Shared storage is divided, each node's own is not. */
TSIM_TEST(shared_storage) {
    for (int shared = 0; shared < 2; shared++) {
        const char *text = tsim_arena_printf(
            &arena,
            "schema: tsim/v1\nname: r\nmodel: resnet50\ncluster: {node: dgx-a100, nodes: 4, fabric: ib-hdr}\n"
            "training: {global_batch_size: 8192, micro_batch_size: 256, precision: fp16}\n"
            "data: {storage: {bandwidth: 1 GB/s, shared: %s}, sample_size: 1 MB}\n",
            shared ? "true" : "false");
        ck_assert_double_eq_tol(train(load_text(text)).step.throughput.samples_per_s, shared ? 1000 : 4000, 1);
    }
}

/* Terms add up, and without waiting the step is what it is without `data`, but for what batches on their way take of
 * HBM. */
TSIM_TEST(ample_data_cost_nothing) {
    struct tsim_result with = train(load("storage: host-memory, workers: 64"));
    struct tsim_scenario without = *with.scenario;
    without.data.has = false;
    double longer_s = with.step.terms.time_s - train(&without).step.terms.time_s,
           batch_bytes =
               (double)(without.training.micro_batch_size * without.n_microbatches) * without.data.transfer_bytes;
    ck_assert_double_ge(longer_s, 0);
    ck_assert_double_le(longer_s, batch_bytes / tsim_memory_rate(without.cluster.node->accelerator));
    ck_assert_double_eq(with.step.terms.data_stall_s, 0);
    ck_assert_str_eq(with.step.input.bound, "none");
}

/* There are 2 batches ahead of 256 pictures of 1,024 x 1,024 x 3 bytes: 1.61 GB. */
TSIM_TEST(prefetch_buffers) {
    const struct tsim_scenario *sc = load("transfer_size: 3 MiB, workers: 1, prefetch: 2");
    ck_assert_double_eq(tsim_data_host_bytes(sc), 2.0 * 256 * 1024 * 1024 * 3);
    ck_assert_double_eq_tol(tsim_data_host_bytes(sc), 1.61e9, 0.005e9);
}

/* Pipelines of every schedule, fed more slowly than they could work: the step is what the input needs, and part of the
 * waiting falls into bubbles. */
TSIM_TEST(pipelines_wait) {
    static const char *const SCHEDULES[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"};
    for (size_t i = 0; i < sizeof SCHEDULES / sizeof SCHEDULES[0]; i++) {
        const char *text = tsim_arena_printf(
            &arena,
            "schema: tsim/v1\nname: p\nmodel: gpt2-xl\ncluster: {node: dgx-a100}\n"
            "training: {sequence_length: 1024, global_batch_size: 64, micro_batch_size: 4}\n"
            "parallelism: {pipeline: 4, schedule: %s%s}\ndata: {sample_cpu_time: 125 ms, workers: 8}\n",
            SCHEDULES[i], strcmp(SCHEDULES[i], "interleaved") == 0 ? ", virtual_pipeline: 2" : "");
        const struct tsim_scenario *scenario = load_text(text);
        struct tsim_result fed = train(scenario);
        struct tsim_scenario without = *scenario;
        without.data.has = false;
        double alone_s = train(&without).step.terms.time_s, supply_s = 64 * 0.125 / 8;
        ck_assert_msg(fed.step.terms.data_stall_s > 0 && fabs(fed.step.terms.time_s / supply_s - 1) < 1e-3,
                      "%s: %g s, supply %g s", SCHEDULES[i], fed.step.terms.time_s, supply_s);
        ck_assert_msg(fed.step.terms.time_s <= alone_s + fed.step.terms.data_stall_s * (1 + 1e-6) + 1e-9,
                      "%s: %g s, alone %g s, stalled %g s", SCHEDULES[i], fed.step.terms.time_s, alone_s,
                      fed.step.terms.data_stall_s);
        const struct tsim_step_terms *t = &fed.step.terms;
        ck_assert_double_eq_tol(t->compute_s + t->recompute_s + t->bubble_s + t->communication_exposed_s +
                                    t->data_stall_s + t->optimizer_s,
                                t->time_s, 1e-6 * t->time_s);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
