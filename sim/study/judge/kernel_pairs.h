/* kernel_pairs.h - kernels of a profile paired with operators of a step.
 *
 * Libraries name kernels by how they work and not by their purpose, so a name does not tell which operator a kernel is.
 * Their order does: if a step of the profile has as many kernels of a class as the predicted step has operators of it,
 * the i-th kernel that began is taken for the i-th operator. A class with another number (fused, or split, differently
 * from the prediction) has no pairs. */
#pragma once

#include "step/program.h"
#include "study/judge/profile.h"

/* Listens to a step whose operators are told. */
struct tsim_operator_sequence;
struct tsim_operator_sequence *tsim_operator_sequence_new(struct tsim_arena *arena);
const struct tsim_step_sink *tsim_operator_sequence_sink(struct tsim_operator_sequence *sequence);

/* All runs of one operator in a step. */
struct tsim_kernel_pair {
    enum tsim_kernel_class class;
    const char *op, *kernel; /* "ffn up (forward)"; the kernel that is most often paired with it */
    double count, measured_s, predicted_s;
};

struct tsim_kernel_pairs {
    struct tsim_kernel_pair *items; /* the longest as measured first */
    size_t n;
    bool has_class[TSIM_N_KERNEL_CLASSES];
};

/* Pairs kernels and operators. The profile is that of one of the stage group's accelerators. It releases the
 * sequence. */
void tsim_kernel_pairs_find(struct tsim_arena *arena, const struct tsim_profile *profile,
                            struct tsim_operator_sequence *sequence, int32_t stage_group,
                            struct tsim_kernel_pairs *pairs);
