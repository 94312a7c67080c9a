#include "results/format.h"

#include <math.h>
#include <string.h>

#define MOST_COUNT 1e21 /* from here on no digit but the first few means anything */

const char *tsim_percent_text(double frac, char *buffer, size_t size) {
    snprintf(buffer, size, "%.1f %%", 100.0 * frac);
    return buffer;
}

const char *tsim_error_text(double error_frac, char *buffer, size_t size) {
    snprintf(buffer, size, "%+.1f %%", 100.0 * error_frac);
    return buffer;
}

const char *tsim_share_text(double frac, char *buffer, size_t size) {
    if (frac > 0.0 && frac < 0.0005)
        snprintf(buffer, size, "<0.1 %%");
    else
        tsim_percent_text(frac, buffer, size);
    return buffer;
}

const char *tsim_seconds_text(double seconds, double scale_s, char *buffer, size_t size) {
    if (scale_s >= 100.0)
        snprintf(buffer, size, "%.1f s", seconds);
    else if (scale_s >= 1.0)
        snprintf(buffer, size, "%.3f s", seconds);
    else if (scale_s >= 1e-3)
        snprintf(buffer, size, "%.2f ms", 1e3 * seconds);
    else
        snprintf(buffer, size, "%.2f us", 1e6 * seconds);
    return buffer;
}

