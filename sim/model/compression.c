#include "model/compression.h"

#include "model/model.h"
#include "model/optimizer.h"
#include "model/tables.h"

#include <math.h>

#define INDEX_BYTES 4.0
#define SECTOR_BYTES 32.0

static void top_k(const struct tsim_scenario *sc, double n_ranks, struct tsim_compression_cost *cost) {
    double g = tsim_gradient_bytes(sc), sent = sc->training.compression.fraction;
    cost->exchanged_bytes[0] = n_ranks * sent * (g + INDEX_BYTES);
    cost->traffic_bytes = (g + 4 + 4) + 8 + 5 * 4 + g + sent * SECTOR_BYTES * (1 + 2 * n_ranks);
    cost->kept_bytes = 4 + cost->exchanged_bytes[0];
}

static void powersgd(const struct tsim_scenario *sc, struct tsim_compression_cost *cost) {
    double g = tsim_gradient_bytes(sc), rank = (double)sc->training.compression.rank;
    struct tsim_matrices m = {.rank = rank};
    tsim_model_matrices(sc->model, &m);
    double all = tsim_model_parameters(sc->model) - tsim_tables_parameters(sc->model);
    double factors = rank * m.rows_and_columns / all; /* P and Q together */
    cost->exchanged_bytes[0] = g * (factors / 2 + fmax(all - m.matrices, 0) / all);
    cost->exchanged_bytes[1] = g * factors / 2;
    cost->traffic_bytes = 11 * g * m.matrices / all;
    cost->matrix_flops = 3 * 2 * rank * m.matrices / all;
    cost->kernels = m.count * (3 + 7 * rank - 4) / all;
    cost->kept_bytes = g * (m.matrices / all + factors);
}

static void one_bit(double n_ranks, struct tsim_compression_cost *cost) {
    double compressing = 12 + 4 + 62 + 22.125;
    cost->exchanged_bytes[0] = cost->exchanged_bytes[1] = 1.0 / 8;
    cost->traffic_bytes = compressing + 34.125 + (compressing + 4) / n_ranks + 38.125;
    cost->kept_bytes = 4 + 4 / n_ranks;
}

void tsim_compression_cost(const struct tsim_scenario *sc, double n_ranks, struct tsim_compression_cost *cost) {
    *cost = (struct tsim_compression_cost){0};
    switch (sc->training.compression.kind) {
    case TSIM_UNCOMPRESSED:
        return;
    case TSIM_TOP_K:
        top_k(sc, n_ranks, cost);
        return;
    case TSIM_POWERSGD:
        powersgd(sc, cost);
        return;
    case TSIM_ONE_BIT:
        one_bit(n_ranks, cost);
        return;
    }
    TSIM_BUG("compression %d", (int)sc->training.compression.kind);
}
