#include "study/judge/kernel_rows.h"

#include "config/catalogue_load.h"
#include "config/scenario.h"
#include "study/judge/kernel_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };
static const char HEADER[] = "accelerator,op,precision,batch,m,n,k,bytes,time_us";

/* The columns, the first nine in this order. */
enum column {
    ACCELERATOR,
    OP,
    PRECISION,
    BATCH,
    M,
    N,
    K,
    BYTES,
    TIME,
    N_FIRST,
    DIRECTION = N_FIRST,
    SUM,
    KERNEL,
    CAUSAL,
    REPEATS,
    CLOCK,
    POWER,
    N_COLUMNS
};
static const char *const NAMES[N_COLUMNS] = {"accelerator", "op",      "precision", "batch",     "m",   "n",
                                             "k",           "bytes",   "time_us",   "direction", "sum", "kernel",
                                             "causal",      "repeats", "clock_mhz", "power_w"};

enum kind { GEMM, GROUPED, ATTENTION, COPY, ELEMENTWISE, N_KINDS };
static const char *const KINDS[N_KINDS] = {"gemm", "grouped", "attention", "copy", "elementwise"};
static const char *const DIRECTIONS[] = {"forward", "input_gradient", "weight_gradient", "backward"};
static const char *const DIRECTION_TEXTS[] = {"", ", input gradient", ", weight gradient", ", backward"};
enum direction { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, BACKWARD, N_DIRECTIONS };
static const struct {
    const char *name;
    enum tsim_attention_kernel kernel;
    enum tsim_flash flash;
} KERNELS[] = {{"flash1", TSIM_ATTENTION_FLASH1, TSIM_FLASH1},
               {"flash2", TSIM_ATTENTION_FLASH2, TSIM_FLASH2},
               {"flash3", TSIM_ATTENTION_FLASH3, TSIM_FLASH3},
               {"cudnn", TSIM_ATTENTION_CUDNN, TSIM_FLASH_CUDNN}};
static const char *const ANSWERS[] = {"no", "yes"};
static const char NEEDS[] =
    "products and attention need batch, m, n, k and time_us, copies and elementwise kernels bytes "
    "and time_us";

struct reading {
    struct tsim_arena *arena;
    const char *file;
    struct tsim_diags *diags;
    int line;
    char text[LINE_BYTES];          /* of the line; empty at the end of the file */
    enum column columns[N_COLUMNS]; /* of the file, in its order */
    size_t n_columns;
    double share_flops_per_s;     /* the whole of which the file gives shares (kernel_shares.h); 0 if it gives none */
    const char *given;            /* accelerator that was said beside the file, or NULL */
    char *fields[N_COLUMNS];      /* of the line, by column; those that the file does not have are empty */
    int places[N_COLUMNS];        /* the character that each begins at, from 1 */
    struct tsim_kernel_row *rows; /* on the heap */
    size_t n, capacity;
    const char *accelerator, *precision, *kernel; /* of the first row that has one */
};

__attribute__((format(printf, 3, 4))) static enum tsim_status refuse(const struct reading *reading, int column,
                                                                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(reading->arena, format, args);
    va_end(args);
    int at = reading->share_flops_per_s > 0 ? 1 : column; /* shares are taken by way of other columns */
    struct tsim_place place = {.file = reading->file, .line = reading->line, .column = at};
    struct tsim_diag *diag = tsim_diags_error(reading->diags, TSIM_ERR_SCHEMA, place, "", "%s", text);
    if (reading->text[0] != '\0')
        diag->source_line = tsim_arena_strdup(reading->arena, reading->text);
    return TSIM_ERR_SCHEMA;
}

static enum tsim_status cannot_read(const struct reading *reading) {
    tsim_diags_error(reading->diags, TSIM_ERR_IO, (struct tsim_place){.file = reading->file}, "", "cannot be read: %s",
                     strerror(errno));
    return TSIM_ERR_IO;
}

/* ---- fields ---- */

static bool is_empty(const struct reading *r, enum column column) {
    return r->fields[column][0] == '\0';
}

static enum tsim_status take_number(const struct reading *r, enum column column, double *value) {
    char *end;
    const char *text = r->fields[column];
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value) || !(*value > 0))
        return refuse(r, r->places[column], "%s is '%s', not a number above 0; %s", NAMES[column], text, NEEDS);
    return TSIM_OK;
}

