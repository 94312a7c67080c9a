/* Formula trees: every node follows from its parts, every leaf says where it is from, every root is the summary's
 * figure. */
#include "report/terminal/explain_term.h"
#include "report/terminal/summary.h"
#include "results/outcome.h"
#include "run/run.h"
#include "study/judge/uncertainty.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/term_rules.h"

#include <math.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;
static struct tsim_term_recorder recorder;
static struct tsim_prediction prediction;
static char text[1 << 20];

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
    e.accelerator.kernel_latency_s = 3e-6;
    e.accelerator.speed_spread_frac = 0.01;
    e.accelerator.usable_memory_reserve_bytes = 1e9;
    e.scenario.training.length_kind = TSIM_LENGTH_TOKENS;
    e.scenario.training.length = 1e12;
    e.scenario.cost = (struct tsim_cost_spec){.rent_usd_per_s = 3.0 / 3600,
                                              .purchase_usd = 3e4,
                                              .host_frac = 0.1,
                                              .network_frac = 0.2,
                                              .storage_frac = 0.05,
                                              .interest_frac = 0.08,
                                              .maintenance_frac = 0.03,
                                              .residual_frac = 0.1,
                                              .lifetime_s = 1.3e8,
                                              .utilization_frac = 0.7};
    e.scenario.energy =
        (struct tsim_energy_spec){.pue = 1.1, .price_usd_per_j = 3e-8, .carbon_kg_per_j = 1e-7, .embodied_kg = 400};
    e.scenario.data.samples = 1e8;
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static void explain(void) {
    const struct tsim_run_options options = {.recorder = &recorder};
    tsim_term_recorder_init(&recorder, &arena);
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &prediction.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_uncertainty_add(&arena, &prediction, &diags), TSIM_OK);
    tsim_diags_release(&diags);
}

static void use_plan(int64_t nodes, int64_t tensor, int64_t pipeline, int64_t context) {
    e.scenario.cluster.nodes = nodes;
    e.scenario.parallelism.tensor = tensor;
    e.scenario.parallelism.pipeline = pipeline;
    e.scenario.parallelism.context = context;
    e.scenario.parallelism.sequence = tensor > 1;
    example_finish(&e);
}

/* Returns whether the path is left out, because it is no figure of the run or comes from a catalogue of runs. */
static bool is_left_out(const char *path) {
    static const char *const STARTS[] = {"simulator.", "measured[", "memory.changes_that_fit",
                                         "campaign.distribution.replications["};
    for (size_t i = 0; i < sizeof STARTS / sizeof STARTS[0]; i++)
        if (strncmp(path, STARTS[i], strlen(STARTS[i])) == 0)
            return true;
    return false;
}

static size_t n_figures;

/* Each number of the summary has a tree that gives it. */
static void expect_tree(void *context, const struct tsim_json_leaf *leaf) {
    (void)context;
    if (leaf->text || is_left_out(leaf->path))
        return;
    const struct tsim_term *term = tsim_term_of(&prediction, leaf->path);
    ck_assert_msg(term != NULL, "%s", leaf->path);
    expect_term_rules(term);
    double figure = leaf->number * (strstr(leaf->path, "tflops") ? 1e12 : 1);
    ck_assert_msg(fabs(term->value - figure) <= 1e-9 * fabs(figure), "%s is %.17g, the summary says %.17g", leaf->path,
                  term->value, figure);
    n_figures++;
}

/* Each tree gives a number of the summary, or of none if the run does not have it. */
static void expect_all_terms(void) {
    const struct tsim_logged logged = {0};
    size_t n_trees = 0;
    explain();
    struct tsim_json *summary = tsim_summary_json(&prediction, &logged);
    n_figures = 0;
    tsim_json_each(summary, expect_tree, NULL);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec((enum tsim_outcome_figure)i);
        n_trees += tsim_term_of(&prediction, spec->name) != NULL;
    }
    ck_assert_uint_eq(n_trees, n_figures);
    ck_assert_uint_gt(n_figures, prediction.result.campaign.has_failures ? 110 : 60);
    tsim_json_release(summary);
}

