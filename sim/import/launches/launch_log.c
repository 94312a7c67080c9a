#include "import/launches/launch_log.h"

#include "config/text/document.h"
#include "import/launches/launch_words.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

struct line {
    const char *text;
    size_t length;
    int number;
};

/* Takes the line behind `line`, or the first one if its text is NULL. Returns false after the last line. */
static bool next_line(const char *text, size_t size, struct line *line) {
    const char *start = line->text ? line->text + line->length + 1 : text;
    if (start >= text + size)
        return false;
    const char *stop = memchr(start, '\n', (size_t)(text + size - start));
    line->text = start;
    line->length = (size_t)((stop ? stop : text + size) - start);
    line->number++;
    return true;
}

/* Returns the text behind the first `word` of the line; NULL: it has none. */
static const char *behind(const struct line *line, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= line->length; i++)
        if (memcmp(line->text + i, word, n) == 0)
            return line->text + i + n;
    return NULL;
}

/* ---- arguments ---- */

/* Returns whether the line is "------------------------ arguments ------------------------". */
static bool is_rule(const struct line *line, const char *words) {
    const char *found = behind(line, words);
    return found && found - line->text > (ptrdiff_t)strlen(words) + 3 &&
           memcmp(found - strlen(words) - 4, "----", 4) == 0 && line->text + line->length - found >= 4 &&
           memcmp(found, "----", 4) == 0;
}

static bool find_rule(const char *text, size_t size, struct line *line) {
    *line = (struct line){NULL, 0, 0};
    while (next_line(text, size, line))
        if (is_rule(line, " arguments "))
            return true;
    return false;
}

