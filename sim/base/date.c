#include "base/date.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

bool tsim_date_days(const char *text, int64_t *days) {
    static const int64_t LENGTHS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const char FORM[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof FORM; i++) /* its end, too */
        if (FORM[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != FORM[i])
            return false;
    int64_t year = strtol(text, NULL, 10), month = strtol(text + 5, NULL, 10), day = strtol(text + 8, NULL, 10);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > LENGTHS[month - 1] + (month == 2 && is_leap(year)))
        return false;
    *days = day - 1;
    for (int64_t y = 1970; y < year; y++)
        *days += 365 + is_leap(y);
    for (int64_t m = 1; m < month; m++)
        *days += LENGTHS[m - 1] + (m == 2 && is_leap(year));
    return true;
}
