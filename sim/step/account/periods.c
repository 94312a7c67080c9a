#include "step/account/periods.h"

#include "step/account/account.h"

#include <string.h>

/* Beyond MOST_WORDS all that was written down is forgotten. Words are not written before there are SOME_MOMENTS. A
 * moment is compared with at most MOST_LIKE moments with its signature, the latest first. */
enum { MOST_MOMENTS = 256, SOME_MOMENTS = 3, MOST_WORDS = 1 << 20, MOST_NOTES = 1 << 17, MOST_TRIES = 4 };

/* Pass by pass, a period of a whole group is recognized when it comes the third time: it is signed, written down, and
 * then compared. */
enum { KEPT_GROUPS = 4 };

/* The least number of groups, each of as many micro-batches as lie between two looks at the schedule. The first group
 * begins alone, the last ends alone, and two must be seen to be alike; those in between can be left out. */
enum { LEAST_GROUPS = 5 };

/* The positions of a stage group's programs, as numbers of items of the whole schedule, which move on from period to
 * period. AT_OLDEST is the earliest that still matters. */
enum place {
    AT_ITEM,
    AT_UNIT,
    AT_OLDEST,
    AT_NEXT, /* by stream (next_item) */
    AT_LABELS = AT_NEXT + TSIM_N_STREAMS,
    N_PLACES = AT_LABELS + TSIM_N_STREAMS
};

/* A moment. Times and counts are those of the whole step, with what was left out. Lists of any length are in the
 * logs. */
struct moment {
    size_t state_at, n_words; /* what must be the same; n_words 0: it was not written down */
    tsim_tick now;
    int64_t n_events;
    size_t n_noted;
    size_t places_at; /* by stage group */
    size_t sums_at;   /* totals by stage group, and what flowed by resource */
};

struct tsim_periods {
    struct tsim_engine *engine;
    struct tsim_stage_group *stage_groups;
    int32_t n_stage_groups, last_microbatch;
    bool is_interleaved, goes_by_passes;
    struct moment *moments;
    size_t most_moments;
    uint64_t *signatures; /* of the moments, in a row: they are looked through each time */
    size_t n_moments;
    struct tsim_words states, sums; /* of all moments; states also has, at its end, that of the present */
    int32_t *places, *present;      /* of all moments, and of the present */
    size_t n_places, places_capacity;
    tsim_tick skipped;
    int64_t skipped_events;
    tsim_periods_repeat_fn repeat;
    void *context;
    struct tsim_periods_task *notes; /* since the first moment */
    size_t n_notes, notes_capacity;
    int32_t *counts; /* scratch space, by chunk and kind */
    /* Before this stage group comes to that item of the whole schedule there is no use in looking. */
    const struct tsim_stage_group *ended_by;
    int64_t end;
};

/* A period that was found: how often it is left out, and by how many slots of forward and of other passes. If there is
 * no room for it, the stage group whose schedule ends it, and the item at which it does. */
struct period {
    int32_t slots[2];
    bool is_known[2];
    int64_t times;
    const struct tsim_stage_group *ended_by;
    int64_t end;
};

struct tsim_periods *tsim_periods_new(struct tsim_arena *arena, struct tsim_engine *engine,
                                      struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                      tsim_periods_repeat_fn repeat, void *context) {
    struct tsim_periods *periods = TSIM_NEW(arena, struct tsim_periods);
    const struct tsim_step_plan *plan = stage_groups[0].plan;
    *periods = (struct tsim_periods){.engine = engine,
                                     .stage_groups = stage_groups,
                                     .n_stage_groups = n_stage_groups,
                                     .repeat = repeat,
                                     .context = context};
    periods->last_microbatch = tsim_schedule_chunk_microbatches(&plan->schedule) - 1;
    periods->is_interleaved = plan->schedule.schedule == TSIM_SCHEDULE_INTERLEAVED;
    periods->goes_by_passes = periods->is_interleaved && !plan->shards_fully && !plan->waits_for_reductions;
    int32_t group = plan->schedule.group > 0 ? plan->schedule.group : plan->schedule.stages;
    size_t looks_in_group = periods->goes_by_passes ? (size_t)group * (size_t)plan->schedule.chunks : 1;
    periods->most_moments = KEPT_GROUPS * looks_in_group > MOST_MOMENTS ? KEPT_GROUPS * looks_in_group : MOST_MOMENTS;
    periods->moments = TSIM_NEW_ARRAY(arena, periods->most_moments, struct moment);
    periods->signatures = TSIM_NEW_ARRAY(arena, periods->most_moments, uint64_t);
    periods->present = TSIM_NEW_ARRAY(arena, (size_t)n_stage_groups * N_PLACES, int32_t);
    periods->counts = TSIM_NEW_ARRAY(arena, (size_t)plan->schedule.chunks * TSIM_N_PASS_KINDS, int32_t);
    return periods;
}

