/* Laws of a whole run over random scenarios from the whole catalogue: models, nodes, fabrics, software, precisions,
 * optimizers, schedules. Whatever is drawn is refused with a message or obeys
 * - conservation: terms add up to the step, kinds of memory to the peak, tokens to the batch, energy to power times
 * time;
 * - bounds: no faster than the peak of the matrix units, no more power than all limits together, MFU and HFU below 1;
 * - symmetry: which of the equal replicas, and which of the equal ranks in a tensor group, is slow makes no difference.
 * And on one accelerator, where no link counts: rates times two and latencies over two are a step of half the time.
 * TSIM_CASES says how many are drawn (300), TSIM_SEED from which seed. */
#include "config/catalogue_load.h"
#include "support/check_main.h"
#include "support/random.h"
#include "training/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 4096 };

static struct tsim_arena names_arena;
static struct random_source source;
static long n_cases = 300;

static const char *pick_id(enum tsim_catalogue_kind kind) {
    const char *const *ids;
    size_t n;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_catalogue_list(&names_arena, kind, &ids, &n, &diags), TSIM_OK);
    return ids[random_between(&source, 0, (int32_t)n - 1)];
}

#define PICK(...) pick((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
static const char *pick(const char *const *words, size_t n) {
    return words[random_between(&source, 0, (int32_t)n - 1)];
}

static int power_of_two(int most_log) {
    return 1 << random_between(&source, 0, most_log);
}

/* Half of the models are those for which most of the plan means something. */
static const char *pick_model(void) {
    if (random_between(&source, 0, 1))
        return PICK("gpt2-medium", "llama2-7b", "llama2-13b", "gpt3-175b", "mixtral-8x7b", "llama3-8b", "bert-large");
    return pick_id(TSIM_CATALOGUE_MODELS);
}

static void draw(char text[MOST_BYTES]) {
    int nodes = power_of_two(3), pipeline = power_of_two(2), micro_batch = power_of_two(1);
    const char *model = pick_model(),
               *schedule = PICK("1f1b", "1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe");
    bool is_sized =
        strncmp(model, "gpt", 3) == 0 || strncmp(model, "llama", 5) == 0 || strncmp(model, "mixtral", 7) == 0;
    int n = snprintf(text, MOST_BYTES, "schema: tsim/v1\nname: random\nmodel: %s\ncluster: {node: %s, nodes: %d", model,
                     pick_id(TSIM_CATALOGUE_NODES), nodes);
    if (nodes > 1)
        n += snprintf(text + n, MOST_BYTES - (size_t)n, ", fabric: %s", pick_id(TSIM_CATALOGUE_FABRICS));
    n += snprintf(
        text + n, MOST_BYTES - (size_t)n,
        "}\nsoftware: %s\ntraining: {global_batch_size: %d, micro_batch_size: %d, precision: %s, optimizer: %s",
        pick_id(TSIM_CATALOGUE_SOFTWARE), 64 * micro_batch * power_of_two(3), micro_batch,
        PICK("bf16", "bf16", "fp16", "fp32", "tf32", "fp8"), PICK("adamw", "adamw", "sgd", "adafactor", "adam-8bit"));
    if (is_sized)
        n += snprintf(text + n, MOST_BYTES - (size_t)n, ", sequence_length: %d, recompute: %s, attention: %s",
                      512 * power_of_two(3), PICK("none", "none", "selective", "full", "{every: 2}"),
                      PICK("flash", "flash", "standard"));
    n += snprintf(text + n, MOST_BYTES - (size_t)n, ", tokens: 1 T}\nparallelism: {data: auto");
    if (is_sized)
        n += snprintf(
            text + n, MOST_BYTES - (size_t)n, ", tensor: %d, pipeline: %d, schedule: %s%s, zero: %d, sequence: %s",
            power_of_two(3), pipeline, schedule, strcmp(schedule, "interleaved") == 0 ? ", virtual_pipeline: 2" : "",
            pipeline > 1 ? random_between(&source, 0, 1) : random_between(&source, 0, 3), PICK("true", "false"));
    n += snprintf(text + n, MOST_BYTES - (size_t)n, "}\nsimulation: {network: %s, seed: %d}\n",
                  PICK("fluid", "fluid", "fluid", "ideal", "steps"), random_between(&source, 0, 1000));
    ck_assert_int_lt(n, MOST_BYTES);
}

/* ---- one run ---- */

struct run {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    struct tsim_result result;
};

