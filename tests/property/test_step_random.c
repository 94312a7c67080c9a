/* Laws of a step over random plans: folded and unfolded runs agree, those message by message nearly, parts that are
 * joined with those that are played one by one; every rank's terms add up to the step, no term is negative, a rank is
 * never busy for longer than the step, what is sent arrives. Prints its seed; TSIM_CASES says how many plans are drawn
 * for each law (150). */
#include "partition/memory.h"
#include "step/program.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/random_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_CASES = 45 };
#define SEED 20261121u

/* Ticks round each operator, a few microseconds long. */
#define ROUNDING_FRAC 1e-7
/* Messages that share links end a tick sooner or later, which goes from one term of a wait to another: 3e-9 in the worst
 * of 5,400 plans. */
#define TERM_ROUNDING_FRAC 1e-8
/* A pass that is one task shares links with messages at mean rates: of 50,000 plans two are more than 2 % apart. */
#define MOST_APART_FRAC 0.02

/* `sink` listens, or is NULL. */
static struct tsim_step_simulation simulate_heard(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                                  const struct tsim_step_sink *sink) {
    struct tsim_step_simulation simulation;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(arena, sc, cluster, placement, &costs);
    enum tsim_status status =
        tsim_step_simulate_observed(arena, sc, cluster, placement, &costs, sink, &simulation, &diags);
    tsim_diags_print(&diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
    tsim_diags_release(&diags);
    return simulation;
}

static struct tsim_step_simulation simulate(struct tsim_arena *arena, const struct tsim_scenario *sc) {
    return simulate_heard(arena, sc, NULL);
}

/* Expects that all bytes that left NICs arrived at NICs, and that they are the bytes that were sent by the accounts,
 * inside passes and outside. */
static void check_bytes(const struct tsim_step_simulation *s, double ranks_per_stage_group) {
    double accounted = 0;
    for (int32_t g = 0; g < s->n_stage_groups; g++)
        accounted += s->stage_groups[g].nic_bytes * ranks_per_stage_group;
    ck_assert_double_eq_tol(s->nic_out_bytes, s->nic_in_bytes, 1e-6 * (1 + s->nic_in_bytes));
    ck_assert_double_eq_tol(s->nic_out_bytes, accounted, 1e-6 * (1 + accounted));
}

static void check_laws(const struct tsim_step_simulation *s) {
    for (int32_t g = 0; g < s->n_stage_groups; g++) {
        const struct tsim_step_terms *t = &s->stage_groups[g].terms;
        const double parts[] = {t->compute_s,         t->recompute_s,        t->bubble_s,
                                t->exposed_tensor_s,  t->exposed_pipeline_s, t->exposed_data_s,
                                t->exposed_context_s, t->exposed_expert_s,   t->optimizer_s};
        double sum = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            ck_assert_double_ge(parts[i], -1e-9 * s->time_s);
            sum += parts[i];
        }
        ck_assert_double_eq_tol(sum, s->time_s, 1e-7 * s->time_s); /* tasks take whole picoseconds each */
        ck_assert_double_le(s->stage_groups[g].data_busy_s, s->time_s * (1 + 1e-9));
        ck_assert_double_le(s->stage_groups[g].matrix_busy_s, s->time_s * (1 + 1e-9));
    }
}

/* Checks that a rank's own links carry the same, folded or not, whether the engine shared them or only counted. */
static void check_links(const struct tsim_step_simulation *folded, const struct tsim_step_simulation *unfolded, int i) {
    for (int32_t a = 0; a < folded->n_link_utilizations; a++) {
        const struct tsim_link_utilization *one = &folded->link_utilizations[a];
        double mean_frac = 0;
        for (int32_t b = 0; b < unfolded->n_link_utilizations; b++)
            if (strcmp(unfolded->link_utilizations[b].sort, one->sort) == 0)
                mean_frac = unfolded->link_utilizations[b].mean_frac;
        ck_assert_msg(fabs(mean_frac - one->mean_frac) <= 1e-6 * one->mean_frac, "case %d, %s: %g folded, %g unfolded",
                      i, one->sort, one->mean_frac, mean_frac);
    }
}