void tsim_periods_release(struct tsim_periods *periods) {
    if (!periods)
        return;
    tsim_heap_free(periods->notes);
    tsim_heap_free(periods->places);
    tsim_words_release(&periods->states);
    tsim_words_release(&periods->sums);
}

tsim_tick tsim_periods_ticks(const struct tsim_periods *periods) {
    return periods ? periods->skipped : 0;
}

int64_t tsim_periods_events(const struct tsim_periods *periods) {
    return periods ? periods->skipped_events : 0;
}

static void forget(struct tsim_periods *periods) {
    periods->n_moments = 0;
    periods->n_notes = 0;
    periods->n_places = 0;
    periods->states.n = 0;
    periods->sums.n = 0;
}

/* ---- when to look ---- */

/* In interleaved schedules a period may end at each backward pass on the first stage, and at those forward passes that
 * another forward pass follows. Otherwise it may end once for each micro-batch, or group of them, at the end of its
 * last pass there. */
bool tsim_periods_is_due(const struct tsim_periods *periods, int64_t label) {
    const struct tsim_stage_group *group = &periods->stage_groups[0];
    const struct tsim_schedule_shape *shape = &group->plan->schedule;
    if (tsim_label_kind(label) != TSIM_TASK_PASS || tsim_label_segment(label) > 0 || group->item >= group->n_items)
        return false;
    struct tsim_pass_item item = tsim_stage_group_item(group, tsim_label_item(label));
    if (periods->goes_by_passes)
        return item.kind == TSIM_PASS_BACKWARD || tsim_stage_group_item(group, group->item).kind == item.kind;
    int32_t n_together = periods->is_interleaved ? shape->stages : 1;
    bool counts = shape->schedule == TSIM_SCHEDULE_GPIPE || item.kind == TSIM_PASS_BACKWARD ||
                  item.kind == TSIM_PASS_INPUT_GRADIENT;
    return counts && shape->microbatches / n_together >= LEAST_GROUPS && item.chunk == 0 &&
           item.microbatch % n_together == n_together - 1;
}

void tsim_periods_note(struct tsim_periods *periods, const struct tsim_periods_task *task) {
    if (periods->n_moments == 0)
        return;
    if (periods->n_notes == MOST_NOTES) {
        forget(periods);
        return;
    }
    periods->notes =
        tsim_heap_grow(periods->notes, &periods->notes_capacity, periods->n_notes + 1, sizeof *periods->notes);
    periods->notes[periods->n_notes++] = *task;
}

/* ---- what a moment is ---- */

static bool label_of(const struct tsim_stage_group *group, int stream, int64_t *label) {
    return group->streams[stream] >= 0 && tsim_engine_label(group->engine, group->streams[stream], label);
}

/* Puts the messages that have come for passes that are not yet told, because the account shows when they came. */
static bool put_messages(const struct tsim_stage_group *group, tsim_tick now, struct tsim_words *state) {
    int32_t left = group->n_pending;
    tsim_words_put(state, left);
    for (int32_t i = group->accounted; left > 0; i++) {
        if (i >= group->n_items)
            return false;
        struct tsim_pass_item item = tsim_stage_group_item(group, i);
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t slot = tsim_stage_group_slot(group, item);
        const struct tsim_transfer *message = &(is_forward ? group->activations : group->gradients)[slot];
        if (!tsim_stage_group_receives(group, item) || message->end == 0)
            continue;
        tsim_words_put(state, i - group->accounted);
        tsim_words_put(state, now - message->end);
        tsim_words_put(state, now - message->begin);
        left--;
    }
    return true;
}

