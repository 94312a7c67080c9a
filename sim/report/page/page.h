/* page.h - reports as one HTML file that needs nothing else: it has the template (page.html), the charts as pictures
 * (chart.h) and the data.
 *
 * The data are one JSON object, {"schema": "tsim/report/v1", "decisions", "comparisons", "plans", "runs", "sweeps":
 * [...]}. The page's own script makes its tables, and sets text as text, never as markup. The data in the file have no
 * '<', so that no name or description can end the element that holds them. */
#pragma once

#include "report/terminal/plan_output.h"
#include "report/terminal/summary.h"
#include "results/store_query.h"

enum {
    TSIM_PAGE_MOST_RUNS = 8,
    TSIM_PAGE_MOST_POINTS = 2000,
    TSIM_PAGE_MOST_SLICES = 8000,
    TSIM_PAGE_MOST_CANDIDATES = 64,
    TSIM_PAGE_MOST_COUNTS = 64
};

/* Returns an empty report. The caller releases it. */
struct tsim_json *tsim_page_new(void);

struct tsim_page_extent {
    const struct tsim_logged *logged; /* NULL: the run is in no database */
    int32_t most_slices;              /* of the timeline; 0: it has none */
    bool ignore_memory;
    /* The timeline has only what the run's page shows first, which is passes, and one layer stands for all kernels. */
    bool of_first_passes;
    /* True leaves out what takes longer than the rest: kernels, since a run without a listener ends sooner; operators
     * and links, of which much is computed and drawn; advice and sensitivities, which run it again and again. */
    bool lacks_kernels, lacks_tables, lacks_advice;
};

/* Adds a run. It simulates the scenario once more, with what `tsim explain` runs beside it, and adds the summary,
 * explain's tables, the roof of its roofline, the first replica's timeline (its first slices, and how many passes of
 * them are shown first) and the resolved scenario. */
enum tsim_status tsim_page_add_run(struct tsim_arena *arena, struct tsim_json *page,
                                   const struct tsim_scenario *scenario, const struct tsim_page_extent *extent,
                                   struct tsim_diags *diags);

/* Adds a sweep of the database with its points, the fastest TSIM_PAGE_MOST_POINTS of them. If it has several numbers of
 * accelerators, it also adds the scaling curve of their fastest points, with its knee (study/curves/scale.h). */
enum tsim_status tsim_page_add_sweep(struct tsim_arena *arena, struct tsim_json *page, struct tsim_store *store,
                                     int64_t sweep_id, struct tsim_diags *diags);

/* Adds two runs side by side, as tsim_comparison_json describes them, before the runs. The page owns the JSON from here
 * on. */
void tsim_page_add_comparison(struct tsim_json *page, struct tsim_json *comparison);

/* Adds a decision to rent, reserve or buy, as tsim_decision_json describes it, before everything else. The page owns
 * the JSON from here on. */
void tsim_page_add_decision(struct tsim_json *page, struct tsim_json *decision);

/* Adds a search for plans, with the space that was searched and the limits, before the runs. */
void tsim_page_add_plans(struct tsim_arena *arena, struct tsim_json *page, const struct tsim_plan_output *output);

/* Writes only the data, as one object with the charts' markup as its member "charts", for a page that is already open
 * (tsim serve). */
void tsim_page_write_view(struct tsim_json *page, FILE *out);

/* Writes the whole page. Write errors are left in `out`. */
void tsim_page_write(struct tsim_json *page, FILE *out);
