#include "config/lengths.h"

#include "base/normal.h"

#include <math.h>

enum { N_MIDPOINTS = 2000, LEAST_MULTIPLE = 8 }; /* products take whole 8 elements: tokenizers pad to such lengths */

struct moments {
    double mean, square;
};

/* Moments of the longest of n samples. */
static struct moments of_longest(const struct tsim_training_spec *t, double n) {
    double variance = log(1 + t->lengths.cv * t->lengths.cv), mu = log(t->lengths.mean) - variance / 2;
    struct moments m = {0, 0};
    for (int i = 0; i < N_MIDPOINTS; i++) {
        double z = tsim_normal_quantile(pow((i + 0.5) / N_MIDPOINTS, 1 / n));
        double length = fmin(exp(mu + sqrt(variance) * z), (double)t->sequence_length);
        m.mean += length / N_MIDPOINTS;
        m.square += length * length / N_MIDPOINTS;
    }
    return m;
}

static int64_t rounded_up(double length, int64_t multiple) {
    return (int64_t)ceil(length / (double)multiple - 1e-9) * multiple;
}

static int64_t longest_of_slowest(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    struct moments m = of_longest(&sc->training, (double)sc->training.micro_batch_size);
    double deviation = sqrt(fmax(m.square - m.mean * m.mean, 0) / (double)sc->n_microbatches);
    double length = m.mean + deviation * tsim_expected_maximum((double)p->data);
    int64_t multiple = LEAST_MULTIPLE * p->tensor * (p->context > 1 ? 2 * p->context : 1),
            rounded = rounded_up(length, multiple);
    return rounded < sc->training.sequence_length ? rounded : sc->training.sequence_length;
}

void tsim_lengths_measure(struct tsim_scenario *sc) {
    struct tsim_lengths_spec *lengths = &sc->training.lengths;
    if (!(lengths->mean > 0))
        return;
    struct moments one = of_longest(&sc->training, 1);
    lengths->sample = one.mean;
    lengths->attended = one.square / one.mean;
}

void tsim_lengths_resolve(struct tsim_scenario *sc) {
    struct tsim_lengths_spec *lengths = &sc->training.lengths;
    if (!(lengths->mean > 0))
        return;
    lengths->pass = lengths->batching == TSIM_BATCHING_LONGEST ? longest_of_slowest(sc) : sc->training.sequence_length;
    lengths->useful =
        lengths->batching == TSIM_BATCHING_PACKED ? (double)sc->training.sequence_length : lengths->sample;
}
