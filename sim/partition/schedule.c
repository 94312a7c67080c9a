#include "partition/schedule.h"

#include "partition/schedule_zero_bubble.h"

static int32_t min_int(int32_t a, int32_t b) {
    return a < b ? a : b;
}

bool tsim_schedule_splits_backward(enum tsim_schedule schedule) {
    return schedule >= TSIM_SCHEDULE_ZB_H1;
}

int32_t tsim_schedule_chunks(enum tsim_schedule schedule, int64_t virtual_pipeline) {
    bool has_two = schedule == TSIM_SCHEDULE_ZB_V || schedule == TSIM_SCHEDULE_DUALPIPE;
    return has_two ? 2 : (int32_t)virtual_pipeline;
}

/* ---- the places of parts, and what passes between them ---- */

int32_t tsim_schedule_n_parts(const struct tsim_schedule_shape *z) {
    return z->schedule == TSIM_SCHEDULE_DUALPIPE ? z->stages : z->stages * z->chunks;
}

int32_t tsim_schedule_part(const struct tsim_schedule_shape *z, int32_t stage, int32_t chunk) {
    if (z->schedule == TSIM_SCHEDULE_ZB_V)
        return chunk == 0 ? stage : 2 * z->stages - 1 - stage;
    if (z->schedule == TSIM_SCHEDULE_DUALPIPE)
        return chunk == 0 ? stage : z->stages - 1 - stage;
    return chunk * z->stages + stage;
}

int32_t tsim_schedule_chunk_microbatches(const struct tsim_schedule_shape *z) {
    return z->schedule == TSIM_SCHEDULE_DUALPIPE ? z->microbatches / 2 : z->microbatches;
}

static bool in_a_ring(const struct tsim_schedule_shape *z) {
    return z->schedule != TSIM_SCHEDULE_ZB_V && z->schedule != TSIM_SCHEDULE_DUALPIPE;
}

struct tsim_schedule_hop tsim_schedule_hop(const struct tsim_schedule_shape *z, int32_t stage,
                                           struct tsim_pass_item item) {
    bool is_forward = item.kind == TSIM_PASS_FORWARD;
    struct tsim_schedule_hop hop = {.chunk = item.chunk};
    hop.to_next = is_forward == (in_a_ring(z) || item.chunk == 0);
    bool at_end = stage == (hop.to_next ? z->stages - 1 : 0);
    hop.sends = item.kind != TSIM_PASS_WEIGHT_GRADIENT && !at_end;
    if (in_a_ring(z) && at_end && item.kind != TSIM_PASS_WEIGHT_GRADIENT) { /* around to the next or previous chunk */
        hop.chunk += is_forward ? 1 : -1;
        hop.sends = hop.chunk >= 0 && hop.chunk < z->chunks;
    }
    return hop;
}

bool tsim_schedule_receives(const struct tsim_schedule_shape *z, int32_t stage, struct tsim_pass_item item) {
    if (item.kind == TSIM_PASS_WEIGHT_GRADIENT)
        return false;
    bool is_forward = item.kind == TSIM_PASS_FORWARD;
    if (in_a_ring(z)) {
        int32_t part = tsim_schedule_part(z, stage, item.chunk);
        return part != (is_forward ? 0 : tsim_schedule_n_parts(z) - 1);
    }
    return stage != (is_forward == (item.chunk == 0) ? 0 : z->stages - 1);
}

/* ---- orders with a whole backward pass ---- */

/* Returns the micro-batches that pass through a chunk before the next, in interleaved schedules. */
static int32_t group_of(const struct tsim_schedule_shape *z) {
    return z->group > 0 ? z->group : z->stages;
}

static int32_t n_warmup(const struct tsim_schedule_shape *z, int32_t stage) {
    int32_t all = z->microbatches * z->chunks;
    if (z->schedule == TSIM_SCHEDULE_GPIPE)
        return all;
    if (z->chunks == 1)
        return min_int(z->stages - 1 - stage, all);
    /* Megatron: with exactly one group of micro-batches everything is warm-up. */
    if (z->microbatches == z->stages)
        return all;
    return min_int(2 * (z->stages - 1 - stage) + (z->chunks - 1) * group_of(z), all);
}

/* Returns the i-th forward (or, mirrored in the chunks, backward) pass: groups of micro-batches go through chunk 0,
 * then the same group through chunk 1, and so on. */
