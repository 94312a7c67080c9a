/* Laws between runs: a random scenario (support/random_scenario.h) and the same with one thing changed.
 *
 * Theorems, which hold to rounding:
 * - more memory: what fitted fits, and the step stays what it was;
 * - another name or another order of the file's lines: every figure stays what it was;
 * - the same configuration as a point of a sweep: every figure stays what it was.
 *
 * No theorems, but true up to a bound that is stated beside each: tasks wait for one another in the order of lists, and
 * flows share links by max-min fairness, so that a faster part can move traffic to a worse moment (Graham 1969, "Bounds
 * on multiprocessing timing anomalies"): - a higher bandwidth or peak, or a shorter latency: the step is not longer by
 * more than ANOMALY_FRAC; - a larger batch: the step is not shorter by more; - more recomputation: not less time, not
 * more memory; a higher ZeRO stage: not more memory of states; - an ideal network: the step is not longer than with
 * links that are shared.
 *
 * TSIM_CASES says how many valid scenarios are drawn (20), TSIM_SEED from which seed. Each obeys the laws of one run
 * (support/run_laws.h) and one of these, in turn. */
#include "partition/memory.h"
#include "study/curves/sweep.h"
#include "support/random_scenario.h"
#include "support/run_laws.h"

#include <string.h>

static struct random_source source;

/* No anomaly took as much of a step in 10,000 scenarios; the largest of faster links in 1,085 was 0.19 %: a reduction
 * on links of five times the speed takes as much of HBM in a fifth of the time, before the kernels beside it
 * (docs/physics.md, Collectives). */
static const double ANOMALY_FRAC = 0.01;

/* A scenario whose machine may be changed. */
struct machine {
    struct tsim_scenario scenario;
    struct tsim_accelerator accelerator;
    struct tsim_node node;
    struct tsim_fabric fabric;
    struct tsim_model model;
    struct tsim_software software;
};

static void machine_copy(struct machine *m, const struct tsim_scenario *scenario) {
    m->scenario = *scenario;
    m->node = *scenario->cluster.node;
    m->accelerator = *m->node.accelerator;
    m->model = *scenario->model;
    m->software = *scenario->software;
    if (scenario->cluster.fabric)
        m->fabric = *scenario->cluster.fabric;
    m->node.accelerator = &m->accelerator;
    m->scenario.cluster.node = &m->node;
    m->scenario.cluster.fabric = scenario->cluster.fabric ? &m->fabric : NULL;
    m->scenario.model = &m->model;
    m->scenario.software = &m->software;
}

static double seconds(const struct run *run) {
    return tsim_steady_time_s(&run->result.step);
}

static double time_of(const char *text, const struct tsim_scenario *scenario) {
    struct run run;
    LAW(run_scenario(&run, scenario), "refused when changed");
    double time_s = seconds(&run);
    run_end(&run);
    return time_s;
}

/* ---- faster parts ---- */

static bool faster_part(const char *text, const struct run *run) {
    if (run->scenario->cluster.n_background > 0)
        return false; /* collectives choose their algorithm as if they were alone, and with others another may be faster */
    struct machine m;
    machine_copy(&m, run->scenario);
    double k = random_between(&source, 2, 8);
    enum tsim_precision precision = tsim_unquantized(run->scenario->training.precision);
    struct {
        const char *name;
        double *rate, *also;
    } const rates[] = {
        {"peak", &m.accelerator.peak_flops_per_s[precision],
         &m.accelerator.peak_flops_per_s[run->scenario->training.precision]},
        {"vector rate", &m.accelerator.vector_flops_per_s, NULL},
        {"memory bandwidth", &m.accelerator.memory_bytes_per_s, NULL},
        {"scale-up bandwidth", &m.node.scale_up_bytes_per_s, &m.node.scale_up_ring_bytes_per_s},
        {"NIC bandwidth", &m.node.nic_bytes_per_s, &m.fabric.link_bytes_per_s},
        {"host link", &m.node.host_link_bytes_per_s, &m.node.host_memory_bytes_per_s},
        {"kernel latency", &m.accelerator.kernel_latency_s, NULL},
        {"scale-up latency", &m.node.scale_up_latency_s, NULL},
        {"fabric latency", &m.fabric.latency_s, NULL},
        {"host time", &m.software.host_time_per_op_s, &m.software.host_time_per_fp8_op_s},
    };
    int32_t i = random_between(&source, 0, (int32_t)(sizeof rates / sizeof rates[0]) - 1);
    double factor = strstr(rates[i].name, "latency") || strstr(rates[i].name, "time") ? 1 / k : k;
    *rates[i].rate *= factor;
    if (rates[i].also && rates[i].also != rates[i].rate)
        *rates[i].also *= factor;
    double before_s = seconds(run), after_s = time_of(text, &m.scenario);
    LAW(after_s <= before_s * (1 + ANOMALY_FRAC) + rounding_s(run->scenario), "%s times %g: %.9g s, before %.9g s",
        rates[i].name, factor, after_s, before_s);
    return true;
}