/* Expects that the folded and the unfolded run agree; returns the unfolded one. */
static struct tsim_step_simulation check_folding(struct tsim_arena *arena, struct tsim_scenario *sc, int i) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    sc->simulation.fold = true;
    struct tsim_step_simulation folded = simulate(arena, sc);
    check_laws(&folded);
    check_bytes(&folded, 1);
    sc->simulation.fold = false;
    struct tsim_step_simulation unfolded = simulate(arena, sc);
    check_laws(&unfolded);
    check_bytes(&unfolded, (double)(p->tensor * p->context));
    ck_assert_msg(fabs(folded.time_s - unfolded.time_s) <= 1e-9 * folded.time_s,
                  "case %d: %.15g folded, %.15g unfolded (tensor %d pipeline %d context %d data %d zero %d %s)", i,
                  folded.time_s, unfolded.time_s, (int)p->tensor, (int)p->pipeline, (int)p->context, (int)p->data,
                  p->zero, tsim_schedule_name(p->schedule));
    for (int32_t g = 0; g < unfolded.n_stage_groups; g++) {
        const struct tsim_stage_group_account *one = &unfolded.stage_groups[g], *all = &folded.stage_groups[one->stage];
        ck_assert_double_eq_tol(one->terms.bubble_s, all->terms.bubble_s, TERM_ROUNDING_FRAC * folded.time_s);
        ck_assert_double_eq_tol(one->terms.exposed_expert_s, all->terms.exposed_expert_s,
                                TERM_ROUNDING_FRAC * folded.time_s);
        ck_assert_double_eq_tol(one->pass_nic_bytes, all->pass_nic_bytes, 1 + 1e-9 * all->pass_nic_bytes);
    }
    check_links(&folded, &unfolded, i);
    return unfolded;
}

/* Returns whether nothing meets collectives of the passes, so that operators and passes agree: no message between
 * stages, no collective of the data-parallel group beside them. */
static bool is_alone(const struct tsim_parallelism_spec *p) {
    bool overlaps = p->overlap.gradients || p->overlap.parameters;
    return p->pipeline == 1 && (!overlaps || (p->data == 1 && p->context == 1));
}

/* ---- two levels of detail ---- */

/* Measures how far the steps of random plans are apart, played by operators and by passes. */
struct apart {
    double sum, most;
    int n;
};

static double tell_apart(struct apart *apart, double operators_s, double passes_s) {
    double frac = fabs(operators_s / passes_s - 1);
    apart->sum += frac;
    apart->n++;
    apart->most = fmax(apart->most, frac);
    return frac;
}

static void print_apart(const struct apart *apart, const char *what) {
    printf("%s, operators and passes: %.3f %% apart on average, %.1f %% at most\n", what, 100 * apart->sum / apart->n,
           100 * apart->most);
}

TSIM_TEST(random_plans) {
    const int n_cases = (int)random_cases(N_CASES);
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct apart all = {0};
    double sum_of_differences = 0;
    int n_alone = 0;
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        random_plan(&random, &e);
        e.scenario.simulation.detail = TSIM_DETAIL_PASSES;
        struct tsim_step_simulation passes = check_folding(&arena, &e.scenario, i);
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        struct tsim_step_simulation operators = check_folding(&arena, &e.scenario, i);
        const struct tsim_parallelism_spec *p = &e.scenario.parallelism;
        double apart = tell_apart(&all, operators.time_s, passes.time_s);
        n_alone += is_alone(p);
        ck_assert_msg(apart <= (is_alone(p) ? ROUNDING_FRAC : MOST_APART_FRAC),
                      "case %d: %.15g s operators, %.15g s passes (tensor %d pipeline %d context %d expert %d data %d "
                      "zero %d %s)",
                      i, operators.time_s, passes.time_s, (int)p->tensor, (int)p->pipeline, (int)p->context,
                      (int)p->expert, (int)p->data, p->zero, tsim_schedule_name(p->schedule));
        e.scenario.simulation.network = TSIM_NETWORK_STEPS;
        struct tsim_step_simulation steps = simulate(&arena, &e.scenario);
        check_laws(&steps);
        ck_assert_double_eq_tol(steps.nic_out_bytes, operators.nic_out_bytes, 1e-6 * (1 + operators.nic_out_bytes));
        ck_assert_double_eq_tol(steps.nic_in_bytes, operators.nic_in_bytes, 1e-6 * (1 + operators.nic_in_bytes));
        double difference = fabs(steps.time_s / operators.time_s - 1);
        sum_of_differences += difference;
        ck_assert_msg(
            difference <= MOST_APART_FRAC,
            "case %d: %.15g s fluid, %.15g s message by message (tensor %d pipeline %d x %d context %d expert %d "
            "data %d zero %d %s)",
            i, operators.time_s, steps.time_s, (int)p->tensor, (int)p->pipeline, (int)p->virtual_pipeline,
            (int)p->context, (int)p->expert, (int)p->data, p->zero, tsim_schedule_name(p->schedule));
        tsim_arena_reset(&arena);
    }
    print_apart(&all, "plans");
    ck_assert_double_le(all.sum / all.n, 0.0005);
    ck_assert_int_gt(n_alone, n_cases / 20);
    /* They differ, seldom, in how collectives meet messages between stages. */
    ck_assert_double_le(sum_of_differences / n_cases, 0.0025);
    tsim_arena_release(&arena);
}

