#include "config/lengths.h"

#include "base/normal.h"

#include <math.h>

enum { N_PACKED = 512 };
static const double TAKEN_AS_FULL = 0.99;
enum { N_MIDPOINTS = 2000, LEAST_MULTIPLE = 8 }; /* products take whole 8 elements: tokenizers pad to such lengths */

struct moments {
    double mean, square;
};

/* Returns the longest of n samples in the middle of the i-th of so many parts of its distribution. */
static double longest(const struct tsim_training_spec *t, double n, int i, int parts) {
    double variance = log(1 + t->lengths.cv * t->lengths.cv), mu = log(t->lengths.mean) - variance / 2;
    double z = tsim_normal_quantile(pow((i + 0.5) / parts, 1 / n));
    return fmin(exp(mu + sqrt(variance) * z), (double)t->sequence_length);
}

/* Returns the moments of the longest of n samples. */
static struct moments of_longest(const struct tsim_training_spec *t, double n) {
    struct moments m = {0, 0};
    for (int i = 0; i < N_MIDPOINTS; i++) {
        double length = longest(t, n, i, N_MIDPOINTS);
        m.mean += length / N_MIDPOINTS;
        m.square += length * length / N_MIDPOINTS;
    }
    return m;
}

/* Returns the share of packs that samples fill. The longest sample is packed first, each into the first pack that has
 * room. The last pack is not counted: it is half empty because the samples end. */
static double fill_of(const struct tsim_training_spec *t) {
    double variance = log(1 + t->lengths.cv * t->lengths.cv), mu = log(t->lengths.mean) - variance / 2;
    double capacity = (double)t->sequence_length, packs[N_PACKED] = {0}, sum = 0;
    int n = 0;
    for (int i = N_PACKED; i-- > 0;) {
        double length = fmin(exp(mu + sqrt(variance) * tsim_normal_quantile((i + 0.5) / N_PACKED)), capacity);
        int pack = 0;
        while (pack < n && packs[pack] + length > capacity)
            pack++;
        packs[pack] += length;
        n += pack == n;
    }
    for (int pack = 0; pack < n - 1; pack++)
        sum += packs[pack] / capacity / (n - 1);
    return n < 2 || sum > TAKEN_AS_FULL ? 1 : sum;
}

static int64_t rounded_up(double length, int64_t multiple) {
    return (int64_t)ceil(length / (double)multiple - 1e-9) * multiple;
}

/* Returns the number of which a pass's tokens are a multiple. */
static int64_t least_multiple(const struct tsim_parallelism_spec *p) {
    return LEAST_MULTIPLE * p->tensor * (p->context > 1 ? 2 * p->context : 1);
}

static int64_t longest_of_slowest(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    struct moments m = of_longest(&sc->training, (double)sc->training.micro_batch_size);
    double deviation = sqrt(fmax(m.square - m.mean * m.mean, 0) / (double)sc->n_microbatches);
    double length = m.mean + deviation * tsim_expected_maximum((double)p->data);
    int64_t rounded = rounded_up(length, least_multiple(p));
    return rounded < sc->training.sequence_length ? rounded : sc->training.sequence_length;
}

int tsim_lengths_of_passes(const struct tsim_scenario *sc, int64_t lengths[TSIM_PASS_LENGTHS]) {
    const struct tsim_training_spec *t = &sc->training;
    double mean = 0, multiple = (double)least_multiple(&sc->parallelism);
    if (!(t->lengths.mean > 0) || !(t->lengths.cv > 0) || t->lengths.batching != TSIM_BATCHING_LONGEST)
        return 0;
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++)
        mean += longest(t, (double)t->micro_batch_size, i, TSIM_PASS_LENGTHS) / TSIM_PASS_LENGTHS;
    for (int i = 0; i < TSIM_PASS_LENGTHS; i++) {
        double length = longest(t, (double)t->micro_batch_size, i, TSIM_PASS_LENGTHS) * (double)t->lengths.pass / mean;
        lengths[i] = (int64_t)(fmax(round(length / multiple), 1) * multiple);
    }
    return TSIM_PASS_LENGTHS;
}

void tsim_lengths_measure(struct tsim_scenario *sc) {
    struct tsim_lengths_spec *lengths = &sc->training.lengths;
    if (!(lengths->mean > 0))
        return;
    struct moments one = of_longest(&sc->training, 1);
    lengths->sample = one.mean;
    lengths->attended = one.square / one.mean;
    lengths->fill = lengths->batching == TSIM_BATCHING_PACKED ? fill_of(&sc->training) : 1;
}

void tsim_lengths_resolve(struct tsim_scenario *sc) {
    struct tsim_lengths_spec *lengths = &sc->training.lengths;
    if (!(lengths->mean > 0))
        return;
    lengths->pass = lengths->batching == TSIM_BATCHING_LONGEST ? longest_of_slowest(sc) : sc->training.sequence_length;
    lengths->useful = lengths->batching == TSIM_BATCHING_PACKED ? (double)sc->training.sequence_length * lengths->fill
                                                                : lengths->sample;
}
