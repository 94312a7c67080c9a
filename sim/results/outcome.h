/* outcome.h - the figures of a summary: what each is (outcome.def has a row for each), and those of one run as a flat
 * row of numbers. A figure has the name that the summary's JSON gives it ("step.time_s", "throughput.mfu").
 *
 * Figures that have a column in the database are also those of a sweep's or plan's points. A study stores, filters,
 * ranks and prints these of a point, so that it need not keep whole results. */
#pragma once

#include "results/json.h"
#include "results/prediction.h"

enum tsim_outcome_figure {
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning) TSIM_OUTCOME_##NAME,
#include "results/outcome.def"
    TSIM_N_OUTCOMES
};

/* Figures that have a column in the database are numbered. */
enum {
    TSIM_N_OUTCOME_COLUMNS = 0
#define COLUMN(version, place, name) +1
#define POINTS_COLUMN(version, place, name) +1
#define NO_COLUMN(why)
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning) column
#include "results/outcome.def"
#undef COLUMN
#undef POINTS_COLUMN
#undef NO_COLUMN
};

struct tsim_outcome {
    const char *bottleneck;        /* a constant, or NULL */
    double value[TSIM_N_OUTCOMES]; /* NAN: not modelled in this run, or not kept for this point */
};

void tsim_outcome_of(const struct tsim_prediction *prediction, struct tsim_outcome *outcome);
void tsim_outcome_of_run(const struct tsim_result *result, struct tsim_outcome *outcome); /* without the uncertainty */
void tsim_outcome_clear(struct tsim_outcome *outcome);                                    /* sets every figure to NAN */
/* Adds the figures that follow from those with a column, after these have been read back. */
void tsim_outcome_complete(struct tsim_outcome *outcome);

/* Returns whether every figure of points is the same in both, to the last digit, or unknown in both. Two inputs that
 * give such outcomes cannot be told apart. */
bool tsim_outcomes_are_alike(const struct tsim_outcome *a, const struct tsim_outcome *b);

/* ---- what they are ---- */

enum tsim_goal { TSIM_GOAL_NONE, TSIM_GOAL_MORE, TSIM_GOAL_LESS }; /* the direction that is better */

struct tsim_outcome_unit {
    const char *word; /* "s", "kWh"; "" for pure numbers */
    /* The dimension of numbers that a user compares it with; TSIM_COUNT: plain numbers, in this unit. */
    enum tsim_dimension dimension;
    enum tsim_dimension shown; /* dimension for people, and SI units in one of this: 3.6e6 J are a kWh */
    double shown_per_unit;
    enum { TSIM_OUTCOME_NUMBER, TSIM_OUTCOME_WHOLE, TSIM_OUTCOME_YES_NO } kind;
};

struct tsim_outcome_column {
    const char *name; /* NULL: it has no column */
    int version;      /* version of the database (store.h) that has it first */
    int place;        /* its place among the columns of figures, from 0 */
    bool is_in_runs;  /* the table `runs` has it as well, as has a run's summary */
    const char *why;  /* with a name NULL; else why points have no such figure: "of a run alone: it is ..." */
};

struct tsim_outcome_spec {
    const char *name;
    const struct tsim_outcome_column *column;
    const struct tsim_outcome_unit *unit;
    enum tsim_goal goal;
    const char *const *words; /* ends with NULL */
    const char *meaning;
};
const struct tsim_outcome_spec *tsim_outcome_spec(enum tsim_outcome_figure figure);

/* The terms of the step's time, in the order in which people read them. */
struct tsim_step_term {
    enum tsim_outcome_figure figure;
    const char *word;                 /* for programs: "bubble", "exposed_data" */
    const char *name, *label, *cause; /* for a table, for a chart, for a sentence */
};
enum {
    TSIM_N_STEP_TERMS = 0
#define TERM(FIGURE, word, name, label, cause) +1
#include "results/outcome.def"
};
extern const struct tsim_step_term tsim_step_terms[TSIM_N_STEP_TERMS];
const struct tsim_step_term *tsim_step_term(enum tsim_outcome_figure figure); /* NULL if the figure is no term */

/* Lists the figures with a column, in the order of the columns. */
void tsim_outcome_columns(enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS]);

/* Writes a figure's name for people, as the title of a column or in a sentence: the name in outcome.def, else its path
 * without section and unit ("days" for campaign.days, "rent" for campaign.rent_usd, "tokens/s"). Returns `buffer`. */
const char *tsim_outcome_name(enum tsim_outcome_figure figure, char *buffer, size_t size);

/* Writes a figure for people (results/format.h): "29.21 GB", "552 MWh"; "-" for NAN. Returns `buffer`. */
const char *tsim_outcome_text(enum tsim_outcome_figure figure, double value, char *buffer, size_t size);

/* Returns the constant word that equals `text` ("compute", "memory", ...), or NULL; for figures that are read back. */
const char *tsim_bottleneck_word(const char *text);

/* Prints Markdown for docs/reference.md, a row for each figure. */
void tsim_outcome_reference(FILE *out);

/* ---- names that users write ---- */

/* Finds a figure with a column by "throughput.mfu", by the column's name ("step_time_s"), by "mfu" alone if that is
 * unique, or by one of its words. If there is none it returns false, and *near is the nearest name, or NULL. */
bool tsim_outcome_find(const char *name, enum tsim_outcome_figure *figure, const char **near);

/* Returns why points have no figure of that name although a run's summary has one; NULL if no figure has this name. */
const char *tsim_outcome_why_not_of_points(const char *name);

/* Finds any figure of a run's summary, for `explain`: by its path, by one of its words, by "mfu" alone, or by the name
 * of a part of the step in a run's table ("exposed tensor traffic"). Words go before "mfu" here: "bubble" is a time,
 * which has parts, while in a condition it is the fraction. */
bool tsim_outcome_find_term(const char *name, enum tsim_outcome_figure *figure);
/* Returns the path or word that an unknown name may be a misspelling of, or NULL. */
const char *tsim_outcome_near_term(const char *wrong);

/* ---- JSON ---- */

/* Adds a figure to a summary, at its path; nothing for NAN. */
void tsim_outcome_add(const struct tsim_outcome *outcome, enum tsim_outcome_figure figure, struct tsim_json *summary);

/* Adds the members of a summary that points have, as `tsim run --json` has them. Members that belong to one run (its
 * number, its speed), and those that are no figure (advice), are left out. */
void tsim_outcome_json(const struct tsim_outcome *outcome, struct tsim_json *summary);
