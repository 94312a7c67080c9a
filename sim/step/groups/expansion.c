#include "step/groups/expansion.h"

#include <math.h>
#include <string.h>

/* ---- links ---- */

void tsim_step_links_init(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_step_plan *plan, const struct tsim_placement *placement,
                          struct tsim_engine *engine) {
    *step_links = (struct tsim_step_links){.topology = tsim_topology_build(arena, plan->scenario, plan->cluster)};
    if (plan->folding == TSIM_FOLD_REPLICAS)
        step_links->stands = tsim_links_that_stand(arena, step_links->topology, placement, &plan->stand_ins);
    tsim_links_add(&step_links->links, engine, step_links->topology);
}

void tsim_step_links_release(struct tsim_step_links *step_links) {
    for (size_t i = 0; i < step_links->n_patterns; i++)
        tsim_pattern_release(step_links->patterns[i]);
    tsim_heap_free(step_links->patterns);
    tsim_heap_free(step_links->traffic);
}

struct tsim_coordinates tsim_stage_group_at(const struct tsim_placement *placement,
                                            const struct tsim_stage_group *group) {
    struct tsim_coordinates at = {.at[TSIM_AXIS_PIPELINE] = group->stage};
    at.at[TSIM_AXIS_EXPERT] = group->replica % placement->size[TSIM_AXIS_EXPERT];
    at.at[TSIM_AXIS_DATA] = group->plan->stand_ins.at[group->replica / placement->size[TSIM_AXIS_EXPERT]];
    return at;
}

static struct tsim_coordinates member_at(const struct tsim_placement *placement, const struct tsim_stage_group *group,
                                         int32_t member) {
    struct tsim_coordinates at = tsim_stage_group_at(placement, group);
    at.at[TSIM_AXIS_TENSOR] = member % placement->size[TSIM_AXIS_TENSOR];
    at.at[TSIM_AXIS_CONTEXT] = member / placement->size[TSIM_AXIS_TENSOR];
    return at;
}

/* Returns the one that is simulated in its place. */
static struct tsim_stage_group *stage_group_of(const struct tsim_placement *placement,
                                               struct tsim_stage_group *stage_groups,
                                               const struct tsim_coordinates *at) {
    int32_t stand_in = stage_groups[0].plan->stand_ins.of[at->at[TSIM_AXIS_DATA]];
    int32_t replica = stand_in * placement->size[TSIM_AXIS_EXPERT] + at->at[TSIM_AXIS_EXPERT];
    return &stage_groups[replica * placement->size[TSIM_AXIS_PIPELINE] + at->at[TSIM_AXIS_PIPELINE]];
}

static int32_t member_of(const struct tsim_placement *placement, const struct tsim_coordinates *at) {
    return at->at[TSIM_AXIS_TENSOR] + at->at[TSIM_AXIS_CONTEXT] * placement->size[TSIM_AXIS_TENSOR];
}

void tsim_step_links_members(const struct tsim_step_links *step_links, const struct tsim_placement *placement,
                             struct tsim_stage_group *group, struct tsim_member *members) {
    const struct tsim_topology *t = step_links->topology;
    int32_t first = step_links->links.first_resource;
    for (int32_t i = 0; i < group->n_members; i++) {
        struct tsim_coordinates at = member_at(placement, group, i);
        struct tsim_member *member = &members[i];
        member->rank = tsim_placement_rank(placement, &at);
        if (t->count[TSIM_LINK_OUT] > 0) {
            member->scale_up_out = first + t->first[TSIM_LINK_OUT] + member->rank;
            member->scale_up_in = first + t->first[TSIM_LINK_IN] + member->rank;
        }
        if (t->count[TSIM_LINK_NIC_OUT] > 0) {
            int32_t nic = tsim_topology_nic(t, member->rank);
            member->nic_out = first + t->first[TSIM_LINK_NIC_OUT] + nic;
            member->nic_in = first + t->first[TSIM_LINK_NIC_IN] + nic;
        }
    }
    group->links = &step_links->links;
}

/* ---- what collectives cross ---- */

/* Tells whether a link leads from NIC to NIC; all other links are as those of a node, a torus's among them. */
static bool is_between_nodes(const struct tsim_topology *t, int32_t link) {
    static const bool IS_BETWEEN[TSIM_N_LINK_KINDS] = {
        [TSIM_LINK_NIC_OUT] = true,   [TSIM_LINK_NIC_IN] = true, [TSIM_LINK_TIER_UP] = true,
        [TSIM_LINK_TIER_DOWN] = true, [TSIM_LINK_LOCAL] = true,  [TSIM_LINK_GLOBAL] = true};
    return IS_BETWEEN[tsim_topology_link_kind(t, link)];
}

