#include "base/hash.h"

#include <stdio.h>

void tsim_hash_init(struct tsim_hash *hash) {
    *hash = (struct tsim_hash){UINT64_C(0x6c62272e07bb0142), UINT64_C(0x62b821756295c58d)};
}

/* Computes h * (2^88 + 0x13b) modulo 2^128: 0x13b times each half, and the low half shifted by 88 - 64 bits into the
 * high one. */
static void add_byte(struct tsim_hash *hash, unsigned char byte) {
    const uint64_t factor = 0x13b, half = UINT64_C(0xffffffff);
    uint64_t low = hash->low ^ byte;
    uint64_t low_low = (low & half) * factor, low_high = (low >> 32) * factor + (low_low >> 32);
    hash->high = hash->high * factor + (low_high >> 32) + (low << 24);
    hash->low = (low_high << 32) | (low_low & half);
}

void tsim_hash_add(struct tsim_hash *hash, const char *text) {
    for (const char *at = text; *at; at++)
        add_byte(hash, (unsigned char)*at);
    add_byte(hash, 0);
}

void tsim_hash_text(const struct tsim_hash *hash, char text[TSIM_HASH_TEXT_SIZE]) {
    snprintf(text, TSIM_HASH_TEXT_SIZE, "%016llx%016llx", (unsigned long long)hash->high,
             (unsigned long long)hash->low);
}
