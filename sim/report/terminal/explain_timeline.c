#include "report/terminal/explain_timeline.h"

#include "partition/partition.h"

#include <math.h>

/* ---- what the engine tells ---- */

struct task {
    enum tsim_task_kind kind;
    struct tsim_pass_item item; /* of passes and messages */
    int32_t to_stage;           /* of a message; else -1 */
    bool is_last_segment;       /* of a pass */
    int64_t message;            /* that is sent, or that a pass has waited for; -1: none */
    double begin_s, end_s;
};

struct stream {
    struct task *tasks; /* in order of time */
    int32_t n, capacity;
};

struct tsim_timeline_tasks {
    struct tsim_arena *arena;
    struct tsim_timeline timeline;
    int32_t first_group, n_replicas;
    bool bypasses_norm;
    struct stream *streams; /* [stage][stream] */
};

static struct stream *stream_of(const struct tsim_timeline_tasks *t, int32_t stage, int stream) {
    return &t->streams[stage * TSIM_N_STREAMS + stream];
}

static struct task *add_task(struct tsim_arena *arena, struct stream *stream) {
    stream->tasks = tsim_arena_grow(arena, stream->tasks, (size_t)stream->n, &stream->capacity, sizeof *stream->tasks);
    return &stream->tasks[stream->n++];
}

static bool is_same_pass(struct tsim_pass_item a, struct tsim_pass_item b) {
    return a.kind == b.kind && a.chunk == b.chunk && a.microbatch == b.microbatch;
}

/* Adds a pass, or a segment of the one under way. */
static void add_pass(struct tsim_timeline *timeline, int32_t stage, const struct tsim_step_task *told) {
    struct tsim_stage_slices *slices = &timeline->stages[stage];
    double busy_s = told->end_s - told->begin_s;
    if (slices->n == 0 || !is_same_pass(slices->slices[slices->n - 1].item, *told->item)) {
        TSIM_ASSERT(slices->n < tsim_schedule_n_items(&timeline->shape, stage));
        slices->slices[slices->n++] = (struct tsim_slice){.item = *told->item, .begin_s = told->begin_s};
    }
    struct tsim_slice *slice = &slices->slices[slices->n - 1];
    slice->end_s = told->end_s;
    slice->busy_s += busy_s;
    slices->busy_s += busy_s;
    timeline->end_s = fmax(timeline->end_s, told->end_s);
}

static void begin(void *context, const struct tsim_step_outline *outline) {
    struct tsim_timeline_tasks *t = context;
    t->n_replicas = outline->n_stage_groups / outline->n_stages;
    t->bypasses_norm = outline->bypasses_norm;
}

static void take(void *context, const struct tsim_step_task *told) {
    struct tsim_timeline_tasks *t = context;
    int32_t stage = told->stage_group - t->first_group;
    if (stage < 0 || stage >= t->timeline.shape.stages)
        return;
    if (told->kind == TSIM_TASK_PASS)
        add_pass(&t->timeline, stage, told);
    *add_task(t->arena, stream_of(t, stage, (int)told->stream)) =
        (struct task){.kind = told->kind == TSIM_TASK_GO ? (enum tsim_task_kind)told->segment : told->kind,
                      .item = told->item ? *told->item : (struct tsim_pass_item){0},
                      .to_stage = told->to_stage_group >= 0 ? told->to_stage_group - t->first_group : -1,
                      .is_last_segment = told->is_last_segment,
                      .message = told->message,
                      .begin_s = told->begin_s,
                      .end_s = told->end_s};
}

