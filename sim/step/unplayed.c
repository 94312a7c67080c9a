#include "step/unplayed.h"

#include "model/model.h"
#include "network/pattern.h"
#include "step/folding/stand_ins.h"
#include "step/pass/pass.h"

#include <math.h>

/* Below this the groups' links carry them as well as the model of one collective says. */
#define MOST_LOAD 1.05

/* The largest collective along an axis. */
struct unplayed {
    enum tsim_collective_op op;
    double bytes;
};

struct check {
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_topology *topology;
    struct unplayed axes[TSIM_N_AXES];
};

static void note_operator(void *context, const struct tsim_pass_operator *row) {
    struct check *c = context;
    const struct tsim_op *op = row->op;
    if (op->kind != TSIM_OP_COLLECTIVE || !(row->time_s > 0))
        return;
    struct unplayed *axis = &c->axes[op->axis];
    if (op->collective_bytes <= axis->bytes)
        return;
    axis->op = tsim_collective_of(op);
    axis->bytes = op->collective_bytes;
}

static void note_operators(struct check *c) {
    bool splits = tsim_schedule_splits_backward(c->scenario->parallelism.schedule);
    const struct tsim_parts there = tsim_model_parts(c->scenario->model);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int kind = 0; kind < (splits ? TSIM_N_PASS_KINDS : TSIM_PASS_BACKWARD + 1); kind++)
            if (there.times[part] > 0)
                tsim_pass_visit(c->scenario, c->cluster, c->placement, (enum tsim_part)part, kind, note_operator, c);
}

/* Returns how many times longer all groups together load the fullest shared link than one group alone does. */
static double find_load(const struct check *c, struct tsim_arena *arena, enum tsim_axis axis, int32_t *fullest) {
    const struct tsim_topology *t = c->topology;
    const struct unplayed *unplayed = &c->axes[axis];
    unsigned axes = axis == TSIM_AXIS_EXPERT ? c->placement->expert_axes : 1u << axis;
    struct tsim_collective_request request = {
        .op = unplayed->op, .bytes = unplayed->bytes, .group = tsim_placement_group(c->placement, axes)};
    struct tsim_collective_cost cost;
    double *link_bytes = TSIM_NEW_ARRAY(arena, (size_t)t->n_links, double), longest_s = 0;
    int32_t *ranks = TSIM_NEW_ARRAY(arena, (size_t)request.group.n_ranks, int32_t);
    tsim_collective_cost(c->cluster, &request, &cost);
    for (int32_t rank = 0; rank < c->placement->n_ranks; rank++) {
        if (!tsim_placement_leads(c->placement, rank, axes))
            continue;
        int32_t n = tsim_placement_ranks(c->placement, rank, axes, ranks);
        struct tsim_pattern pattern;
        tsim_pattern_build(&pattern, t, ranks, n, &request);
        tsim_pattern_link_bytes(&pattern, link_bytes);
        tsim_pattern_release(&pattern);
    }
    for (int32_t link = 0; link < t->n_links; link++)
        if (link_bytes[link] > longest_s * t->bytes_per_s[link] &&
            tsim_link_is_shared(tsim_topology_link_kind(t, link))) {
            longest_s = link_bytes[link] / t->bytes_per_s[link];
            *fullest = link;
        }
    double flow_s = cost.time_s - cost.latency_s;
    return flow_s > 0 ? longest_s / flow_s : 0;
}

