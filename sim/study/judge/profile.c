#include "study/judge/profile.h"

#include "base/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct event {
    double start_s, end_s;
    int64_t correlation;
    int32_t stream; /* negative: not told */
    uint32_t name;
};

struct launch {
    int64_t correlation;
    double start_s;
};

struct step {
    int64_t number; /* negative: none */
    double start_s, end_s;
};

struct tsim_profile_builder {
    struct tsim_arena *arena;
    const char *file;
    struct event *events; /* heap */
    size_t n_events, events_capacity;
    struct launch *launches; /* heap */
    size_t n_launches, launches_capacity;
    struct tsim_profile_kernel *names; /* heap; each name once */
    size_t n_names, names_capacity;
    uint32_t *slots; /* heap; of names by hash, 0: free */
    size_t n_slots;
    struct step *steps[2]; /* heap; marks of the host, of the device: several may be of one step */
    size_t n_steps[2], steps_capacity[2];
    int64_t device;
    size_t n_other_device;
};

/* ---- classes ---- */

const char *tsim_kernel_class_name(enum tsim_kernel_class class) {
    static const char *const NAMES[] = {"matrix products",     "convolutions", "attention",     "attention, backward",
                                        "element-wise, norms", "optimizer",    "communication", "copies"};
    return NAMES[class];
}

static bool has_any(const char *name, const char *const *parts) {
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

/* Names as the libraries give them, in lower case. */
enum tsim_kernel_class tsim_kernel_class_of(const char *name) {
    static const char *const COMMUNICATION[] = {"nccl", "rccl", "nvshmem", "deep_ep", "userbuffers", NULL};
    static const char *const COPY[] = {"memcpy", "memset", NULL};
    static const char *const OPTIMIZER[] = {"adam", "multi_tensor_apply", "multitensorapply", "foreach", "lamb", NULL};
    static const char *const ATTENTION[] = {"flash", "fmha", "sdpa", "attention", NULL};
    static const char *const BACKWARD[] = {"bwd", "backward", "dgrad", "bprop", NULL};
    /* Kernels of cuDNN (fprop, dgrad, wgrad of xmma and CUTLASS; the older scudnn, h884cudnn; its engines), of PyTorch
     * (conv_depthwise2d) and MIOpen; not what cuDNN does of norms and layouts. */
    static const char *const CONVOLUTION[] = {
        "fprop",          "dgrad",         "wgrad",         "implicit_gemm", "convolve",  "convolution",
        "conv2d",         "conv3d",        "conv1d",        "winograd",      "im2col",    "col2im",
        "conv_depthwise", "conv_forward",  "scudnn",        "884cudnn",      "688cudnn",  "816cudnn",
        "sp3asmconv",     "igemm_fwd_gtc", "igemm_bwd_gtc", "igemm_wrw_gtc", "fft2d_r2c", NULL};
    static const char *const PRODUCT[] = {"gemm",  "nvjet", "xmma", "cublas", "cutlass",
                                          "wgmma", "cijk_", "gemv", "splitk", NULL};
    char lower[512];
    tsim_lower(name, lower, sizeof lower);
    if (has_any(lower, COMMUNICATION))
        return TSIM_KERNEL_COMMUNICATION;
    if (has_any(lower, COPY))
        return TSIM_KERNEL_COPY;
    if (has_any(lower, ATTENTION))
        return has_any(lower, BACKWARD) ? TSIM_KERNEL_ATTENTION_BACKWARD : TSIM_KERNEL_ATTENTION;
    if (has_any(lower, OPTIMIZER))
        return TSIM_KERNEL_OPTIMIZER;
    if (has_any(lower, CONVOLUTION))
        return TSIM_KERNEL_CONVOLUTION;
    return has_any(lower, PRODUCT) ? TSIM_KERNEL_PRODUCT : TSIM_KERNEL_ELEMENT;
}

/* ---- building ---- */

struct tsim_profile_builder *tsim_profile_begin(struct tsim_arena *arena, const char *file) {
    struct tsim_profile_builder *b = TSIM_NEW(arena, struct tsim_profile_builder);
    b->arena = arena;
    b->file = tsim_arena_strdup(arena, file);
    b->device = INT64_MIN;
    return b;
}

static size_t slot_of(const struct tsim_profile_builder *b, const char *name) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t slot = (size_t)hash & (b->n_slots - 1);
    while (b->slots[slot] && strcmp(b->names[b->slots[slot] - 1].name, name) != 0)
        slot = (slot + 1) & (b->n_slots - 1);
    return slot;
}