/* Returns 0 for an empty cell. */
static enum tsim_status take_if_said(const struct reading *r, enum column column, double *value) {
    *value = 0;
    return is_empty(r, column) ? TSIM_OK : take_number(r, column, value);
}

static enum tsim_status take_word(const struct reading *r, enum column column, const char *const *words, int n,
                                  int *word) {
    const char *known = "";
    for (*word = 0; *word < n; ++*word) {
        if (strcmp(r->fields[column], words[*word]) == 0)
            return TSIM_OK;
        known = tsim_arena_printf(r->arena, "%s%s%s", known,
                                  *word == 0       ? ""
                                  : *word == n - 1 ? " or "
                                                   : ", ",
                                  words[*word]);
    }
    return refuse(r, r->places[column], "%s is '%s', not %s", NAMES[column], r->fields[column], known);
}

static enum tsim_status must_be_empty(const struct reading *r, const char *of, enum column first, enum column last) {
    for (enum column column = first; column <= last; column++)
        if (!is_empty(r, column))
            return refuse(r, r->places[column], "%s is '%s', but has no meaning for %s", NAMES[column],
                          r->fields[column], of);
    return TSIM_OK;
}

/* Takes a column that has one value for all rows: that of the first row that has it. */
static enum tsim_status take_common(const struct reading *r, enum column column, const char **common) {
    if (!*common)
        *common = tsim_arena_strdup(r->arena, r->fields[column]);
    if (strcmp(*common, r->fields[column]) == 0)
        return TSIM_OK;
    return refuse(r, r->places[column], "'%s' after '%s': one %s in a file", r->fields[column], *common,
                  column == KERNEL ? "attention kernel" : NAMES[column]);
}

static enum tsim_status take_precision(const struct reading *r, enum column column, enum tsim_precision *precision) {
    for (int i = 0; i < TSIM_N_PRECISIONS; i++)
        if (strcmp(tsim_precision_name((enum tsim_precision)i), r->fields[column]) == 0) {
            *precision = (enum tsim_precision)i;
            return TSIM_OK;
        }
    return refuse(r, r->places[column], "%s is '%s', not fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4", NAMES[column],
                  r->fields[column]);
}

/* ---- rows ---- */

/* A product reads both inputs in the precision; it writes the result in at least 16 bits, or reads and writes a sum. */
static enum tsim_status take_product(const struct reading *r, bool is_grouped, int direction,
                                     struct tsim_kernel_row *row) {
    struct tsim_op *op = &row->op;
    const char *kind = KINDS[is_grouped ? GROUPED : GEMM], *sum = "";
    double result_bytes = fmax(2, tsim_operand_bytes(op->precision));
    TSIM_TRY(must_be_empty(r, kind, BYTES, BYTES));
    TSIM_TRY(must_be_empty(r, kind, KERNEL, CAUSAL));
    if (direction == BACKWARD)
        return refuse(r, r->places[DIRECTION],
                      "direction is 'backward'; of a %s it is input_gradient or weight_gradient", kind);
    if (!is_empty(r, SUM)) {
        enum tsim_precision of_sum;
        TSIM_TRY(take_precision(r, SUM, &of_sum));
        result_bytes = 2 * tsim_operand_bytes(of_sum);
        op->sum_bytes = op->batch * result_bytes * op->m * op->n;
        sum = tsim_arena_printf(r->arena, ", + %s", r->fields[SUM]);
    }
    op->kind = TSIM_OP_GEMM;
    op->is_grouped = is_grouped;
    op->is_gradient = direction != FORWARD;
    op->is_weight_gradient = direction == WEIGHT_GRADIENT;
    op->flops = 2 * op->batch * op->m * op->n * op->k;
    op->bytes = op->batch *
                (tsim_operand_bytes(op->precision) * (op->m * op->k + op->k * op->n) + result_bytes * op->m * op->n);
    row->kind = tsim_arena_printf(r->arena, "%s%s%s", kind, DIRECTION_TEXTS[direction], sum);
    row->text = tsim_arena_printf(r->arena, "%s %.0f x %.0f x %.0f x %.0f%s%s", kind, op->batch, op->m, op->n, op->k,
                                  DIRECTION_TEXTS[direction], sum);
    return TSIM_OK;
}

