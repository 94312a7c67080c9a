/* format.h - figures as people read them, the same in every command and on every page: three significant digits with a
 * fitting prefix (tsim_quantity_human); whole numbers in full, with a prefix from 10,000 on; shares in tenths of a per
 * cent. Memory has four digits and is always in GB, because it is compared with a capacity. A figure that is added up
 * in a column, or stands beside a published measurement, has as many decimals as that takes. The functions write into
 * the caller's buffer and return it, unless they say otherwise. */
#pragma once

#include "base/quantile.h"
#include "config/catalogue_load.h"
#include "config/scenario.h"

/* A term below this share of the step is a rounding error of sums of doubles, far below the last digit that is
 * printed. */
#define TSIM_ROUNDING_FRAC 1e-9

/* These write 0.0123 as "1.2 %" and, with a sign, as "+1.2 %". */
const char *tsim_percent_text(double frac, char *buffer, size_t size);
const char *tsim_error_text(double error_frac, char *buffer, size_t size);

/* Writes a share as tables show it: with one decimal, or "<0.1 %" if it is small but not 0. */
const char *tsim_share_text(double frac, char *buffer, size_t size);

/* Writes a time with the unit (s, ms, us) and the decimals that suit `scale_s`, so that a column of times aligns. */
const char *tsim_seconds_text(double seconds, double scale_s, char *buffer, size_t size);

/* Writes an interval: "12.9-14.2 s", "990 ms-1.02 s"; "-" if the ends are NAN. */
const char *tsim_interval_text(double low_s, double high_s, char *buffer, size_t size);

/* Writes bytes as gigabytes: "45.21 GB", "211.9 GB". */
const char *tsim_gigabytes_text(double bytes, char *buffer, size_t size);

/* Writes 1024 as "1,024", rounded to the nearest whole number. */
const char *tsim_count_text(double count, char *buffer, size_t size);

/* Writes a value of a distribution with as many digits as the distance between its one case in ten and its nine in ten
 * supports: down to the first digit of half that distance, at least one digit and at most three. "80 k USD", "2.8
 * GWh". */
const char *tsim_supported_text(const struct tsim_percentiles *range, double value, const char *unit, char *buffer,
                                size_t size);

/* Writes the same as a plain number, without a prefix: "14.7", "1200". */
const char *tsim_supported_number(const struct tsim_percentiles *range, double value, char *buffer, size_t size);
/* Writes days in this way, as whole days if they are tens or hundreds: "59" and `unit`, which is " days" or "". If the
 * middle is less than a day, it writes hours, minutes or seconds, always with the unit: "53 min". */
const char *tsim_supported_days_text(const struct tsim_percentiles *range, double days, const char *unit, char *buffer,
                                     size_t size);
/* Writes both ends of the range in this way: "80-210 k USD", "0.9-2.1 M USD"; "-" if they are NAN. */
const char *tsim_supported_range_text(const struct tsim_percentiles *range, const char *unit, char *buffer,
                                      size_t size);

/* Writes a rate per second: "94.4", "4.81 k", "1.05 M". */
const char *tsim_rate_text(double per_s, char *buffer, size_t size);

/* Writes a value of a catalogue file, "3.35 TB/s"; the entry's own text if it is no quantity. */
const char *tsim_entry_text(const struct tsim_catalogue_entry *entry, char *buffer, size_t size);
