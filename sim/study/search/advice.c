#include "study/search/advice.h"

#include "config/supports.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

#define MIN_GAIN_FRAC 0.01
#define SAME_FRAC (1 - 1e-6) /* of changes that gain the same, the first */

struct candidate {
    struct tsim_scenario scenario;
    const char *setting;
    bool is_all_of_input; /* several settings, each of which may be a candidate of its own */
    double time_s;
};

enum { MAX_CANDIDATES = 48 };

struct candidates {
    struct tsim_arena *arena;
    const struct tsim_scenario *base;
    struct candidate *items;
    int32_t n;
};

static struct tsim_scenario *add(struct candidates *list, const char *setting) {
    TSIM_ASSERT(list->n < MAX_CANDIDATES);
    struct candidate *candidate = &list->items[list->n++];
    candidate->scenario = *list->base;
    candidate->setting = setting;
    return &candidate->scenario;
}

static void add_recompute(struct candidates *list) {
    static const struct {
        enum tsim_recompute recompute;
        const char *setting;
    } LESS[] = {{TSIM_RECOMPUTE_NONE, "training.recompute=none"},
                {TSIM_RECOMPUTE_SELECTIVE, "training.recompute=selective"}};
    for (size_t i = 0; i < sizeof LESS / sizeof LESS[0]; i++)
        if (list->base->training.recompute > LESS[i].recompute)
            add(list, LESS[i].setting)->training.recompute = LESS[i].recompute;
}

static void add_attention(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    if (sc->training.attention == TSIM_ATTENTION_STANDARD &&
        tsim_has_flash(sc->cluster.node->accelerator, sc->software->attention_kernel))
        add(list, "training.attention=flash")->training.attention = TSIM_ATTENTION_FLASH;
}

/* A larger micro-batch makes larger products and fewer messages, but a longer bubble. */
static void add_micro_batches(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    for (int64_t factor = 2; factor <= 4; factor *= 2) {
        int64_t n = sc->n_microbatches / factor;
        if (sc->n_microbatches % factor || !tsim_microbatches_work(sc, n))
            continue;
        int64_t size = sc->training.micro_batch_size * factor;
        struct tsim_scenario *changed =
            add(list, tsim_arena_printf(list->arena, "training.micro_batch_size=%lld", (long long)size));
        changed->training.micro_batch_size = size;
        changed->n_microbatches = n;
    }
}

/* Smaller ones: more of them fill a pipeline better. */
static void add_small_micro_batch(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    int64_t size = sc->training.micro_batch_size / 2;
    if (sc->parallelism.pipeline == 1 || sc->training.micro_batch_size % 2 ||
        !tsim_microbatches_work(sc, sc->n_microbatches * 2))
        return;
    struct tsim_scenario *changed =
        add(list, tsim_arena_printf(list->arena, "training.micro_batch_size=%lld", (long long)size));
    changed->training.micro_batch_size = size;
    changed->n_microbatches *= 2;
}

/* Matrix units for 16 bits, and half the traffic, where training is in 32; fewer launches where the accelerator waits for
 * those of fp8. */
static void add_precision(struct candidates *list, const struct tsim_result *result) {
    const struct tsim_scenario *sc = list->base;
    const double *peak = sc->cluster.node->accelerator->peak_flops_per_s;
    enum tsim_precision own = sc->training.precision, to = peak[TSIM_BF16] > 0 ? TSIM_BF16 : TSIM_FP16;
    bool is_wide = own == TSIM_FP32 || own == TSIM_TF32;
    bool waits = own == TSIM_FP8 && result->step.bounds.host_frac >= MIN_GAIN_FRAC;
    if ((!is_wide && !waits) || !(peak[to] > 0))
        return;
    add(list, tsim_arena_printf(list->arena, "training.precision=%s", tsim_precision_name(to)))->training.precision =
        to;
}