/* ---- parts that nothing disturbs ---- */

static void no_beginning(void *context, const struct tsim_step_outline *outline) {
    (void)context;
    (void)outline;
}

/* Operators follow one another on the compute stream: adds up how long they are under way. */
static void add_operator(void *context, const struct tsim_step_task *task) {
    double *busy_s = context;
    if (task->kind == TSIM_TASK_OPERATOR && task->stream == TSIM_STREAM_COMPUTE)
        *busy_s += task->end_s - task->begin_s;
}

static bool wants_all(void *context, int32_t stage_group) {
    (void)context;
    (void)stage_group;
    return true;
}

static void check_same(const struct tsim_step_simulation *a, const struct tsim_step_simulation *b, int i) {
    ck_assert_msg(a->time_s <= b->time_s && a->time_s >= b->time_s, "case %d: %.15g joined, %.15g one by one", i,
                  a->time_s, b->time_s);
    ck_assert_double_eq_tol(a->nic_out_bytes, b->nic_out_bytes, 1 + 1e-9 * b->nic_out_bytes);
    for (int32_t g = 0; g < a->n_stage_groups; g++) {
        const struct tsim_step_terms *x = &a->stage_groups[g].terms, *y = &b->stage_groups[g].terms;
        const double of_x[] = {x->compute_s,         x->recompute_s,      x->bubble_s,
                               x->exposed_tensor_s,  x->exposed_data_s,   x->exposed_pipeline_s,
                               x->exposed_context_s, x->exposed_expert_s, a->stage_groups[g].host_wait_s};
        const double of_y[] = {y->compute_s,         y->recompute_s,      y->bubble_s,
                               y->exposed_tensor_s,  y->exposed_data_s,   y->exposed_pipeline_s,
                               y->exposed_context_s, y->exposed_expert_s, b->stage_groups[g].host_wait_s};
        for (size_t k = 0; k < sizeof of_x / sizeof of_x[0]; k++)
            ck_assert_msg(fabs(of_x[k] - of_y[k]) <= 1e-12, "case %d stage group %d term %zu: %.15g, %.15g", i, g, k,
                          of_x[k], of_y[k]);
    }
}

/* A part of a pass that nothing disturbs is one task, with what runs beside its kernels, unless somebody listens to its
 * operators: both take the same to the tick, with any host, slow kernels, folded or not. */
