/* summary_screen.h - private to the summary: one screen, written from top to bottom. */
#pragma once

#include "report/terminal/table.h"
#include "results/format.h"
#include "results/prediction.h"

struct tsim_screen {
    FILE *out;
    const struct tsim_style *style;
    struct tsim_arena arena; /* texts of this one print, which the functions below return */
};

void tsim_screen_heading(struct tsim_screen *screen, const char *text);
/* Prints a label, and a text that is wrapped beside it. */
__attribute__((format(printf, 3, 4))) void tsim_screen_line(struct tsim_screen *screen, const char *label,
                                                            const char *format, ...);
const char *tsim_screen_human(struct tsim_screen *screen, double value, enum tsim_dimension dimension);
const char *tsim_screen_count(struct tsim_screen *screen, double value);
const char *tsim_screen_rate(struct tsim_screen *screen, double per_s);
const char *tsim_screen_percent(struct tsim_screen *screen, double frac);

/* Writes the whole run if the scenario gives its length (summary_campaign.c). */
void tsim_screen_campaign(struct tsim_screen *screen, const struct tsim_prediction *prediction);