/* ---- memory ---- */

static bool more_memory(const char *text, const struct run *run) {
    struct machine m;
    machine_copy(&m, run->scenario);
    m.accelerator.memory_bytes *= 1.5;
    struct run more;
    LAW(run_scenario(&more, &m.scenario), "refused with more memory");
    LAW(!run->result.step.fits || more.result.step.fits, "does not fit in more memory");
    if (run->scenario->parallelism.balances) { /* stages are split anew: into those that fit and are the fastest */
        LAW(!run->result.step.fits || seconds(&more) <= seconds(run) * (1 + ANOMALY_FRAC),
            "%.9g s with more memory, %.9g s with less", seconds(&more), seconds(run));
    } else {
        LAW(more.result.step.memory.peak_bytes == run->result.step.memory.peak_bytes,
            "takes %g bytes of more memory, %g of less", more.result.step.memory.peak_bytes,
            run->result.step.memory.peak_bytes);
        LAW(seconds(&more) == seconds(run), "%.17g s with more memory, %.17g s with less", seconds(&more),
            seconds(run));
    }
    run_end(&more);
    return true;
}

/* ---- one key of the file ---- */

/* Starts a run with another value of the key; false: that is not a scenario of the same kind, or it is too large. */
static bool start_with(struct run *other, const char *text, const char *path, const char *value) {
    const struct tsim_override set = {path, value};
    if (run_start(other, text, &set, 1))
        return true;
    run_end(other);
    return false;
}

static bool larger_batch(const char *text, const struct run *run) {
    const struct tsim_training_spec *training = &run->scenario->training;
    struct run larger;
    char value[24];
    snprintf(value, sizeof value, "%lld", 2 * (long long)training->global_batch_size);
    if (!start_with(&larger, text, "training.global_batch_size", value))
        return false;
    LAW(seconds(&larger) >= seconds(run) * (1 - ANOMALY_FRAC), "%.9g s with twice the batch, %.9g s without",
        seconds(&larger), seconds(run));
    run_end(&larger);
    return true;
}

static bool more_recomputation(const char *text, const struct run *run) {
    static const char *const MODES[] = {"none", "selective", "full"};
    struct run modes[3];
    int n = 0;
    /* A recomputed tensor need not be fetched, and the host's link may be the slower way; stages may be split anew. */
    if (run->scenario->training.offload.activations_frac > 0 || run->scenario->parallelism.balances)
        return false;
    while (n < 3 && start_with(&modes[n], text, "training.recompute", MODES[n]))
        n++;
    /* Tensors that the layer in work has computed again are counted beside what waits for the gradients of weights. */
    const struct tsim_model *model = run->scenario->model;
    double layer_bytes =
        n > 0 && model->kind == TSIM_MODEL_TRANSFORMER
            ? tsim_layer_whole_activation_bytes(modes[0].scenario, tsim_model_layer(model, model->layers - 1))
            : 0;
    for (int i = 1; i < n; i++) {
        const struct tsim_memory *less = &modes[i - 1].result.step.memory, *more = &modes[i].result.step.memory;
        LAW(more->peak_bytes <= less->peak_bytes * (1 + ANOMALY_FRAC) + layer_bytes,
            "%s recomputation takes %g bytes, %s %g", MODES[i], more->peak_bytes, MODES[i - 1], less->peak_bytes);
        /* Gradients that are ready sooner take their share of a link from messages that the next stage waits for. */
        const struct tsim_step_terms *terms = &modes[i - 1].result.step.terms;
        bool waits =
            run->scenario->parallelism.overlap.gradients && terms->exposed_pipeline_s > ANOMALY_FRAC * terms->time_s;
        LAW(waits || seconds(&modes[i]) >= seconds(&modes[i - 1]) * (1 - ANOMALY_FRAC),
            "%s recomputation takes %g s, %s %g s", MODES[i], seconds(&modes[i]), MODES[i - 1], seconds(&modes[i - 1]));
    }
    for (int i = 0; i < n; i++)
        run_end(&modes[i]);
    return n > 1;
}

