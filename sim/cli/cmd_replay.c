/* Execution traces on a cluster: step/replay/replay.h. */
#include "cli/command.h"

#include "base/version.h"
#include "config/replay_spec.h"
#include "config/text/document.h"
#include "import/traces/chakra_file.h"
#include "report/terminal/figures.h"
#include "results/format.h"
#include "step/replay/replay.h"

#include <math.h>
#include <stdlib.h>

struct replay {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_replay_spec *spec;
    struct tsim_history *executions;
    struct tsim_history_group *groups;
    int32_t n_groups;
    struct tsim_replay_result result;
};

/* ---- input ---- */

static enum tsim_status bad_groups(struct replay *r, const struct tsim_value *at) {
    tsim_diag_hint(tsim_value_error(r->diags, TSIM_ERR_SCHEMA, at, "", "not a list of ranks"),
                   "as ASTRA-sim's groups of communicators: {\"1\": [0, 1], \"2\": [2, 3]}");
    return TSIM_ERR_SCHEMA;
}

static enum tsim_status read_group(struct replay *r, const struct tsim_pair *pair) {
    struct tsim_history_group *group = &r->groups[r->n_groups];
    int32_t *ranks;
    if (pair->value->kind != TSIM_VALUE_SEQUENCE || pair->value->n_items == 0)
        return bad_groups(r, pair->value);
    ranks = TSIM_NEW_ARRAY(r->arena, pair->value->n_items, int32_t);
    for (size_t i = 0; i < pair->value->n_items; i++) {
        const struct tsim_value *item = pair->value->items[i];
        char *end = NULL;
        long rank = item->kind == TSIM_VALUE_SCALAR ? strtol(item->text, &end, 10) : -1;
        if (!end || *end || end == item->text || rank < 0 || rank > INT32_MAX)
            return bad_groups(r, item);
        ranks[i] = (int32_t)rank;
    }
    *group = (struct tsim_history_group){pair->key, (int32_t)pair->value->n_items, ranks};
    r->n_groups++;
    return TSIM_OK;
}

static enum tsim_status read_groups(struct replay *r) {
    const struct tsim_value *root;
    if (!r->spec->groups)
        return TSIM_OK;
    TSIM_TRY(tsim_document_read(r->arena, r->spec->groups, &root, r->diags));
    r->groups = TSIM_NEW_ARRAY(r->arena, root->n_items, struct tsim_history_group);
    for (size_t i = 0; i < root->n_items; i++)
        TSIM_TRY(read_group(r, &root->pairs[i]));
    return TSIM_OK;
}

static enum tsim_status read_traces(struct replay *r) {
    r->executions = TSIM_NEW_ARRAY(r->arena, r->spec->n_traces, struct tsim_history);
    for (size_t i = 0; i < r->spec->n_traces; i++) {
        const struct tsim_replay_trace *trace = &r->spec->traces[i];
        TSIM_TRY(tsim_chakra_read(r->arena, trace->file, &r->executions[i], r->diags));
        if (trace->rank >= 0)
            r->executions[i].rank = (int32_t)trace->rank;
        if (r->executions[i].rank < 0)
            r->executions[i].rank = (int32_t)i;
    }
    return TSIM_OK;
}

static enum tsim_status replay(struct replay *r) {
    const struct tsim_arguments *arguments = r->arguments;
    TSIM_TRY(tsim_replay_load(r->arena, arguments->operands[0], arguments->overrides, arguments->n_overrides, &r->spec,
                              r->diags));
    TSIM_TRY(read_groups(r));
    TSIM_TRY(read_traces(r));
    struct tsim_replay_options options = {.by_roofline = r->spec->kernels == TSIM_REPLAY_SIMULATED,
                                          .has_recorded_communication = r->spec->communication == TSIM_REPLAY_RECORDED,
                                          .eager_bytes = r->spec->eager_bytes};
    return tsim_replay(r->arena, r->spec->scenario, r->executions, (int32_t)r->spec->n_traces, r->groups, r->n_groups,
                       &options, &r->result, r->diags);
}

/* ---- output ---- */

static const struct tsim_figure_column COLUMNS[] = {
    {"rank", "rank", TSIM_FIGURE_COUNT},
    {"nodes", "nodes", TSIM_FIGURE_COUNT},
    {"kernels", "compute_s", TSIM_FIGURE_SECONDS},
    {"exposed comm.", "communication_exposed_s", TSIM_FIGURE_SECONDS},
    {"host", "host_s", TSIM_FIGURE_SECONDS},
    {"waiting", "waiting_s", TSIM_FIGURE_SECONDS},
    {"comm.", "communication_s", TSIM_FIGURE_SECONDS},
    {"end", "end_s", TSIM_FIGURE_SECONDS},
    {"recorded", "recorded_s", TSIM_FIGURE_SECONDS},
};