static bool is_small(const struct tsim_scenario *sc) {
    double passes = (double)sc->n_microbatches * (double)(sc->parallelism.pipeline * sc->parallelism.virtual_pipeline);
    return sc->n_accelerators <= 512 && passes <= 2048 &&
           (sc->simulation.network != TSIM_NETWORK_STEPS || passes * (double)sc->n_accelerators <= 2048);
}

/* False: refused, with a message. */
static bool start(struct run *run, const char *text, const struct tsim_override *overrides, size_t n_overrides) {
    const struct tsim_run_options options = {.ignore_memory = true};
    tsim_arena_init(&run->arena);
    tsim_diags_init(&run->diags);
    bool is_valid = tsim_scenario_open_text(&run->arena, "random.yaml", text, &run->source, &run->diags) == TSIM_OK &&
                    tsim_scenario_load_from(&run->arena, &run->source, overrides, n_overrides, &run->scenario,
                                            &run->diags) == TSIM_OK;
    if (is_valid && is_small(run->scenario))
        is_valid = tsim_train_run(&run->arena, run->scenario, &options, &run->result, &run->diags) == TSIM_OK;
    else
        is_valid = is_valid && (run->diags.n_errors++, false);
    TSIM_ALWAYS(is_valid || run->diags.n_errors > 0, "refused without a word:\n%s", text);
    return is_valid;
}

static void end(struct run *run) {
    tsim_diags_release(&run->diags);
    tsim_arena_release(&run->arena);
}

#define LAW(condition, ...)                                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s\n", text);                                                                             \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
        }                                                                                                              \
    } while (0)

static bool is_near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * (fabs(a) + fabs(b));
}

static void check_terms(const char *text, const struct tsim_step_terms *t) {
    const double exposed[] = {t->exposed_tensor_s, t->exposed_pipeline_s, t->exposed_data_s, t->exposed_context_s,
                              t->exposed_expert_s};
    const double terms[] = {t->compute_s,    t->recompute_s, t->bubble_s, t->communication_exposed_s,
                            t->data_stall_s, t->optimizer_s};
    double sum = 0, sum_exposed = 0;
    for (size_t i = 0; i < sizeof exposed / sizeof exposed[0]; i++)
        sum_exposed += exposed[i];
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        LAW(terms[i] >= -1e-9 * t->time_s, "term %zu is %g of %g s", i, terms[i], t->time_s);
        sum += terms[i];
    }
    LAW(isfinite(t->time_s) && t->time_s > 0, "a step of %g s", t->time_s);
    LAW(fabs(sum - t->time_s) <= 1e-6 * t->time_s, "terms add up to %.17g of %.17g s", sum, t->time_s);
    LAW(fabs(sum_exposed - t->communication_exposed_s) <= 1e-6 * t->time_s, "exposed communication does not add up");
}

static void check_memory(const char *text, const struct tsim_memory *m) {
    const double kinds[] = {m->weights_bytes,     m->gradients_bytes, m->master_bytes, m->optimizer_bytes,
                            m->activations_bytes, m->buffers_bytes,   m->reserve_bytes};
    double sum = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        LAW(kinds[i] >= 0, "memory of kind %zu is %g", i, kinds[i]);
        sum += kinds[i];
    }
    LAW(is_near(sum, m->peak_bytes, 1e-9), "memory adds up to %g of %g bytes", sum, m->peak_bytes);
}

static void check_rates(const char *text, const struct tsim_scenario *sc, const struct tsim_result *r) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double n = (double)sc->n_accelerators, best_flops_per_s = 0;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        best_flops_per_s = fmax(best_flops_per_s, a->peak_flops_per_s[p]);
    LAW(is_near(r->throughput.samples_per_s * r->step.time_s, (double)sc->training.global_batch_size, 1e-9), "samples");
    LAW(isnan(r->throughput.mfu) || (r->throughput.mfu > 0 && r->throughput.mfu < 1), "MFU is %g", r->throughput.mfu);
    LAW(isnan(r->throughput.hfu) || r->throughput.hfu >= r->throughput.mfu * (1 - 1e-9), "HFU %g below MFU %g",
        r->throughput.hfu, r->throughput.mfu);
    LAW(r->step.compute_s + r->step.bubble_s + r->step.time_s > 0 &&
            r->step.time_s * n * fmax(best_flops_per_s, a->vector_flops_per_s) > r->step_model_flops / 3,
        "faster than the matrix units");
    LAW(is_near(r->step_energy_j, r->mean_power_w * r->step.time_s, 1e-6), "energy is not power times time");
    LAW(r->mean_power_w >= n * a->power_idle_w * (1 - 1e-9), "less power than at rest");
}

