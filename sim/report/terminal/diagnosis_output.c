#include "report/terminal/diagnosis_output.h"

#include "results/format.h"

#include <math.h>
#include <string.h>

static const struct tsim_figure_column BARS[] = {
    {NULL, "kind", TSIM_FIGURE_TEXT},           {NULL, "name", TSIM_FIGURE_TEXT},
    {NULL, "mfu", TSIM_FIGURE_SHARE},           {NULL, "mfu_change", TSIM_FIGURE_SHARE},
    {NULL, "step_time_s", TSIM_FIGURE_SECONDS}, {NULL, "change_s", TSIM_FIGURE_SECONDS},
    {NULL, "flags", TSIM_FIGURE_TEXT}};
static const struct tsim_column PRINTED[] = {
    {"", false}, {"MFU", true}, {"points", true}, {"step", true}, {"change", true}};
static const struct tsim_figure_column SUSPECTS[] = {{"faults that would slow it down", "what", TSIM_FIGURE_TEXT},
                                                     {"step", "step_time_s", TSIM_FIGURE_SECONDS},
                                                     {"of the gap", "explained", TSIM_FIGURE_SHARE},
                                                     {NULL, "set", TSIM_FIGURE_TEXT},
                                                     {NULL, "flags", TSIM_FIGURE_TEXT}};

static void bar_figures(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                        struct tsim_figures *figures) {
    const struct tsim_diagnosis *d = output->diagnosis;
    tsim_figures_init(figures, arena, "waterfall", BARS, sizeof BARS / sizeof BARS[0]);
    for (size_t i = 0; i < d->n_bars; i++) {
        const struct tsim_diagnosis_bar *bar = &d->bars[i];
        bool is_level = tsim_bar_is_level(bar->kind);
        tsim_figures_add_text(figures, tsim_bar_kind_name(bar->kind));
        tsim_figures_add_text(figures, bar->name);
        tsim_figures_add(figures, bar->mfu);
        tsim_figures_add(figures, is_level ? (double)NAN : bar->mfu_change);
        tsim_figures_add(figures, bar->time_s);
        tsim_figures_add(figures, is_level ? (double)NAN : bar->change_s);
        tsim_figures_add_text(figures, output->flags[i]);
    }
}

static void suspect_figures(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                            struct tsim_figures *figures) {
    const struct tsim_diagnosis *d = output->diagnosis;
    tsim_figures_init(figures, arena, "suspects", SUSPECTS, sizeof SUSPECTS / sizeof SUSPECTS[0]);
    for (size_t i = 0; i < d->n_suspects; i++) {
        const struct tsim_suspect *suspect = &d->suspects[i];
        tsim_figures_add_text(figures, suspect->what);
        tsim_figures_add(figures, suspect->time_s);
        tsim_figures_add(figures, suspect->explained_frac);
        tsim_figures_add_text(figures, tsim_settings_text(arena, &suspect->setting, 1));
        tsim_figures_add_text(figures, output->suspect_flags[i]);
    }
}

static const struct tsim_diagnosis_bar *level(const struct tsim_diagnosis *d, enum tsim_bar_kind kind) {
    for (size_t i = 0; i < d->n_bars; i++)
        if (d->bars[i].kind == kind)
            return &d->bars[i];
    return NULL;
}

/* Returns the best plan's MFU if the job stays as far from its prediction as it is now. */
static double mfu_if_it_stays(const struct tsim_diagnosis *d) {
    return level(d, TSIM_BAR_BEST)->mfu * level(d, TSIM_BAR_PREDICTED)->time_s / d->measured_s;
}

/* ---- for people ---- */