static void fill_table(struct replay *r, struct tsim_figures *table) {
    tsim_figures_init(table, r->arena, "ranks", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < r->result.n_ranks; i++) {
        const struct tsim_replay_rank *rank = &r->result.ranks[i];
        const double values[] = {rank->rank,
                                 rank->n_nodes,
                                 rank->compute_s,
                                 rank->exposed_communication_s,
                                 rank->host_s,
                                 rank->waiting_s,
                                 rank->communication_s,
                                 rank->end_s,
                                 rank->recorded_s > 0 ? rank->recorded_s : (double)NAN};
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
            tsim_figures_add(table, values[k]);
    }
}

/* Returns the rank that waits least. */
static const struct tsim_replay_rank *critical_rank(const struct replay *r) {
    const struct tsim_replay_rank *critical = &r->result.ranks[0];
    for (int32_t i = 1; i < r->result.n_ranks; i++)
        if (r->result.ranks[i].waiting_s < critical->waiting_s)
            critical = &r->result.ranks[i];
    return critical;
}

static void print(struct replay *r, const struct tsim_figures *table) {
    struct tsim_style style = tsim_style_of(stdout);
    const struct tsim_cluster_spec *c = &r->spec->scenario->cluster;
    char time[64], measured[64], error[64];
    double measured_s = r->spec->measured_s;
    printf("%s%s%s\n", tsim_tint_on(&style, TSIM_TINT_BOLD), r->spec->name, tsim_tint_off(&style));
    printf("  traces      %zu of %lld ranks\n", r->spec->n_traces, (long long)(c->nodes * c->accelerators_per_node));
    printf("  cluster     %lld x %s%s%s\n", (long long)c->nodes, c->node->name, c->fabric ? ", fabric " : "",
           c->fabric ? c->fabric->name : "");
    printf("  kernels     %s; communication %s\n",
           r->spec->kernels == TSIM_REPLAY_SIMULATED ? "by roofline" : "as recorded",
           r->spec->communication == TSIM_REPLAY_SIMULATED ? "simulated" : "as recorded");
    printf("  step time   %s", tsim_quantity_human(r->result.time_s, TSIM_TIME_S, time, sizeof time));
    if (measured_s > 0)
        printf(" (measured %s, %s)", tsim_quantity_human(measured_s, TSIM_TIME_S, measured, sizeof measured),
               tsim_error_text(r->result.time_s / measured_s - 1, error, sizeof error));
    fputs("\n\n", stdout);
    tsim_figures_print(table, &style, stdout);
}

static struct tsim_json *to_json(const struct replay *r, const struct tsim_figures *table) {
    const struct tsim_replay_rank *critical = critical_rank(r);
    const struct tsim_cluster_spec *c = &r->spec->scenario->cluster;
    struct tsim_json *root = tsim_json_new_object(), *step;
    tsim_json_text(root, "schema", "tsim/replay-summary/v1");
    tsim_json_text(root, "scenario", r->spec->name);
    tsim_json_text(root, "status", "ok");
    tsim_json_integer(root, "accelerators", c->nodes * c->accelerators_per_node);
    step = tsim_json_object(root, "step");
    tsim_json_number(step, "time_s", r->result.time_s);
    tsim_json_number(step, "compute_s", critical->compute_s);
    tsim_json_number(step, "communication_exposed_s", critical->exposed_communication_s);
    tsim_json_number(step, "host_s", critical->host_s);
    tsim_json_number(step, "waiting_s", critical->waiting_s);
    if (r->spec->measured_s > 0) {
        struct tsim_json *measured = tsim_json_object(tsim_json_array(root, "measured"), NULL);
        tsim_json_text(measured, "metric", "step_time");
        tsim_json_number(measured, "measured", r->spec->measured_s);
        tsim_json_number(measured, "predicted", r->result.time_s);
        tsim_json_number(measured, "error", r->result.time_s / r->spec->measured_s - 1);
    }
    tsim_figures_json(table, root);
    struct tsim_json *simulator = tsim_json_object(root, "simulator");
    tsim_json_text(simulator, "version", TSIM_VERSION);
    tsim_json_integer(simulator, "events", r->result.n_events);
    return root;
}

static enum tsim_exit finish(struct replay *r) {
    struct tsim_figures table;
    enum tsim_exit status = TSIM_EXIT_OK;
    fill_table(r, &table);
    if (r->arguments->has[TSIM_OPTION_CSV])
        tsim_figures_print_csv(&table, stdout);
    else if (!tsim_is_json_on_stdout(r->arguments))
        print(r, &table);
    if (r->arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(r->arguments, to_json(r, &table));
    return tsim_exit_worse(status, tsim_flush_results());
}

enum tsim_exit tsim_cmd_replay(const struct tsim_arguments *arguments) {
    struct replay r = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit status = tsim_exit_of(replay(&r));
    tsim_report_diags(arguments, r.diags);
    if (status == TSIM_EXIT_OK)
        status = finish(&r);
    return status;
}
