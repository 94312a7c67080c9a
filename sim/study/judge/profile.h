/* profile.h - a profiler's record of a step on one accelerator, compared with the prediction.
 *
 * Kernels are sorted into classes by their names (cuBLAS, CUTLASS, cuDNN, FlashAttention, Triton, PyTorch, Apex,
 * Transformer Engine, NCCL), and operators of a scenario by what they are. Several steps give the mean of one. */
#pragma once

#include "run/result.h"

enum tsim_kernel_class {
    TSIM_KERNEL_PRODUCT, /* matrix products */
    TSIM_KERNEL_CONVOLUTION,
    TSIM_KERNEL_ATTENTION, /* the core, forward (or if the name does not tell) */
    TSIM_KERNEL_ATTENTION_BACKWARD,
    TSIM_KERNEL_ELEMENT, /* norms, activations, residuals, rotary, loss, casts: bound by memory */
    TSIM_KERNEL_OPTIMIZER,
    TSIM_KERNEL_COMMUNICATION,
    TSIM_KERNEL_COPY, /* memcpy and memset: not predicted */
    TSIM_N_KERNEL_CLASSES
};

/* A row has all kernels of one name in a step. */
struct tsim_profile_kernel {
    const char *name;
    enum tsim_kernel_class class;
    double count, time_s; /* number of kernels in a step, and their time together */
};

/* An event is one kernel that ran. */
struct tsim_profiled_kernel {
    uint32_t kernel; /* index of its name in the profile's kernels */
    double time_s;
};

struct tsim_profile {
    const char *file;
    double n_steps;    /* that were seen */
    bool has_steps;    /* steps are marked, or told apart by the optimizer; else all kernels are one step */
    bool is_by_update; /* steps go from the optimizer's update to the next, because none is marked */
    /* These are means over the steps: */
    double step_s;    /* from the beginning of a step to that of the next (tsim_profile_add_step) */
    double busy_s;    /* in which at least one kernel runs */
    double exposed_s; /* in which only communication runs */
    double class_s[TSIM_N_KERNEL_CLASSES], class_count[TSIM_N_KERNEL_CLASSES];
    struct tsim_profile_kernel *kernels; /* the longest first */
    size_t n_kernels;
    const struct tsim_profiled_kernel *events; /* of all steps, in the order in which they began */
    size_t n_events;
    size_t n_other_device; /* kernels of other accelerators, which were left out */
};

/* ---- building; the caller reads a file and tells what is in it ---- */
struct tsim_profile_builder;
struct tsim_profile_builder *tsim_profile_begin(struct tsim_arena *arena, const char *file);
struct tsim_profile_event {
    const char *name;
    bool is_copy;
    int64_t device;
    int64_t stream, correlation; /* where it ran, and the call that launched it; negative: not known */
    double start_s, end_s;       /* from any origin */
};
/* Adds a kernel that ran. Only kernels of the first device that is seen count. */
void tsim_profile_add_kernel(struct tsim_profile_builder *builder, const struct tsim_profile_event *event);
/* Adds the time at which the host made the call with that number. */
void tsim_profile_add_launch(struct tsim_profile_builder *builder, int64_t correlation, double start_s);
/* Adds a marked step, as the host or (better) as the device saw it. Marks with one number are one step, which profilers
 * mark on every stream; a negative number is a step of its own.
 *
 * A host runs ahead of its device: kernels that run between its marks may belong to the step before, and its own
 * kernels may run on long after the mark's end. So steps of the host have the kernels that were launched between their
 * marks, and last as long as those, if that is longer than the marks are apart. A kernel whose launch is not known
 * counts. */
void tsim_profile_add_step(struct tsim_profile_builder *builder, bool is_device, int64_t number, double start_s,
                           double end_s);
/* Finds the steps and adds up their kernels. If no step is marked, kernels of Adam, SGD and the like tell them apart: a
 * step goes from the end of an update to the end of the next one, and what stands before the first and behind the last
 * update is left out. With fewer than two updates all kernels are one step. Returns TSIM_ERR_SCHEMA if there is no
 * kernel. Steps that cannot hold their kernels give a warning. It releases the builder. */
enum tsim_status tsim_profile_end(struct tsim_profile_builder *builder, struct tsim_profile *profile,
                                  struct tsim_diags *diags);

void tsim_profile_abandon(struct tsim_profile_builder *builder); /* releases it, for a file that cannot be read */

enum tsim_kernel_class tsim_kernel_class_of(const char *name);
const char *tsim_kernel_class_name(enum tsim_kernel_class class);

/* Reads a trace from memory: JSON of Chrome's trace events, as PyTorch's profiler (Kineto) and rocprof export it, or
 * rocprofv3's JSON. Events of the categories kernel, gpu_memcpy and gpu_memset count, and annotations ProfilerStep#N
 * mark steps. A mistake is TSIM_ERR_SYNTAX with its place. */
enum { TSIM_PROFILE_MAX_BYTES = 1000 * 1000 * 1000 };
enum tsim_status tsim_profile_read_kineto(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                          struct tsim_profile *profile, struct tsim_diags *diags);

/* The first returns whether a text is a table of kernels (CSV) that rocprof, rocprofv3 or `nsys stats` writes, the
 * second reads it. A mistake is TSIM_ERR_SYNTAX with its line. */
bool tsim_profile_is_table(const char *text, size_t size);
enum tsim_status tsim_profile_read_table(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                         struct tsim_profile *profile, struct tsim_diags *diags);
/* Reads a trace or a table, whichever the first line shows it to be. */
static inline enum tsim_status tsim_profile_read_text(struct tsim_arena *arena, const char *file, const char *text,
                                                      size_t size, struct tsim_profile *profile,
                                                      struct tsim_diags *diags) {
    return (tsim_profile_is_table(text, size) ? tsim_profile_read_table
                                              : tsim_profile_read_kineto)(arena, file, text, size, profile, diags);
}

/* ---- beside a prediction ---- */
struct tsim_profile_line {
    double predicted_s, predicted_count; /* of the critical rank, in a step */
};
struct tsim_profile_comparison {
    struct tsim_profile_line classes[TSIM_N_KERNEL_CLASSES];
    double predicted_step_s, predicted_exposed_s, predicted_idle_s; /* idle: bubble and waits for data */
};
void tsim_profile_compare(const struct tsim_result *result, struct tsim_profile_comparison *comparison);
/* Returns the class of an operator, "attention core (backward)" for example, or of another task that computes this
 * much. */
enum tsim_kernel_class tsim_operator_class(const char *name, bool is_on_compute_stream, double flops);
