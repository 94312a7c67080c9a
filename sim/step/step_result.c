#include "step/step_result.h"

#define KIND(member, name)                                                                                             \
    { #member, name, offsetof(struct tsim_memory, member) }
const struct tsim_memory_kind tsim_memory_kinds[TSIM_N_MEMORY_KINDS] = {
    KIND(weights_bytes, "weights"),           KIND(gradients_bytes, "gradients"),
    KIND(master_bytes, "master weights"),     KIND(optimizer_bytes, "optimizer state"),
    KIND(activations_bytes, "activations"),   KIND(buffers_bytes, "buffers"),
    KIND(reserve_bytes, "driver and runtime")};

double tsim_memory_of_kind(const struct tsim_memory *memory, int kind) {
    return *(const double *)((const char *)memory + tsim_memory_kinds[kind].offset);
}