static void grow_slots(struct tsim_profile_builder *b) {
    if (2 * (b->n_names + 1) <= b->n_slots)
        return;
    size_t capacity = 0;
    tsim_heap_free(b->slots);
    b->n_slots = b->n_slots ? 2 * b->n_slots : 1024;
    b->slots = tsim_heap_grow(NULL, &capacity, b->n_slots, sizeof *b->slots);
    memset(b->slots, 0, b->n_slots * sizeof *b->slots);
    for (size_t i = 0; i < b->n_names; i++)
        b->slots[slot_of(b, b->names[i].name)] = (uint32_t)i + 1;
}

static uint32_t name_index(struct tsim_profile_builder *b, const char *name, bool is_copy) {
    grow_slots(b);
    size_t slot = slot_of(b, name);
    if (b->slots[slot])
        return b->slots[slot] - 1;
    b->names = tsim_heap_grow(b->names, &b->names_capacity, b->n_names + 1, sizeof *b->names);
    b->names[b->n_names] = (struct tsim_profile_kernel){tsim_arena_strdup(b->arena, name),
                                                        is_copy ? TSIM_KERNEL_COPY : tsim_kernel_class_of(name), 0, 0};
    b->slots[slot] = (uint32_t)++b->n_names;
    return b->slots[slot] - 1;
}

void tsim_profile_add_kernel(struct tsim_profile_builder *b, const struct tsim_profile_event *e) {
    if (b->device == INT64_MIN)
        b->device = e->device;
    if (e->device != b->device || !(e->end_s >= e->start_s) || !isfinite(e->start_s) || !isfinite(e->end_s)) {
        b->n_other_device++;
        return;
    }
    b->events = tsim_heap_grow(b->events, &b->events_capacity, b->n_events + 1, sizeof *b->events);
    b->events[b->n_events++] = (struct event){.start_s = e->start_s,
                                              .end_s = e->end_s,
                                              .correlation = e->correlation,
                                              .stream = e->stream <= INT32_MAX ? (int32_t)e->stream : -1,
                                              .name = name_index(b, e->name, e->is_copy)};
}

void tsim_profile_add_launch(struct tsim_profile_builder *b, int64_t correlation, double start_s) {
    if (correlation < 0 || !isfinite(start_s))
        return;
    b->launches = tsim_heap_grow(b->launches, &b->launches_capacity, b->n_launches + 1, sizeof *b->launches);
    b->launches[b->n_launches++] = (struct launch){correlation, start_s};
}

void tsim_profile_add_step(struct tsim_profile_builder *b, bool is_device, int64_t number, double start_s,
                           double end_s) {
    if (!(end_s > start_s) || !isfinite(start_s) || !isfinite(end_s))
        return;
    b->steps[is_device] = tsim_heap_grow(b->steps[is_device], &b->steps_capacity[is_device], b->n_steps[is_device] + 1,
                                         sizeof **b->steps);
    b->steps[is_device][b->n_steps[is_device]++] = (struct step){number, start_s, end_s};
}

/* ---- figures ---- */

