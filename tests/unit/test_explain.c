/* The sections of `tsim explain` over the example scenario: sums, bounds, what is printed where. */
#include "partition/memory.h"
#include "report/terminal/explain_sections.h"
#include "run/run.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;
static struct tsim_prediction prediction;
static const struct tsim_result *const result = &prediction.result;
static char text[1 << 20];

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static struct tsim_explanation explained(void) {
    const struct tsim_run_options options = {.ignore_memory = false};
    struct tsim_explanation explanation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &prediction.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_explanation_build(&arena, &prediction, NULL, TSIM_EXPLAIN_ALL, &explanation, &diags),
                     TSIM_OK);
    tsim_diags_release(&diags);
    return explanation;
}

static void use_plan(int64_t tensor, int64_t pipeline, int64_t context) {
    e.scenario.parallelism.tensor = tensor;
    e.scenario.parallelism.pipeline = pipeline;
    e.scenario.parallelism.context = context;
    e.scenario.parallelism.sequence = tensor > 1;
    example_finish(&e);
}

static struct tsim_explained_operators rows_of(const struct tsim_explanation *explanation) {
    struct tsim_explained_operators operators;
    tsim_explain_operator_rows(&arena, explanation, &operators);
    return operators;
}

static const struct tsim_explained_operator *find(const struct tsim_explained_operators *operators, const char *name,
                                                  const char *phase) {
    for (int32_t i = 0; i < operators->n; i++)
        if (strcmp(operators->rows[i].name, name) == 0 &&
            (!phase || (operators->rows[i].phase && strcmp(operators->rows[i].phase, phase) == 0)))
            return &operators->rows[i];
    ck_abort_msg("no operator '%s'", name);
}

/* The rows of a bound and the terms of the step must say the same thing. */
/* A collective's rate on its busiest link is no more than that link's. */
static void expect_rates_of_links(const struct tsim_explanation *explanation) {
    struct tsim_explained_operators operators = rows_of(explanation);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, explanation->scenario);
    double fastest = fmax(cluster->scale_up_bytes_per_s, cluster->nic_bytes_per_s);
    for (int32_t i = 0; i < operators.n; i++)
        if (operators.rows[i].bound && strcmp(operators.rows[i].bound, "communication") == 0 && operators.rows[i].part)
            ck_assert_double_le(operators.rows[i].achieved_bytes_per_s, fastest * (1 + 1e-9));
}

static void expect_sums(const struct tsim_explanation *explanation) {
    struct tsim_explained_operators operators = rows_of(explanation);
    const struct tsim_step_terms *t = &explanation->result->step.terms;
    double total_s = 0, share_frac = 0, network_s = 0, kernels_s = 0;
    for (int32_t i = 0; i < operators.n; i++) {
        const struct tsim_explained_operator *row = &operators.rows[i];
        total_s += row->step_s;
        share_frac += row->share_frac;
        if (row->bound && strcmp(row->bound, "communication") == 0)
            network_s += row->step_s;
        else if (row->part || (row->bound && strcmp(row->bound, "host") == 0))
            kernels_s += row->step_s;
    }
    ck_assert_double_eq_tol(total_s, t->time_s, 1e-7 * t->time_s);
    ck_assert_double_eq_tol(share_frac, 1, 1e-7);
    ck_assert_double_eq_tol(network_s, t->communication_exposed_s, 1e-7 * t->time_s);
    ck_assert_double_eq_tol(kernels_s, t->compute_s + t->recompute_s, 1e-7 * t->time_s);
}

