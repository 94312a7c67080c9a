#include "step/part_counts.h"

#include "partition/partition.h"

void tsim_part_counts_add(struct tsim_part_counts *counts, const struct tsim_scenario *sc, int32_t stage, int32_t chunk,
                          int way, double passes) {
    struct tsim_stage_part own;
    const struct tsim_model *own_model = tsim_stage_part(sc, stage, &own)->model;
    struct tsim_parts parts = tsim_chunk_parts(sc, stage, chunk),
                      kept = tsim_kept_layers(sc, &parts, tsim_chunk_first_layer(sc, stage, chunk));
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        double each = passes / (double)tsim_part_variants(own_model, (enum tsim_part)part);
        counts->times[way][part] += each * (parts.times[part] - kept.times[part]);
        counts->times[tsim_kept_way(way)][part] += each * kept.times[part];
    }
}

struct tsim_part_counts tsim_stage_part_counts(const struct tsim_scenario *sc, int32_t stage) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    struct tsim_part_counts counts = {0};
    int32_t n_items = tsim_schedule_n_items(&shape, stage);
    for (int32_t i = 0; i < n_items; i++) {
        struct tsim_pass_item item = tsim_schedule_item(&shape, stage, i);
        tsim_part_counts_add(&counts, sc, stage, item.chunk, tsim_item_way(item), 1);
    }
    return counts;
}
