/* kernel_pairs.h - kernels of a profile beside operators of a step, one for one.
 *
 * Libraries name kernels by how they work, not by what for, so a name does not tell which operator it is. Their order
 * does: where a step of the profile has as many kernels of a class as the predicted one has operators of it, the i-th
 * that began is taken for the i-th. A class with another number (fused, or split, otherwise than predicted) has no
 * pairs. */
#ifndef TSIM_STUDY_KERNEL_PAIRS_H
#define TSIM_STUDY_KERNEL_PAIRS_H

#include "step/program.h"
#include "study/judge/profile.h"

/* Listens to a step of which operators are told. */
struct tsim_operator_sequence;
struct tsim_operator_sequence *tsim_operator_sequence_new(struct tsim_arena *arena);
const struct tsim_step_sink *tsim_operator_sequence_sink(struct tsim_operator_sequence *sequence);

struct tsim_kernel_pair { /* all that one operator is, in a step */
    enum tsim_kernel_class class;
    const char *op, *kernel; /* "ffn up (forward)"; the kernel that is most often it */
    double count, measured_s, predicted_s;
};

struct tsim_kernel_pairs {
    struct tsim_kernel_pair *items; /* the longest as measured first */
    size_t n;
    bool has_class[TSIM_N_KERNEL_CLASSES];
};

/* Pairs kernels and operators. The profile is that of one of the stage group's accelerators. Releases the sequence. */
void tsim_kernel_pairs_find(struct tsim_arena *arena, const struct tsim_profile *profile,
                            struct tsim_operator_sequence *sequence, int32_t stage_group,
                            struct tsim_kernel_pairs *pairs);

#endif
