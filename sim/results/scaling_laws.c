#include "results/scaling_laws.h"

#include "config/provenance.h"
#include "model/model.h"
#include "results/loss_law.h"

#include <math.h>

#define LARGEST_LINEAR_BATCH 8192
#define EPOCHS_AS_GOOD_AS_NEW 4

#define HOFFMANN "Hoffmann et al. 2022 (arXiv:2203.15556)"
#define MUENNIGHOFF "Muennighoff et al. 2023 (arXiv:2305.16264)"

static struct tsim_amount of_paper(struct tsim_term_recorder *r, const char *name, double value, const char *paper) {
    return tsim_given(r, name, value, TSIM_FRACTION, paper);
}

static struct tsim_amount definition(struct tsim_term_recorder *r, const char *name, double value) {
    return tsim_given(r, name, value, TSIM_FRACTION, "definition");
}

/* Returns factor / size^exponent. */
static struct tsim_amount loss_of(struct tsim_term_recorder *r, const char *name, struct tsim_amount size,
                                  double factor, double exponent) {
    struct tsim_amount power = tsim_power(r, "size to its exponent", "size^exponent", TSIM_FRACTION, size,
                                          of_paper(r, "exponent", exponent, HOFFMANN ", approach 3"));
    return tsim_product(r, name, "factor / size^exponent", TSIM_FRACTION,
                        TSIM_PARTS(of_paper(r, "factor", factor, HOFFMANN ", approach 3"), tsim_inverse(power)));
}

struct tsim_amount tsim_chinchilla_loss(struct tsim_term_recorder *r, struct tsim_amount parameters,
                                        struct tsim_amount tokens) {
    const struct tsim_loss_law *fit = &TSIM_LOSS_FITS[TSIM_LOSS_FIT_HOFFMANN];
    return tsim_sum(
        r, "scaling_laws.loss_nats", "1.69 + 406.4 / parameters^0.34 + 410.7 / tokens^0.28", TSIM_FRACTION,
        TSIM_PARTS(of_paper(r, "loss of language itself", fit->floor, HOFFMANN ", approach 3"),
                   loss_of(r, "because the model has few parameters", parameters, fit->per_parameters,
                           fit->parameters_exponent),
                   loss_of(r, "because it sees few tokens", tokens, fit->per_tokens, fit->tokens_exponent)));
}

