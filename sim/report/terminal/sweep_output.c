#include "report/terminal/sweep_output.h"

#include "base/version.h"
#include "report/terminal/limit_text.h"
#include "results/format.h"

#include <math.h>
#include <string.h>

/* Finds the next point for which the filter holds. */
static enum tsim_status next_point(const struct tsim_sweep_output *output, struct tsim_point *point, bool *is_there,
                                   struct tsim_diags *diags) {
    do
        TSIM_TRY(tsim_point_reader_next(output->reader, point, is_there, diags));
    while (*is_there && !tsim_filter_holds(output->filter, point));
    return TSIM_OK;
}

/* ---- JSON ---- */

static struct tsim_json *point_json(struct tsim_arena *arena, const struct tsim_sweep_output *output,
                                    const struct tsim_point *point) {
    struct tsim_json *object = tsim_json_new_object();
    tsim_json_parsed(object, "set", tsim_space_set_json(arena, output->space, point->position));
    tsim_json_text(object, "status", tsim_point_status_name(point->status));
    if (point->reason[0])
        tsim_json_text(object, "reason", point->reason);
    if (isnan(point->outcome.value[TSIM_OUTCOME_FITS]))
        return object;
    struct tsim_json *summary = tsim_json_object(object, "summary");
    tsim_json_text(summary, "schema", "tsim/summary/v1");
    tsim_json_text(summary, "scenario", output->scenario);
    tsim_json_text(summary, "status", tsim_point_status_name(point->status));
    tsim_outcome_json(&point->outcome, summary);
    return object;
}

static void write_point(struct tsim_arena *arena, const struct tsim_sweep_output *output,
                        const struct tsim_point *point, bool is_first, FILE *out) {
    struct tsim_json *object = point_json(arena, output, point);
    fputs(is_first ? "\n    " : ",\n    ", out);
    tsim_json_write_part(object, 2, out);
    tsim_json_release(object);
    tsim_arena_reset(arena);
}

static enum tsim_status write_points(struct tsim_arena *arena, const struct tsim_sweep_output *output,
                                     struct tsim_best *best, FILE *out, struct tsim_diags *diags) {
    struct tsim_point point;
    bool is_there, is_first = true;
    fputs("{\n  \"points\": [", out);
    for (;; is_first = false) {
        TSIM_TRY(next_point(output, &point, &is_there, diags));
        if (!is_there)
            break;
        write_point(arena, output, &point, is_first, out);
        tsim_best_offer(best, &output->ranking, &point);
    }
    fputs(is_first ? "],\n" : "\n  ],\n", out);
    return TSIM_OK;
}

enum tsim_status tsim_sweep_write_json(const struct tsim_sweep_output *output, FILE *out, struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct tsim_best best = {.n = 0};
    tsim_arena_init(&arena);
    enum tsim_status status = write_points(&arena, output, &best, out, diags);
    fprintf(out, "  \"objective\": \"%s\",\n  \"best\": [", tsim_outcome_spec(output->ranking.objective)->name);
    for (size_t i = 0; i < best.n; i++)
        write_point(&arena, output, &best.points[i], i == 0, out);
    fprintf(out, "%s],\n  \"simulator\": {\"version\": \"%s\"}\n}\n", best.n ? "\n  " : "", TSIM_VERSION);
    tsim_arena_release(&arena);
    return status;
}

/* ---- cells ---- */

/* Finds a point's value of each key that changes; NULL if the point leaves the key alone. */
static void find_values(const struct tsim_space *space, int64_t position, const struct tsim_space_setting **settings,
                        const char **values) {
    size_t n = tsim_space_settings(space, position, settings);
    for (size_t i = 0; i < space->n_paths; i++) {
        values[i] = NULL;
        for (size_t k = 0; k < n; k++)
            if (strcmp(space->paths[i], settings[k]->path) == 0)
                values[i] = settings[k]->text;
    }
}

/* ---- CSV ---- */

static void write_csv_titles(const struct tsim_space *space, FILE *out) {
    for (size_t i = 0; i < space->n_paths; i++)
        tsim_csv_cell(space->paths[i], false, out);
    fputs("status,reason,bottleneck", out);
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        fprintf(out, ",%s", tsim_outcome_spec(columns[i])->column->name);
    fputc('\n', out);
}

