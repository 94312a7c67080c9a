#include "study/judge/nccl_tests.h"

#include "config/text/document.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4096, MOST_HOSTS = 4096, LINE_BYTES = 1024 };

struct reading {
    struct tsim_arena *arena;
    const char *file;
    struct tsim_diags *diags;
    struct tsim_nccl_run *run;
    struct tsim_nccl_row rows[MOST_ROWS];
    size_t n_rows;
    const char *hosts[MOST_HOSTS];
    size_t n_hosts;
    bool has_op, has_redop, has_root;
    int other_line; /* the line at which another collective begins behind the first one's rows; 0: none */
    bool has_late;  /* a row for which there is no room, at that line */
    int late_line;
    double bus_over_alg; /* of the largest row; 0: not told */
    double most_bytes;
};

static enum tsim_status fail(const struct reading *g, enum tsim_status status, int line, const char *message,
                             const char *hint) {
    struct tsim_place place = {.file = g->file, .line = line, .column = line ? 1 : 0};
    tsim_diag_hint(tsim_diags_error(g->diags, status, place, "", "%s", message), "%s", hint);
    return status;
}

/* ---- what was measured ---- */

static const struct {
    const char *name;
    enum tsim_collective_op op;
} PROGRAMS[] = {
    {"all_reduce", TSIM_ALL_REDUCE}, {"all_gather", TSIM_ALL_GATHER}, {"reduce_scatter", TSIM_REDUCE_SCATTER},
    {"alltoall", TSIM_ALL_TO_ALL},   {"all_to_all", TSIM_ALL_TO_ALL}, {"broadcast", TSIM_BROADCAST},
    {"sendrecv", TSIM_SEND_RECV}};

static void find_op(struct reading *g, const char *text, int line) {
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof PROGRAMS[0]; i++) {
        if (!strstr(text, PROGRAMS[i].name))
            continue;
        if (!g->has_op)
            g->run->op = PROGRAMS[i].op;
        else if (PROGRAMS[i].op != g->run->op && g->n_rows > 0 && g->other_line == 0)
            g->other_line = line;
        g->has_op = true;
        return;
    }
}

static void add_rank(struct reading *g, int rank, const char *host, const char *device) {
    size_t i = 0;
    while (i < g->n_hosts && strcmp(g->hosts[i], host) != 0)
        i++;
    if (i == g->n_hosts && i < MOST_HOSTS)
        g->hosts[g->n_hosts++] = tsim_arena_strdup(g->arena, host);
    if (rank >= 0 && rank < 1000000 && rank + 1 > g->run->n_ranks)
        g->run->n_ranks = rank + 1;
    if (!g->run->device)
        g->run->device = tsim_arena_strdup(g->arena, device);
}

static void add_row(struct reading *g, int line, double bytes, double time_us, double alg, double bus) {
    if (!(bytes > 0) || !(time_us > 0) || !isfinite(bytes) || !isfinite(time_us))
        return;
    if (g->n_rows == MOST_ROWS) {
        g->late_line = g->has_late ? g->late_line : line;
        g->has_late = true;
        return;
    }
    g->rows[g->n_rows++] = (struct tsim_nccl_row){g->file, line, bytes, 1e-6 * time_us};
    if (bytes > g->most_bytes && alg > 0 && bus > 0) {
        g->most_bytes = bytes;
        g->bus_over_alg = bus / alg;
    }
}

/* ---- the table ---- */

static bool number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

/* Returns the line behind the label "[1,0]<stdout>:" of mpirun or "0: " of srun. */
static char *without_label(char *line) {
    char *label = strstr(line, "<stdout>:");
    if (label)
        return label + 9;
    size_t digits = strspn(line, " 0123456789");
    return digits > 0 && line[digits] == ':' ? line + digits + 1 : line;
}