TSIM_TEST(shares_add_up_to_the_step) {
    static const struct {
        int64_t tensor, pipeline, context;
        enum tsim_recompute recompute;
        enum tsim_schedule schedule;
    } PLANS[] = {
        {1, 1, 1, TSIM_RECOMPUTE_NONE, TSIM_SCHEDULE_1F1B}, {2, 2, 1, TSIM_RECOMPUTE_NONE, TSIM_SCHEDULE_GPIPE},
        {2, 4, 1, TSIM_RECOMPUTE_FULL, TSIM_SCHEDULE_1F1B}, {1, 2, 2, TSIM_RECOMPUTE_SELECTIVE, TSIM_SCHEDULE_1F1B},
        {8, 1, 1, TSIM_RECOMPUTE_FULL, TSIM_SCHEDULE_1F1B}, {2, 2, 1, TSIM_RECOMPUTE_NONE, TSIM_SCHEDULE_ZB_H1},
        {2, 4, 1, TSIM_RECOMPUTE_FULL, TSIM_SCHEDULE_ZB_H2}};
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++) {
        e.scenario.parallelism.schedule = PLANS[i].schedule;
        e.scenario.training.recompute = PLANS[i].recompute;
        use_plan(PLANS[i].tensor, PLANS[i].pipeline, PLANS[i].context);
        struct tsim_explanation explanation = explained();
        expect_sums(&explanation);
        expect_rates_of_links(&explanation);
    }
}

/* Collectives of passes meet gradients, or each other: the account says what that adds for each axis, and no row is
 * what is left of the step. */
TSIM_TEST_LOOP(traffic_that_meets_is_a_row, 0, 4) {
    static const struct {
        const char *golden, *row;
    } STEPS[] = {{"zero1-data", "tensor beside other traffic"},
                 {"context-parallel", "context beside other traffic"},
                 {"mixtral", "expert beside other traffic"},
                 {"dualpipe", "tensor beside other traffic"}};
    const char *file = tsim_arena_printf(&arena, "%s/tests/golden/%s.yaml", TSIM_SOURCE_TREE, STEPS[_i].golden);
    const struct tsim_run_options options = {.ignore_memory = true};
    const struct tsim_scenario *scenario;
    struct tsim_explanation explanation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_scenario_load(&arena, file, NULL, 0, &scenario, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &prediction.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_explanation_build(&arena, &prediction, NULL, TSIM_EXPLAIN_STEP, &explanation, &diags),
                     TSIM_OK);
    tsim_diags_release(&diags);
    expect_sums(&explanation);
    struct tsim_explained_operators operators = rows_of(&explanation);
    ck_assert_double_gt(find(&operators, STEPS[_i].row, NULL)->share_frac, 1e-5);
}

/* The row is no remainder: it is what the step timed of the collectives, less what each pass has of them where it is
 * played alone. On one node, where no other traffic is, the two agree to the tick, and there is no such row. */
TSIM_TEST_LOOP(traffic_that_meets_nothing_has_no_row, 0, 3) {
    static const struct { int64_t tensor, context; } PLANS[] = {{8, 1}, {4, 2}, {1, 8}};
    e.scenario.cluster.nodes = 1;
    /* Ranks of a context group also reduce their gradients, after the passes. */
    e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = false;
    use_plan(PLANS[_i].tensor, 1, PLANS[_i].context);
    struct tsim_explanation explanation = explained();
    expect_sums(&explanation);
    ck_assert(explanation.account.plays_operators);
    struct tsim_explained_operators operators = rows_of(&explanation);
    for (int32_t i = 0; i < operators.n; i++)
        ck_assert_msg(!strstr(operators.rows[i].name, "beside other traffic"), "%s: %g s", operators.rows[i].name,
                      operators.rows[i].time_s);
}

/* A host that needs 1 ms for each operator: the accelerator waits most of the time. */
TSIM_TEST(a_slow_host_is_a_row) {
    e.software.host_time_per_op_s = 1e-3;
    use_plan(2, 2, 1);
    struct tsim_explanation explanation = explained();
    expect_sums(&explanation);
    struct tsim_explained_operators operators = rows_of(&explanation);
    ck_assert_double_gt(find(&operators, "waiting for the host", NULL)->share_frac, 0.5);
}

