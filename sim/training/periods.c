#include "training/periods.h"

#include <string.h>

enum { MOST_MOMENTS = 48, MOST_NOTES = 1 << 18 };

/* The first group begins alone, the last ends alone, two must be seen to be alike: what is between them can be left
 * out. */
enum { LEAST_GROUPS = 5 };

/* Where the programs of a gang stand, as numbers of items: those move on from period to period. */
enum place { AT_ITEM, AT_SEND_NEXT, AT_SEND_PREV, AT_UNIT, AT_REDUCE, AT_OLDEST, AT_LABELS, N_PLACES = AT_LABELS + 4 };

struct moment {
    uint64_t hash;
    struct tsim_words state; /* what must be the same */
    tsim_tick now;
    int64_t n_events, n_noted;
    int32_t *places;        /* by gang */
    struct tsim_words sums; /* tallies by gang, what flowed by resource */
};

struct tsim_periods {
    struct tsim_engine *engine;
    struct tsim_gang *gangs;
    int32_t n_gangs, n_resources, n_meters;
    struct moment *moments; /* a ring */
    int64_t n_moments;      /* seen since the last that was left out */
    tsim_tick skipped;
    int64_t skipped_events;
    tsim_periods_repeat_fn repeat;
    void *context;
    struct tsim_periods_task *notes; /* since the first moment, or the last of them */
    size_t n_notes, notes_capacity;
    int64_t n_forgotten; /* before them */
};

/* How often, and by how much: of forward passes, of the others. */
struct period {
    int32_t microbatches[2];
    bool is_known[2];
    int64_t times;
};

struct tsim_periods *tsim_periods_new(struct tsim_arena *arena, struct tsim_engine *engine, struct tsim_gang *gangs,
                                      int32_t n_gangs, tsim_periods_repeat_fn repeat, void *context) {
    struct tsim_periods *periods = TSIM_NEW(arena, struct tsim_periods);
    *periods = (struct tsim_periods){
        .engine = engine, .gangs = gangs, .n_gangs = n_gangs, .repeat = repeat, .context = context};
    periods->n_resources = tsim_engine_n_resources(engine);
    periods->n_meters = tsim_engine_n_meters(engine);
    periods->moments = TSIM_NEW_ARRAY(arena, MOST_MOMENTS, struct moment);
    return periods;
}

void tsim_periods_release(struct tsim_periods *periods) {
    if (!periods)
        return;
    tsim_heap_free(periods->notes);
    for (int i = 0; i < MOST_MOMENTS; i++) {
        tsim_words_release(&periods->moments[i].state);
        tsim_heap_free(periods->moments[i].places);
        tsim_words_release(&periods->moments[i].sums);
    }
}

tsim_tick tsim_periods_ticks(const struct tsim_periods *periods) {
    return periods ? periods->skipped : 0;
}

int64_t tsim_periods_events(const struct tsim_periods *periods) {
    return periods ? periods->skipped_events : 0;
}

/* ---- when to look ---- */

/* Once a micro-batch, or a group of them: at the end of its last pass on the first stage. */
bool tsim_periods_is_due(const struct tsim_periods *periods, int64_t label) {
    const struct tsim_gang *gang = &periods->gangs[0];
    const struct tsim_schedule_shape *shape = &gang->plan->schedule;
    if (tsim_label_kind(label) != TSIM_TASK_PASS)
        return false;
    struct tsim_pass_item item = tsim_gang_item(gang, tsim_label_item(label));
    int32_t group = shape->schedule == TSIM_SCHEDULE_INTERLEAVED ? shape->stages : 1;
    if (shape->microbatches / group < LEAST_GROUPS || tsim_label_segment(label) > 0)
        return false;
    bool counts = shape->schedule == TSIM_SCHEDULE_GPIPE || item.kind == TSIM_PASS_BACKWARD ||
                  item.kind == TSIM_PASS_INPUT_GRADIENT;
    return counts && item.chunk == 0 && item.microbatch % group == group - 1 && gang->item < gang->n_items;
}

void tsim_periods_note(struct tsim_periods *periods, const struct tsim_periods_task *task) {
    if (periods->n_moments == 0)
        return;
    if (periods->n_notes == MOST_NOTES) {
        periods->n_notes /= 2;
        periods->n_forgotten += MOST_NOTES / 2;
        memcpy(periods->notes, periods->notes + MOST_NOTES / 2, MOST_NOTES / 2 * sizeof *periods->notes);
    }
    periods->notes =
        tsim_heap_grow(periods->notes, &periods->notes_capacity, periods->n_notes + 1, sizeof *periods->notes);
    periods->notes[periods->n_notes++] = *task;
}