/* Less to reduce, or less to gather where memory allows it. */
static void add_less_traffic(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    if (p->data * p->context == 1)
        return;
    if (sc->training.gradient_precision == TSIM_FP32 &&
        (sc->training.precision == TSIM_BF16 || sc->training.precision == TSIM_FP16))
        add(list, tsim_arena_printf(list->arena, "training.gradient_precision=%s",
                                    tsim_precision_name(sc->training.precision)))
            ->training.gradient_precision = sc->training.precision;
    for (int zero = p->zero - 1; zero > 0; zero--)
        add(list, tsim_arena_printf(list->arena, "parallelism.zero=%d", zero))->parallelism.zero = zero;
    if (p->zero == 3 && p->reshard_after_forward)
        add(list, "parallelism.reshard_after_forward=false")->parallelism.reshard_after_forward = false;
    if (p->zero == 3)
        add(list, tsim_arena_printf(list->arena, "parallelism.prefetch=%lld", 2 * (long long)p->prefetch + 1))
            ->parallelism.prefetch = 2 * p->prefetch + 1;
}

/* Layers as CUDA graphs, where the accelerator waits for launches and the framework is Transformer Engine's. */
static void add_graphs(struct candidates *list, const struct tsim_result *result) {
    const struct tsim_software *own = list->base->software;
    if (result->step.bounds.host_frac < MIN_GAIN_FRAC || own->fusion != TSIM_FUSION_TE ||
        own->cuda_graphs != TSIM_GRAPHS_NONE)
        return;
    struct tsim_software *captured = TSIM_NEW(list->arena, struct tsim_software);
    *captured = *own;
    captured->cuda_graphs = TSIM_GRAPHS_LAYERS;
    add(list, "software.cuda_graphs=layers")->software = captured;
}

/* Sets v chunks a stage: their schedule, too, where the scenario names one that has a single chunk. */
static const char *interleaving_setting(struct candidates *list, int64_t v) {
    const struct tsim_parallelism_spec *p = &list->base->parallelism;
    bool is_named = p->says_schedule && v > 1 && p->schedule != TSIM_SCHEDULE_INTERLEAVED;
    return tsim_arena_printf(list->arena, "parallelism.virtual_pipeline=%lld%s", (long long)v,
                             is_named ? " --set parallelism.schedule=interleaved" : "");
}

/* Every interleaving that divides the layers: the bubble shrinks, messages multiply, and may hide. */
static void add_interleaving(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    int64_t layers = sc->model->layers;
    if (p->pipeline == 1 || p->says_layers || p->schedule >= TSIM_SCHEDULE_ZB_H1)
        return;
    struct tsim_plan_choice choice = tsim_scenario_choice(sc);
    for (int64_t v = 1; v <= layers / p->pipeline && list->n < MAX_CANDIDATES - 30; v++) {
        const struct tsim_scenario *changed;
        choice.virtual_pipeline = v;
        choice.schedule = v > 1 ? TSIM_SCHEDULE_INTERLEAVED : TSIM_SCHEDULE_1F1B;
        if (layers % (p->pipeline * v) == 0 && v != p->virtual_pipeline &&
            tsim_scenario_replan(list->arena, sc, &choice, &changed))
            *add(list, interleaving_setting(list, v)) = *changed;
    }
}

static void add_sequence(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    if (!sc->parallelism.sequence && sc->parallelism.tensor > 1 &&
        sc->training.sequence_length % (sc->parallelism.tensor * sc->parallelism.context) == 0 &&
        sc->training.decoder_sequence_length % sc->parallelism.tensor == 0)
        add(list, "parallelism.sequence=true")->parallelism.sequence = true;
}

static void add_overlaps(struct candidates *list) {
    const struct tsim_parallelism_spec *p = &list->base->parallelism;
    if (list->base->cluster.node->accelerator->execution == TSIM_EXECUTION_BULK_SYNCHRONOUS)
        return; /* computing and exchanging take turns */
    if (!p->overlap.gradients && p->data * p->context > 1)
        add(list, "parallelism.overlap.gradients=true")->parallelism.overlap.gradients = true;
    if (!p->overlap.parameters && p->zero > 0 && p->data * p->context > 1)
        add(list, "parallelism.overlap.parameters=true")->parallelism.overlap.parameters = true;
    if (!p->overlap.tensor && p->tensor > 1 && p->sequence && tsim_has_tensor_overlap(list->base->training.precision))
        add(list, "parallelism.overlap.tensor=true")->parallelism.overlap.tensor = true;
    if (!p->overlap.pipeline && p->pipeline > 1)
        add(list, "parallelism.overlap.pipeline=true")->parallelism.overlap.pipeline = true;
}

