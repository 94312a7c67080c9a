/* update.h - the time of the optimizer's update on one rank of a stage.
 *
 * On the accelerator an update takes its memory traffic, or its vector operations if these take longer
 * (model/optimizer.h), then GaLore's products, then the latency of a few multi-tensor kernels.
 *
 * Offloaded, the host does the update. Gradients reach it while the last micro-batch's backward pass releases them.
 * Weights go back piece by piece while it works on the next piece (Ren et al. 2021, ZeRO-Offload, sections 4 and 5).
 * The accelerators of a node share the host's memory. */
#pragma once

#include "cluster/cluster.h"

/* Returns the time of the update. `backward_s` is the backward pass beside which gradients leave for the host;
 * `hbm_bytes` becomes the traffic in the accelerator's memory. */
struct tsim_amount tsim_update_recorded(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                                        const struct tsim_cluster *cluster, int32_t stage, double backward_s,
                                        double *hbm_bytes);

/* The host updates the parameters of one rank of a stage. */
struct tsim_host_update {
    /* The time from the last gradient's arrival to the last weight's, with link and memory to itself. It is 0 if the
     * accelerator does the update, or if there is none. */
    double time_s;
    double gradient_bytes; /* from the accelerator to the host */
    double weight_bytes;   /* from the host to the accelerator */
    double memory_bytes;   /* read and written in the host's memory */
};
void tsim_host_update(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster, int32_t stage,
                      struct tsim_host_update *update);
