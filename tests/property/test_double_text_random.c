/* The shortest text of a double against the definition: the first number of digits, tried from 1 on, that reads back.
 */
#include "base/quantity.h"
#include "support/check_main.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N_CASES = 20000 };

/* Returns the next number of xorshift64* (Vigna 2016). */
static uint64_t next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static const char *naive(double value, char *buffer, size_t size) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

static void check(double value, uint64_t seed) {
    char text[40], expected[40];
    if (!isfinite(value) || (value == floor(value) && fabs(value) < 1e12)) /* whole numbers have a form of their own */
        return;
    tsim_double_text(value, text, sizeof text);
    naive(value, expected, sizeof expected);
    TSIM_ALWAYS(strcmp(text, expected) == 0, "seed %llu: %.17g is '%s', not '%s'", (unsigned long long)seed, value,
                text, expected);
}

/* Doubles of all bits read back: every exponent, subnormal ones, both signs. */
TSIM_TEST(any_bits) {
    uint64_t state = 42;
    for (int i = 0; i < N_CASES; i++) {
        uint64_t seed = state, bits = next(&state);
        double value;
        memcpy(&value, &bits, sizeof value);
        check(value, seed);
    }
}

/* Decimals of few digits, which have a short text, and their neighbours, which have not. */
TSIM_TEST(short_decimals_and_their_neighbours) {
    uint64_t state = 7;
    for (int i = 0; i < N_CASES / 4; i++) {
        uint64_t seed = state, bits = next(&state);
        char text[40];
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)(bits >> (20 + bits % 43)),
                 (int)(bits / 64 % 60) - 30);
        double value = strtod(text, NULL);
        check(value, seed);
        check(nextafter(value, HUGE_VAL), seed);
        check(nextafter(value, 0), seed);
    }
}

TSIM_TEST(the_edges) {
    static const double EDGES[] = {5e-324,
                                   1e-323,
                                   2.2250738585072014e-308,
                                   1e-290,
                                   9.9e-291,
                                   1.7976931348623157e308,
                                   9007199254740993.0,
                                   0.1,
                                   1.0 / 3,
                                   1e22,
                                   1e23};
    for (size_t i = 0; i < sizeof EDGES / sizeof EDGES[0]; i++) {
        check(EDGES[i], 0);
        check(-EDGES[i], 0);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