TSIM_TEST(joined_parts) {
    static const double HOST_S[] = {0, 1e-6, 5e-6, 1e-4};
    const int n_cases = (int)random_cases(N_CASES);
    struct random_source random = random_start(SEED + 1);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    int n_joined = 0, n_heard = 0;
    int64_t n_whole[2] = {0, 0}, n_single[2] = {0, 0};
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        random_plan(&random, &e);
        e.software.host_time_per_op_s = HOST_S[random_between(&random, 0, 3)];
        e.software.launch_blocking = random_between(&random, 0, 7) == 0;
        struct tsim_degraded slow = {.link = TSIM_DEGRADED_ACCELERATOR, .index = -1, .rate_frac = 0.8};
        bool is_folded = random_between(&random, 0, 2) == 0;
        e.scenario.simulation.fold = is_folded;
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.cluster.degraded = &slow;
        e.scenario.cluster.n_degraded = is_folded ? 0 : (size_t)random_between(&random, 0, 1);
        double busy_s = 0;
        const struct tsim_step_sink sink = {
            .begin = no_beginning, .take = add_operator, .context = &busy_s, .wants_operators = wants_all};
        struct tsim_step_simulation joined = simulate(&arena, &e.scenario),
                                    single = simulate_heard(&arena, &e.scenario, &sink);
        check_same(&joined, &single, i);
        n_heard += busy_s > 0;
        n_joined += joined.events < single.events;
        n_whole[is_folded] += joined.events;
        n_single[is_folded] += single.events;
        tsim_arena_reset(&arena);
    }
    printf("joined: %d of %d plans; events folded %.2f, unfolded %.2f\n", n_joined, n_cases,
           (double)n_whole[1] / (double)n_single[1], (double)n_whole[0] / (double)n_single[0]);
    ck_assert_int_gt(n_heard, n_cases / 2); /* else passes are one task: gathers cut layers */
    ck_assert_int_gt(n_joined, n_cases / 5);
    tsim_arena_release(&arena);
}

/* ---- hosts ---- */

/* Hosts slower than some or most of the kernels, whose launches block, or go to a graph at once: a pass that is one
 * task is as long as its kernels and launches take one after another. Where nothing else meets them and nothing runs
 * beside kernels, it is the same to the tick. Passes whose kernels wait for the host and for gathered weights, or whose
 * waits for launches collectives make longer, are played by their operators. */
TSIM_TEST(random_hosts) {
    const int n_cases = (int)random_cases(N_CASES);
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct apart all = {0};
    int n_alone = 0, n_waiting = 0;
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        random_plan(&random, &e);
        const struct tsim_parallelism_spec *p = &e.scenario.parallelism;
        bool runs_beside = p->overlap.tensor || p->overlap.tensor_backward || p->overlap.expert || p->context > 1;
        e.software.host_time_per_op_s = 1e-6 * pow(100, random_real(&random));
        e.software.host_time_per_collective_s = random_between(&random, 0, 1) * 1e-5;
        e.software.host_time_per_checkpoint_s = random_between(&random, 0, 1) * 1e-4;
        e.software.host_time_per_sample_s = random_between(&random, 0, 1) * 1e-4;
        e.software.launch_blocking = random_between(&random, 0, 3) == 0;
        e.software.cuda_graphs = (enum tsim_cuda_graphs)random_between(&random, 0, 2);
        e.scenario.simulation.detail = TSIM_DETAIL_PASSES;
        struct tsim_step_simulation passes = simulate(&arena, &e.scenario);
        check_laws(&passes);
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        struct tsim_step_simulation operators = simulate(&arena, &e.scenario);
        check_laws(&operators);
        bool is_exact = is_alone(p) && !runs_beside && p->zero < 3;
        double apart = tell_apart(&all, operators.time_s, passes.time_s);
        n_alone += is_exact;
        n_waiting += operators.stage_groups[0].host_wait_s > 0.1 * operators.time_s;
        ck_assert_msg(apart <= (is_exact ? ROUNDING_FRAC : MOST_APART_FRAC),
                      "case %d: %.15g s operators, %.15g s passes (tensor %d pipeline %d context %d expert %d data %d "
                      "zero %d %s, host %.3g us, blocks %d, graphs %d)",
                      i, operators.time_s, passes.time_s, (int)p->tensor, (int)p->pipeline, (int)p->context,
                      (int)p->expert, (int)p->data, p->zero, tsim_schedule_name(p->schedule),
                      1e6 * e.software.host_time_per_op_s, e.software.launch_blocking, (int)e.software.cuda_graphs);
        tsim_arena_reset(&arena);
    }
    print_apart(&all, "hosts");
    ck_assert_double_le(all.sum / all.n, 0.0005);
    ck_assert_int_ge(n_alone, n_cases / 400); /* a plan in a hundred or so: few cases may have none */
    ck_assert_int_gt(n_waiting, n_cases / 10);
    tsim_arena_release(&arena);
}

/* ---- copies ---- */

/* Activations and the optimizer in the host's memory, over slots that collectives and NICs share or not: folded and
 * unfolded agree, so do both levels of detail, terms add up, and a step takes no less than without, nor than what the
 * slots have to carry. */
