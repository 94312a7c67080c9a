#include "engine/event_queue.h"

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

enum { ARITY = 4, HOLE = INT32_MAX, MIN_RUN_CAPACITY = 64 };

void tsim_event_queue_init(struct tsim_event_queue *queue) {
    memset(queue, 0, sizeof *queue);
}

void tsim_event_queue_release(struct tsim_event_queue *queue) {
    tsim_heap_free(queue->entries);
    tsim_heap_free(queue->position);
    for (int i = 0; i < TSIM_QUEUE_RUNS; i++)
        tsim_heap_free(queue->runs[i].entries);
    tsim_event_queue_init(queue);
}

/* Compares bitwise on purpose: times are random, so a branch on them would be predicted wrong half of the time. */
static bool is_before(struct tsim_event_entry a, struct tsim_event_entry b) {
    return (a.tick < b.tick) | ((a.tick == b.tick) & (a.rank < b.rank));
}

static int32_t entry_item(struct tsim_event_entry entry) {
    return (int32_t)(entry.rank & INT32_MAX);
}

/* ---- the heap ---- */

static void place(struct tsim_event_queue *queue, size_t at, struct tsim_event_entry entry) {
    queue->entries[at] = entry;
    queue->position[entry_item(entry)] = (int32_t)at;
}

static void sift_up(struct tsim_event_queue *queue, size_t at, struct tsim_event_entry entry) {
    while (at > 0) {
        size_t parent = (at - 1) / ARITY;
        if (!is_before(entry, queue->entries[parent]))
            break;
        place(queue, at, queue->entries[parent]);
        at = parent;
    }
    place(queue, at, entry);
}

/* Returns the first of the children of `at`; `at` has at least one. */
static size_t first_child(const struct tsim_event_queue *queue, size_t at) {
    const struct tsim_event_entry *entries = queue->entries;
    size_t child = at * ARITY + 1;
    if (child + ARITY <= queue->n_entries) { /* all four: two pairs and a final, without data-dependent branches */
        size_t left = child + (size_t)is_before(entries[child + 1], entries[child]);
        size_t right = child + 2 + (size_t)is_before(entries[child + 3], entries[child + 2]);
        return is_before(entries[right], entries[left]) ? right : left;
    }
    size_t first = child;
    for (size_t i = child + 1; i < queue->n_entries; i++)
        if (is_before(entries[i], entries[first]))
            first = i;
    return first;
}

static void sift_down(struct tsim_event_queue *queue, size_t at, struct tsim_event_entry entry) {
    while (at * ARITY + 1 < queue->n_entries) {
        size_t child = first_child(queue, at);
        if (!is_before(queue->entries[child], entry))
            break;
        place(queue, at, queue->entries[child]);
        at = child;
    }
    place(queue, at, entry);
}

static void fill_vacant_root(struct tsim_event_queue *queue) {
    if (!queue->root_is_vacant)
        return;
    queue->root_is_vacant = false;
    queue->n_entries--;
    if (queue->n_entries > 0)
        sift_down(queue, 0, queue->entries[queue->n_entries]);
}

static void put_in_heap(struct tsim_event_queue *queue, struct tsim_event_entry entry) {
    if (queue->root_is_vacant) {
        queue->root_is_vacant = false;
        sift_down(queue, 0, entry);
        return;
    }
    queue->entries =
        tsim_heap_grow(queue->entries, &queue->entry_capacity, queue->n_entries + 1, sizeof *queue->entries);
    sift_up(queue, queue->n_entries++, entry);
}

static void move_in_heap(struct tsim_event_queue *queue, struct tsim_event_entry entry) {
    size_t at = (size_t)queue->position[entry_item(entry)];
    if (is_before(entry, queue->entries[at])) {
        fill_vacant_root(queue); /* a sift up must not compare with a vacant root */
        sift_up(queue, (size_t)queue->position[entry_item(entry)], entry);
    } else {
        sift_down(queue, at, entry);
    }
}

