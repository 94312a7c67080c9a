/* Tests a whole run in code: identities between the figures of a result, each worked out from others by hand. */
#include "model/executed.h"
#include "model/model.h"
#include "results/measured.h"
#include "run/run.h"
#include "support/check_main.h"
#include "support/example.h"

static struct example e;
static struct tsim_arena arena;
static struct tsim_result result;

static void run(bool ignore_memory) {
    struct tsim_diags diags;
    const struct tsim_run_options options = {.ignore_memory = ignore_memory};
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, &diags), TSIM_OK);
    tsim_diags_release(&diags);
}

/* The run has 64 samples of 1024 tokens on 8 accelerators of 1 PFLOP/s. */
TSIM_TEST(throughput) {
    example_init(&e);
    run(false);
    double t = result.step.terms.time_s, tokens = 64 * 1024;
    ck_assert_double_eq_tol(result.step.throughput.tokens_per_s, tokens / t, 1e-6);
    ck_assert_double_eq_tol(result.step.throughput.tokens_per_s_per_gpu, tokens / t / 8, 1e-6);
    ck_assert_double_eq_tol(result.step.throughput.samples_per_s, 64 / t, 1e-9);
    ck_assert_double_eq_tol(result.step.throughput.mfu, result.step.model_flops / t / 8 / 1e15, 1e-12);
    ck_assert_double_eq_tol(result.step.throughput.hfu, result.step.hardware_flops / t / 8 / 1e15, 1e-12);
    ck_assert(result.step.throughput.mfu > 0.05 && result.step.throughput.mfu < 1);
}

/* Collectives of fully sharded data beside the passes: few blocks leave them more, more than the library would take
 * change nothing. */
TSIM_TEST(blocks_of_data_collectives) {
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        example_init(&e);
        e.scenario.parallelism.zero = 3;
        e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = true;
        e.accelerator.compute_units = 132;
        e.accelerator.memory_bytes_per_s = 1e14;
        e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = 1e12;
        e.software.data_blocks = (int64_t[]){0, 2, 1000}[i];
        run(false);
        seconds[i] = result.step.terms.time_s;
    }
    ck_assert_double_lt(seconds[1], seconds[0]);
    ck_assert_double_eq(seconds[2], seconds[0]);
}

/* ZeRO-2 within a pipeline whose gradients are reduced once is ZeRO-1 whose reductions wait for the last backward pass, in
 * time and in memory. Without a pipeline the software does not matter. */
TSIM_TEST(gradients_reduced_once) {
    struct tsim_step_terms terms[2];
    double peak_bytes[2];
    for (int pipeline = 1; pipeline <= 2; pipeline++) {
        for (int i = 0; i < 2; i++) {
            example_init(&e);
            e.scenario.parallelism.pipeline = pipeline;
            e.scenario.training.gradient_precision = TSIM_FP32;
            e.scenario.parallelism.zero = pipeline == 1 || i == 0 ? 2 : 1;
            e.scenario.parallelism.overlap.gradients = pipeline == 1 || i == 0;
            e.software.reduces_once = i == 0;
            example_finish(&e);
            run(false);
            terms[i] = result.step.terms;
            peak_bytes[i] = result.step.memory.peak_bytes;
        }
        ck_assert_double_eq(terms[0].time_s, terms[1].time_s);
        ck_assert_double_eq(peak_bytes[0], peak_bytes[1]);
    }
}

/* Nothing beside them, kernels before reductions move 8 bytes of a gradient in 16 bits (joined, divided) where buffers
 * are flat, 4 (divided) where they are the gradients themselves; in 32 bits the collective divides those. */
TSIM_TEST(copies_before_reductions) {
    static const enum tsim_shard_copies COPIES[] = {TSIM_COPIES_NONE, TSIM_COPIES_IN_PLACE, TSIM_COPIES_FLAT};
    double seconds[2][3];
    for (int i = 0; i < 6; i++) {
        example_init(&e);
        e.scenario.parallelism.zero = 3;
        e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = false;
        e.scenario.training.gradient_precision = i < 3 ? TSIM_BF16 : TSIM_FP32;
        e.software.shard_copies = COPIES[i % 3];
        run(false);
        seconds[i / 3][i % 3] = result.step.terms.time_s;
    }
    double flat_s = seconds[0][2] - seconds[0][0], in_place_s = seconds[0][1] - seconds[0][0];
    ck_assert_double_gt(in_place_s, 0);
    ck_assert_double_eq_tol(flat_s, 2 * in_place_s, 1e-9 * seconds[0][0]);
    ck_assert_double_eq(seconds[1][1], seconds[1][0]);
    ck_assert_double_gt(seconds[1][2], seconds[1][0]);
}

