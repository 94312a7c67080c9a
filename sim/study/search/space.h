/* space.h - the points of a sweep. A space is a product of axes, an axis is a list of choices, and a choice sets one
 * key or several. An axis is written in one of three ways, in the `sweep:` section and on the command line:
 *
 *   axes: {cluster.nodes: [16, 32], parallelism.tensor: [4, 8]}     --vary cluster.nodes=16,32    one key each
 *   zip: [{cluster.node: [a, b], cluster.fabric: [c, d]}]           --zip 'cluster.node=a,b;cluster.fabric=c,d'
 *                                                                   keys that change together: a with c, b with d
 *   points: [{parallelism.tensor: 4}, {parallelism.tensor: 8, parallelism.sequence: false}]       listed one by one
 *
 * Points are numbered from 0, and the first axis changes slowest. Values are texts as a --set takes them, so that every
 * key of a scenario can be an axis. */
#pragma once

#include "config/scenario.h"
#include "config/text/value.h"

struct tsim_space_setting {
    const char *path, *text;     /* of an override */
    const char *json;            /* the value as JSON */
    const struct tsim_value *at; /* where it is written; NULL: a program made it */
};

struct tsim_choice {
    const struct tsim_space_setting *settings;
    size_t n_settings;
};

struct tsim_space_axis {
    const struct tsim_choice *choices;
    size_t n_choices;
};

struct tsim_space {
    const struct tsim_space_axis *axes;
    size_t n_axes;
    int64_t n_points;
    size_t most_settings;     /* the most that a point has */
    const char *const *paths; /* every key that changes, in order */
    size_t n_paths;
    const char *json; /* the axes in a canonical form */
};

enum { TSIM_SPACE_MAX_CHOICES = 100000 };
#define TSIM_SPACE_MAX_POINTS INT64_C(1000000000000)

/* The words of the command line on axes replace the axes of `section`. */
struct tsim_space_words {
    const char *const *vary; /* "PATH=A,B,..." each */
    size_t n_vary;
    const char *const *zip; /* "PATH=A,B,...;PATH=C,D,..." each */
    size_t n_zip;
};

/* Reads a space. `section` is the scenario's `sweep:`, or NULL. Everything is allocated from `arena`. It is an error if
 * there is no axis, if an axis has no values, if zipped lists have unequal lengths, or if two axes have the same
 * key. */
enum tsim_status tsim_space_read(struct tsim_arena *arena, const struct tsim_value *section,
                                 const struct tsim_space_words *words, struct tsim_space *space,
                                 struct tsim_diags *diags);

/* Makes a space of one axis whose choices a program has made. The choices must outlive the space, and all of them must
 * set the same keys. */
void tsim_space_of(struct tsim_arena *arena, const struct tsim_choice *choices, size_t n_choices,
                   struct tsim_space *space);

/* Makes the space with further settings in some of its choices: `more` writes at most TSIM_SPACE_MOST_MORE settings for
 * a choice, and returns their number. */
enum { TSIM_SPACE_MOST_MORE = 5 };
typedef size_t (*tsim_space_more_fn)(void *context, const struct tsim_choice *choice,
                                     struct tsim_space_setting settings[TSIM_SPACE_MOST_MORE]);
void tsim_space_add(struct tsim_arena *arena, const struct tsim_space *space, tsim_space_more_fn more, void *context,
                    struct tsim_space *result);
/* Returns whether points have a setting of the path. */
bool tsim_space_varies(const struct tsim_space *space, const char *path);

/* Reports unknown keys of a `sweep:` section; tsim_space_read does so, too. */
enum tsim_status tsim_space_check_keys(const struct tsim_value *section, struct tsim_diags *diags);

/* Returns whether it is a key of the section ("sweep", "sweep.limits.days"), which is no part of a point. */
bool tsim_is_sweep_path(const char *path);

/* Fills in the settings of a point, and returns their number; `settings` has room for most_settings. */
size_t tsim_space_settings(const struct tsim_space *space, int64_t position,
                           const struct tsim_space_setting **settings);

/* Returns {"cluster.nodes": 16, ...}. */
const char *tsim_space_set_json(struct tsim_arena *arena, const struct tsim_space *space, int64_t position);

/* Returns the JSON of any value, on one line. A plain scalar that JSON knows as a number, true, false or null stays
 * one; all others are strings. */
const char *tsim_value_json(struct tsim_arena *arena, const struct tsim_value *value);
const char *tsim_text_json(struct tsim_arena *arena, const char *text); /* returns it in quotes */
