/* hash.h - 128 bits that stand for a text. They are equal on every machine, so that records keyed by them can be
 * merged. The hash is FNV-1a (Fowler, Noll, Vo) in its 128-bit form, with offset basis
 * 0x6c62272e07bb014262b821756295c58d and prime 2^88 + 0x13b. It gives no protection against an adversary; that any two
 * of a million different texts agree has a probability of 1e-27. */
#pragma once

#include <stdint.h>

enum { TSIM_HASH_TEXT_SIZE = 33 }; /* 32 hexadecimal digits and the NUL */

struct tsim_hash {
    uint64_t high, low;
};

void tsim_hash_init(struct tsim_hash *hash);
/* Adds the text and its final NUL, so that ("ab", "c") and ("a", "bc") differ. */
void tsim_hash_add(struct tsim_hash *hash, const char *text);
void tsim_hash_text(const struct tsim_hash *hash, char text[TSIM_HASH_TEXT_SIZE]);