static void remove_from_heap(struct tsim_event_queue *queue, int32_t item) {
    fill_vacant_root(queue);
    size_t at = (size_t)queue->position[item];
    struct tsim_event_entry last = queue->entries[--queue->n_entries];
    if (at == queue->n_entries)
        return;
    if (at > 0 && is_before(last, queue->entries[(at - 1) / ARITY]))
        sift_up(queue, at, last);
    else
        sift_down(queue, at, last);
}

/* ---- the runs ---- */

static int32_t position_in_run(size_t at, int run) {
    return -2 - (int32_t)(at * TSIM_QUEUE_RUNS + (size_t)run);
}

/* Drops what was popped and the holes. */
static void close_up(struct tsim_event_queue *queue, int which) {
    struct tsim_event_run *run = &queue->runs[which];
    size_t kept = 0;
    for (size_t i = run->head; i < run->end; i++) {
        if (entry_item(run->entries[i]) == HOLE)
            continue;
        queue->position[entry_item(run->entries[i])] = position_in_run(kept, which);
        run->entries[kept++] = run->entries[i];
    }
    run->head = run->n_holes = 0;
    run->end = kept;
}

static void make_room(struct tsim_event_queue *queue, int which) {
    struct tsim_event_run *run = &queue->runs[which];
    if (run->end < run->capacity)
        return;
    if (run->head + run->n_holes > run->capacity / 2) {
        close_up(queue, which);
        return;
    }
    size_t wanted = run->capacity < MIN_RUN_CAPACITY ? MIN_RUN_CAPACITY : 2 * run->capacity;
    TSIM_ASSERT(wanted < INT32_MAX / TSIM_QUEUE_RUNS - 2);
    run->entries = tsim_heap_grow(run->entries, &run->capacity, wanted, sizeof *run->entries);
}

static bool is_empty(const struct tsim_event_run *run) {
    return run->head == run->end;
}

/* Appends to the run that has the latest end not after it, else to an empty one; false when there is none. */
static bool put_in_run(struct tsim_event_queue *queue, struct tsim_event_entry entry) {
    int best = -1;
    for (int i = 0; i < TSIM_QUEUE_RUNS; i++) {
        const struct tsim_event_run *run = &queue->runs[i];
        if (is_empty(run)) {
            best = best < 0 ? i : best;
            continue;
        }
        struct tsim_event_entry last = run->entries[run->end - 1];
        if (is_before(last, entry) && (best < 0 || is_empty(&queue->runs[best]) ||
                                       is_before(queue->runs[best].entries[queue->runs[best].end - 1], last)))
            best = i;
    }
    if (best < 0)
        return false;
    make_room(queue, best);
    struct tsim_event_run *run = &queue->runs[best];
    queue->position[entry_item(entry)] = position_in_run(run->end, best);
    run->entries[run->end++] = entry;
    return true;
}

/* Moves past the first entry, and the holes behind it. */
static void advance(struct tsim_event_run *run) {
    run->head++;
    while (run->head < run->end && entry_item(run->entries[run->head]) == HOLE) {
        run->head++;
        run->n_holes--;
    }
    if (is_empty(run))
        run->head = run->end = 0;
}

static void remove_from_run(struct tsim_event_queue *queue, int32_t item) {
    size_t code = (size_t)(-2 - queue->position[item]), at = code / TSIM_QUEUE_RUNS;
    int which = (int)(code % TSIM_QUEUE_RUNS);
    struct tsim_event_run *run = &queue->runs[which];
    if (at == run->head) {
        advance(run);
        return;
    }
    run->entries[at].rank |= HOLE; /* tick and phase stay: the run still ascends */
    run->n_holes++;
    if (run->n_holes > MIN_RUN_CAPACITY && 2 * run->n_holes > run->end - run->head)
        close_up(queue, which);
}

/* ---- all ---- */

static void know_item(struct tsim_event_queue *queue, int32_t item) {
    TSIM_ASSERT(item >= 0 && item < HOLE);
    size_t needed = (size_t)item + 1;
    if (needed <= queue->n_items)
        return;
    queue->position = tsim_heap_grow(queue->position, &queue->position_capacity, needed, sizeof *queue->position);
    while (queue->n_items < needed)
        queue->position[queue->n_items++] = -1;
}

