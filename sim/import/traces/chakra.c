/* Execution traces of Chakra: a replay of them. */
#include "config/recognize.h"
#include "config/replay_spec.h"
#include "import/traces/chakra_file.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_PER_NODE = 8 };

struct import {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_import_input *input; /* the first file, with what --set says */
    size_t n_used;                         /* of --set */
    struct tsim_history *executions;
    int32_t n, n_ranks; /* traces; of the job, as far as it can be seen */
    bool has_untold_groups, has_recorded_kernels, has_kernels_without_time;
    const char *yaml;
};

__attribute__((format(printf, 2, 3))) static void put(struct import *x, const char *format, ...) {
    va_list args;
    va_start(args, format);
    x->yaml = tsim_arena_printf(x->arena, "%s%s", x->yaml, tsim_arena_vprintf(x->arena, format, args));
    va_end(args);
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static void look(struct import *x, const struct tsim_history *e) {
    x->n_ranks = larger(larger(x->n_ranks, e->n_ranks), e->rank + 1);
    for (int32_t g = 0; g < e->n_groups; g++) {
        x->has_untold_groups = x->has_untold_groups || e->groups[g].n_ranks < 0;
        for (int32_t i = 0; i < e->groups[g].n_ranks; i++)
            x->n_ranks = larger(x->n_ranks, e->groups[g].ranks[i] + 1);
    }
    for (int32_t i = 0; i < e->n_nodes; i++) {
        const struct tsim_history_node *node = &e->nodes[i];
        bool is_kernel = node->kind == TSIM_HISTORY_COMPUTE && !node->is_host;
        x->n_ranks = larger(x->n_ranks, larger(node->from, node->to) + 1);
        x->has_recorded_kernels = x->has_recorded_kernels || (is_kernel && node->duration_s > 0);
        x->has_kernels_without_time =
            x->has_kernels_without_time || (is_kernel && !(node->duration_s > 0) && node->n_ops + node->bytes > 0);
    }
}

/* Counts what a trace holds, for a comment. */
static const char *counts(struct tsim_arena *arena, const struct tsim_history *e) {
    int32_t n_kernels = 0, n_collectives = 0, n_messages = 0;
    double kernel_s = 0, collective_bytes = 0;
    for (int32_t i = 0; i < e->n_nodes; i++) {
        const struct tsim_history_node *node = &e->nodes[i];
        bool is_kernel = node->kind == TSIM_HISTORY_COMPUTE && !node->is_host;
        bool is_collective = node->kind == TSIM_HISTORY_COLLECTIVE;
        n_kernels += is_kernel;
        kernel_s += is_kernel ? node->duration_s : 0;
        n_collectives += is_collective;
        collective_bytes += is_collective ? node->comm_bytes : 0;
        n_messages += node->kind == TSIM_HISTORY_SEND || node->kind == TSIM_HISTORY_RECEIVE;
    }
    return tsim_arena_printf(arena, "%d kernels of %.6g ms, %d collectives of %.6g MB, %d messages", n_kernels,
                             1e3 * kernel_s, n_collectives, collective_bytes / 1e6, n_messages);
}

static const char *quoted(struct tsim_arena *arena, const char *text) {
    char *out = tsim_arena_alloc(arena, 2 * strlen(text) + 3), *to = out;
    *to++ = '"';
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            *to++ = '\\';
        *to++ = (unsigned char)*c < ' ' || (unsigned char)*c == 0x7f ? '?' : *c;
    }
    *to++ = '"';
    return out;
}

/* Returns the value that --set gives a path, else the default. */
static const char *setting(struct import *x, const char *path, const char *otherwise) {
    for (size_t i = 0; i < x->input->n_overrides; i++)
        if (strcmp(x->input->overrides[i].path, path) == 0) {
            x->n_used++;
            otherwise = x->input->overrides[i].value;
        }
    return otherwise;
}

