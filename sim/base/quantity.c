#include "base/quantity.h"

#include "base/date.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WHY_BYTES = 160, MAX_UNIT_TEXT = 40, MAX_WORD = 48 };

/* These flags say which prefixes a unit takes. In counts B is a billion, as in the names of models; elsewhere it is the
 * byte. */
enum { UP = 1, DOWN = 2, BINARY = 4, BILLION = 8 };

struct unit {
    enum tsim_dimension dimension;
    const char *symbol;
    double scale; /* SI units in one */
    int prefixes;
};

#define MINUTE 60.0
#define HOUR TSIM_HOUR_S
#define DAY TSIM_DAY_S
#define YEAR TSIM_YEAR_S
#define KILOWATT_HOUR TSIM_KWH_J

/* The first unit of a dimension is the SI unit that tsim_quantity_si prints, with scale 1. */
static const struct unit UNITS[] = {
    {TSIM_COUNT, "", 1, UP | BINARY | BILLION},
    {TSIM_FRACTION, "", 1, 0},
    {TSIM_FRACTION, "%", 0.01, 0},
    {TSIM_BYTES, "B", 1, UP | BINARY},
    {TSIM_BYTES, "b", 0.125, UP | BINARY},
    {TSIM_BYTES_PER_S, "B/s", 1, UP | BINARY},
    {TSIM_BYTES_PER_S, "b/s", 0.125, UP | BINARY},
    {TSIM_FLOPS, "FLOP", 1, UP},
    {TSIM_FLOPS_PER_S, "FLOP/s", 1, UP},
    {TSIM_FLOPS_PER_S, "FLOPS", 1, UP},
    {TSIM_TIME_S, "s", 1, DOWN},
    {TSIM_TIME_S, "min", MINUTE, 0},
    {TSIM_TIME_S, "h", HOUR, 0},
    {TSIM_TIME_S, "d", DAY, 0},
    {TSIM_TIME_S, "day", DAY, 0},
    {TSIM_TIME_S, "days", DAY, 0},
    {TSIM_TIME_S, "weeks", 7 * DAY, 0},
    {TSIM_TIME_S, "y", YEAR, 0},
    {TSIM_PER_S, "/s", 1, UP},
    {TSIM_PER_S, "tokens/s", 1, UP},
    {TSIM_PER_S, "samples/s", 1, UP},
    {TSIM_PER_S, "/min", 1 / MINUTE, UP},
    {TSIM_PER_S, "/h", 1 / HOUR, UP},
    {TSIM_PER_S, "/d", 1 / DAY, UP},
    {TSIM_PER_S, "/y", 1 / YEAR, UP},
    {TSIM_HZ, "Hz", 1, UP},
    {TSIM_WATTS, "W", 1, UP | DOWN},
    {TSIM_JOULES, "J", 1, UP | DOWN},
    {TSIM_JOULES, "Wh", 3600, UP},
    {TSIM_USD, "USD", 1, UP | DOWN | BILLION},
    {TSIM_USD, "million USD", 1e6, 0},
    {TSIM_USD, "billion USD", 1e9, 0},
    {TSIM_USD_PER_S, "USD/s", 1, UP | DOWN},
    {TSIM_USD_PER_S, "USD/min", 1 / MINUTE, UP | DOWN},
    {TSIM_USD_PER_S, "USD/h", 1 / HOUR, UP | DOWN},
    {TSIM_USD_PER_S, "USD/d", 1 / DAY, UP | DOWN},
    {TSIM_USD_PER_S, "USD/y", 1 / YEAR, UP | DOWN},
    {TSIM_USD_PER_J, "USD/J", 1, UP | DOWN},
    {TSIM_USD_PER_J, "USD/kWh", 1 / KILOWATT_HOUR, UP | DOWN},
    {TSIM_USD_PER_J, "USD/MWh", 1e-3 / KILOWATT_HOUR, UP | DOWN},
    {TSIM_KG_PER_J, "kg/J", 1, 0},
    {TSIM_KG_PER_J, "kg/kWh", 1 / KILOWATT_HOUR, 0},
    {TSIM_KG_PER_J, "g/kWh", 1e-3 / KILOWATT_HOUR, 0},
    {TSIM_KG_PER_J, "kg/MWh", 1e-3 / KILOWATT_HOUR, 0},
    {TSIM_KG_PER_J, "t/MWh", 1 / KILOWATT_HOUR, 0},
    {TSIM_KG, "kg", 1, 0},
    {TSIM_KG, "g", 1e-3, 0},
    {TSIM_KG, "t", 1e3, UP},
};
enum { N_UNITS = sizeof UNITS / sizeof UNITS[0] };