const char *tsim_interval_text(double low_s, double high_s, char *buffer, size_t size) {
    char low[48], high[48];
    if (isnan(low_s) || isnan(high_s)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    tsim_quantity_human(low_s, TSIM_TIME_S, low, sizeof low);
    tsim_quantity_human(high_s, TSIM_TIME_S, high, sizeof high);
    bool is_one_unit = strcmp(low + strcspn(low, " "), high + strcspn(high, " ")) == 0;
    snprintf(buffer, size, "%.*s-%s", (int)(is_one_unit ? strcspn(low, " ") : strlen(low)), low, high);
    return buffer;
}

/* Returns the decimal place of the last digit that the range supports of a value: 2 of hundreds, -1 of tenths. */
static int supported_place(const struct tsim_percentiles *range, double value) {
    double half = (range->p90 - range->p10) / 2;
    int first = value > 0 ? (int)floor(log10(value)) : 0, last = half > 0 ? (int)floor(log10(half)) : first - 2;
    return last > first ? first : last < first - 2 ? first - 2 : last;
}

static double to_place(double value, int place) {
    return pow(10, place) * floor(value / pow(10, place) + 0.5);
}

/* A power of 1000 and its prefix. */
struct thousands {
    const char *prefix;
    double scale;
};

/* Returns what leaves one to three digits before the point. */
static struct thousands thousands_of(double value) {
    double shown = value;
    const char *prefix = value < 1 ? "" : tsim_quantity_prefix(&shown, 1000);
    return (struct thousands){prefix, *prefix ? value / shown : 1};
}

static void digits_text(double value, int place, struct thousands in, char *buffer, size_t size) {
    int decimals = (int)lround(log10(in.scale)) - place;
    snprintf(buffer, size, "%.*f", decimals > 0 ? decimals : 0, to_place(value, place) / in.scale);
}

/* Returns "20 M USD", "3.1 GWh": a prefix stands apart from the unit only before dollars. */
static const char *with_unit(const char *digits, struct thousands in, const char *unit, char *buffer, size_t size) {
    bool is_money = strcmp(unit, "USD") == 0, is_apart = *in.prefix && is_money;
    snprintf(buffer, size, "%s%s%s%s%s", digits, *in.prefix || *unit ? " " : "",
             is_money ? tsim_money_prefix(in.prefix) : in.prefix, is_apart ? " " : "", unit);
    return buffer;
}

const char *tsim_supported_text(const struct tsim_percentiles *range, double value, const char *unit, char *buffer,
                                size_t size) {
    char digits[64];
    int place = supported_place(range, value);
    struct thousands in = thousands_of(to_place(value, place));
    digits_text(value, place, in, digits, sizeof digits);
    return with_unit(digits, in, unit, buffer, size);
}

const char *tsim_supported_number(const struct tsim_percentiles *range, double value, char *buffer, size_t size) {
    digits_text(value, supported_place(range, value), (struct thousands){"", 1}, buffer, size);
    return buffer;
}

const char *tsim_supported_days_text(const struct tsim_percentiles *range, double days, const char *unit, char *buffer,
                                     size_t size) {
    static const struct {
        const char *unit;
        double from_days, per_day;
    } SHORT[] = {{"h", 2 / 24.0, 24}, {"min", 2 / 1440.0, 1440}, {"s", 0, 86400}};
    char number[48];
    size_t i = 0;
    if (range->p50 >= 0.95 || !(range->p50 > 0)) { /* its ends have one unit */
        if (days >= 10 && days < 1000)
            snprintf(number, sizeof number, "%.0f", days);
        else
            tsim_supported_text(range, days, "", number, sizeof number);
        snprintf(buffer, size, "%s%s", number, unit);
        return buffer;
    }
    while (range->p50 < SHORT[i].from_days)
        i++;
    double by = SHORT[i].per_day;
    const struct tsim_percentiles scaled = {by * range->p10, by * range->p50, by * range->p90};
    snprintf(buffer, size, "%s %s", tsim_supported_number(&scaled, by * days, number, sizeof number), SHORT[i].unit);
    return buffer;
}

const char *tsim_supported_range_text(const struct tsim_percentiles *range, const char *unit, char *buffer,
                                      size_t size) {
    char low[64], high[64], digits[132];
    if (isnan(range->p10) || isnan(range->p90)) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    int place = supported_place(range, range->p90);
    struct thousands in = thousands_of(to_place(range->p90, place));
    digits_text(range->p10, supported_place(range, range->p10), in, low, sizeof low);
    digits_text(range->p90, place, in, high, sizeof high);
    snprintf(digits, sizeof digits, "%s-%s", low, high);
    return with_unit(digits, in, unit, buffer, size);
}

const char *tsim_gigabytes_text(double bytes, char *buffer, size_t size) {
    double gigabytes = bytes / 1e9;
    snprintf(buffer, size, "%.*f GB", gigabytes < 99.995 ? 2 : gigabytes < 999.95 ? 1 : 0, gigabytes);
    return buffer;
}

const char *tsim_count_text(double count, char *buffer, size_t size) {
    char digits[32];
    if (!(fabs(count) < MOST_COUNT)) {
        snprintf(buffer, size, "%.3g", count);
        return buffer;
    }
    int n_digits = snprintf(digits, sizeof digits, "%.0f", count);
    TSIM_ASSERT(n_digits < (int)sizeof digits && size >= 2 * sizeof digits);
    char *at = buffer;
    for (int i = 0; i < n_digits; i++) {
        int n_left = n_digits - i;
        if (i > 0 && n_left % 3 == 0 && digits[i - 1] != '-')
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return buffer;
}

const char *tsim_entry_text(const struct tsim_catalogue_entry *entry, char *buffer, size_t size) {
    static const struct {
        const char *unit;
        enum tsim_dimension dimension;
    } UNITS[] = {{"B", TSIM_BYTES},         {"B/s", TSIM_BYTES_PER_S}, {"FLOP/s", TSIM_FLOPS_PER_S},
                 {"s", TSIM_TIME_S},        {"1/s", TSIM_PER_S},       {"Hz", TSIM_HZ},
                 {"W", TSIM_WATTS},         {"J", TSIM_JOULES},        {"USD", TSIM_USD},
                 {"USD/s", TSIM_USD_PER_S}, {"USD/J", TSIM_USD_PER_J}, {"kg/J", TSIM_KG_PER_J}};
    for (size_t i = 0; entry->unit && i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strcmp(entry->unit, UNITS[i].unit) == 0)
            return tsim_quantity_human(entry->number, UNITS[i].dimension, buffer, size);
    return entry->value_si;
}

const char *tsim_rate_text(double per_s, char *buffer, size_t size) {
    return tsim_quantity_human(per_s, TSIM_COUNT, buffer, size);
}