void tsim_event_queue_put(struct tsim_event_queue *queue, int32_t item, int64_t tick, enum tsim_phase phase) {
    know_item(queue, item);
    struct tsim_event_entry entry = {tick, (uint64_t)phase << 32 | (uint32_t)item};
    int32_t at = queue->position[item];
    if (queue->first_is_known && (entry_item(queue->first) == item || is_before(entry, queue->first)))
        queue->first_is_known = false;
    if (at >= 0) {
        move_in_heap(queue, entry);
    } else if (at < -1) {
        remove_from_run(queue, item);
        put_in_heap(queue, entry);
    } else if (!put_in_run(queue, entry)) {
        put_in_heap(queue, entry);
    }
}

void tsim_event_queue_remove(struct tsim_event_queue *queue, int32_t item) {
    if (!tsim_event_queue_has(queue, item))
        return;
    queue->first_is_known = false;
    if (queue->position[item] >= 0)
        remove_from_heap(queue, item);
    else
        remove_from_run(queue, item);
    queue->position[item] = -1;
}

bool tsim_event_queue_has(const struct tsim_event_queue *queue, int32_t item) {
    return item >= 0 && (size_t)item < queue->n_items && queue->position[item] != -1;
}

int64_t tsim_event_queue_tick(const struct tsim_event_queue *queue, int32_t item) {
    int32_t at = queue->position[item];
    if (at >= 0)
        return queue->entries[at].tick;
    size_t code = (size_t)(-2 - at);
    return queue->runs[code % TSIM_QUEUE_RUNS].entries[code / TSIM_QUEUE_RUNS].tick;
}

size_t tsim_event_queue_count(const struct tsim_event_queue *queue) {
    size_t n = queue->n_entries - (size_t)queue->root_is_vacant;
    for (int i = 0; i < TSIM_QUEUE_RUNS; i++)
        n += queue->runs[i].end - queue->runs[i].head - queue->runs[i].n_holes;
    return n;
}

enum { NOWHERE = TSIM_QUEUE_HEAP - 1 }; /* runs are 0, 1, ... */

int tsim_event_queue_look(struct tsim_event_queue *queue) {
    struct tsim_event_entry first = {0, 0};
    int place = NOWHERE;
    if (queue->n_entries > (size_t)queue->root_is_vacant) {
        place = TSIM_QUEUE_HEAP;
        first = queue->entries[queue->root_is_vacant ? first_child(queue, 0) : 0];
    }
    for (int i = 0; i < TSIM_QUEUE_RUNS; i++) {
        const struct tsim_event_run *run = &queue->runs[i];
        if (is_empty(run) || (place != NOWHERE && is_before(first, run->entries[run->head])))
            continue;
        place = i;
        first = run->entries[run->head];
    }
    queue->first = first;
    queue->first_place = place;
    queue->first_is_known = place != NOWHERE;
    return place;
}

void tsim_event_queue_take(struct tsim_event_queue *queue, int place, int32_t item) {
    queue->first_is_known = false;
    if (place == TSIM_QUEUE_HEAP) {
        fill_vacant_root(queue);
        queue->root_is_vacant = true;
    } else {
        advance(&queue->runs[place]);
    }
    queue->position[item] = -1;
}

bool tsim_event_queue_peek(struct tsim_event_queue *queue, struct tsim_event *event) {
    struct tsim_event first;
    if (tsim_event_queue_find(queue, &first) == NOWHERE)
        return false;
    *event = first;
    return true;
}

bool tsim_event_queue_pop(struct tsim_event_queue *queue, struct tsim_event *event) {
    struct tsim_event first;
    int place = tsim_event_queue_find(queue, &first);
    if (place == NOWHERE)
        return false;
    *event = first;
    tsim_event_queue_take(queue, place, event->item);
    return true;
}
