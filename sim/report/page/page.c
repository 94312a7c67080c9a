#include "report/page/page.h"

#include "base/version.h"

#include "report/page/chart.h"
#include "report/page/workbench.h"

#include <string.h>

/* page_assets.S has these. */
extern const char tsim_page_template[];

struct tsim_json *tsim_page_new(void) {
    struct tsim_json *page = tsim_json_new_object();
    tsim_json_text(page, "schema", "tsim/report/v1");
    tsim_json_text(page, "version", TSIM_VERSION);
    tsim_json_array(page, "decisions");
    tsim_json_array(page, "comparisons");
    tsim_json_array(page, "plans");
    tsim_json_array(page, "runs");
    tsim_json_array(page, "sweeps");
    return page;
}

void tsim_page_add_decision(struct tsim_json *page, struct tsim_json *decision) {
    tsim_json_take(tsim_json_member(page, "decisions"), NULL, decision);
}

void tsim_page_add_comparison(struct tsim_json *page, struct tsim_json *comparison) {
    tsim_json_take(tsim_json_member(page, "comparisons"), NULL, comparison);
}

/* Writes the template up to the mark, and returns what follows the mark. */
static const char *write_until(const char *template, const char *mark, FILE *out) {
    size_t length = strlen(mark);
    for (; strncmp(template, mark, length) != 0; template ++) {
        TSIM_ASSERT(*template);
        fputc(*template, out);
    }
    return template + length;
}

/* Writes every chart in a figure of its own, "runs-0-step", which the script moves to its place. A chart without data
 * is empty. */
static void write_charts(struct tsim_json *page, FILE *out) {
    for (int subject = 0; subject < TSIM_N_CHART_SUBJECTS; subject++) {
        const char *name = tsim_chart_subject_name((enum tsim_chart_subject)subject);
        const struct tsim_json *entries = tsim_json_find(page, name);
        for (size_t i = 0; i < tsim_json_count(entries); i++)
            for (size_t c = 0; c < TSIM_N_CHARTS; c++)
                if ((int)TSIM_CHARTS[c].subject == subject && TSIM_CHARTS[c].is_on_page) {
                    fprintf(out, "<figure class=\"chart\" id=\"%s-%zu-%s\">", name, i, TSIM_CHARTS[c].name);
                    TSIM_CHARTS[c].draw(tsim_json_at(entries, i), &(struct tsim_svg){out, .is_in_page = true});
                    fputs("</figure>\n", out);
                }
    }
}

/* Figures that only the charts show need not stand in the data, too. */
static void drop_drawn(struct tsim_json *page) {
    static const char *const DRAWN[] = {"slices", "kernels", "stretches", "loss_names"};
    struct tsim_json *runs = tsim_json_member(page, "runs");
    for (size_t i = 0; i < tsim_json_count(runs); i++)
        for (size_t k = 0; k < sizeof DRAWN / sizeof DRAWN[0]; k++)
            tsim_json_drop(tsim_json_element(runs, i), DRAWN[k]);
}

void tsim_page_write(struct tsim_json *page, FILE *out) {
    const char *rest = write_until(tsim_page_template, "@STYLE@", out);
    fputs(tsim_chart_css, out);
    fputs(tsim_report_css, out);
    rest = write_until(rest, "@CHARTS@", out);
    write_charts(page, out);
    drop_drawn(page);
    rest = write_until(rest, "@DATA@", out);
    tsim_json_write_markup(page, out);
    rest = write_until(rest, "@SCRIPT@", out);
    fputs(tsim_report_js, out);
    fputs(rest, out);
}

void tsim_page_write_view(struct tsim_json *page, FILE *out) {
    char *charts = NULL;
    size_t size = 0;
    FILE *drawn = open_memstream(&charts, &size);
    if (drawn)
        write_charts(page, drawn);
    if (!drawn || ferror(drawn) || fclose(drawn) != 0 || !charts) /* the last realloc's failure is not told */
        tsim_out_of_memory();
    drop_drawn(page);
    tsim_json_text(page, "charts", charts);
    tsim_heap_free_foreign(charts);
    tsim_json_write_markup(page, out);
}