struct prefix {
    const char *symbol;
    double scale;
    int kind;
};
static const struct prefix PREFIXES[] = {
    {"", 1, UP | DOWN | BINARY | BILLION},
    {"k", 1e3, UP},
    {"M", 1e6, UP},
    {"G", 1e9, UP},
    {"B", 1e9, BILLION},
    {"T", 1e12, UP},
    {"P", 1e15, UP},
    {"E", 1e18, UP},
    {"Ki", 1024.0, BINARY},
    {"Mi", 1048576.0, BINARY},
    {"Gi", 1073741824.0, BINARY},
    {"Ti", 1099511627776.0, BINARY},
    {"Pi", 1125899906842624.0, BINARY},
    {"m", 1e-3, DOWN},
    {"u", 1e-6, DOWN},
    {"n", 1e-9, DOWN},
    {"p", 1e-12, DOWN},
};
enum { N_PREFIXES = sizeof PREFIXES / sizeof PREFIXES[0] };

static const struct {
    const char *name, *example;
} DIMENSIONS[TSIM_N_DIMENSIONS] = {
    [TSIM_COUNT] = {"a count", "2 T"},
    [TSIM_FRACTION] = {"a fraction", "0.25 or 25 %"},
    [TSIM_BYTES] = {"bytes", "80 GB"},
    [TSIM_BYTES_PER_S] = {"bytes per second", "3.35 TB/s"},
    [TSIM_FLOPS] = {"operations", "1 TFLOP"},
    [TSIM_FLOPS_PER_S] = {"operations per second", "989.4 TFLOP/s"},
    [TSIM_TIME_S] = {"a time", "1.5 us"},
    [TSIM_PER_S] = {"a rate", "0.02 /h"},
    [TSIM_HZ] = {"a frequency", "1830 MHz"},
    [TSIM_WATTS] = {"power", "700 W"},
    [TSIM_JOULES] = {"energy", "3.6 MJ"},
    [TSIM_USD] = {"money", "30000 USD"},
    [TSIM_USD_PER_S] = {"money per time", "3 USD/h"},
    [TSIM_USD_PER_J] = {"money per energy", "0.10 USD/kWh"},
    [TSIM_KG_PER_J] = {"mass per energy", "0.4 kg/kWh"},
    [TSIM_KG] = {"mass", "12 t"},
};

/* Returns the first of the dimension's, with scale 1. */
static const char *si_unit(enum tsim_dimension dimension) {
    const struct unit *unit = UNITS;
    while (unit->dimension != dimension)
        unit++;
    return unit->symbol;
}

const char *tsim_dimension_name(enum tsim_dimension dimension) {
    return DIMENSIONS[dimension].name;
}

const char *tsim_dimension_example(enum tsim_dimension dimension) {
    return DIMENSIONS[dimension].example;
}

/* ---- nearest word ---- */

static int min3(int a, int b, int c) {
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours each count two, a difference
 * in letter case only counts one. Words are shorter than MAX_WORD. */
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    int rows[3][MAX_WORD + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = 2 * (int)j;
    memcpy(before, above, sizeof rows[0]);
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = 2 * (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int change = a[i - 1] == b[j - 1] ? 0 : 2;
            if (change && tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]))
                change = 1;
            row[j] = min3(above[j] + 2, row[j - 1] + 2, above[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 2 < row[j])
                row[j] = before[j - 2] + 2;
        }
        int *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_length];
}

