/* hash.h - 128 bits that stand for a text: equal on every machine, so that what is keyed by it can be merged. FNV-1a
 * (Fowler, Noll, Vo) in its 128-bit form: offset basis 0x6c62272e07bb014262b821756295c58d, prime 2^88 + 0x13b. Not
 * against an adversary; two of a million different texts agree with a chance of 1e-27. */
#ifndef TSIM_BASE_HASH_H
#define TSIM_BASE_HASH_H

#include <stdint.h>

enum { TSIM_HASH_TEXT_SIZE = 33 }; /* 32 hexadecimal digits and the NUL */

struct tsim_hash {
    uint64_t high, low;
};

void tsim_hash_init(struct tsim_hash *hash);
/* Adds the text and its final NUL, so that ("ab", "c") and ("a", "bc") differ. */
void tsim_hash_add(struct tsim_hash *hash, const char *text);
void tsim_hash_text(const struct tsim_hash *hash, char text[TSIM_HASH_TEXT_SIZE]);

#endif
