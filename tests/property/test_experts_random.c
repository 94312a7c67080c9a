/* Laws of mixtures over random models and plans: however experts are divided, all ranks together execute the same
 * products, hold the same parameters and exchange the same rows; chance and popularity never make the fullest rank less
 * full; more parts to recompute keep no more. Prints its seed. */
#include "model/model.h"
#include "model/operators.h"
#include "model/routing.h"
#include "partition/memory.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/random.h"

#include <stdio.h>
#include <string.h>

enum { N_CASES = 400 };
#define SEED 20261121u

static int64_t power(struct random_source *random, int32_t most) {
    return (int64_t)1 << random_between(random, 0, most);
}

/* 64 accelerators; tensor, context, expert and expert_tensor as they come, where they can be. */
static void random_mixture(struct random_source *random, struct example *e) {
    struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    example_init(e);
    e->model.gated_mlp = random_between(random, 0, 1);
    e->model.bias = random_between(random, 0, 1);
    e->model.experts = (struct tsim_experts){.count = power(random, 5),
                                             .ffn_hidden = 512 * power(random, 2),
                                             .shared = random_between(random, 0, 2),
                                             .first = random_between(random, 0, 3),
                                             .every = 1 + random_between(random, 0, 2)};
    e->model.experts.active = 1 + random_between(random, 0, (int32_t)(e->model.experts.count - 1) / 2);
    if (random_between(random, 0, 1))
        e->model.latent = (struct tsim_latent){.kv_rank = 128, .query_rank = 256 * random_between(random, 0, 1)};
    e->scenario.cluster.nodes = 8;
    e->scenario.training.global_batch_size = 64;
    p->tensor = power(random, 3);
    p->context = power(random, 1);
    p->sequence = p->tensor > 1;
    p->expert_tensor = random_between(random, 0, 1);
    example_finish(e);
    do
        p->expert = power(random, 5);
    while (e->model.experts.count % p->expert != 0 || tsim_expert_ranks(p).data == 0);
}

/* Sums FLOPs and bytes of the operators whose name begins so, in the forward pass of a layer with experts. */
static void sum_of(const struct tsim_scenario *sc, const char *name, double *flops, double *bytes) {
    struct tsim_op_list list;
    tsim_operators_forward(sc, TSIM_PART_EXPERT_LAYER, 0, &list);
    *flops = *bytes = 0;
    for (int32_t i = 0; i < list.n; i++)
        if (strncmp(list.ops[i].name, name, strlen(name)) == 0) {
            *flops += list.ops[i].flops;
            *bytes += list.ops[i].collective_bytes;
        }
}

/* 64 ranks route 64 / (tensor context) micro-batches of 1024 tokens; each rank is as full as the fullest. */
static void check_work(const struct example *e) {
    const struct tsim_scenario *sc = &e->scenario;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct tsim_experts *x = &e->model.experts;
    double h = 1024, matrices = e->model.gated_mlp ? 3 : 2, flops, bytes;
    double per_group = 1024.0 / (double)p->context, own = per_group / (double)p->tensor;
    double g = tsim_routing_imbalance(x, (double)p->expert, tsim_expert_tensor(p) > 1 ? per_group : own);
    double rows = 64.0 * own * (double)x->active;
    ck_assert_double_ge(g, 1);
    sum_of(sc, "expert ", &flops, &bytes);
    double expected = 2 * rows * matrices * h * (double)x->ffn_hidden;
    ck_assert_double_eq_tol(64 * flops / g / expected, 1, 1e-12);
    sum_of(sc, "expert: ", &flops, &bytes);
    ck_assert_double_eq_tol(64 * bytes / g, p->expert > 1 ? 2 * rows * h * 2 : 0, 1e-6 * rows * h);
}

/* Tensor ranks divide matrices, expert ranks experts; norms, router and projections down are whole on each. */
static void check_parameters(const struct example *e) {
    const struct tsim_scenario *sc = &e->scenario;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    struct tsim_layer_parameters count;
    count = tsim_layer_count(&e->model, TSIM_PART_EXPERT_LAYER);
    double held = tsim_layer_rank_expert_parameters(sc), tensor = (double)p->tensor;
    ck_assert_double_eq_tol(held * (double)(tsim_expert_tensor(p) * p->expert), count.experts, 1e-9 * count.experts);
    double rest = tsim_layer_rank_parameters(sc, TSIM_PART_EXPERT_LAYER) - held,
           whole = count.latent + count.norms + count.router;
    ck_assert_double_eq_tol((rest - whole) * tensor, count.attention + count.shared, 1e-9 * count.attention);
    /* every expert is held by as many ranks as share its state out, all together the cluster */
    ck_assert_double_eq_tol(tsim_expert_shards(sc) * (double)(tsim_expert_tensor(p) * p->expert), 64, 1e-9);
}

static void check_imbalance(struct random_source *random, const struct example *e) {
    struct tsim_experts x = e->model.experts;
    double ranks = (double)e->scenario.parallelism.expert, tokens = 64 * (double)power(random, 6);
    double even = tsim_routing_imbalance(&x, ranks, tokens), few = tsim_routing_imbalance(&x, ranks, tokens / 4);
    x.imbalance_frac = 0.2;
    double uneven = tsim_routing_imbalance(&x, ranks, tokens);
    ck_assert_double_ge(few, even);
    ck_assert_double_ge(uneven, even);
    ck_assert_double_le(tsim_routing_nodes(&x, 4), (double)(x.active < 4 ? x.active : 4) + 1e-9);
}

/* A set of parts keeps no more than any of its subsets; the last part, operators, is not of experts. */
static void check_parts(struct random_source *random, struct example *e) {
    struct tsim_training_spec *training = &e->scenario.training;
    unsigned all = TSIM_RECOMPUTE_OPERATORS - 1, set = (unsigned)random_between(random, 1, (int32_t)all);
    training->recompute = TSIM_RECOMPUTE_SELECTIVE;
    training->recompute_parts = set;
    double kept = tsim_layer_activation_bytes(&e->scenario, TSIM_PART_EXPERT_LAYER);
    ck_assert_double_le(kept, tsim_layer_whole_activation_bytes(&e->scenario, TSIM_PART_EXPERT_LAYER));
    training->recompute_parts = set | (1u << random_between(random, 0, TSIM_N_RECOMPUTE_PARTS - 2));
    ck_assert_double_le(tsim_layer_activation_bytes(&e->scenario, TSIM_PART_EXPERT_LAYER), kept);
    training->recompute_parts = all;
    ck_assert_double_gt(tsim_layer_activation_bytes(&e->scenario, TSIM_PART_EXPERT_LAYER), 0);
    training->recompute = TSIM_RECOMPUTE_NONE;
}

TSIM_TEST(random_mixtures) {
    struct random_source random = random_start(SEED);
    for (int i = 0; i < N_CASES; i++) {
        struct example e;
        random_mixture(&random, &e);
        check_work(&e);
        check_parameters(&e);
        check_imbalance(&random, &e);
        check_parts(&random, &e);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
