#include "config/plan_choice.h"

#include "config/draft/rules.h"
#include "config/files/catalogue_read.h"
#include "config/keys/enum_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tsim_word SWITCH[] = {{"false", 0}, {"true", 1}, {NULL, 0}};
static const struct tsim_word ORDERS[] = {{"as said", 0}, {"pipeline inside data", 1}, {NULL, 0}};
static const struct tsim_word OFFLOADS[] = {
    {"as said", 0},
    {"{optimizer: true}", TSIM_PLAN_OFFLOADS_OPTIMIZER},
    {"{activations: 1}", TSIM_PLAN_OFFLOADS_ACTIVATIONS},
    {"{optimizer: true, activations: 1}", TSIM_PLAN_OFFLOADS_OPTIMIZER | TSIM_PLAN_OFFLOADS_ACTIVATIONS},
    {NULL, 0}};
static const struct tsim_word OVERLAPS[] = {{"as said", TSIM_OVERLAP_AS_SAID},
                                            {"all of the software", TSIM_OVERLAP_OF_SOFTWARE},
                                            {"all of any software", TSIM_OVERLAP_OF_ANY},
                                            {NULL, 0}};
static const struct tsim_word LAYERS[] = {{"auto", 0}, {"balance", 1}, {NULL, 0}};

/* `least` and `most` are of what a search can try: recompute without sqrt. */
static const struct {
    const char *path;
    int64_t least, most;
    const struct tsim_word *words;
} KEYS[TSIM_N_PLAN_KEYS] = {
    [TSIM_PLAN_TENSOR] = {"parallelism.tensor", 1, 1000000, NULL},
    [TSIM_PLAN_PIPELINE] = {"parallelism.pipeline", 1, 1000000, NULL},
    [TSIM_PLAN_VIRTUAL] = {"parallelism.virtual_pipeline", 1, 1000000, NULL},
    [TSIM_PLAN_CONTEXT] = {"parallelism.context", 1, 1000000, NULL},
    [TSIM_PLAN_EXPERT] = {"parallelism.expert", 1, 1000000, NULL},
    [TSIM_PLAN_EXPERT_TENSOR] = {"parallelism.expert_tensor", 0, 1000000, NULL},
    [TSIM_PLAN_ZERO] = {"parallelism.zero", 0, 3, NULL},
    [TSIM_PLAN_MICRO_BATCH] = {"training.micro_batch_size", 1, 1000000, NULL},
    [TSIM_PLAN_RECOMPUTE] = {"training.recompute", 0, TSIM_RECOMPUTE_FULL, tsim_recompute_words},
    [TSIM_PLAN_SCHEDULE] = {"parallelism.schedule", 0, TSIM_SCHEDULE_DUALPIPE, tsim_schedule_words},
    [TSIM_PLAN_SEQUENCE] = {"parallelism.sequence", 0, 1, SWITCH},
    [TSIM_PLAN_OVERLAP] = {"parallelism.overlap", TSIM_OVERLAP_AS_SAID, TSIM_OVERLAP_OF_ANY, OVERLAPS},
    [TSIM_PLAN_LAYERS] = {"parallelism.layers_per_stage", 0, 1, LAYERS},
    [TSIM_PLAN_ORDER] = {"parallelism.order", 0, 1, ORDERS},
    [TSIM_PLAN_OFFLOAD] = {"training.offload", 0, 3, OFFLOADS},
};

/* ---- what is recomputed ---- */

enum { PART_BITS = 8, EVERY_BITS = 16 };

int64_t tsim_plan_recompute_value(enum tsim_recompute mode, unsigned parts, int64_t every) {
    return (int64_t)mode | (int64_t)parts << PART_BITS | every << EVERY_BITS;
}

enum tsim_recompute tsim_plan_recompute_mode(int64_t value) {
    return (enum tsim_recompute)(value & ((1 << PART_BITS) - 1));
}

unsigned tsim_plan_recompute_parts(int64_t value) {
    return (unsigned)(value >> PART_BITS & ((1 << (EVERY_BITS - PART_BITS)) - 1));
}

int64_t tsim_plan_recompute_layers(int64_t value) {
    return value >> EVERY_BITS;
}