/* Takes "#  Rank  0 Group  0 Pid 204199 on  host device  0 [0x1b] NVIDIA ...". */
static void take_rank(struct reading *g, const char *line) {
    char host[256], device[256] = "";
    int rank;
    const char *on = strstr(line, " on "), *bracket = strchr(line, ']');
    if (!on || sscanf(line, " # Rank %d", &rank) != 1 || sscanf(on, " on %255s", host) != 1)
        return;
    if (bracket && sscanf(bracket, "] %255[^\r\n]", device) != 1)
        device[0] = '\0';
    add_rank(g, rank, host, device);
}

static void take_comment(struct reading *g, const char *line, int at) {
    if (strstr(line, "Rank") && strstr(line, "device"))
        take_rank(g, line);
    if (strstr(line, "_perf"))
        find_op(g, line, at);
    if (strstr(line, "size") && strstr(line, "count") && strstr(line, "time")) {
        g->has_redop = strstr(line, "redop") != NULL;
        g->has_root = strstr(line, "root") != NULL;
    }
}

/* Takes the columns size count type [redop] [root] time algbw busbw ... */
static void take_row(struct reading *g, char *line, int at) {
    enum { MOST = 12 };
    char *tokens[MOST], *rest = line;
    size_t n = 0, first = 3;
    for (char *token = strtok_r(rest, " \t\r\n", &rest); token && n < MOST; token = strtok_r(NULL, " \t\r\n", &rest))
        tokens[n++] = token;
    double bytes, count, time_us, alg, bus;
    if (n < 6 || !number(tokens[0], &bytes) || !number(tokens[1], &count) || !isalpha((unsigned char)tokens[2][0]))
        return;
    first += g->has_redop;
    first += g->has_root;
    if (first + 2 < n && number(tokens[first], &time_us) && number(tokens[first + 1], &alg) &&
        number(tokens[first + 2], &bus))
        add_row(g, at, bytes, time_us, alg, bus);
}

static void read_table(struct reading *g, const char *text, size_t size) {
    const char *c = text, *end = text + size;
    for (int at = 1; c < end; at++) {
        char line[LINE_BYTES];
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        size_t length = (size_t)((stop ? stop : end) - c);
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, c, kept);
        line[kept] = '\0';
        char *start = without_label(line);
        start += strspn(start, " \t");
        if (*start == '#')
            take_comment(g, start, at);
        else if (isdigit((unsigned char)*start))
            take_row(g, start, at);
        else if (strstr(start, "_perf"))
            find_op(g, start, at); /* the command, if the log holds it */
        c = stop ? stop + 1 : end;
    }
}

/* ---- JSON ---- */

static double number_at(const struct tsim_value *mapping, const char *key) {
    const struct tsim_value *value =
        mapping && mapping->kind == TSIM_VALUE_MAPPING ? tsim_value_find(mapping, key) : NULL;
    double number_of = 0;
    return value && value->kind == TSIM_VALUE_SCALAR && number(value->text, &number_of) ? number_of : 0;
}

static const char *text_at(const struct tsim_value *mapping, const char *key) {
    const struct tsim_value *value = tsim_value_find(mapping, key);
    return value && value->kind == TSIM_VALUE_SCALAR ? value->text : "";
}

static void take_result(struct reading *g, const struct tsim_value *item) {
    const struct tsim_value *body = tsim_value_find(item, "out_of_place");
    if (!body || body->kind != TSIM_VALUE_MAPPING)
        body = tsim_value_find(item, "in_place");
    if (!body || body->kind != TSIM_VALUE_MAPPING)
        return;
    add_row(g, item->line, number_at(item, "size"), number_at(body, "time"), number_at(body, "alg_bw"),
            number_at(body, "bus_bw"));
}

/* Results and devices, wherever they stand: the writer's versions differ. */
static void walk(struct reading *g, const struct tsim_value *value) {
    if (value->kind == TSIM_VALUE_SCALAR) {
        if (strstr(value->text, "_perf"))
            find_op(g, value->text, value->line);
        return;
    }
    bool is_mapping = value->kind == TSIM_VALUE_MAPPING;
    if (is_mapping && tsim_value_find(value, "size") &&
        (tsim_value_find(value, "out_of_place") || tsim_value_find(value, "in_place"))) {
        take_result(g, value);
        return;
    }
    if (is_mapping && tsim_value_find(value, "hostname") && tsim_value_find(value, "rank"))
        add_rank(g, (int)number_at(value, "rank"), text_at(value, "hostname"), text_at(value, "device_info"));
    for (size_t i = 0; i < value->n_items; i++)
        walk(g, is_mapping ? value->pairs[i].value : value->items[i]);
}