static void check_result(const char *text, const struct tsim_scenario *sc, const struct tsim_result *r) {
    check_terms(text, &r->step);
    check_memory(text, &r->memory);
    check_rates(text, sc, r);
    double multiplicity = 0;
    for (int32_t i = 0; i < r->n_ranks; i++) {
        check_terms(text, &r->ranks[i].terms);
        check_memory(text, &r->ranks[i].memory);
        LAW(r->ranks[i].memory.peak_bytes <= r->memory.peak_bytes * (1 + 1e-12), "a rank fuller than the fullest");
        multiplicity += r->ranks[i].multiplicity;
    }
    LAW(multiplicity == (double)sc->n_accelerators, "%g accelerators simulated of %lld", multiplicity,
        (long long)sc->n_accelerators);
}

/* ---- which of equals ---- */

static double time_with_slow(const char *text, int64_t node, int64_t index) {
    char value[120];
    struct run run;
    snprintf(value, sizeof value, "[{link: accelerator, node: %lld, index: %lld, rate: 0.7}]", (long long)node,
             (long long)index);
    const struct tsim_override slow = {"cluster.degraded", value};
    double time_s = start(&run, text, &slow, 1) ? run.result.step.time_s : (double)NAN;
    end(&run);
    return time_s;
}

/* Tensor ranks of a group are interchangeable, and so are the replicas, where the links between them are alike. */
static void check_symmetry(const char *text, const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t per_node = sc->n_accelerators / sc->cluster.nodes;
    if (p->tensor < 2 || p->tensor > per_node || per_node % p->tensor != 0 || p->expert > 1 ||
        sc->n_accelerators > 64 || sc->simulation.network != TSIM_NETWORK_FLUID)
        return;
    double first_s = time_with_slow(text, 0, 0), other_s = time_with_slow(text, 0, p->tensor - 1);
    LAW(isnan(first_s) == isnan(other_s) && (isnan(first_s) || is_near(first_s, other_s, 1e-9)),
        "with tensor rank 0 slow %.17g s, with the last one %.17g s", first_s, other_s);
}

/* ---- one accelerator, twice as fast ---- */

static double time_scaled(const char *text, const struct run *run, double k) {
    struct tsim_scenario sc = *run->scenario;
    struct tsim_node node = *sc.cluster.node;
    struct tsim_accelerator a = *node.accelerator;
    struct tsim_software software = *sc.software;
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_result result;
    const struct tsim_run_options options = {.ignore_memory = true};
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        a.peak_flops_per_s[p] *= k;
    a.memory_bytes_per_s *= k;
    a.vector_flops_per_s *= k;
    a.clock_hz *= k;
    a.kernel_latency_s /= k;
    software.host_time_per_op_s /= k;
    software.host_time_per_collective_s /= k;
    software.host_time_per_checkpoint_s /= k;
    node.accelerator = &a;
    sc.cluster.node = &node;
    sc.software = &software;
    LAW(tsim_train_run(&arena, &sc, &options, &result, &diags) == TSIM_OK, "the faster one is refused");
    double time_s = result.step.time_s;
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return time_s;
}

static void check_scaling(const char *text, const struct run *run) {
    if (run->scenario->n_accelerators > 1)
        return;
    double half_s = time_scaled(text, run, 2.0);
    LAW(is_near(2 * half_s, run->result.step.time_s, 1e-6), "twice as fast: %.17g s, not half of %.17g s", half_s,
        run->result.step.time_s);
}

START_TEST(laws_of_a_run) {
    long n_run = 0, n_alone = 0;
    char text[MOST_BYTES];
    for (long i = 0; i < n_cases; i++) {
        struct run run;
        draw(text);
        if (start(&run, text, NULL, 0)) {
            n_run++;
            n_alone += run.scenario->n_accelerators == 1;
            check_result(text, run.scenario, &run.result);
            check_scaling(text, &run);
            if (i % 8 == 0)
                check_symmetry(text, run.scenario);
        }
        end(&run);
    }
    printf("%ld of %ld drawn scenarios are valid, %ld of one accelerator\n", n_run, n_cases, n_alone);
    ck_assert_int_gt(n_run, n_cases / 20);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("random scenarios");
    TCase *tests = tcase_create("laws");
    tcase_set_timeout(tests, 3600);
    tcase_add_test(tests, laws_of_a_run);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    const char *cases = getenv("TSIM_CASES"), *seed = getenv("TSIM_SEED");
    n_cases = cases ? strtol(cases, NULL, 10) : n_cases;
    source.state = seed ? strtoull(seed, NULL, 10) : 20261121u;
    printf("seed %llu\n", (unsigned long long)source.state);
    tsim_arena_init(&names_arena);
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    tsim_arena_release(&names_arena);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