bool tsim_log_has_arguments(const char *text, size_t size) {
    struct line line;
    return find_rule(text, size, &line);
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the place of " ......... " behind a name, or NULL if the line is no argument or its name leaves no room for
 * dots. */
static const char *dots_of(const struct line *line) {
    for (size_t i = 1; i + 2 < line->length; i++) {
        size_t end = i + 1;
        if (line->text[i] != ' ' || line->text[i + 1] != '.' || !is_name(line->text[i - 1]))
            continue;
        while (end < line->length && line->text[end] == '.')
            end++;
        if (end == line->length || line->text[end] == ' ')
            return line->text + i;
    }
    return NULL;
}

/* Returns bf16 for torch.bfloat16, flash for AttnBackend.flash, p2p for 'p2p'. */
static const char *plain_value(struct tsim_arena *arena, const char *text, size_t length) {
    while (length > 0 && strchr(" '\"", text[0]))
        text++, length--;
    while (length > 0 && strchr(" '\"\r", text[length - 1]))
        length--;
    const char *value = tsim_arena_strndup(arena, text, length);
    const char *type = tsim_launch_ours(tsim_torch_types, value), *dot = strchr(value, '.');
    if (type)
        return type;
    size_t n = dot ? strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") : 0;
    return dot && n == (size_t)(dot - value) && isupper((unsigned char)value[0]) ? dot + 1 : value;
}

/* Returns the value of ['a', 'b'], or a single value. */
static const struct tsim_value *value_of(struct tsim_recipe *r, const struct line *line, const char *text) {
    enum { MOST_ITEMS = 512 };
    size_t length = (size_t)(line->text + line->length - text);
    const int column = (int)(text - line->text) + 1;
    while (length > 0 && strchr(" \r", text[length - 1]))
        length--;
    if (length < 2 || text[0] != '[' || text[length - 1] != ']')
        return tsim_recipe_scalar(r, line->number, column, plain_value(r->arena, text, length));
    const struct tsim_value **items = TSIM_NEW_ARRAY(r->arena, MOST_ITEMS, const struct tsim_value *);
    size_t n = 0;
    for (const char *c = text + 1, *end = text + length - 1; c < end && n < MOST_ITEMS;) {
        const char *comma = memchr(c, ',', (size_t)(end - c)), *stop = comma ? comma : end;
        items[n++] = tsim_recipe_scalar(r, line->number, column, plain_value(r->arena, c, (size_t)(stop - c)));
        c = stop + 1;
    }
    return tsim_value_new_list(r->arena, tsim_recipe_scalar(r, line->number, column, ""), items, n);
}

bool tsim_log_add_arguments(struct tsim_recipe *r) {
    const char *text = r->document->text;
    const size_t size = r->document->size;
    struct line line;
    if (!find_rule(text, size, &line))
        return false;
    while (next_line(text, size, &line) && !is_rule(&line, "end of arguments ")) {
        const char *dots = dots_of(&line), *name = dots;
        if (!dots)
            continue;
        while (name > line.text && is_name(name[-1]))
            name--;
        const char *value = dots + 1;
        while (value < line.text + line.length && *value == '.')
            value++;
        value += value < line.text + line.length;
        const char *key = tsim_arena_strndup(r->arena, name, (size_t)(dots - name));
        tsim_recipe_add(r, key, key, value_of(r, &line, value));
    }
    return true;
}

/* ---- a configuration as JSON ---- */

/* Returns the number of characters in front of a log's own text: "[rank0]:", "[default3]:", "12: ". */
static size_t prefix_length(const struct line *line) {
    size_t n = 0;
    if (line->length > 0 && line->text[0] == '[') {
        while (n < line->length && line->text[n] != ']')
            n++;
        return n + 1 < line->length && line->text[n + 1] == ':' ? n + 2 : 0;
    }
    while (n < line->length && isdigit((unsigned char)line->text[n]))
        n++;
    return n > 0 && n < line->length && line->text[n] == ':' ? n + 1 : 0;
}

const struct tsim_value *tsim_log_json(struct tsim_recipe *r, const char *announcement) {
    const char *text = r->document->text, *open = NULL;
    const size_t size = r->document->size;
    struct line line = {NULL, 0, 0};
    while (!open && next_line(text, size, &line)) {
        open = behind(&line, announcement);
        open = open && open < line.text + line.length && *open == '{' ? open : NULL;
    }
    if (!open)
        return NULL;
    /* The same number of lines in front, so that places are those of the log. */
    char *out = tsim_arena_alloc(r->arena, size + (size_t)line.number + 2);
    size_t used = 0;
    int depth = 0;
    bool in_quotes = false, is_over = false;
    for (int i = 1; i < line.number; i++)
        out[used++] = '\n';
    const char *from = open;
    do {
        const char *end = line.text + line.length;
        if (from != open)
            from = line.text + prefix_length(&line);
        for (; from < end && !is_over; from++) {
            in_quotes ^= *from == '"' && from[-1] != '\\';
            depth += !in_quotes && *from == '{';
            depth -= !in_quotes && *from == '}';
            is_over = depth == 0;
            out[used++] = *from;
        }
        out[used++] = '\n';
        from = NULL;
    } while (!is_over && next_line(text, size, &line));
    const struct tsim_value *root = NULL;
    if (tsim_document_parse_wide(r->arena, r->document->file, out, used, &root, r->diags) != TSIM_OK)
        return NULL;
    return root;
}

enum tsim_status tsim_log_yaml(struct tsim_recipe *r, const char *title, const struct tsim_value **root) {
    const char *text = r->document->text;
    const size_t size = r->document->size;
    struct line line = {NULL, 0, 0};
    bool is_found = false;
    while (!is_found && next_line(text, size, &line))
        is_found = behind(&line, title) != NULL;
    if (!is_found)
        return tsim_document_parse_wide(r->arena, r->document->file, text, size, root, r->diags);
    char *out = tsim_arena_alloc(r->arena, size + (size_t)line.number + 2);
    size_t used = 0;
    for (int i = 0; i < line.number; i++)
        out[used++] = '\n';
    while (next_line(text, size, &line)) {
        size_t prefix = prefix_length(&line), length = line.length - prefix;
        if (length >= 4 && memcmp(line.text + prefix, "----", 4) == 0)
            break;
        memcpy(out + used, line.text + prefix, length);
        used += length;
        out[used++] = '\n';
    }
    return tsim_document_parse_wide(r->arena, r->document->file, out, used, root, r->diags);
}

/* ---- how long steps take ---- */

static double number_at(const char *text, const char *end) {
    char digits[32];
    size_t n = 0;
    while (text + 1 < end && (*text == ' ' || (*text == '.' && strchr(". ", text[1]))))
        text++;
    for (; text < end && n + 1 < sizeof digits && (isdigit((unsigned char)*text) || strchr(".,eE+-", *text)); text++)
        if (*text != ',')
            digits[n++] = *text;
    digits[n] = '\0';
    char *stop;
    double value = strtod(digits, &stop);
    return stop > digits && isfinite(value) ? value : -1;
}

static double labelled(const struct line *line, const char *label) {
    const char *text = behind(line, label);
    return text ? number_at(text, line->text + line->length) : -1;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool tsim_log_series(const char *text, size_t size, const char *label, const char *same,
                     struct tsim_log_series *series) {
    double *values = NULL, kept = -1;
    size_t capacity = 0, n = 0;
    struct line line = {NULL, 0, 0};
    *series = (struct tsim_log_series){0};
    while (next_line(text, size, &line)) {
        double value = labelled(&line, label), group = same ? labelled(&line, same) : kept;
        if (value <= 0)
            continue;
        if (group != kept) /* times before it belong to another batch */
            n = 0;
        kept = group;
        series->line = n == 0 ? line.number : series->line;
        values = tsim_heap_grow(values, &capacity, n + 1, sizeof *values);
        values[n++] = value;
    }
    if (n == 0)
        return false;
    size_t skipped = n > 2 ? n / 10 : 0;
    skipped = n > 2 && skipped < 1 ? 1 : skipped > 10 ? 10 : skipped;
    series->n_warmup = skipped;
    series->n = n - skipped;
    qsort(values + skipped, series->n, sizeof *values, by_size);
    const double *sorted = values + skipped;
    size_t half = series->n / 2;
    series->median = series->n % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    series->low = sorted[series->n / 4];
    series->high = sorted[series->n - 1 - series->n / 4];
    tsim_heap_free(values);
    return true;
}

double tsim_log_mesh(const char *text, size_t size) {
    struct line line = {NULL, 0, 0};
    while (next_line(text, size, &line)) {
        const char *names = behind(&line, "device mesh with ["), *end = line.text + line.length, *c = names;
        double ranks = 1;
        while (c && c < end && *c != '[')
            c++;
        if (!c || c == end)
            continue;
        for (c++; c < end && *c != ']'; c++)
            if (isdigit((unsigned char)*c) && !isdigit((unsigned char)c[-1]))
                ranks *= number_at(c, end);
        if (ranks >= 1 && ranks <= 1e6)
            return ranks;
    }
    return 0;
}

double tsim_log_largest(const char *text, size_t size, const char *label) {
    struct line line = {NULL, 0, 0};
    double largest = 0;
    while (next_line(text, size, &line)) {
        double value = labelled(&line, label);
        largest = value > largest ? value : largest;
    }
    return largest;
}

/* torchtitan has called its tokens a second of one device wps before. */
const struct tsim_log_rate TSIM_LOG_MEGATRON = {"elapsed time per iteration (ms): ", "global batch size: ", "step_time",
                                                "s", 1e-3},
                           TSIM_LOG_DEEPSPEED = {"CurrSamplesPerSec=", NULL, "samples_per_s", "", 1},
                           TSIM_LOG_TORCHTITAN[2] = {{"  tps: ", NULL, "tokens_per_s_per_gpu", "", 1},
                                                     {"  wps: ", NULL, "tokens_per_s_per_gpu", "", 1}},
                           TSIM_LOG_MAXTEXT = {", seconds: ", NULL, "step_time", "s", 1};

static const char *median_text(struct tsim_arena *arena, const struct tsim_log_rate *rate,
                               const struct tsim_log_series *series) {
    return tsim_arena_printf(arena, "%.6g%s%s", series->median * rate->scale, *rate->unit ? " " : "", rate->unit);
}

static const char *spread_text(struct tsim_arena *arena, const struct tsim_log_rate *rate,
                               const struct tsim_log_series *series) {
    return tsim_arena_printf(arena, "the median of %zu steps after %zu of warm-up; the middle half is %.4g to %.4g%s%s",
                             series->n, series->n_warmup, series->low * rate->scale, series->high * rate->scale,
                             *rate->unit ? " " : "", rate->unit);
}

bool tsim_import_log_measured(struct tsim_arena *arena, const char *text, size_t size, struct tsim_override *measured,
                              const char **spread) {
    const struct tsim_log_rate *const RATES[] = {&TSIM_LOG_MEGATRON, &TSIM_LOG_DEEPSPEED, &TSIM_LOG_TORCHTITAN[0],
                                                 &TSIM_LOG_TORCHTITAN[1], &TSIM_LOG_MAXTEXT};
    for (size_t i = 0; i < sizeof RATES / sizeof RATES[0]; i++) {
        struct tsim_log_series series;
        if (!tsim_log_series(text, size, RATES[i]->label, RATES[i]->same, &series))
            continue;
        measured->path = tsim_arena_printf(arena, "measured.%s", RATES[i]->key);
        measured->value = median_text(arena, RATES[i], &series);
        *spread = spread_text(arena, RATES[i], &series);
        return true;
    }
    return false;
}

void tsim_log_put_measured(struct tsim_recipe *r, const struct tsim_log_rate *rate,
                           const struct tsim_log_series *series) {
    const char *slash = strrchr(r->document->file, '/');
    const char *key = tsim_arena_printf(r->arena, "measured.%s", rate->key);
    const struct tsim_setting from = {.name = "steps", .value = tsim_recipe_scalar(r, series->line, 1, "")};
    tsim_recipe_put(r, "measured.source", NULL, NULL, "%s", slash ? slash + 1 : r->document->file);
    tsim_recipe_put(r, key, &from, tsim_arena_printf(r->arena, "median of %zu", series->n), "%s",
                    median_text(r->arena, rate, series));
    tsim_recipe_note(r, key, from.value, spread_text(r->arena, rate, series));
}
