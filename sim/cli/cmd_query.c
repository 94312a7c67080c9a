#include "cli/command.h"

#include "base/plain_text.h"
#include "report/terminal/table.h"
#include "results/store_query.h"

#include <math.h>
#include <string.h>

struct run {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena; /* of the command */
    struct tsim_arena row;    /* of one row */
    struct tsim_diags *diags;
    struct tsim_query *query;
};

static void list_views(void) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_fold fold;
    FILE *out = tsim_fold_open(&fold, &style, stdout);
    for (size_t i = 0; i < TSIM_N_VIEWS; i++) {
        tsim_text_pad(out, TSIM_VIEWS[i].name, 26);
        fprintf(out, "%s\n", TSIM_VIEWS[i].help);
    }
    tsim_fold_close(&fold);
}

/* Returns the cell with six digits for people, or with all of them for programs. */
static const char *cell_text(struct run *run, int column, bool is_exact) {
    char text[40];
    switch (tsim_query_kind(run->query, column)) {
    case TSIM_QUERY_NULL:
        return "";
    case TSIM_QUERY_INTEGER:
        return tsim_arena_printf(&run->row, "%lld", (long long)tsim_query_integer(run->query, column));
    case TSIM_QUERY_REAL:
        if (is_exact)
            return tsim_arena_strdup(&run->row,
                                     tsim_double_text(tsim_query_real(run->query, column), text, sizeof text));
        return tsim_arena_printf(&run->row, "%.6g", tsim_query_real(run->query, column));
    case TSIM_QUERY_TEXT:
        break;
    }
    return tsim_query_text(run->query, column);
}

/* ---- the table: read twice, the first time for the widths ---- */

static const char *shown_text(struct run *run, int column) {
    return tsim_plain_text(&run->row, cell_text(run, column, false));
}

struct sheet {
    int *widths;
    bool *is_number;
    size_t n_shown; /* columns that fit the terminal */
    int64_t n_rows;
};

static enum tsim_status measure(struct run *run, struct sheet *sheet) {
    int n_columns = tsim_query_n_columns(run->query);
    bool is_there;
    for (int c = 0; c < n_columns; c++) {
        sheet->widths[c] = tsim_text_width(tsim_query_column_name(run->query, c));
        sheet->is_number[c] = true;
    }
    for (;; sheet->n_rows++) {
        TSIM_TRY(tsim_query_next(run->query, &is_there, run->diags));
        if (!is_there)
            return TSIM_OK;
        for (int c = 0; c < n_columns; c++) {
            int width = tsim_text_width(shown_text(run, c));
            sheet->widths[c] = width > sheet->widths[c] ? width : sheet->widths[c];
            sheet->is_number[c] &= tsim_query_kind(run->query, c) != TSIM_QUERY_TEXT;
        }
        tsim_arena_reset(&run->row);
    }
}

static void print_cell(const struct sheet *sheet, int c, const char *text, bool is_last) {
    fputs(c ? "  " : "", stdout);
    if (is_last && !sheet->is_number[c] && tsim_text_width(text) <= sheet->widths[c])
        fputs(text, stdout);
    else
        tsim_text_cut(stdout, text, sheet->is_number[c] ? -sheet->widths[c] : sheet->widths[c]);
}

static enum tsim_status print_rows(struct run *run, const struct sheet *sheet) {
    struct tsim_style style = tsim_style_of(stdout);
    bool is_there;
    int n_columns = (int)sheet->n_shown;
    fputs(tsim_tint_on(&style, TSIM_TINT_BOLD), stdout);
    for (int c = 0; c < n_columns; c++)
        print_cell(sheet, c, tsim_plain_text(&run->row, tsim_query_column_name(run->query, c)), c + 1 == n_columns);
    printf("%s\n", tsim_tint_off(&style));
    for (;;) {
        TSIM_TRY(tsim_query_next(run->query, &is_there, run->diags));
        if (!is_there)
            return TSIM_OK;
        for (int c = 0; c < n_columns; c++)
            print_cell(sheet, c, shown_text(run, c), c + 1 == n_columns);
        putchar('\n');
        tsim_arena_reset(&run->row);
    }
}

