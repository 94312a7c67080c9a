/* event_queue.h - what happens next: a priority queue of items, each with at most one pending event.
 *
 * An item is a small number that the owner chooses (the engine uses stream numbers); it is also the handle: putting an
 * item that is already queued moves its event, removing it cancels the event, both in place. The order is total and is
 * made of the key alone, (tick, phase, item), so that neither the history of the queue nor the order of insertion can
 * be seen from outside.
 *
 * Keys of a few items (TSIM_QUEUE_FEW, and ticks from 0 to 2^56) lie in a row, by item, in groups of eight whose
 * first ones are known, as is the first of all. To put one is to write it; where one was first and goes or comes later,
 * its group and the groups' first ones are gone through, without a branch that could be guessed wrong. Once there is
 * another item or tick all moves, for good, to two containers, and the next event is the smaller of their first ones:
 *   - an implicit 4-ary heap of 16-byte entries with an index from item to position;
 *   - TSIM_QUEUE_RUNS runs, FIFOs whose keys ascend: an event that comes after the last of a run is appended to it, no
 *     sifting. Symmetric work (every rank sends its k-th message at the same tick, in the order of their numbers)
 *     makes nothing but runs, and costs the same whether 8 or 8,192 do it.
 * Decisions that were measured (tests/bench/bench_engine.c prints today's figures):
 *   - the index costs 1 ns, and buys that a changed rate moves an event instead of leaving a dead one behind: a flow
 *     that is re-rated a thousand times still has one entry. An event that is moved out of a run leaves a hole, and
 *     goes to the heap; a run is closed up when it has more holes than events;
 *   - a pop from the heap leaves the root vacant until the next change, and a put then sifts down from there once,
 *     where pop and put apart would sift twice: 7 ns of a hold, 10 ns when two flows take turns at re-rating each
 *     other;
 *   - runs take a step of a ring of 4,096 from 76 to 50 ns an event; the hold model, whose times are random and which
 *     they cannot help, pays about 5 ns. */
#ifndef TSIM_ENGINE_EVENT_QUEUE_H
#define TSIM_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Within a tick all ends come before all starts. */
enum tsim_phase {
    TSIM_PHASE_END,  /* an activity has ended: capacity and streams become free */
    TSIM_PHASE_START /* a latency has passed: an activity begins to flow */
};

struct tsim_event {
    int64_t tick;
    enum tsim_phase phase;
    int32_t item;
};

struct tsim_event_entry {
    int64_t tick;
    uint64_t rank; /* phase in the upper half, item in the lower, so both are compared as one number */
};

enum { TSIM_QUEUE_RUNS = 2, TSIM_QUEUE_FEW = 64 };

/* A key has, from the highest bit, 57 bits of the tick, 1 bit of the phase and 6 bits of the item. UINT64_MAX means
 * that the item is not queued. */
enum { TSIM_QUEUE_GROUP = 8 };
struct tsim_event_row {
    int32_t n_groups; /* those in use */
    uint64_t first;   /* the first key of all */
    uint64_t firsts[TSIM_QUEUE_FEW / TSIM_QUEUE_GROUP];
    uint64_t keys[TSIM_QUEUE_FEW];
};
#define TSIM_QUEUE_LAST_TICK ((UINT64_C(1) << 56) - 1)

struct tsim_event_run {
    struct tsim_event_entry *entries;    /* an entry that was taken out has the item HOLE */
    size_t head, end, n_holes, capacity; /* the run is entries[head .. end), and entries[head] is no hole */
};

/* All fields are private. */
struct tsim_event_queue {
    bool has_many;
    struct tsim_event_row few;
    struct tsim_event_entry *entries;
    int32_t
        *position; /* each item's place in entries; -1: not queued; less: in a run, ~(at * TSIM_QUEUE_RUNS + run) - 1 */
    size_t n_entries, entry_capacity, n_items, position_capacity;
    bool root_is_vacant; /* entries[0] was popped and not yet replaced; n_entries still counts it */
    struct tsim_event_run runs[TSIM_QUEUE_RUNS];
    struct tsim_event_entry first; /* the first event of all and its container, while they are known */
    int first_place;
    bool first_is_known;
};

void tsim_event_queue_init(struct tsim_event_queue *queue);
void tsim_event_queue_release(struct tsim_event_queue *queue);

static inline uint64_t tsim_event_smaller(uint64_t a, uint64_t b) {
    return b < a ? b : a;
}