static void put_streams(const struct tsim_stage_group *group, struct tsim_words *state) {
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        int64_t label;
        bool has_task = label_of(group, s, &label);
        tsim_words_put(state, has_task ? (int64_t)tsim_label_kind(label) : -1);
        if (has_task && tsim_label_item(label) >= 0)
            tsim_words_put(state, tsim_label_segment(label));
        tsim_words_put(state, (int64_t)(intptr_t)group->expanding[s].collective);
        tsim_words_put(state, group->expanding[s].part);
    }
}

/* Puts how far the compute stream and the communicators are in the operators of their passes. */
static void put_cursor(const struct tsim_stage_group *group, const struct tsim_pass_cursor *w, tsim_tick now,
                       struct tsim_words *state) {
    tsim_words_put(state, w->is_active);
    if (!w->is_active)
        return;
    const int64_t words[] = {
        w->kind, w->from, w->part, w->step, w->is_open, now - group->steps_begin, now - group->operator_end};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        tsim_words_put(state, words[i]);
}

/* Puts how far the host is ahead of the accelerator, or behind. */
static void put_host(const struct tsim_host_stream *host, tsim_tick now, struct tsim_words *state) {
    if (!host->is_there)
        return;
    tsim_words_put(state, tsim_host_lead(host, now));
    tsim_words_put(state, host->meets);
    tsim_words_put(state, host->is_launched);
}

static void put_beside(const struct tsim_stage_group *group, tsim_tick now, struct tsim_words *state) {
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        const struct tsim_beside_stream *b = &group->beside[axis];
        const struct tsim_communicator *c = &group->communicators[axis];
        if (group->streams[TSIM_STREAM_BESIDE + axis] < 0)
            continue;
        int64_t ended =
            c->last_end > group->last_end ? now - c->last_end : -1; /* before that no kernel was beside it */
        const int64_t words[] = {b->listens ? -1 : b->cursor.part, b->listens ? 0 : b->cursor.step, ended,
                                 c->n_started - c->n_ended};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            tsim_words_put(state, words[i]);
    }
}

static bool put_stage_group(const struct tsim_stage_group *group, tsim_tick now, struct tsim_words *state) {
    if (group->item >= group->n_items)
        return false;
    struct tsim_pass_item item = tsim_stage_group_item(group, group->item);
    const int64_t words[] = {
        group->segment, group->gather_chunk, group->gather_bucket,  group->reduce_bucket,          group->unit_position,
        group->n_owed,  item.kind,           now - group->last_end, group->item - group->accounted};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        tsim_words_put(state, words[i]);
    for (int32_t i = 0; i < group->n_owed; i++)
        tsim_words_put(state, group->item - group->owed[i]);
    put_cursor(group, &group->cursor, now, state);
    put_host(&group->host, now, state);
    put_beside(group, now, state);
    put_streams(group, state);
    return put_messages(group, now, state);
}

