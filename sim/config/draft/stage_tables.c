/* stage_tables.c - `training.stages`: the beginning of a run, with sequences or batches of other sizes than at its end. */
#include "config/draft/scenario_draft.h"

#define STAGE_INT(name_, max_, help_)                                                                                  \
    {                                                                                                                  \
        .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_stage_spec, name_), .max = (max_),         \
        .is_positive = true, .is_omitted_when_zero = true, .help = (help_ "; default: as at the end")                  \
    }
#define STAGE_LENGTH(name_, help_)                                                                                     \
    {                                                                                                                  \
        .key = #name_, .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT,                                             \
        .offset = offsetof(struct tsim_stage_spec, name_), .is_positive = true, .is_omitted_when_zero = true,          \
        .help = (help_)                                                                                                \
    }
/* clang-format off */
static const struct tsim_key STAGE_KEYS[] = {
    STAGE_INT(sequence_length, 1e9, "tokens per sample"),
    STAGE_INT(global_batch_size, 1e12, "samples per optimizer step"),
    STAGE_INT(micro_batch_size, 1e6, "samples per pass of one model replica"),
    STAGE_INT(context, 1e6, "ranks that divide a sequence (parallelism.context)"),
    STAGE_LENGTH(tokens, "length of the stage in tokens; one of tokens, samples, steps"),
    STAGE_LENGTH(samples, "length of the stage in samples"),
    STAGE_LENGTH(steps, "length of the stage in optimizer steps"),
};
/* clang-format on */
const struct tsim_table tsim_stage_table = {STAGE_KEYS, sizeof STAGE_KEYS / sizeof STAGE_KEYS[0], false};

const struct tsim_stage_key tsim_stage_keys[TSIM_N_STAGE_KEYS] = {
    {"sequence_length", "training.sequence_length"},
    {"global_batch_size", "training.global_batch_size"},
    {"micro_batch_size", "training.micro_batch_size"},
    {"context", "parallelism.context"},
};

static struct tsim_diag *fail(const struct tsim_draft *draft, struct tsim_reader *reader, const char *message,
                              size_t stage) {
    const char *path = "training.stages";
    return FAIL_IN(draft, reader, path, "stage %zu: %s", stage + 1, message);
}

static void check_stage(const struct tsim_draft *draft, struct tsim_reader *reader, size_t i) {
    const struct tsim_stage_spec *s = &draft->scenario.training.stages[i];
    if ((s->tokens > 0) + (s->samples > 0) + (s->steps > 0) != 1)
        tsim_diag_hint(fail(draft, reader, "its length is not given once", i), "one of tokens, samples, steps");
    if (s->tokens > 0 && draft->scenario.model->list)
        tsim_diag_hint(fail(draft, reader, "the model has no tokens", i), "samples or steps");
}

void tsim_draft_check_stages(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_scenario *sc = &draft->scenario;
    const struct tsim_training_spec *t = &sc->training;
    const char *path = "training.stages";
    if (t->n_stages == 0)
        return;
    for (size_t i = 0; i < t->n_stages; i++)
        check_stage(draft, reader, i);
    if (t->batch_ramp.from > 0)
        tsim_diag_hint(
            FAIL_IN(draft, reader, path, "the beginning of the run is described twice, here and in batch_ramp"),
            "a stage for each size of the batch");
    else if (t->kind > TSIM_SFT || sc->parallelism.parameter_server.servers > 0)
        tsim_diag_hint(FAIL_IN(draft, reader, path, "this version does not simulate stages of %s",
                               t->kind > TSIM_SFT ? "post-training" : "workers that push to servers"),
                       "no stages");
    else if (t->length_kind == TSIM_LENGTH_NONE)
        WARN_IN(draft, reader, path, "this has no effect, because the length of the run is not given");
}