/* Levels stand at the margin, changes below them, named by the options of the job's own software if it has some. */
static const char *title_of(struct tsim_arena *arena, const struct tsim_diagnosis_output *output, size_t i) {
    const struct tsim_diagnosis *d = output->diagnosis;
    const struct tsim_diagnosis_bar *bar = &d->bars[i];
    switch (bar->kind) {
    case TSIM_BAR_MEASURED:
        return tsim_arena_printf(arena, "measured (%s)", bar->name);
    case TSIM_BAR_PREDICTED:
        return d->measured_as ? "this launch should reach" : "this launch reaches, as predicted";
    case TSIM_BAR_BEST:
        return "the best plan would reach";
    case TSIM_BAR_KERNELS:
    case TSIM_BAR_UNEXPLAINED:
        return tsim_arena_printf(arena, "  %s", bar->name);
    case TSIM_BAR_SWITCH:
    case TSIM_BAR_PLAN:
        break;
    }
    if (output->flags[i] && output->without_option[i])
        return tsim_arena_printf(arena, "  %s, %s (no option known)", output->flags[i], output->without_option[i]);
    return output->flags[i] ? tsim_arena_printf(arena, "  %s", output->flags[i])
                            : tsim_arena_printf(arena, "  --set %s", bar->name);
}

static const char *signed_time(struct tsim_arena *arena, double seconds) {
    char text[64];
    return tsim_arena_printf(arena, "%s%s", seconds < 0 ? "-" : "+",
                             tsim_quantity_human(fabs(seconds), TSIM_TIME_S, text, sizeof text));
}

/* Cuts a title in two at the last space that leaves its beginning at most TITLE_COLUMNS wide. Returns the rest, indented as
 * a row of its own; NULL if all of it fits. */
enum { TITLE_COLUMNS = 60 };
static const char *cut_title(struct tsim_arena *arena, const char **title) {
    size_t length = strlen(*title), at = length;
    if (length <= TITLE_COLUMNS)
        return NULL;
    for (size_t i = TITLE_COLUMNS; i > TITLE_COLUMNS / 2 && at == length; i--)
        if ((*title)[i] == ' ')
            at = i;
    if (at == length)
        return NULL;
    const char *rest = tsim_arena_printf(arena, "    %s", *title + at + 1);
    *title = tsim_arena_printf(arena, "%.*s", (int)at, *title);
    return rest;
}

static void print_bars(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                       const struct tsim_style *style, FILE *out) {
    const struct tsim_diagnosis *d = output->diagnosis;
    struct tsim_text_table table;
    char text[64];
    tsim_text_table_init(&table, arena, PRINTED, sizeof PRINTED / sizeof PRINTED[0]);
    for (size_t i = 0; i < d->n_bars; i++) {
        const struct tsim_diagnosis_bar *bar = &d->bars[i];
        bool is_level = tsim_bar_is_level(bar->kind), has_mfu = isfinite(bar->mfu);
        const char *title = title_of(arena, output, i), *rest = cut_title(arena, &title);
        tsim_text_table_add(&table, title);
        tsim_text_table_add(&table, has_mfu && is_level ? tsim_arena_printf(arena, "%.1f %%", 100 * bar->mfu) : "");
        tsim_text_table_add(&table,
                            has_mfu && !is_level ? tsim_arena_printf(arena, "%+.1f", 100 * bar->mfu_change) : "");
        tsim_text_table_add(&table, is_level ? tsim_quantity_human(bar->time_s, TSIM_TIME_S, text, sizeof text) : "");
        tsim_text_table_add(&table, is_level ? "" : signed_time(arena, bar->change_s));
        for (title = rest; title; title = rest) {
            rest = cut_title(arena, &title);
            tsim_text_table_add(&table, title);
            for (size_t column = 1; column < sizeof PRINTED / sizeof PRINTED[0]; column++)
                tsim_text_table_add(&table, "");
        }
    }
    tsim_text_table_print(&table, style, out);
}

/* Says why a job may be faster than its file allows, when it executes `executed_frac` of the peak. */
static const char *too_fast_text(struct tsim_arena *arena, const struct tsim_diagnosis *d, double executed_frac) {
    const struct tsim_scenario *sc = d->scenario;
    const double most_frac = sc->cluster.node->accelerator->matrix_sustained_frac[sc->training.precision];
    char executed[64], most[64];
    if (executed_frac <= most_frac)
        return "Look first whether the file names the machine, the number of accelerators, the batch and the precision "
               "of the "
               "measured job.";
    return tsim_arena_printf(
        arena,
        "The measured job would execute %s of the peak, more than the %s that long products reach: its "
        "machine, its number of accelerators, its batch or its model is not the one of the file.",
        tsim_percent_text(executed_frac, executed, sizeof executed), tsim_percent_text(most_frac, most, sizeof most));
}