TSIM_TEST(roots_are_the_summary_and_nodes_follow) {
    static const struct {
        int64_t nodes, tensor, pipeline, context;
        enum tsim_recompute recompute;
        enum tsim_schedule schedule;
        int zero;
    } PLANS[] = {{1, 1, 1, 1, TSIM_RECOMPUTE_NONE, TSIM_SCHEDULE_1F1B, 0},
                 {2, 2, 2, 1, TSIM_RECOMPUTE_SELECTIVE, TSIM_SCHEDULE_1F1B, 1},
                 {2, 2, 2, 2, TSIM_RECOMPUTE_FULL, TSIM_SCHEDULE_GPIPE, 2},
                 {1, 1, 1, 1, TSIM_RECOMPUTE_FULL, TSIM_SCHEDULE_1F1B, 3},
                 {2, 2, 2, 1, TSIM_RECOMPUTE_LAYERS, TSIM_SCHEDULE_1F1B, 1},
                 {1, 2, 4, 1, TSIM_RECOMPUTE_NONE, TSIM_SCHEDULE_ZB_H1, 1}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++) {
        e.scenario.training.recompute = PLANS[i].recompute;
        e.scenario.training.recompute_layers = 3;
        e.scenario.parallelism.schedule = PLANS[i].schedule;
        e.scenario.parallelism.zero = PLANS[i].zero;
        e.scenario.reliability = i % 2 == 0 ? (struct tsim_reliability_spec){0}
                                            : (struct tsim_reliability_spec){.has = true,
                                                                             .node_mtbf_s = 1e4,
                                                                             .shape = 1,
                                                                             .checkpoint_bytes_per_s = 1e12,
                                                                             .restart_s = 1,
                                                                             .spares = 1,
                                                                             .preemption_per_s = 1e-4,
                                                                             .discount_frac = 0.5,
                                                                             .replications = 20};
        use_plan(PLANS[i].nodes, PLANS[i].tensor, PLANS[i].pipeline, PLANS[i].context);
        expect_all_terms();
    }
}

TSIM_TEST(a_host_and_flash_have_their_place) {
    e.software.host_time_per_op_s = 1e-3;
    e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.training.loss_scaling = (struct tsim_loss_scaling_spec){.growth_interval = 1000, .skipped = 2};
    use_plan(1, 2, 1, 1);
    expect_all_terms();
    const struct tsim_term *compute = tsim_term_of(&prediction, "step.compute_s");
    ck_assert_str_eq(compute->parts[compute->n_parts - 1].term->name, "waiting for the host");
}

/* The example's 8 layers of 12 h^2 + 13 h less biases: h = 1024, no biases: attention 4 h^2, feed-forward 8 h^2, norms
 * 4 h; table 32768 h, head the same, last norm 2 h. Unsharded bf16 weights are 2 bytes of each. */
TSIM_TEST(weights_by_hand) {
    double h = 1024, parameters = 8 * (12 * h * h + 4 * h) + 2 * 32768 * h + 2 * h;
    explain();
    const struct tsim_term *weights = tsim_term_of(&prediction, "weights");
    ck_assert_double_eq(weights->value, 2 * parameters);
    ck_assert_int_eq(weights->rule, TSIM_TERM_PRODUCT);
    ck_assert_double_eq(weights->parts[0].term->value, parameters);
    ck_assert_double_eq(weights->parts[1].term->value, 2);
}