static void write_csv_row(const struct tsim_space *space, const struct tsim_point *point, const char *const *values,
                          FILE *out) {
    char text[40];
    for (size_t i = 0; i < space->n_paths; i++)
        tsim_csv_cell(values[i], false, out);
    tsim_csv_cell(tsim_point_status_name(point->status), false, out);
    tsim_csv_cell(point->reason, false, out);
    tsim_csv_cell(point->outcome.bottleneck, false, out);
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++) {
        double value = point->outcome.value[columns[i]];
        bool is_last = i + 1 == TSIM_N_OUTCOME_COLUMNS;
        tsim_csv_cell(isnan(value) ? NULL : tsim_double_text(value, text, sizeof text), is_last, out);
    }
}

enum tsim_status tsim_sweep_print_csv(const struct tsim_sweep_output *output, FILE *out, struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct tsim_point point;
    bool is_there = true;
    tsim_arena_init(&arena);
    const struct tsim_space_setting **settings =
        TSIM_NEW_ARRAY(&arena, output->space->most_settings, const struct tsim_space_setting *);
    const char **values = TSIM_NEW_ARRAY(&arena, output->space->n_paths, const char *);
    write_csv_titles(output->space, out);
    enum tsim_status status;
    while ((status = next_point(output, &point, &is_there, diags)) == TSIM_OK && is_there) {
        find_values(output->space, point.position, settings, values);
        write_csv_row(output->space, &point, values, out);
    }
    tsim_arena_release(&arena);
    return status;
}

/* ---- the table ---- */

enum { FIXED_COLUMNS = 7, CELL_SIZE = 96, LEAST_REASON = 12 };

struct sheet {
    const struct tsim_sweep_output *output;
    const struct tsim_style *style;
    FILE *out;
    size_t n_columns; /* keys, status, the fixed columns, perhaps the objective */
    size_t n_shown;   /* of them, that fit the style */
    const char **titles;
    char (*names)[CELL_SIZE]; /* room for those of figures */
    int *widths;
    bool *is_number;
    const char **cells;         /* of the row at hand */
    char (*buffers)[CELL_SIZE]; /* room for their text */
    const struct tsim_space_setting **settings;
    bool has_objective; /* a column of its own */
    int64_t n_rows, n_of_status[TSIM_POINT_FAILED + 1];
    int64_t n_fixed_data; /* invalid because the scenario says how many replicas there are */
    struct tsim_best best;
    struct tsim_arena *arena;
    double *nearest; /* by limit: the best value of a point that runs; NAN: none */
};

/* The lower end of the interval stands for both. */
static const enum tsim_outcome_figure FIXED[FIXED_COLUMNS] = {
    TSIM_OUTCOME_ACCELERATORS, TSIM_OUTCOME_STEP_TIME,   TSIM_OUTCOME_STEP_LOW, TSIM_OUTCOME_TOKENS_PER_S,
    TSIM_OUTCOME_MFU,          TSIM_OUTCOME_MEMORY_PEAK, TSIM_OUTCOME_DAYS};

static enum tsim_outcome_figure fixed_figure(const struct tsim_sweep_output *output, size_t i) {
    bool is_rate = FIXED[i] == TSIM_OUTCOME_TOKENS_PER_S && output->is_of_samples;
    return is_rate ? TSIM_OUTCOME_SAMPLES_PER_S : FIXED[i];
}

/* Returns "nodes" for cluster.nodes, unless another key has the same end. */
static const char *short_path(const struct tsim_space *space, size_t i) {
    const char *dot = strrchr(space->paths[i], '.');
    for (size_t k = 0; dot && k < space->n_paths; k++) {
        const char *other = strrchr(space->paths[k], '.');
        if (k != i && strcmp(other ? other + 1 : space->paths[k], dot + 1) == 0)
            return space->paths[i];
    }
    return dot ? dot + 1 : space->paths[i];
}

static void fill_titles(struct sheet *sheet) {
    const struct tsim_space *space = sheet->output->space;
    size_t n = 0;
    for (size_t i = 0; i < space->n_paths; i++)
        sheet->titles[n++] = short_path(space, i);
    sheet->titles[n++] = "status";
    for (size_t i = 0; i < FIXED_COLUMNS; i++, n++)
        sheet->titles[n] = fixed_figure(sheet->output, i) == TSIM_OUTCOME_STEP_LOW
                               ? "90 %"
                               : tsim_outcome_name(fixed_figure(sheet->output, i), sheet->names[n], CELL_SIZE);
    if (sheet->has_objective) {
        sheet->titles[n] = tsim_outcome_name(sheet->output->ranking.objective, sheet->names[n], CELL_SIZE);
        n++;
    }
    TSIM_ASSERT(n == sheet->n_columns);
    for (size_t i = 0; i < n; i++)
        sheet->widths[i] = tsim_text_width(sheet->titles[i]);
}

