/* event_queue.h - what happens next: a priority queue of items, each with at most one pending event.
 *
 * An item is a small number that the owner chooses (the engine uses stream numbers); it is also the handle: putting an
 * item that is already queued moves its event, removing it cancels the event, both in place. The order is total and is
 * made of the key alone, (tick, phase, item), so that neither the history of the queue nor the order of insertion can
 * be seen from outside.
 *
 * Events lie in two containers, and the next one is the smaller of their first ones:
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
#pragma once

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

enum { TSIM_QUEUE_RUNS = 2 };

struct tsim_event_run {
    struct tsim_event_entry *entries;    /* an entry that was taken out has the item HOLE */
    size_t head, end, n_holes, capacity; /* the run is entries[head .. end), and entries[head] is no hole */
};

/* All fields are private. */
struct tsim_event_queue {
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

/* Queues the item, or moves it if it is queued. item is at least 0; memory grows with the largest item. */
void tsim_event_queue_put(struct tsim_event_queue *queue, int32_t item, int64_t tick, enum tsim_phase phase);
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
    int place = queue->first_is_known ? queue->first_place : tsim_event_queue_look(queue);
    event->tick = queue->first.tick;
    event->phase = (enum tsim_phase)(queue->first.rank >> 32);
    event->item = (int32_t)(queue->first.rank & INT32_MAX);
    return place;
}
void tsim_event_queue_take(struct tsim_event_queue *queue, int place, int32_t item);
/* Finds an event of a tick before which no event is queued; returns false if there is none. */
static inline bool tsim_event_queue_find_at(struct tsim_event_queue *queue, int64_t tick, int *place,
                                            struct tsim_event *event) {
    *place = tsim_event_queue_find(queue, event);
    return *place >= TSIM_QUEUE_HEAP && event->tick == tick;
}
