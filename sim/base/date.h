/* date.h - days of the calendar. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads YYYY-MM-DD as days from the first of January 1970. Returns false if it has another form, or there is no such
 * day. */
bool tsim_date_days(const char *text, int64_t *days);
