/* chart.h - the charts of a report as pictures (svg.h), from the data of its page (page.h). Each is drawn by one
 * function, for the page and for `tsim export`. */
#pragma once

#include "report/page/svg.h"
#include "results/json.h"

enum tsim_chart_subject {
    TSIM_CHART_OF_COMPARISON,
    TSIM_CHART_OF_DECISION,
    TSIM_CHART_OF_PLANS,
    TSIM_CHART_OF_RUN,
    TSIM_CHART_OF_SWEEP
};
enum { TSIM_N_CHART_SUBJECTS = TSIM_CHART_OF_SWEEP + 1 };

struct tsim_chart {
    const char *name; /* "step" */
    enum tsim_chart_subject subject;
    bool is_on_page; /* false: it is only exported, as the page shows the same in another form */
    /* Draws an entry of the page's data. Returns false, with nothing written, if the entry has nothing to draw. */
    bool (*draw)(const struct tsim_json *entry, const struct tsim_svg *svg);
    const char *what; /* one line */
};
extern const struct tsim_chart TSIM_CHARTS[];
extern const size_t TSIM_N_CHARTS;

/* Returns the member of the page's data that has the entries of a subject. */
const char *tsim_chart_subject_name(enum tsim_chart_subject subject);
