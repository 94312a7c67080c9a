#include "study/judge/kernel_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct operator_name {
    const char *name, *phase; /* as the step tells them */
    const char *text;         /* "ffn up (forward)" */
    enum tsim_kernel_class class;
};

struct told {
    int32_t stage_group;
    uint32_t name;
    double begin_s, time_s;
};

struct tsim_operator_sequence {
    struct tsim_arena *arena;
    struct operator_name *names; /* heap */
    size_t n_names, names_capacity;
    struct told *told; /* heap */
    size_t n_told, told_capacity;
    int32_t n_stages;
    struct tsim_step_sink sink;
};

/* ---- listening ---- */

static void begin(void *context, const struct tsim_step_outline *outline) {
    struct tsim_operator_sequence *s = context;
    s->n_stages = outline->n_stages;
    s->n_told = 0;
}

/* Replicas do alike: the first is enough. */
static bool wants(void *context, int32_t stage_group) {
    const struct tsim_operator_sequence *s = context;
    return stage_group < s->n_stages;
}

static uint32_t name_of(struct tsim_operator_sequence *s, const struct tsim_step_task *task) {
    const char *name = task->op ? task->op->name : "optimizer", *phase = task->op ? task->op->phase : "";
    for (size_t i = 0; i < s->n_names; i++)
        if (s->names[i].name == name && s->names[i].phase == phase)
            return (uint32_t)i;
    s->names = tsim_heap_grow(s->names, &s->names_capacity, s->n_names + 1, sizeof *s->names);
    const char *text = task->op ? tsim_arena_printf(s->arena, "%s (%s)", name, phase) : name;
    s->names[s->n_names] = (struct operator_name){
        name, phase, text, tsim_operator_class(text, task->stream == TSIM_STREAM_COMPUTE, task->flops)};
    return (uint32_t)s->n_names++;
}

static void take(void *context, const struct tsim_step_task *task) {
    struct tsim_operator_sequence *s = context;
    bool is_kernel = task->op ? task->op->bound != TSIM_BOUND_HOST : task->kind == TSIM_TASK_OPTIMIZER;
    if (!is_kernel || !wants(s, task->stage_group))
        return;
    s->told = tsim_heap_grow(s->told, &s->told_capacity, s->n_told + 1, sizeof *s->told);
    s->told[s->n_told++] =
        (struct told){task->stage_group, name_of(s, task), task->begin_s, task->end_s - task->begin_s};
}

struct tsim_operator_sequence *tsim_operator_sequence_new(struct tsim_arena *arena) {
    struct tsim_operator_sequence *s = TSIM_NEW(arena, struct tsim_operator_sequence);
    *s = (struct tsim_operator_sequence){
        .arena = arena, .sink = {.begin = begin, .take = take, .context = s, .wants_operators = wants}};
    return s;
}

const struct tsim_step_sink *tsim_operator_sequence_sink(struct tsim_operator_sequence *sequence) {
    return &sequence->sink;
}

/* ---- pairing ---- */

/* Orders by stage group, then by beginning. */
static int by_beginning(const void *a, const void *b) {
    const struct told *x = a, *y = b;
    if (x->stage_group != y->stage_group)
        return x->stage_group < y->stage_group ? -1 : 1;
    return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

static int by_measured(const void *a, const void *b) {
    const struct tsim_kernel_pair *x = a, *y = b;
    if (x->measured_s != y->measured_s)
        return (x->measured_s < y->measured_s) - (x->measured_s > y->measured_s);
    return strcmp(x->op, y->op);
}

/* Returns the stage group's operators of a class; returns how many. */
static size_t operators_of(const struct tsim_operator_sequence *s, int32_t stage_group, enum tsim_kernel_class class,
                           const struct told **out) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_told; i++)
        if (s->told[i].stage_group == stage_group && s->names[s->told[i].name].class == class)
            out[n++] = &s->told[i];
    return n;
}

/* The kernel that most of an operator's are, where most are one: of two that differ, each takes the other away. */
struct majority {
    uint32_t kernel;
    size_t votes;
};

static void vote(struct majority *m, uint32_t kernel) {
    if (m->votes == 0)
        m->kernel = kernel;
    m->votes += m->kernel == kernel ? 1 : (size_t)-1;
}

static void pair_class(const struct tsim_profile *p, const struct tsim_operator_sequence *s, const struct told **ops,
                       size_t n_ops, enum tsim_kernel_class class, struct tsim_kernel_pair *by_name,
                       struct majority *kernels) {
    size_t at = 0;
    for (size_t i = 0; i < p->n_events; i++) {
        const struct tsim_profiled_kernel *event = &p->events[i];
        if (p->kernels[event->kernel].class != class)
            continue;
        const struct told *op = ops[at++ % n_ops];
        struct tsim_kernel_pair *pair = &by_name[op->name];
        pair->op = s->names[op->name].text;
        pair->class = class;
        pair->count += 1 / p->n_steps;
        pair->measured_s += event->time_s / p->n_steps;
        pair->predicted_s += op->time_s / p->n_steps;
        vote(&kernels[op->name], event->kernel);
    }
}

void tsim_kernel_pairs_find(struct tsim_arena *arena, const struct tsim_profile *profile,
                            struct tsim_operator_sequence *s, int32_t stage_group, struct tsim_kernel_pairs *pairs) {
    const struct told **ops = TSIM_NEW_ARRAY(arena, s->n_told + 1, const struct told *);
    struct majority *kernels = TSIM_NEW_ARRAY(arena, s->n_names + 1, struct majority);
    *pairs = (struct tsim_kernel_pairs){.items = TSIM_NEW_ARRAY(arena, s->n_names + 1, struct tsim_kernel_pair)};
    if (s->n_told > 1)
        qsort(s->told, s->n_told, sizeof *s->told, by_beginning);
    for (int class = 0; class < TSIM_N_KERNEL_CLASSES; class ++) {
        size_t n = s->n_told > 0 ? operators_of(s, stage_group % s->n_stages, (enum tsim_kernel_class) class, ops) : 0;
        pairs->has_class[class] = n > 0 && fabs(profile->class_count[class] - (double)n) < 0.5 / profile->n_steps;
        if (pairs->has_class[class])
            pair_class(profile, s, ops, n, (enum tsim_kernel_class) class, pairs->items, kernels);
    }
    for (size_t i = 0; i < s->n_names; i++)
        if (pairs->items[i].count > 0) {
            pairs->items[i].kernel = profile->kernels[kernels[i].kernel].name;
            pairs->items[pairs->n++] = pairs->items[i];
        }
    if (pairs->n > 1)
        qsort(pairs->items, pairs->n, sizeof *pairs->items, by_measured);
    tsim_heap_free(s->told);
    tsim_heap_free(s->names);
}
