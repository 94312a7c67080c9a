#include "study/judge/scoreboard.h"

#include "study/judge/residuals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tsim_score_by_name(enum tsim_score_by by) {
    static const char *const NAMES[] = {"speed", "source", "accelerator", "memory"};
    return NAMES[by];
}

struct builder {
    struct tsim_scored_group *groups;
    size_t n_groups;
    double *errors; /* room for all values */
};

struct keyed_error {
    const char *key;
    double error_frac;
};

static void add_group(struct builder *b, enum tsim_score_by by, const char *name, size_t n_errors) {
    struct tsim_scored_group *group = &b->groups[b->n_groups];
    if (n_errors == 0)
        return;
    *group = (struct tsim_scored_group){.by = by, .name = name};
    tsim_score_errors(b->errors, n_errors, &group->score);
    b->n_groups++;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct keyed_error *)a)->key, ((const struct keyed_error *)b)->key);
}

static void add_groups(struct builder *b, enum tsim_score_by by, struct keyed_error *rows, size_t n) {
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t i = 0, n_errors = 0; i < n; i++) {
        b->errors[n_errors++] = rows[i].error_frac;
        if (i + 1 < n && strcmp(rows[i].key, rows[i + 1].key) == 0)
            continue;
        add_group(b, by, rows[i].key, n_errors);
        n_errors = 0;
    }
}

static void add_speeds(struct builder *b, const struct tsim_residuals *residuals, struct keyed_error *rows) {
    static const enum tsim_score_by BY[] = {TSIM_BY_SPEED, TSIM_BY_SOURCE, TSIM_BY_ACCELERATOR};
    const size_t n = residuals->n + residuals->n_rounds;
    for (size_t kind = 0; kind < sizeof BY / sizeof BY[0]; kind++) {
        for (size_t i = 0; i < n; i++) {
            const struct tsim_residual *of = &residuals->rows[i];
            const char *const keys[] = {"all", of->source, of->traits.accelerator};
            rows[i] = (struct keyed_error){.key = keys[kind], .error_frac = exp(-of->log_ratio) - 1};
        }
        add_groups(b, BY[kind], rows, n);
    }
}

static void add_memories(struct builder *b, const struct tsim_validation *validation) {
    size_t n = 0;
    for (size_t i = 0; i < validation->n_rows; i++) {
        const struct tsim_case_row *row = &validation->rows[i];
        if (!isnan(row->error_frac) && tsim_metric_kind(row->metric) == TSIM_METRIC_KIND_MEMORY)
            b->errors[n++] = row->error_frac;
    }
    add_group(b, TSIM_BY_MEMORY, "all", n);
}

void tsim_scoreboard_of(struct tsim_arena *arena, const struct tsim_validation *validation,
                        struct tsim_scoreboard *board) {
    struct tsim_residuals residuals;
    tsim_residuals_of(arena, validation, &residuals);
    struct builder b = {.groups =
                            TSIM_NEW_ARRAY(arena, 2 * (residuals.n + residuals.n_rounds) + 2, struct tsim_scored_group),
                        .errors = TSIM_NEW_ARRAY(arena, validation->n_rows + 1, double)};
    add_speeds(&b, &residuals, TSIM_NEW_ARRAY(arena, residuals.n + residuals.n_rounds + 1, struct keyed_error));
    add_memories(&b, validation);
    *board = (struct tsim_scoreboard){.groups = b.groups, .n_groups = b.n_groups};
}
