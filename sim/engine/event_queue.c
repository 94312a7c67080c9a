#include "engine/event_queue.h"

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

enum { ARITY = 4 };

void tsim_event_queue_init(struct tsim_event_queue *queue) {
    memset(queue, 0, sizeof *queue);
}

void tsim_event_queue_release(struct tsim_event_queue *queue) {
    tsim_heap_free(queue->entries);
    tsim_heap_free(queue->position);
    memset(queue, 0, sizeof *queue);
}

/* Bitwise on purpose: times are random, a branch on them would be guessed wrong half of the time. */
static bool is_before(struct tsim_event_entry a, struct tsim_event_entry b) {
    return (a.tick < b.tick) | ((a.tick == b.tick) & (a.rank < b.rank));
}

static int32_t entry_item(struct tsim_event_entry entry) {
    return (int32_t)(entry.rank & INT32_MAX);
}

static struct tsim_event entry_event(struct tsim_event_entry entry) {
    return (struct tsim_event){entry.tick, (enum tsim_phase)(entry.rank >> 32), entry_item(entry)};
}

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

/* The first of the children of `at`; `at` has at least one. */
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

static void know_item(struct tsim_event_queue *queue, int32_t item) {
    TSIM_ASSERT(item >= 0);
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
    if (at >= 0) {
        if (is_before(entry, queue->entries[at])) {
            fill_vacant_root(queue); /* a sift up must not compare with a vacant root */
            sift_up(queue, (size_t)queue->position[item], entry);
        } else {
            sift_down(queue, (size_t)at, entry);
        }
    } else if (queue->root_is_vacant) {
        queue->root_is_vacant = false;
        sift_down(queue, 0, entry);
    } else {
        queue->entries =
            tsim_heap_grow(queue->entries, &queue->entry_capacity, queue->n_entries + 1, sizeof *queue->entries);
        sift_up(queue, queue->n_entries++, entry);
    }
}

void tsim_event_queue_remove(struct tsim_event_queue *queue, int32_t item) {
    if (!tsim_event_queue_has(queue, item))
        return;
    fill_vacant_root(queue);
    size_t at = (size_t)queue->position[item];
    queue->position[item] = -1;
    struct tsim_event_entry last = queue->entries[--queue->n_entries];
    if (at == queue->n_entries)
        return;
    if (at > 0 && is_before(last, queue->entries[(at - 1) / ARITY]))
        sift_up(queue, at, last);
    else
        sift_down(queue, at, last);
}

bool tsim_event_queue_has(const struct tsim_event_queue *queue, int32_t item) {
    return item >= 0 && (size_t)item < queue->n_items && queue->position[item] >= 0;
}

size_t tsim_event_queue_count(const struct tsim_event_queue *queue) {
    return queue->n_entries - (size_t)queue->root_is_vacant;
}

bool tsim_event_queue_peek(const struct tsim_event_queue *queue, struct tsim_event *event) {
    if (tsim_event_queue_count(queue) == 0)
        return false;
    *event = entry_event(queue->entries[queue->root_is_vacant ? first_child(queue, 0) : 0]);
    return true;
}

bool tsim_event_queue_pop(struct tsim_event_queue *queue, struct tsim_event *event) {
    fill_vacant_root(queue);
    if (queue->n_entries == 0)
        return false;
    *event = entry_event(queue->entries[0]);
    queue->position[event->item] = -1;
    queue->root_is_vacant = true;
    return true;
}