/* ---- what a moment is ---- */

static bool label_of(const struct tsim_gang *gang, int stream, int64_t *label) {
    return gang->streams[stream] >= 0 && tsim_engine_label(gang->engine, gang->streams[stream], label);
}

/* Messages that have come for passes that are not yet told: when they did shows in the account. */
static bool put_messages(const struct tsim_gang *gang, tsim_tick now, struct tsim_words *state) {
    int32_t left = gang->n_pending;
    tsim_words_put(state, left);
    for (int32_t i = gang->accounted; left > 0; i++) {
        if (i >= gang->n_items)
            return false;
        struct tsim_pass_item item = tsim_gang_item(gang, i);
        bool is_forward = item.kind == TSIM_PASS_FORWARD;
        int32_t slot = tsim_gang_slot(gang, item);
        const struct tsim_transfer *message = &(is_forward ? gang->activations : gang->gradients)[slot];
        if (!tsim_gang_receives(gang, item) || message->end == 0)
            continue;
        tsim_words_put(state, i - gang->accounted);
        tsim_words_put(state, now - message->end);
        tsim_words_put(state, now - message->begin);
        left--;
    }
    return true;
}

static void put_streams(const struct tsim_gang *gang, struct tsim_words *state) {
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        int64_t label;
        bool has_task = label_of(gang, s, &label);
        tsim_words_put(state, has_task ? (int64_t)tsim_label_kind(label) : -1);
        if (has_task && tsim_label_item(label) >= 0)
            tsim_words_put(state, tsim_label_segment(label));
        tsim_words_put(state, (int64_t)(intptr_t)gang->expanding[s].collective);
        tsim_words_put(state, gang->expanding[s].part);
    }
}

static bool put_gang(const struct tsim_gang *gang, tsim_tick now, struct tsim_words *state) {
    if (gang->item >= gang->n_items)
        return false;
    struct tsim_pass_item item = tsim_gang_item(gang, gang->item);
    const int64_t words[] = {
        gang->segment, gang->gather_chunk, gang->gather_bucket, gang->reduce_bucket,  gang->unit_position,
        gang->n_owed,  item.kind,          item.chunk,          now - gang->last_end, gang->item - gang->accounted};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        tsim_words_put(state, words[i]);
    for (int32_t i = 0; i < gang->n_owed; i++)
        tsim_words_put(state, gang->item - gang->owed[i]);
    put_streams(gang, state);
    return put_messages(gang, now, state);
}

static bool put_state(const struct tsim_periods *periods, tsim_tick now, struct tsim_words *state) {
    state->n = 0;
    for (int32_t g = 0; g < periods->n_gangs; g++)
        if (!put_gang(&periods->gangs[g], now, state))
            return false;
    return tsim_engine_put_state(periods->engine, state);
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct tsim_words *words) {
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= words->n; i += sizeof word) {
        memcpy(&word, words->bytes + i, sizeof word);
        hash = mixed(hash, word);
    }
    for (; i < words->n; i++)
        hash = mixed(hash, words->bytes[i]);
    return hash;
}

static void put_places(const struct tsim_gang *gang, int32_t *places) {
    places[AT_ITEM] = gang->item;
    places[AT_SEND_NEXT] = gang->send_at[0];
    places[AT_SEND_PREV] = gang->send_at[1];
    places[AT_UNIT] = gang->unit_item;
    places[AT_REDUCE] = gang->reduce_item;
    int32_t oldest = gang->accounted < gang->item ? gang->accounted : gang->item;
    for (int32_t i = 0; i < gang->n_owed; i++)
        oldest = gang->owed[i] < oldest ? gang->owed[i] : oldest;
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        int64_t label;
        int32_t item = label_of(gang, s, &label) ? tsim_label_item(label) : -1;
        places[AT_LABELS + s] = item;
        oldest = item >= 0 && item < oldest ? item : oldest;
    }
    places[AT_OLDEST] = oldest > 0 ? oldest - 1 : 0; /* of a pair, the second is told with the first */
}

static void write_moment(const struct tsim_periods *periods, struct moment *moment) {
    size_t n_gangs = (size_t)periods->n_gangs, none = 0;
    moment->now = tsim_engine_now(periods->engine);
    moment->n_events = tsim_engine_n_events(periods->engine);
    moment->n_noted = periods->n_forgotten + (int64_t)periods->n_notes;
    moment->sums.n = 0;
    if (!moment->places)
        moment->places = tsim_heap_grow(NULL, &none, n_gangs * N_PLACES, sizeof *moment->places);
    for (size_t g = 0; g < n_gangs; g++) {
        const struct tsim_gang *gang = &periods->gangs[g];
        put_places(gang, moment->places + g * N_PLACES);
        tsim_words_put_all(&moment->sums, gang->tally, (size_t)gang->n_tally);
    }
    for (int32_t r = -periods->n_meters; r < periods->n_resources; r++)
        tsim_words_put_double(&moment->sums, tsim_engine_resource_flowed(periods->engine, r));
}

