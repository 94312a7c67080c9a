/* A scenario built in code, every part of it in reach of a test: change a field, call example_finish, use .scenario.
 * The numbers are round so that expectations can be worked out by hand: 100 units, 1 PFLOP/s, 1 TB/s, all efficiencies
 * 1, no latencies, links of 100 GB/s (scale-up) and 10 GB/s (NIC). */
#pragma once

#include "config/scenario.h"

struct example {
    struct tsim_model model;
    struct tsim_accelerator accelerator;
    struct tsim_node node;
    struct tsim_fabric fabric;
    struct tsim_software software;
    struct tsim_scenario scenario;
    int64_t layers_per_chunk[4096];
};

/* Makes a model of 8 layers, hidden 1024, 8 heads of 128, ffn 4096, vocabulary 32768 and sequence 1024, on one node
 * of 8 with micro-batch 1. */
void example_init(struct example *example);
/* Resolves what depends on other fields: data, micro-batches, layers per chunk (even), accelerators, zero group. */
void example_finish(struct example *example);
/* Links and latencies of DGX H100 on InfiniBand NDR, which NCCL's constants were measured on, and a switch that
 * reduces. */
void example_be_dgx_h100(struct example *example);
/* One replica on one node, of which only the schedule is left: its links are so fast and its optimizer so cheap that
 * they take next to nothing. */
void example_be_schedule(struct example *example, int64_t pipeline, int64_t chunks, enum tsim_schedule schedule,
                         int64_t microbatches);
