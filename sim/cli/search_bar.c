#include "cli/search_bar.h"

#include "cli/command.h"
#include "cli/limits.h"
#include "report/terminal/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tsim_search_bar_init(struct tsim_search_bar *bar, const struct tsim_arguments *arguments) {
    const char *term = getenv("TERM");
    bar->is_shown = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !arguments->has[TSIM_OPTION_QUIET] &&
                    !arguments->answer;
    bar->lines = arguments->answer ? arguments->answer->progress : NULL;
    bar->percent = -1;
}

static void write_line(struct tsim_search_bar *bar, const struct tsim_plan_progress *progress) {
    int percent = (int)(100 * progress->n_done / progress->n_plans);
    if (percent == bar->percent)
        return;
    bar->percent = percent;
    fprintf(bar->lines, "{\"progress\": {\"part\": \"%s\", \"done\": %lld, \"of\": %lld}}\n",
            progress->is_bounding ? "bounds" : "plans", (long long)progress->n_done, (long long)progress->n_plans);
    fflush(bar->lines);
}

void tsim_search_bar_show(void *context, const struct tsim_plan_progress *progress) {
    enum { BAR_COLUMNS = 24 };
    struct tsim_search_bar *search = context;
    char bar[3 * BAR_COLUMNS + 1], left[48] = "";
    if (progress->is_interrupted)
        tsim_limits_lift();
    if (search->lines && progress->n_plans > 0)
        write_line(search, progress);
    if (!search->is_shown || progress->n_plans == 0)
        return;
    tsim_bar((double)progress->n_done / (double)progress->n_plans, BAR_COLUMNS, bar, sizeof bar);
    fputs("\r[", stderr);
    tsim_text_pad(stderr, bar, BAR_COLUMNS);
    if (progress->left_s >= 1)
        tsim_quantity_human(ceil(progress->left_s), TSIM_TIME_S, left, sizeof left);
    fprintf(stderr, "] %s %lld/%lld%s%s%s\033[K",
            progress->is_bounding ? "1 of 2: bounds of plans" : "2 of 2: plans by their bounds",
            (long long)progress->n_done, (long long)progress->n_plans, *left ? ", " : "", left, *left ? " left" : "");
    fflush(stderr);
}

void tsim_search_bar_clear(const struct tsim_search_bar *bar) {
    if (bar->is_shown)
        fputs("\r\033[K", stderr);
}
