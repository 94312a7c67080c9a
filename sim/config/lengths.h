/* lengths.h - samples of many lengths (supervised fine-tuning) in batches: packed, or padded.
 *
 * Lengths are lognormal with a mean and a coefficient of variation, cut at the longest that is taken (`sequence_length`).
 *   packed   samples fill sequences of sequence_length, one behind the other, which are what a batch counts. Each goes where it
 *            first fits, the longest first. The empty rest is worked on; less than 1 %, as short samples leave (Krell et al.
 *            2021, arXiv:2107.02027), is taken as none. A token attends to its own sample.
 *   longest  each micro-batch of b samples is as long as its longest, E[max of b]. Replicas meet at the end of a step, and the
 *            slowest of d is longer by sigma / sqrt(m) times the expected maximum of d normals, with sigma the standard
 *            deviation of a micro-batch's length and m micro-batches. Rounded up to what tensor and context ranks divide.
 *   whole    each is padded to sequence_length.
 *
 * Kernels do not take time in proportion to a pass's length: products fill whole tiles and read all weights however few
 * tokens there are. So where passes differ in length, what one takes is the mean over lengths in the middle of equal
 * parts of their distribution, whose own mean is the pass's length. */
#ifndef TSIM_CONFIG_LENGTHS_H
#define TSIM_CONFIG_LENGTHS_H

#include "config/scenario.h"

/* The first fills in what follows from lengths alone, the second what follows from the plan as well. */
void tsim_lengths_measure(struct tsim_scenario *scenario);
void tsim_lengths_resolve(struct tsim_scenario *scenario);

/* Fills the lengths of passes that stand for all, each for equally many, and returns how many they are; 0 where all are
 * alike. */
enum { TSIM_PASS_LENGTHS = 8 };
int tsim_lengths_of_passes(const struct tsim_scenario *scenario, int64_t lengths[TSIM_PASS_LENGTHS]);

/* These return the tokens of a sample in a pass, with padding; those that are not padding; and the tokens that each
 * attends to on average. Without lengths all three are sequence_length. */
static inline double tsim_pass_length(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return (double)(t->lengths.mean > 0 ? t->lengths.pass : t->sequence_length);
}

static inline double tsim_useful_length(const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    return t->lengths.mean > 0 ? t->lengths.useful : (double)t->sequence_length;
}

/* Does a batch count packs, each of which holds several samples? */
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

#endif