static bool higher_zero_stage(const char *text, const struct run *run) {
    int stage = run->scenario->parallelism.zero;
    struct run higher;
    char value[16];
    snprintf(value, sizeof value, "%d", stage + 1);
    if (stage == 3 || !start_with(&higher, text, "parallelism.zero", value))
        return false;
    const struct tsim_memory *less = &run->result.step.memory, *more = &higher.result.step.memory;
    double states_before = less->weights_bytes + less->gradients_bytes + less->master_bytes + less->optimizer_bytes,
           states_after = more->weights_bytes + more->gradients_bytes + more->master_bytes + more->optimizer_bytes;
    LAW(states_after <= states_before * (1 + 1e-9), "ZeRO-%d holds %g bytes of states, ZeRO-%d %g", stage + 1,
        states_after, stage, states_before);
    run_end(&higher);
    return true;
}

static bool ideal_network(const char *text, const struct run *run) {
    struct run ideal;
    if (run->scenario->simulation.network == TSIM_NETWORK_IDEAL ||
        !start_with(&ideal, text, "simulation.network", "ideal"))
        return false;
    LAW(seconds(&ideal) <= seconds(run) * (1 + ANOMALY_FRAC), "%.9g s on an ideal network, %.9g s on this one",
        seconds(&ideal), seconds(run));
    run_end(&ideal);
    return true;
}

/* ---- the same thing, said otherwise ---- */

static struct tsim_outcome outcome_of(const struct run *run) {
    const struct tsim_prediction prediction = {.result = run->result};
    struct tsim_outcome outcome;
    tsim_outcome_of(&prediction, &outcome);
    return outcome;
}

/* Compares every figure that a point has. */
static void check_same(const char *text, const struct run *run, const struct tsim_outcome *other, const char *how) {
    const struct tsim_outcome here = outcome_of(run);
    LAW(here.bottleneck == other->bottleneck, "bound by %s, %s by %s", here.bottleneck, how, other->bottleneck);
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++) {
        double a = here.value[columns[i]], b = other->value[columns[i]];
        bool is_of_study = columns[i] == TSIM_OUTCOME_STEP_LOW ||
                           columns[i] == TSIM_OUTCOME_STEP_HIGH; /* the interval, made afterwards */
        LAW(a == b || (isnan(a) && isnan(b)) || is_of_study, "%s: %.17g, %s %.17g", tsim_outcome_spec(columns[i])->name,
            a, how, b);
    }
}

static void check_same_run(const char *text, const struct run *run, const struct run *other, const char *how) {
    const struct tsim_outcome there = outcome_of(other);
    check_same(text, run, &there, how);
}

static bool other_names(const char *text, const struct run *run) {
    struct machine m;
    struct run renamed;
    machine_copy(&m, run->scenario);
    m.scenario.name = m.accelerator.name = m.node.name = m.node.scale_up_name = m.fabric.name = "another";
    m.model.name = m.software.name = "another";
    LAW(run_scenario(&renamed, &m.scenario), "refused under another name");
    check_same_run(text, run, &renamed, "under another name");
    run_end(&renamed);
    return true;
}

/* Each line of a drawn text is a key with its value. */
static bool other_order(const char *text, const struct run *run) {
    size_t size = strlen(text), n = 0;
    char *copy = strdup(text), *shuffled = calloc(1, size + 1), *lines[32];
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        lines[n++] = line;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = (size_t)random_between(&source, 0, (int32_t)i);
        char *swapped = lines[i];
        lines[i] = lines[j];
        lines[j] = swapped;
    }
    for (size_t i = 0; i < n; i++)
        strcat(strcat(shuffled, lines[i]), "\n");
    struct run again;
    LAW(run_start(&again, shuffled, NULL, 0), "refused with its lines in another order");
    check_same_run(text, run, &again, "with its lines in another order");
    run_end(&again);
    free(copy);
    free(shuffled);
    return true;
}