static void fill_cells(struct sheet *sheet, const struct tsim_point *point) {
    const struct tsim_space *space = sheet->output->space;
    const double *value = point->outcome.value;
    size_t n = space->n_paths;
    find_values(space, point->position, sheet->settings, sheet->cells);
    for (size_t i = 0; i < n; i++)
        sheet->cells[i] = sheet->cells[i] ? sheet->cells[i] : "-";
    sheet->cells[n++] = tsim_point_status_name(point->status);
    for (size_t i = 0; i < FIXED_COLUMNS; i++, n++) {
        enum tsim_outcome_figure figure = fixed_figure(sheet->output, i);
        sheet->cells[n] =
            figure == TSIM_OUTCOME_STEP_LOW
                ? tsim_interval_text(value[figure], value[TSIM_OUTCOME_STEP_HIGH], sheet->buffers[n], CELL_SIZE)
                : tsim_outcome_text(figure, value[figure], sheet->buffers[n], CELL_SIZE);
    }
    if (sheet->has_objective)
        sheet->cells[n] = tsim_outcome_text(sheet->output->ranking.objective, value[sheet->output->ranking.objective],
                                            sheet->buffers[n], CELL_SIZE);
}

static void print_cells(const struct sheet *sheet, const char *const *cells, const char *rest) {
    size_t n_left = sheet->output->space->n_paths + 1;
    int room = sheet->style->table_width;
    for (size_t i = 0; i < sheet->n_shown; i++) {
        fputs(i ? "  " : "", sheet->out);
        tsim_text_cut(sheet->out, cells[i], i + 1 == n_left ? sheet->widths[i] : -sheet->widths[i]);
        room -= sheet->widths[i] + 2;
    }
    if (rest[0] && sheet->style->table_width == 0)
        fprintf(sheet->out, "  %s", rest);
    else if (rest[0] && room > LEAST_REASON)
        fputs("  ", sheet->out), tsim_text_cut(sheet->out, rest, room);
    fputc('\n', sheet->out);
}

static void note_nearest(struct sheet *sheet, const struct tsim_point *point) {
    const struct tsim_ranking *ranking = &sheet->output->ranking;
    for (size_t i = 0; i < ranking->n_limits && point->status == TSIM_POINT_OK; i++) {
        enum tsim_outcome_figure figure = ranking->limits[i].figure;
        bool is_more = tsim_outcome_spec(figure)->goal == TSIM_GOAL_MORE;
        double value = point->outcome.value[figure]; /* of a number and NAN the number is taken */
        sheet->nearest[i] = is_more ? fmax(sheet->nearest[i], value) : fmin(sheet->nearest[i], value);
    }
}

/* The reason of a point whose replicas are not what is left of the cluster begins with this (config/draft/rules.c). */
static const char FIXED_DATA[] = "parallelism.data: tensor ";

/* The first pass finds the widths of the columns, and what stands below the table. */
static enum tsim_status measure(struct sheet *sheet, struct tsim_diags *diags) {
    struct tsim_point point;
    bool is_there = true;
    for (;;) {
        TSIM_TRY(next_point(sheet->output, &point, &is_there, diags));
        if (!is_there)
            return TSIM_OK;
        fill_cells(sheet, &point);
        for (size_t i = 0; i < sheet->n_columns; i++) {
            int width = tsim_text_width(sheet->cells[i]);
            sheet->widths[i] = width > sheet->widths[i] ? width : sheet->widths[i];
        }
        sheet->n_rows++;
        sheet->n_of_status[point.status]++;
        sheet->n_fixed_data +=
            point.status == TSIM_POINT_INVALID && strncmp(point.reason, FIXED_DATA, sizeof FIXED_DATA - 1) == 0;
        tsim_best_offer(&sheet->best, &sheet->output->ranking, &point);
        note_nearest(sheet, &point);
    }
}

