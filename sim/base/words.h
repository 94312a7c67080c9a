/* words.h - a list of 64-bit words that grows, for what is to be compared bit by bit or read again in order. Small
 * words take few bytes: with the sign in the lowest bit, below 128 a byte, else the number of bytes that follow (with
 * the highest bit set) and these, the lowest first. Free with tsim_words_release. */
#ifndef TSIM_BASE_WORDS_H
#define TSIM_BASE_WORDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

struct tsim_words {
    uint8_t *bytes;
    size_t n, capacity; /* bytes */
};

enum { TSIM_WORD_MOST = 9 /* bytes of a word */ };

/* Where there is room for it; returns where the next begins. */
static inline uint8_t *tsim_words_write(uint8_t *at, int64_t word) {
    uint64_t rest = word < 0 ? ~((uint64_t)word << 1) : (uint64_t)word << 1;
    if (rest < 0x80) {
        *at = (uint8_t)rest;
        return at + 1;
    }
    int n = (71 - __builtin_clzll(rest)) / 8;
    *at++ = (uint8_t)(0x80 | n);
    for (int i = 0; i < 8; i++) /* one store; what is beyond n is the next word's */
        at[i] = (uint8_t)(rest >> 8 * i);
    return at + n;
}

static inline void tsim_words_put_all(struct tsim_words *words, const int64_t *all, size_t n) {
    if ((words->capacity - words->n) / TSIM_WORD_MOST < n)
        words->bytes = tsim_heap_grow(words->bytes, &words->capacity, words->n + n * TSIM_WORD_MOST, 1);
    uint8_t *at = words->bytes + words->n;
    for (size_t i = 0; i < n; i++)
        at = tsim_words_write(at, all[i]);
    words->n = (size_t)(at - words->bytes);
}

static inline void tsim_words_put(struct tsim_words *words, int64_t word) {
    tsim_words_put_all(words, &word, 1);
}

/* A double by its bits, turned round: the last ones are mostly noughts. */
static inline uint64_t tsim_words_turn(uint64_t bits) {
    bits = (bits & UINT64_C(0x00ff00ff00ff00ff)) << 8 | (bits >> 8 & UINT64_C(0x00ff00ff00ff00ff));
    bits = (bits & UINT64_C(0x0000ffff0000ffff)) << 16 | (bits >> 16 & UINT64_C(0x0000ffff0000ffff));
    return bits << 32 | bits >> 32;
}

static inline void tsim_words_put_double(struct tsim_words *words, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tsim_words_put(words, (int64_t)tsim_words_turn(bits));
}

/* Reads at *at, which moves on to the next word. */
static inline int64_t tsim_words_next(const uint8_t **at) {
    uint64_t word = *(*at)++;
    if (word & 0x80) {
        int n = (int)(word & 0x7f);
        word = 0;
        for (int i = 0; i < n; i++)
            word |= (uint64_t) * (*at)++ << 8 * i;
    }
    return word & 1 ? ~(int64_t)(word >> 1) : (int64_t)(word >> 1);
}

static inline double tsim_words_next_double(const uint8_t **at) {
    uint64_t bits = tsim_words_turn((uint64_t)tsim_words_next(at));
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline bool tsim_words_equal(const struct tsim_words *a, const struct tsim_words *b) {
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

static inline void tsim_words_release(struct tsim_words *words) {
    tsim_heap_free(words->bytes);
    *words = (struct tsim_words){0};
}

#endif
