#include "config/supports.h"

#include "config/keys/enum_words.h"
#include "config/keys/schema.h"

struct lacks {
    struct tsim_arena *arena;
    struct tsim_unsupported *list;
    size_t n;
};

__attribute__((format(printf, 4, 5))) static void lack(struct lacks *lacks, const char *path, const char *has,
                                                       const char *format, ...) {
    struct tsim_unsupported *one = &lacks->list[lacks->n++];
    va_list args;
    TSIM_ASSERT(lacks->n <= TSIM_MOST_UNSUPPORTED);
    *one = (struct tsim_unsupported){.path = path, .has = has};
    va_start(args, format);
    vsnprintf(one->what, sizeof one->what, format, args);
    va_end(args);
}

/* Returns what stages ask for: they are even (0), the first and the last are of another length, or any is. Balanced
 * stages keep to what the software has. */
static enum tsim_split unevenness(const struct tsim_supports *s, const struct tsim_parallelism_spec *p) {
    int64_t n = tsim_n_model_parts(p);
    bool is_even = true;
    if (p->balances)
        return tsim_has_equal_middle(s) && p->virtual_pipeline == 1 ? TSIM_SPLIT_UNEVEN_ENDS : TSIM_SPLIT_UNEVEN_STAGES;
    for (int64_t i = 1; i < n && p->says_layers; i++) {
        is_even &= p->layers_per_chunk[i] == p->layers_per_chunk[0];
        if (i < n - 1 && p->layers_per_chunk[i] != p->layers_per_chunk[1])
            return TSIM_SPLIT_UNEVEN_STAGES;
    }
    return is_even ? TSIM_SPLIT_DATA : TSIM_SPLIT_UNEVEN_ENDS;
}

static bool runs_split(const struct tsim_supports *s, enum tsim_split split) {
    return tsim_is_in(s->splits, split);
}

bool tsim_has_equal_middle(const struct tsim_supports *s) {
    return !runs_split(s, TSIM_SPLIT_UNEVEN_STAGES) && runs_split(s, TSIM_SPLIT_UNEVEN_ENDS);
}

bool tsim_supports_value(const struct tsim_supports *s, enum tsim_plan_key key, int64_t value) {
    switch (key) {
    case TSIM_PLAN_TENSOR:
        return value == 1 || runs_split(s, TSIM_SPLIT_TENSOR);
    case TSIM_PLAN_PIPELINE:
        return value == 1 || runs_split(s, TSIM_SPLIT_PIPELINE);
    case TSIM_PLAN_VIRTUAL:
        return value == 1 || tsim_is_in(s->schedules, TSIM_SCHEDULE_INTERLEAVED);
    case TSIM_PLAN_CONTEXT:
        return value == 1 || runs_split(s, TSIM_SPLIT_CONTEXT);
    case TSIM_PLAN_EXPERT:
        return value == 1 || runs_split(s, TSIM_SPLIT_EXPERT);
    case TSIM_PLAN_ZERO:
        return tsim_supports_zero(s, value, false) || tsim_supports_zero(s, value, true);
    case TSIM_PLAN_EXPERT_TENSOR:
        return value == 0 || (s->splits >> TSIM_SPLIT_EXPERT_TENSOR & 1);
    case TSIM_PLAN_ORDER:
        return value == 0 || (s->splits >> TSIM_SPLIT_PIPELINE_INSIDE & 1);
    case TSIM_PLAN_OFFLOAD: /* the keys' bits are the profile's */
        return ((unsigned)value & ~s->offload) == 0;
    case TSIM_PLAN_RECOMPUTE: /* sqrt and {every: N} are full recomputation between fewer checkpoints */
        if (tsim_plan_recompute_mode(value) == TSIM_RECOMPUTE_EVERY && tsim_plan_recompute_layers(value) > 0)
            return s->recompute >> TSIM_RECOMPUTE_EVERY & 1;
        if (tsim_plan_recompute_parts(value) > 0)
            return (tsim_plan_recompute_parts(value) & ~s->recompute_parts) == 0;
        return tsim_is_in(s->recompute,
                          value < TSIM_RECOMPUTE_FULL ? value : TSIM_RECOMPUTE_FULL); /* also {layers: N} */
    case TSIM_PLAN_SCHEDULE:
        return tsim_is_in(s->schedules, value);
    case TSIM_PLAN_SEQUENCE:
        return value == 0 || runs_split(s, TSIM_SPLIT_SEQUENCE);
    case TSIM_PLAN_LAYERS:
        return value == 0 || runs_split(s, TSIM_SPLIT_UNEVEN_STAGES) || runs_split(s, TSIM_SPLIT_UNEVEN_ENDS);
    case TSIM_PLAN_OVERLAP:
        return value != TSIM_OVERLAP_OF_ANY;
    case TSIM_PLAN_MICRO_BATCH:
    case TSIM_N_PLAN_KEYS:
        break;
    }
    return true;
}