static void reserve(struct tsim_arena *arena, struct tsim_crossed_links *crossed, int32_t n_more) {
    if (crossed->n + n_more <= crossed->capacity)
        return;
    int32_t capacity =
        crossed->n + (crossed->n > n_more ? crossed->n : n_more); /* links that come once get just their room */
    struct tsim_crossed_link *items = TSIM_NEW_ARRAY(arena, (size_t)capacity, struct tsim_crossed_link);
    if (crossed->n > 0)
        memcpy(items, crossed->items, (size_t)crossed->n * sizeof *items);
    crossed->items = items;
    crossed->capacity = capacity;
}

static void add_crossed(struct tsim_crossed_links *crossed, bool is_between, int32_t resource, double per_byte) {
    for (int32_t i = 0; i < crossed->n; i++)
        if (crossed->items[i].link.resource == resource) {
            crossed->items[i].link.per_unit += per_byte;
            return;
        }
    TSIM_ASSERT(crossed->n < crossed->capacity);
    crossed->items[crossed->n++] = (struct tsim_crossed_link){{resource, per_byte}, is_between};
}

/* Adds bytes on a link, by those that a rank sends on its node, or through its NIC. */
static void cross_link(const struct tsim_step_links *step_links, const struct tsim_pattern *pattern, int32_t link,
                       double bytes, struct tsim_crossed_links *crossed) {
    bool is_between = is_between_nodes(step_links->topology, link);
    double sent = is_between ? pattern->cost.nic_bytes : pattern->cost.scale_up_bytes;
    if (sent > 0 && (!step_links->stands || step_links->stands[link]))
        add_crossed(crossed, is_between, step_links->links.first_resource + link, bytes / sent);
}

/* Adds the bytes of a phase's owner on each link. */
static void cross_phase(const struct tsim_step_links *step_links, const struct tsim_pattern *pattern, int32_t lane,
                        const struct tsim_pattern_phase *phase, struct tsim_crossed_links *crossed) {
    struct tsim_route route;
    for (int32_t k = 0; k < phase->n_messages && pattern->kind == TSIM_PATTERN_PAIRWISE; k++) {
        tsim_pattern_route(pattern, lane, k, &route);
        for (int32_t i = 0; i < route.n; i++)
            cross_link(step_links, pattern, route.links[i], phase->bytes, crossed);
    }
    for (int32_t i = 0; i < phase->n_shares; i++) {
        const struct tsim_share *share = &pattern->shares[phase->first_share + i];
        cross_link(step_links, pattern, share->link, share->frac * phase->bytes * phase->n_messages, crossed);
    }
}

/* Returns the links that a phase may cross, those it crosses several times counted as often. */
static int32_t n_links_of(const struct tsim_pattern *pattern, int32_t lane, const struct tsim_pattern_phase *phase) {
    struct tsim_route route;
    int32_t n = phase->n_shares;
    for (int32_t k = 0; k < phase->n_messages && pattern->kind == TSIM_PATTERN_PAIRWISE; k++) {
        tsim_pattern_route(pattern, lane, k, &route);
        n += route.n;
    }
    return n;
}

static struct tsim_crossed_links *crossed_by(const struct tsim_placement *placement,
                                             struct tsim_stage_group *stage_groups, int32_t rank, int whose) {
    struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
    return &stage_group_of(placement, stage_groups, &at)->members[member_of(placement, &at)].crossed[whose];
}

/* Returns the longest collective of the axis that passes of the stage have. */
static struct tsim_collective_request crossing_pass(const struct tsim_stage_group *group, enum tsim_axis axis) {
    struct tsim_collective_request request = {.bytes = 0};
    for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
        const struct tsim_pass_program *program = &group->stage_plan->programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
        for (int32_t at = 0; at < program->n; at++) {
            const struct tsim_played *played = &program->at[at];
            if (played->collective_bytes > request.bytes && played->axis == axis)
                request = (struct tsim_collective_request){.op = played->collective, .bytes = played->collective_bytes};
        }
    }
    return request;
}