/* Causal attention computes half of the products. Backward it forms the scores again: five products where forward has
 * two. */
static enum tsim_status take_attention(struct reading *r, int direction, struct tsim_kernel_row *row) {
    struct tsim_op *op = &row->op;
    int kernel, is_causal;
    const char *names[sizeof KERNELS / sizeof KERNELS[0]];
    for (size_t i = 0; i < sizeof KERNELS / sizeof KERNELS[0]; i++)
        names[i] = KERNELS[i].name;
    TSIM_TRY(must_be_empty(r, "attention", BYTES, BYTES));
    TSIM_TRY(must_be_empty(r, "attention", SUM, SUM));
    TSIM_TRY(take_word(r, KERNEL, names, sizeof names / sizeof names[0], &kernel));
    TSIM_TRY(take_common(r, KERNEL, &r->kernel));
    TSIM_TRY(take_word(r, CAUSAL, ANSWERS, 2, &is_causal));
    if (direction == INPUT_GRADIENT || direction == WEIGHT_GRADIENT)
        return refuse(r, r->places[DIRECTION], "direction is '%s'; of attention it is forward or backward",
                      r->fields[DIRECTION]);
    op->kind = TSIM_OP_FLASH;
    op->is_gradient = direction == BACKWARD;
    op->causal = is_causal;
    op->kernels = op->is_gradient ? 2 : 1;
    op->sequence = op->n;
    op->head_dim = op->k;
    op->queries = op->batch * op->m;
    op->pieces = 1;
    op->flops = (op->is_gradient ? 2.5 : 1) * 4 * op->batch * op->m * op->n * op->k * (is_causal ? 0.5 : 1);
    op->bytes =
        (op->is_gradient ? 2 : 1) * op->batch * (2 * op->m + 2 * op->n) * op->k * tsim_operand_bytes(op->precision);
    row->kind = tsim_arena_printf(r->arena, "attention%s", DIRECTION_TEXTS[direction]);
    row->text = tsim_arena_printf(r->arena, "attention %.0f x %.0f x %.0f x %.0f%s", op->batch, op->m, op->n, op->k,
                                  DIRECTION_TEXTS[direction]);
    return TSIM_OK;
}

static enum tsim_status take_memory(const struct reading *r, const char *kind, struct tsim_kernel_row *row) {
    TSIM_TRY(must_be_empty(r, kind, BATCH, K));
    TSIM_TRY(must_be_empty(r, kind, SUM, CAUSAL));
    TSIM_TRY(take_number(r, BYTES, &row->op.bytes));
    row->op.kind = TSIM_OP_ELEMENTWISE;
    row->kind = kind;
    row->text = tsim_arena_printf(r->arena, "%s %.4g bytes", kind, row->op.bytes);
    return TSIM_OK;
}

static enum tsim_status take_sizes(const struct reading *r, struct tsim_op *op) {
    TSIM_TRY(take_number(r, BATCH, &op->batch));
    TSIM_TRY(take_number(r, M, &op->m));
    TSIM_TRY(take_number(r, N, &op->n));
    TSIM_TRY(take_number(r, K, &op->k));
    return take_precision(r, PRECISION, &op->precision);
}

static enum tsim_status take_row(struct reading *r) {
    struct tsim_kernel_row row = {.line = r->line, .op = {.name = "kernel", .kernels = 1, .batch = 1}};
    int kind, direction = FORWARD;
    double time_us, repeats, clock_mhz;
    TSIM_TRY(take_word(r, OP, KINDS, N_KINDS, &kind));
    TSIM_TRY(take_common(r, ACCELERATOR, &r->accelerator));
    TSIM_TRY(take_number(r, TIME, &time_us));
    TSIM_TRY(take_if_said(r, REPEATS, &repeats));
    TSIM_TRY(take_if_said(r, CLOCK, &clock_mhz));
    TSIM_TRY(take_if_said(r, POWER, &row.power_w));
    if (!is_empty(r, DIRECTION))
        TSIM_TRY(take_word(r, DIRECTION, DIRECTIONS, N_DIRECTIONS, &direction));
    row.measured_s = time_us / 1e6;
    row.load_s = repeats * row.measured_s;
    row.clock_hz = clock_mhz * 1e6;
    if (kind == COPY || kind == ELEMENTWISE) {
        TSIM_TRY(take_memory(r, KINDS[kind], &row));
    } else {
        TSIM_TRY(take_sizes(r, &row.op));
        TSIM_TRY(take_common(r, PRECISION, &r->precision));
        TSIM_TRY(kind == ATTENTION ? take_attention(r, direction, &row)
                                   : take_product(r, kind == GROUPED, direction, &row));
    }
    r->rows = tsim_heap_grow(r->rows, &r->capacity, r->n + 1, sizeof *r->rows);
    r->rows[r->n++] = row;
    return TSIM_OK;
}