/* Fewer ranks that share the experts exchange less between nodes, more hold less; the nearest of both that can be. */
static void add_expert_ranks(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    for (int step = -1; step <= 1; step += 2) {
        struct tsim_parallelism_spec p = sc->parallelism;
        do
            p.expert += step;
        while (p.expert >= 1 && p.expert <= sc->model->experts.count &&
               (sc->model->experts.count % p.expert != 0 || tsim_expert_ranks(&p).data == 0));
        if (p.expert < 1 || p.expert > sc->model->experts.count)
            continue;
        add(list, tsim_arena_printf(list->arena, "parallelism.expert=%lld", (long long)p.expert))->parallelism.expert =
            p.expert;
    }
}

static void add_experts(struct candidates *list) {
    const struct tsim_parallelism_spec *p = &list->base->parallelism;
    if (list->base->model->experts.count == 0)
        return;
    add_expert_ranks(list);
    if (p->expert > 1 && !p->overlap.expert)
        add(list, "parallelism.overlap.expert=true")->parallelism.overlap.expert = true;
    struct tsim_parallelism_spec whole = *p;
    whole.expert_tensor = 1;
    if (tsim_expert_tensor(p) > 1 && p->sequence && tsim_expert_ranks(&whole).data > 0)
        add(list, "parallelism.expert_tensor=1")->parallelism.expert_tensor = 1;
}

/* ---- the input pipeline ---- */

static bool holds_buffers(const struct tsim_scenario *sc) {
    double host = sc->cluster.node->host_memory_bytes;
    return !(host > 0) || tsim_data_host_bytes(sc) <= host;
}

/* Twice as many again and again, up to the host's cores. */
static void add_workers(struct candidates *list) {
    const struct tsim_data_spec *data = &list->base->data;
    int64_t cores = list->base->cluster.node->host_cores, most = cores > 0 ? cores : 4 * data->workers;
    for (int64_t n = 2 * data->workers; data->workers < most && data->prefetch > 0; n *= 2) {
        struct tsim_scenario changed = *list->base;
        n = n < most ? n : most;
        changed.data.workers = n;
        if (holds_buffers(&changed))
            *add(list, tsim_arena_printf(list->arena, "data.workers=%lld", (long long)n)) = changed;
        if (n == most)
            return;
    }
}

static void add_prefetch(struct candidates *list) {
    struct tsim_scenario changed = *list->base;
    changed.data.prefetch = changed.data.prefetch < 2 ? 2 : 2 * changed.data.prefetch;
    if (holds_buffers(&changed))
        *add(list, tsim_arena_printf(list->arena, "data.prefetch=%lld", (long long)changed.data.prefetch)) = changed;
}

static void add_storage(struct candidates *list) {
    const struct tsim_data_spec *data = &list->base->data;
    struct tsim_storage *faster = TSIM_NEW(list->arena, struct tsim_storage);
    char text[40];
    *faster = *data->storage;
    faster->bandwidth_bytes_per_s *= 2;
    faster->client_bytes_per_s *= 2;
    if (data->access == TSIM_ACCESS_RANDOM)
        add(list, "data.access=sequential")->data.access = TSIM_ACCESS_SEQUENTIAL;
    if (!(data->storage->client_bytes_per_s > 0)) {
        tsim_quantity_human(faster->bandwidth_bytes_per_s, TSIM_BYTES_PER_S, text, sizeof text);
        add(list, tsim_arena_printf(list->arena, "data.storage.bandwidth='%s'", text))->data.storage = faster;
    }
}

/* All that can be had at once: each alone may find the next limit close by. */
static void add_all_of_input(struct candidates *list) {
    struct tsim_scenario changed = *list->base;
    struct tsim_data_spec *data = &changed.data;
    int64_t cores = changed.cluster.node->host_cores;
    if (data->access == TSIM_ACCESS_SEQUENTIAL || cores <= data->workers)
        return;
    data->access = TSIM_ACCESS_SEQUENTIAL;
    data->workers = cores;
    data->prefetch = data->prefetch < 2 ? 2 : data->prefetch;
    if (!holds_buffers(&changed))
        return;
    *add(list, tsim_arena_printf(list->arena, "data.access=sequential --set data.workers=%lld --set data.prefetch=%lld",
                                 (long long)cores, (long long)data->prefetch)) = changed;
    list->items[list->n - 1].is_all_of_input = true;
}

