/* hourly.c - a value for each hour: a list of quantities, or a file with one a line. */
#include "base/file_bytes.h"
#include "config/files/catalogue_read.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1000000, MOST_CELL = 80 };

static const struct tsim_key PRICE = {
    .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_USD_PER_J, .help = "price of an hour"};
static const struct tsim_key CARBON = {
    .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_KG_PER_J, .help = "carbon of an hour"};

/* The file's text as it is read: `at` is the line that comes next. */
struct lines {
    const char *file, *at;
    int line, column; /* of the cell that was read last */
    char unit[MOST_CELL];
};

/* ---- a file ---- */

/* Finds the last cell of the next line that is not empty. Returns false at the end. */
static bool next_cell(struct lines *lines, char cell[MOST_CELL]) {
    while (*lines->at) {
        const char *line = lines->at, *begin = line, *end = begin + strcspn(begin, "\r\n");
        lines->at = end + strspn(end, "\r");
        lines->at += *lines->at == '\n';
        lines->line++;
        if (*begin == '#')
            continue;
        for (const char *c = begin; c < end; c++)
            if (*c == ',' || *c == ';' || *c == '\t')
                begin = c + 1;
        while (begin < end && isspace((unsigned char)*begin))
            begin++;
        while (end > begin && isspace((unsigned char)end[-1]))
            end--;
        if (begin == end)
            continue;
        lines->column = (int)(begin - line) + 1;
        snprintf(cell, MOST_CELL, "%.*s", (int)(end - begin), begin);
        return true;
    }
    return false;
}

static struct tsim_place place_of(const struct lines *lines) {
    return (struct tsim_place){.file = lines->file, .line = lines->line, .column = lines->column};
}

static bool read_cell(const struct tsim_reader *reader, const struct lines *lines, const struct tsim_key *key,
                      const char *path, const char *cell, double *value) {
    const struct tsim_place at = place_of(lines);
    char why[160], hint[160], whole[2 * MOST_CELL];
    bool takes_unit = *lines->unit && cell[strspn(cell, "0123456789+-.eE")] == '\0';
    snprintf(whole, sizeof whole, "%s%s%s", cell, takes_unit ? " " : "", takes_unit ? lines->unit : "");
    if (tsim_quantity_parse(whole, key->dimension, false, value, why, hint) != TSIM_OK) {
        tsim_diag_hint(tsim_diags_error(reader->diags, TSIM_ERR_UNIT, at, path, "%s", why),
                       "%s; or the unit in the first line: hour,%s", hint,
                       strchr(tsim_dimension_example(key->dimension), ' ') + 1);
        return false;
    }
    if (*value >= 0)
        return true;
    tsim_diags_error(reader->diags, TSIM_ERR_RANGE, at, path, "an hour below 0: '%s'", cell);
    return false;
}

static bool add_hour(const struct tsim_reader *reader, const struct lines *lines, const char *path, double value,
                     double *values, size_t *n) {
    const struct tsim_place at = place_of(lines);
    if (*n == TSIM_PROFILE_MOST_HOURS) {
        tsim_diags_error(reader->diags, TSIM_ERR_LIMIT, at, path, "more than the %d hours of a year",
                         TSIM_PROFILE_MOST_HOURS);
        return false;
    }
    values[(*n)++] = value;
    return true;
}

/* The first line may be names of columns, of which the last is the unit. */
static void read_lines(const struct tsim_reader *reader, const char *file, const char *text, const struct tsim_key *key,
                       const char *path, struct tsim_hourly *profile) {
    struct lines lines = {.file = file, .at = text};
    double *values = TSIM_NEW_ARRAY(reader->arena, TSIM_PROFILE_MOST_HOURS, double), value;
    size_t n = 0;
    char cell[MOST_CELL];
    bool is_first = true, is_good = true;
    while (is_good && next_cell(&lines, cell)) {
        if (is_first && !strpbrk(cell, "0123456789"))
            snprintf(lines.unit, sizeof lines.unit, "%s", cell);
        else
            is_good =
                read_cell(reader, &lines, key, path, cell, &value) && add_hour(reader, &lines, path, value, values, &n);
        is_first = false;
    }
    if (is_good && n == 0)
        tsim_diags_error(reader->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = file}, path,
                         "no hours: one value a line is expected");
    else if (is_good)
        *profile = (struct tsim_hourly){values, n};
}

static void read_file(const struct tsim_reader *reader, const struct tsim_value *value, const struct tsim_key *key,
                      const char *path, struct tsim_hourly *profile) {
    const char *file = tsim_file_beside(reader->arena, value, value->text);
    struct tsim_file_bytes bytes;
    struct stat info;
    if (tsim_file_stat(file, &info) != 0 || !S_ISREG(info.st_mode)) { /* a pipe would be waited for */
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_REFERENCE, value, path,
                                        "'%.200s' is neither a file nor a list of hours", file),
                       "[0.05 USD/kWh, 0.11 USD/kWh], or a file with one value a line");
        return;
    }
    if (tsim_file_read(reader->arena, file, MOST_BYTES, "one value a line, one line an hour", &bytes, reader->diags) !=
        TSIM_OK)
        return;
    read_lines(reader, file, bytes.text, key, path, profile);
    tsim_heap_free(bytes.text);
}

/* ---- a list ---- */

static void read_list(struct tsim_reader *reader, const struct tsim_value *value, const struct tsim_key *key,
                      const char *path, struct tsim_hourly *profile) {
    bool is_good = true;
    if (value->n_items < 1 || value->n_items > TSIM_PROFILE_MOST_HOURS) {
        tsim_value_error(reader->diags, TSIM_ERR_RANGE, value, path, "%zu hours, but a profile has 1 to %d",
                         value->n_items, TSIM_PROFILE_MOST_HOURS);
        return;
    }
    double *values = TSIM_NEW_ARRAY(reader->arena, value->n_items, double);
    for (size_t i = 0; i < value->n_items; i++)
        is_good &= tsim_schema_read_value(reader, key, value->items[i],
                                          tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &values[i]);
    if (is_good)
        *profile = (struct tsim_hourly){values, value->n_items};
}

static void read_profile(struct tsim_reader *reader, const struct tsim_value *value, const struct tsim_key *key,
                         const char *path, struct tsim_hourly *profile) {
    if (!value)
        return;
    if (value->kind == TSIM_VALUE_SEQUENCE)
        read_list(reader, value, key, path, profile);
    else if (value->kind == TSIM_VALUE_SCALAR)
        read_file(reader, value, key, path, profile);
    else
        tsim_schema_wrong_kind(reader, value, path, "a list of values, one an hour, or a file");
}

void tsim_price_profile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                             void *field) {
    read_profile(reader, value, &PRICE, path, field);
}

void tsim_carbon_profile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                              void *field) {
    read_profile(reader, value, &CARBON, path, field);
}

/* ---- writing ---- */

static void write_profile(struct tsim_writer *writer, const char *key, const struct tsim_hourly *profile,
                          enum tsim_dimension dimension) {
    char text[64];
    if (profile->n_hours == 0)
        return;
    tsim_writer_begin(writer, key, '[');
    for (size_t hour = 0; hour < profile->n_hours; hour++)
        tsim_writer_text(writer, NULL, tsim_quantity_si(profile->values[hour], dimension, text, sizeof text));
    tsim_writer_end(writer, ']');
}

void tsim_price_profile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    (void)path;
    write_profile(writer, key, field, TSIM_USD_PER_J);
}

void tsim_carbon_profile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    (void)path;
    write_profile(writer, key, field, TSIM_KG_PER_J);
}
