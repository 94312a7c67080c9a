/* words.h - a list of 64-bit words that grows: what is to be compared bit by bit. Free with tsim_words_release. */
#ifndef TSIM_BASE_WORDS_H
#define TSIM_BASE_WORDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

struct tsim_words {
    int64_t *items;
    size_t n, capacity;
};

static inline void tsim_words_put(struct tsim_words *words, int64_t word) {
    if (words->n == words->capacity)
        words->items = tsim_heap_grow(words->items, &words->capacity, words->n + 1, sizeof *words->items);
    words->items[words->n++] = word;
}

/* A double by its bits. */
static inline void tsim_words_put_double(struct tsim_words *words, double value) {
    int64_t word;
    memcpy(&word, &value, sizeof word);
    tsim_words_put(words, word);
}

static inline bool tsim_words_equal(const struct tsim_words *a, const struct tsim_words *b) {
    return a->n == b->n && memcmp(a->items, b->items, a->n * sizeof *a->items) == 0;
}

static inline void tsim_words_release(struct tsim_words *words) {
    tsim_heap_free(words->items);
    *words = (struct tsim_words){0};
}

#endif
