/* lengths.h - samples of many lengths (supervised fine-tuning) in batches that are packed or padded.
 *
 * Lengths are lognormal with a mean and a coefficient of variation, cut at the longest that is taken
 * (`sequence_length`).
 *   packed   Samples fill sequences of sequence_length, one behind the other, and a batch counts these. Each sample
 *            goes where it first fits, the longest first. The empty rest is worked on; it is less than 1 %, as short
 *            samples leave (Krell et al. 2021, arXiv:2107.02027), and is taken as none. A token attends to its own
 *            sample.
 *   longest  Each micro-batch of b samples is as long as its longest, E[max of b]. Replicas meet at the end of a step,
 *            and the slowest of d is longer by sigma / sqrt(m) times the expected maximum of d normals, with sigma the
 *            standard deviation of a micro-batch's length and m micro-batches. The length is rounded up to a multiple
 *            of what tensor and context ranks divide.
 *   whole    Each sample is padded to sequence_length.
 *
 * Kernels do not take time in proportion to a pass's length: products fill whole tiles, and read all weights however
 * few tokens there are. So where passes differ in length, a pass takes the mean over several lengths, each in the
 * middle of an equal part of their distribution. The mean of these lengths is the pass's length. */
#pragma once

#include "config/scenario.h"

/* The first fills in what follows from lengths alone, the second what also follows from the plan. */
void tsim_lengths_measure(struct tsim_scenario *scenario);
void tsim_lengths_resolve(struct tsim_scenario *scenario);

/* Fills in the lengths of passes that stand for all, each for equally many, and returns their number; 0 if all passes
 * are equally long. */
enum { TSIM_PASS_LENGTHS = 8 };
int tsim_lengths_of_passes(const struct tsim_scenario *scenario, int64_t lengths[TSIM_PASS_LENGTHS]);

/* These return the tokens of a sample in a pass, padding included; those without padding; and the mean number of tokens
 * that each attends to. Without lengths all three are sequence_length. */
static inline double tsim_pass_length(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return (double)(t->lengths.mean > 0 ? t->lengths.pass : t->sequence_length);
}

static inline double tsim_useful_length(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return t->lengths.mean > 0 ? t->lengths.useful : (double)t->sequence_length;
}

/* Returns whether a batch counts packs, each of which holds several samples. */
static inline bool tsim_is_packed(const struct tsim_scenario *scenario) {
    const struct tsim_lengths_spec *l = &scenario->training.lengths;
    return l->mean > 0 && l->batching == TSIM_BATCHING_PACKED;
}

static inline double tsim_samples_of_sequence(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return tsim_is_packed(scenario) ? (double)t->sequence_length * t->lengths.fill / t->lengths.sample : 1;
}

static inline double tsim_attended_length(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return t->lengths.mean > 0 ? t->lengths.attended : (double)t->sequence_length;
}
