/* Prints what nccl-tests would on the scenario's cluster: one collective alone, by size. */
#include "cli/command.h"

#include "network/traffic.h"
#include "report/terminal/table.h"

#include <string.h>
#include <strings.h>

#define DEFAULT_SMALLEST_BYTES 1024.0
#define DEFAULT_LARGEST_BYTES (8.0 * 1024 * 1024 * 1024)

enum { MOST_ROWS = 64 };

struct row {
    double bytes;
    struct tsim_collective_cost cost;
};

struct collective {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_collective_request request;
    double smallest_bytes, largest_bytes;
    struct row rows[MOST_ROWS];
    size_t n_rows;
};

static const struct tsim_column COLUMNS[] = {
    {"op", false},   {"size", true},  {"ranks", true},      {"time", true},
    {"algbw", true}, {"busbw", true}, {"algorithm", false}, {"protocol", false},
};
static const struct tsim_column CSV_COLUMNS[] = {
    {"op", false},
    {"bytes", true},
    {"ranks", true},
    {"time_s", true},
    {"algbw_bytes_per_s", true},
    {"busbw_bytes_per_s", true},
    {"algorithm", false},
    {"protocol", false},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0] };

__attribute__((format(printf, 1, 2))) static enum tsim_exit complain(const char *format, ...) {
    va_list args;
    fputs("tsim collective: ", tsim_messages());
    va_start(args, format);
    vfprintf(tsim_messages(), format, args);
    va_end(args);
    fputs("\nTry 'tsim collective --help'.\n", tsim_messages());
    return TSIM_EXIT_USAGE;
}

/* ---- options ---- */

/* Returns the index of `word` among n names, or -1 after a message that lists them. */
static int find_word(const char *option, const char *word, const char *(*name)(int), int n) {
    const char *names[16];
    for (int i = 0; i < n; i++) {
        names[i] = name(i);
        if (strcasecmp(word, names[i]) == 0)
            return i;
    }
    char what[64];
    snprintf(what, sizeof what, "tsim collective: --%s: unknown", option);
    tsim_say_unknown(what, word, names, (size_t)n);
    fputs("  one of", tsim_messages());
    for (int i = 0; i < n; i++)
        fprintf(tsim_messages(), " %s", names[i]);
    fputc('\n', tsim_messages());
    return -1;
}

static const char *op_name(int i) {
    return tsim_collective_op_name((enum tsim_collective_op)i);
}
static const char *algorithm_name(int i) {
    return tsim_algorithm_name((enum tsim_algorithm)i);
}
static const char *protocol_name(int i) {
    return tsim_protocol_name((enum tsim_protocol)i);
}

static bool read_words(struct collective *c) {
    const char *const *value = c->arguments->value;
    int op = TSIM_ALL_REDUCE, algorithm = TSIM_ALGORITHM_AUTO, protocol = TSIM_PROTOCOL_AUTO;
    if (value[TSIM_OPTION_OP])
        op = find_word("op", value[TSIM_OPTION_OP], op_name, TSIM_N_COLLECTIVE_OPS);
    if (value[TSIM_OPTION_ALGORITHM])
        algorithm = find_word("algorithm", value[TSIM_OPTION_ALGORITHM], algorithm_name, TSIM_N_ALGORITHMS);
    if (value[TSIM_OPTION_PROTOCOL])
        protocol = find_word("protocol", value[TSIM_OPTION_PROTOCOL], protocol_name, TSIM_N_PROTOCOLS);
    c->request.op = (enum tsim_collective_op)op;
    c->request.algorithm = (enum tsim_algorithm)algorithm;
    c->request.protocol = (enum tsim_protocol)protocol;
    return op >= 0 && algorithm >= 0 && protocol >= 0;
}

/* Reads "1KiB:8GiB", or one size. */
static bool read_sizes(struct collective *c) {
    const char *text = c->arguments->value[TSIM_OPTION_SIZES];
    char why[160], hint[160];
    c->smallest_bytes = DEFAULT_SMALLEST_BYTES;
    c->largest_bytes = DEFAULT_LARGEST_BYTES;
    if (!text)
        return true;
    const char *colon = strchr(text, ':');
    const char *first = colon ? tsim_arena_strndup(c->arena, text, (size_t)(colon - text)) : text;
    const char *last = colon ? colon + 1 : text;
    if (tsim_quantity_parse(first, TSIM_BYTES, true, &c->smallest_bytes, why, hint) != TSIM_OK ||
        tsim_quantity_parse(last, TSIM_BYTES, true, &c->largest_bytes, why, hint) != TSIM_OK) {
        complain("--sizes: %s; as in --sizes 1KiB:8GiB", why);
        return false;
    }
    if (!(c->smallest_bytes >= 1) || !(c->largest_bytes >= c->smallest_bytes) || c->largest_bytes > 1e15) {
        complain("--sizes needs 1 B <= smallest <= largest <= 1 PB, not '%s'", text);
        return false;
    }
    return true;
}

/* Chooses the first N accelerators, node after node, as nccl-tests starts them. */
static enum tsim_exit choose_group(struct collective *c, const struct tsim_scenario *scenario) {
    const char *text = c->arguments->value[TSIM_OPTION_RANKS];
    double ranks = (double)scenario->n_accelerators;
    char why[160], hint[160];
    if (text && tsim_quantity_parse(text, TSIM_COUNT, true, &ranks, why, hint) != TSIM_OK)
        return complain("--ranks: %s", why);
    if (!(ranks >= 1) || ranks > (double)scenario->n_accelerators || (double)(int64_t)ranks != ranks)
        return complain("--ranks needs a whole number from 1 to the cluster's %lld accelerators, not '%s'",
                        (long long)scenario->n_accelerators, text ? text : "");
    int32_t n = (int32_t)ranks, per_node = (int32_t)scenario->cluster.accelerators_per_node;
    int32_t nodes = (n + per_node - 1) / per_node, rest = n - (nodes - 1) * per_node;
    c->request.group = (struct tsim_group){
        .n_ranks = n, .n_nodes = nodes, .max_ranks_per_node = nodes > 1 ? per_node : n, .min_ranks_per_node = rest};
    return TSIM_EXIT_OK;
}