static struct tsim_collective_request crossing(const struct tsim_stage_group *group, int32_t n, enum tsim_among among,
                                               int whose) {
    return whose >= TSIM_CROSSED_PASS ? crossing_pass(group, (enum tsim_axis)(whose - TSIM_CROSSED_PASS))
                                      : tsim_step_data_request(group->plan, group->stage, n, among, whose % 2);
}

/* Finds the links that cross a group: the parts that its ranks own of what one group runs. */
static void cross_group(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                        const struct tsim_placement *placement, struct tsim_stage_group *stage_groups,
                        const int32_t *ranks, int32_t n, const struct tsim_collective_request *request, int whose) {
    struct tsim_pattern pattern;
    tsim_pattern_build(&pattern, step_links->topology, ranks, n, request);
    int32_t *n_shares = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t), n_phases = pattern.n_lanes * pattern.n_phases;
    for (int32_t i = 0; i < n_phases; i++)
        n_shares[pattern.phases[i].owner] += n_links_of(&pattern, i / pattern.n_phases, &pattern.phases[i]);
    for (int32_t i = 0; i < n; i++)
        reserve(arena, crossed_by(placement, stage_groups, ranks[i], whose), n_shares[i]);
    for (int32_t i = 0; i < n_phases; i++) {
        const struct tsim_pattern_phase *phase = &pattern.phases[i];
        struct tsim_crossed_links *crossed = crossed_by(placement, stage_groups, ranks[phase->owner], whose);
        int32_t lane = i / pattern.n_phases;
        reserve(arena, crossed, n_links_of(&pattern, lane, phase)); /* one rank may stand in for several */
        cross_phase(step_links, &pattern, lane, phase, crossed);
    }
    tsim_pattern_release(&pattern);
}

/* Returns which nodes have links of their own that are simulated; NULL: all may. */
static bool *nodes_that_stand(const struct tsim_step_links *step_links, struct tsim_arena *arena) {
    const struct tsim_topology *t = step_links->topology;
    if (!step_links->stands || t->count[TSIM_LINK_TORUS] > 0)
        return NULL;
    bool *stands = TSIM_NEW_ARRAY(arena, (size_t)(t->n_ranks / t->ranks_per_node), bool);
    for (int32_t link = 0; link < t->n_links; link++) {
        int32_t node = step_links->stands[link] ? tsim_topology_link_node(t, link) : -1;
        if (node >= 0)
            stands[node] = true;
    }
    return stands;
}

static void cross_groups(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                         const struct tsim_placement *placement, struct tsim_stage_group *stage_groups,
                         const bool *node_stands, unsigned axes, int whose) {
    const struct tsim_scenario *scenario = stage_groups[0].plan->scenario;
    const enum tsim_among among = whose < TSIM_CROSSED_PASS ? (enum tsim_among)(whose / 2) : TSIM_AMONG_ALL;
    int32_t *all = TSIM_NEW_ARRAY(arena, (size_t)placement->n_ranks, int32_t);
    int32_t *ranks = TSIM_NEW_ARRAY(arena, (size_t)placement->n_ranks, int32_t), n;
    /* The request is the stage's, and groups of a stage mostly follow one another. */
    const struct tsim_stage_plan *of = NULL;
    struct tsim_collective_request request = {.bytes = 0};
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        if (!tsim_placement_leads(placement, rank, axes))
            continue;
        struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
        const struct tsim_stage_group *group = stage_group_of(placement, stage_groups, &at);
        int32_t n_all = tsim_placement_ranks(placement, rank, axes, all);
        if (group->stage_plan != of) {
            of = group->stage_plan;
            request = crossing(group, n_all, among, whose);
        }
        if (!(request.bytes > 0))
            continue;
        for (int32_t k = 0; (n = tsim_ranks_among(scenario, among, whose % 2, all, n_all, k, ranks)) > 1; k++) {
            if (node_stands && tsim_placement_same_node(placement, ranks[0], ranks[n - 1]) &&
                !node_stands[tsim_placement_node(placement, ranks[0])])
                continue; /* it crosses nothing that is simulated */
            cross_group(step_links, arena, placement, stage_groups, ranks, n, &request, whose);
        }
    }
}

/* Ranks of one stage send a byte each to the same ranks of another: messages to the next and the previous stage, and
 * between the two ends of the pipeline, which hold one table. */