static const char *recompute_text(struct tsim_arena *arena, int64_t value) {
    unsigned parts = tsim_plan_recompute_parts(value);
    if (tsim_plan_recompute_layers(value) > 0)
        return tsim_arena_printf(arena, "{%s: %lld}", tsim_recompute_name(tsim_plan_recompute_mode(value)),
                                 (long long)tsim_plan_recompute_layers(value));
    if (parts == 0)
        return tsim_recompute_name(tsim_plan_recompute_mode(value));
    return tsim_arena_printf(arena, "[%s]", tsim_words_text(arena, tsim_recompute_part_words, parts));
}

/* Reads "[norms, ffn]", "{every: 4}" or "{layers: 8}". */
static bool read_fine_recompute(const char *text, int64_t *value) {
    long long n;
    int end = 0;
    unsigned parts = 0;
    char word[8];
    if (sscanf(text, " { %7[a-z] : %lld } %n", word, &n, &end) == 2 && end > 0 && text[end] == '\0') {
        bool has_layers = strcmp(word, "layers") == 0;
        *value = tsim_plan_recompute_value(has_layers ? TSIM_RECOMPUTE_LAYERS : TSIM_RECOMPUTE_EVERY, 0, n);
        return (has_layers || strcmp(word, "every") == 0) && n >= 1 && n <= 100000;
    }
    if (*text++ != '[')
        return false;
    while (*text && *text != ']') {
        size_t length = strcspn(text, ", ]");
        const struct tsim_word *part = tsim_recompute_part_words;
        while (part->word && (strlen(part->word) != length || strncmp(part->word, text, length) != 0))
            part++;
        if (!part->word)
            return false;
        parts |= 1u << part->value;
        text += length;
        text += strspn(text, ", ");
    }
    *value = tsim_plan_recompute_value(TSIM_RECOMPUTE_SELECTIVE, parts, 0);
    return parts != 0 && strcmp(text, "]") == 0;
}

/* ---- keys ---- */

const char *tsim_plan_key_path(enum tsim_plan_key key) {
    return KEYS[key].path;
}

bool tsim_plan_key_find(const char *path, enum tsim_plan_key *key) {
    for (int i = 0; i < TSIM_PLAN_ORDER; i++) /* this, the two after it and overlap are axes over candidates */
        if (i != TSIM_PLAN_OVERLAP && strcmp(KEYS[i].path, path) == 0) {
            *key = (enum tsim_plan_key)i;
            return true;
        }
    return false;
}

bool tsim_plan_key_has_words(enum tsim_plan_key key) {
    return KEYS[key].words != NULL;
}

const char *tsim_plan_key_text(struct tsim_arena *arena, enum tsim_plan_key key, int64_t value) {
    if (key == TSIM_PLAN_RECOMPUTE)
        return recompute_text(arena, value);
    return KEYS[key].words ? tsim_word_of(KEYS[key].words, (int)value)
                           : tsim_arena_printf(arena, "%lld", (long long)value);
}

bool tsim_plan_key_read(enum tsim_plan_key key, const char *text, int64_t *value) {
    if (!KEYS[key].words) {
        char *end;
        *value = strtoll(text, &end, 10);
        return *end == '\0' && end > text && *value >= KEYS[key].least && *value <= KEYS[key].most;
    }
    for (*value = KEYS[key].least; *value <= KEYS[key].most; ++*value)
        if (strcmp(tsim_word_of(KEYS[key].words, (int)*value), text) == 0)
            return true;
    return key == TSIM_PLAN_RECOMPUTE && read_fine_recompute(text, value);
}

void tsim_plan_pipeline_inside(const enum tsim_axis order[TSIM_N_AXES], enum tsim_axis inside[TSIM_N_AXES]) {
    size_t n = 0;
    for (size_t i = 0; i < TSIM_N_AXES; i++) {
        if (order[i] == TSIM_AXIS_DATA)
            inside[n++] = TSIM_AXIS_PIPELINE;
        if (order[i] != TSIM_AXIS_PIPELINE)
            inside[n++] = order[i];
    }
}

/* ---- refusals by numbers alone ---- */

static struct tsim_parallelism_spec split_of(const struct tsim_plan_choice *choice) {
    return (struct tsim_parallelism_spec){.tensor = choice->value[TSIM_PLAN_TENSOR],
                                          .pipeline = choice->value[TSIM_PLAN_PIPELINE],
                                          .virtual_pipeline = choice->value[TSIM_PLAN_VIRTUAL],
                                          .context = choice->value[TSIM_PLAN_CONTEXT],
                                          .schedule = (enum tsim_schedule)choice->value[TSIM_PLAN_SCHEDULE]};
}

