#include "support/random_plan.h"

static int64_t pick(struct random_source *random, const int64_t *values, int n) {
    return values[random_between(random, 0, n - 1)];
}

/* Half of the models are mixtures of 8 experts, in some of their layers, over some of the replicas. */
static void random_experts(struct random_source *random, struct example *e, int64_t data) {
    static const int64_t POWERS[] = {1, 2, 4};
    if (random_between(random, 0, 1))
        return;
    e->model.experts = (struct tsim_experts){.count = 8,
                                             .active = 1 + random_between(random, 0, 2),
                                             .ffn_hidden = 2048,
                                             .shared = random_between(random, 0, 1),
                                             .first = random_between(random, 0, 3),
                                             .every = 1 + random_between(random, 0, 2),
                                             .imbalance_frac = random_between(random, 0, 1) ? 0.1 : 0};
    struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    p->data = data;
    p->expert_tensor = p->sequence ? random_between(random, 0, 1) : 0;
    do
        p->expert = pick(random, POWERS, 3);
    while (tsim_expert_ranks(p).data == 0);
    e->scenario.parallelism.overlap.expert = random_between(random, 0, 1);
    e->software.expert_dispatch = random_between(random, 0, 1) ? TSIM_DISPATCH_PER_NODE : TSIM_DISPATCH_ALL_TO_ALL;
}

/* Some of the others are an encoder of three layers and a decoder of five; without numbers of their own. */
static void perhaps_stacks(struct example *e) {
    const struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    if (e->model.experts.count > 0 || p->context > 1 || p->schedule >= TSIM_SCHEDULE_ZB_H1 || p->prefetch % 2 == 0)
        return;
    e->model.encoder_layers = 3;
    e->scenario.training.decoder_sequence_length = 256;
}

/* Some that are fully sharded gather product by product, and drop early; without numbers of their own. */
static void perhaps_products(struct example *e) {
    const struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    e->software.gather_unit = p->zero == 3 && p->overlap.tensor ? TSIM_UNIT_PRODUCT : TSIM_UNIT_LAYER;
    e->software.gather_reuse_parameters = p->overlap.tensor_backward ? 3e6 : 0;
    e->software.gather_ahead_parameters = p->overlap.pipeline ? 4.5e6 : 0;
    e->software.checkpoint_early_stop = p->overlap.gradients && !p->overlap.pipeline;
}

void random_plan(struct random_source *random, struct example *e) {
    static const int64_t POWERS[] = {1, 2, 4};
    example_init(e);
    struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    p->tensor = pick(random, POWERS, 3);
    p->pipeline = pick(random, POWERS, 3);
    p->context = pick(random, POWERS, 2);
    int64_t data = pick(random, POWERS, 3), ranks = p->tensor * p->pipeline * p->context * data;
    e->scenario.cluster.accelerators_per_node = ranks < 8 ? ranks : 8;
    e->scenario.cluster.nodes = (ranks + 7) / 8;
    p->sequence = p->tensor > 1 && random_between(random, 0, 1);
    p->zero = (int)random_between(random, 0, p->pipeline == 1 ? 3 : 2);
    p->overlap = (struct tsim_overlap){.gradients = random_between(random, 0, 1),
                                       .parameters = random_between(random, 0, 1),
                                       .tensor = random_between(random, 0, 1),
                                       .tensor_backward = random_between(random, 0, 1),
                                       .pipeline = random_between(random, 0, 1)};
    int64_t microbatches = p->pipeline * (1 + random_between(random, 0, 2));
    if (p->pipeline > 1 && random_between(random, 0, 1)) {
        p->virtual_pipeline = 2;
        p->schedule = TSIM_SCHEDULE_INTERLEAVED;
        e->software.interleaving = (enum tsim_interleaving)random_between(random, 0, 1);
        if (e->software.interleaving == TSIM_INTERLEAVING_OF_ANY)
            microbatches += random_between(random, 0, (int32_t)p->pipeline - 1);
    } else if (p->pipeline > 1 && random_between(random, 0, 1)) {
        static const enum tsim_schedule SPLIT[] = {TSIM_SCHEDULE_ZB_H1, TSIM_SCHEDULE_ZB_H2, TSIM_SCHEDULE_ZB_V,
                                                   TSIM_SCHEDULE_DUALPIPE};
        p->schedule = SPLIT[random_between(random, 0, 3)];
        if (p->schedule == TSIM_SCHEDULE_ZB_V || p->schedule == TSIM_SCHEDULE_DUALPIPE)
            microbatches = 2 * p->pipeline + 2 * random_between(random, 0, 4);
    } else if (random_between(random, 0, 2) == 0) {
        p->schedule = random_between(random, 0, 1) ? TSIM_SCHEDULE_GPIPE : TSIM_SCHEDULE_SEQUENTIAL;
    }
    e->scenario.training.global_batch_size = microbatches * data;
    static const enum tsim_recompute RECOMPUTES[] = {TSIM_RECOMPUTE_FULL, TSIM_RECOMPUTE_SELECTIVE,
                                                     TSIM_RECOMPUTE_LAYERS};
    e->scenario.training.recompute = RECOMPUTES[random_between(random, 0, 2)];
    e->scenario.training.recompute_layers = random_between(random, 1, 3);
    e->model.tied_embeddings = random_between(random, 0, 1);
    e->software.dropout = random_between(random, 0, 1) ? 0.1 : 0;
    e->software.bucket_elements = random_between(random, 0, 1) ? 20000000 : 0;
    e->scenario.parallelism.context_exchange = (enum tsim_context_exchange)random_between(random, 0, 2);
    e->scenario.parallelism.prefetch = random_between(random, 0, 3);
    e->scenario.parallelism.reshard_after_forward = random_between(random, 0, 2) > 0;
    e->accelerator.kernel_latency_s = 2e-6;
    random_experts(random, e, data);
    perhaps_stacks(e);
    perhaps_products(e);
    example_finish(e);
}