TSIM_TEST(random_copies) {
    const int n_cases = (int)random_cases(N_CASES);
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct apart all = {0};
    int n_waiting = 0;
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        random_plan(&random, &e);
        struct tsim_scenario *sc = &e.scenario;
        sc->simulation.detail = i % 2 == 0 ? TSIM_DETAIL_OPERATORS : TSIM_DETAIL_PASSES;
        bool is_pcie = random_between(&random, 0, 1) && sc->parallelism.pipeline == 1; /* else it does not fold */
        e.node.scale_up = is_pcie ? TSIM_SCALE_UP_PCIE : TSIM_SCALE_UP_SWITCH;
        e.node.host_link_bytes_per_s = 1e9 * pow(100, random_real(&random));
        e.node.host_memory_bytes_per_s = 1e10 * pow(100, random_real(&random));
        e.node.nics_on_accelerator = random_between(&random, 0, 1);
        struct tsim_step_simulation without = simulate(&arena, sc);
        bool splits = tsim_schedule_splits_backward(sc->parallelism.schedule);
        sc->training.offload.activations_frac = splits ? 0 : random_real(&random);
        sc->training.offload.optimizer = splits || random_between(&random, 0, 1);
        struct tsim_step_simulation with = check_folding(&arena, sc, i);
        double offloaded_bytes = 0;
        for (int32_t c = 0; c < sc->parallelism.virtual_pipeline; c++)
            offloaded_bytes += tsim_chunk_offloaded_bytes(sc, 0, c);
        double copied_s = (double)sc->n_microbatches * offloaded_bytes / e.node.host_link_bytes_per_s;
        ck_assert_msg(with.time_s >= 2 * copied_s, "case %d: %g s, copies take %g s", i, with.time_s, 2 * copied_s);
        ck_assert_double_ge(with.time_s,
                            (without.time_s - without.stage_groups[0].terms.optimizer_s) * (1 - ROUNDING_FRAC));
        n_waiting += with.stage_groups[0].copy_wait_s > 0.1 * with.time_s;
        sc->simulation.detail = i % 2 == 0 ? TSIM_DETAIL_PASSES : TSIM_DETAIL_OPERATORS;
        double apart = tell_apart(&all, simulate(&arena, sc).time_s, with.time_s);
        ck_assert_msg(apart <= MOST_APART_FRAC, "case %d: operators and passes are %g apart", i, apart);
        tsim_arena_reset(&arena);
    }
    print_apart(&all, "copies");
    ck_assert_int_gt(n_waiting, n_cases / 10);
    tsim_arena_release(&arena);
}

/* ---- slow accelerators ---- */

enum { MOST_REPLICAS = 64 };

struct heard {
    int32_t n, stand_ins[MOST_REPLICAS];
};

static void hear_stand_ins(void *context, const struct tsim_step_outline *outline) {
    struct heard *heard = context;
    for (int32_t i = 0; i < heard->n; i++)
        heard->stand_ins[i] = outline->stand_ins[i];
}

static void ignore_task(void *context, const struct tsim_step_task *task) {
    (void)context;
    (void)task;
}

/* Makes four times the replicas of a random plan. A third lies on a fat tree, half of which are twice oversubscribed
 * above eight ports; some nodes share four NICs; some have other jobs' traffic on their NICs. */
static void random_cluster(struct random_source *random, struct example *e) {
    static const struct tsim_tier EVEN = {.ports = 8, .oversubscription = 1},
                                  UNEVEN = {.ports = 8, .oversubscription = 2};
    static const struct tsim_background OTHERS = {.direction = TSIM_DIRECTION_BOTH, .rate_bytes_per_s = 3e9};
    struct tsim_scenario *sc = &e->scenario;
    random_plan(random, e);
    sc->parallelism.data *= 4;
    sc->training.global_batch_size *= 4;
    sc->cluster.nodes *= 4;
    if (random_between(random, 0, 2) == 0) {
        e->fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
        e->fabric.routing = TSIM_ROUTING_ADAPTIVE;
        e->fabric.tiers = random_between(random, 0, 1) ? &EVEN : &UNEVEN;
        e->fabric.n_tiers = 1;
    }
    e->node.nics = random_between(random, 0, 3) == 0 ? 4 : 8;
    sc->cluster.background = &OTHERS;
    sc->cluster.n_background = random_between(random, 0, 4) == 0;
    example_finish(e);
}

