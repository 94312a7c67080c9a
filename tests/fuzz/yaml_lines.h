/* yaml_lines.h - mutations that leave a YAML text what it is but for one line, or one value in it: of those that change
 * any byte, nearly all end where the text is read. */
#pragma once

#include "fuzz/fuzz.h"

#include <ctype.h>

struct fuzz_piece {
    size_t start, length;
};

static inline unsigned fuzz_draw(unsigned *seed, size_t n) {
    *seed = *seed * 1664525U + 1013904223U;
    return (unsigned)((*seed >> 8) % n);
}

/* Puts `length` other bytes in the place of a piece; returns the new size, or the old one if there is no room. */
static inline size_t fuzz_replace(uint8_t *data, size_t size, size_t max_size, struct fuzz_piece piece,
                                  const void *bytes, size_t length) {
    if (size - piece.length + length > max_size)
        return size;
    memmove(data + piece.start + length, data + piece.start + piece.length, size - piece.start - piece.length);
    memcpy(data + piece.start, bytes, length);
    return size - piece.length + length;
}

/* Returns a line, with its newline. */
static inline struct fuzz_piece fuzz_line(const uint8_t *data, size_t size, unsigned *seed) {
    size_t start = fuzz_draw(seed, size), end = start;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    while (end < size && data[end] != '\n')
        end++;
    return (struct fuzz_piece){start, end - start + (end < size)};
}

/* Returns what stands after one of the line's colons, up to what ends a value; without a colon it is empty. */
static inline struct fuzz_piece fuzz_value(const uint8_t *data, struct fuzz_piece line, unsigned *seed) {
    struct fuzz_piece value = {line.start, 0};
    size_t n_colons = 0, end = line.start + line.length;
    for (size_t i = line.start; i + 1 < end; i++) {
        if (data[i] != ':' || data[i + 1] != ' ' || fuzz_draw(seed, ++n_colons) > 0)
            continue;
        value.start = i + 2;
        value.length = 0;
        while (value.start + value.length < end && !strchr(",}]\n", data[value.start + value.length]))
            value.length++;
    }
    return value;
}

/* Writes another number in the place of the one that a value begins with, and leaves its unit. */
static inline size_t fuzz_other_number(uint8_t *data, size_t size, size_t max_size, struct fuzz_piece value,
                                       unsigned *seed) {
    static const char *const NUMBERS[] = {"0",    "1",     "2",      "3",          "7",         "8",
                                          "16",   "100",   "0.5",    "-1",         "1e-3",      "1e6",
                                          "1e15", "1e308", "1e-300", "2147483647", "0.9999999", "9223372036854775807"};
    const char *number = NUMBERS[fuzz_draw(seed, sizeof NUMBERS / sizeof NUMBERS[0])];
    size_t length = 0;
    while (length < value.length && strchr("0123456789.+-eE_", data[value.start + length]))
        length++;
    return fuzz_replace(data, size, max_size, (struct fuzz_piece){value.start, length}, number, strlen(number));
}

/* Lets libFuzzer change a value as if it were the whole input. */
static inline size_t fuzz_other_value(uint8_t *data, size_t size, size_t max_size, struct fuzz_piece value) {
    uint8_t bytes[256];
    size_t length = value.length < sizeof bytes / 2 ? value.length : sizeof bytes / 2;
    memcpy(bytes, data + value.start, length);
    length = LLVMFuzzerMutate(bytes, length, sizeof bytes);
    return fuzz_replace(data, size, max_size, value, bytes, length);
}

static inline size_t fuzz_mutate_lines(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    enum { ANY_BYTE, REMOVE, MOVE, VALUE, VALUE_2, NUMBER, NUMBER_2, NUMBER_3, N_WAYS };
    uint8_t copy[512];
    unsigned way = fuzz_draw(&seed, N_WAYS);
    if (size == 0 || way == ANY_BYTE)
        return LLVMFuzzerMutate(data, size, max_size);
    struct fuzz_piece line = fuzz_line(data, size, &seed), other = fuzz_line(data, size, &seed);
    if (way == REMOVE)
        return fuzz_replace(data, size, max_size, line, "", 0);
    if (way == MOVE && other.length <= sizeof copy) {
        memcpy(copy, data + other.start, other.length);
        return fuzz_replace(data, size, max_size, (struct fuzz_piece){line.start, 0}, copy, other.length);
    }
    struct fuzz_piece value = fuzz_value(data, line, &seed);
    bool is_number = way >= NUMBER && value.length > 0 && isdigit(data[value.start]);
    return is_number ? fuzz_other_number(data, size, max_size, value, &seed)
                     : fuzz_other_value(data, size, max_size, value);
}
