#include "workload/schedule.h"

static int32_t min_int(int32_t a, int32_t b) {
    return a < b ? a : b;
}

int32_t tsim_schedule_n_items(const struct tsim_schedule_shape *z) {
    return 2 * z->microbatches * z->chunks;
}

static int32_t n_warmup(const struct tsim_schedule_shape *z, int32_t stage) {
    int32_t all = z->microbatches * z->chunks;
    if (z->schedule == TSIM_SCHEDULE_GPIPE)
        return all;
    if (z->chunks == 1)
        return min_int(z->stages - 1 - stage, all);
    /* Megatron: with exactly one group of micro-batches everything is warm-up. */
    if (z->microbatches == z->stages)
        return all;
    return min_int(2 * (z->stages - 1 - stage) + (z->chunks - 1) * z->stages, all);
}

/* The i-th forward (or, mirrored in the chunks, backward) pass: groups of p micro-batches go through chunk 0, then the
 * same group through chunk 1, and so on. */
static struct tsim_pass_item nth_pass(const struct tsim_schedule_shape *z, int32_t i, bool is_backward) {
    int32_t per_group = z->stages * z->chunks, in_group = i % per_group;
    int32_t chunk = in_group / z->stages;
    return (struct tsim_pass_item){.is_backward = is_backward,
                                   .microbatch = i / per_group * z->stages + in_group % z->stages,
                                   .chunk = is_backward ? z->chunks - 1 - chunk : chunk};
}

static struct tsim_pass_item plain(int32_t microbatch, bool is_backward) {
    return (struct tsim_pass_item){.is_backward = is_backward, .microbatch = microbatch, .chunk = 0};
}

struct tsim_pass_item tsim_schedule_item(const struct tsim_schedule_shape *z, int32_t stage, int32_t index) {
    if (z->schedule == TSIM_SCHEDULE_SEQUENTIAL)
        return plain(index / 2, index % 2);
    int32_t all = z->microbatches * z->chunks, warmup = n_warmup(z, stage);
    bool is_backward;
    int32_t nth;
    if (index < warmup) {
        is_backward = false, nth = index;
    } else if (index < 2 * all - warmup) { /* steady: forward, backward, forward, backward */
        is_backward = (index - warmup) % 2, nth = is_backward ? (index - warmup) / 2 : warmup + (index - warmup) / 2;
    } else {
        is_backward = true, nth = index - all;
    }
    return z->chunks == 1 ? plain(nth, is_backward) : nth_pass(z, nth, is_backward);
}

int32_t tsim_schedule_peak_in_flight(const struct tsim_schedule_shape *z, int32_t stage) {
    if (z->schedule == TSIM_SCHEDULE_SEQUENTIAL)
        return 1;
    return min_int(n_warmup(z, stage) + 1, z->microbatches * z->chunks);
}

double tsim_schedule_bubble_ratio(const struct tsim_schedule_shape *z) {
    double p = z->stages, m = z->microbatches, v = z->chunks;
    return z->schedule == TSIM_SCHEDULE_SEQUENTIAL ? p - 1 : (p - 1) / (m * v);
}
