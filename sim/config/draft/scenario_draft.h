/* scenario_draft.h - private to config: a scenario on its way from tables to const. */
#pragma once

#include "config/keys/schema.h"
#include "config/scenario.h"

/* Stands for a zero_group that is not given: the software's, once the number of ranks is known. */
enum { TSIM_ZERO_GROUP_USUAL = -2 };

/* The struct that the tables fill: the scenario, and values that resolving turns into its fields. Resolving writes
 * back, so that the writer prints resolved values. */
struct tsim_draft {
    struct tsim_scenario scenario;
    const struct tsim_value *root;
    /* The scenario that a proposal changes, whose unchanged parts need not be read again; else NULL. */
    const struct tsim_scenario *base;
    bool is_job;   /* the plan is neither resolved nor checked, but left as it is written */
    int attention; /* enum tsim_attention; -1: the software's */
    int schedule;  /* enum tsim_schedule; -1: by virtual_pipeline */
    int fold;
    bool master_weights;
    int64_t data; /* 0: what is left of the cluster */
    int64_t zero;
    int64_t zero_group;    /* 0: all, -1: within a node, or TSIM_ZERO_GROUP_USUAL */
    const int64_t *layers; /* of each chunk in model order; NULL: auto */
    size_t n_layers;
    double tokens, samples, steps, epochs; /* 0: not given */
    double metrics[TSIM_N_METRICS];        /* 0: not given */
    int64_t shape[3];                      /* of a torus, as given */
    size_t n_shape;                        /* its dimensions; 0: not given */
    int64_t tile[3];                       /* of a torus, as given */
    size_t n_tile;                         /* its dimensions; 0: not given */
    const char *const *estimate_paths;     /* paths of values whose source is an estimate, as the JSON marks them */
    size_t n_estimate_paths;
};

extern const struct tsim_table tsim_scenario_table;
/* These sections of a scenario are read by functions. */
extern const struct tsim_word tsim_storage_networks[];
extern const struct tsim_table tsim_degraded_table, tsim_background_table, tsim_stage_table, tsim_data_table,
    tsim_reliability_table;

/* Initializes a draft; call it before the table is read. */
void tsim_draft_init(struct tsim_draft *draft, const struct tsim_value *root);

/* defaults.c fills in values once the draft is read: the first function those that depend on other keys, the second
 * those that the plan leaves open. They report only keys without effect. */
void tsim_draft_fill(struct tsim_draft *draft, struct tsim_reader *reader);
void tsim_draft_fill_plan(struct tsim_draft *draft);

/* Resolves a draft that keeps all rules (rules.h): it fills in what follows from the draft. */
void tsim_draft_finish(struct tsim_draft *draft, struct tsim_arena *arena);

/* stage_tables.c knows which keys of a scenario the keys of a stage (`training.stages`) stand for. */
struct tsim_stage_key {
    const char *key, *path;
};
enum { TSIM_N_STAGE_KEYS = 4 };
extern const struct tsim_stage_key tsim_stage_keys[TSIM_N_STAGE_KEYS];
void tsim_draft_check_stages(const struct tsim_draft *draft, struct tsim_reader *reader);
/* scenario_data.c reads `training.data`. */
void tsim_data_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_data_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);
void tsim_draft_resolve_data(struct tsim_draft *draft);
void tsim_draft_check_data(const struct tsim_draft *draft, struct tsim_reader *reader);

/* scenario_links.c reads and writes the shape of a torus. */
void tsim_shape_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_shape_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);
void tsim_tile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_tile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);
/* reliability_tables.c reads `reliability`. */
void tsim_reliability_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_reliability_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);
extern const struct tsim_table tsim_evaluation_table; /* reads a struct tsim_evaluation_spec */
void tsim_draft_resolve_reliability(struct tsim_draft *draft);
void tsim_draft_check_reliability(const struct tsim_draft *draft, struct tsim_reader *reader);
void tsim_draft_resolve_shape(struct tsim_draft *draft);
void tsim_draft_check_links(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Returns the value at a dotted path, or the nearest mapping above it that exists, where a mistake is shown. */
const struct tsim_value *tsim_draft_place(const struct tsim_draft *draft, const char *path);
bool tsim_draft_has(const struct tsim_draft *draft, const char *path); /* true if it is written and not a default */

/* These report, at a path of the scenario, what cannot be and what has no effect. */
#define FAIL_IN(draft, reader, path, ...)                                                                              \
    tsim_value_error((reader)->diags, TSIM_ERR_INFEASIBLE, tsim_draft_place(draft, path), path, __VA_ARGS__)
#define WARN_IN(draft, reader, path, ...)                                                                              \
    tsim_value_warning((reader)->diags, tsim_draft_place(draft, path), path, __VA_ARGS__)
