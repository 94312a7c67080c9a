#include "model/kept.h"

#include "model/local_shape.h"

#include <math.h>

static double kept_bytes(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts) {
    struct tsim_kept kept;
    double bytes = 0;
    kept.n = 0;
    tsim_layer_keep(sc, part, parts, &kept);
    for (int32_t i = 0; i < kept.n; i++)
        bytes += kept.rows[i].bytes;
    return bytes;
}

double tsim_layer_whole_activation_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    return kept_bytes(sc, part, 0);
}

double tsim_layer_core_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_kept kept;
    double largest = 0;
    kept.n = 0;
    tsim_layer_keep(sc, part, 0, &kept);
    for (int32_t i = 0; i < kept.n; i++)
        if (kept.rows[i].is_core)
            largest = fmax(largest, kept.rows[i].bytes);
    return largest;
}

/* Returns the bytes of the layer's input. */
static double checkpoint_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    if (tsim_layer_is_frozen(sc, part))
        return 0;
    return z.ts * z.h * z.element_bytes;
}

double tsim_layer_activation_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    switch (sc->training.recompute) {
    case TSIM_RECOMPUTE_NONE:
        return tsim_layer_whole_activation_bytes(sc, part);
    case TSIM_RECOMPUTE_SELECTIVE:
        return kept_bytes(sc, part, tsim_recompute_parts(sc));
    case TSIM_RECOMPUTE_FULL:
    case TSIM_RECOMPUTE_LAYERS:
        return checkpoint_bytes(sc, part);
    case TSIM_RECOMPUTE_SQRT:
    case TSIM_RECOMPUTE_EVERY:
        return checkpoint_bytes(sc, part) / (double)sc->training.recompute_every;
    }
    TSIM_BUG("recompute %d", (int)sc->training.recompute);
}

void tsim_layer_activations(const struct tsim_scenario *sc, enum tsim_part part, struct tsim_kept *kept) {
    kept->n = 0;
    if (sc->training.recompute >= TSIM_RECOMPUTE_FULL)
        tsim_keep(kept, "input of the layer, or of each so many", tsim_layer_activation_bytes(sc, part));
    else
        tsim_layer_keep(sc, part, tsim_recompute_parts(sc), kept);
}