/* ---- rows ---- */

static double algorithm_bandwidth(const struct row *row) {
    return row->cost.time_s > 0 ? row->bytes / row->cost.time_s : 0;
}

static enum tsim_status compute_rows(struct collective *c, const struct tsim_topology *topology) {
    enum tsim_status status = TSIM_OK;
    int32_t n = c->request.group.n_ranks, *ranks = TSIM_NEW_ARRAY(c->arena, (size_t)n, int32_t);
    for (int32_t i = 0; i < n; i++)
        ranks[i] = i;
    for (double bytes = c->smallest_bytes; bytes <= c->largest_bytes && c->n_rows < MOST_ROWS && status == TSIM_OK;
         bytes *= 2) {
        struct row *row = &c->rows[c->n_rows++];
        row->bytes = c->request.bytes = bytes;
        status = tsim_collective_alone(topology, ranks, n, &c->request, &row->cost, NULL, c->diags);
    }
    return status;
}

static void add_row(struct tsim_text_table *table, const struct collective *c, const struct row *row, bool is_csv) {
    char text[64];
    const double values[] = {row->bytes, c->request.group.n_ranks, row->cost.time_s, algorithm_bandwidth(row),
                             row->cost.bus_bandwidth_bytes_per_s};
    static const enum tsim_dimension DIMENSIONS[] = {TSIM_BYTES, TSIM_COUNT, TSIM_TIME_S, TSIM_BYTES_PER_S,
                                                     TSIM_BYTES_PER_S};
    tsim_text_table_add(table, tsim_collective_op_name(c->request.op));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        tsim_text_table_add(table, is_csv || i == 1 ? tsim_double_text(values[i], text, sizeof text)
                                                    : tsim_quantity_human(values[i], DIMENSIONS[i], text, sizeof text));
    tsim_text_table_add(table, tsim_algorithm_name(row->cost.algorithm));
    tsim_text_table_add(table, tsim_protocol_name(row->cost.protocol));
}

static void print_rows(struct collective *c) {
    bool is_csv = c->arguments->has[TSIM_OPTION_CSV];
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, c->arena, is_csv ? CSV_COLUMNS : COLUMNS, N_COLUMNS);
    for (size_t i = 0; i < c->n_rows; i++)
        add_row(&table, c, &c->rows[i], is_csv);
    if (is_csv)
        tsim_text_table_print_csv(&table, stdout);
    else
        tsim_text_table_print(&table, &style, stdout);
}

static struct tsim_json *rows_json(const struct collective *c) {
    struct tsim_json *root = tsim_json_new_object(), *list = tsim_json_array(root, "rows");
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct row *row = &c->rows[i];
        struct tsim_json *item = tsim_json_object(list, NULL);
        tsim_json_text(item, "op", tsim_collective_op_name(c->request.op));
        tsim_json_number(item, "bytes", row->bytes);
        tsim_json_integer(item, "ranks", c->request.group.n_ranks);
        tsim_json_number(item, "time_s", row->cost.time_s);
        tsim_json_number(item, "algbw_bytes_per_s", algorithm_bandwidth(row));
        tsim_json_number(item, "busbw_bytes_per_s", row->cost.bus_bandwidth_bytes_per_s);
        tsim_json_text(item, "algorithm", tsim_algorithm_name(row->cost.algorithm));
        tsim_json_text(item, "protocol", tsim_protocol_name(row->cost.protocol));
    }
    return root;
}

/* ---- the command ---- */

static enum tsim_exit compute(struct collective *c) {
    const struct tsim_arguments *arguments = c->arguments;
    const struct tsim_scenario *scenario;
    if (!read_words(c) || !read_sizes(c))
        return TSIM_EXIT_USAGE;
    enum tsim_status status = tsim_scenario_load(c->arena, arguments->operands[0], arguments->overrides,
                                                 arguments->n_overrides, &scenario, c->diags);
    tsim_report_diags(arguments, c->diags);
    if (status != TSIM_OK)
        return tsim_exit_of(status);
    enum tsim_exit exit_status = choose_group(c, scenario);
    if (exit_status != TSIM_EXIT_OK)
        return exit_status;
    const struct tsim_cluster *cluster = tsim_cluster_build(c->arena, scenario);
    c->request.network = scenario->simulation.network;
    if (!tsim_collective_can(cluster, c->request.op, &c->request.group, c->request.algorithm))
        return complain("%s cannot run %s over %d ranks on %d nodes of %s", tsim_algorithm_name(c->request.algorithm),
                        tsim_collective_op_name(c->request.op), c->request.group.n_ranks, c->request.group.n_nodes,
                        cluster->node->name);
    status = compute_rows(c, tsim_topology_build(c->arena, scenario, cluster));
    if (status != TSIM_OK)
        tsim_report_diags(arguments, c->diags);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_cmd_collective(const struct tsim_arguments *arguments) {
    struct collective c = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit status = compute(&c);
    if (status == TSIM_EXIT_OK && !tsim_is_json_on_stdout(arguments))
        print_rows(&c);
    if (status == TSIM_EXIT_OK && arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(arguments, rows_json(&c));
    return status != TSIM_EXIT_OK ? status : tsim_flush_results();
}