/* Says how far the measurement is from the prediction. */
static void print_gap(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                      const struct tsim_style *style, FILE *out) {
    const struct tsim_diagnosis *d = output->diagnosis;
    const struct tsim_uncertainty *u = &d->prediction.uncertainty;
    const double ratio = d->measured_s / d->prediction.result.step.terms.time_s;
    const char *interval = "";
    char low[64], high[64];
    if (u->basis)
        interval =
            tsim_arena_printf(arena, ", %s the 90 %% interval of %s to %s%s", d->is_inside ? "inside" : "outside",
                              tsim_quantity_human(u->step_time_low_s, TSIM_TIME_S, low, sizeof low),
                              tsim_quantity_human(u->step_time_high_s, TSIM_TIME_S, high, sizeof high),
                              d->is_inside ? ": the gap may be tsim's own error" : "");
    tsim_text_wrap(
        out, style, 0,
        ratio < 2 ? tsim_arena_printf(arena, "The step takes %.1f %% %s than predicted%s.", 100 * fabs(ratio - 1),
                                      ratio > 1 ? "longer" : "less", interval)
                  : tsim_arena_printf(arena, "The step takes %.1f times as long as predicted%s.", ratio, interval));
    if (output->assumed_node && !d->is_inside)
        tsim_text_wrap(out, style, 0,
                       tsim_arena_printf(arena,
                                         "The machine, %s, is assumed. If the job runs on another, the prediction is "
                                         "that of the wrong machine: say it first, with --set cluster.node=ID.",
                                         output->assumed_node));
    if (ratio < 1 && !d->is_inside)
        tsim_text_wrap(out, style, 0, too_fast_text(arena, d, d->prediction.result.step.throughput.hfu / ratio));
}

static void print_verdict(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                          const struct tsim_style *style, FILE *out) {
    const struct tsim_diagnosis *d = output->diagnosis;
    char share[64];
    if (d->measured_as)
        print_gap(arena, output, style, out);
    else
        tsim_text_wrap(out, style, 0,
                       "No step time was measured, so this begins at the prediction. To begin at the job's own time, "
                       "give a log with step times, a profile, or --set measured.step_time='13.7 s'.");
    if (d->n_suspects > 0)
        tsim_text_wrap(out, style, 0,
                       "The unexplained part has no known cause. The second table shows the step time that each of "
                       "some common faults would cause.");
    if (!d->has_plan)
        tsim_text_wrap(out, style, 0, "No plan surely fits in memory: nothing better was found.");
    else if (d->measured_as && !d->is_inside && level(d, TSIM_BAR_PREDICTED)->time_s < d->measured_s &&
             isfinite(d->bars[0].mfu))
        tsim_text_wrap(out, style, 0,
                       tsim_arena_printf(arena, "With the gap as it is, the best plan reaches %s MFU.",
                                         tsim_percent_text(mfu_if_it_stays(d), share, sizeof share)));
}

void tsim_diagnosis_print(struct tsim_arena *arena, const struct tsim_diagnosis_output *output,
                          const struct tsim_style *style, FILE *out) {
    const struct tsim_diagnosis *d = output->diagnosis;
    struct tsim_figures figures;
    print_bars(arena, output, style, out);
    if (d->n_suspects > 0) {
        fputc('\n', out);
        suspect_figures(arena, output, &figures);
        tsim_figures_print(&figures, style, out);
    }
    fputc('\n', out);
    print_verdict(arena, output, style, out);
    for (size_t i = 0, n = 0; i < d->n_bars; i++)
        if (d->bars[i].n_settings > 0)
            fprintf(out, "%s --set %s%s", n++ == 0 ? "All changes together:" : "", d->bars[i].name,
                    i + 2 == d->n_bars ? "\n" : "");
}

/* ---- for programs ---- */

void tsim_diagnosis_print_csv(struct tsim_arena *arena, const struct tsim_diagnosis_output *output, FILE *out) {
    struct tsim_figures figures;
    bar_figures(arena, output, &figures);
    tsim_figures_print_csv(&figures, out);
    if (output->diagnosis->n_suspects == 0)
        return;
    suspect_figures(arena, output, &figures);
    tsim_figures_print_csv(&figures, out);
}

