#include "step/fit_changes.h"

#include "config/provenance.h"
#include "config/supports.h"
#include "partition/memory.h"
#include "step/balance.h"

struct tsim_memory tsim_memory_of_stage(const struct tsim_scenario *sc, int32_t stage) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    struct tsim_stage_memory m;
    tsim_stage_memory(sc, stage, &m);
    return (struct tsim_memory){.capacity_bytes = a->memory_bytes,
                                .peak_bytes = m.total_bytes + a->usable_memory_reserve_bytes,
                                .weights_bytes = m.weights_bytes,
                                .gradients_bytes = m.gradients_bytes,
                                .master_bytes = m.master_bytes,
                                .optimizer_bytes = m.optimizer_bytes,
                                .activations_bytes = m.activations_bytes,
                                .buffers_bytes = m.buffers_bytes,
                                .reserve_bytes = a->usable_memory_reserve_bytes};
}

void tsim_memory_record(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    struct tsim_stage_terms kinds;
    tsim_stage_memory_recorded(r, sc, stage, &kinds);
    tsim_sum(r, "memory.capacity_bytes", "memory of the accelerator", TSIM_BYTES,
             TSIM_PARTS(tsim_of_accelerator(r, a, "memory", a->memory_bytes, TSIM_BYTES)));
    struct tsim_amount reserve = tsim_of_accelerator(r, a, "reserve", a->usable_memory_reserve_bytes, TSIM_BYTES);
    struct tsim_amount buffers = tsim_sum(r, "memory.buffers_bytes", "buffers + driver and runtime", TSIM_BYTES,
                                          TSIM_PARTS(kinds.buffers, reserve));
    tsim_sum(r, "memory.peak_bytes", tsim_record_text(r, "sum of the kinds on the fullest stage, %d", stage),
             TSIM_BYTES,
             TSIM_PARTS(kinds.weights, kinds.gradients, kinds.master, kinds.optimizer, kinds.activations, buffers));
}

struct tsim_memory tsim_fullest_stage(const struct tsim_scenario *sc, int32_t *stage) {
    struct tsim_memory fullest = tsim_memory_of_stage(sc, 0);
    *stage = 0;
    for (int32_t s = 1; s < sc->parallelism.pipeline; s++) {
        if (tsim_stage_is_like_last(sc, s))
            continue;
        struct tsim_memory m = tsim_memory_of_stage(sc, s);
        if (m.peak_bytes > fullest.peak_bytes) {
            fullest = m;
            *stage = s;
        }
    }
    return fullest;
}

/* ---- changes ---- */

enum { MAX_SETTINGS = 4 };

/* Settings one after the other, and the scenario with them. */
struct change {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    struct tsim_override settings[MAX_SETTINGS];
    size_t n_settings;
};

static double peak_bytes(const struct change *change) {
    int32_t stage;
    return tsim_fullest_stage(tsim_balance(change->arena, change->scenario, NULL), &stage).peak_bytes;
}

static bool propose_two(struct change *change, struct tsim_override first, const struct tsim_override *second) {
    struct tsim_override settings[] = {first, second ? *second : first};
    size_t n = second ? 2 : 1;
    TSIM_ASSERT(change->n_settings + n <= MAX_SETTINGS);
    bool is_valid =
        tsim_scenario_propose(change->arena, change->scenario, settings, n, &change->scenario, TSIM_UNHEARD);
    for (size_t i = 0; i < n && is_valid; i++)
        change->settings[change->n_settings++] = settings[i];
    return is_valid;
}

static bool propose(struct change *change, const char *path, const char *value) {
    return propose_two(change, (struct tsim_override){path, value}, NULL);
}

static const char *number(const struct change *change, int64_t value) {
    return tsim_arena_printf(change->arena, "%lld", (long long)value);
}

/* Each returns false, and proposes nothing, if it would change nothing here or the scenario would not be valid. */
typedef bool (*change_fn)(struct change *change);

static bool use_flash(struct change *change) {
    return change->scenario->training.attention != TSIM_ATTENTION_FLASH &&
           propose(change, "training.attention", "flash");
}

static bool use_sequence(struct change *change) {
    const struct tsim_parallelism_spec *p = &change->scenario->parallelism;
    return !p->sequence && p->tensor > 1 && propose(change, "parallelism.sequence", "true");
}

static bool use_more_zero(struct change *change, int stage) {
    const struct tsim_parallelism_spec *p = &change->scenario->parallelism;
    return p->zero < stage && tsim_is_replicated(p, p->data) &&
           propose(change, "parallelism.zero", number(change, stage));
}

static bool use_zero_1(struct change *change) {
    return use_more_zero(change, 1);
}