/* On an accelerator of half the speed each kernel counts twice, and nothing waits for a host that needs no time. */
TSIM_TEST(kernels_of_a_slow_accelerator) {
    static const struct tsim_degraded SLOW = {.link = TSIM_DEGRADED_ACCELERATOR, .index = 0, .rate_frac = 0.5};
    e.scenario.cluster.degraded = &SLOW;
    e.scenario.cluster.n_degraded = 1;
    use_plan(8, 1, 1);
    struct tsim_explanation explanation = explained();
    expect_sums(&explanation);
    struct tsim_explained_operators operators = rows_of(&explanation);
    const struct tsim_explained_operator *row = find(&operators, "ffn up", "forward");
    ck_assert_double_eq_tol(row->step_s, 2 * row->count * row->time_s, 1e-15);
    for (int32_t i = 0; i < operators.n; i++)
        ck_assert(!operators.rows[i].bound || strcmp(operators.rows[i].bound, "host") != 0);
}

/* One accelerator's "ffn up": 1024 tokens x 1024 by 1024 x 4096 in bf16. FLOPs 2 x 1024 x 1024 x 4096 = 8.59e9; bytes
 * 2 (1024 x 1024 + 1024 x 4096 + 1024 x 4096) = 18.9 MB; ridge 1e15 / 1e12. It runs in each of the 8 layers for each of
 * 64 / 8 micro-batches. */
TSIM_TEST(a_product_has_its_roofline) {
    struct tsim_explanation explanation = explained();
    struct tsim_explained_operators operators = rows_of(&explanation);
    const struct tsim_explained_operator *row = find(&operators, "ffn up", "forward");
    double flops = 2.0 * 1024 * 1024 * 4096, bytes = 2.0 * 1024 * (1024 + 4096 + 4096);
    ck_assert_double_eq(row->flops, flops);
    ck_assert_double_eq(row->bytes, bytes);
    ck_assert_double_eq_tol(row->intensity, flops / bytes, 1e-9);
    ck_assert_double_eq(row->ridge, 1000);
    ck_assert_double_eq(row->count, 64);
    ck_assert_double_eq_tol(row->achieved_flops_per_s, flops / row->time_s, 1);
    ck_assert_double_eq_tol(row->step_s, 64 * row->time_s, 1e-15);
    ck_assert_str_eq(row->bound, row->intensity > row->ridge ? "compute" : "memory");
    ck_assert_double_le(row->achieved_flops_per_s, 1e15);
    ck_assert_double_le(row->achieved_bytes_per_s, 1e12 * (1 + 1e-9));
}

static const char *screen_of(const struct tsim_explanation *explanation, int width, bool is_colored) {
    struct tsim_style style = {.width = width, .is_colored = is_colored};
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_explain_print(out, &style, explanation);
    fclose(out);
    return text;
}

#define ck_assert_contains(haystack, needle)                                                                           \
    ck_assert_msg(strstr((haystack), (needle)) != NULL, "'%s' is not in:\n%.3000s", (needle), (haystack))
#define ck_assert_lacks(haystack, needle)                                                                              \
    ck_assert_msg(strstr((haystack), (needle)) == NULL, "'%s' is in:\n%.3000s", (needle), (haystack))

static const char *csv_of(const struct tsim_explanation *explanation) {
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_explain_print_csv(out, explanation);
    fclose(out);
    return text;
}

static double number_after(const char *haystack, const char *needle) {
    const char *at = strstr(haystack, needle);
    ck_assert_msg(at != NULL, "'%s' is not there", needle);
    return strtod(at + strlen(needle), NULL);
}

/* Returns the sum of one column over all rows of a table in CSV. */
static double sum_of_column(const char *csv, const char *table, const char *column) {
    char line[1024], want[64];
    double sum = 0;
    int at = -1;
    snprintf(want, sizeof want, "%s,", table);
    for (; *csv; csv += strcspn(csv, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(csv, "\n"), csv);
        bool is_title = strncmp(line, "table,", 6) == 0, is_row = strncmp(line, want, strlen(want)) == 0;
        int n = 0, found = -1;
        for (char *cell = line, *next; cell; cell = next, n++) {
            next = NULL;
            bool is_quoted = *cell == '"';
            char *end = is_quoted ? strchr(cell + 1, '"') + 1 : cell + strcspn(cell, ",");
            if (*end == ',')
                next = end + 1;
            *end = '\0';
            if (is_title && strcmp(cell, column) == 0)
                found = n;
            if (is_row && n == at)
                sum += strtod(cell, NULL);
        }
        if (is_title)
            at = found;
    }
    return sum;
}