static double executed(void) {
    example_finish(&e);
    return tsim_executed_recorded(NULL, &e.scenario).value / 64 / (1 << 30);
}

/* In 2^30 FLOPs per sample a layer's products are 24 forward (see test_operators.c), its scores 4 and the head 64,
 * twice that backward. Flash attention executes half of the causal square, and backward QK^T once more: 5 products for
 * 2. An embedding is looked up, which 6 N counts as a product. */
TSIM_TEST(executed_by_hand) {
    example_init(&e);
    ck_assert_double_eq_tol(executed(), 3 * (8 * (24 + 4) + 64), 1e-9);
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    ck_assert_double_eq_tol(executed(), 3 * (8 * 24 + 64) + 8 * (2 + 5), 1e-9);
    e.model.causal = false;
    ck_assert_double_eq_tol(executed(), 3 * (8 * 24 + 64) + 8 * (4 + 10), 1e-9);
    e.model.tied_embeddings = true; /* counted once and executed once */
    ck_assert_double_ge(executed() * 64 * (1 << 30),
                        64 * 1024 * tsim_model_flops_per_token(&e.model, 1024, 1024) * 0.99);
    /* A plan divides the work; it does not change it. */
    double whole = executed();
    e.scenario.parallelism.tensor = e.scenario.parallelism.pipeline = 2;
    e.scenario.parallelism.data = 2;
    ck_assert_double_eq_tol(executed(), whole, 1e-9);
}

/* Half of a causal square is not executed, so as much attention as there may be is no more than the peak, while the
 * model's count of it may be. */
TSIM_TEST(no_more_than_the_peak) {
    example_init(&e);
    e.scenario.training.sequence_length = 1 << 20;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.accelerator.attention_frac[TSIM_FLASH2] = 1;
    run(true);
    ck_assert_double_gt(result.step.throughput.mfu, 1);
    ck_assert_double_lt(result.step.throughput.hfu, 1);
    ck_assert_double_gt(result.step.throughput.hfu, 0.8);
}

/* Full recomputation executes the layers' forward once more, and what papers call hardware FLOPs is the model's and
 * that: the full square, whatever the kernel. */
TSIM_TEST(recomputation_is_in_hfu_alone) {
    example_init(&e);
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    double without = executed();
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    ck_assert_double_eq_tol(executed() - without, 8 * (24 + 2), 1e-9);
    e.scenario.measured.source = "a test";
    e.scenario.measured.has[TSIM_METRIC_HFU] = true;
    e.scenario.measured.value[TSIM_METRIC_HFU] = 0.5;
    run(false);
    struct tsim_measured_rows measured;
    tsim_measured_of(&result, &measured);
    double counted = measured.rows[0].predicted * result.step.terms.time_s * 8 * 1e15;
    ck_assert_double_eq_tol(counted - result.step.model_flops, 64.0 * 8 * 28 * (1 << 30), 1e3);
    ck_assert_double_lt(result.step.hardware_flops, counted);
    ck_assert_double_gt(result.step.terms.recompute_s, 0);
}

/* The energy of the step is the ranks' sum, and mean power times the step, between idle and limit of 8 accelerators. */
TSIM_TEST(energy) {
    example_init(&e);
    run(false);
    double sum_j = 0;
    for (int32_t i = 0; i < result.step.n_ranks; i++)
        sum_j += result.step.ranks[i].energy_j * result.step.ranks[i].multiplicity;
    ck_assert_double_eq_tol(sum_j, result.step.energy_j, 1e-9 * sum_j);
    ck_assert_double_eq_tol(result.step.mean_power_w * result.step.terms.time_s, result.step.energy_j, 1e-9 * sum_j);
    ck_assert_double_ge(result.step.mean_power_w, 8 * 100);
    ck_assert_double_le(result.step.mean_power_w, 8 * 500);
}