static void refuse(const struct check *c, struct tsim_arena *arena, enum tsim_axis axis, double load, int32_t link,
                   struct tsim_diags *diags) {
    char where[80];
    unsigned axes = axis == TSIM_AXIS_EXPERT ? c->placement->expert_axes : 1u << axis;
    tsim_topology_link_name(c->topology, link, where, sizeof where);
    double oversubscription = tsim_topology_oversubscription(c->topology, link);
    const char *tier =
        oversubscription > 1 ? tsim_arena_printf(arena, " (oversubscribed %.3g to 1)", oversubscription) : "";
    struct tsim_diag *diag = tsim_diags_error(
        diags, TSIM_ERR_INFEASIBLE, c->scenario->plan_at,
        tsim_arena_printf(arena, "parallelism.%s", tsim_axis_name(axis)),
        "%s groups of %d ranks meet on links: together they need '%s'%s for %.2g times as long as one alone, which "
        "detail: passes does not play",
        tsim_axis_name(axis), tsim_placement_group(c->placement, axes).n_ranks, where, tier, load);
    tsim_diag_hint(diag, "simulation.detail: operators plays each collective on its links");
}

/* Nothing is shared on a node's switch or mesh, nor between nodes on a crossbar. */
static bool has_shared_links(const struct tsim_cluster *cluster) {
    const struct tsim_fabric *fabric = cluster->fabric;
    const struct tsim_node *node = cluster->node;
    return (fabric && fabric->topology != TSIM_TOPOLOGY_CROSSBAR) || node->accelerators_per_switch > 0 ||
           node->accelerators_per_socket > 0;
}

static enum tsim_status check_axes(const struct check *c, struct tsim_arena *arena, struct tsim_diags *diags) {
    enum tsim_status status = TSIM_OK;
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        int32_t link = -1;
        if (!(c->axes[axis].bytes > 0))
            continue;
        double load = find_load(c, arena, (enum tsim_axis)axis, &link);
        if (load <= MOST_LOAD)
            continue;
        refuse(c, arena, (enum tsim_axis)axis, load, link, diags);
        status = TSIM_ERR_INFEASIBLE;
    }
    return status;
}

/* Builds what the checks need. Returns false if no links are shared. */
static bool begin_check(struct check *c, struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    *c = (struct check){.scenario = scenario, .cluster = tsim_cluster_build(arena, scenario)};
    if (!has_shared_links(c->cluster))
        return false;
    c->placement = tsim_placement_build(arena, scenario);
    c->topology = tsim_topology_build(arena, scenario, c->cluster);
    note_operators(c);
    return true;
}

enum tsim_status tsim_refuse_unplayed(const struct tsim_scenario *scenario, struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct check c;
    if (scenario->simulation.network != TSIM_NETWORK_FLUID || scenario->simulation.detail != TSIM_DETAIL_PASSES)
        return TSIM_OK;
    tsim_arena_init(&arena);
    enum tsim_status status = begin_check(&c, &arena, scenario) ? check_axes(&c, &arena, diags) : TSIM_OK;
    tsim_arena_release(&arena);
    return status;
}

bool tsim_experts_keep_step(const struct tsim_scenario *scenario) {
    struct tsim_arena arena;
    struct check c;
    int32_t link;
    bool is_varied = scenario->variability.compute_cv > 0 || tsim_has_slow_accelerators(scenario) ||
                     scenario->cluster.n_background > 0;
    if (is_varied || scenario->parallelism.expert == 1 || scenario->simulation.network == TSIM_NETWORK_IDEAL)
        return false;
    tsim_arena_init(&arena);
    bool keeps_step = begin_check(&c, &arena, scenario) && c.axes[TSIM_AXIS_EXPERT].bytes > 0 &&
                      find_load(&c, &arena, TSIM_AXIS_EXPERT, &link) > MOST_LOAD;
    tsim_arena_release(&arena);
    return keeps_step;
}

bool tsim_is_played(const struct tsim_scenario *scenario) {
    return tsim_refuse_unplayed(scenario, TSIM_UNHEARD) == TSIM_OK;
}

enum tsim_detail tsim_screening_detail(const struct tsim_scenario *scenario) {
    struct tsim_scenario by_passes = *scenario;
    by_passes.simulation.detail = TSIM_DETAIL_PASSES;
    bool is_open = scenario->simulation.detail == TSIM_DETAIL_AUTO;
    return is_open && tsim_is_played(&by_passes) ? TSIM_DETAIL_PASSES : scenario->simulation.detail;
}