/* Slows up to three accelerators or a whole node, or draws stragglers at random. */
static void slow_some(struct random_source *random, struct tsim_scenario *sc, struct tsim_degraded *slow) {
    static const double RATES[] = {0.5, 0.8, 0.8, 0.95};
    int32_t n = random_between(random, 0, 3), per_node = (int32_t)sc->cluster.accelerators_per_node;
    for (int32_t i = 0; i < n; i++)
        slow[i] = (struct tsim_degraded){.link = TSIM_DEGRADED_ACCELERATOR,
                                         .node = random_between(random, 0, (int32_t)sc->cluster.nodes - 1),
                                         .index = random_between(random, -1, per_node - 1),
                                         .rate_frac = RATES[random_between(random, 0, 3)]};
    sc->cluster.degraded = slow;
    sc->cluster.n_degraded = (size_t)n;
    sc->variability = (struct tsim_variability_spec){.straggler_slowdown = 1.2};
    if (n == 0)
        sc->variability.straggler_frac = random_between(random, 0, 1) ? 0.02 : 0.2;
    sc->simulation.seed = random_between(random, 0, 1000);
}

/* Replicas that are as fast as each other are one: each stage group that is simulated by itself has the times of the
 * one that stands for it, and all accelerators are counted. */
TSIM_TEST(slow_accelerators) {
    struct random_source random = random_start(SEED + 2);
    const int n_cases = (int)random_cases(60);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    int n_folded = 0, n_trees = 0;
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        struct tsim_degraded slow[3];
        struct tsim_scenario *sc = &e.scenario;
        random_cluster(&random, &e);
        slow_some(&random, sc, slow);
        sc->simulation.detail = i % 4 == 0 ? TSIM_DETAIL_PASSES : TSIM_DETAIL_OPERATORS;
        struct heard heard = {.n = (int32_t)sc->parallelism.data};
        const struct tsim_step_sink sink = {.begin = hear_stand_ins, .take = ignore_task, .context = &heard};
        sc->simulation.fold = true;
        struct tsim_step_simulation folded = simulate_heard(&arena, sc, &sink);
        sc->simulation.fold = false;
        struct tsim_step_simulation unfolded = simulate(&arena, sc);
        check_laws(&folded);
        ck_assert_msg(fabs(folded.time_s - unfolded.time_s) <= 1e-9 * unfolded.time_s,
                      "case %d: %.15g folded to %d, %.15g unfolded to %d", i, folded.time_s, folded.n_stage_groups,
                      unfolded.time_s, unfolded.n_stage_groups);
        for (int32_t g = 0; g < unfolded.n_stage_groups; g++) {
            const struct tsim_stage_group_account *own = &unfolded.stage_groups[g];
            int32_t stand_in = heard.stand_ins[g / unfolded.n_stages] * folded.n_stages + own->stage;
            const struct tsim_stage_group_account *of = &folded.stage_groups[stand_in];
            const double rounding_s = TERM_ROUNDING_FRAC * unfolded.time_s;
            ck_assert_double_eq_tol(own->terms.bubble_s, of->terms.bubble_s, rounding_s);
            ck_assert_double_eq_tol(own->terms.compute_s, of->terms.compute_s, rounding_s);
            ck_assert_double_eq_tol(own->terms.exposed_data_s, of->terms.exposed_data_s, rounding_s);
        }
        int64_t n_all = 0;
        for (int32_t g = 0; g < folded.n_stage_groups; g++)
            n_all += folded.stage_groups[g].multiplicity;
        ck_assert_int_eq(n_all, sc->n_accelerators);
        if (e.fabric.n_tiers == 0) /* there the links of some ranks tell of all */
            check_links(&folded, &unfolded, i);
        bool is_folded = folded.n_stage_groups < unfolded.n_stage_groups;
        n_folded += is_folded;
        n_trees += is_folded && e.fabric.n_tiers > 0;
        tsim_arena_reset(&arena);
    }
    printf("slow accelerators: %d of %d plans folded, %d on fat trees\n", n_folded, n_cases, n_trees);
    ck_assert_int_gt(n_folded, n_cases / 4);
    ck_assert_int_gt(n_trees, n_cases / 20);
    tsim_arena_release(&arena);
}

TSIM_MAIN(60, NULL, NULL)