TSIM_TEST(names_groups_and_words) {
    explain();
    ck_assert_ptr_null(tsim_term_of(&prediction, "nonsense"));
    ck_assert_ptr_null(tsim_term_of(&prediction, ""));
    ck_assert_str_eq(tsim_term_of(&prediction, "communication")->name, "step.communication_exposed_s");
    ck_assert_str_eq(tsim_term_of(&prediction, "memory")->name, "memory.peak_bytes");
    ck_assert_str_eq(tsim_term_of(&prediction, "mfu")->name, "throughput.mfu");
}

TSIM_TEST(a_figure_without_a_formula_says_what_it_is) {
    explain();
    const struct tsim_term *fits = tsim_term_of(&prediction, "fits");
    ck_assert_int_eq(fits->rule, TSIM_TERM_GIVEN);
    ck_assert_double_eq(fits->value, 1);
    ck_assert_str_eq(fits->source, tsim_outcome_spec(TSIM_OUTCOME_FITS)->meaning);
}

TSIM_TEST(what_the_run_lacks_is_null) {
    e.scenario.training.length_kind = TSIM_LENGTH_NONE;
    explain();
    ck_assert_ptr_null(tsim_term_of(&prediction, "campaign.days"));
    e.scenario.training.length_kind = TSIM_LENGTH_STEPS;
    e.scenario.training.length = 10;
    e.scenario.cost.rent_usd_per_s = 0;
    explain();
    ck_assert_ptr_nonnull(tsim_term_of(&prediction, "campaign.days"));
    ck_assert_ptr_null(tsim_term_of(&prediction, "campaign.rent_usd"));
    ck_assert_ptr_null(tsim_term_of(&prediction, "campaign.breakeven_runs"));
    e.accelerator.memory_bytes = 3e9;
    explain();
    ck_assert(!prediction.result.step.simulated);
    ck_assert_ptr_null(tsim_term_of(&prediction, "step.time_s"));
    expect_term_rules(tsim_term_of(&prediction, "memory.peak_bytes"));
}

#define ck_assert_contains(haystack, needle)                                                                           \
    ck_assert_msg(strstr((haystack), (needle)) != NULL, "'%s' is not in:\n%.3000s", (needle), (haystack))

static const char *printed(const char *name, int width) {
    struct tsim_style style = {.width = width};
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_term_print(out, &style, tsim_term_of(&prediction, name));
    fclose(out);
    return text;
}

TSIM_TEST(text_is_indented_and_sources_are_below) {
    use_plan(1, 2, 2, 1);
    explain();
    const char *screen = printed("throughput.tokens_per_s", 80);
    ck_assert_contains(screen, "  throughput.tokens_per_s = tokens / step time\n"
                               "       65,536    tokens of a step = batch x sequence\n"
                               "           64      training.global_batch_size [1]\n"
                               "        1,024      training.sequence_length [1]\n");
    ck_assert_contains(screen, "\n\n[1] the scenario\n[2] its own tree: tsim explain SCENARIO step.time_s\n");
    for (const char *line = printed("step.time_s", 80); *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= 80, "%.100s", line);
    ck_assert_contains(text, "sustained memory rate (above)\n");
}

TSIM_TEST(json_and_csv_hold_the_tree) {
    explain();
    const struct tsim_term *term = tsim_term_of(&prediction, "memory");
    FILE *out = fmemopen(text, sizeof text, "w");
    struct tsim_json *root = tsim_term_json(term);
    tsim_json_write(root, out);
    tsim_json_release(root);
    fclose(out);
    tsim_json_release(tsim_json_new_parsed(text)); /* aborts on what is no JSON */
    ck_assert_contains(text, "\"schema\": \"tsim/term/v1\",\n  \"name\": \"memory.peak_bytes\",");
    ck_assert_contains(text, "\"unit\": \"B\"");
    out = fmemopen(text, sizeof text, "w");
    tsim_term_print_csv(out, term);
    fclose(out);
    ck_assert_ptr_eq(strstr(text, "table,depth,name,value,unit,formula,source,status\nterm,0,memory.peak_bytes,"),
                     text);
    ck_assert_contains(text, "\nterm,1,memory.weights_bytes,");
}

