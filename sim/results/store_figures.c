#include "results/store_figures.h"

#include <string.h>

/* Returns whether the table has this column, and it is new in that version (0: in any). */
static bool is_in(const struct tsim_outcome_column *column, enum tsim_store_table table, int version) {
    return (table == TSIM_STORE_POINTS || column->is_in_runs) && (version == 0 || column->version == version);
}

const char *tsim_store_figures(struct tsim_arena *arena, enum tsim_store_table table, int version, const char *before,
                               const char *after) {
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    size_t size = 1;
    tsim_outcome_columns(columns);
    for (size_t i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        size += strlen(before) + strlen(tsim_outcome_spec(columns[i])->column->name) + strlen(after);
    char *text = TSIM_NEW_ARRAY(arena, size, char), *end = text;
    *end = '\0';
    for (size_t i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++) {
        const struct tsim_outcome_column *column = tsim_outcome_spec(columns[i])->column;
        if (is_in(column, table, version))
            end += snprintf(end, size - (size_t)(end - text), "%s%s%s", before, column->name, after);
    }
    return text;
}

const char *tsim_store_marks(struct tsim_arena *arena, enum tsim_store_table table) {
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    char *marks = TSIM_NEW_ARRAY(arena, TSIM_N_OUTCOME_COLUMNS * strlen(", ?") + 1, char);
    tsim_outcome_columns(columns);
    marks[0] = '\0';
    for (size_t i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        if (is_in(tsim_outcome_spec(columns[i])->column, table, 0))
            strcat(marks, ", ?");
    return marks;
}

void tsim_store_bind_figures(struct tsim_statement *s, enum tsim_store_table table,
                             const struct tsim_outcome *outcome) {
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (size_t i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        if (is_in(tsim_outcome_spec(columns[i])->column, table, 0))
            tsim_sql_bind_real(s, outcome->value[columns[i]]);
}

int tsim_store_figures_version(void) {
    int newest = 0;
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        int version = tsim_outcome_spec((enum tsim_outcome_figure)i)->column->version;
        newest = version > newest ? version : newest;
    }
    return newest;
}
