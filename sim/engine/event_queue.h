/* event_queue.h - what happens next: a priority queue of items, each with at most one pending event.
 *
 * An item is a small number that the owner chooses (the engine uses stream numbers); it is also the handle: putting an
 * item that is already queued moves its event, removing it cancels the event, both in place. The order is total and is
 * made of the key alone, (tick, phase, item), so that neither the history of the queue nor the order of insertion can
 * be seen from outside.
 *
 * An implicit 4-ary heap of 16-byte entries with an index from item to position. Two decisions were measured (hold
 * model with 4,096 pending, 66 ns a hold; tests/bench/bench_engine.c prints today's figure):
 *   - the index costs 1 ns, and buys that a changed rate moves an event instead of leaving a dead one behind: a flow
 *     that is re-rated a thousand times still has one entry;
 *   - a pop leaves the root vacant until the next change, and a put then sifts down from there once, where pop and put
 *     apart would sift twice: 7 ns of a hold, 10 ns when two flows take turns at re-rating each other. */
#ifndef TSIM_ENGINE_EVENT_QUEUE_H
#define TSIM_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the events of one tick all ends come before all starts. */
enum tsim_phase {
    TSIM_PHASE_END,  /* an activity is over: capacity and streams become free */
    TSIM_PHASE_START /* a latency is over: an activity begins to flow */
};

struct tsim_event {
    int64_t tick;
    enum tsim_phase phase;
    int32_t item;
};

struct tsim_event_entry {
    int64_t tick;
    uint64_t rank; /* phase in the upper half, item in the lower: compared as one number */
};

/* All private. */
struct tsim_event_queue {
    struct tsim_event_entry *entries;
    int32_t *position; /* of each item in entries, -1 = not queued */
    size_t n_entries, entry_capacity, n_items, position_capacity;
    bool root_is_vacant; /* entries[0] was popped and not yet replaced; it still counts in n_entries */
};

void tsim_event_queue_init(struct tsim_event_queue *queue);
void tsim_event_queue_release(struct tsim_event_queue *queue);

/* Queues the item, or moves it if it is queued. item >= 0; memory grows with the largest item. */
void tsim_event_queue_put(struct tsim_event_queue *queue, int32_t item, int64_t tick, enum tsim_phase phase);
void tsim_event_queue_remove(struct tsim_event_queue *queue, int32_t item); /* nothing if it is not queued */
bool tsim_event_queue_has(const struct tsim_event_queue *queue, int32_t item);
size_t tsim_event_queue_count(const struct tsim_event_queue *queue);

/* The first event; false and *event untouched when there is none. */
bool tsim_event_queue_peek(const struct tsim_event_queue *queue, struct tsim_event *event);
bool tsim_event_queue_pop(struct tsim_event_queue *queue, struct tsim_event *event);

#endif
