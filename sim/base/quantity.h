/* quantity.h - conversion of text with a unit to a double in SI units, and back.
 *
 * Text is "NUMBER UNIT", where the blank is optional: "80 GB", "3.35 TB/s", "400 Gb/s", "989.4 TFLOP/s", "1.5 us", "30
 * min", "50000 h", "0.02 /h", "3 USD/h", "20 M USD", "0.10 USD/kWh", "0.4 kg/kWh", "1830 MHz", "700 W", "2 T" (a
 * count).
 *   prefixes  k M G T P E (decimal; also m u n p for s, W, J, USD...), and Ki Mi Gi Ti Pi (binary, for bytes, bits
 *             and counts)
 *   bytes     B; bits are b. In a count B is a billion ("300B").
 *   times     s, ms, us, ns, ps, min, h, d (also day, days), weeks, y (365.25 d)
 *   money     US dollars alone
 *   numbers   as in C: "1e-3"; "1_000" is refused */
#pragma once

#include "base/status.h"

#define TSIM_HOUR_S 3600.0
#define TSIM_DAY_S 86400.0
#define TSIM_YEAR_S (365.25 * TSIM_DAY_S)
#define TSIM_KWH_J 3.6e6

enum tsim_dimension {
    TSIM_COUNT,       /* a pure count: "2 T", "1024" */
    TSIM_FRACTION,    /* a pure number: 0.01; "5 %" is 0.05 */
    TSIM_BYTES,       /* B; bits are divided by 8 */
    TSIM_BYTES_PER_S, /* B/s; b/s divided by 8 */
    TSIM_FLOPS,       /* FLOP (a count of operations) */
    TSIM_FLOPS_PER_S, /* FLOP/s (also "FLOPS") */
    TSIM_TIME_S,      /* s */
    TSIM_PER_S,       /* 1/s: "0.02 /h" */
    TSIM_HZ,          /* Hz */
    TSIM_WATTS,       /* W */
    TSIM_JOULES,      /* J, Wh, kWh */
    TSIM_USD,         /* USD */
    TSIM_USD_PER_S,   /* USD/h */
    TSIM_USD_PER_J,   /* USD/kWh */
    TSIM_KG_PER_J,    /* kg/kWh, g/kWh */
    TSIM_KG,          /* kg, t */
    TSIM_N_DIMENSIONS
};

/* Parses `text`. A bare number is accepted for TSIM_COUNT, TSIM_FRACTION and for 0, and with `bare_ok` for every
 * dimension, where it is in SI units. An empty text, a number that is not finite, and trailing characters are errors.
 * On failure *value is untouched, `why` (>= 160 bytes) says what is wrong, and `hint` (>= 160 bytes) what would be
 * right: the unit that a bare number most likely has, or the unit that a misspelt one is near to ("GBs" -> "GB/s"). */
enum tsim_status tsim_quantity_parse(const char *text, enum tsim_dimension dimension, bool bare_ok, double *value,
                                     char why[160], char hint[160]);

/* Returns whether a figure's name ends with its SI unit, as "step.time_s" does. A number beside such a name needs no
 * unit. */
bool tsim_name_says_unit(const char *name);

/* Returns the canonical text, which parses back to exactly the same double: the shortest "%.17g" form that round-trips,
 * and the SI unit ("80000000000 B", "3.35e+12 B/s"). Returns `buffer`. */
const char *tsim_quantity_si(double value, enum tsim_dimension dimension, char *buffer, size_t size);

/* Returns the shortest text with a unit that reads back as the value, within rounding: "1 kB/s", "100 y", "1 M USD/h".
 * It suits limits, which are round numbers. Returns `buffer`. */
const char *tsim_quantity_short(double value, enum tsim_dimension dimension, char *buffer, size_t size);

/* Writes a value for people, in three or four significant digits with the fitting prefix: "80.0 GB", "14.2 s", "3.35
 * TB/s", "9.84 us", "1.42 M USD", "38.5 days". Binary prefixes are never used. Returns `buffer`. */
const char *tsim_quantity_human(double value, enum tsim_dimension dimension, char *buffer, size_t size);

/* Divides *value by the power of 1000 that leaves its size between turn / 1000 and `turn`, and returns that power's
 * prefix: "k", "m", or "" for none. `turn` is what rounds up to 1000 in as many digits as are shown: 999.5 for
 * three. */
const char *tsim_quantity_prefix(double *value, double turn);

/* Returns a prefix in the form that stands before USD: "k", "M", "billion" for G, "trillion" for T. */
const char *tsim_money_prefix(const char *prefix);

/* These return the name of a dimension ("bytes per second") and an example of such a value, for messages. */
const char *tsim_dimension_name(enum tsim_dimension dimension);
const char *tsim_dimension_example(enum tsim_dimension dimension);

/* Returns the shortest decimal text of a double that reads back as the same double ("0.1", "1e+300"). Returns `buffer`
 * (>= 32 bytes). */
const char *tsim_double_text(double value, char *buffer, size_t size);

/* Returns the candidate that is most likely meant: one that begins with the word ("h100-sxm" for "h100"), else the
 * nearest one if it is near enough to be a misspelling (a transposition counts as one edit), else NULL. */
const char *tsim_did_you_mean(const char *wrong, const char *const *candidates, size_t n_candidates);