static int by_start(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

static int by_time(const void *a, const void *b) {
    const struct tsim_profile_kernel *x = a, *y = b;
    if (x->time_s != y->time_s)
        return (x->time_s < y->time_s) - (x->time_s > y->time_s);
    return strcmp(x->name, y->name);
}

/* Returns how long at least one of the events runs; events are sorted by their start. `with_communication` counts all
 * of them. */
static double union_s(const struct tsim_profile_builder *b, bool with_communication) {
    double total_s = 0, end_s = -HUGE_VAL;
    for (size_t i = 0; i < b->n_events; i++) {
        const struct event *e = &b->events[i];
        if (!with_communication && b->names[e->name].class == TSIM_KERNEL_COMMUNICATION)
            continue;
        if (e->end_s > end_s)
            total_s += e->end_s - fmax(e->start_s, end_s);
        end_s = fmax(end_s, e->end_s);
    }
    return total_s;
}

static int by_correlation(const void *a, const void *b) {
    const struct launch *x = a, *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* Returns when a kernel was launched: the last call of its number (which several processes may use) before it began;
 * NAN: unknown. */
static double launched_s(const struct tsim_profile_builder *b, const struct event *e) {
    size_t low = 0, high = b->n_launches;
    const struct launch wanted = {e->correlation, e->start_s};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_correlation(&b->launches[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_known = low > 0 && e->correlation >= 0 && b->launches[low - 1].correlation == e->correlation;
    return is_known ? b->launches[low - 1].start_s : (double)NAN;
}

/* Drops events that began, or (marks of the host) were launched, outside [from, to): of steps that are not whole. */
static void keep_between(struct tsim_profile_builder *b, bool by_launch, double from_s, double to_s) {
    size_t n = 0;
    if (b->n_launches > 1)
        qsort(b->launches, b->n_launches, sizeof *b->launches, by_correlation);
    for (size_t i = 0; i < b->n_events; i++) {
        double at_s = by_launch ? launched_s(b, &b->events[i]) : b->events[i].start_s;
        if (isnan(at_s) || (at_s >= from_s && at_s < to_s))
            b->events[n++] = b->events[i];
    }
    b->n_events = n;
}

/* Returns the time from the first beginning to the last end. */
static double span_s(const struct tsim_profile_builder *b) {
    double end_s = -HUGE_VAL;
    for (size_t i = 0; i < b->n_events; i++)
        end_s = fmax(end_s, b->events[i].end_s);
    return b->n_events > 0 ? end_s - b->events[0].start_s : 0;
}

static int by_number(const void *a, const void *b) {
    const struct step *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Marks of one number are one step. */
static size_t count_steps(struct step *marks, size_t n_marks) {
    size_t n = 0;
    if (n_marks > 0)
        qsort(marks, n_marks, sizeof *marks, by_number);
    for (size_t i = 0; i < n_marks; i++)
        n += i == 0 || marks[i].number < 0 || marks[i].number != marks[i - 1].number;
    return n;
}

/* Kernels that change the weights, of whatever library. Those that only copy or scale gradients are not. */
static bool is_update(const char *name) {
    static const char *const PARTS[] = {"adam", "lamb", "adafactor", "lion", "sgd", "addcdiv", NULL};
    char lower[512];
    return has_any(tsim_lower(name, lower, sizeof lower), PARTS);
}

/* A product or attention belongs to a forward pass if an update comes before it. */
static bool is_work(enum tsim_kernel_class class) {
    return class == TSIM_KERNEL_PRODUCT || class == TSIM_KERNEL_CONVOLUTION || class == TSIM_KERNEL_ATTENTION;
}

/* Marks steps from the end of an update to the end of the next. Other kernels that stand between those of an update
 * belong to it, as long as no work begins. */
static void mark_by_updates(struct tsim_profile_builder *b) {
    bool *updates = tsim_arena_alloc(b->arena, b->n_names * sizeof *updates);
    double begin_s = (double)NAN, end_s = (double)NAN; /* of the step; of the update that goes on, NAN: none does */
    for (size_t i = 0; i < b->n_names; i++)
        updates[i] = is_update(b->names[i].name);
    for (size_t i = 0; i <= b->n_events; i++) {
        const struct event *e = i < b->n_events ? &b->events[i] : NULL;
        if (e && updates[e->name])
            end_s = e->end_s;
        if (isnan(end_s) || (e && !is_work(b->names[e->name].class)))
            continue;
        if (!isnan(begin_s))
            tsim_profile_add_step(b, true, -1, begin_s, end_s);
        begin_s = end_s;
        end_s = (double)NAN;
    }
}

static void find_steps(struct tsim_profile_builder *b, struct tsim_profile *p) {
    if (b->n_steps[0] + b->n_steps[1] == 0) {
        mark_by_updates(b);
        p->is_by_update = b->n_steps[1] > 0;
    }
    bool is_device = b->n_steps[1] > 0;
    size_t n = count_steps(b->steps[is_device], b->n_steps[is_device]);
    double from_s = HUGE_VAL, to_s = -HUGE_VAL;
    for (size_t i = 0; i < b->n_steps[is_device]; i++) {
        from_s = fmin(from_s, b->steps[is_device][i].start_s);
        to_s = fmax(to_s, b->steps[is_device][i].end_s);
    }
    p->has_steps = n > 0;
    p->n_steps = n > 0 ? (double)n : 1;
    if (n > 0)
        keep_between(b, !is_device, from_s, to_s);
    p->step_s = (is_device ? to_s - from_s : n > 0 ? fmax(to_s - from_s, span_s(b)) : span_s(b)) / p->n_steps;
}

struct usage {
    int32_t stream;
    double time_s;
};

static int by_stream(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* Checks that the kernels of each stream, which run one after another, fit into the step. */
static void check_streams(struct tsim_profile_builder *b, const struct tsim_profile *p, struct tsim_diags *diags) {
    static const double ROUNDING_FRAC = 1e-3; /* of times that are whole microseconds */
    struct usage most = {-1, 0}, now = {-1, 0};
    qsort(b->events, b->n_events, sizeof *b->events, by_stream);
    for (size_t i = 0; i < b->n_events; i++) {
        const struct event *e = &b->events[i];
        now = (struct usage){e->stream, (e->stream == now.stream ? now.time_s : 0) + (e->end_s - e->start_s)};
        if (now.stream >= 0 && now.time_s > most.time_s)
            most = now;
    }
    if (most.time_s > p->n_steps * p->step_s * (1 + ROUNDING_FRAC))
        tsim_diag_hint(
            tsim_diags_warning(diags, (struct tsim_place){.file = b->file}, "",
                               "the kernels of stream %d take %.3f ms of a step of %.3f ms, which is impossible",
                               (int)most.stream, 1e3 * most.time_s / p->n_steps, 1e3 * p->step_s),
            "kernels of one stream run one after another: they overlap in this trace, or steps are marked "
            "where they are not; the times below are not to be trusted");
}

static void sum_up(struct tsim_profile_builder *b, struct tsim_profile *p) {
    for (size_t i = 0; i < b->n_events; i++) {
        struct tsim_profile_kernel *kernel = &b->names[b->events[i].name];
        kernel->count += 1 / p->n_steps;
        kernel->time_s += (b->events[i].end_s - b->events[i].start_s) / p->n_steps;
    }
    for (size_t i = 0; i < b->n_names; i++) {
        p->class_s[b->names[i].class] += b->names[i].time_s;
        p->class_count[b->names[i].class] += b->names[i].count;
    }
    p->busy_s = union_s(b, true) / p->n_steps;
    p->exposed_s = p->busy_s - union_s(b, false) / p->n_steps;
}

/* Keeps kernels in the order of their times, and what ran, by their places in it. */
static void keep_events(struct tsim_profile_builder *b, struct tsim_profile *p) {
    struct tsim_profiled_kernel *events = TSIM_NEW_ARRAY(b->arena, b->n_events, struct tsim_profiled_kernel);
    uint32_t *places = TSIM_NEW_ARRAY(b->arena, b->n_names, uint32_t);
    p->kernels = TSIM_NEW_ARRAY(b->arena, b->n_names, struct tsim_profile_kernel);
    p->n_kernels = b->n_names;
    memcpy(p->kernels, b->names, b->n_names * sizeof *p->kernels);
    qsort(p->kernels, p->n_kernels, sizeof *p->kernels, by_time);
    for (uint32_t i = 0; i < p->n_kernels; i++)
        places[name_index(b, p->kernels[i].name, false)] = i;
    for (size_t i = 0; i < b->n_events; i++)
        events[i] = (struct tsim_profiled_kernel){places[b->events[i].name], b->events[i].end_s - b->events[i].start_s};
    p->events = events;
    p->n_events = b->n_events;
}

static void release(struct tsim_profile_builder *b) {
    tsim_heap_free(b->events);
    tsim_heap_free(b->launches);
    tsim_heap_free(b->names);
    tsim_heap_free(b->slots);
    tsim_heap_free(b->steps[0]);
    tsim_heap_free(b->steps[1]);
}

void tsim_profile_abandon(struct tsim_profile_builder *b) {
    release(b);
}

enum tsim_status tsim_profile_end(struct tsim_profile_builder *b, struct tsim_profile *profile,
                                  struct tsim_diags *diags) {
    struct tsim_profile p = {.file = b->file, .n_other_device = b->n_other_device};
    if (b->n_events > 1)
        qsort(b->events, b->n_events, sizeof *b->events, by_start);
    find_steps(b, &p);
    if (b->n_events == 0) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = b->file}, "",
                                        "there is no kernel of an accelerator in it"),
                       "a trace of PyTorch's profiler with ProfilerActivity.CUDA, a SQLite export of nsys, or what "
                       "rocprofv3 writes");
        release(b);
        return TSIM_ERR_SCHEMA;
    }
    sum_up(b, &p);
    keep_events(b, &p);
    check_streams(b, &p, diags);
    release(b);
    *profile = p;
    return TSIM_OK;
}

/* ---- beside a prediction ---- */

enum tsim_kernel_class tsim_operator_class(const char *name, bool is_on_compute_stream, double flops) {
    bool is_backward = strstr(name, "(backward)") || strstr(name, "gradient)");
    if (!is_on_compute_stream)
        return TSIM_KERNEL_COMMUNICATION;
    if (strncmp(name, "optimizer", 9) == 0)
        return TSIM_KERNEL_OPTIMIZER;
    if (strncmp(name, "attention core", 14) == 0 || strncmp(name, "scores", 6) == 0 || strncmp(name, "softmax", 7) == 0)
        return is_backward ? TSIM_KERNEL_ATTENTION_BACKWARD : TSIM_KERNEL_ATTENTION;
    if (strncmp(name, "convolution", 11) == 0)
        return TSIM_KERNEL_CONVOLUTION;
    return flops > 0 ? TSIM_KERNEL_PRODUCT : TSIM_KERNEL_ELEMENT;
}

void tsim_profile_compare(const struct tsim_result *result, struct tsim_profile_comparison *comparison) {
    struct tsim_profile_comparison c = {.predicted_step_s = result->step.terms.time_s,
                                        .predicted_exposed_s = result->step.terms.communication_exposed_s,
                                        .predicted_idle_s = result->step.terms.bubble_s};
    if (isfinite(result->step.terms.data_stall_s))
        c.predicted_idle_s += result->step.terms.data_stall_s;
    for (int32_t i = 0; i < result->step.n_operators; i++) {
        const struct tsim_operator_row *op = &result->step.operators[i];
        struct tsim_profile_line *line =
            &c.classes[tsim_operator_class(op->name, strcmp(op->stream, "compute") == 0, op->flops)];
        line->predicted_s += op->time_s;
        line->predicted_count += op->count;
    }
    *comparison = c;
}