/* A point's seed derives from its key, so its random draws differ from a run's. */
static bool point_of_a_sweep(const char *text, const struct run *run) {
    const struct tsim_fabric *fabric = run->scenario->cluster.fabric;
    bool is_hashed = fabric && fabric->routing == TSIM_ROUTING_ECMP;
    if (tsim_scenario_varies(run->scenario) || run->scenario->reliability.has || is_hashed)
        return false;
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_space space;
    struct tsim_point point;
    char batch[24];
    snprintf(batch, sizeof batch, "%lld", (long long)run->scenario->training.global_batch_size);
    const struct tsim_space_setting setting = {"training.global_batch_size", batch, batch};
    const struct tsim_choice choice = {&setting, 1};
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    tsim_space_of(&arena, &choice, 1, &space);
    const struct tsim_sweep sweep = {.source = &run->source, .space = &space, .ignore_memory = true, .n_shards = 1};
    LAW(tsim_sweep_point(&sweep, 0, NULL, &point, &diags) == TSIM_OK &&
            point.status == (run->result.step.fits ? TSIM_POINT_OK : TSIM_POINT_DOES_NOT_FIT),
        "refused as a point of a sweep: %s", point.reason);
    check_same(text, run, &point.outcome, "as a point of a sweep");
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return true;
}

/* ---- all of them ---- */

/* Campaigns take as long as all the rest: three in four scenarios lose theirs. */
static void drop_campaign(char *text) {
    char *line = strstr(text, "\nreliability:");
    if (line && random_between(&source, 1, 4) > 1)
        memmove(line, strchr(line + 1, '\n'), strlen(strchr(line + 1, '\n')) + 1);
}

/* A law returns false if it does not apply to the scenario. */
typedef bool (*law_fn)(const char *text, const struct run *run);
static const struct law {
    const char *name;
    law_fn check;
} LAWS[] = {{"faster part", faster_part},
            {"more memory", more_memory},
            {"larger batch", larger_batch},
            {"faster part", faster_part},
            {"more recomputation", more_recomputation},
            {"higher ZeRO stage", higher_zero_stage},
            {"faster part", faster_part},
            {"ideal network", ideal_network},
            {"other names", other_names},
            {"other order", other_order},
            {"point of a sweep", point_of_a_sweep}};
enum { N_LAWS = sizeof LAWS / sizeof LAWS[0] };

static bool is_each_tried(const long n_tried[static N_LAWS]) {
    for (size_t i = 0; i < N_LAWS; i++)
        if (n_tried[i] == 0)
            return false;
    return true;
}

TSIM_TEST(laws_between_runs) {
    const long n_cases = random_cases(20);
    source = random_start(20261123u);
    long n_run = 0, n_drawn = 0, n_tried[N_LAWS] = {0};
    /* Each law applies to some scenarios only: scenarios are drawn until every law was tried. */
    while ((n_run < n_cases || !is_each_tried(n_tried)) && n_drawn < 60 * n_cases) {
        char *text = random_scenario(&source);
        struct run run;
        n_drawn++;
        drop_campaign(text);
        if (run_start(&run, text, NULL, 0)) {
            const size_t law = (size_t)n_run++ % N_LAWS;
            check_run(text, &run);
            n_tried[law] += LAWS[law].check(text, &run);
        }
        run_end(&run);
        free(text);
    }
    printf("%ld of %ld drawn scenarios are valid\n", n_run, n_drawn);
    for (size_t i = 0; i < N_LAWS; i++)
        printf("%s: %ld\n", LAWS[i].name, n_tried[i]);
    fflush(stdout);
    ck_assert_int_ge(n_run, n_cases);
    for (size_t i = 0; i < N_LAWS; i++)
        ck_assert_msg(n_tried[i] > 0, "%s was never tried", LAWS[i].name);
}

TSIM_MAIN(3600, NULL, NULL)
