/* section.h - a scenario's `sweep:` section as a whole, with what the command line replaces in it: which points there
 * are, by what the best are ranked, and which points are shown. */
#pragma once

#include "study/curves/sweep.h"
#include "study/search/filter.h"
#include "study/search/ranking.h"
#include "study/search/space.h"

struct tsim_section_words {
    struct tsim_space_words space;
    const char *objective, *where;         /* NULL: those of the section */
    const struct tsim_override *overrides; /* those of the section (sweep.limits.days) change it */
    size_t n_overrides;
};

struct tsim_section {
    struct tsim_space space;
    struct tsim_ranking ranking;
    const struct tsim_filter *filter; /* NULL: all points */
};

/* Finds the `sweep:` of an opened scenario, with what --set changes in it. It is NULL if there is none, or if it is no
 * mapping, which the scenario's own reader reports. */
enum tsim_status tsim_section_find(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                   const struct tsim_override *overrides, size_t n_overrides,
                                   const struct tsim_value **section, struct tsim_diags *diags);

/* Reads the section of an opened scenario, if it has one. Mistakes of all its parts go to `diags`. */
enum tsim_status tsim_section_read(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                   const struct tsim_section_words *words, struct tsim_section *section,
                                   struct tsim_diags *diags);

/* Returns the overrides on which points depend. Keys of the section itself are left out, so that a search with other
 * limits or another objective finds the same points. */
struct tsim_override *tsim_overrides_of_points(struct tsim_arena *arena, const struct tsim_override *overrides,
                                               size_t n, size_t *n_left);

/* Serves `tsim check`: reads the section, if there is one, and tries the values of its axes where the scenario is valid
 * without them. */
enum tsim_status tsim_section_check(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides, bool is_valid,
                                    struct tsim_diags *diags);