static bool put_state(const struct tsim_periods *periods, tsim_tick now, struct tsim_words *state) {
    for (int32_t g = 0; g < periods->n_stage_groups; g++)
        if (!put_stage_group(&periods->stage_groups[g], now, state))
            return false;
    return tsim_engine_put_state(periods->engine, state);
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* Signs the state with a number that is seldom the same by chance; false once a stage group has no more passes. */
static bool sign(const struct tsim_periods *periods, tsim_tick now, uint64_t *signature) {
    const struct tsim_step_plan *plan = periods->stage_groups[0].plan;
    bool reduces = plan->reduces_every_microbatch && plan->has_data_group && !plan->shards_fully;
    *signature = UINT64_C(0x9e3779b97f4a7c15);
    for (int32_t g = 0; g < periods->n_stage_groups; g++) {
        const struct tsim_stage_group *group = &periods->stage_groups[g];
        if (group->item >= group->n_items)
            return false;
        int32_t behind = reduces ? group->item - group->reduce_item : 0;
        *signature = mixed(*signature, (uint64_t)(now - group->last_end) ^ (uint64_t)behind << 48);
    }
    return true;
}

/* Returns the item at which a stream looks for its next task; for the data stream, if not everything is sharded. */
static int32_t *next_item(struct tsim_stage_group *group, int stream) {
    switch (stream) {
    case TSIM_STREAM_COMPUTE:
        return &group->item;
    case TSIM_STREAM_DATA:
        return &group->reduce_item;
    case TSIM_STREAM_NEXT:
        return &group->send_at[0];
    case TSIM_STREAM_PREV:
        return &group->send_at[1];
    default: /* a communicator is as far as the compute stream */
        return &group->item;
    }
}

static void put_places(struct tsim_stage_group *group, int32_t *places) {
    int32_t left_out = tsim_stage_group_n_left_out(group);
    places[AT_ITEM] = left_out + group->item;
    places[AT_UNIT] = left_out + group->unit_item;
    int32_t oldest = group->accounted < group->item ? group->accounted : group->item;
    for (int32_t i = 0; i < group->n_owed; i++)
        oldest = group->owed[i] < oldest ? group->owed[i] : oldest;
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        int64_t label;
        int32_t item = label_of(group, s, &label) ? tsim_label_item(label) : -1;
        places[AT_NEXT + s] = left_out + *next_item(group, s);
        places[AT_LABELS + s] = item >= 0 ? left_out + item : -1;
        oldest = item >= 0 && item < oldest ? item : oldest;
    }
    oldest += left_out;
    places[AT_OLDEST] = oldest > 0 ? oldest - 1 : 0; /* the second of a pair is told with the first */
}

static void put_sums(const struct tsim_periods *periods, struct tsim_words *sums) {
    for (int32_t g = 0; g < periods->n_stage_groups; g++)
        tsim_words_put_all(sums, periods->stage_groups[g].totals, (size_t)periods->stage_groups[g].n_totals);
    tsim_engine_put_flows(periods->engine, sums);
}

/* ---- what repeats ---- */

/* Answers as tsim_stage_group_meets_data does, but with gathers only if there is one still to come. */
static bool meets_data(const struct tsim_stage_group *group, struct tsim_pass_item item) {
    int64_t label;
    if (!tsim_stage_group_meets_data(group, item))
        return false;
    if (item.kind != TSIM_PASS_FORWARD || group->stage_plan->chunks[item.chunk].n_gathers > 1)
        return true;
    return group->gather_chunk < group->plan->schedule.chunks ||
           (label_of(group, TSIM_STREAM_DATA, &label) && tsim_label_kind(label) == TSIM_TASK_GATHER);
}

/* Returns whether the chunk costs the same as others and may stand for them, because no bucket of theirs is waited for,
 * or released once. */
static bool is_alike(const struct tsim_periods *periods, const struct tsim_stage_group *group, struct tsim_pass_item a,
                     struct tsim_pass_item b) {
    const struct tsim_chunk_plan *chunks = group->stage_plan->chunks;
    const struct tsim_pass_route *from = tsim_stage_group_path(group, a), *to = tsim_stage_group_path(group, b);
    bool meets = meets_data(group, a);
    if (a.kind != b.kind || a.pair != b.pair || a.is_alone != b.is_alone || meets != meets_data(group, b))
        return false;
    if (a.chunk == b.chunk)
        return true;
    if (meets && !(group->plan->reduces_every_microbatch && a.kind != TSIM_PASS_FORWARD))
        return false;
    return periods->goes_by_passes && chunks[a.chunk].alike == chunks[b.chunk].alike &&
           from->receives == to->receives && from->hop.sends == to->hop.sends && from->hop.to_next == to->hop.to_next;
}

