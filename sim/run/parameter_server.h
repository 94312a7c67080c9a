/* parameter_server.h - workers that push gradients to servers and pull weights from them (Dean et al. 2012,
 * DistBelief's Downpour SGD; Li et al. 2014, Scaling Distributed Machine Learning with the Parameter Server).
 *
 * A worker is one replica, or several in a row. It computes a step of its own part of the batch, sums its replicas'
 * gradients, pushes the sum, and pulls the weights before it goes on, one after another, as in Downpour with n_push =
 * n_fetch = 1. Servers are machines beside the cluster with the NICs of a node. Each holds an even part of all weights
 * and of the optimizer's state, so that every push and pull loads all of them alike. Workers and servers share their
 * NICs, and the servers their memory, on the engine.
 *
 *   asynchronous  A push is an update, and nobody waits for others. Weights are stale by the updates of others between
 *                 a worker's pull and its push; on average there are as many as there are other workers (Zhang et al.
 *                 2016, arXiv:1511.05950).
 *   synchronous   The servers update once all have pushed, and all pull at once (Chen et al. 2016, arXiv:1604.00981).
 *
 * A step of the run is one batch: as many pushes as there are workers. Slow accelerators (variability.stragglers) slow
 * their own worker. Not modelled: what staleness does to the loss, an oversubscribed fabric between workers and
 * servers, the servers' price and power. */
#pragma once

#include "config/scenario.h"

struct tsim_machine;
struct tsim_term_recorder;

struct tsim_parameter_server {
    bool has;
    double time_s, energy_j; /* of a batch; accelerators that wait are at rest, servers are not counted */
    double exchange_s;       /* part of it in which a worker waits for the servers */
    double staleness;        /* mean updates by others under a worker's gradient; 0 if workers wait for each other */
    double most_staleness;
    double busy_frac; /* of the servers' NICs, in the busier direction */
    double samples_per_s;
};

/* Simulates workers and servers. `step_s` and `step_j` are the time and energy of a step of workers that wait for
 * nobody; `varied` is the scenario with its slow accelerators. It fills in *served if the scenario has servers; else
 * *served stays zeroed. */
enum tsim_status tsim_parameter_server_simulate(const struct tsim_scenario *scenario,
                                                const struct tsim_scenario *varied, const struct tsim_machine *machine,
                                                double step_s, double step_j, struct tsim_term_recorder *recorder,
                                                struct tsim_parameter_server *served, struct tsim_diags *diags);