bool tsim_needs_sequence(const struct tsim_scenario *job) {
    enum tsim_model_class own = job->model->experts.count > 0 ? TSIM_MODELS_WITH_EXPERTS : TSIM_MODELS_DENSE;
    return job->software->supports.sequence_needed >> own & 1;
}

bool tsim_supports_zero(const struct tsim_supports *s, int64_t zero, bool is_staged) {
    return tsim_is_in(is_staged && s->zero_staged ? s->zero_staged : s->zero, zero);
}

static void check_splits(struct lacks *lacks, const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct {
        enum tsim_plan_key key;
        int64_t value;
        const char *what;
    } SPLITS[] = {{TSIM_PLAN_TENSOR, p->tensor, "tensor parallelism"},
                  {TSIM_PLAN_SEQUENCE, p->sequence && p->tensor > 1, "sequence parallelism"},
                  {TSIM_PLAN_PIPELINE, p->pipeline, "pipeline parallelism"},
                  {TSIM_PLAN_CONTEXT, p->context, "context parallelism"},
                  {TSIM_PLAN_EXPERT, p->expert, "expert parallelism"}};
    for (size_t i = 0; i < sizeof SPLITS / sizeof SPLITS[0]; i++)
        if (!tsim_supports_value(&sc->software->supports, SPLITS[i].key, SPLITS[i].value))
            lack(lacks, tsim_plan_key_path(SPLITS[i].key), NULL, "%s", SPLITS[i].what);
    enum tsim_split uneven = p->pipeline > 1 ? unevenness(&sc->software->supports, p) : TSIM_SPLIT_DATA;
    bool has_ends = tsim_has_equal_middle(&sc->software->supports);
    if (uneven != TSIM_SPLIT_DATA && !runs_split(&sc->software->supports, uneven) &&
        !runs_split(&sc->software->supports, TSIM_SPLIT_UNEVEN_STAGES))
        lack(lacks, tsim_plan_key_path(TSIM_PLAN_LAYERS),
             has_ends ? "a first and a last stage of a length of their own" : NULL, "uneven stages%s",
             has_ends && p->virtual_pipeline > 1 ? " of several chunks"
             : has_ends                          ? " between the first and the last"
                                                 : "");
}

static const char *stages_text(struct tsim_arena *arena, unsigned set) {
    const char *text = "";
    for (int zero = 0; zero <= 3; zero++)
        if (set >> zero & 1)
            text = tsim_arena_printf(arena, "%s%sZeRO-%d", text, *text ? ", " : "", zero);
    return text;
}

static void check_zero(struct lacks *lacks, const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct tsim_supports *s = &sc->software->supports;
    bool is_staged = p->pipeline > 1, runs_otherwise = tsim_supports_zero(s, p->zero, !is_staged);
    if (tsim_is_replicated(p, p->data) && !tsim_supports_zero(s, p->zero, is_staged))
        lack(lacks, "parallelism.zero",
             stages_text(lacks->arena, is_staged && s->zero_staged ? s->zero_staged : s->zero), "ZeRO-%d%s", p->zero,
             !runs_otherwise ? ""
             : is_staged     ? " with a pipeline"
                             : " without a pipeline");
}

/* Lists of parts are kinds of selective recomputation, which some software has for certain parts alone. */
static bool runs_recompute(const struct tsim_supports *s, const struct tsim_training_spec *t) {
    return (t->recompute_parts && (t->recompute_parts & ~s->recompute_parts) == 0) ||
           tsim_supports_value(s, TSIM_PLAN_RECOMPUTE, t->recompute);
}

size_t tsim_scenario_unsupported(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                 struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED]) {
    const struct tsim_supports *s = &sc->software->supports;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    struct lacks lacks = {arena, list, 0};
    check_splits(&lacks, sc);
    if (p->tensor > 1 && !p->sequence && tsim_needs_sequence(sc))
        lack(&lacks, "parallelism.sequence", "sequence: true", "tensor ranks without sequence parallelism");
    if (p->pipeline > 1 && !tsim_supports_value(s, TSIM_PLAN_SCHEDULE, p->schedule))
        lack(&lacks, "parallelism.schedule", tsim_words_text(arena, tsim_schedule_words, s->schedules), "schedule %s",
             tsim_schedule_name(p->schedule));
    check_zero(&lacks, sc);
    if (!runs_recompute(s, &sc->training))
        lack(&lacks, "training.recompute", NULL, "recompute: %s",
             tsim_recompute_name(sc->training.recompute < TSIM_RECOMPUTE_FULL ? sc->training.recompute
                                                                              : TSIM_RECOMPUTE_FULL));
    if (!tsim_is_in(s->precisions, sc->training.precision))
        lack(&lacks, "training.precision", tsim_words_text(arena, tsim_precision_words, s->precisions), "precision %s",
             tsim_precision_name(sc->training.precision));
    return lacks.n;
}