/* Returns whether the passes from the one item to the other are all tasks, or the operators of all are played. */
static bool are_played_alike(const struct tsim_stage_group *group, int64_t from, int64_t to) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    return group->plan->plays_operators != TSIM_OPERATORS_OF_MET || to < sp->met_until || from >= sp->met_from ||
           (from >= sp->met_until && to < sp->met_from);
}

/* Returns whether nobody listens to the operators of the passes from the one item to the other, or somebody to all of
 * them. */
static bool are_told_alike(const struct tsim_stage_group *group, int64_t from, int64_t to) {
    return !group->is_told || !group->told_items || !memchr(group->told_items + from, 1, (size_t)(to - from));
}

/* Returns whether the whole schedule has at `index + step` what it has at `index`, so many slots later. */
static bool repeats_at(const struct tsim_periods *periods, const struct tsim_stage_group *group, int64_t index,
                       int64_t step, struct period *period) {
    if (index + step >= group->stage_plan->n_items)
        return false;
    struct tsim_pass_item a = group->stage_plan->items[index], b = group->stage_plan->items[index + step];
    int32_t further = tsim_step_slot(group->plan, b) - tsim_step_slot(group->plan, a);
    bool is_other = a.kind != TSIM_PASS_FORWARD;
    /* Most are alike, which is known without their paths (7 % of a run of GPT 530B): only the first micro-batch meets
     * gathers, and each or only the last meets reductions. */
    bool is_same = a.kind == b.kind && a.pair == b.pair && a.is_alone == b.is_alone && a.chunk == b.chunk &&
                   a.microbatch > 0 && b.microbatch < periods->last_microbatch;
    if (further < 0 || !(is_same || is_alike(periods, group, a, b)) || !are_played_alike(group, index, index + step) ||
        tsim_stage_group_tells(group, index) != tsim_stage_group_tells(group, index + step))
        return false;
    if (!period->is_known[is_other]) {
        period->slots[is_other] = further;
        period->is_known[is_other] = true;
    }
    return further == period->slots[is_other];
}

/* The streams from here on follow the compute stream: their next task belongs to an item, but not to the one that
 * runs. */
enum { FIRST_FOLLOWER = TSIM_STREAM_COMPUTE + 1 };

/* Returns whether the stream waits for a pass that has not begun. */
static bool stands_still(const struct tsim_stage_group *group, int stream, const int32_t *then, const int32_t *now) {
    return !(stream == TSIM_STREAM_DATA && group->plan->shards_fully) && now[AT_LABELS + stream] >= 0 &&
           now[AT_NEXT + stream] == then[AT_NEXT + stream] && now[AT_LABELS + stream] == then[AT_LABELS + stream];
}

/* Returns whether what the programs will look at next has moved by `step`, too. Followers may wait for passes of a kind
 * that does not move (leaves_a_schedule), and reductions of a whole step for its end. */
static bool moved_alike(const struct tsim_stage_group *group, const int32_t *then, const int32_t *now, int64_t step) {
    int64_t label;
    int64_t moved[TSIM_N_STREAMS];
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        moved[s] = now[AT_LABELS + s] >= 0 ? step : 0;
    for (int s = FIRST_FOLLOWER; s < TSIM_N_STREAMS; s++)
        if (stands_still(group, s, then, now))
            moved[s] = 0;
        else if (s != TSIM_STREAM_DATA && label_of(group, s, &label) && now[AT_NEXT + s] - then[AT_NEXT + s] != step)
            return false;
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        if (now[AT_LABELS + s] - then[AT_LABELS + s] != moved[s])
            return false;
    if (group->plan->shards_fully)
        return now[AT_UNIT] - then[AT_UNIT] == step;
    int64_t reduced = now[AT_NEXT + TSIM_STREAM_DATA] - then[AT_NEXT + TSIM_STREAM_DATA];
    return !label_of(group, TSIM_STREAM_DATA, &label) || reduced == step || reduced == 0;
}