static enum tsim_status print_rows(struct sheet *sheet, struct tsim_diags *diags) {
    struct tsim_point point;
    bool is_there = true;
    fputs(tsim_tint_on(sheet->style, TSIM_TINT_BOLD), sheet->out);
    print_cells(sheet, sheet->titles, "");
    fputs(tsim_tint_off(sheet->style), sheet->out);
    for (;;) {
        TSIM_TRY(next_point(sheet->output, &point, &is_there, diags));
        if (!is_there)
            return TSIM_OK;
        fill_cells(sheet, &point);
        print_cells(sheet, sheet->cells, point.reason);
    }
}

/* Returns the limit that all of them miss, the one missed by most. */
static const struct tsim_limit *missed_limit(const struct sheet *sheet, double *nearest) {
    const struct tsim_ranking *ranking = &sheet->output->ranking;
    const struct tsim_limit *worst = NULL;
    double most = 0;
    for (size_t i = 0; i < ranking->n_limits; i++)
        if (tsim_limit_miss(&ranking->limits[i], sheet->nearest[i]) > most) {
            worst = &ranking->limits[i];
            *nearest = sheet->nearest[i];
            most = tsim_limit_miss(worst, *nearest);
        }
    return worst;
}

static void print_none(struct sheet *sheet) {
    bool has_limits = sheet->output->ranking.n_limits > 0;
    double nearest = (double)NAN;
    const struct tsim_limit *limit = missed_limit(sheet, &nearest);
    if (sheet->n_rows == 0 && sheet->output->filter)
        fputs("\nno point passes the condition\n", sheet->out);
    else if (sheet->n_of_status[TSIM_POINT_OK] == 0)
        fputs("\nno point is feasible\n", sheet->out);
    else
        fprintf(sheet->out, "\nno point is feasible%s%s%s\n", has_limits ? " and within the limits" : "",
                limit ? ": " : "", limit ? tsim_limit_text(sheet->arena, limit, nearest) : "");
}

/* Returns the settings in which two points differ: "cluster.fabric: ib-ndr, roce-400". */
static const char *differing(struct sheet *sheet, int64_t position, int64_t other) {
    const struct tsim_space *space = sheet->output->space;
    const struct tsim_space_setting **others =
        TSIM_NEW_ARRAY(sheet->arena, space->most_settings, const struct tsim_space_setting *);
    size_t n = tsim_space_settings(space, position, sheet->settings);
    const char *text = "";
    if (tsim_space_settings(space, other, others) != n)
        return "";
    for (size_t k = 0; k < n; k++)
        if (strcmp(sheet->settings[k]->text, others[k]->text) != 0)
            text = tsim_arena_printf(sheet->arena, "%s%s%s: %s, %s", text, *text ? "; " : " (",
                                     sheet->settings[k]->path, others[k]->text, sheet->settings[k]->text);
    return *text ? tsim_arena_printf(sheet->arena, "%s)", text) : "";
}

/* Tells which of the best ones are the same in every figure, so that their order says nothing. */
static void print_alike(struct sheet *sheet) {
    const struct tsim_point *points = sheet->best.points;
    for (size_t i = 1; i < sheet->best.n; i++) {
        size_t same = 0;
        while (same < i && !tsim_outcomes_are_alike(&points[same].outcome, &points[i].outcome))
            same++;
        if (same == i)
            continue;
        fputs("  ", sheet->out);
        tsim_text_wrap(
            sheet->out, sheet->style, 4,
            tsim_arena_printf(sheet->arena,
                              "tsim cannot tell %zu from %zu%s: everything that it knows of the two is the same", i + 1,
                              same + 1, differing(sheet, points[i].position, points[same].position)));
    }
}

static void print_best(struct sheet *sheet) {
    const struct tsim_sweep_output *output = sheet->output;
    enum tsim_outcome_figure objective = output->ranking.objective; /* the two rank alike */
    if (objective == TSIM_OUTCOME_TOKENS_PER_S && output->is_of_samples)
        objective = TSIM_OUTCOME_SAMPLES_PER_S;
    char text[CELL_SIZE];
    if (sheet->best.n > 0)
        fprintf(sheet->out, "\nbest by %s%s\n", tsim_outcome_spec(objective)->column->name,
                output->ranking.n_limits > 0 ? ", within the limits" : "");
    else
        print_none(sheet);
    for (size_t i = 0; i < sheet->best.n; i++) {
        const struct tsim_point *point = &sheet->best.points[i];
        double value = point->outcome.value[objective];
        fprintf(sheet->out, "  %zu. ", i + 1);
        tsim_text_pad(sheet->out, tsim_outcome_text(objective, value, text, sizeof text), -10);
        size_t n = tsim_space_settings(output->space, point->position, sheet->settings);
        for (size_t k = 0; k < n; k++)
            fprintf(sheet->out, "  %s=%s", sheet->settings[k]->path, sheet->settings[k]->text);
        fputc('\n', sheet->out);
    }
    print_alike(sheet);
}

