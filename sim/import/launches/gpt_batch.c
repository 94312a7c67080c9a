#include "import/launches/gpt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The batch of a step, and how it grows.
 *
 * --rampup-batch-size FROM BY SAMPLES: from FROM by BY to the global batch, over SAMPLES samples, each size for as
 * many. --step-batch-size-schedule "0:768 250B:1536 ...": from a threshold on (tokens; K, M, B and T are powers of a
 * thousand) the batch that stands behind it; the global batch is the largest
 * (megatron/core/num_microbatches_calculator.py). */

#define MOST_SAMPLES INT64_C(1000000000000)

/* Returns the i-th word of a value with several, or NULL if it has fewer. */
static const char *word_at(const struct tsim_setting *s, size_t i) {
    const struct tsim_value *value = s->value;
    if (value->kind != TSIM_VALUE_SEQUENCE)
        return i == 0 && value->kind == TSIM_VALUE_SCALAR ? value->text : NULL;
    return i < value->n_items && value->items[i]->kind == TSIM_VALUE_SCALAR ? value->items[i]->text : NULL;
}

static void put_ramp(struct tsim_gpt *g, const struct tsim_setting *ramp) {
    static const char *const PATHS[] = {"training.batch_ramp.from", "training.batch_ramp.increment",
                                        "training.batch_ramp.samples"};
    int64_t numbers[3];
    for (size_t i = 0; i < 3; i++) {
        const char *text = word_at(ramp, i);
        if (!text || !tsim_setting_parse_int(text, &numbers[i]) || numbers[i] < 1 || numbers[i] > MOST_SAMPLES ||
            word_at(ramp, 3)) {
            tsim_diag_hint(tsim_recipe_error(g->r, ramp, "needs three whole numbers from 1"),
                           "the first batch, what it grows by, and over how many samples it grows: 16 8 300000");
            return;
        }
    }
    for (size_t i = 0; i < 3 && numbers[0] != tsim_recipe_int(g->r, "global_batch_size", 1, MOST_SAMPLES, 0); i++)
        tsim_recipe_put_int(g->r, PATHS[i], ramp, numbers[i]); /* none if the first batch is already the whole one */
}

struct step {
    double tokens;
    int64_t batch;
};

static bool parse_step(const char *text, size_t length, struct step *step) {
    static const char SUFFIXES[] = "KMBT";
    const char *colon = memchr(text, ':', length);
    char *end, batch[24];
    if (!colon || length - (size_t)(colon - text) > sizeof batch)
        return false;
    step->tokens = strtod(text, &end);
    const char *suffix = *end ? strchr(SUFFIXES, *end) : NULL;
    if (suffix)
        step->tokens *= pow(1000.0, (double)(suffix - SUFFIXES + 1));
    snprintf(batch, sizeof batch, "%.*s", (int)(length - (size_t)(colon - text) - 1), colon + 1);
    return end + (suffix != NULL) == colon && end > text && step->tokens >= 0 && step->tokens < 1e18 &&
           tsim_setting_parse_int(batch, &step->batch) && step->batch >= 1 && step->batch <= MOST_SAMPLES;
}

enum { MOST_STEPS = 64 };

/* Returns 0 unless the schedule's batches grow from 0 tokens on. */
static size_t parse_steps(const struct tsim_setting *s, struct step *steps) {
    size_t n = 0;
    const char *text;
    for (size_t word = 0; (text = word_at(s, word)) != NULL; word++)
        for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
            size_t length = strcspn(text, " \t\n");
            if (n == MOST_STEPS || !parse_step(text, length, &steps[n]) ||
                (n == 0 ? steps[n].tokens > 0
                        : steps[n].tokens <= steps[n - 1].tokens || steps[n].batch <= steps[n - 1].batch))
                return 0;
            n++;
            text += length;
        }
    return n;
}

/* Steps as long and as high as each other are a ramp; of others the last is taken for the whole run. */
static int64_t put_steps(struct tsim_gpt *g, const struct tsim_setting *s, int64_t sequence_length) {
    struct step steps[MOST_STEPS];
    size_t n = parse_steps(s, steps);
    if (n == 0) {
        tsim_diag_hint(tsim_recipe_error(g->r, s, "is no schedule of batches that grow"),
                       "tokens and the batch from there on, the first from 0: \"0:768 250B:1536 500B:3072\"");
        return 0;
    }
    bool is_even = n > 1;
    for (size_t i = 2; i < n; i++)
        is_even &= steps[i].batch - steps[i - 1].batch == steps[1].batch - steps[0].batch &&
                   fabs(steps[i].tokens - (double)i * steps[1].tokens) < 1.0;
    if (is_even) {
        tsim_recipe_put_int(g->r, "training.batch_ramp.from", s, steps[0].batch);
        tsim_recipe_put_int(g->r, "training.batch_ramp.increment", s, steps[1].batch - steps[0].batch);
        tsim_recipe_put_int(g->r, "training.batch_ramp.samples", s,
                            (int64_t)(steps[n - 1].tokens / (double)(sequence_length > 0 ? sequence_length : 1)));
    } else if (n > 1) {
        tsim_recipe_not_modelled(g->r, s, "the batch grows from step to step; in tsim every step has the last one");
    }
    return steps[n - 1].batch;
}

/* Puts the global batch; `replicas` is the number of replicas of the model. */
static void put_global(struct tsim_gpt *g, int64_t size, int64_t replicas, int64_t sequence_length) {
    const struct tsim_setting *global = tsim_recipe_find(g->r, "global_batch_size"),
                              *ramp = tsim_recipe_find(g->r, "rampup_batch_size"),
                              *steps = tsim_recipe_find(g->r, "step_batch_size_schedule"),
                              *passes = tsim_recipe_find(g->r, "gradient_accumulation_steps"); /* GPT-NeoX's */
    int64_t said = global ? tsim_setting_int(g->r, global, 1, MOST_SAMPLES) : 0, last = 0;
    if (steps && ramp)
        tsim_recipe_error(g->r, steps, "cannot be together with %.60s", ramp->name);
    else if (steps)
        last = put_steps(g, steps, sequence_length);
    if (last > 0 && said > 0 && said != last)
        tsim_recipe_error(g->r, global, "%lld, but %.60s ends with %lld", (long long)said, steps->name,
                          (long long)last);
    if (ramp)
        put_ramp(g, ramp);
    if (last > 0)
        tsim_recipe_put(g->r, "training.global_batch_size", steps, "its last", "%lld", (long long)last);
    else if (global)
        tsim_recipe_put_int(g->r, "training.global_batch_size", global, said);
    else if (passes)
        tsim_recipe_put(g->r, "training.global_batch_size", passes, "x micro-batch x replicas", "%lld",
                        (long long)(tsim_setting_int(g->r, passes, 1, 1000000) * size * replicas));
    else
        tsim_recipe_put(g->r, "training.global_batch_size", NULL, "the program's default: micro-batch x replicas",
                        "%lld", (long long)(size * replicas));
}

void tsim_gpt_put_batch(struct tsim_gpt *g, int64_t world, int64_t sequence_length) {
    const struct tsim_setting *micro = tsim_recipe_find(g->r, "micro_batch_size");
    int64_t replicas = world / (g->tensor * g->pipeline * g->context);
    int64_t size = micro ? tsim_setting_int(g->r, micro, 1, 1000000) : 1;
    if (micro)
        tsim_recipe_put_int(g->r, "training.micro_batch_size", micro, size);
    else
        tsim_recipe_error(g->r, NULL, "micro_batch_size is missing");
    put_global(g, size, replicas > 0 ? replicas : 1, sequence_length);
}