static void add_settings(struct tsim_json *parent, const struct tsim_override *settings, size_t n) {
    struct tsim_json *set = n > 0 ? tsim_json_object(parent, "set") : NULL;
    for (size_t i = 0; i < n; i++)
        tsim_json_parsed_or_text(set, settings[i].path, settings[i].value);
}

static void add_level(struct tsim_json *parent, const struct tsim_diagnosis_bar *bar) {
    tsim_json_number(parent, "step_time_s", bar->time_s);
    tsim_json_number(parent, "mfu", bar->mfu);
}

static void add_bars(struct tsim_json *root, const struct tsim_diagnosis_output *output) {
    const struct tsim_diagnosis *d = output->diagnosis;
    struct tsim_json *bars = tsim_json_array(root, "waterfall");
    for (size_t i = 0; i < d->n_bars; i++) {
        const struct tsim_diagnosis_bar *bar = &d->bars[i];
        struct tsim_json *object = tsim_json_object(bars, NULL);
        tsim_json_text(object, "kind", tsim_bar_kind_name(bar->kind));
        tsim_json_text(object, "name", bar->name);
        add_level(object, bar);
        if (!tsim_bar_is_level(bar->kind)) {
            tsim_json_number(object, "mfu_change", bar->mfu_change);
            tsim_json_number(object, "change_s", bar->change_s);
        }
        add_settings(object, bar->settings, bar->n_settings);
        tsim_json_text(object, "flags", output->flags[i]);
    }
}

static void add_suspects(struct tsim_json *root, const struct tsim_diagnosis_output *output) {
    const struct tsim_diagnosis *d = output->diagnosis;
    struct tsim_json *suspects = tsim_json_array(root, "suspects");
    for (size_t i = 0; i < d->n_suspects; i++) {
        struct tsim_json *object = tsim_json_object(suspects, NULL);
        tsim_json_text(object, "what", d->suspects[i].what);
        add_settings(object, &d->suspects[i].setting, 1);
        tsim_json_text(object, "flags", output->suspect_flags[i]);
        tsim_json_number(object, "step_time_s", d->suspects[i].time_s);
        tsim_json_number(object, "explained", d->suspects[i].explained_frac);
    }
}

struct tsim_json *tsim_diagnosis_json(struct tsim_arena *arena, const struct tsim_diagnosis_output *output) {
    const struct tsim_diagnosis *d = output->diagnosis;
    struct tsim_json *root = tsim_json_new_object();
    struct tsim_override *all = TSIM_NEW_ARRAY(arena, TSIM_MOST_BARS * TSIM_N_PLAN_KEYS, struct tsim_override);
    size_t n = 0;
    tsim_json_text(root, "schema", "tsim/diagnosis/v1");
    tsim_json_text(root, "scenario", d->scenario->name);
    if (d->measured_as) {
        struct tsim_json *measured = tsim_json_object(root, "measured");
        tsim_json_text(measured, "as", d->measured_as);
        add_level(measured, level(d, TSIM_BAR_MEASURED));
        tsim_json_bool(measured, "inside_interval", d->is_inside);
    }
    struct tsim_json *predicted = tsim_json_object(root, "predicted");
    add_level(predicted, level(d, TSIM_BAR_PREDICTED));
    if (d->prediction.uncertainty.basis) {
        tsim_json_number(predicted, "step_time_low_s", d->prediction.uncertainty.step_time_low_s);
        tsim_json_number(predicted, "step_time_high_s", d->prediction.uncertainty.step_time_high_s);
    }
    struct tsim_json *best = tsim_json_object(root, "best");
    add_level(best, level(d, TSIM_BAR_BEST));
    for (size_t i = 0; i < d->n_bars; i++)
        for (size_t k = 0; k < d->bars[i].n_settings; k++)
            all[n++] = d->bars[i].settings[k];
    add_settings(best, all, n);
    if (d->measured_as)
        tsim_json_number(best, "mfu_if_unexplained_stays", mfu_if_it_stays(d));
    add_bars(root, output);
    add_suspects(root, output);
    tsim_json_integer(root, "evaluated", d->n_evaluated);
    return root;
}
