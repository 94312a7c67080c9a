#include "config/supports.h"

#include "config/catalogue_read.h"
#include "config/rules.h"

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

/* A list of the scenario's in which some stage holds more than another, or a balanced one. */
static bool is_uneven(const struct tsim_parallelism_spec *p) {
    if (p->balances || !p->says_layers)
        return p->balances;
    for (int64_t i = 1; i < tsim_n_model_parts(p); i++)
        if (p->layers_per_chunk[i] != p->layers_per_chunk[0])
            return true;
    return false;
}

static void check_splits(struct lacks *lacks, const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct {
        enum tsim_split split;
        bool is_used;
        const char *path, *what;
    } SPLITS[] = {
        {TSIM_SPLIT_TENSOR, p->tensor > 1, "parallelism.tensor", "tensor parallelism"},
        {TSIM_SPLIT_SEQUENCE, p->sequence && p->tensor > 1, "parallelism.sequence", "sequence parallelism"},
        {TSIM_SPLIT_PIPELINE, p->pipeline > 1, "parallelism.pipeline", "pipeline parallelism"},
        {TSIM_SPLIT_UNEVEN_STAGES, p->pipeline > 1 && is_uneven(p), "parallelism.layers_per_stage", "uneven stages"},
        {TSIM_SPLIT_CONTEXT, p->context > 1, "parallelism.context", "context parallelism"},
        {TSIM_SPLIT_EXPERT, p->expert > 1, "parallelism.expert", "expert parallelism"}};
    for (size_t i = 0; i < sizeof SPLITS / sizeof SPLITS[0]; i++)
        if (SPLITS[i].is_used && !tsim_is_in(sc->software->supports.splits, SPLITS[i].split))
            lack(lacks, SPLITS[i].path, NULL, "%s", SPLITS[i].what);
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
    unsigned set = p->pipeline > 1 && s->zero_staged ? s->zero_staged : s->zero;
    if (p->data * p->context > 1 && !tsim_is_in(set, p->zero))
        lack(lacks, "parallelism.zero", stages_text(lacks->arena, set), "ZeRO-%d%s", p->zero,
             tsim_is_in(s->zero, p->zero) ? " with a pipeline" : "");
}

size_t tsim_scenario_unsupported(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                 struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED]) {
    const struct tsim_supports *s = &sc->software->supports;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    enum tsim_recompute recompute = sc->training.recompute;
    struct lacks lacks = {arena, list, 0};
    check_splits(&lacks, sc);
    if (p->pipeline > 1 && !tsim_is_in(s->schedules, p->schedule))
        lack(&lacks, "parallelism.schedule", tsim_words_text(arena, tsim_schedule_words, s->schedules), "schedule %s",
             tsim_schedule_name(p->schedule));
    check_zero(&lacks, sc);
    if (recompute > TSIM_RECOMPUTE_FULL)
        recompute = TSIM_RECOMPUTE_FULL;
    if (!tsim_is_in(s->recompute, recompute))
        lack(&lacks, "training.recompute", NULL, "recompute: %s", tsim_recompute_name(recompute));
    if (!tsim_is_in(s->precisions, sc->training.precision))
        lack(&lacks, "training.precision", tsim_words_text(arena, tsim_precision_words, s->precisions), "precision %s",
             tsim_precision_name(sc->training.precision));
    return lacks.n;
}
