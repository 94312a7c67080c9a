#include "run/stages.h"

#include "config/provenance.h"

#include <math.h>

static double steps_of(const struct tsim_stage_spec *stage) {
    double batch = (double)stage->scenario->training.global_batch_size;
    if (stage->tokens > 0)
        return ceil(stage->tokens / tsim_tokens_of(NULL, stage->scenario).value);
    return ceil(stage->samples > 0 ? stage->samples / batch : stage->steps);
}

/* The run counts samples. If its length is in tokens, a shorter sample counts as a part of a sample of the last stage. */
static double samples_of_step(const struct tsim_scenario *sc, const struct tsim_scenario *stage) {
    double samples = (double)stage->training.global_batch_size;
    if (sc->training.length_kind != TSIM_LENGTH_TOKENS)
        return samples;
    return samples * tsim_sample_tokens_of(NULL, stage).value / tsim_sample_tokens_of(NULL, sc).value;
}

bool tsim_stages_count(const struct tsim_scenario *sc, struct tsim_early_steps *early) {
    const struct tsim_training_spec *t = &sc->training;
    if (t->n_stages == 0)
        return false;
    *early = (struct tsim_early_steps){.has = true};
    for (size_t i = 0; i < t->n_stages; i++) {
        double steps = steps_of(&t->stages[i]);
        early->steps += steps;
        early->samples += steps * samples_of_step(sc, t->stages[i].scenario);
    }
    return true;
}

static enum tsim_status refuse(const struct tsim_scenario *sc, size_t i, const struct tsim_step_result *step,
                               struct tsim_diags *diags) {
    char needs[40], has[40];
    struct tsim_diag *diag =
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){sc->file, 0, 0}, "training.stages",
                         "stage %zu needs %s of memory on its fullest accelerator, which has %s", i + 1,
                         tsim_quantity_human(step->memory.peak_bytes, TSIM_BYTES, needs, sizeof needs),
                         tsim_quantity_human(step->memory.capacity_bytes, TSIM_BYTES, has, sizeof has));
    tsim_diag_hint(diag, "a smaller micro_batch_size, or more context ranks, in this stage");
    return TSIM_ERR_INFEASIBLE;
}

static enum tsim_status simulate(struct tsim_arena *arena, const struct tsim_scenario *sc, size_t i, double *time_s,
                                 double *energy_j, struct tsim_diags *diags) {
    struct tsim_step_result step;
    const struct tsim_scenario *stage = tsim_step_begin(arena, sc->training.stages[i].scenario, NULL, NULL, &step);
    if (!step.fits)
        return refuse(sc, i, &step, diags);
    struct tsim_machine machine = tsim_machine_of(arena, stage, NULL);
    return tsim_step_time_and_energy(arena, stage, &machine, time_s, energy_j, diags);
}

static void record(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_stage_time *times,
                   const struct tsim_early_steps *early) {
    static const char *const COUNTED = "the length of each stage / that of its step, rounded up, all together",
                             *const STEP = "the steps of each stage x its step, which is simulated on the engine";
    struct tsim_amount last = tsim_given(r, "steps of the last of these stages", times[sc->training.n_stages - 1].steps,
                                         TSIM_COUNT, "training.stages of the scenario");
    struct tsim_amount steps =
        tsim_outcome(r, "campaign.early.steps", COUNTED, early->steps, TSIM_COUNT, TSIM_PARTS(last));
    tsim_outcome(r, "campaign.early.samples", COUNTED, early->samples, TSIM_COUNT, TSIM_PARTS(last));
    tsim_outcome(r, "campaign.early.time_s", STEP, early->time_s, TSIM_TIME_S, TSIM_PARTS(steps));
    tsim_outcome(r, "campaign.early.energy_j", STEP, early->energy_j, TSIM_JOULES, TSIM_PARTS(steps));
}

enum tsim_status tsim_stages_simulate(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                      struct tsim_term_recorder *recorder, struct tsim_early_steps *early,
                                      const struct tsim_stage_time **times, struct tsim_diags *diags) {
    if (!tsim_stages_count(sc, early))
        return TSIM_OK;
    struct tsim_stage_time *of = TSIM_NEW_ARRAY(arena, sc->training.n_stages, struct tsim_stage_time);
    for (size_t i = 0; i < sc->training.n_stages; i++) {
        double energy_j;
        of[i].steps = steps_of(&sc->training.stages[i]);
        TSIM_TRY(simulate(arena, sc, i, &of[i].step_s, &energy_j, diags));
        early->time_s += of[i].steps * of[i].step_s;
        early->energy_j += of[i].steps * energy_j;
    }
    *times = of;
    record(recorder, sc, of, early);
    return TSIM_OK;
}
