#include "cost/update.h"

#include "config/provenance.h"
#include "cost/compute.h"
#include "model/optimizer.h"
#include "partition/partition.h"

#include <math.h>

/* A stage's optimizer runs as a few multi-tensor kernels. */
#define OPTIMIZER_KERNELS 4.0
/* An update by the host reaches this part of its memory's peak: CPU-Adam takes 0.22 s for 1 billion parameters and 2.57
 * s for 10 on a DGX-2 of 256 GB/s, at 30 bytes each (Ren et al. 2021, table 4). */
#define HOST_MEMORY_FRAC 0.5

static const char OF_OPTIMIZER[] = "training.optimizer of the scenario (sim/model/optimizer.h)";

static struct tsim_amount of_node(struct tsim_term_recorder *r, const struct tsim_node *node, const char *key,
                                  double value, enum tsim_dimension dimension) {
    return tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, key, value, dimension);
}

/* Returns the time of so many bytes or FLOPs for each parameter, at a rate. */
static struct tsim_amount for_each(struct tsim_term_recorder *r, const char *name, struct tsim_amount held,
                                   struct tsim_amount each, struct tsim_amount rate) {
    return tsim_product(r, name, "parameters x of each / rate", TSIM_TIME_S,
                        TSIM_PARTS(held, each, tsim_inverse(rate)));
}

static struct tsim_amount by_host(struct tsim_term_recorder *r, const struct tsim_scenario *sc, struct tsim_amount held,
                                  double backward_s, const struct tsim_optimizer_cost *cost) {
    const struct tsim_node *node = sc->cluster.node;
    struct tsim_amount link = of_node(r, node, "host_link", node->host_link_bytes_per_s, TSIM_BYTES_PER_S);
    struct tsim_amount memory = tsim_product(
        r, "an accelerator's share of the host's memory", "part of the peak x peak / accelerators", TSIM_BYTES_PER_S,
        TSIM_PARTS(tsim_given(r, "part of the peak", HOST_MEMORY_FRAC, TSIM_FRACTION, "Ren et al. 2021, table 4"),
                   of_node(r, node, "host_memory_bandwidth", node->host_memory_bytes_per_s, TSIM_BYTES_PER_S),
                   tsim_inverse(tsim_of_scenario(r, "cluster.accelerators_per_node",
                                                 (double)sc->cluster.accelerators_per_node, TSIM_COUNT))));
    struct tsim_amount down = for_each(r, "gradients to the host", held,
                                       tsim_given(r, "bytes of a gradient", tsim_gradient_bytes(sc), TSIM_BYTES,
                                                  "training.gradient_precision of the scenario"),
                                       link);
    struct tsim_amount up = for_each(r, "weights from the host", held,
                                     tsim_given(r, "bytes of a weight", tsim_weight_bytes(sc->training.precision),
                                                TSIM_BYTES, "training.precision of the scenario"),
                                     link);
    struct tsim_amount update =
        for_each(r, "the host's update", held,
                 tsim_given(r, "bytes moved for each", cost->least_bytes, TSIM_BYTES, OF_OPTIMIZER), memory);
    struct tsim_amount backward = tsim_given(r, "backward pass of a micro-batch", backward_s, TSIM_TIME_S,
                                             "its operators: tsim explain SCENARIO step.compute_s");
    struct tsim_amount late = tsim_largest(r, "gradients that the backward pass does not hide",
                                           "what is longer than it, at least nothing", TSIM_TIME_S,
                                           TSIM_PARTS(tsim_sum(r, "gradients, less the backward pass", "time - time",
                                                               TSIM_TIME_S, TSIM_PARTS(down, tsim_inverse(backward))),
                                                      tsim_given(r, "nothing", 0, TSIM_TIME_S, "definition")));
    return tsim_sum(r, "update by the host", "late gradients + the longer of update and weights", TSIM_TIME_S,
                    TSIM_PARTS(late, tsim_largest(r, "update and weights", "the longer of the two", TSIM_TIME_S,
                                                  TSIM_PARTS(update, up))));
}

/* Tensors of a stage, layer by layer: attention's two products (and that of distances), the feed-forward block's two or
 * three, their biases, and a scale (and a shift) for either norm. An embedding table comes on top. */
static double n_tensors(const struct tsim_scenario *sc) {
    const struct tsim_model *m = sc->model;
    double matrices = 4 + m->gated_mlp + (m->memory > 0), norms = m->norm == TSIM_NORM_LAYERNORM ? 4 : 2;
    return 1 + (matrices * (1 + m->bias) + norms) * (double)m->layers / (double)sc->parallelism.pipeline;
}

/* Returns how long the host launches the update. It begins with it when the backward pass has ended, because the loss is read
 * before (DeepLearningExamples, Transformer-XL/pytorch/train.py: train_iteration's loss.item()). */
