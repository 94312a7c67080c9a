#include "report/terminal/summary_screen.h"

#include <stdarg.h>

enum { LABEL_COLUMNS = 14, TEXT_BYTES = 64 };

void tsim_screen_heading(struct tsim_screen *screen, const char *text) {
    tsim_text_heading(screen->out, screen->style, text);
}

void tsim_screen_line(struct tsim_screen *screen, const char *label, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(&screen->arena, format, args);
    va_end(args);
    fprintf(screen->out, "%s%-*s%s", tsim_tint_on(screen->style, TSIM_TINT_BOLD), LABEL_COLUMNS, label,
            tsim_tint_off(screen->style));
    tsim_text_wrap(screen->out, screen->style, LABEL_COLUMNS, text);
}

const char *tsim_screen_human(struct tsim_screen *screen, double value, enum tsim_dimension dimension) {
    char text[TEXT_BYTES];
    return tsim_arena_strdup(&screen->arena, tsim_quantity_human(value, dimension, text, sizeof text));
}

const char *tsim_screen_count(struct tsim_screen *screen, double value) {
    char text[TEXT_BYTES];
    return tsim_arena_strdup(&screen->arena, tsim_count_text(value, text, sizeof text));
}

const char *tsim_screen_rate(struct tsim_screen *screen, double per_s) {
    char text[TEXT_BYTES];
    return tsim_arena_strdup(&screen->arena, tsim_rate_text(per_s, text, sizeof text));
}

const char *tsim_screen_percent(struct tsim_screen *screen, double frac) {
    char text[TEXT_BYTES];
    return tsim_arena_strdup(&screen->arena, tsim_percent_text(frac, text, sizeof text));
}