struct tsim_plan_choice tsim_plan_of(const struct tsim_scenario *scenario) {
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    const struct tsim_training_spec *training = &scenario->training;
    return (struct tsim_plan_choice){
        .value = {[TSIM_PLAN_TENSOR] = p->tensor,
                  [TSIM_PLAN_PIPELINE] = p->pipeline,
                  [TSIM_PLAN_VIRTUAL] = p->virtual_pipeline,
                  [TSIM_PLAN_CONTEXT] = p->context,
                  [TSIM_PLAN_EXPERT] = p->expert,
                  [TSIM_PLAN_EXPERT_TENSOR] = p->expert_tensor,
                  [TSIM_PLAN_ZERO] = p->zero,
                  [TSIM_PLAN_MICRO_BATCH] = training->micro_batch_size,
                  [TSIM_PLAN_SCHEDULE] = p->schedule,
                  [TSIM_PLAN_SEQUENCE] = p->sequence,
                  [TSIM_PLAN_RECOMPUTE] = tsim_plan_recompute_value(training->recompute, training->recompute_parts,
                                                                    training->recompute == TSIM_RECOMPUTE_LAYERS
                                                                        ? training->recompute_layers
                                                                        : training->recompute_every)}};
}

int64_t tsim_plan_data(const struct tsim_scenario *job, const struct tsim_plan_choice *choice) {
    struct tsim_parallelism_spec p = split_of(choice);
    return job->n_accelerators / tsim_n_model_ranks(&p);
}

enum tsim_plan_key tsim_plan_refused_at(const struct tsim_scenario *job, const struct tsim_plan_choice *choice) {
    struct tsim_parallelism_spec p = split_of(choice);
    p.context = 1;
    if (!tsim_ranks_divide(&p, job->n_accelerators))
        return TSIM_PLAN_PIPELINE;
    p.schedule = TSIM_SCHEDULE_INTERLEAVED; /* the one that takes chunks */
    if (!tsim_chunks_work(&p))
        return TSIM_PLAN_VIRTUAL;
    p = split_of(choice);
    if (!tsim_ranks_divide(&p, job->n_accelerators))
        return TSIM_PLAN_CONTEXT;
    if (!tsim_batch_divides(job->training.global_batch_size, choice->value[TSIM_PLAN_MICRO_BATCH],
                            job->n_accelerators / tsim_n_model_ranks(&p)))
        return TSIM_PLAN_MICRO_BATCH;
    p.schedule_microbatches = job->parallelism.schedule_microbatches;
    return tsim_chunks_work(&p) && tsim_runs_work(job->software, &p) ? TSIM_N_PLAN_KEYS : TSIM_PLAN_SCHEDULE;
}

/* ---- what is hidden ---- */

static bool *flag_of(struct tsim_overlap *overlap, size_t i) {
    return (bool *)((char *)overlap + tsim_overlap_table.keys[i].offset);
}

const char *tsim_overlap_name(size_t bit) {
    return bit < tsim_overlap_table.n_keys ? tsim_overlap_table.keys[bit].key : NULL;
}

void tsim_overlap_add(struct tsim_overlap *overlap, unsigned bits) {
    for (size_t i = 0; i < tsim_overlap_table.n_keys; i++)
        *flag_of(overlap, i) |= bits >> i & 1;
}

static unsigned bits_of(struct tsim_overlap overlap) {
    unsigned bits = 0;
    for (size_t i = 0; i < tsim_overlap_table.n_keys; i++)
        bits |= (unsigned)*flag_of(&overlap, i) << i;
    return bits;
}

/* Returns what can be hidden under a schedule and is not as the job says it; a software that lists nothing can all. */
static unsigned more_overlap(const struct tsim_scenario *job, enum tsim_plan_overlap overlap,
                             const struct tsim_plan_choice *choice) {
    static const struct tsim_overlap ALL = {true, true, true, true, true, true};
    const struct tsim_software *software = job->software;
    const struct tsim_parallelism_spec *p = &job->parallelism;
    int64_t chunks = choice->value[TSIM_PLAN_VIRTUAL], schedule = choice->value[TSIM_PLAN_SCHEDULE];
    bool is_any = overlap == TSIM_OVERLAP_OF_ANY || !software->supports.splits;
    struct tsim_overlap said = p->overlap, can = is_any ? ALL : software->overlap, also = software->supports.overlap;
    if (overlap == TSIM_OVERLAP_AS_SAID || job->cluster.node->accelerator->execution == TSIM_EXECUTION_BULK_SYNCHRONOUS)
        return 0;
    if (!p->says_overlap_pipeline)
        said.pipeline = tsim_hides_messages(software, chunks, (int)schedule);
    if (!p->says_overlap_expert)
        said.expert = tsim_hides_exchanges(software, (int)schedule);
    if (overlap == TSIM_OVERLAP_OF_SOFTWARE && tsim_sends_in_turns(software, chunks, (int)schedule)) {
        can.pipeline = also.pipeline = false;
        if (choice->value[TSIM_PLAN_PIPELINE] > 1)
            can.expert = also.expert = false;
    }
    if (!tsim_has_tensor_overlap(job->training.precision))
        can.tensor = also.tensor = false;
    if (job->model->experts.count == 0)
        can.expert = also.expert = false;
    return (bits_of(can) | bits_of(also)) & ~bits_of(said);
}