/* Returns the last item that has been looked at: tasks that wait are of items that may be far ahead. */
static int64_t farthest(const struct tsim_stage_group *group, const int32_t *then, const int32_t *now) {
    int32_t reduced = now[AT_NEXT + TSIM_STREAM_DATA];
    int64_t far = now[AT_ITEM], label;
    if (group->plan->shards_fully && now[AT_UNIT] > far)
        far = now[AT_UNIT];
    if (!group->plan->shards_fully && label_of(group, TSIM_STREAM_DATA, &label) &&
        reduced > then[AT_NEXT + TSIM_STREAM_DATA] && reduced > far)
        far = reduced;
    for (int s = FIRST_FOLLOWER; s < TSIM_N_STREAMS; s++)
        if (now[AT_LABELS + s] > far && !stands_still(group, s, then, now))
            far = now[AT_LABELS + s];
    return far + 2; /* the first of a pair looks at the second */
}

/* Returns the first item from `at` on that does not come again `step` items later. The middle of a long schedule,
 * without the first and the last micro-batches, need not be looked through. */
static int64_t end_of_repeats(const struct tsim_periods *periods, const struct tsim_stage_group *group, int64_t at,
                              int64_t step, struct period *period) {
    struct tsim_schedule_stretch regular = tsim_schedule_regular(&group->plan->schedule, group->stage);
    int64_t from = regular.from + regular.step, to = regular.to - regular.step - step;
    bool may_pass = regular.step > 0 && step % regular.step == 0;
    while (repeats_at(periods, group, at, step, period)) {
        at++;
        int64_t slots = may_pass ? step / regular.step * regular.slots : 0;
        if (may_pass && at >= from && at < to && period->is_known[0] && period->is_known[1] &&
            period->slots[0] == slots && period->slots[1] == slots && are_played_alike(group, at, to + step) &&
            are_told_alike(group, at, to + step))
            at = to;
    }
    return at;
}

/* Lowers period->times to what the stage group's schedule allows; returns false if that is nothing. */
static bool count_times(const struct tsim_periods *periods, const struct tsim_stage_group *group, const int32_t *then,
                        const int32_t *now, struct period *period) {
    int64_t step = now[AT_ITEM] - then[AT_ITEM], at = then[AT_OLDEST];
    if (step <= 0 || !moved_alike(group, then, now, step))
        return false;
    at = end_of_repeats(periods, group, at, step, period);
    int64_t room = at + step - farthest(group, then, now);
    if (room < step) {
        period->ended_by = group;
        period->end = at + step;
        return false;
    }
    period->times = room / step < period->times ? room / step : period->times;
    return true;
}

/* Returns whether a schedule remains when the period is left out. Passes of one direction, and of one chunk if slots go
 * chunk by chunk, are in the order of their slots on every stage. So each pass is still there once if a period has as
 * many of them as it moves them on, or at least those of which more will come. */
static bool leaves_a_schedule(const struct tsim_periods *periods, const struct tsim_stage_group *group,
                              const int32_t *then, const int32_t *now, const struct period *period) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    int32_t chunks = periods->is_interleaved ? 1 : group->plan->schedule.chunks, end = sp->n_items;
    if (periods->is_interleaved && now[AT_ITEM] + 2 < end)
        end = now[AT_ITEM] + 2; /* forward and backward passes in turn, or what comes at the end */
    memset(periods->counts, 0, (size_t)chunks * TSIM_N_PASS_KINDS * sizeof *periods->counts);
    for (int32_t i = then[AT_ITEM]; i < end; i++) {
        struct tsim_pass_item item = sp->items[i];
        int32_t *count = &periods->counts[(chunks > 1 ? item.chunk : 0) * TSIM_N_PASS_KINDS + (int32_t)item.kind];
        if (i < now[AT_ITEM])
            ++*count;
        else if (*count != period->slots[item.kind != TSIM_PASS_FORWARD])
            return false;
    }
    for (int s = FIRST_FOLLOWER; s < TSIM_STREAM_BESIDE; s++) /* streams beside kernels wait for no pass by its slot */
        if (stands_still(group, s, then, now) &&
            period->slots[sp->items[now[AT_LABELS + s]].kind != TSIM_PASS_FORWARD] != 0)
            return false;
    return !periods->is_interleaved || periods->counts[TSIM_PASS_BACKWARD] == period->slots[1];
}

