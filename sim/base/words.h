/* words.h - a list of 64-bit words that grows, for data that are compared bit by bit or read again in order. Free it
 * with tsim_words_release. */
#pragma once

#include "base/arena.h"

#include <string.h>

struct tsim_words {
    int64_t *words;
    size_t n, capacity;
};

static inline void tsim_words_put_all(struct tsim_words *words, const int64_t *all, size_t n) {
    if (words->capacity - words->n < n)
        words->words = tsim_heap_grow(words->words, &words->capacity, words->n + n, sizeof *words->words);
    memcpy(words->words + words->n, all, n * sizeof *all);
    words->n += n;
}

static inline void tsim_words_put(struct tsim_words *words, int64_t word) {
    if (words->n == words->capacity)
        words->words = tsim_heap_grow(words->words, &words->capacity, words->n + 1, sizeof *words->words);
    words->words[words->n++] = word;
}

static inline void tsim_words_put_double(struct tsim_words *words, double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tsim_words_put(words, bits);
}

/* Reads the word at *at, and moves *at to the next one. */
static inline int64_t tsim_words_next(const int64_t **at) {
    return *(*at)++;
}

static inline double tsim_words_next_double(const int64_t **at) {
    double value;
    memcpy(&value, (*at)++, sizeof value);
    return value;
}

static inline void tsim_words_release(struct tsim_words *words) {
    tsim_heap_free(words->words);
    *words = (struct tsim_words){0};
}
