#include "support/example.h"

#include "config/catalogue_load.h"
#include "partition/memory.h"
#include "support/check_main.h"

#include <string.h>

#define NOBODYS_LAYERS 1000003 /* parts that there are not have so many */

/* The constants of libraries are those of the catalogue for Hopper. */
static struct tsim_accelerator hopper(void) {
    static struct tsim_accelerator kept;
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_accelerator *accelerator;
    if (kept.kernels.issued_per_cycle > 0)
        return kept;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, "h100-sxm", &accelerator, &diags), TSIM_OK);
    kept = *accelerator;
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return kept;
}

static void init_hardware(struct example *e) {
    e->accelerator = (struct tsim_accelerator){.name = "example",
                                               .year = 2022,
                                               .nccl_generation = TSIM_HOPPER,
                                               .compute_units = 100,
                                               .memory_bytes = 80e9,
                                               .memory_bytes_per_s = 1e12,
                                               .vector_flops_per_s = 1e30,
                                               .kernels = hopper().kernels,
                                               .nccl = hopper().nccl,
                                               .memory_sustained_frac = 1,
                                               .attention_frac[TSIM_FLASH1] = 0.5,
                                               .attention_frac[TSIM_FLASH2] = 0.5,
                                               .attention_frac[TSIM_FLASH3] = 0.5,
                                               .power_idle_w = 100,
                                               .power_limit_w = 500,
                                               .power_compute_frac = 0.75,
                                               .power_memory_frac = 0.35,
                                               .power_link_frac = 0.05};
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        e->accelerator.peak_flops_per_s[p] = 1e15;
        e->accelerator.matrix_sustained_frac[p] = 1;
    }
    e->node = (struct tsim_node){.name = "example-node",
                                 .accelerator = &e->accelerator,
                                 .accelerators = 8,
                                 .scale_up = TSIM_SCALE_UP_SWITCH,
                                 .scale_up_bytes_per_s = 100e9,
                                 .scale_up_ring_bytes_per_s = 100e9,
                                 .nics = 8,
                                 .nic_bytes_per_s = 10e9,
                                 .host_link_bytes_per_s = 10e9,
                                 .host_time_factor = 1,
                                 .power_limit_w = 8000};
    e->fabric = (struct tsim_fabric){
        .name = "example-fabric", .link_bytes_per_s = 10e9, .efficiency_frac = 1, .oversubscription = 1};
}

void example_init(struct example *e) {
    memset(e, 0, sizeof *e);
    init_hardware(e);
    e->model = (struct tsim_model){.name = "example-model",
                                   .layers = 8,
                                   .hidden = 1024,
                                   .heads = 8,
                                   .kv_heads = 8,
                                   .head_dim = 128,
                                   .ffn_hidden = 4096,
                                   .vocab = 32768,
                                   .causal = true,
                                   .norm = TSIM_NORM_LAYERNORM,
                                   .position = TSIM_POSITION_NONE};
    e->software = (struct tsim_software){.name = "example-software",
                                         .attention_kernel = TSIM_ATTENTION_FUSED_SOFTMAX,
                                         .fusion = TSIM_FUSION_MEGATRON,
                                         .optimizer_traffic_bytes = 44};
    struct tsim_scenario *sc = &e->scenario;
    sc->name = "example";
    sc->file = "example.yaml";
    sc->model = &e->model;
    sc->software = &e->software;
    sc->cluster =
        (struct tsim_cluster_spec){.node = &e->node, .fabric = &e->fabric, .nodes = 1, .accelerators_per_node = 8};
    sc->training = (struct tsim_training_spec){.sequence_length = 1024,
                                               .global_batch_size = 64,
                                               .micro_batch_size = 1,
                                               .precision = TSIM_BF16,
                                               .gradient_precision = TSIM_FP32,
                                               .optimizer = TSIM_ADAMW,
                                               .recompute_every = 1,
                                               .attention = TSIM_ATTENTION_STANDARD};
    sc->parallelism = (struct tsim_parallelism_spec){
        .tensor = 1,
        .pipeline = 1,
        .virtual_pipeline = 1,
        .context = 1,
        .expert = 1,
        .prefetch = 1,
        .reshard_after_forward = true,
        .layers_per_chunk = e->layers_per_chunk,
        .schedule = TSIM_SCHEDULE_1F1B,
        .overlap = {.gradients = true, .parameters = true, .pipeline = true},
        .order = {TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT, TSIM_AXIS_DATA, TSIM_AXIS_PIPELINE}};
    sc->energy = (struct tsim_energy_spec){.pue = 1};
    sc->simulation = (struct tsim_simulation_spec){.steps = 1, .seed = 1, .network = TSIM_NETWORK_FLUID, .fold = true};
    sc->cost = (struct tsim_cost_spec){.date = "2026"};
    example_finish(e);
}

void example_be_dgx_h100(struct example *e) {
    e->accelerator.name = "h100-sxm";
    e->accelerator.compute_units = 132;
    e->node.scale_up_bytes_per_s = 450e9;
    e->node.scale_up_ring_bytes_per_s = 365e9;
    e->node.scale_up_reduce_bytes_per_s = 480e9;
    e->node.scale_up_latency_s = 0.6e-6;
    e->node.nic_bytes_per_s = 50e9;
    e->fabric.link_bytes_per_s = 50e9;
    e->fabric.efficiency_frac = 0.93;
    e->fabric.latency_s = 5e-6;
}

void example_finish(struct example *e) {
    struct tsim_scenario *sc = &e->scenario;
    struct tsim_parallelism_spec *p = &sc->parallelism;
    sc->n_accelerators = sc->cluster.nodes * sc->cluster.accelerators_per_node;
    p->data = sc->n_accelerators / (p->tensor * p->pipeline * p->context);
    p->zero_group_ranks = p->data * p->context;
    sc->n_microbatches = sc->training.global_batch_size / (p->data * sc->training.micro_batch_size);
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t parts = tsim_schedule_n_parts(&shape);
    for (int32_t i = 0; i < (int32_t)(sizeof e->layers_per_chunk / sizeof e->layers_per_chunk[0]); i++)
        e->layers_per_chunk[i] = i < parts ? e->model.layers / parts : NOBODYS_LAYERS;
}

void example_be_schedule(struct example *e, int64_t pipeline, int64_t chunks, enum tsim_schedule schedule,
                         int64_t microbatches) {
    e->scenario.cluster.accelerators_per_node = pipeline;
    e->scenario.parallelism.pipeline = pipeline;
    e->scenario.parallelism.virtual_pipeline = chunks;
    e->scenario.parallelism.schedule = schedule;
    e->scenario.training.global_batch_size = microbatches;
    e->scenario.simulation.network = TSIM_NETWORK_IDEAL;
    e->software.optimizer_traffic_bytes = 0;
    e->node.scale_up_bytes_per_s = e->node.scale_up_ring_bytes_per_s = 1e20;
    e->node.nic_bytes_per_s = e->fabric.link_bytes_per_s = 1e20;
}