static struct tsim_pass_item nth_pass(const struct tsim_schedule_shape *z, int32_t i, enum tsim_pass_kind kind) {
    int32_t group = group_of(z), per_group = group * z->chunks, in_group = i % per_group;
    int32_t chunk = in_group / group;
    return (struct tsim_pass_item){.kind = kind,
                                   .microbatch = i / per_group * group + in_group % group,
                                   .chunk = kind == TSIM_PASS_FORWARD ? chunk : z->chunks - 1 - chunk};
}

static struct tsim_pass_item plain(int32_t microbatch, enum tsim_pass_kind kind) {
    return (struct tsim_pass_item){.kind = kind, .microbatch = microbatch, .chunk = 0};
}

/* Returns the first micro-batch that a stage runs forward in a step of an asynchronous schedule; the ones before it
 * came in the step before. */
static int32_t first_forward(const struct tsim_schedule_shape *z, int32_t stage) {
    return (z->stages - stage) % z->microbatches;
}

bool tsim_schedule_crosses_steps(const struct tsim_schedule_shape *z, int32_t from_stage, struct tsim_pass_item item) {
    return tsim_is_asynchronous(z->schedule) && item.kind == TSIM_PASS_FORWARD && from_stage + 1 < z->stages &&
           item.microbatch == first_forward(z, from_stage + 1);
}

int32_t tsim_schedule_versions(const struct tsim_schedule_shape *z, int32_t stage) {
    if (z->schedule == TSIM_SCHEDULE_PIPEDREAM)
        return z->stages - stage;
    return z->schedule == TSIM_SCHEDULE_PIPEDREAM_2BW ? 2 : 1;
}

static struct tsim_pass_item whole_item(const struct tsim_schedule_shape *z, int32_t stage, int32_t index) {
    if (z->schedule == TSIM_SCHEDULE_SEQUENTIAL)
        return plain(index / 2, index % 2 ? TSIM_PASS_BACKWARD : TSIM_PASS_FORWARD);
    if (tsim_is_asynchronous(z->schedule))
        return index % 2 ? plain((index / 2 + first_forward(z, stage)) % z->microbatches, TSIM_PASS_FORWARD)
                         : plain(index / 2, TSIM_PASS_BACKWARD);
    int32_t all = z->microbatches * z->chunks, warmup = n_warmup(z, stage);
    bool is_backward;
    int32_t nth;
    if (index < warmup) {
        is_backward = false, nth = index;
    } else if (index < 2 * all - warmup) { /* steady: forward, backward, forward, backward */
        is_backward = (index - warmup) % 2, nth = is_backward ? (index - warmup) / 2 : warmup + (index - warmup) / 2;
    } else {
        is_backward = true, nth = index - all;
    }
    enum tsim_pass_kind kind = is_backward ? TSIM_PASS_BACKWARD : TSIM_PASS_FORWARD;
    return z->chunks == 1 ? plain(nth, kind) : nth_pass(z, nth, kind);
}

/* ---- both kinds, in one run or several ---- */

static struct tsim_schedule_shape run_of(const struct tsim_schedule_shape *z) {
    struct tsim_schedule_shape run = *z;
    if (z->run > 0)
        run.microbatches = z->run;
    run.run = 0;
    return run;
}

static struct tsim_schedule_turns turns_of(const struct tsim_schedule_shape *z, int32_t stage) {
    struct tsim_schedule_program program;
    if (tsim_schedule_splits_backward(z->schedule)) {
        tsim_schedule_program_build(z, stage, &program);
        return tsim_schedule_program_turns(&program);
    }
    int32_t all = z->microbatches * z->chunks, warmup = n_warmup(z, stage);
    if (z->schedule == TSIM_SCHEDULE_SEQUENTIAL) /* none of a micro-batch is there while another's is */
        return (struct tsim_schedule_turns){2 * all, 0};
    if (tsim_is_asynchronous(z->schedule)) /* all of them take turns */
        return (struct tsim_schedule_turns){0, 2 * all};
    return warmup == all ? (struct tsim_schedule_turns){all, all}
                         : (struct tsim_schedule_turns){warmup + 1, 2 * all - warmup - 1};
}