/* ---- what repeats ---- */

/* Does the schedule have at `index + step` what it has at `index`, so many micro-batches later? */
static bool repeats_at(const struct tsim_gang *gang, int32_t index, int32_t step, struct period *period) {
    if (index + step >= gang->n_items)
        return false;
    struct tsim_pass_item a = tsim_gang_item(gang, index), b = tsim_gang_item(gang, index + step);
    bool is_other = a.kind != TSIM_PASS_FORWARD;
    if (a.kind != b.kind || a.chunk != b.chunk || a.pair != b.pair || b.microbatch < a.microbatch ||
        tsim_gang_meets_data(gang, a) != tsim_gang_meets_data(gang, b))
        return false;
    if (!period->is_known[is_other]) {
        period->microbatches[is_other] = b.microbatch - a.microbatch;
        period->is_known[is_other] = true;
    }
    return b.microbatch - a.microbatch == period->microbatches[is_other];
}

/* What the programs will look at next moved by `step`, too; reductions may wait for the end of the step. */
static bool moved_alike(const struct tsim_gang *gang, const int32_t *then, const int32_t *now, int64_t step) {
    static const int STREAMS[] = {TSIM_STREAM_NEXT, TSIM_STREAM_PREV};
    int64_t label;
    for (int i = 0; i < 2; i++)
        if (label_of(gang, STREAMS[i], &label) && now[AT_SEND_NEXT + i] - then[AT_SEND_NEXT + i] != step)
            return false;
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        if (now[AT_LABELS + s] - then[AT_LABELS + s] != (now[AT_LABELS + s] >= 0 ? step : 0))
            return false;
    if (gang->plan->shards_fully)
        return now[AT_UNIT] - then[AT_UNIT] == step;
    int64_t reduced = now[AT_REDUCE] - then[AT_REDUCE];
    return !label_of(gang, TSIM_STREAM_DATA, &label) || reduced == step || reduced == 0;
}

static int64_t farthest(const struct tsim_gang *gang, const int32_t *then, const int32_t *now) {
    int64_t far = now[AT_ITEM], label;
    if (gang->plan->shards_fully && now[AT_UNIT] > far)
        far = now[AT_UNIT];
    if (!gang->plan->shards_fully && label_of(gang, TSIM_STREAM_DATA, &label) && now[AT_REDUCE] > then[AT_REDUCE] &&
        now[AT_REDUCE] > far)
        far = now[AT_REDUCE];
    return far + 2; /* of a pair the first looks at the second */
}

/* Lowers period->times to what the gang's schedule allows; false when that is nothing. */
static bool count_times(const struct tsim_gang *gang, const int32_t *then, const int32_t *now, struct period *period) {
    int64_t step = now[AT_ITEM] - then[AT_ITEM], at = then[AT_OLDEST];
    if (step <= 0 || !moved_alike(gang, then, now, step))
        return false;
    while (repeats_at(gang, (int32_t)at, (int32_t)step, period))
        at++;
    int64_t room = at + step - farthest(gang, then, now);
    if (room < step)
        return false;
    period->times = room / step < period->times ? room / step : period->times;
    return true;
}

/* Without what is left out each pass is still there once: what is done already, and what comes after. */
static bool leaves_a_schedule(const struct tsim_gang *gang, const int32_t *then, const int32_t *now,
                              const struct period *period, unsigned char *seen) {
    const struct tsim_schedule_shape *shape = &gang->plan->schedule;
    int64_t step = now[AT_ITEM] - then[AT_ITEM], out = period->times * step;
    memset(seen, 0, (size_t)shape->chunks * (size_t)shape->microbatches);
    for (int64_t i = 0; i < gang->n_items - out; i++) {
        struct tsim_pass_item item = tsim_gang_item(gang, (int32_t)(i < now[AT_ITEM] ? i : i + out));
        int64_t lowered = i < now[AT_ITEM] ? 0 : period->times * period->microbatches[item.kind != TSIM_PASS_FORWARD];
        int64_t microbatch = item.microbatch - lowered;
        if (microbatch < 0)
            return false;
        unsigned char *mark = &seen[item.chunk * shape->microbatches + microbatch],
                      bit = (unsigned char)(1u << item.kind);
        if (*mark & bit)
            return false;
        *mark |= bit;
    }
    return true;
}