/* ---- the whole ---- */

/* The ratio of bus bandwidth to algorithm bandwidth is 2 (n - 1) / n for an all-reduce, and (n - 1) / n for other
 * collectives. */
static int32_t ranks_of_ratio(const struct reading *g) {
    double ratio = g->bus_over_alg, passes = g->run->op == TSIM_ALL_REDUCE ? 2 : 1;
    if (ratio <= 0 || ratio >= passes * 0.999 || g->run->op == TSIM_BROADCAST || g->run->op == TSIM_SEND_RECV)
        return 0;
    return (int32_t)lround(passes / (passes - ratio));
}

static enum tsim_status complete(struct reading *g, const struct tsim_nccl_hints *hints) {
    const char *slash = strrchr(g->file, '/');
    if (hints->has_op)
        g->run->op = hints->op;
    g->has_op |= hints->has_op;
    if (!g->has_op)
        find_op(g, slash ? slash + 1 : g->file, 0);
    if (g->n_rows == 0)
        return fail(g, TSIM_ERR_SCHEMA, 0, "there is no measured size in it",
                    "the table or the JSON that nccl-tests writes");
    if (g->other_line > 0)
        return fail(g, TSIM_ERR_SCHEMA, g->other_line, "another collective behind the first one's sizes",
                    "a file for each run of nccl-tests");
    if (g->has_late)
        return fail(g, TSIM_ERR_SCHEMA, g->late_line, "more than 4,096 measured sizes", "several files, each of fewer");
    if (!g->has_op)
        return fail(g, TSIM_ERR_SCHEMA, 0, "the name of the collective is missing",
                    "--op all_reduce, or as the case is");
    if (hints->n_ranks > 0)
        g->run->n_ranks = hints->n_ranks;
    if (g->run->n_ranks == 0)
        g->run->n_ranks = ranks_of_ratio(g);
    if (g->run->n_ranks < 2)
        return fail(g, TSIM_ERR_SCHEMA, 0, "the number of ranks is missing", "--ranks N");
    g->run->n_nodes = (int32_t)g->n_hosts;
    g->run->rows = TSIM_NEW_ARRAY(g->arena, g->n_rows, struct tsim_nccl_row);
    memcpy(g->run->rows, g->rows, g->n_rows * sizeof *g->rows);
    g->run->n_rows = g->n_rows;
    return TSIM_OK;
}

enum tsim_status tsim_nccl_tests_read(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                      const struct tsim_nccl_hints *hints, struct tsim_nccl_run *run,
                                      struct tsim_diags *diags) {
    struct tsim_nccl_run found = {.device = NULL};
    struct reading *g = TSIM_NEW(arena, struct reading);
    *g = (struct reading){.arena = arena,
                          .file = tsim_arena_strdup(arena, file),
                          .diags = diags,
                          .run = &found,
                          .has_redop = true,
                          .has_root = true};
    if (size > TSIM_NCCL_TESTS_MAX_BYTES)
        return fail(g, TSIM_ERR_LIMIT, 0, "the file is larger than 4 MB", "one run of nccl-tests takes some kilobytes");
    size_t blank = 0;
    while (blank < size && isspace((unsigned char)text[blank]))
        blank++;
    if (blank < size && text[blank] == '{') {
        const struct tsim_value *root;
        TSIM_TRY(tsim_document_parse(arena, file, text, size, &root, diags));
        walk(g, root);
    } else {
        read_table(g, text, size);
    }
    TSIM_TRY(complete(g, hints));
    *run = found;
    return TSIM_OK;
}