static bool use_zero_2(struct change *change) {
    return use_more_zero(change, 2);
}

static bool use_zero_3(struct change *change) {
    return use_more_zero(change, 3);
}

static bool use_selective(struct change *change) {
    return change->scenario->training.recompute == TSIM_RECOMPUTE_NONE && tsim_selective_differs(change->scenario) &&
           propose(change, "training.recompute", "selective");
}

/* Finds the largest micro-batch that fits, by halving. */
static bool shrink_microbatch(struct change *change) {
    const struct change before = *change;
    const double capacity_bytes = change->scenario->cluster.node->accelerator->memory_bytes;
    bool is_smaller = false, is_valid = true;
    for (int64_t size = before.scenario->training.micro_batch_size; size % 2 == 0 && is_valid; size /= 2) {
        struct change smaller = before;
        is_valid = propose(&smaller, "training.micro_batch_size", number(change, size / 2));
        if (!is_valid)
            break;
        *change = smaller;
        is_smaller = true;
        if (peak_bytes(change) <= capacity_bytes)
            break;
    }
    return is_smaller;
}

static bool use_offload(struct change *change) {
    return !change->scenario->training.offload.optimizer && propose(change, "training.offload.optimizer", "true");
}

static bool use_full(struct change *change) {
    return change->scenario->training.recompute != TSIM_RECOMPUTE_FULL && propose(change, "training.recompute", "full");
}

/* Proposes the next larger number of ranks that can share the experts. */
static bool use_expert(struct change *change) {
    int64_t n_experts = change->scenario->model->experts.count;
    struct tsim_parallelism_spec p = change->scenario->parallelism;
    while (++p.expert <= n_experts)
        if (tsim_experts_divide(n_experts, &p) && propose(change, "parallelism.expert", number(change, p.expert)))
            return true;
    return false;
}

/* Proposes the largest tensor degree that stays on a node, with fewer replicas. */
static bool use_tensor(struct change *change) {
    static const struct tsim_override REST = {"parallelism.data", "auto"};
    const struct change before = *change;
    int64_t own = before.scenario->parallelism.tensor, tensor = own;
    for (bool is_valid = true; is_valid && 2 * tensor <= before.scenario->cluster.accelerators_per_node;) {
        struct change more = before;
        is_valid = propose_two(&more, (struct tsim_override){"parallelism.tensor", number(change, 2 * tensor)}, &REST);
        if (!is_valid)
            break;
        *change = more;
        tensor *= 2;
    }
    return tensor > own;
}

static bool use_full_and_zero_3(struct change *change) {
    return use_full(change) && use_zero_3(change);
}

static bool use_full_and_shrink(struct change *change) {
    return use_full(change) && shrink_microbatch(change);
}

static bool use_full_and_offload(struct change *change) {
    return use_full(change) && use_offload(change);
}

static bool use_full_offload_and_shrink(struct change *change) {
    return use_full_and_offload(change) && shrink_microbatch(change);
}

static bool use_tensor_and_full(struct change *change) {
    return use_tensor(change) && use_full(change);
}

void tsim_fit_changes_find(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           struct tsim_step_result *result) {
    /* Several changes at once come last, and only if no single change is enough. */
    static const change_fn CHANGES[] = {use_sequence,         use_flash,
                                        use_zero_1,           use_zero_2,
                                        use_expert,           use_selective,
                                        shrink_microbatch,    use_tensor,
                                        use_zero_3,           use_full,
                                        use_offload,          use_full_and_shrink,
                                        use_full_and_zero_3,  use_tensor_and_full,
                                        use_full_and_offload, use_full_offload_and_shrink};
    enum {
        N_CHANGES = sizeof CHANGES / sizeof CHANGES[0],
        N_SINGLE = N_CHANGES - 5,
        MAX_LISTED = sizeof result->fit_changes / sizeof result->fit_changes[0]
    };
    struct tsim_unsupported lacks[TSIM_MOST_UNSUPPORTED];
    size_t n_own = tsim_scenario_unsupported(arena, scenario, lacks);
    for (int i = 0; i < N_CHANGES && result->n_fit_changes < MAX_LISTED; i++) {
        struct change change = {.arena = arena, .scenario = scenario};
        if (i >= N_SINGLE && result->n_fit_changes > 0)
            return;
        if (!CHANGES[i](&change) || tsim_scenario_unsupported(arena, change.scenario, lacks) > n_own)
            continue; /* the software cannot run it */
        double peak = peak_bytes(&change);
        if (peak <= result->memory.capacity_bytes)
            result->fit_changes[result->n_fit_changes++] = (struct tsim_fit_change){
                .setting = tsim_settings_text(arena, change.settings, change.n_settings), .peak_bytes = peak};
    }
}