/* U (1 + r (1 - exp(-(epochs - 1) / r))): data that are seen again are worth less and less. */
struct tsim_amount tsim_effective_tokens(struct tsim_term_recorder *r, struct tsim_amount unique_tokens,
                                         struct tsim_amount epochs) {
    static const char *const NAME = "scaling_laws.effective_tokens";
    struct tsim_amount one = definition(r, "the first epoch", 1);
    if (epochs.value <= 1)
        return tsim_product(r, NAME, "the data's tokens x epochs", TSIM_COUNT, TSIM_PARTS(unique_tokens, epochs));
    struct tsim_amount repetitions =
        of_paper(r, "epochs that repetition is worth at most", 15.387756, MUENNIGHOFF ", appendix A: R*_D");
    struct tsim_amount again =
        tsim_sum(r, "epochs after the first", "epochs - 1", TSIM_FRACTION, TSIM_PARTS(epochs, tsim_inverse(one)));
    struct tsim_amount wear = tsim_product(r, "their wear", "epochs after the first / most that they can be worth",
                                           TSIM_FRACTION, TSIM_PARTS(again, tsim_inverse(repetitions)));
    struct tsim_amount gone =
        tsim_power(r, "share that remains", "e^-wear", TSIM_FRACTION, definition(r, "e", exp(1)), tsim_inverse(wear));
    struct tsim_amount worth =
        tsim_product(r, "value of the further epochs", "limit x (1 - share that remains)", TSIM_FRACTION,
                     TSIM_PARTS(repetitions, tsim_sum(r, "worn off", "1 - share that remains", TSIM_FRACTION,
                                                      TSIM_PARTS(definition(r, "all", 1), tsim_inverse(gone)))));
    return tsim_product(r, NAME, "the data's tokens x (1 + what the other epochs are worth)", TSIM_COUNT,
                        TSIM_PARTS(unique_tokens, tsim_sum(r, "epochs of fresh data", "1 + value of the further epochs",
                                                           TSIM_FRACTION, TSIM_PARTS(one, worth))));
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

static void fill_data(struct tsim_arena *arena, struct tsim_term_recorder *r, struct tsim_amount tokens,
                      struct tsim_amount n, struct tsim_scaling_laws *out) {
    struct tsim_amount best = tsim_given(r, "tokens a parameter", TSIM_TOKENS_PER_PARAMETER, TSIM_COUNT, HOFFMANN);
    struct tsim_amount square = tsim_product(r, "parameters of the same compute, squared", "parameters x tokens / 20",
                                             TSIM_COUNT, TSIM_PARTS(n, tokens, tsim_inverse(best)));
    struct tsim_amount parameters =
        tsim_power(r, "scaling_laws.optimal_parameters",
                   "sqrt(parameters x tokens / 20): the same compute at 20 tokens a parameter", TSIM_COUNT, square,
                   definition(r, "square root", 0.5));
    out->tokens_per_parameter = tsim_product(r, "scaling_laws.tokens_per_parameter", "tokens of the run / parameters",
                                             TSIM_FRACTION, TSIM_PARTS(tokens, tsim_inverse(n)))
                                    .value;
    out->optimal_parameters = parameters.value;
    out->optimal_tokens =
        tsim_product(r, "scaling_laws.optimal_tokens", "20 tokens for each of the best number of parameters",
                     TSIM_COUNT, TSIM_PARTS(best, parameters))
            .value;
    if (arena && out->tokens_per_parameter < TSIM_TOKENS_PER_PARAMETER / 2)
        note(out, arena,
             "%.2g tokens per parameter: with the same compute, %s parameters on %s tokens reach a lower loss "
             "(Hoffmann et al. 2022)",
             out->tokens_per_parameter, human(arena, out->optimal_parameters), human(arena, out->optimal_tokens));
}

/* Returns 1 + one / other. */
static double factor_of(struct tsim_term_recorder *r, const char *name, const char *formula, struct tsim_amount one,
                        struct tsim_amount other) {
    struct tsim_amount ratio =
        tsim_product(r, "ratio of the two", "one / the other", TSIM_FRACTION, TSIM_PARTS(one, tsim_inverse(other)));
    return tsim_sum(r, name, formula, TSIM_FRACTION, TSIM_PARTS(definition(r, "one", 1), ratio)).value;
}

static void fill_batch(struct tsim_arena *arena, struct tsim_term_recorder *r, struct tsim_amount batch,
                       struct tsim_amount loss, struct tsim_scaling_laws *out) {
    struct tsim_amount critical = tsim_critical_batch(r, loss);
    out->loss_nats = loss.value;
    out->critical_batch_tokens = critical.value;
    out->tokens_factor =
        factor_of(r, "scaling_laws.tokens_factor",
                  "1 + batch / critical batch (McCandlish et al. 2018, arXiv:1812.06162)", batch, critical);
    out->steps_factor =
        factor_of(r, "scaling_laws.steps_factor",
                  "1 + critical batch / batch (McCandlish et al. 2018, arXiv:1812.06162)", critical, batch);
    if (arena && out->tokens_factor > 2)
        note(
            out, arena,
            "a batch of %s tokens is above the critical one of about %s: the same loss takes %.1f times as many tokens "
            "(McCandlish et al. 2018)",
            human(arena, batch.value), human(arena, out->critical_batch_tokens), out->tokens_factor);
}

static void note_epochs(struct tsim_arena *arena, double unique_tokens, struct tsim_scaling_laws *out) {
    if (arena && out->epochs > EPOCHS_AS_GOOD_AS_NEW)
        note(out, arena,
             "%.1f epochs teach as much as %.1f of fresh data; up to 4 are almost as good (Muennighoff et al. 2023)",
             out->epochs, out->effective_tokens / unique_tokens);
}

static void fill_images(struct tsim_arena *arena, struct tsim_term_recorder *r, struct tsim_amount batch,
                        struct tsim_scaling_laws *out) {
    static const char *const GOYAL = "Goyal et al. 2017 (arXiv:1706.02677)";
    out->learning_rate = tsim_product(r, "scaling_laws.learning_rate", "0.1 x batch / 256", TSIM_FRACTION,
                                      TSIM_PARTS(of_paper(r, "learning rate of a batch of 256", 0.1, GOYAL), batch,
                                                 tsim_inverse(of_paper(r, "that batch", 256, GOYAL))))
                             .value;
    if (arena && batch.value > LARGEST_LINEAR_BATCH)
        note(
            out, arena,
            "a batch of %.0f images is beyond 8,192, up to which the learning rate scaled linearly (Goyal et al. 2017)",
            batch.value);
}

/* Scaling laws of tokens and batches hold for models that begin with random weights. */
static bool trains_from_scratch(const struct tsim_scenario *scenario) {
    return scenario->training.kind == TSIM_PRETRAIN && scenario->training.adapter.kind == TSIM_ADAPTER_NONE;
}

bool tsim_scaling_laws_apply(const struct tsim_result *result) {
    return result->step.simulated && (result->campaign.has || result->scenario->model->kind == TSIM_MODEL_CNN);
}

void tsim_scaling_laws(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_scaling_laws *out) {
    const struct tsim_scenario *sc = result->scenario;
    struct tsim_term_recorder *r = result->recorder;
    double nan = (double)NAN;
    bool has_tokens = !tsim_model_is_of_samples(sc->model),
         has_run = result->campaign.has && result->campaign.samples > 0, has_data = has_run && sc->data.samples > 0;
    *out = (struct tsim_scaling_laws){nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, {NULL}, 0};
    struct tsim_amount samples = {0}, data = {0}, epochs = {0}, fresh = {0}, unique = {0},
                       sequence = tsim_of_scenario(r, "training.sequence_length", (double)sc->training.sequence_length,
                                                   TSIM_COUNT);
    if (has_run) {
        samples = tsim_figure(r, "campaign.samples", result->campaign.samples, TSIM_COUNT);
        fresh = tsim_product(r, "tokens of the run", "samples x sequence", TSIM_COUNT, TSIM_PARTS(samples, sequence));
    }
    struct tsim_amount tokens = fresh;
    if (has_data) {
        data = tsim_of_scenario(r, "data.samples", sc->data.samples, TSIM_COUNT);
        epochs = tsim_product(r, "scaling_laws.epochs", "samples of the run / samples of the data", TSIM_FRACTION,
                              TSIM_PARTS(samples, tsim_inverse(data)));
        unique = tsim_product(r, "tokens of the data", "samples x sequence", TSIM_COUNT, TSIM_PARTS(data, sequence));
        out->epochs = epochs.value;
    }
    if (has_data && has_tokens) {
        fresh = tsim_effective_tokens(r, unique, epochs);
        out->effective_tokens = fresh.value;
    }
    if (has_tokens && sc->model->causal && has_run && trains_from_scratch(sc)) {
        struct tsim_amount n =
            tsim_figure(r, "model.active_parameters", tsim_model_active_parameters(sc->model), TSIM_COUNT);
        fill_data(arena, r, tokens, n, out);
        fill_batch(arena, r, tsim_tokens_of(r, sc), tsim_chinchilla_loss(r, n, fresh), out);
    }
    if (has_data && has_tokens)
        note_epochs(arena, unique.value, out);
    if (sc->model->kind == TSIM_MODEL_CNN)
        fill_images(
            arena, r,
            tsim_of_scenario(r, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT), out);
}