/* The run is 1000 steps and a bit of tokens, at PUE 1.2, 0.1 USD/kWh, 0.4 kg/kWh, 2 USD/h and 20,000 USD each. */
TSIM_TEST(whole_run) {
    example_init(&e);
    e.scenario.training.length_kind = TSIM_LENGTH_TOKENS;
    e.scenario.training.length = 1000.0 * 64 * 1024 - 5;
    e.scenario.energy =
        (struct tsim_energy_spec){.pue = 1.2, .price_usd_per_j = 0.1 / 3.6e6, .carbon_kg_per_j = 0.4 / 3.6e6};
    e.scenario.cost = (struct tsim_cost_spec){.rent_usd_per_s = 2.0 / 3600, .purchase_usd = 20000};
    run(false);
    const struct tsim_campaign *c = &result.campaign;
    double kwh = 1000 * result.step.energy_j * 1.2 / 3.6e6, rent = 1000 * result.step.terms.time_s / 3600 * 8 * 2;
    ck_assert(c->has);
    ck_assert_double_eq(c->steps, 1000);
    ck_assert_double_eq_tol(c->days, 1000 * result.step.terms.time_s / 86400, 1e-12);
    ck_assert_double_eq_tol(c->energy_kwh, kwh, 1e-9);
    ck_assert_double_eq_tol(c->co2_kg, 0.4 * kwh, 1e-9);
    ck_assert_double_eq_tol(c->electricity_usd, 0.1 * kwh, 1e-9);
    ck_assert_double_eq_tol(c->rent_usd, rent, 1e-9);
    ck_assert_double_eq_tol(c->purchase_usd, 160000, 1e-9);
    ck_assert_double_eq_tol(c->breakeven_runs, 160000 / rent, 1e-6);
}

/* A loss scale that doubles after 300 steps without overflow makes the next two overflow: of 1,000 updates, three
 * times. Each takes a step's time and energy; what was learned from is 1,000 batches. */
TSIM_TEST(skipped_steps_of_loss_scaling) {
    example_init(&e);
    e.scenario.training.length_kind = TSIM_LENGTH_STEPS;
    e.scenario.training.length = 1000;
    e.scenario.training.loss_scaling = (struct tsim_loss_scaling_spec){.growth_interval = 300, .skipped = 2};
    run(false);
    ck_assert_double_eq(result.campaign.skipped_steps, 6);
    ck_assert_double_eq(result.campaign.steps, 1006);
    ck_assert_double_eq_tol(result.campaign.days, 1006 * result.step.terms.time_s / 86400, 1e-12);
    e.scenario.training.loss_scaling.growth_interval = 0; /* other precisions */
    run(false);
    ck_assert_double_eq(result.campaign.skipped_steps, 0);
    ck_assert_double_eq(result.campaign.steps, 1000);
}

TSIM_TEST(measured_beside_predicted) {
    struct tsim_measured_rows measured;
    example_init(&e);
    e.scenario.measured.source = "a test";
    e.scenario.measured.has[TSIM_METRIC_STEP_TIME] = true;
    e.scenario.measured.value[TSIM_METRIC_STEP_TIME] = 0.5;
    run(false);
    tsim_measured_of(&result, &measured);
    ck_assert_int_eq(measured.n, 1);
    ck_assert_double_eq_tol(measured.rows[0].error_frac, result.step.terms.time_s / 0.5 - 1, 1e-12);
}

/* The example needs about 3 GB: with 2 GB it does not fit and is not simulated, unless that is asked for. */
TSIM_TEST(does_not_fit) {
    example_init(&e);
    run(false);
    e.accelerator.memory_bytes = 0.8 * result.step.memory.peak_bytes;
    run(false);
    ck_assert(!result.step.fits && !result.step.simulated);
    ck_assert_double_eq(result.step.terms.time_s, 0);
    run(true);
    ck_assert(!result.step.fits && result.step.simulated);
    ck_assert_double_gt(result.step.terms.time_s, 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