static bool is_alone(const struct tsim_schedule_shape *z, struct tsim_schedule_turns turns, int32_t index,
                     struct tsim_pass_item item) {
    if (item.kind == TSIM_PASS_WEIGHT_GRADIENT) /* which exchanges nothing */
        return false;
    if (z->schedule == TSIM_SCHEDULE_DUALPIPE)
        return item.pair == TSIM_PAIR_NONE;
    return item.kind == TSIM_PASS_FORWARD ? index < turns.first_gradient : index >= turns.forward_end;
}

struct tsim_pass_item tsim_schedule_item(const struct tsim_schedule_shape *z, int32_t stage, int32_t index) {
    struct tsim_schedule_program program;
    struct tsim_pass_item item;
    if (z->run > 0) {
        struct tsim_schedule_shape run = run_of(z);
        int32_t n = tsim_schedule_n_items(&run, stage);
        item = tsim_schedule_item(&run, stage, index % n);
        item.microbatch += index / n * z->run;
        return item;
    }
    if (tsim_schedule_splits_backward(z->schedule)) {
        tsim_schedule_program_build(z, stage, &program);
        item = tsim_schedule_program_item(&program, index);
    } else {
        item = whole_item(z, stage, index);
    }
    if (z->hides_exchanges)
        item.is_alone = is_alone(z, turns_of(z, stage), index, item);
    return item;
}

int32_t tsim_schedule_slot(const struct tsim_schedule_shape *z, struct tsim_pass_item item) {
    if (z->schedule != TSIM_SCHEDULE_INTERLEAVED)
        return item.chunk * z->microbatches + item.microbatch;
    int32_t group = group_of(z), in_run = z->run > 0 ? item.microbatch % z->run : item.microbatch;
    int32_t before = item.microbatch - in_run % group; /* micro-batches of the groups before */
    int32_t chunk = item.kind == TSIM_PASS_FORWARD ? item.chunk : z->chunks - 1 - item.chunk;
    return item.microbatch + before * (z->chunks - 1) + chunk * group;
}

int32_t tsim_schedule_n_items(const struct tsim_schedule_shape *z, int32_t stage) {
    if (!tsim_schedule_splits_backward(z->schedule))
        return 2 * z->microbatches * z->chunks;
    struct tsim_schedule_program program;
    tsim_schedule_program_build(z, stage, &program);
    return tsim_schedule_program_n_items(&program);
}

/* Goes through chunks as nth_pass does. */
struct chunk_walk {
    int32_t in_group, chunks, group, chunk, microbatch; /* the last of the group */
};

static int32_t next_chunk(struct chunk_walk *walk) {
    int32_t chunk = walk->chunk;
    if (++walk->microbatch < walk->in_group)
        return chunk;
    walk->microbatch = 0;
    if (++walk->chunk == walk->chunks) {
        walk->chunk = 0;
        walk->group++;
    }
    return chunk;
}

static struct tsim_pass_item next_item(struct chunk_walk *walk, enum tsim_pass_kind kind) {
    int32_t microbatch = walk->group * walk->in_group + walk->microbatch, chunk = next_chunk(walk);
    return (struct tsim_pass_item){
        .kind = kind, .microbatch = microbatch, .chunk = kind == TSIM_PASS_FORWARD ? chunk : walk->chunks - 1 - chunk};
}

static void fill_interleaved(const struct tsim_schedule_shape *z, int32_t stage, struct tsim_pass_item *items) {
    struct chunk_walk forward = {group_of(z), z->chunks, 0, 0, 0}, backward = forward;
    int32_t all = z->microbatches * z->chunks, warmup = n_warmup(z, stage), n = 0;
    for (int32_t i = 0; i < all + warmup; i++) {
        if (i < all)
            items[n++] = next_item(&forward, TSIM_PASS_FORWARD);
        if (i >= warmup)
            items[n++] = next_item(&backward, TSIM_PASS_BACKWARD);
    }
}

void tsim_schedule_fill(const struct tsim_schedule_shape *z, int32_t stage, struct tsim_pass_item *items) {
    int32_t n = tsim_schedule_n_items(z, stage);
    if (z->run > 0) {
        for (int32_t i = 0; i < n; i++)
            items[i] = tsim_schedule_item(z, stage, i);
        return;
    }
    if (tsim_schedule_splits_backward(z->schedule)) {
        struct tsim_schedule_program program;
        tsim_schedule_program_build(z, stage, &program);
        tsim_schedule_program_fill(&program, items);
    } else if (z->chunks > 1) {
        fill_interleaved(z, stage, items);
    } else {
        for (int32_t i = 0; i < n; i++)
            items[i] = whole_item(z, stage, i);
    }
    if (!z->hides_exchanges)
        return;
    struct tsim_schedule_turns turns = turns_of(z, stage);
    for (int32_t i = 0; i < n; i++)
        items[i].is_alone = is_alone(z, turns, i, items[i]);
}