static bool find_period(const struct tsim_periods *periods, const struct moment *then, const struct moment *now,
                        struct period *period) {
    *period = (struct period){.times = INT64_MAX};
    for (int32_t g = 0; g < periods->n_gangs; g++)
        if (!count_times(&periods->gangs[g], then->places + g * N_PLACES, now->places + g * N_PLACES, period))
            return false;
    /* Fully sharded, signals go by items: what is forward must stay forward. */
    if (periods->gangs[0].plan->shards_fully && !(period->is_known[0] && period->is_known[1]))
        return false;
    const struct tsim_schedule_shape *shape = &periods->gangs[0].plan->schedule;
    size_t none = 0;
    unsigned char *seen = tsim_heap_grow(NULL, &none, (size_t)shape->chunks * (size_t)shape->microbatches, 1);
    bool is_good = true;
    for (int32_t g = 0; g < periods->n_gangs && is_good; g++)
        is_good = leaves_a_schedule(&periods->gangs[g], then->places + g * N_PLACES, now->places + g * N_PLACES, period,
                                    seen);
    tsim_heap_free(seen);
    return is_good;
}

/* ---- leaving it out ---- */

static void tell_again(struct tsim_periods *periods, const struct moment *then, const struct moment *now,
                       const struct period *period) {
    for (int64_t k = 1; k <= period->times; k++)
        for (size_t i = (size_t)(then->n_noted - periods->n_forgotten); i < periods->n_notes; i++) {
            const struct tsim_periods_task *task = &periods->notes[i];
            ptrdiff_t at = (ptrdiff_t)task->gang * N_PLACES + AT_ITEM;
            const struct tsim_periods_shift shift = {periods->skipped + k * (now->now - then->now),
                                                     k * (now->places[at] - then->places[at]),
                                                     k * period->microbatches[1]};
            periods->repeat(periods->context, task, &shift);
        }
    periods->n_notes = 0;
    periods->n_forgotten = 0;
}

static void shorten(struct tsim_gang *gang, const int32_t *then, const int32_t *now, const struct period *period) {
    int32_t out = (int32_t)(period->times * (now[AT_ITEM] - then[AT_ITEM]));
    gang->items += out;
    gang->n_items -= out;
    for (int i = 0; i < 2; i++)
        gang->n_skipped[i] += (int32_t)period->times * period->microbatches[i];
    if (!gang->plan->shards_fully && now[AT_REDUCE] == then[AT_REDUCE])
        gang->reduce_item -= out;
    if (gang->n_reductions > 0)
        tsim_engine_rearm(gang->engine, gang->reduced,
                          gang->n_reductions - (int32_t)gang->tally[TSIM_TALLY_REDUCTIONS]);
}

static void leave_out(struct tsim_periods *periods, const struct moment *then, const struct moment *now,
                      const struct period *period) {
    const uint8_t *sums = then->sums.bytes;
    if (periods->repeat)
        tell_again(periods, then, now, period);
    for (int32_t g = 0; g < periods->n_gangs; g++) {
        struct tsim_gang *gang = &periods->gangs[g];
        for (int32_t i = 0; i < gang->n_tally; i++)
            gang->tally[i] += period->times * (gang->tally[i] - tsim_words_next(&sums));
        shorten(gang, then->places + g * N_PLACES, now->places + g * N_PLACES, period);
    }
    for (int32_t r = -periods->n_meters; r < periods->n_resources; r++) {
        double flowed = tsim_engine_resource_flowed(periods->engine, r) - tsim_words_next_double(&sums);
        tsim_engine_book_flow(periods->engine, r, (double)period->times * flowed);
    }
    periods->skipped += period->times * (now->now - then->now);
    periods->skipped_events += period->times * (now->n_events - then->n_events);
}

void tsim_periods_look(struct tsim_periods *periods) {
    struct moment *now = &periods->moments[periods->n_moments % MOST_MOMENTS];
    if (!put_state(periods, tsim_engine_now(periods->engine), &now->state))
        return;
    now->hash = hash_of(&now->state);
    write_moment(periods, now);
    int64_t first = periods->n_moments < MOST_MOMENTS ? 0 : periods->n_moments - MOST_MOMENTS + 1;
    for (int64_t i = periods->n_moments - 1; i >= first; i--) {
        const struct moment *then = &periods->moments[i % MOST_MOMENTS];
        struct period period;
        if (then->hash != now->hash || then->n_noted < periods->n_forgotten ||
            !tsim_words_equal(&then->state, &now->state) || !find_period(periods, then, now, &period))
            continue;
        leave_out(periods, then, now, &period);
        periods->n_moments = 0;
        return;
    }
    periods->n_moments++;
}