const struct tsim_timeline *tsim_timeline_listen(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                 int32_t replica, struct tsim_step_sink *sink) {
    struct tsim_timeline_tasks *t = TSIM_NEW(arena, struct tsim_timeline_tasks);
    struct tsim_timeline *timeline = &t->timeline;
    *timeline = (struct tsim_timeline){.shape = tsim_scenario_schedule(scenario), .tasks = t};
    const struct tsim_schedule_shape *shape = &timeline->shape;
    t->arena = arena;
    t->first_group = replica * shape->stages;
    t->streams = TSIM_NEW_ARRAY(arena, (size_t)shape->stages * TSIM_N_STREAMS, struct stream);
    timeline->stages = TSIM_NEW_ARRAY(arena, (size_t)shape->stages, struct tsim_stage_slices);
    for (int32_t s = 0; s < shape->stages; s++)
        timeline->stages[s].slices = TSIM_NEW_ARRAY(arena, (size_t)tsim_schedule_n_items(shape, s), struct tsim_slice);
    *sink = (struct tsim_step_sink){.begin = begin, .take = take, .context = t};
    return timeline;
}

/* ---- the path ---- */

/* A task of the replica, by its place. */
struct place {
    int32_t stage, stream, index; /* index -1: none */
};

struct walk {
    struct tsim_arena *arena;
    const struct tsim_timeline_tasks *tasks;
    struct tsim_path *path;
    int32_t capacity;
};

static const struct task *task_at(const struct tsim_timeline_tasks *t, struct place place) {
    return &stream_of(t, place.stage, place.stream)->tasks[place.index];
}

/* Returns the last task of the stream that ended at the time; index -1: none did. */
static struct place ended_at(const struct tsim_timeline_tasks *t, int32_t stage, int stream, double at_s) {
    const struct stream *of = stream_of(t, stage, stream);
    int32_t from = 0, until = of->n; /* all before `from` ended by then, none from `until` on */
    while (from < until) {
        int32_t middle = from + (until - from) / 2;
        if (of->tasks[middle].end_s <= at_s)
            from = middle + 1;
        else
            until = middle;
    }
    bool is_then = from > 0 && of->tasks[from - 1].end_s >= at_s;
    return (struct place){stage, stream, is_then ? from - 1 : -1};
}

static bool is_joined(enum tsim_task_kind kind) {
    return kind == TSIM_TASK_GATHER || kind == TSIM_TASK_REDUCE || kind == TSIM_TASK_TIED || kind == TSIM_TASK_NORM;
}

/* Returns the task that let the one at `place` begin: the one before it, a message to its stage, or what another of the
 * stage's streams did; if stages meet, what another stage did. */
static struct place cause_of(const struct tsim_timeline_tasks *t, struct place place) {
    const struct task *task = task_at(t, place), *before = place.index > 0 ? task - 1 : NULL;
    if (before && before->end_s >= task->begin_s)
        return (struct place){place.stage, place.stream, place.index - 1};
    for (int32_t s = 0; s < t->timeline.shape.stages; s++)
        for (int stream = 0; stream < TSIM_N_STREAMS; stream++) {
            struct place other = ended_at(t, s, stream, task->begin_s);
            if (other.index >= 0 && task_at(t, other)->kind == TSIM_TASK_SEND &&
                task_at(t, other)->to_stage == place.stage)
                return other;
        }
    for (int stream = 0; stream < TSIM_N_STREAMS; stream++) {
        struct place other = ended_at(t, place.stage, stream, task->begin_s);
        if (stream != place.stream && other.index >= 0)
            return other;
    }
    for (int32_t s = 0; s < t->timeline.shape.stages && is_joined(task->kind); s++)
        for (int stream = 0; stream < TSIM_N_STREAMS; stream++) {
            struct place other = ended_at(t, s, stream, task->begin_s);
            if (s != place.stage && other.index >= 0)
                return other;
        }
    return (struct place){place.stage, place.stream, -1};
}

static enum tsim_path_kind kind_of(enum tsim_task_kind kind) {
    switch (kind) {
    case TSIM_TASK_PASS:
    case TSIM_TASK_OPERATOR:
        return TSIM_PATH_PASSES;
    case TSIM_TASK_SEND:
        return TSIM_PATH_MESSAGE;
    case TSIM_TASK_GATHER:
        return TSIM_PATH_GATHER;
    case TSIM_TASK_REDUCE:
        return TSIM_PATH_REDUCE;
    case TSIM_TASK_TIED:
        return TSIM_PATH_TIED;
    case TSIM_TASK_NORM:
        return TSIM_PATH_NORM;
    case TSIM_TASK_OPTIMIZER:
        return TSIM_PATH_OPTIMIZER;
    case TSIM_TASK_INPUT:
        return TSIM_PATH_INPUT;
    case TSIM_TASK_COPY:
        return TSIM_PATH_COPY;
    case TSIM_TASK_GO:
        break;
    }
    TSIM_BUG("a task of kind %d", (int)kind);
}