/* The path's links are the step; the shares of operators too. */
TSIM_TEST(the_tables_add_up_to_the_step) {
    static const enum tsim_schedule SCHEDULES[] = {TSIM_SCHEDULE_SEQUENTIAL, TSIM_SCHEDULE_GPIPE, TSIM_SCHEDULE_1F1B,
                                                   TSIM_SCHEDULE_ZB_H1, TSIM_SCHEDULE_ZB_H2};
    for (size_t i = 0; i < sizeof SCHEDULES / sizeof SCHEDULES[0]; i++) {
        e.scenario.parallelism.schedule = SCHEDULES[i];
        use_plan(1, 4, 1);
        struct tsim_explanation explanation = explained();
        const char *csv = csv_of(&explanation);
        double step_s = result->step.terms.time_s;
        ck_assert_double_eq_tol(sum_of_column(csv, "critical_path", "time_s"), step_s, 1e-9 * step_s);
        ck_assert_double_eq_tol(sum_of_column(csv, "operators", "step_s"), step_s, 1e-9 * step_s);
        /* The chain's passes alone are no more than the step, and most of it. */
        double operators_s = sum_of_column(csv, "critical_path_operators", "time_s");
        ck_assert_double_le(operators_s, step_s);
        ck_assert_double_gt(operators_s, 0.5 * step_s);
    }
}

/* The exposed time is what the step's terms say, and no more than what is needed. */
TSIM_TEST(overlaps_are_the_exposed_terms) {
    e.scenario.cluster.nodes = 2;
    use_plan(2, 2, 2);
    struct tsim_explanation explanation = explained();
    const char *csv = csv_of(&explanation);
    ck_assert_double_eq_tol(sum_of_column(csv, "overlaps", "exposed_s"), result->step.terms.communication_exposed_s,
                            1e-9 * result->step.terms.time_s);
    ck_assert_double_ge(sum_of_column(csv, "overlaps", "needs_s"),
                        result->step.terms.communication_exposed_s - explanation.account.interference_s);
}

/* Gradients are reduced once; ZeRO-1 gathers the parameters, ZeRO-3 in each pass of each of its layers, and the rest of
 * the model once; a message goes to the next stage and comes back for each of the micro-batches. */
TSIM_TEST(bytes_that_are_sent) {
    e.scenario.cluster.nodes = 2;
    e.scenario.training.global_batch_size = 16;
    for (int zero = 0; zero <= 3; zero += zero ? 2 : 1) {
        e.scenario.parallelism.zero = zero;
        use_plan(2, zero == 3 ? 1 : 2, 1);
        const struct tsim_scenario *sc = &e.scenario;
        struct tsim_explanation explanation = explained();
        double passes = (double)sc->n_microbatches, all = tsim_stage_parameters(sc, explanation.account.stage),
               weight = tsim_weight_bytes(sc->training.precision), gradient = tsim_gradient_bytes(sc),
               layers = (double)sc->model->layers * tsim_layer_rank_parameters(sc, TSIM_PART_LAYER);
        const double expected[] = {all * gradient, all * (gradient + weight), 0,
                                   (all - layers + 2 * passes * layers) * weight + passes * all * gradient};
        ck_assert_int_eq(sc->n_microbatches, zero == 3 ? 2 : 4);
        ck_assert_double_eq_tol(number_after(csv_of(&explanation), "\noverlaps,\"data, gathers and reductions\","),
                                expected[zero], 1e-9 * expected[zero]);
        if (zero < 3)
            ck_assert_double_eq_tol(number_after(text, "\noverlaps,\"pipeline, messages\","),
                                    passes * tsim_message_bytes(sc, 0, 1) / 2, 1e-6);
    }
}