static bool find_period(const struct tsim_periods *periods, const int32_t *then, struct period *period) {
    const int32_t *now = periods->present;
    *period = (struct period){.times = INT64_MAX};
    for (int32_t g = 0; g < periods->n_stage_groups; g++)
        if (!count_times(periods, &periods->stage_groups[g], then + g * N_PLACES, now + g * N_PLACES, period))
            return false;
    /* Fully sharded, signals are numbered by items, so what is forward must stay forward. */
    if (periods->stage_groups[0].plan->shards_fully && !(period->is_known[0] && period->is_known[1]))
        return false;
    for (int32_t g = 0; g < periods->n_stage_groups; g++)
        if (!leaves_a_schedule(periods, &periods->stage_groups[g], then + g * N_PLACES, now + g * N_PLACES, period))
            return false;
    return true;
}

/* ---- leaving it out ---- */

/* Tells what was left out again, and notes it as if it had happened, if there is room for that. */
static void tell_again(struct tsim_periods *periods, const struct moment *then, const int32_t *places,
                       tsim_tick period_ticks, const struct period *period) {
    size_t first = then->n_noted, end = periods->n_notes, n_more = (end - first) * (size_t)period->times;
    bool has_room = n_more <= MOST_NOTES - end;
    if (has_room)
        periods->notes = tsim_heap_grow(periods->notes, &periods->notes_capacity, end + n_more, sizeof *periods->notes);
    for (int64_t k = 1; k <= period->times; k++)
        for (size_t i = first; i < end; i++) {
            struct tsim_periods_task task = periods->notes[i];
            ptrdiff_t at = (ptrdiff_t)task.stage_group * N_PLACES + AT_ITEM;
            task.begin += k * period_ticks;
            task.end += k * period_ticks;
            task.label = tsim_label_moved(task.label, (int32_t)k * (periods->present[at] - places[at]));
            periods->repeat(periods->context, &task);
            if (has_room)
                periods->notes[periods->n_notes++] = task;
        }
    if (!has_room)
        forget(periods);
}

static void shorten(struct tsim_stage_group *group, const int32_t *then, const int32_t *now,
                    const struct period *period) {
    int32_t out = (int32_t)(period->times * (now[AT_ITEM] - then[AT_ITEM]));
    group->items += out;
    group->n_items -= out;
    for (int i = 0; i < 2; i++)
        group->n_skipped[i] += (int32_t)period->times * period->slots[i];
    for (int s = FIRST_FOLLOWER; s < TSIM_N_STREAMS; s++) { /* a stream that did not move keeps its item */
        int64_t label;
        if (now[AT_NEXT + s] == then[AT_NEXT + s])
            *next_item(group, s) -= out;
        if (stands_still(group, s, then, now) && label_of(group, s, &label))
            tsim_engine_relabel(group->engine, group->streams[s], tsim_label_moved(label, -out));
    }
    if (group->n_reductions > 0)
        tsim_engine_rearm(group->engine, group->reduced,
                          group->n_reductions - (int32_t)group->totals[TSIM_TOTAL_REDUCTIONS]);
}

static void leave_out(struct tsim_periods *periods, const struct moment *then, const struct moment *now,
                      const struct period *period) {
    const int64_t *sums = periods->sums.words + then->sums_at;
    const int32_t *places = periods->places + then->places_at;
    for (int32_t g = 0; g < periods->n_stage_groups; g++) {
        struct tsim_stage_group *group = &periods->stage_groups[g];
        for (int32_t i = 0; i < group->n_totals; i++)
            group->totals[i] += period->times * (group->totals[i] - tsim_words_next(&sums));
        shorten(group, places + g * N_PLACES, periods->present + g * N_PLACES, period);
    }
    tsim_engine_repeat_flows(periods->engine, sums, period->times);
    periods->skipped += period->times * (now->now - then->now);
    periods->skipped_events += period->times * (now->n_events - then->n_events);
    if (periods->repeat)
        tell_again(periods, then, places, now->now - then->now, period);
}