static struct tsim_path_link *new_link(struct walk *w, struct tsim_path_link link) {
    struct tsim_path *path = w->path;
    path->links = tsim_arena_grow(w->arena, path->links, (size_t)path->n, &w->capacity, sizeof *path->links);
    path->links[path->n] = link;
    return &path->links[path->n++];
}

/* Returns the share of its pass's time that a segment takes. */
static double share_of_pass(const struct tsim_timeline *timeline, int32_t stage, const struct task *task) {
    const struct tsim_stage_slices *stage_slices = &timeline->stages[stage];
    int32_t from = 0, until = stage_slices->n; /* the last slice that begins by then is between them */
    while (until - from > 1) {
        int32_t middle = from + (until - from) / 2;
        if (stage_slices->slices[middle].begin_s <= task->begin_s)
            from = middle;
        else
            until = middle;
    }
    const struct tsim_slice *slice = &stage_slices->slices[from];
    return slice->busy_s > 0 ? (task->end_s - task->begin_s) / slice->busy_s : 0;
}

/* Adds the task, from `from_s` on, to the link that comes after it, or as a link of its own before that. */
static void add_to_path(struct walk *w, struct place place, double from_s) {
    const struct tsim_timeline *timeline = &w->tasks->timeline;
    const struct task *task = task_at(w->tasks, place);
    enum tsim_path_kind kind = kind_of(task->kind);
    struct tsim_path_link *link = w->path->n > 0 ? &w->path->links[w->path->n - 1] : NULL;
    bool is_same_stage = link && link->stage == place.stage,
         is_in_line = kind == TSIM_PATH_MESSAGE && place.stream == TSIM_STREAM_COMPUTE && is_same_stage &&
                      link->kind == TSIM_PATH_PASSES;
    if (!is_in_line && (!is_same_stage || link->kind != kind))
        link = new_link(w, (struct tsim_path_link){.kind = kind, .stage = place.stage, .to_stage = task->to_stage});
    link->begin_s = fmax(task->begin_s, from_s);
    link->time_s += task->end_s - link->begin_s;
    link->sends |= is_in_line;
    if (task->kind != TSIM_TASK_PASS)
        return;
    link->counts[task->item.kind] += task->is_last_segment;
    w->path->passes[(place.stage * timeline->shape.chunks + task->item.chunk) * TSIM_N_PASS_KINDS +
                    (int)task->item.kind] += share_of_pass(timeline, place.stage, task);
}

/* Goes from the task back to `from_s`. A task that nothing of the replica let begin has waited for another replica,
 * from the end of the task before it on its stream. */
static void walk_back(struct walk *w, struct place place, double from_s) {
    const struct tsim_timeline_tasks *t = w->tasks;
    for (const struct task *task = task_at(t, place); task->end_s > from_s; task = task_at(t, place)) {
        add_to_path(w, place, from_s);
        if (!(task->begin_s > from_s))
            return;
        struct place cause = cause_of(t, place);
        if (cause.index < 0) {
            double before_s = place.index > 0 ? fmax(task[-1].end_s, from_s) : from_s;
            if (t->n_replicas > 1 && is_joined(task->kind))
                new_link(w, (struct tsim_path_link){.kind = TSIM_PATH_REPLICAS,
                                                    .stage = place.stage,
                                                    .begin_s = before_s,
                                                    .time_s = task->begin_s - before_s});
            if (place.index == 0)
                return;
            cause = (struct place){place.stage, place.stream, place.index - 1};
        }
        place = cause;
    }
}