static void send(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                 const struct tsim_placement *placement, struct tsim_stage_group *stage_groups, int what) {
    int32_t stages = placement->size[TSIM_AXIS_PIPELINE];
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        struct tsim_coordinates to = tsim_placement_coordinates(placement, rank), from = to;
        int32_t stage = to.at[TSIM_AXIS_PIPELINE];
        bool goes_on = what == TSIM_SENT_TIED ? stage != 0 : what == TSIM_SENT_TO_NEXT;
        if (what == TSIM_SENT_TIED && stage != 0 && stage != stages - 1)
            continue;
        to.at[TSIM_AXIS_PIPELINE] = (stage + (goes_on ? 1 : stages - 1)) % stages;
        struct tsim_crossed_links *sent = &stage_group_of(placement, stage_groups, &from)->sent[what];
        struct tsim_route route;
        tsim_topology_route(step_links->topology, rank, tsim_placement_rank(placement, &to), &route);
        reserve(arena, sent, route.n);
        for (int32_t i = 0; i < route.n; i++)
            if (!step_links->stands || step_links->stands[route.links[i]])
                add_crossed(sent, false, step_links->links.first_resource + route.links[i], 1);
    }
}

void tsim_step_links_cross(const struct tsim_step_links *step_links, struct tsim_arena *arena,
                           const struct tsim_placement *placement, struct tsim_stage_group *stage_groups) {
    const unsigned data = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    const struct tsim_step_plan *plan = stage_groups[0].plan;
    const struct tsim_topology *t = step_links->topology;
    bool has_stages = plan->schedule.stages > 1;
    bool pairs_meet = tsim_placement_neighbours(placement, TSIM_AXIS_PIPELINE).any_on_node;
    for (size_t i = 0; i < plan->scenario->cluster.n_degraded; i++) /* one pair's link is not another's then */
        pairs_meet |= plan->scenario->cluster.degraded[i].link == TSIM_DEGRADED_SCALE_UP;
    bool has_shared = t->n_tiers > 0 || t->groups > 0 || t->per_switch > 0 || t->per_socket > 0 ||
                      t->count[TSIM_LINK_TORUS] > 0 || (t->count[TSIM_LINK_PAIR] > 0 && pairs_meet) ||
                      (t->nics_per_node > 0 && t->nics_per_node < t->ranks_per_node && has_stages);
    for (int what = 0; what < TSIM_N_SENT && has_stages; what++)
        if (what != TSIM_SENT_TIED || plan->has_tied_reduction)
            send(step_links, arena, placement, stage_groups, what);
    if (!has_shared)
        return;
    const bool *node_stands = nodes_that_stand(step_links, arena);
    for (int whose = TSIM_CROSSED_DATA; whose < TSIM_CROSSED_PASS && plan->has_data_group && !plan->is_stepped; whose++)
        cross_groups(step_links, arena, placement, stage_groups, node_stands,
                     whose % 2 ? placement->expert_data_axes : data, whose);
    bool plays = plan->plays_operators != TSIM_OPERATORS_OF_NONE;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE && plays; axis++)
        cross_groups(step_links, arena, placement, stage_groups, node_stands,
                     axis == TSIM_AXIS_EXPERT ? placement->expert_axes : 1u << axis, TSIM_CROSSED_PASS + axis);
}

/* ---- collectives ---- */

struct builder {
    struct tsim_step_links *step_links;
    struct tsim_arena *arena;
    const struct tsim_placement *placement;
    const struct tsim_step_plan *plan;
    struct tsim_stage_group *stage_groups;
    int32_t n_stage_groups;
};

/* A collective as one of the stages that take part knows it. */
struct holder {
    int32_t stage;
    const struct tsim_data_collective *collective;
};

static const struct holder *holder_of(const struct holder *holders, int32_t n, int32_t stage) {
    for (int32_t i = 0; i < n; i++)
        if (holders[i].stage == stage)
            return &holders[i];
    return NULL;
}

static struct tsim_pattern *new_pattern(struct builder *b) {
    struct tsim_step_links *sl = b->step_links;
    sl->patterns = tsim_heap_grow(sl->patterns, &sl->pattern_capacity, sl->n_patterns + 1, sizeof *sl->patterns);
    sl->traffic = tsim_heap_grow(sl->traffic, &sl->traffic_capacity, sl->n_patterns + 1, sizeof *sl->traffic);
    return sl->patterns[sl->n_patterns++] = TSIM_NEW(b->arena, struct tsim_pattern);
}