/* Updates the first keys of a row after a change that moved no key to an earlier time. */
static inline void tsim_event_row_sort(struct tsim_event_row *row, int32_t group) {
    const uint64_t *keys = row->keys + group * TSIM_QUEUE_GROUP;
    uint64_t a = tsim_event_smaller(keys[0], keys[1]), b = tsim_event_smaller(keys[2], keys[3]),
             c = tsim_event_smaller(keys[4], keys[5]), d = tsim_event_smaller(keys[6], keys[7]);
    row->firsts[group] = tsim_event_smaller(tsim_event_smaller(a, b), tsim_event_smaller(c, d));
    row->first = row->firsts[0];
    for (int32_t i = 1; i < row->n_groups; i++)
        row->first = tsim_event_smaller(row->first, row->firsts[i]);
}

static inline void tsim_event_row_put(struct tsim_event_row *row, int32_t item, uint64_t key) {
    int32_t group = (int32_t)((uint32_t)item / TSIM_QUEUE_GROUP);
    uint64_t before = row->keys[item];
    row->keys[item] = key;
    if (group >= row->n_groups)
        row->n_groups = group + 1;
    if (before < key && before == row->firsts[group]) {
        tsim_event_row_sort(row, group);
        return;
    }
    row->firsts[group] = tsim_event_smaller(row->firsts[group], key);
    row->first = tsim_event_smaller(row->first, key);
}

void tsim_event_queue_put_among_many(struct tsim_event_queue *queue, int32_t item, int64_t tick, enum tsim_phase phase);
/* Queues the item, or moves it if it is queued. item is at least 0; memory grows with the largest item. */
static inline void tsim_event_queue_put(struct tsim_event_queue *queue, int32_t item, int64_t tick,
                                        enum tsim_phase phase) {
    if (queue->has_many | ((uint32_t)item >= TSIM_QUEUE_FEW) | ((uint64_t)tick > TSIM_QUEUE_LAST_TICK))
        tsim_event_queue_put_among_many(queue, item, tick, phase);
    else
        tsim_event_row_put(&queue->few, item, (uint64_t)tick << 7 | (uint64_t)phase << 6 | (uint32_t)item);
}
void tsim_event_queue_remove(struct tsim_event_queue *queue, int32_t item); /* does nothing if it is not queued */
bool tsim_event_queue_has(const struct tsim_event_queue *queue, int32_t item);
int64_t tsim_event_queue_tick(const struct tsim_event_queue *queue, int32_t item); /* the item must be queued */
size_t tsim_event_queue_count(const struct tsim_event_queue *queue);

/* These give the first event; the second also removes it. They return false, with *event untouched, when there is
 * none. */
bool tsim_event_queue_peek(struct tsim_event_queue *queue, struct tsim_event *event);
bool tsim_event_queue_pop(struct tsim_event_queue *queue, struct tsim_event *event);
/* The two halves of a pop: the first finds where the first event is (a number below TSIM_QUEUE_HEAP if there is none),
 * the second takes it from there. Nothing may change in between. */
enum { TSIM_QUEUE_HEAP = -1 };
int tsim_event_queue_look(struct tsim_event_queue *queue); /* for it, where it is not known */
static inline int tsim_event_queue_find(struct tsim_event_queue *queue, struct tsim_event *event) {
    if (!queue->has_many) {
        uint64_t key = queue->few.first;
        event->tick = (int64_t)(key >> 7);
        event->phase = (enum tsim_phase)(key >> 6 & 1);
        event->item = (int32_t)(key & (TSIM_QUEUE_FEW - 1));
        return key == UINT64_MAX ? TSIM_QUEUE_HEAP - 1 : TSIM_QUEUE_HEAP;
    }
    int place = queue->first_is_known ? queue->first_place : tsim_event_queue_look(queue);
    event->tick = queue->first.tick;
    event->phase = (enum tsim_phase)(queue->first.rank >> 32);
    event->item = (int32_t)(queue->first.rank & INT32_MAX);
    return place;
}
void tsim_event_queue_take_from_many(struct tsim_event_queue *queue, int place, int32_t item);
static inline void tsim_event_queue_take(struct tsim_event_queue *queue, int place, int32_t item) {
    if (queue->has_many) {
        tsim_event_queue_take_from_many(queue, place, item);
        return;
    }
    queue->few.keys[item] = UINT64_MAX;
    tsim_event_row_sort(&queue->few, (int32_t)((uint32_t)item / TSIM_QUEUE_GROUP));
}
/* Finds an event of a tick before which no event is queued; returns false if there is none. */
static inline bool tsim_event_queue_find_at(struct tsim_event_queue *queue, int64_t tick, int *place,
                                            struct tsim_event *event) {
    if (!queue->has_many && queue->few.first >> 7 != (uint64_t)tick)
        return false;
    *place = tsim_event_queue_find(queue, event);
    return *place >= TSIM_QUEUE_HEAP && event->tick == tick;
}

#endif
