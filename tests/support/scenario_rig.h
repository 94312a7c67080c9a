/* A small scenario in a folder of its own, and what tests of scenarios do with it. */
#pragma once

#include "config/scenario.h"
#include "support/check_main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* This small cluster is four nodes of four: 16 accelerators, tensor 2 x pipeline 2 x data 4, eight layers, and 16
 * samples: four micro-batches a replica. It takes nothing from the shipped catalogue but the constants of kernels. */
static const char BASE[] =
    "schema: tsim/v1\n"
    "name: base\n"
    "model: {layers: 8, hidden: 64, heads: 8, kv_heads: 4, ffn_hidden: 256, vocab: 1000}\n"
    "cluster:\n"
    "  node:\n"
    "    name: four\n"
    "    accelerator:\n"
    "      name: chip\n"
    "      compute_units: 10\n"
    "      clock: 1 GHz\n"
    "      memory: 16 GB\n"
    "      memory_bandwidth: 1 TB/s\n"
    "      peak: {fp32: 10 TFLOP/s, bf16: 100 TFLOP/s}\n"
    "      vector_peak: 10 TFLOP/s\n"
    "      efficiency:\n"
    "        matrix_sustained: {fp32: {value: 0.9, status: estimate}, bf16: {value: 0.7, status: estimate}}\n"
    "        memory_sustained: 0.8\n"
    "        matrix_ramp_k: 100\n"
    "        attention: {flash2: 0.4, flash3: {value: 0.6, status: estimate}}\n"
    "        kernel_latency: 3 us\n"
    "      power: {idle: 50 W, limit: {value: 300 W, status: estimate}, compute: 0.7, memory: 0.3, link: 0.05}\n"
    "      rent: 2 USD/h\n"
    "      purchase: 10000 USD\n"
    "      reserve: 1 GB\n"
    "    accelerators: 4\n"
    "    scale_up: {kind: switch, bandwidth: 100 GB/s}\n"
    "    nics: 4\n"
    "    nic_bandwidth: 100 Gb/s\n"
    "  nodes: 4\n"
    "  fabric: {name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us}\n"
    "software: {name: framework, attention_kernel: flash2, fusion: te, overlap: {gradients: true}}\n"
    "training: {sequence_length: 128, global_batch_size: 16}\n"
    "parallelism: {tensor: 2, pipeline: 2}\n";

static struct tsim_arena arena;
static struct tsim_diags diags;
static char folder[64];

static inline const char *path_of(const char *name) {
    return tsim_arena_printf(&arena, "%s/%s", folder, name);
}

static inline const char *write_file(const char *name, const char *text) {
    const char *path = path_of(name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void set_up(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    strcpy(folder, "/tmp/tsim-test-scenario-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    unsetenv("TSIM_DATA");
    write_file("base.yaml", BASE);
}

static void tear_down(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static inline const struct tsim_scenario *load_with(const char *path, const struct tsim_override *sets, size_t n_sets) {
    const struct tsim_scenario *scenario = NULL;
    size_t n_errors = diags.n_errors;
    enum tsim_status status = tsim_scenario_load(&arena, path, sets, n_sets, &scenario, &diags);
    ck_assert((status == TSIM_OK) == (scenario != NULL));
    ck_assert((status == TSIM_OK) == (diags.n_errors == n_errors));
    return scenario;
}

static inline const struct tsim_scenario *load_set(const char *path, const char *value) {
    struct tsim_override set = {path, value};
    return load_with(path_of("base.yaml"), &set, 1);
}

static inline const struct tsim_scenario *must(const struct tsim_scenario *scenario) {
    ck_assert_msg(scenario != NULL, "%s: %s", diags.n_items ? diags.items[0].field : "",
                  diags.n_items ? diags.items[0].message : "no scenario");
    return scenario;
}