struct tsim_schedule_stretch tsim_schedule_regular(const struct tsim_schedule_shape *z, int32_t stage) {
    if ((z->schedule != TSIM_SCHEDULE_1F1B && z->schedule != TSIM_SCHEDULE_INTERLEAVED) || z->run > 0)
        return (struct tsim_schedule_stretch){.step = 0};
    int32_t warmup = n_warmup(z, stage), slots = z->chunks == 1 ? 1 : group_of(z) * z->chunks;
    int32_t end = 2 * z->microbatches * z->chunks - warmup, alone = z->hides_exchanges; /* the first, and the last */
    return (struct tsim_schedule_stretch){warmup + alone, end - alone, 2 * slots, slots};
}

int32_t tsim_schedule_peak_in_flight(const struct tsim_schedule_shape *z, int32_t stage) {
    if (tsim_schedule_splits_backward(z->schedule)) {
        static const double one[] = {1, 1};
        struct tsim_schedule_program program;
        tsim_schedule_program_build(z, stage, &program);
        return (int32_t)tsim_schedule_program_peak(&program, one, one, NULL);
    }
    if (z->schedule == TSIM_SCHEDULE_SEQUENTIAL)
        return 1;
    struct tsim_schedule_shape run = run_of(z);
    return min_int(n_warmup(&run, stage) + 1, run.microbatches * run.chunks);
}

double tsim_schedule_peak(const struct tsim_schedule_shape *shape, int32_t stage, const double *held, int32_t *counts) {
    struct tsim_schedule_shape run = run_of(shape), *z = &run;
    struct chunk_walk forward = {group_of(z), z->chunks, 0, 0, 0}, backward = forward;
    int32_t all = z->microbatches * z->chunks, warmup = n_warmup(z, stage);
    int32_t end = warmup + 2 * group_of(z) * z->chunks; /* what follows is what was there */
    int32_t most_at = 0;
    double live = 0, peak = 0;
    for (int32_t i = 0; i < min_int(all, end); i++) {
        live += held[next_chunk(&forward)];
        if (live > peak) {
            peak = live;
            most_at = i;
        }
        if (i >= warmup)
            live -= held[z->chunks - 1 - next_chunk(&backward)];
    }
    forward = backward = (struct chunk_walk){group_of(z), z->chunks, 0, 0, 0};
    for (int32_t i = 0; counts && i <= most_at; i++) {
        counts[next_chunk(&forward)]++;
        if (i >= warmup && i < most_at)
            counts[z->chunks - 1 - next_chunk(&backward)]--;
    }
    return peak;
}

double tsim_schedule_bubble_s(const struct tsim_schedule_shape *z, struct tsim_stage_times t) {
    double p = z->stages, f = t.forward_s, b = t.input_s, w = t.weight_s;
    double runs = z->run > 0 ? z->microbatches / z->run : 1; /* exact: it divides */
    switch (z->schedule) {
    case TSIM_SCHEDULE_SEQUENTIAL:
        return (p - 1) * z->microbatches * (f + b + w);
    case TSIM_SCHEDULE_GPIPE:
    case TSIM_SCHEDULE_1F1B:
    case TSIM_SCHEDULE_INTERLEAVED:
        return runs * (p - 1) * (f + b + w) / z->chunks;
    case TSIM_SCHEDULE_ZB_H1:
        return (p - 1) * (f + b - w);
    case TSIM_SCHEDULE_ZB_H2:
        return (p - 1) * (f + b - 2 * w);
    case TSIM_SCHEDULE_ZB_V:
    case TSIM_SCHEDULE_PIPEDREAM:
    case TSIM_SCHEDULE_PIPEDREAM_2BW:
        return 0;
    case TSIM_SCHEDULE_DUALPIPE:
        return (p / 2 - 1) * ((f + b + w) + (b + w) - 3 * w);
    }
    TSIM_BUG("schedule %d", (int)z->schedule);
}