/* ---- lines ---- */

static enum tsim_status take_header(struct reading *r, char *line) {
    size_t n_first = strlen(HEADER);
    if (tsim_kernel_shares_header(line, &r->share_flops_per_s))
        return take_header(r, tsim_arena_strdup(r->arena, TSIM_KERNEL_SHARES_COLUMNS));
    if (r->given && !(r->share_flops_per_s > 0))
        return refuse(r, 1, "accelerator=%s is said, but the file has a column of its own", r->given);
    if (strncmp(line, HEADER, n_first) != 0 || (line[n_first] != '\0' && line[n_first] != ','))
        return refuse(r, 1, "the columns are neither %s, which others may follow, nor op,shape,share_of_PEAK_tflops",
                      HEADER);
    for (r->n_columns = 0; r->n_columns < N_FIRST; r->n_columns++)
        r->columns[r->n_columns] = (enum column)r->n_columns;
    for (char *name = line[n_first] ? line + n_first + 1 : NULL, *comma; name; name = comma ? comma + 1 : NULL) {
        enum column column = N_FIRST;
        comma = strchr(name, ',');
        if (comma)
            *comma = '\0';
        while (column < N_COLUMNS && strcmp(name, NAMES[column]) != 0)
            column++;
        if (column == N_COLUMNS)
            return refuse(
                r, (int)(name - line) + 1,
                "no column '%s'; direction, sum, kernel, causal, repeats, clock_mhz and power_w may follow %s", name,
                HEADER);
        for (size_t i = N_FIRST; i < r->n_columns; i++)
            if (r->columns[i] == column)
                return refuse(r, (int)(name - line) + 1, "the column '%s' stands here twice", name);
        r->columns[r->n_columns++] = column;
    }
    return TSIM_OK;
}

static enum tsim_status take_line(struct reading *r, char *line) {
    static char empty[] = "";
    size_t n = 0;
    for (int i = 0; i < N_COLUMNS; i++)
        r->fields[i] = empty;
    for (char *field = line; field; n++) {
        char *comma = strchr(field, ',');
        if (n < r->n_columns) {
            r->fields[r->columns[n]] = field;
            r->places[r->columns[n]] = (int)(field - line) + 1;
        }
        if (comma)
            *comma = '\0';
        field = comma ? comma + 1 : NULL;
    }
    if (n != r->n_columns)
        return refuse(r, 1, "%zu columns, not the %zu that the file begins with", n, r->n_columns);
    return take_row(r);
}

/* Finds the accelerator with that peak in 16 bits whose name stands in the file's name or its first line. */
static enum tsim_status name_accelerator(struct reading *r, const char *line) {
    const char *const *ids, *candidates = "";
    size_t n;
    TSIM_TRY(tsim_catalogue_list(r->arena, TSIM_CATALOGUE_ACCELERATORS, &ids, &n, r->diags));
    size_t longest = 0;
    for (size_t i = 0; !r->given && i < n; i++) {
        const struct tsim_accelerator *a;
        TSIM_TRY(tsim_catalogue_load_accelerator(r->arena, ids[i], &a, r->diags));
        if (fabs(a->peak_flops_per_s[TSIM_BF16] / r->share_flops_per_s - 1) > 1e-3)
            continue;
        candidates = tsim_arena_printf(r->arena, "%s%s%s", candidates, candidates[0] ? ", " : "", ids[i]);
        if ((strstr(r->file, ids[i]) || strstr(line, ids[i])) && strlen(ids[i]) > longest) {
            longest = strlen(ids[i]);
            r->accelerator = ids[i];
        }
    }
    if (r->given)
        r->accelerator = r->given;
    return r->accelerator ? TSIM_OK
                          : refuse(r, 1, "the file does not say which accelerator it is (%s): --set accelerator=ID",
                                   candidates[0] ? candidates : "none of the catalogue has such a peak");
}

