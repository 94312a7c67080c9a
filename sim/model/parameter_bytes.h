/* parameter_bytes.h - the precisions in which a parameter's weight and gradient are kept. */
#pragma once

#include "config/scenario.h"

bool tsim_has_master_weights(const struct tsim_scenario *scenario);
double tsim_weight_bytes(enum tsim_precision precision);
double tsim_gradient_bytes(const struct tsim_scenario *scenario);

/* Returns the bytes of a gradient on its way between data-parallel ranks. DeepSpeed converts fp32 sums first
 * (deepspeed/runtime/engine.py, allreduce_bucket: tensor.to(self.communication_data_type), which is bf16 if training
 * is). */
double tsim_sent_gradient_bytes(const struct tsim_scenario *scenario);