/* Returns the last moment like it after which a period can be left out; NULL if there is none, and then *period is the
 * shortest. */
static const struct moment *find_like(const struct tsim_periods *periods, const struct moment *now, uint64_t signature,
                                      struct period *period) {
    const int64_t *states = periods->states.words;
    int n_tries = 0;
    for (size_t i = periods->n_moments; i-- > 0 && n_tries < MOST_TRIES;) {
        const struct moment *then = &periods->moments[i];
        if (periods->signatures[i] != signature || then->n_words != now->n_words ||
            memcmp(states + then->state_at, states + now->state_at, now->n_words * sizeof *states) != 0)
            continue;
        struct period tried;
        if (find_period(periods, periods->places + then->places_at, &tried)) {
            *period = tried;
            return then;
        }
        if (n_tries++ == 0)
            *period = tried;
    }
    return NULL;
}

static void keep_state(struct tsim_periods *periods, struct moment *now) {
    size_t n = (size_t)periods->n_stage_groups * N_PLACES;
    now->places_at = periods->n_places;
    now->sums_at = periods->sums.n;
    periods->places =
        tsim_heap_grow(periods->places, &periods->places_capacity, periods->n_places + n, sizeof *periods->places);
    memcpy(periods->places + periods->n_places, periods->present, n * sizeof *periods->places);
    periods->n_places += n;
    put_sums(periods, &periods->sums);
}

static void keep(struct tsim_periods *periods, const struct moment *now, uint64_t signature) {
    periods->signatures[periods->n_moments] = signature;
    periods->moments[periods->n_moments++] = *now;
}

static bool is_known(const struct tsim_periods *periods, uint64_t signature) {
    bool is_known = false;
    for (size_t i = 0; i < periods->n_moments; i++)
        is_known |= periods->signatures[i] == signature;
    return is_known;
}

/* Looks for a period. Pass by pass, a state is written down only when its signature comes again, which most never
 * do. */
void tsim_periods_look(struct tsim_periods *periods) {
    if (periods->ended_by && periods->ended_by->item + tsim_stage_group_n_left_out(periods->ended_by) < periods->end)
        return;
    bool has_many_words = periods->states.n + periods->sums.n > MOST_WORDS;
    if (periods->n_moments == periods->most_moments || (has_many_words && periods->n_moments > SOME_MOMENTS))
        forget(periods);
    tsim_tick tick = tsim_engine_now(periods->engine);
    struct moment now = {.state_at = periods->states.n,
                         .now = tick + periods->skipped,
                         .n_events = tsim_engine_n_events(periods->engine) + periods->skipped_events,
                         .n_noted = periods->n_notes};
    uint64_t signature;
    if (!sign(periods, tick, &signature))
        return;
    if (periods->goes_by_passes && !is_known(periods, signature)) {
        keep(periods, &now, signature);
        return;
    }
    bool is_whole = put_state(periods, tick, &periods->states);
    now.n_words = periods->states.n - now.state_at;
    if (is_whole) {
        for (int32_t g = 0; g < periods->n_stage_groups; g++)
            put_places(&periods->stage_groups[g], periods->present + g * N_PLACES);
        struct period period = {.ended_by = NULL};
        const struct moment *then = find_like(periods, &now, signature, &period);
        if (!then) {
            periods->ended_by = periods->goes_by_passes ? period.ended_by : NULL;
            periods->end = period.end;
            keep_state(periods, &now);
            keep(periods, &now, signature);
            return;
        }
        if (period.times <= (TSIM_STEP_END - now.now) / (now.now - then->now + 1)) /* else time would end in it */
            leave_out(periods, then, &now, &period);
    }
    if (periods->states.n > now.state_at) /* else everything is forgotten */
        periods->states.n = now.state_at;
}
