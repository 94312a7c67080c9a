/* replay_spec.h - a replay as it is written: which execution traces, on which cluster, and what of them is simulated.
 *
 *   schema: tsim/replay/v1
 *   name: job
 *   traces: [job.0.et, {file: other.et, rank: 1}]   # beside this file; by default the rank is that in the name
 *   cluster: {node: dgx-h100, nodes: 1}             # as in a scenario */
#pragma once

#include "config/keys/schema.h"
#include "config/scenario.h"

struct tsim_replay_trace {
    const char *file; /* a path that can be opened */
    int64_t rank;     /* -1: the one in the file's name */
};

enum tsim_replay_way { TSIM_REPLAY_RECORDED, TSIM_REPLAY_SIMULATED };

struct tsim_replay_spec {
    const char *name, *description, *file;
    struct tsim_replay_trace *traces;
    size_t n_traces;
    const char *groups;           /* path of a file; NULL: none */
    enum tsim_replay_way kernels; /* simulated: by roofline */
    enum tsim_replay_way communication;
    enum tsim_network network;
    enum tsim_precision precision;
    double eager_bytes;                          /* a message of this size or less does not wait for its receiver */
    double measured_s;                           /* step time to compare with; 0: none */
    const struct tsim_value *cluster, *software; /* as they are written */
    const struct tsim_scenario *scenario;        /* for its cluster; its model and training mean nothing */
};

enum { TSIM_REPLAY_MOST_TRACES = 65536 };

/* Returns whether the file's root says that it is a replay, for commands that take both; false if it cannot be read. */
bool tsim_replay_is(const char *file);

/* Loads a replay as tsim_scenario_load loads a scenario. */
enum tsim_status tsim_replay_load(struct tsim_arena *arena, const char *file, const struct tsim_override *overrides,
                                  size_t n_overrides, const struct tsim_replay_spec **spec, struct tsim_diags *diags);
enum tsim_status tsim_replay_load_text(struct tsim_arena *arena, const char *file, const char *text,
                                       const struct tsim_override *overrides, size_t n_overrides,
                                       const struct tsim_replay_spec **spec, struct tsim_diags *diags);

extern const struct tsim_table tsim_replay_table;
