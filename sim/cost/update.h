/* update.h - what the optimizer's update of a stage costs one of its ranks.
 *
 * On the accelerator it is memory traffic or, where that is longer, vector operations (model/optimizer.h), then the
 * products that GaLore has, and the latency of a few multi-tensor kernels. Offloaded, the host does it: gradients come
 * while the last micro-batch's backward pass releases them, and weights go back piece by piece while it works on the
 * next (Ren et al. 2021, ZeRO-Offload, sections 4 and 5); the accelerators of a node share its memory. */
#ifndef TSIM_COST_UPDATE_H
#define TSIM_COST_UPDATE_H

#include "cluster/cluster.h"

/* `backward_s`: of the pass that the gradients leave beside; `hbm_bytes`: moved in the accelerator's memory. */
struct tsim_amount tsim_update_recorded(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                                        const struct tsim_cluster *cluster, int32_t stage, double backward_s,
                                        double *hbm_bytes);

/* The host's update of a stage says what it moves for one of its ranks, and how long update and weights take together, once it has
 * the gradients, with nothing else on the link and in its memory. time_s 0: the accelerator does it, or nobody. */
struct tsim_host_update {
    double time_s, gradient_bytes, weight_bytes, memory_bytes;
};
void tsim_host_update(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster, int32_t stage,
                      struct tsim_host_update *update);

#endif