/* Adds one communicator: `ranks` (n of them, in the arena) run part `k` of the holders' collective. */
static void add_group(struct builder *b, const struct holder *holders, int32_t n_holders, int32_t k,
                      const int32_t *ranks, int32_t n) {
    const struct tsim_data_collective *collective = holders[0].collective;
    const struct tsim_collective_part *part = &collective->parts[k];
    const struct tsim_group_collective *own = collective->groups;
    for (int32_t i = 1; i < collective->n_groups && collective->groups[i].first_part <= k; i++)
        own = &collective->groups[i];
    struct tsim_collective_request request = {.op = part->op, .bytes = part->bytes};
    struct tsim_pattern *pattern = new_pattern(b);
    tsim_pattern_build(pattern, b->step_links->topology, ranks, n, &request);
    int32_t *go = TSIM_NEW_ARRAY(b->arena, (size_t)n, int32_t), *done = TSIM_NEW_ARRAY(b->arena, (size_t)n, int32_t);
    int32_t *units = TSIM_NEW_ARRAY(b->arena, (size_t)n, int32_t),
            *memory = TSIM_NEW_ARRAY(b->arena, (size_t)n, int32_t);
    int32_t *lanes = TSIM_NEW_ARRAY(b->arena, (size_t)n, int32_t);
    tsim_pattern_count_lanes(pattern, lanes);
    for (int32_t i = 0; i < n; i++) {
        struct tsim_coordinates at = tsim_placement_coordinates(b->placement, ranks[i]);
        struct tsim_stage_group *group = stage_group_of(b->placement, b->stage_groups, &at);
        struct tsim_expansion *e =
            tsim_stage_group_expansion(group, holder_of(holders, n_holders, at.at[TSIM_AXIS_PIPELINE])->collective);
        go[i] = e->go[k];
        done[i] = e->done[k];
        e->n_lanes[k] += lanes[i];
        units[i] = group->members[member_of(b->placement, &at)].units;
        memory[i] = group->members[member_of(b->placement, &at)].memory;
    }
    struct tsim_traffic_options options = {.n_uses = -1,
                                           .weight = TSIM_COLLECTIVE_WEIGHT,
                                           .go = go,
                                           .done = done,
                                           .held = {{units, own->units_share}, {memory, own->memory_share}}};
    struct tsim_traffic **traffic = &b->step_links->traffic[b->step_links->n_patterns - 1];
    *traffic = tsim_traffic_add(b->arena, &b->step_links->links, pattern, &options);
}

/* Adds all groups of ranks of the holders' stages whose members differ from the first only along `axes`, ascending. */
static void add_part(struct builder *b, const struct holder *holders, int32_t n_holders, int32_t k, unsigned axes) {
    const struct tsim_placement *placement = b->placement;
    const struct tsim_collective_part *part = &holders[0].collective->parts[k];
    int32_t n_keys = 1, n_each = n_holders;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (axis != TSIM_AXIS_PIPELINE)
            *(axes & 1u << axis ? &n_each : &n_keys) *= placement->size[axis];
    int32_t *ranks = TSIM_NEW_ARRAY(b->arena, (size_t)n_keys * (size_t)n_each, int32_t);
    int32_t *counts = TSIM_NEW_ARRAY(b->arena, (size_t)n_keys, int32_t);
    for (int32_t rank = 0; rank < placement->n_ranks; rank++) {
        struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
        if (!holder_of(holders, n_holders, at.at[TSIM_AXIS_PIPELINE]))
            continue;
        int32_t key = 0;
        for (int axis = 0; axis < TSIM_N_AXES; axis++)
            if (axis != TSIM_AXIS_PIPELINE && !(axes & 1u << axis))
                key = key * placement->size[axis] + at.at[axis];
        ranks[key * n_each + counts[key]++] = rank;
    }
    for (int32_t key = 0; key < n_keys; key++) {
        int32_t *own = TSIM_NEW_ARRAY(b->arena, (size_t)n_each, int32_t), n;
        for (int32_t i = 0; (n = tsim_ranks_among(b->plan->scenario, part->among, part->is_expert, &ranks[key * n_each],
                                                  n_each, i, own)) > 0;
             i++, own += n)
            add_group(b, holders, n_holders, k, own, n);
    }
}