static void print_counts(const struct sheet *sheet) {
    static const char *const WORDS[] = {"ok", "do not fit in memory", "invalid", "failed"};
    fprintf(sheet->out, "\n%lld point%s", (long long)sheet->n_rows, sheet->n_rows == 1 ? "" : "s");
    const char *separator = ": ";
    for (size_t i = 0; i <= TSIM_POINT_FAILED; i++)
        if (sheet->n_of_status[i] > 0) {
            fprintf(sheet->out, "%s%lld %s", separator, (long long)sheet->n_of_status[i], WORDS[i]);
            separator = ", ";
        }
    fputc('\n', sheet->out);
    if (sheet->n_fixed_data > 0)
        fprintf(sheet->out,
                "%lld of them because parallelism.data is a number; with --set parallelism.data=auto it follows from "
                "the rest\n",
                (long long)sheet->n_fixed_data);
}

static bool is_fixed(const struct tsim_sweep_output *output, enum tsim_outcome_figure figure) {
    for (size_t i = 0; i < FIXED_COLUMNS; i++)
        if (fixed_figure(output, i) == figure || (FIXED[i] == figure && output->is_of_samples))
            return true;
    return false;
}

static void print_below(struct sheet *sheet) {
    for (size_t i = sheet->n_shown; i < sheet->n_columns; i++)
        fprintf(sheet->out, "%s%s", i == sheet->n_shown ? "no room for " : ", ", sheet->titles[i]);
    fputs(sheet->n_shown < sheet->n_columns ? ": --csv has all\n" : "", sheet->out);
    print_best(sheet);
    print_counts(sheet);
}

static enum tsim_status print_sheet(struct sheet *sheet, struct tsim_diags *diags) {
    struct tsim_fold fold;
    TSIM_TRY(measure(sheet, diags));
    tsim_point_reader_rewind(sheet->output->reader);
    sheet->n_shown = tsim_columns_fit(sheet->style, sheet->widths, sheet->is_number, sheet->n_columns);
    if (sheet->n_rows > 0)
        TSIM_TRY(print_rows(sheet, diags));
    sheet->out = tsim_fold_open(&fold, sheet->style, sheet->out);
    print_below(sheet);
    tsim_fold_close(&fold);
    return TSIM_OK;
}

enum tsim_status tsim_sweep_print(const struct tsim_sweep_output *output, const struct tsim_style *style, FILE *out,
                                  struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct sheet sheet = {.output = output, .style = style, .out = out};
    tsim_arena_init(&arena);
    sheet.has_objective = !is_fixed(output, output->ranking.objective);
    sheet.n_columns = output->space->n_paths + 1 + FIXED_COLUMNS + sheet.has_objective;
    sheet.titles = TSIM_NEW_ARRAY(&arena, sheet.n_columns, const char *);
    sheet.cells = TSIM_NEW_ARRAY(&arena, sheet.n_columns, const char *);
    sheet.widths = TSIM_NEW_ARRAY(&arena, sheet.n_columns, int);
    sheet.is_number = TSIM_NEW_ARRAY(&arena, sheet.n_columns, bool);
    for (size_t i = output->space->n_paths; i < sheet.n_columns; i++)
        sheet.is_number[i] = true;
    sheet.names = tsim_arena_array(&arena, sheet.n_columns, CELL_SIZE);
    sheet.buffers = tsim_arena_array(&arena, sheet.n_columns, CELL_SIZE);
    sheet.arena = &arena;
    sheet.nearest = TSIM_NEW_ARRAY(&arena, output->ranking.n_limits, double);
    for (size_t i = 0; i < output->ranking.n_limits; i++)
        sheet.nearest[i] = (double)NAN;
    sheet.settings = TSIM_NEW_ARRAY(&arena, output->space->most_settings, const struct tsim_space_setting *);
    fill_titles(&sheet);
    enum tsim_status status = print_sheet(&sheet, diags);
    tsim_arena_release(&arena);
    return status;
}
