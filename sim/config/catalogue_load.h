/* catalogue_load.h - the catalogue's files: which there are, what they say, and reading one by its id.
 *
 * The catalogue lies in $TSIM_DATA, else in the source tree from which the program was built, else in
 * PREFIX/share/tsim. The file of id X is hardware/accelerators/X.yaml, hardware/nodes/X.yaml, hardware/fabrics/X.yaml,
 * hardware/regions/X.yaml, hardware/storage/X.yaml, models/architectures/X.yaml, models/software/X.yaml,
 * scenarios/X.yaml or scenarios/published/X.yaml. The node single-A exists for every accelerator A: it has one device
 * and no links. */
#pragma once

#include "config/catalogue.h"

enum tsim_catalogue_kind {
    TSIM_CATALOGUE_MODELS,
    TSIM_CATALOGUE_ACCELERATORS,
    TSIM_CATALOGUE_NODES,
    TSIM_CATALOGUE_FABRICS,
    TSIM_CATALOGUE_SOFTWARE,
    TSIM_CATALOGUE_REGIONS,
    TSIM_CATALOGUE_STORAGE,
    TSIM_CATALOGUE_SCENARIOS,
    TSIM_N_CATALOGUE_KINDS
};

/* These return "accelerator" (as in `show accelerator/ID`) and "accelerators" (as in `list accelerators`). */
const char *tsim_catalogue_word(enum tsim_catalogue_kind kind);
const char *tsim_catalogue_plural(enum tsim_catalogue_kind kind);
/* Takes either form; returns false if the word is neither. */
bool tsim_catalogue_find_kind(const char *word, enum tsim_catalogue_kind *kind);

/* Returns the folder in use: $TSIM_DATA, else the source tree that was compiled in (an installed program has none),
 * else PREFIX/share/tsim, else share/tsim beside the folder that the program is in. Returns NULL if there is none. The
 * text is allocated from `arena`. */
const char *tsim_catalogue_folder(struct tsim_arena *arena);
/* Returns the folder that would be in use without $TSIM_DATA. A catalogue without hardware/families uses this one's. */
const char *tsim_catalogue_own_folder(struct tsim_arena *arena);

/* Keeps in `arena` the parsed files that scenarios name, for the scenarios that this thread opens from now on, as a
 * server does. A file that has changed is read anew. NULL ends that. */
void tsim_catalogue_keep(struct tsim_arena *arena);

/* Lists all ids of a kind, sorted. Returns TSIM_ERR_IO if there is no catalogue. */
enum tsim_status tsim_catalogue_list(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *const **ids,
                                     size_t *n_ids, struct tsim_diags *diags);

/* Returns the file of an id, or NULL if it has none (an unknown id, or a generated node). */
const char *tsim_catalogue_file(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id);

/* Returns the id that a word most likely means: one that begins with it or is a misspelling away, else, except for
 * scenarios, the shortest one that contains it. Returns NULL if there is none. */
const char *tsim_catalogue_nearest(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *word);

/* Returns whether the name is that of a YAML file (.yaml, .yml). */
bool tsim_is_yaml_name(const char *name);

/* An entry is one value of a file, with `extends` followed and defaults filled in. */
struct tsim_catalogue_entry {
    const char *key;      /* "power.idle" */
    const char *value_si; /* "70 W", "132", "switch" */
    double number;        /* in SI units; NAN: the value is no number */
    const char *unit;     /* the SI unit; "" for pure numbers, NULL if the value is no number */
    const char *source;   /* NULL: none is given */
    const char *status;   /* "read", "derived", "fitted", "estimate", "default" */
    const char *meaning;  /* of a 0 that stands for something else: "as flash3"; else NULL */
    double interval[2];   /* in SI units: 95 % confidence, or the range of sources; NAN: none is given */
};

/* Lists every value of ID in the order of its kind's table. A node's accelerator is one entry, with its id. Scenarios
 * give the keys as written, without defaults. Returns TSIM_ERR_REFERENCE, with a suggestion, for an unknown id. */
enum tsim_status tsim_catalogue_describe(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id,
                                         const struct tsim_catalogue_entry **entries, size_t *n_entries,
                                         struct tsim_diags *diags);

/* Each reads ID (or a path with '/' or ending in .yaml) into a struct owned by `arena`. */
enum tsim_status tsim_catalogue_load_model(struct tsim_arena *arena, const char *id, const struct tsim_model **model,
                                           struct tsim_diags *diags);
enum tsim_status tsim_catalogue_load_accelerator(struct tsim_arena *arena, const char *id,
                                                 const struct tsim_accelerator **accelerator, struct tsim_diags *diags);
enum tsim_status tsim_catalogue_load_node(struct tsim_arena *arena, const char *id, const struct tsim_node **node,
                                          struct tsim_diags *diags);
enum tsim_status tsim_catalogue_load_fabric(struct tsim_arena *arena, const char *id, const struct tsim_fabric **fabric,
                                            struct tsim_diags *diags);
enum tsim_status tsim_catalogue_load_software(struct tsim_arena *arena, const char *id,
                                              const struct tsim_software **software, struct tsim_diags *diags);
enum tsim_status tsim_catalogue_load_region(struct tsim_arena *arena, const char *id, const struct tsim_region **region,
                                            struct tsim_diags *diags);

/* Returns a model as a mapping in JSON, without the parts that it does not have. */
const char *tsim_model_json(struct tsim_arena *arena, const struct tsim_model *model);
