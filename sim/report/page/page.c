#include "report/page/page.h"

#include "base/version.h"

#include <string.h>

/* page_assets.S */
extern const char tsim_page_template[], tsim_page_chart_js[];

struct tsim_json *tsim_page_new(void) {
    struct tsim_json *page = tsim_json_new_object();
    tsim_json_text(page, "schema", "tsim/report/v1");
    tsim_json_text(page, "version", TSIM_VERSION);
    tsim_json_array(page, "comparisons");
    tsim_json_array(page, "plans");
    tsim_json_array(page, "runs");
    tsim_json_array(page, "sweeps");
    return page;
}

void tsim_page_add_comparison(struct tsim_json *page, struct tsim_json *comparison) {
    tsim_json_take(tsim_json_member(page, "comparisons"), NULL, comparison);
}

/* The template up to the mark; returns what follows it. */
static const char *write_until(const char *template, const char *mark, FILE *out) {
    size_t length = strlen(mark);
    for (; strncmp(template, mark, length) != 0; template ++) {
        TSIM_ASSERT(*template);
        fputc(*template, out);
    }
    return template + length;
}

void tsim_page_write(struct tsim_json *page, FILE *out) {
    const char *rest = write_until(tsim_page_template, "@CHART_JS@", out);
    fputs(tsim_page_chart_js, out);
    rest = write_until(rest, "@DATA@", out);
    tsim_json_write_markup(page, out);
    fputs(rest, out);
}