static struct tsim_amount launches(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    const struct tsim_software *software = sc->software;
    if (software->update_ops_per_tensor == 0)
        return tsim_given(r, "launches by the host", 0, TSIM_TIME_S,
                          "update_ops_per_tensor 0: a few kernels for all tensors");
    return tsim_product(
        r, "launches by the host", "tensors x operators x time of a launch", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "tensors", n_tensors(sc), TSIM_COUNT, "counted (sim/cost/update.c)"),
                   tsim_of_file(r, TSIM_CATALOGUE_SOFTWARE, software->name, "update_ops_per_tensor",
                                (double)software->update_ops_per_tensor, TSIM_COUNT),
                   tsim_of_file(r, TSIM_CATALOGUE_SOFTWARE, software->name, "host_time_per_op",
                                software->host_time_per_op_s, TSIM_TIME_S),
                   of_node(r, sc->cluster.node, "host_time_factor", sc->cluster.node->host_time_factor, TSIM_COUNT)));
}

static struct tsim_amount by_accelerator(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                         const struct tsim_accelerator *a, struct tsim_amount held,
                                         const struct tsim_optimizer_cost *cost) {
    struct tsim_amount traffic =
        tsim_given(r, "bytes moved for each", cost->traffic_bytes, TSIM_BYTES,
                   tsim_record_text(r, "optimizer_traffic of software %s, and %s", sc->software->name, OF_OPTIMIZER));
    struct tsim_amount vector_flops =
        tsim_given(r, "vector FLOPs of each", cost->vector_flops, TSIM_FLOPS, OF_OPTIMIZER);
    struct tsim_amount update = tsim_largest(
        r, "update", "the longest", TSIM_TIME_S,
        TSIM_PARTS(for_each(r, "memory traffic", held, traffic, tsim_memory_rate_recorded(r, a)),
                   for_each(r, "vector operations", held, vector_flops,
                            tsim_of_accelerator(r, a, "vector_peak", a->vector_flops_per_s, TSIM_FLOPS_PER_S)),
                   launches(r, sc)));
    struct tsim_amount products = {0};
    if (cost->matrix_flops > 0)
        products = for_each(r, "its products", held,
                            tsim_given(r, "matrix FLOPs of each", cost->matrix_flops, TSIM_FLOPS, OF_OPTIMIZER),
                            tsim_matrix_rate_recorded(r, a, tsim_unquantized(sc->training.precision)));
    struct tsim_amount latency = tsim_product(
        r, "latency of its kernels", "kernels x latency", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "kernels", OPTIMIZER_KERNELS + ceil(held.value * cost->kernels), TSIM_COUNT,
                              cost->kernels > 0
                                  ? "a few multi-tensor kernels and those of each matrix (sim/cost/update.c)"
                                  : "a few multi-tensor kernels (sim/cost/update.c)"),
                   tsim_of_accelerator(r, a, "efficiency.kernel_latency", a->kernel_latency_s, TSIM_TIME_S)));
    return tsim_sum(r, "update by the accelerator", "update + products + kernels", TSIM_TIME_S,
                    TSIM_PARTS(update, products, latency));
}

struct tsim_amount tsim_update_recorded(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                        const struct tsim_cluster *cluster, int32_t stage, double backward_s,
                                        double *hbm_bytes) {
    struct tsim_held_parameters parameters = tsim_trained_parameters(r, sc, stage);
    struct tsim_amount held = sc->parallelism.zero >= 1 ? parameters.shard : parameters.all;
    struct tsim_optimizer_cost cost;
    tsim_optimizer_cost(sc, &cost);
    *hbm_bytes = 0;
    if (tsim_streams_weights(sc))
        return tsim_given(r, "update", 0, TSIM_TIME_S, "outside the accelerator, as gradients arrive");
    if (sc->training.offload.optimizer)
        return by_host(r, sc, held, backward_s, &cost);
    *hbm_bytes = held.value * cost.traffic_bytes;
    return by_accelerator(r, sc, cluster->accelerator, held, &cost);
}

void tsim_host_update(const struct tsim_scenario *sc, const struct tsim_cluster *cluster, int32_t stage,
                      struct tsim_host_update *update) {
    struct tsim_held_parameters parameters = tsim_held_parameters(NULL, sc, stage);
    double held = (sc->parallelism.zero >= 1 ? parameters.shard : parameters.all).value, hbm_bytes;
    struct tsim_optimizer_cost cost;
    *update = (struct tsim_host_update){0};
    if (!sc->training.offload.optimizer || tsim_streams_weights(sc))
        return;
    tsim_optimizer_cost(sc, &cost);
    *update =
        (struct tsim_host_update){.time_s = tsim_update_recorded(NULL, sc, cluster, stage, HUGE_VAL, &hbm_bytes).value,
                                  .gradient_bytes = held * tsim_gradient_bytes(sc),
                                  .weight_bytes = held * tsim_weight_bytes(sc->training.precision),
                                  .memory_bytes = held * cost.least_bytes};
}
