#include "model/parameter_bytes.h"

#include <math.h>

double tsim_weight_bytes(enum tsim_precision precision) {
    if (!tsim_is_quantized(precision))
        return tsim_operand_bytes(precision);
    /* Quantized, and its transpose (Transformer Engine's fp8 parameters); the master copy is apart. */
    double both_bytes = 2 * tsim_operand_bytes(precision);
    /* Parameters of 4 bits there are none: it is beside the one in bf16 (NVIDIA-NeMo/Megatron-Bridge,
     * training/mixed_precision.py: fp4_param is refused). */
    return precision == TSIM_NVFP4 ? tsim_operand_bytes(TSIM_BF16) + both_bytes : both_bytes;
}

bool tsim_has_master_weights(const struct tsim_scenario *sc) {
    bool is_wide = sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32;
    return !is_wide && !sc->training.no_master_weights;
}

double tsim_gradient_bytes(const struct tsim_scenario *sc) {
    return tsim_weight_bytes(sc->training.gradient_precision);
}

double tsim_sent_gradient_bytes(const struct tsim_scenario *sc) {
    double summed = tsim_gradient_bytes(sc);
    return sc->software->converts_sums ? fmin(summed, tsim_operand_bytes(tsim_unquantized(sc->training.precision)))
                                       : summed;
}
