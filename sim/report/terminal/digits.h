/* digits.h - numbers as text, written by hand into a buffer that is known to have room, because a trace is mostly
 * numbers and printf takes ten times as long. Each function returns where the next character goes. */
#pragma once

#include <stdint.h>
#include <string.h>

enum { TSIM_DIGITS_MOST = 24 /* bytes that a number may overwrite */ };

static inline char *tsim_digits_text(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

/* Writes two decimal digits, at[0] and at[1]. */
static inline void tsim_digits_pair(char *at, uint64_t below_100) {
    static const char PAIRS[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434"
        "44546474849505152535455565758596061626364656667686970717273747576777879808182838485868788"
        "8990919293949596979899";
    memcpy(at, PAIRS + 2 * below_100, 2);
}

static inline char *tsim_digits_whole(char *at, uint64_t value) {
    char text[TSIM_DIGITS_MOST * 2], *begin = text + TSIM_DIGITS_MOST;
    for (; value >= 100; value /= 100)
        tsim_digits_pair(begin -= 2, value % 100);
    if (value >= 10)
        tsim_digits_pair(begin -= 2, value);
    else
        *--begin = (char)('0' + value);
    memcpy(at, begin, TSIM_DIGITS_MOST);
    return at + (text + TSIM_DIGITS_MOST - begin);
}

/* Writes value / 1000 with three decimals, or with none if they are zeros. */
static inline char *tsim_digits_thousandths(char *at, int64_t value) {
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, part = size % 1000;
    if (value < 0)
        *at++ = '-';
    at = tsim_digits_whole(at, size / 1000);
    if (part == 0)
        return at;
    *at++ = '.';
    *at++ = (char)('0' + part / 100);
    tsim_digits_pair(at, part % 100);
    return at + 2;
}

/* Writes value / 10, with a decimal unless it is zero. */
static inline char *tsim_digits_tenths(char *at, int64_t value) {
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        *at++ = '-';
    at = tsim_digits_whole(at, size / 10);
    if (size % 10 == 0)
        return at;
    *at++ = '.';
    *at++ = (char)('0' + size % 10);
    return at;
}