/* Checkpoints that are copied, in two tiers; units that age; spares that are found. */
TSIM_TEST(ways_to_keep_a_run_have_trees) {
    const struct tsim_reliability_spec PLAIN = {.has = true,
                                                .node_mtbf_s = 1e5,
                                                .shape = 1,
                                                .mode = 1,
                                                .checkpoint_bytes_per_s = 1e11,
                                                .detection_s = 10,
                                                .restart_s = 100,
                                                .repair_s = 1000,
                                                .replications = 10};
    for (int way = 0; way < 4; way++) {
        e.scenario.reliability = PLAIN;
        e.scenario.reliability.shape = way == 1 ? 0.7 : 1;
        e.scenario.reliability.spares = way == 3 ? TSIM_SPARES_FASTEST : 2;
        if (way == 2)
            e.scenario.reliability.local.has = true;
        use_plan(2, 2, 2, 1);
        expect_all_terms();
    }
}

/* Pauses without failures, and with them; a batch that grows; prices by the hour; a contract; no interest. */
TSIM_TEST(what_a_run_may_have_has_trees) {
    static const double VALUES[] = {1e-8, 5e-8, 3e-8};
    const struct tsim_training_spec plain = e.scenario.training;
    for (int way = 0; way < 5; way++) {
        struct tsim_training_spec *t = &e.scenario.training;
        *t = plain;
        if (way == 0 || way == 3)
            t->evaluation =
                (struct tsim_evaluation_spec){.samples = 100, .interval = {.kind = TSIM_PERIOD_STEPS, .value = 1000}};
        if (way == 1 || way == 2)
            t->batch_ramp = (struct tsim_batch_ramp_spec){.from = 16, .increment = 8, .samples = 4800};
        if (way == 2) {
            t->length_kind = TSIM_LENGTH_STEPS;
            t->length = 1000.5;
            e.scenario.cost.interest_frac = 0;
        }
        if (way == 1)
            t->length_kind = TSIM_LENGTH_SAMPLES;
        e.scenario.cost.reserved_usd_per_s = 2.0 / 3600;
        e.scenario.cost.commitment_s = 3e7;
        if (way >= 2)
            e.scenario.energy.price_profile = e.scenario.energy.carbon_profile = (struct tsim_hourly){VALUES, 3};
        if (way >= 3)
            e.scenario.reliability = (struct tsim_reliability_spec){.has = true,
                                                                    .node_mtbf_s = 1e6,
                                                                    .shape = 1,
                                                                    .checkpoint_bytes_per_s = 1e11,
                                                                    .restart_s = 100,
                                                                    .repair_s = 1000,
                                                                    .repair_power_frac = 0.5,
                                                                    .spares = 1,
                                                                    .replications = 5};
        if (way == 4)
            e.fabric.power_w_per_port = 20;
        use_plan(2, 2, 2, 1);
        expect_all_terms();
        ck_assert(prediction.result.evaluation.has == (way == 0 || way == 3));
        ck_assert(prediction.result.early.has == (way == 1 || way == 2));
    }
}

/* Scenarios are drawn by chance: with slow accelerators, with operators as events, and with a host that is waited
 * for. */
TSIM_TEST(ways_to_play_a_step_have_trees) {
    for (int way = 0; way < 4; way++) {
        e.scenario.simulation.steps = 5;
        e.scenario.variability.compute_cv = way == 0 ? 0.05 : 0;
        e.scenario.variability.straggler_frac = way == 1 ? 0.3 : 0;
        e.scenario.variability.straggler_slowdown = 1.5;
        e.scenario.simulation.detail = way == 2 ? TSIM_DETAIL_OPERATORS : TSIM_DETAIL_PASSES;
        e.software.host_time_per_op_s = way == 3 ? 1e-4 : 0;
        use_plan(2, 2, 2, 1);
        expect_all_terms();
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
