#include "report/page/chart.h"

#include "report/page/chart_drawings.h"

const char *tsim_chart_subject_name(enum tsim_chart_subject subject) {
    static const char *const NAMES[TSIM_N_CHART_SUBJECTS] = {[TSIM_CHART_OF_COMPARISON] = "comparisons",
                                                             [TSIM_CHART_OF_DECISION] = "decisions",
                                                             [TSIM_CHART_OF_PLANS] = "plans",
                                                             [TSIM_CHART_OF_RUN] = "runs",
                                                             [TSIM_CHART_OF_SWEEP] = "sweeps"};
    return NAMES[subject];
}

/* clang-format off */
const struct tsim_chart TSIM_CHARTS[] = {
    {"step", TSIM_CHART_OF_RUN, true, tsim_chart_step, "where the step goes"},
    {"memory", TSIM_CHART_OF_RUN, true, tsim_chart_memory, "memory by pipeline stage against capacity"},
    {"schedule", TSIM_CHART_OF_RUN, false, tsim_chart_schedule, "the pipeline over time"},
    {"streams", TSIM_CHART_OF_RUN, true, tsim_chart_streams, "the pipeline over time with its communication"},
    {"layer", TSIM_CHART_OF_RUN, true, tsim_chart_layer, "one layer kernel by kernel, unless passes are simulated whole"},
    {"roofline", TSIM_CHART_OF_RUN, true, tsim_chart_roofline, "every operator below the roof of the accelerator"},
    {"links", TSIM_CHART_OF_RUN, true, tsim_chart_links, "mean and highest load of each sort of link"},
    {"sensitivity", TSIM_CHART_OF_RUN, true, tsim_chart_sensitivity, "the step's time with each capacity a tenth lower and higher"},
    {"days", TSIM_CHART_OF_RUN, true, tsim_chart_days, "the chance that the whole run is done by a day"},
    {"timeline", TSIM_CHART_OF_RUN, true, tsim_chart_timeline, "one whole run over its days"},
    {"power", TSIM_CHART_OF_RUN, true, tsim_chart_power, "power of the facility over one whole run"},
    {"lost", TSIM_CHART_OF_RUN, true, tsim_chart_lost, "accelerator hours that a whole run loses, by cause"},
    {"ownership", TSIM_CHART_OF_RUN, true, tsim_chart_ownership, "cost of the run when owned and when rented"},
    {"scaling", TSIM_CHART_OF_SWEEP, true, tsim_chart_scaling, "speed over the number of accelerators, with the knee"},
    {"pareto", TSIM_CHART_OF_SWEEP, true, tsim_chart_pareto, "points that no other beats in speed and in rent (or power, or memory)"},
    {"heat", TSIM_CHART_OF_SWEEP, false, tsim_chart_heat, "speed over two of the axes"},
    {"steps", TSIM_CHART_OF_PLANS, true, tsim_chart_plan_steps, "where the steps of the best plans go"},
    {"memory", TSIM_CHART_OF_PLANS, true, tsim_chart_plan_memory, "memory of the best plans against capacity"},
    {"cost", TSIM_CHART_OF_PLANS, true, tsim_chart_plan_cost, "time and cost of the front and of the best plans"},
    {"energy", TSIM_CHART_OF_PLANS, true, tsim_chart_plan_energy, "time and energy of the front and of the best plans"},
    {"clusters", TSIM_CHART_OF_PLANS, true, tsim_chart_plan_clusters, "time and rent of each cluster's best plan"},
    {"offers", TSIM_CHART_OF_DECISION, true, tsim_chart_decision, "days and cost of a decision and its alternatives"},
    {"waterfall", TSIM_CHART_OF_COMPARISON, true, tsim_chart_waterfall, "from A's step to B's, term by term"},
};
/* clang-format on */
const size_t TSIM_N_CHARTS = sizeof TSIM_CHARTS / sizeof TSIM_CHARTS[0];