/* Signals for the stage groups of the holders' stages, then the groups of each part. */
static void add_collective(struct builder *b, const struct holder *holders, int32_t n_holders) {
    const unsigned data = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    TSIM_ASSERT(n_holders > 0);
    bool is_tied = holders[0].collective == &b->plan->tied;
    for (int32_t i = 0; i < b->n_stage_groups; i++) {
        struct tsim_stage_group *group = &b->stage_groups[i];
        const struct holder *holder = holder_of(holders, n_holders, group->stage);
        if (!holder)
            continue;
        struct tsim_expansion *e = &group->expansions[group->n_expansions++];
        e->collective = holder->collective;
        for (int32_t k = 0; k < holder->collective->n_parts; k++) {
            e->go[k] = tsim_engine_add_signals(group->engine, 2, 1);
            e->done[k] = tsim_engine_add_signals(group->engine, 1, 0);
        }
    }
    for (int32_t k = 0; k < holders[0].collective->n_parts; k++) {
        bool is_expert = holders[0].collective->parts[k].is_expert;
        unsigned own = holders[0].collective->axes;
        add_part(b, holders, n_holders, k, own ? own : is_tied ? 0 : is_expert ? b->placement->expert_data_axes : data);
    }
}

/* Adds the chunks that hold a model part: one, or in dualpipe two. */
static void add_model_part(struct builder *b, int32_t part) {
    const struct tsim_schedule_shape *shape = &b->plan->schedule;
    struct holder gathers[2] = {0}, reduces[2] = {0};
    int32_t n = 0;
    for (int32_t stage = 0; stage < shape->stages; stage++)
        for (int32_t c = 0; c < shape->chunks; c++) {
            if (tsim_schedule_part(shape, stage, c) != part)
                continue;
            TSIM_ASSERT(n < 2);
            const struct tsim_chunk_plan *chunk = &b->plan->stages[stage].chunks[c];
            gathers[n] = (struct holder){stage, &chunk->gather};
            reduces[n++] = (struct holder){stage, &chunk->reduce};
        }
    add_collective(b, reduces, n);
    if (b->plan->gathers)
        add_collective(b, gathers, n);
}

void tsim_expansion_build(struct tsim_step_links *step_links, struct tsim_arena *arena,
                          const struct tsim_placement *placement, struct tsim_stage_group *stage_groups,
                          int32_t n_stage_groups) {
    const struct tsim_step_plan *plan = stage_groups[0].plan;
    struct builder b = {step_links, arena, placement, plan, stage_groups, n_stage_groups};
    size_t most = (size_t)(2 * plan->schedule.chunks + plan->n_pass_collectives) + 3 * TSIM_N_PARTS +
                  2 * TSIM_N_LAYER_PRODUCTS + 3;
    for (int32_t i = 0; i < n_stage_groups; i++)
        stage_groups[i].expansions = TSIM_NEW_ARRAY(arena, most, struct tsim_expansion);
    if (plan->has_data_group && plan->shards_fully) {
        const struct tsim_stage_plan *sp = &plan->stages[0];
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            if (sp->chunks[0].parts.times[part] <= 0 || plan->gathers_products)
                continue;
            add_collective(&b, &(struct holder){0, &sp->layers[part].gather}, 1);
            add_collective(&b, &(struct holder){0, &sp->layers[part].reduce}, 1);
            add_collective(&b, &(struct holder){0, &sp->layers[part].regather}, 1);
        }
        for (int i = 0; i < TSIM_N_LAYER_PRODUCTS && plan->gathers_products; i++) {
            add_collective(&b, &(struct holder){0, &sp->product_gathers[i]}, 1);
            add_collective(&b, &(struct holder){0, &sp->product_reduces[i]}, 1);
        }
        add_collective(&b, &(struct holder){0, &sp->root_gather}, 1);
        add_collective(&b, &(struct holder){0, &sp->root_reduce}, 1);
    } else if (plan->has_data_group) {
        for (int32_t part = 0; part < tsim_schedule_n_parts(&plan->schedule); part++)
            add_model_part(&b, part);
    }
    for (int32_t i = 0; i < plan->n_pass_collectives; i++)
        for (int32_t stage = 0; stage < plan->schedule.stages; stage++)
            add_collective(&b, &(struct holder){stage, &plan->pass_collectives[i]}, 1);
    if (plan->has_tied_reduction) {
        const struct holder ends[] = {{0, &plan->tied}, {plan->schedule.stages - 1, &plan->tied}};
        add_collective(&b, ends, 2);
    }
}