static enum tsim_status print_table(struct run *run) {
    size_t n_columns = (size_t)tsim_query_n_columns(run->query);
    struct sheet sheet = {TSIM_NEW_ARRAY(run->arena, n_columns, int), TSIM_NEW_ARRAY(run->arena, n_columns, bool), 0,
                          0};
    TSIM_TRY(measure(run, &sheet));
    tsim_query_rewind(run->query);
    struct tsim_style style = tsim_style_of(stdout);
    sheet.n_shown = tsim_columns_fit(&style, sheet.widths, sheet.is_number, n_columns);
    if (sheet.n_rows == 0)
        puts("no rows");
    else
        TSIM_TRY(print_rows(run, &sheet));
    struct tsim_fold fold;
    FILE *out = tsim_fold_open(&fold, &style, stdout);
    for (size_t c = sheet.n_shown; c < n_columns; c++)
        fprintf(out, "%s%s", c == sheet.n_shown ? "no room for " : ", ", tsim_query_column_name(run->query, (int)c));
    fputs(sheet.n_shown < n_columns ? ": --csv has all\n" : "", out);
    tsim_fold_close(&fold);
    return TSIM_OK;
}

/* ---- CSV and JSON ---- */

static enum tsim_status print_csv(struct run *run) {
    int n_columns = tsim_query_n_columns(run->query);
    bool is_there;
    for (int c = 0; c < n_columns; c++)
        tsim_csv_cell(tsim_query_column_name(run->query, c), c + 1 == n_columns, stdout);
    for (;;) {
        TSIM_TRY(tsim_query_next(run->query, &is_there, run->diags));
        if (!is_there)
            return TSIM_OK;
        for (int c = 0; c < n_columns; c++)
            tsim_csv_cell(cell_text(run, c, true), c + 1 == n_columns, stdout);
        tsim_arena_reset(&run->row);
    }
}

/* Returns "mfu", or for the second column of that name "mfu:1", as SQLite calls it. */
static const char *key_of(struct run *run, int column) {
    const char *name = tsim_query_column_name(run->query, column);
    int n_before = 0;
    for (int c = 0; c < column; c++)
        n_before += strcmp(tsim_query_column_name(run->query, c), name) == 0;
    return n_before ? tsim_arena_printf(&run->row, "%s:%d", name, n_before) : name;
}

static void add_value(struct run *run, int column, struct tsim_json *row) {
    const char *key = key_of(run, column);
    enum tsim_query_kind kind = tsim_query_kind(run->query, column);
    double real = tsim_query_real(run->query, column);
    if (kind == TSIM_QUERY_INTEGER)
        tsim_json_integer(row, key, tsim_query_integer(run->query, column));
    else if (kind == TSIM_QUERY_REAL && isfinite(real))
        tsim_json_number(row, key, real);
    else if (kind != TSIM_QUERY_NULL)
        tsim_json_text(row, key, tsim_query_text(run->query, column));
}

static enum tsim_status write_json(void *context, FILE *out) {
    struct run *run = context;
    int n_columns = tsim_query_n_columns(run->query);
    bool is_there, is_first = true;
    fputs("{\n  \"rows\": [", out);
    for (;; is_first = false) {
        TSIM_TRY(tsim_query_next(run->query, &is_there, run->diags));
        if (!is_there)
            break;
        struct tsim_json *row = tsim_json_new_object();
        for (int c = 0; c < n_columns; c++)
            add_value(run, c, row);
        fputs(is_first ? "\n    " : ",\n    ", out);
        tsim_json_write_part(row, 2, out);
        tsim_json_release(row);
        tsim_arena_reset(&run->row);
    }
    fputs(is_first ? "]\n}\n" : "\n  ]\n}\n", out);
    return TSIM_OK;
}

/* ---- the command ---- */

static enum tsim_exit write_results(struct run *run) {
    enum tsim_status status = TSIM_OK;
    if (run->arguments->has[TSIM_OPTION_CSV])
        status = print_csv(run);
    else if (!tsim_is_json_on_stdout(run->arguments))
        status = print_table(run);
    if (status != TSIM_OK || !run->arguments->has[TSIM_OPTION_JSON])
        return tsim_exit_of(status);
    tsim_query_rewind(run->query);
    return tsim_write_json_parts(run->arguments, write_json, run);
}

enum tsim_exit tsim_cmd_query(const struct tsim_arguments *arguments) {
    struct run run = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    struct tsim_store *store = NULL;
    if (arguments->n_operands == 0) {
        list_views();
        return TSIM_EXIT_OK;
    }
    tsim_arena_init(&run.row);
    enum tsim_status status = tsim_open_database(run.arena, arguments, &store, run.diags);
    if (status == TSIM_OK)
        status = tsim_query_open(run.arena, store, arguments->operands[0], &run.query, run.diags);
    enum tsim_exit code = status == TSIM_OK ? write_results(&run) : tsim_exit_of(status);
    code = tsim_exit_worse(code, tsim_flush_results());
    tsim_query_close(run.query);
    tsim_store_close(store);
    tsim_report_diags(arguments, run.diags);
    tsim_arena_release(&run.row);
    return code;
}