static enum tsim_status take_share(struct reading *r, const char *line) {
    const struct tsim_accelerator *a;
    const char *text;
    if (!r->accelerator)
        TSIM_TRY(name_accelerator(r, line));
    TSIM_TRY(tsim_catalogue_load_accelerator(r->arena, r->accelerator, &a, r->diags));
    /* Transformer Engine chooses in this way (transformer_engine/pytorch/attention, get_attention_backend). */
    const char *kernel = a->compute_capability >= 9 ? "cudnn" : "flash2";
    switch (tsim_kernel_share_line(r->arena, line, r->share_flops_per_s, r->accelerator, kernel, &text)) {
    case TSIM_SHARE_PASSED_OVER:
        return TSIM_OK;
    case TSIM_SHARE_WRONG:
        return refuse(r, 1, "%s", text);
    case TSIM_SHARE_TAKEN:
        break;
    }
    return take_line(r, tsim_arena_strdup(r->arena, text));
}

/* Skips the rest of a long comment; no row is as long. */
static bool has_whole_line(const char *line, FILE *stream) {
    int c = '\0';
    if (strlen(line) + 1 < LINE_BYTES || line[LINE_BYTES - 2] == '\n')
        return true;
    while (line[0] == '#' && c != '\n' && c != EOF)
        c = fgetc(stream);
    return line[0] == '#';
}

static enum tsim_status read_lines(struct reading *r, FILE *stream) {
    char line[LINE_BYTES];
    for (r->line = 1; fgets(line, sizeof line, stream); r->line++) {
        if (!has_whole_line(line, stream))
            return refuse(r, 0, "a line of more than %d characters", LINE_BYTES - 2);
        line[strcspn(line, "\r\n")] = '\0';
        memcpy(r->text, line, sizeof line);
        if (line[0] == '#' || line[0] == '\0')
            continue;
        TSIM_TRY(r->n_columns == 0          ? take_header(r, line)
                 : r->share_flops_per_s > 0 ? take_share(r, line)
                                            : take_line(r, line));
    }
    if (ferror(stream))
        return cannot_read(r);
    r->line = 0;
    r->text[0] = '\0';
    return r->n > 0 ? TSIM_OK : refuse(r, 0, "there is no kernel in it");
}

enum tsim_status tsim_kernel_rows_read(struct tsim_arena *arena, const char *file, const char *accelerator,
                                       struct tsim_kernel_rows *rows, struct tsim_diags *diags) {
    struct reading r = {.arena = arena, .file = file, .given = accelerator, .diags = diags};
    *rows = (struct tsim_kernel_rows){.precision = TSIM_BF16, .kernel = TSIM_ATTENTION_FLASH2, .flash = TSIM_FLASH2};
    FILE *stream = fopen(file, "r");
    if (!stream)
        return cannot_read(&r);
    enum tsim_status status = read_lines(&r, stream);
    fclose(stream);
    if (status == TSIM_OK) {
        rows->items = TSIM_NEW_ARRAY(arena, r.n, struct tsim_kernel_row);
        rows->n = r.n;
        memcpy(rows->items, r.rows, r.n * sizeof *rows->items);
    }
    tsim_heap_free(r.rows);
    TSIM_TRY(status);
    TSIM_TRY(tsim_catalogue_load_accelerator(arena, r.accelerator, &rows->accelerator, diags));
    for (size_t i = 0; i < rows->n; i++)
        if (rows->items[i].op.kind != TSIM_OP_ELEMENTWISE)
            rows->precision = rows->items[i].op.precision;
    for (size_t i = 0; r.kernel && i < sizeof KERNELS / sizeof KERNELS[0]; i++)
        if (strcmp(KERNELS[i].name, r.kernel) == 0) {
            rows->kernel = KERNELS[i].kernel;
            rows->flash = KERNELS[i].flash;
        }
    if (r.precision && !(rows->accelerator->peak_flops_per_s[rows->precision] > 0))
        return refuse(&r, 0, "%s has no %s", rows->accelerator->name, r.precision);
    return TSIM_OK;
}