static void put_setting(struct import *x, const char *indent, const char *path, const char *otherwise) {
    const char *value = setting(x, path, otherwise), *dot = strrchr(path, '.');
    if (value)
        put(x, "%s%s: %s\n", indent, dot ? dot + 1 : path, value);
}

static void put_cluster(struct import *x) {
    int32_t per_node = x->n_ranks < MOST_PER_NODE ? x->n_ranks : MOST_PER_NODE;
    put(x, "cluster:%s\n", x->input->n_overrides > 0 ? "" : "  # the traces do not say which machine: assumed");
    put_setting(x, "  ", "cluster.node", TSIM_DEFAULT_NODE);
    put_setting(x, "  ", "cluster.nodes", tsim_arena_printf(x->arena, "%d", (x->n_ranks + per_node - 1) / per_node));
    put_setting(x, "  ", "cluster.accelerators_per_node", tsim_arena_printf(x->arena, "%d", per_node));
    put_setting(x, "  ", "cluster.fabric", x->n_ranks > per_node ? "ib-ndr" : NULL);
}

static void put_replay(struct import *x) {
    put(x, "schema: tsim/replay/v1\nname: imported\ntraces:\n");
    for (int32_t i = 0; i < x->n; i++) {
        const struct tsim_history *e = &x->executions[i];
        const char *file = quoted(x->arena, e->file);
        if (tsim_chakra_rank(e->file) == e->rank)
            put(x, "  - %s", file);
        else
            put(x, "  - {file: %s, rank: %d}", file, e->rank);
        put(x, "  # %s\n", counts(x->arena, e));
    }
    put_setting(x, "", "groups", NULL);
    put_cluster(x);
    bool is_priced = x->has_kernels_without_time && !x->has_recorded_kernels;
    put_setting(x, "", "kernels", is_priced ? "roofline" : "recorded");
}

static const char *notes(struct import *x, const char *file) {
    const char *text = "";
    if (x->input->n_overrides == 0)
        text = tsim_arena_printf(
            x->arena, "%s: note: the traces do not say which machine; cluster.node and fabric are assumed\n", file);
    if (x->n_ranks > x->n)
        text =
            tsim_arena_printf(x->arena, "%s%s: note: %d of %d ranks are traced; the others are taken as never late\n",
                              text, file, x->n, x->n_ranks);
    if (x->has_untold_groups)
        text = tsim_arena_printf(
            x->arena, "%s%s: note: the traces name process groups without their ranks: give them in groups: FILE\n",
            text, file);
    return text;
}

static enum tsim_status read_all(struct import *x, const struct tsim_import_input *input) {
    for (const struct tsim_import_input *at = input; at; at = at->next)
        x->n++;
    x->executions = TSIM_NEW_ARRAY(x->arena, (size_t)x->n, struct tsim_history);
    x->n = 0;
    for (const struct tsim_import_input *at = input; at; at = at->next, x->n++) {
        struct tsim_history *e = &x->executions[x->n];
        TSIM_TRY(tsim_chakra_parse(x->arena, at->file, at->text, at->size, e, x->diags));
        if (e->rank < 0)
            e->rank = x->n;
        look(x, e);
    }
    return TSIM_OK;
}

enum tsim_status tsim_import_chakra(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags) {
    struct import x = {.arena = arena, .diags = diags, .input = input, .yaml = ""};
    const struct tsim_replay_spec *spec;
    TSIM_TRY(read_all(&x, input));
    put_replay(&x);
    if (x.n_used < input->n_overrides) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_REFERENCE, (struct tsim_place){input->file, 0, 0}, "",
                                        "--set names a key that this import does not have"),
                       "cluster.node, nodes, accelerators_per_node and fabric, groups, kernels are; others can be "
                       "changed in the file");
        return TSIM_ERR_REFERENCE;
    }
    TSIM_TRY(tsim_replay_load_text(arena, input->file, x.yaml, NULL, 0, &spec, diags));
    result->yaml = x.yaml;
    result->notes = notes(&x, input->file);
    return TSIM_OK;
}