bool tsim_may_overlap_more(const struct tsim_scenario *job, enum tsim_plan_overlap overlap) {
    const struct tsim_plan_choice plain = {
        .value = {[TSIM_PLAN_VIRTUAL] = 1, [TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_1F1B}};
    const struct tsim_plan_choice chunks = {
        .value = {[TSIM_PLAN_VIRTUAL] = 2, [TSIM_PLAN_SCHEDULE] = TSIM_SCHEDULE_INTERLEAVED}};
    return more_overlap(job, overlap, &plain) || more_overlap(job, overlap, &chunks);
}

unsigned tsim_plan_more_overlap(const struct tsim_scenario *job, const struct tsim_plan_choice *choice) {
    struct tsim_parallelism_spec p = split_of(choice);
    enum tsim_schedule played = tsim_played_schedule(&p);
    p.data = tsim_plan_data(job, choice);
    bool is_replicated = tsim_is_replicated(&p, p.data), is_split = p.tensor > 1;
    const struct tsim_overlap used = {.gradients = is_replicated,
                                      .parameters = is_replicated && choice->value[TSIM_PLAN_ZERO] > 0,
                                      .tensor = is_split && choice->value[TSIM_PLAN_SEQUENCE],
                                      .tensor_backward = is_split && !job->parallelism.overlap.tensor,
                                      .pipeline = p.pipeline > 1,
                                      .expert = choice->value[TSIM_PLAN_EXPERT] > 1 && played != TSIM_SCHEDULE_GPIPE &&
                                                played != TSIM_SCHEDULE_SEQUENTIAL};
    return more_overlap(job, (enum tsim_plan_overlap)choice->value[TSIM_PLAN_OVERLAP], choice) & bits_of(used);
}

/* Returns whether software with one more value of overlap hides no more than without it. */
static bool hides_no_more(const struct tsim_scenario *job, const struct tsim_plan_choice *choice) {
    struct tsim_plan_choice less = *choice;
    less.value[TSIM_PLAN_OVERLAP]--;
    return choice->value[TSIM_PLAN_OVERLAP] == TSIM_OVERLAP_AS_SAID ||
           tsim_plan_more_overlap(job, choice) == tsim_plan_more_overlap(job, &less);
}

bool tsim_plan_key_is_idle(const struct tsim_scenario *job, const struct tsim_plan_choice *choice,
                           enum tsim_plan_key key) {
    struct tsim_parallelism_spec p = split_of(choice);
    p.data = tsim_plan_data(job, choice);
    switch (key) {
    case TSIM_PLAN_ZERO:
        return !tsim_is_replicated(&p, p.data);
    case TSIM_PLAN_SEQUENCE:
        return p.tensor == 1;
    case TSIM_PLAN_OVERLAP:
        return hides_no_more(job, choice);
    case TSIM_PLAN_EXPERT_TENSOR:
        return p.tensor == 1 || job->model->experts.count == 0;
    case TSIM_PLAN_ORDER: /* the pipeline's ranks may be inside already */
        for (size_t i = 0; i < TSIM_N_AXES && job->parallelism.order[i] != TSIM_AXIS_DATA; i++)
            if (job->parallelism.order[i] == TSIM_AXIS_PIPELINE)
                return true;
        return p.pipeline == 1 || p.data == 1;
    case TSIM_PLAN_SCHEDULE:
    case TSIM_PLAN_LAYERS:
        return p.pipeline == 1;
    default:
        return false;
    }
}

enum tsim_schedule tsim_plan_played_schedule(const struct tsim_plan_choice *choice) {
    struct tsim_parallelism_spec p = split_of(choice);
    return tsim_played_schedule(&p);
}
