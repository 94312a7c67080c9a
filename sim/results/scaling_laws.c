#include "results/scaling_laws.h"

#include "base/quantity.h"
#include "workload/model.h"

#include <math.h>

#define TOKENS_PER_PARAMETER 20.0
#define REPETITIONS 15.387756 /* Muennighoff et al. 2023, appendix A: R*_D */
#define LARGEST_LINEAR_BATCH 8192
#define EPOCHS_AS_GOOD_AS_NEW 4

double tsim_chinchilla_loss_nats(double parameters, double tokens) {
    return 1.69 + 406.4 / pow(parameters, 0.34) + 410.7 / pow(tokens, 0.28);
}

double tsim_critical_batch_tokens(double loss_nats) {
    return 2e8 * pow(loss_nats, -1 / 0.21);
}

double tsim_effective_tokens(double unique_tokens, double epochs) {
    if (epochs <= 1)
        return unique_tokens * epochs;
    return unique_tokens * (1 + REPETITIONS * -expm1(-(epochs - 1) / REPETITIONS));
}

__attribute__((format(printf, 3, 4))) static void note(struct tsim_scaling_laws *out, struct tsim_arena *arena,
                                                       const char *format, ...) {
    va_list args;
    TSIM_ASSERT(out->n_notes < TSIM_SCALING_LAWS_MOST_NOTES);
    va_start(args, format);
    out->notes[out->n_notes++] = tsim_arena_vprintf(arena, format, args);
    va_end(args);
}

static const char *human(struct tsim_arena *arena, double value) {
    char text[64];
    return tsim_arena_strdup(arena, tsim_quantity_human(value, TSIM_COUNT, text, sizeof text));
}

static void fill_data(struct tsim_arena *arena, double tokens, double n, struct tsim_scaling_laws *out) {
    out->tokens_per_parameter = tokens / n;
    out->optimal_parameters = sqrt(n * tokens / TOKENS_PER_PARAMETER);
    out->optimal_tokens = TOKENS_PER_PARAMETER * out->optimal_parameters;
    if (arena && out->tokens_per_parameter < TOKENS_PER_PARAMETER / 2)
        note(out, arena,
             "%.2g tokens a parameter: %s parameters on %s tokens learn more for the compute (Hoffmann et al. 2022)",
             out->tokens_per_parameter, human(arena, out->optimal_parameters), human(arena, out->optimal_tokens));
}

static void fill_batch(struct tsim_arena *arena, double batch_tokens, struct tsim_scaling_laws *out) {
    out->critical_batch_tokens = tsim_critical_batch_tokens(out->loss_nats);
    out->tokens_factor = 1 + batch_tokens / out->critical_batch_tokens;
    out->steps_factor = 1 + out->critical_batch_tokens / batch_tokens;
    if (arena && out->tokens_factor > 2)
        note(out, arena,
             "a batch of %s tokens, critical are about %s: %.1f times the tokens for the same loss (McCandlish et al. "
             "2018)",
             human(arena, batch_tokens), human(arena, out->critical_batch_tokens), out->tokens_factor);
}

static void fill_epochs(struct tsim_arena *arena, double epochs, double unique_tokens, bool has_tokens,
                        struct tsim_scaling_laws *out) {
    out->epochs = epochs;
    if (!has_tokens)
        return;
    out->effective_tokens = tsim_effective_tokens(unique_tokens, epochs);
    if (arena && epochs > EPOCHS_AS_GOOD_AS_NEW)
        note(out, arena,
             "%.1f epochs are worth %.1f of fresh data; up to 4 are almost as good (Muennighoff et al. 2023)", epochs,
             out->effective_tokens / unique_tokens);
}

static void fill_images(struct tsim_arena *arena, double batch, struct tsim_scaling_laws *out) {
    out->learning_rate = 0.1 * batch / 256;
    if (arena && batch > LARGEST_LINEAR_BATCH)
        note(out, arena,
             "a batch of %.0f images: linear scaling of the learning rate held up to 8,192 (Goyal et al. 2017)", batch);
}

bool tsim_scaling_laws_apply(const struct tsim_result *result) {
    return result->step.simulated && (result->campaign.has || result->scenario->model->kind == TSIM_MODEL_CNN);
}

void tsim_scaling_laws(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_scaling_laws *out) {
    const struct tsim_scenario *sc = result->scenario;
    double batch = (double)sc->training.global_batch_size, nan = (double)NAN;
    double samples = result->campaign.has ? result->campaign.samples : 0, s = (double)sc->training.sequence_length;
    bool has_tokens = !tsim_model_is_of_samples(sc->model);
    *out = (struct tsim_scaling_laws){nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, {NULL}, 0};
    double unique_tokens = sc->data.samples * s;
    if (has_tokens && sc->model->causal && samples > 0) {
        double n = tsim_model_active_parameters(sc->model);
        fill_data(arena, samples * s, n, out);
        double fresh =
            sc->data.samples > 0 ? tsim_effective_tokens(unique_tokens, samples / sc->data.samples) : samples * s;
        out->loss_nats = tsim_chinchilla_loss_nats(n, fresh);
        fill_batch(arena, batch * s, out);
    }
    if (sc->data.samples > 0 && samples > 0)
        fill_epochs(arena, samples / sc->data.samples, unique_tokens, has_tokens, out);
    if (sc->model->kind == TSIM_MODEL_CNN)
        fill_images(arena, batch, out);
}