/* A slip is one edit in words of up to four letters, two up to eight, three beyond, but never most of the word. */
static int slip_limit(size_t length) {
    return length <= 4 ? 2 : length <= 8 ? 4 : 6;
}

/* Returns the shortest candidate that goes on where the word ends: "h100-sxm" for "h100", "sequence_length" for
 * "sequence". */
static const char *find_longer(const char *wrong, const char *const *candidates, size_t n_candidates) {
    size_t length = strlen(wrong);
    const char *best = NULL;
    for (size_t i = 0; i < n_candidates; i++)
        if (strncasecmp(candidates[i], wrong, length) == 0 && candidates[i][length] &&
            strchr("-_", candidates[i][length]) && (!best || strlen(candidates[i]) < strlen(best)))
            best = candidates[i];
    return best;
}

const char *tsim_did_you_mean(const char *wrong, const char *const *candidates, size_t n_candidates) {
    size_t length = strlen(wrong);
    if (length == 0 || length >= MAX_WORD)
        return NULL;
    const char *best = length > 2 ? find_longer(wrong, candidates, n_candidates) : NULL;
    if (best)
        return best;
    int best_distance = 0;
    for (size_t i = 0; i < n_candidates; i++) {
        size_t candidate_length = strlen(candidates[i]);
        if (candidate_length == 0 || candidate_length >= MAX_WORD)
            continue;
        if (2 * abs((int)length - (int)candidate_length) > slip_limit(length)) /* each letter more is an edit */
            continue;
        int distance = edit_distance(wrong, length, candidates[i], candidate_length);
        bool is_nearer =
            !best || distance < best_distance ||
            (distance == best_distance && candidate_length > strlen(best)); /* more is left out than added */
        if (distance <= slip_limit(length) && distance < 2 * (int)length && is_nearer) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

/* ---- reading ---- */

static size_t count_digits(const char *text) {
    size_t n = 0;
    while (isdigit((unsigned char)text[n]))
        n++;
    return n;
}

/* Returns the length of the number at the start of `text`: decimal digits, point, exponent; 0 when there is none.
 * Narrower than strtod on purpose: no hexadecimal, no "inf", and "2 E" stays two exa. */
static size_t number_length(const char *text) {
    size_t i = text[0] == '+' || text[0] == '-';
    size_t n_digits = count_digits(text + i);
    i += n_digits;
    if (text[i] == '.') {
        size_t n_decimals = count_digits(text + i + 1);
        n_digits += n_decimals;
        i += 1 + n_decimals;
    }
    if (n_digits == 0)
        return 0;
    if (text[i] == 'e' || text[i] == 'E') {
        size_t sign = text[i + 1] == '+' || text[i + 1] == '-';
        size_t n_exponent = count_digits(text + i + 1 + sign);
        if (n_exponent)
            i += 1 + sign + n_exponent;
    }
    return i;
}

static bool prefix_scale(const char *text, size_t length, int allowed, double *scale) {
    for (size_t i = 0; i < N_PREFIXES; i++) {
        const struct prefix *prefix = &PREFIXES[i];
        if ((prefix->kind & allowed || i == 0) && strlen(prefix->symbol) == length &&
            memcmp(prefix->symbol, text, length) == 0) {
            *scale = prefix->scale;
            return true;
        }
    }
    return false;
}

/* Returns whether `text` is this unit, with or without a prefix ("GB", "M USD"). */
static bool unit_matches(const struct unit *unit, const char *text, size_t length, double *scale) {
    size_t symbol_length = strlen(unit->symbol);
    if (symbol_length > length || memcmp(text + length - symbol_length, unit->symbol, symbol_length) != 0)
        return false;
    size_t prefix_length = length - symbol_length;
    while (prefix_length > 0 && isblank((unsigned char)text[prefix_length - 1]))
        prefix_length--;
    double prefix;
    if (!prefix_scale(text, prefix_length, unit->prefixes, &prefix))
        return false;
    *scale = unit->scale * prefix;
    return true;
}

static const struct unit *find_unit(enum tsim_dimension dimension, const char *text, size_t length, double *scale) {
    for (size_t i = 0; i < N_UNITS; i++)
        if (UNITS[i].dimension == dimension && unit_matches(&UNITS[i], text, length, scale))
            return &UNITS[i];
    return NULL;
}

/* People write these for units that have another name here. */
static const char *everyday_name(const char *unit) {
    static const char *const NAMES[][2] = {
        {"sec", "s"},       {"secs", "s"},   {"second", "s"},    {"seconds", "s"}, {"minute", "min"},
        {"minutes", "min"}, {"mins", "min"}, {"m", "min"},       {"hr", "h"},      {"hrs", "h"},
        {"hour", "h"},      {"hours", "h"},  {"week", "weeks"},  {"year", "y"},    {"years", "y"},
        {"yr", "y"},        {"$", "USD"},    {"dollars", "USD"}, {"$/h", "USD/h"}, {"$/kWh", "USD/kWh"},
        {"K", "k"},         {"bn", "B"},     {"billion", "B"},   {"million", "M"}, {"trillion", "T"},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(unit, NAMES[i][0]) == 0)
            return NAMES[i][1];
    return NULL;
}

/* Writes the unit of `dimension` that `unit` looks like; false when none is near. */
static bool suggest_unit(enum tsim_dimension dimension, const char *unit, char suggestion[MAX_UNIT_TEXT]) {
    double scale;
    const char *name = everyday_name(unit);
    if (name && find_unit(dimension, name, strlen(name), &scale)) {
        snprintf(suggestion, MAX_UNIT_TEXT, "%s", name);
        return true;
    }
    char texts[8 * N_PREFIXES][16]; /* no dimension has more than eight units */
    const char *candidates[8 * N_PREFIXES];
    size_t n = 0;
    for (size_t i = 0; i < N_UNITS; i++)
        for (size_t j = 0; j < N_PREFIXES && UNITS[i].dimension == dimension; j++)
            if (j == 0 || PREFIXES[j].kind & UNITS[i].prefixes) {
                snprintf(texts[n], sizeof texts[n], "%s%s", PREFIXES[j].symbol, UNITS[i].symbol);
                candidates[n] = texts[n];
                n++;
            }
    const char *nearest = tsim_did_you_mean(unit, candidates, n);
    if (nearest)
        snprintf(suggestion, MAX_UNIT_TEXT, "%s", nearest);
    return nearest;
}

struct explanation {
    char *why, *hint;
};

__attribute__((format(printf, 2, 3))) static void explain(char *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(text, WHY_BYTES, format, args);
    va_end(args);
}

/* Returns the money of others, as it is written in place of USD. */
static const char *foreign_currency(const char *text) {
    static const char *const NAMES[] = {"EUR",  "eur", "€",   "GBP", "£",   "JPY", "¥",   "yen", "CNY", "RMB",
                                        "yuan", "CHF", "INR", "₹",   "KRW", "₩",   "CAD", "AUD", "SEK", "TWD"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strstr(text, NAMES[i]))
            return NAMES[i];
    return NULL;
}

static bool is_money(enum tsim_dimension dimension) {
    return dimension == TSIM_USD || dimension == TSIM_USD_PER_S || dimension == TSIM_USD_PER_J;
}

static enum tsim_status explain_currency(const char *text, enum tsim_dimension dimension, const char *currency,
                                         struct explanation out) {
    explain(out.why, "'%.60s' is in %s, but tsim's money is US dollars", text, currency);
    explain(out.hint, "convert it, and write it as in '%s'", tsim_dimension_example(dimension));
    return TSIM_ERR_UNIT;
}

static enum tsim_status explain_number(const char *text, enum tsim_dimension dimension, struct explanation out) {
    const char *currency = is_money(dimension) ? foreign_currency(text) : NULL;
    if (currency)
        return explain_currency(text, dimension, currency, out);
    explain(out.why, text[0] ? "'%.60s' does not start with a number" : "the text is empty%s", text);
    explain(out.hint, "write a number such as 1024, 0.5 or 1e-3");
    return TSIM_ERR_SCHEMA;
}

static enum tsim_status explain_unit(const char *text, const char *unit, enum tsim_dimension dimension,
                                     struct explanation out) {
    double scale;
    const char *currency = is_money(dimension) ? foreign_currency(unit) : NULL;
    if (currency)
        return explain_currency(text, dimension, currency, out);
    if (unit[0] == '_' || unit[0] == ',') {
        explain(out.why, "'%.60s' is not a number: digits are not grouped", text);
        explain(out.hint, "write the digits without '%c', or use a prefix: %s", unit[0],
                tsim_dimension_example(dimension));
        return TSIM_ERR_SCHEMA;
    }
    int64_t day;
    if (dimension == TSIM_TIME_S && tsim_date_days(text, &day)) {
        explain(out.why, "'%.60s' is a date, expected a time", text);
        explain(out.hint, "write how long, as in '90 days'; of tsim buy, --deadline takes a date");
        return TSIM_ERR_UNIT;
    }
    for (int other = 0; other < TSIM_N_DIMENSIONS; other++)
        if (other != TSIM_COUNT && find_unit((enum tsim_dimension)other, unit, strlen(unit), &scale)) {
            explain(out.why, "'%.60s' is %s, expected %s", text, tsim_dimension_name((enum tsim_dimension)other),
                    tsim_dimension_name(dimension));
            explain(out.hint, "for example '%s'", tsim_dimension_example(dimension));
            return TSIM_ERR_UNIT;
        }
    if (unit[0] == '.' && strstr(text, "..")) {
        explain(out.why, "'%.60s' is a range, where one number is expected%s", text, "");
        explain(out.hint, "list the values, as in 4,6,8%s", "");
        return TSIM_ERR_SCHEMA;
    }
    char suggestion[MAX_UNIT_TEXT];
    explain(out.why, "unknown unit '%.40s' in '%.60s'", unit, text);
    if (suggest_unit(dimension, unit, suggestion))
        explain(out.hint, "did you mean '%s'?", suggestion);
    else
        explain(out.hint, "expected %s, for example '%s'", tsim_dimension_name(dimension),
                tsim_dimension_example(dimension));
    return TSIM_ERR_UNIT;
}

/* A number alone most likely means the first unit whose most is not below it. */
static const struct {
    enum tsim_dimension dimension;
    double most;
    const char *unit;
} LIKELY_UNITS[] = {
    {TSIM_BYTES, 1e5, "GB"},         {TSIM_BYTES_PER_S, 20, "TB/s"},
    {TSIM_BYTES_PER_S, 1e5, "GB/s"}, {TSIM_FLOPS_PER_S, 1e6, "TFLOP/s"},
    {TSIM_PER_S, 1e6, "/h"},         {TSIM_HZ, 20, "GHz"},
    {TSIM_HZ, 1e5, "MHz"},           {TSIM_USD_PER_S, 1e6, "USD/h"},
    {TSIM_USD_PER_J, 5, "USD/kWh"},  {TSIM_USD_PER_J, 1e4, "USD/MWh"},
    {TSIM_KG_PER_J, 5, "kg/kWh"},    {TSIM_KG_PER_J, 1e4, "g/kWh"},
};

static const char *likely_unit(double number, enum tsim_dimension dimension) {
    for (size_t i = 0; i < sizeof LIKELY_UNITS / sizeof LIKELY_UNITS[0]; i++)
        if (LIKELY_UNITS[i].dimension == dimension && number <= LIKELY_UNITS[i].most)
            return LIKELY_UNITS[i].unit;
    return si_unit(dimension);
}

static enum tsim_status explain_bare(const char *text, double number, enum tsim_dimension dimension,
                                     struct explanation out) {
    explain(out.why, "'%.60s' has no unit, expected %s", text, tsim_dimension_name(dimension));
    explain(out.hint, "write %.60s %s", text, likely_unit(number, dimension));
    return TSIM_ERR_UNIT;
}

enum tsim_status tsim_quantity_parse(const char *text, enum tsim_dimension dimension, bool bare_ok, double *value,
                                     char why[160], char hint[160]) {
    struct explanation out = {why, hint};
    text += strspn(text, " \t");
    size_t n_number = number_length(text);
    if (n_number == 0)
        return explain_number(text, dimension, out);
    double number = strtod(text, NULL); /* stops where number_length stops, except that it takes hexadecimal */
    if (text[n_number] == 'x' || text[n_number] == 'X')
        return explain_unit(text, text + n_number, dimension, out);
    char unit[MAX_UNIT_TEXT];
    const char *rest = text + n_number + strspn(text + n_number, " \t");
    size_t n_rest = strlen(rest), n_unit = n_rest < sizeof unit ? n_rest : sizeof unit - 1;
    memcpy(unit, rest, n_unit);
    unit[n_unit] = '\0';
    while (n_unit > 0 && isblank((unsigned char)unit[n_unit - 1]))
        unit[--n_unit] = '\0';
    bool takes_bare = bare_ok || dimension == TSIM_COUNT || dimension == TSIM_FRACTION || number == 0;
    double scale = 1;
    if (n_unit == 0 && !takes_bare)
        return explain_bare(text, number, dimension, out);
    if (n_unit > 0 && (n_rest >= sizeof unit || !find_unit(dimension, unit, n_unit, &scale)))
        return explain_unit(text, unit, dimension, out);
    if (!isfinite(number * scale)) {
        explain(why, "'%.60s' is too large", text);
        explain(hint, "the largest number is about 1.8e308");
        return TSIM_ERR_RANGE;
    }
    *value = number * scale + 0.0; /* no -0 */
    return TSIM_OK;
}

bool tsim_name_says_unit(const char *name) {
    static const char *const ENDS[] = {"_s", "_bytes", "_flops", "_w", "_j", "_usd", "_kg"};
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
        size_t n_name = strlen(name), n_end = strlen(ENDS[i]);
        if (n_name > n_end && strcmp(name + n_name - n_end, ENDS[i]) == 0)
            return true;
    }
    return false;
}

/* ---- writing ---- */

/* Returns how many digits to try first. A decimal of up to 15 digits survives the way to a double and back to 15
 * digits. So if 15 digits read back as the value, they are the shortest text once zeros at the end are dropped; if not,
 * 16 or 17 digits are needed. Near the smallest double fewer digits are exact, and this does not hold. */
static int fewest_digits(double value) {
    char text[32];
    if (fabs(value) < 1e-290)
        return 1;
    snprintf(text, sizeof text, "%.14e", value);
    if (strtod(text, NULL) != value)
        return 16;
    size_t n = strcspn(text, "e");
    while (text[n - 1] == '0')
        n--;
    return (int)n - (text[0] == '-') - 1; /* the point */
}

const char *tsim_double_text(double value, char *buffer, size_t size) {
    if (value == floor(value) && fabs(value) < 1e12) {
        snprintf(buffer, size, "%lld", (long long)value);
        return buffer;
    }
    for (int digits = fewest_digits(value); digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

const char *tsim_quantity_si(double value, enum tsim_dimension dimension, char *buffer, size_t size) {
    char number[32];
    tsim_double_text(value, number, sizeof number);
    const char *unit = si_unit(dimension);
    snprintf(buffer, size, "%s%s%s", number, unit[0] ? " " : "", unit);
    return buffer;
}

/* A unit that saves one letter is not worth another name for the same thing ("t/MWh" for "kg/kWh"). */
static bool is_simpler(const char *text, const char *than) {
    return strlen(text) + 1 < strlen(than) && !strchr(text, 'e');
}

const char *tsim_quantity_short(double value, enum tsim_dimension dimension, char *buffer, size_t size) {
    tsim_quantity_si(value, dimension, buffer, size);
    if (dimension == TSIM_FRACTION && value > 0 && value < 1e-3)
        snprintf(buffer, size, "%.6f", value);
    if (dimension == TSIM_FRACTION || (dimension == TSIM_COUNT && fabs(value) < 1e6))
        return buffer;
    for (size_t i = 0; i < N_UNITS; i++)
        for (size_t j = 0; j < N_PREFIXES && UNITS[i].dimension == dimension; j++) {
            char number[32], text[80];
            double scale = UNITS[i].scale * PREFIXES[j].scale;
            int kinds = UNITS[i].prefixes & (is_money(dimension) ? UP : UP | DOWN);
            snprintf(number, sizeof number, "%.9g", value / scale);
            snprintf(text, sizeof text, "%s %s%s%s", number, PREFIXES[j].symbol,
                     j > 0 && is_money(dimension) ? " " : "", UNITS[i].symbol);
            if ((j == 0 || PREFIXES[j].kind & kinds) && is_simpler(text, buffer) &&
                fabs(strtod(number, NULL) * scale - value) <= 1e-9 * fabs(value))
                snprintf(buffer, size, "%s", text);
        }
    return buffer;
}

const char *tsim_quantity_prefix(double *value, double turn) {
    double size = fabs(*value), least = turn / 1000;
    size_t best = 0;
    for (size_t i = 1; i < N_PREFIXES; i++)
        if ((PREFIXES[i].kind == UP && size >= least * PREFIXES[i].scale) ||
            (PREFIXES[i].kind == DOWN && size > 0 && size < least * 1e3 * PREFIXES[i].scale))
            best = i;
    *value /= PREFIXES[best].scale;
    return PREFIXES[best].symbol;
}

/* Writes three significant digits; a value that rounds up to the next power of ten keeps its digits. */
static void three_digits(double value, char *buffer, size_t size) {
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    if (value == 0)
        snprintf(buffer, size, "0");
    else if (fabs(value) >= 999.5 || fabs(value) < 0.00995)
        snprintf(buffer, size, fabs(value) < 1e6 && fabs(value) >= 1 ? "%.0f" : "%.3g", value);
    else
        snprintf(buffer, size, "%.*f", decimals, value);
}

/* Writes a value with its unit, and with a prefix if the value is large: "80.0 GB". */
static const char *with_prefix(double value, const char *unit, char *buffer, size_t size) {
    char number[32];
    const char *prefix = fabs(value) < 1 ? "" : tsim_quantity_prefix(&value, 999.5);
    three_digits(value, number, sizeof number);
    snprintf(buffer, size, "%s%s%s%s", number, *prefix || *unit ? " " : "", prefix, unit);
    return buffer;
}

struct human_scale {
    double from; /* used for values that print as at least so much, in SI */
    double scale;
    const char *unit;
};

/* Returns the last scale whose `from` the value reaches; the first otherwise. `from` is compared after rounding to
 * three digits: 999.6 kW prints as 1.00 MW. */
static const char *humanize(double value, const struct human_scale *scales, size_t n_scales, char *buffer,
                            size_t size) {
    size_t i = 0;
    while (i + 1 < n_scales && fabs(value) >= scales[i + 1].from * 0.9995)
        i++;
    char number[32];
    while (value == 0 && scales[i].scale < 1 && i + 1 < n_scales)
        i++; /* 0 s rather than 0 ps */
    three_digits(value / scales[i].scale, number, sizeof number);
    snprintf(buffer, size, "%s %s", number, scales[i].unit);
    return buffer;
}

#define HUMANIZE(scales) humanize(value, (scales), sizeof(scales) / sizeof(scales)[0], buffer, size)

static const char *human_count(double value, char *buffer, size_t size) {
    if (value != floor(value) || fabs(value) >= 10000)
        return with_prefix(value, "", buffer, size);
    snprintf(buffer, size, "%.0f", value);
    return buffer;
}

static const char *human_time(double value, char *buffer, size_t size) {
    static const struct human_scale scales[] = {
        {0, 1e-12, "ps"},
        {1e-9, 1e-9, "ns"},
        {1e-6, 1e-6, "us"},
        {1e-3, 1e-3, "ms"},
        {1, 1, "s"},
        {2 * MINUTE, MINUTE, "min"},
        {2 * HOUR, HOUR, "h"},
        {2 * DAY, DAY, "days"},
        {2 * YEAR, YEAR, "years"},
    };
    return HUMANIZE(scales);
}

static const char *human_joules(double value, char *buffer, size_t size) {
    const double watt_hour = KILOWATT_HOUR / 1e3;
    return fabs(value) < watt_hour * 0.9995 ? with_prefix(value, "J", buffer, size)
                                            : with_prefix(value / watt_hour, "Wh", buffer, size);
}

static const char *human_rate(double value, char *buffer, size_t size) {
    static const struct human_scale scales[] = {{0, 1 / HOUR, "/h"}, {0.01, 1, "/s"}};
    return fabs(value) < 999.5 ? HUMANIZE(scales) : with_prefix(value, " /s", buffer, size);
}

const char *tsim_money_prefix(const char *prefix) {
    return strcmp(prefix, "G") == 0 ? "billion" : strcmp(prefix, "T") == 0 ? "trillion" : prefix;
}

static const char *human_money(double value, enum tsim_dimension dimension, char *buffer, size_t size) {
    static const struct human_scale rates[] = {{0, 1 / HOUR, "USD/h"}};
    static const struct human_scale prices[] = {{0, 1 / KILOWATT_HOUR, "USD/kWh"}};
    if (dimension == TSIM_USD) {
        char number[32];
        const char *prefix = tsim_money_prefix(fabs(value) < 1 ? "" : tsim_quantity_prefix(&value, 999.5));
        three_digits(value, number, sizeof number);
        snprintf(buffer, size, "%s %s%sUSD", number, prefix, *prefix ? " " : "");
        return buffer;
    }
    return dimension == TSIM_USD_PER_S ? HUMANIZE(rates) : HUMANIZE(prices);
}

const char *tsim_quantity_human(double value, enum tsim_dimension dimension, char *buffer, size_t size) {
    static const struct human_scale percent[] = {{0, 0.01, "%"}}, kg_per_j[] = {{0, 1 / KILOWATT_HOUR, "kg/kWh"}},
                                    kg[] = {{0, 1, "kg"}, {1e3, 1e3, "t"}, {1e6, 1e6, "kt"}};
    if (!isfinite(value)) {
        snprintf(buffer, size, "n/a");
        return buffer;
    }
    switch (dimension) {
    case TSIM_COUNT:
        return human_count(value, buffer, size);
    case TSIM_FRACTION:
        return HUMANIZE(percent);
    case TSIM_BYTES:
        return with_prefix(value, "B", buffer, size);
    case TSIM_BYTES_PER_S:
        return with_prefix(value, "B/s", buffer, size);
    case TSIM_FLOPS:
        return with_prefix(value, "FLOP", buffer, size);
    case TSIM_FLOPS_PER_S:
        return with_prefix(value, "FLOP/s", buffer, size);
    case TSIM_TIME_S:
        return human_time(value, buffer, size);
    case TSIM_PER_S:
        return human_rate(value, buffer, size);
    case TSIM_HZ:
        return with_prefix(value, "Hz", buffer, size);
    case TSIM_WATTS:
        return with_prefix(value, "W", buffer, size);
    case TSIM_JOULES:
        return human_joules(value, buffer, size);
    case TSIM_USD:
    case TSIM_USD_PER_S:
    case TSIM_USD_PER_J:
        return human_money(value, dimension, buffer, size);
    case TSIM_KG_PER_J:
        return HUMANIZE(kg_per_j);
    case TSIM_KG:
        return HUMANIZE(kg);
    case TSIM_N_DIMENSIONS:
        break;
    }
    TSIM_BUG("no dimension %d", (int)dimension);
}