/* Takes a scenario of the repository: sensitivities change what it was read from. */
static struct tsim_explanation explained_file(const char *file, const struct tsim_override *settings, size_t n,
                                              enum tsim_explain_extent extent) {
    const struct tsim_run_options options = {.ignore_memory = true};
    const struct tsim_scenario *scenario;
    struct tsim_explanation explanation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_scenario_load(&arena, file, settings, n, &scenario, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &prediction.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_explanation_build(&arena, &prediction, NULL, extent, &explanation, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    return explanation;
}

/* Tables, adapters, stages that work shifted against each other, fully sharded training, a batch that is waited for. */
TSIM_TEST_LOOP(published_steps_add_up, 0, 6) {
    static const char *const FILES[] = {"published/dle-dlrm-a100-80gb-8-fp16", "published/automodel-lora-8b-h100-1",
                                        "published/maxtext-llama3-70b-v6e-32", "published/moe-deepseek-v3-h800-2048",
                                        "published/mpt-3b-a100-8-744",         "input/gpt2-tokenize"};
    const char *file = tsim_arena_printf(&arena, "%s/scenarios/%s.yaml", TSIM_SOURCE_TREE, FILES[_i]);
    struct tsim_explanation explanation = explained_file(file, NULL, 0, TSIM_EXPLAIN_STEP);
    const char *csv = csv_of(&explanation);
    double step_s = result->step.terms.time_s;
    ck_assert_double_eq_tol(sum_of_column(csv, "critical_path", "time_s"), step_s, 1e-9 * step_s);
    ck_assert_double_eq_tol(sum_of_column(csv, "operators", "step_s"), step_s, 1e-7 * step_s);
}

/* A slower capacity never makes the step faster, and what the machine lacks has no row. */
TSIM_TEST(sensitivities_have_the_right_sign) {
    static const char *const SMALL = "scenarios/textbook/small-on-8.yaml";
    static const struct tsim_override TWO_NODES[] = {{"cluster.nodes", "2"},
                                                     {"cluster.fabric", "ib-hdr"},
                                                     {"parallelism.tensor", "2"},
                                                     {"parallelism.pipeline", "2"},
                                                     {"cluster.node.scale_up.latency", "100 us"}};
    static const struct tsim_override ALONE[] = {{"cluster.accelerators_per_node", "1"},
                                                 {"software.host_time_per_op", "0 us"},
                                                 {"cluster.node.accelerator.efficiency.kernel_latency", "0 us"}};
    struct tsim_explanation explanation =
        explained_file(SMALL, TWO_NODES, sizeof TWO_NODES / sizeof TWO_NODES[0], TSIM_EXPLAIN_ALL);
    ck_assert_int_eq(explanation.sensitivities.n, 8);
    for (int32_t i = 0; i < 8; i++) {
        const struct tsim_sensitivity *row = &explanation.sensitivities.rows[i];
        bool is_time = row->dimension == TSIM_TIME_S;
        double worse_s = is_time ? row->more_time_s : row->less_time_s,
               better_s = is_time ? row->less_time_s : row->more_time_s;
        ck_assert_msg(worse_s >= result->step.terms.time_s * (1 - 1e-12), "%s", row->name);
        ck_assert_msg(better_s <= result->step.terms.time_s * (1 + 1e-12), "%s", row->name);
        ck_assert_msg(is_time ? row->elasticity >= 0 && row->elasticity <= 1
                              : row->elasticity <= 0 && row->elasticity >= -1,
                      "%s %g", row->name, row->elasticity);
        if (i > 0)
            ck_assert_double_le(fabs(row->elasticity), fabs(row[-1].elasticity));
    }
    explanation = explained_file(SMALL, ALONE, sizeof ALONE / sizeof ALONE[0], TSIM_EXPLAIN_ALL);
    ck_assert_int_eq(explanation.sensitivities.n, 2); /* the matrix peak and the memory's bandwidth */
    /* Nothing else takes time, so that a tenth of both together would be a tenth of the step. */
    ck_assert_double_eq_tol(explanation.sensitivities.rows[0].elasticity + explanation.sensitivities.rows[1].elasticity,
                            -1, 0.1);
    csv_of(&explanation);
    ck_assert_double_gt(number_after(text, "\nsensitivities,matrix_peak,"), 0);
}

TSIM_TEST(json_parses_and_has_the_tables) {
    use_plan(2, 2, 1);
    struct tsim_explanation explanation = explained();
    FILE *out = fmemopen(text, sizeof text, "w");
    struct tsim_json *root = tsim_explain_json(&explanation);
    tsim_json_write(root, out);
    tsim_json_release(root);
    fclose(out);
    tsim_json_release(tsim_json_new_parsed(text)); /* aborts on what is no JSON */
    ck_assert_contains(text, "\"schema\": \"tsim/explain/v1\"");
    ck_assert_contains(text, "\"memory\": [");
    ck_assert_contains(text, "{\"stage\": 1, \"weights_bytes\": ");
    ck_assert_contains(text, "\"operators\": [");
    ck_assert_contains(text, "\"ridge_flops_per_byte\": 1000");
    ck_assert_lacks(text, "changes_that_fit");
}

TSIM_TEST(csv_lines_begin_with_their_table) {
    use_plan(2, 2, 1);
    struct tsim_explanation explanation = explained();
    const char *csv = csv_of(&explanation);
    ck_assert_ptr_eq(strstr(csv, "table,stage,weights_bytes,"), csv);
    ck_assert_contains(csv, "\nmemory,1,");
    ck_assert_contains(csv, "\n\ntable,operator,part,phase,bound,");
    ck_assert_contains(csv, "\noperators,ffn up,layer,forward,");
    ck_assert_contains(csv, "\nschedule,1,");
    ck_assert_contains(csv, "\ncritical_path,message from stage 0 to 1,message,0,");
    ck_assert_contains(csv, "\ncritical_path_operators,");
    ck_assert_contains(csv, "\noverlaps,\"pipeline, messages\",");
}

static int widest_line(const char *screen) {
    int widest = 0;
    for (const char *line = screen; *line; line += strcspn(line, "\n") + 1) {
        char one[512];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        int width = tsim_text_width(one);
        widest = width > widest ? width : widest;
    }
    return widest;
}

TSIM_TEST(the_screen_fits_its_width) {
    use_plan(2, 4, 1);
    struct tsim_explanation explanation = explained();
    for (int width = 60; width <= 100; width += 10)
        ck_assert_int_le(widest_line(screen_of(&explanation, width, false)), width);
    ck_assert_contains(screen_of(&explanation, 100, false), "tensor: gather, attention ");
    ck_assert_lacks(screen_of(&explanation, 80, false), "\033[");
    ck_assert_contains(screen_of(&explanation, 80, true), "\033[1m");
    ck_assert_lacks(screen_of(&explanation, 80, false), " \n");
}

/* Two stages, two micro-batches, 1f1b, a forward pass of 8 s, a backward one of 16 s: the last ends at 3 (8 + 16) = 72
 * s, and 72 columns are left of 81. */
TSIM_TEST(the_schedule_is_drawn) {
    struct tsim_slice first[] = {{.begin_s = 0, .end_s = 8, .item.kind = TSIM_PASS_FORWARD},
                                 {.begin_s = 8, .end_s = 16, .item.kind = TSIM_PASS_FORWARD},
                                 {.begin_s = 32, .end_s = 48, .item.kind = TSIM_PASS_BACKWARD},
                                 {.begin_s = 56, .end_s = 72, .item.kind = TSIM_PASS_BACKWARD}};
    struct tsim_slice second[] = {{.begin_s = 8, .end_s = 16, .item.kind = TSIM_PASS_FORWARD},
                                  {.begin_s = 16, .end_s = 32, .item.kind = TSIM_PASS_INPUT_GRADIENT},
                                  {.begin_s = 32, .end_s = 40, .item.kind = TSIM_PASS_FORWARD},
                                  {.begin_s = 40, .end_s = 56, .item.kind = TSIM_PASS_WEIGHT_GRADIENT}};
    struct tsim_stage_slices stages[] = {{.slices = first, .n = 4}, {.slices = second, .n = 4}};
    struct tsim_timeline timeline = {.shape = {.stages = 2}, .stages = stages, .end_s = 72};
    const struct tsim_result without_waits = {.step.simulated = true};
    struct tsim_explanation explanation = {.scenario = &e.scenario, .timeline = &timeline, .result = &without_waits};
    struct tsim_style style = {.width = 81};
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_explain_schedule.print(&arena, out, &style, &explanation);
    fclose(out);
    ck_assert_str_eq(text, "\nschedule (F forward, B backward, W weight gradients)\n"
                           "stage 0  FfffffffFfffffff                Bbbbbbbbbbbbbbbb        Bbbbbbbbbbbbbbbb\n"
                           "stage 1          FfffffffBbbbbbbbbbbbbbbbFfffffffWwwwwwwwwwwwwwww\n"
                           "A column is 1.00 s; the passes take 72.0 s. Data-parallel traffic and the\n"
                           "optimizer are not drawn.\n");
}

/* A layer keeps by tensor what memory.h says in one; over the layers and passes in flight it is the stage's. */
TSIM_TEST(activations_add_up) {
    static const enum tsim_recompute RECOMPUTE[] = {TSIM_RECOMPUTE_NONE, TSIM_RECOMPUTE_SELECTIVE, TSIM_RECOMPUTE_FULL};
    for (int i = 0; i < 12; i++) {
        e.scenario.training.recompute = RECOMPUTE[i % 3];
        e.scenario.training.attention = i / 3 % 2 ? TSIM_ATTENTION_FLASH : TSIM_ATTENTION_STANDARD;
        e.software.dropout = i / 6 ? 0.1 : 0;
        use_plan(2, 2, 1);
        struct tsim_kept kept;
        double sum_bytes = 0;
        tsim_layer_activations(&e.scenario, TSIM_PART_LAYER, &kept);
        for (int32_t k = 0; k < kept.n; k++)
            sum_bytes += kept.rows[k].bytes;
        ck_assert_double_eq(sum_bytes, tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER));
        struct tsim_explanation explanation = explained();
        ck_assert_double_eq_tol(sum_of_column(csv_of(&explanation), "activations", "stage_bytes"),
                                result->step.memory.activations_bytes, 1);
    }
}

/* 64 stages do not fit side by side: the first, the fullest and the last do. */
TSIM_TEST(many_stages_are_abridged) {
    e.model.layers = 64;
    e.scenario.cluster.nodes = 8;
    e.scenario.training.global_batch_size = 128;
    use_plan(1, 64, 1);
    struct tsim_explanation explanation = explained();
    ck_assert_int_le(widest_line(screen_of(&explanation, 80, false)), 80);
    const char *screen = screen_of(&explanation, 80, false);
    ck_assert_contains(screen, "stage 0");
    ck_assert_contains(screen, "stage 2 ");
    ck_assert_contains(screen, "stage 61  stage 62  stage 63\n");
    ck_assert_contains(screen, "\n... 50 more stages\nstage 57 ");
    ck_assert_lacks(screen, "stage 2   stage 3"); /* 64 in one table would be wider */
    csv_of(&explanation);
    ck_assert_contains(text, "\nmemory,40,");
}

TSIM_TEST(a_misfit_says_why) {
    use_plan(1, 1, 1);
    e.accelerator.memory_bytes = 3e9;
    struct tsim_explanation explanation = explained();
    ck_assert(!result->step.simulated);
    const char *screen = screen_of(&explanation, 80, false);
    ck_assert_contains(screen, "does not fit");
    ck_assert_contains(screen, " GB too much; the most of it is optimizer state,");
    ck_assert_lacks(screen, "operators of");
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