static void reverse(struct tsim_path *path) {
    for (int32_t i = 0, j = path->n - 1; i < j; i++, j--) {
        struct tsim_path_link link = path->links[i];
        path->links[i] = path->links[j];
        path->links[j] = link;
    }
}

/* Returns the last task of all, of equals that of the first stream. */
static struct place last_task(const struct tsim_timeline_tasks *t) {
    struct place last = {0, 0, -1};
    double end_s = -1;
    for (int32_t s = 0; s < t->timeline.shape.stages; s++)
        for (int stream = 0; stream < TSIM_N_STREAMS; stream++) {
            const struct stream *of = stream_of(t, s, stream);
            if (of->n == 0 || of->tasks[of->n - 1].end_s <= end_s)
                continue;
            end_s = of->tasks[of->n - 1].end_s;
            last = (struct place){s, stream, of->n - 1};
        }
    TSIM_ASSERT(last.index >= 0);
    return last;
}

/* Returns when the message came that the stage's first pass waited for; 0: it waited for none. */
static double first_begin_s(const struct tsim_timeline_tasks *t, int32_t stage) {
    int64_t message = -1;
    for (int32_t i = 0; i < stream_of(t, stage, TSIM_STREAM_COMPUTE)->n && message < 0; i++) {
        const struct task *task = &stream_of(t, stage, TSIM_STREAM_COMPUTE)->tasks[i];
        if (task->kind != TSIM_TASK_PASS)
            continue;
        if (task->message < 0)
            return 0;
        message = task->message;
    }
    for (int i = 0; i < t->timeline.shape.stages * TSIM_N_STREAMS; i++)
        for (int32_t k = 0; k < t->streams[i].n; k++)
            if (t->streams[i].tasks[k].kind == TSIM_TASK_SEND && t->streams[i].tasks[k].message == message)
                return t->streams[i].tasks[k].end_s;
    return 0;
}

/* Walks the longest stage. If stages work shifted against each other, the step is that stage's own. */
static void walk_longest_stage(struct walk *w, double time_s) {
    const struct tsim_timeline_tasks *t = w->tasks;
    int32_t longest = 0;
    double longest_s = -1, from_s = 0;
    for (int32_t s = 0; s < t->timeline.shape.stages; s++) {
        const struct stream *compute = stream_of(t, s, TSIM_STREAM_COMPUTE);
        double begin_s = first_begin_s(t, s), own_s = compute->tasks[compute->n - 1].end_s - begin_s;
        if (own_s <= longest_s)
            continue;
        longest_s = own_s;
        longest = s;
        from_s = begin_s;
    }
    if (longest_s < time_s - TSIM_STEP_TICK_S)
        new_link(w, (struct tsim_path_link){.kind = TSIM_PATH_DATA_BUSY, .stage = longest, .time_s = time_s});
    else
        walk_back(w, (struct place){longest, TSIM_STREAM_COMPUTE, stream_of(t, longest, TSIM_STREAM_COMPUTE)->n - 1},
                  from_s);
}

/* The step is over when the last replica is. */
static void walk_all(struct walk *w, double time_s) {
    struct place last = last_task(w->tasks);
    double end_s = task_at(w->tasks, last)->end_s;
    if (w->tasks->n_replicas > 1 && time_s > end_s)
        new_link(w, (struct tsim_path_link){
                        .kind = TSIM_PATH_REPLICAS, .stage = last.stage, .begin_s = end_s, .time_s = time_s - end_s});
    walk_back(w, last, 0);
}

void tsim_timeline_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, double time_s,
                        struct tsim_path *path) {
    const struct tsim_schedule_shape *shape = &timeline->shape;
    struct walk w = {.arena = arena, .tasks = timeline->tasks, .path = path};
    *path = (struct tsim_path){
        .passes = TSIM_NEW_ARRAY(arena, (size_t)(shape->stages * shape->chunks) * TSIM_N_PASS_KINDS, double)};
    if (timeline->tasks->bypasses_norm)
        walk_longest_stage(&w, time_s);
    else
        walk_all(&w, time_s);
    reverse(path);
}
