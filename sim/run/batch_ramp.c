#include "run/batch_ramp.h"

#include "config/provenance.h"

#include <math.h>

enum { N_SIZES = 8 }; /* simulated, the whole batch among them */

/* A step with so many micro-batches on each replica. */
struct size {
    double microbatches, time_s, energy_j;
};

/* ---- the steps ---- */

typedef void (*size_fn)(void *context, double batch, double steps);

/* Takes every size in turn with its number of steps, and returns the samples of all. */
static double walk(const struct tsim_scenario *sc, size_fn take, void *context) {
    const struct tsim_batch_ramp_spec *r = &sc->training.batch_ramp;
    double n_sizes = ((double)sc->training.global_batch_size - r->from) / r->increment, each = r->samples / n_sizes;
    double consumed = 0;
    for (double i = 0; i < n_sizes; i++) {
        double batch = r->from + i * r->increment, end = i + 1 < n_sizes ? (i + 1) * each : r->samples;
        double steps = fmax(0, ceil((end - consumed) / batch));
        consumed += steps * batch;
        take(context, batch, steps);
    }
    return consumed;
}

static void count(void *context, double batch, double steps) {
    (void)batch;
    ((struct tsim_early_steps *)context)->steps += steps;
}

bool tsim_batch_ramp_count(const struct tsim_scenario *sc, struct tsim_early_steps *ramp) {
    *ramp = (struct tsim_early_steps){0};
    if (!(sc->training.batch_ramp.samples > 0))
        return false;
    ramp->has = true;
    ramp->samples = walk(sc, count, ramp);
    return true;
}

/* ---- their time ---- */

static double microbatches_of(const struct tsim_scenario *sc, double batch) {
    int64_t n = (int64_t)ceil(batch / (double)(sc->training.micro_batch_size * sc->parallelism.data));
    while (!tsim_microbatches_work(sc, n))
        n++;
    return (double)n;
}

static enum tsim_status simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 const struct tsim_machine *machine, struct size *size, struct tsim_diags *diags) {
    struct tsim_scenario sc = *scenario;
    sc.n_microbatches = (int64_t)size->microbatches;
    return tsim_step_time_and_energy(arena, &sc, machine, &size->time_s, &size->energy_j, diags);
}

/* Chooses sizes from the smallest to the whole batch, even by their logarithm, and returns how many differ. */
static int choose_sizes(const struct tsim_scenario *sc, struct size *sizes) {
    double least = microbatches_of(sc, sc->training.batch_ramp.from), most = (double)sc->n_microbatches;
    int n = 0;
    for (int i = 0; i < N_SIZES; i++) {
        int64_t wanted = llround(least * pow(most / least, (double)i / (N_SIZES - 1)));
        while (!tsim_microbatches_work(sc, wanted))
            wanted++;
        if (n == 0 || (double)wanted > sizes[n - 1].microbatches)
            sizes[n++] = (struct size){.microbatches = fmin(most, (double)wanted)};
    }
    return n;
}

struct sum {
    const struct tsim_scenario *scenario;
    const struct size *sizes;
    int n_sizes;
    struct tsim_early_steps *ramp;
};

static void add(void *context, double batch, double steps) {
    struct sum *sum = context;
    double m = microbatches_of(sum->scenario, batch), share = 0;
    int i = 0;
    while (i + 2 < sum->n_sizes && m > sum->sizes[i + 1].microbatches)
        i++;
    const struct size *low = &sum->sizes[i], *high = &sum->sizes[i + 1 < sum->n_sizes ? i + 1 : i];
    if (high->microbatches > low->microbatches)
        share = (m - low->microbatches) / (high->microbatches - low->microbatches);
    sum->ramp->time_s += steps * (low->time_s + share * (high->time_s - low->time_s));
    sum->ramp->energy_j += steps * (low->energy_j + share * (high->energy_j - low->energy_j));
}

static void record(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_early_steps *ramp) {
    static const char *const STEPS = "searched: each size has the same number of samples, and ends with a whole step",
                             *const STEP = "simulated on the engine: steps of a few sizes, the others between them";
    const struct tsim_batch_ramp_spec *spec = &sc->training.batch_ramp;
    const struct tsim_amount inputs[] = {
        tsim_of_scenario(r, "training.batch_ramp.from", spec->from, TSIM_COUNT),
        tsim_of_scenario(r, "training.batch_ramp.increment", spec->increment, TSIM_COUNT),
        tsim_of_scenario(r, "training.batch_ramp.samples", spec->samples, TSIM_COUNT),
        tsim_of_scenario(r, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT)};
    enum { N = sizeof inputs / sizeof inputs[0] };
    struct tsim_amount steps = tsim_outcome(r, "campaign.early.steps", STEPS, ramp->steps, TSIM_COUNT, inputs, N);
    tsim_outcome(r, "campaign.early.samples", STEPS, ramp->samples, TSIM_COUNT, inputs, N);
    tsim_outcome(r, "campaign.early.time_s", STEP, ramp->time_s, TSIM_TIME_S, TSIM_PARTS(steps));
    tsim_outcome(r, "campaign.early.energy_j", STEP, ramp->energy_j, TSIM_JOULES, TSIM_PARTS(steps));
}

enum tsim_status tsim_batch_ramp_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                          const struct tsim_machine *machine, struct tsim_term_recorder *recorder,
                                          double step_s, double step_j, struct tsim_early_steps *ramp,
                                          struct tsim_diags *diags) {
    struct size sizes[N_SIZES];
    if (!tsim_batch_ramp_count(sc, ramp))
        return TSIM_OK;
    int n = choose_sizes(sc, sizes);
    for (int i = 0; i < n; i++) {
        if (sizes[i].microbatches < (double)sc->n_microbatches)
            TSIM_TRY(simulate(arena, sc, machine, &sizes[i], diags));
        else
            sizes[i] = (struct size){sizes[i].microbatches, step_s, step_j};
    }
    struct sum sum = {sc, sizes, n, ramp};
    walk(sc, add, &sum);
    record(recorder, sc, ramp);
    return TSIM_OK;
}