static void add_input(struct candidates *list, const struct tsim_result *result) {
    if (!list->base->data.has || !(result->step.terms.data_stall_s > MIN_GAIN_FRAC * result->step.terms.time_s))
        return;
    add_workers(list);
    add_prefetch(list);
    add_storage(list);
    add_all_of_input(list);
}

/* Advice that the software cannot follow is none. What the scenario itself asks for beyond it is no reason. */
static void drop_unsupported(struct candidates *list) {
    struct tsim_unsupported lacks[TSIM_MOST_UNSUPPORTED];
    size_t n_own = tsim_scenario_unsupported(list->arena, list->base, lacks);
    int32_t n = 0;
    for (int32_t i = 0; i < list->n; i++)
        if (tsim_scenario_unsupported(list->arena, &list->items[i].scenario, lacks) <= n_own)
            list->items[n++] = list->items[i];
    list->n = n;
}

static void simulate(struct candidate *candidate) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_result result;
    const struct tsim_run_options options = {.is_steady = true};
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    candidate->time_s = 0;
    if (tsim_train_run(&arena, &candidate->scenario, &options, &result, &diags) == TSIM_OK && result.step.simulated)
        candidate->time_s = result.step.terms.time_s;
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

/* Several settings at once are worth a line where none of them alone does nearly as well. */
static void drop_needless_pairs(struct candidates *list) {
    double best_single_s = (double)INFINITY;
    for (int32_t i = 0; i < list->n; i++)
        if (list->items[i].time_s > 0 && !list->items[i].is_all_of_input)
            best_single_s = fmin(best_single_s, list->items[i].time_s);
    for (int32_t i = 0; i < list->n; i++)
        if (list->items[i].is_all_of_input && best_single_s < (1 + MIN_GAIN_FRAC) * list->items[i].time_s)
            list->items[i].time_s = 0;
}

/* One line per setting: its best value. */
static void drop_setting(struct candidates *list, const char *setting) {
    size_t length = strcspn(setting, "=");
    for (int32_t i = 0; i < list->n; i++)
        if (strncmp(list->items[i].setting, setting, length + 1) == 0)
            list->items[i].time_s = 0;
}

void tsim_advise(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_prediction *prediction) {
    enum { MAX_ADVICE = sizeof prediction->advice / sizeof prediction->advice[0] };
    const struct tsim_result *result = &prediction->result;
    if (!result->step.simulated)
        return;
    struct candidates list = {
        .arena = arena, .base = scenario, .items = TSIM_NEW_ARRAY(arena, MAX_CANDIDATES, struct candidate)};
    add_recompute(&list);
    add_attention(&list);
    add_micro_batches(&list);
    add_interleaving(&list);
    add_sequence(&list);
    add_overlaps(&list);
    add_experts(&list);
    add_small_micro_batch(&list);
    add_precision(&list, result);
    add_less_traffic(&list);
    add_graphs(&list, result);
    add_input(&list, result);
    drop_unsupported(&list);
    for (int32_t i = 0; i < list.n; i++)
        simulate(&list.items[i]);
    drop_needless_pairs(&list);
    double own_s = tsim_steady_time_s(&result->step);
    while (prediction->n_advice < MAX_ADVICE) {
        struct candidate *best = NULL;
        for (int32_t i = 0; i < list.n; i++)
            if (list.items[i].time_s > 0 && (!best || list.items[i].time_s < SAME_FRAC * best->time_s))
                best = &list.items[i];
        double gain_frac = best ? 1 - best->time_s / own_s : 0;
        if (gain_frac < MIN_GAIN_FRAC)
            return;
        char text[32];
        prediction->advice[prediction->n_advice++] =
            tsim_arena_printf(arena, "%s: step %s, %.1f %% faster", best->setting,
                              tsim_quantity_human(best->time_s, TSIM_TIME_S, text, sizeof text), 100 * gain_frac);
        drop_setting(&list, best->setting);
    }
}
