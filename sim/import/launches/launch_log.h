/* launch_log.h - private to import: reads what a program prints while it runs: its arguments, its configuration as
 * JSON, and the times of its steps. Lines may begin with whatever launchers and schedulers put there ("[rank0]:", "3:
 * "). */
#pragma once

#include "import/launches/recipe.h"

/* Returns whether the text has Megatron-LM's list of all arguments: a line "------ arguments ------", then lines "
 * name ........ value". */
bool tsim_log_has_arguments(const char *text, size_t size);
/* Adds these arguments under their names; of several lists the first counts. Returns whether there was one. */
bool tsim_log_add_arguments(struct tsim_recipe *r);

/* Returns the JSON object that begins behind `announcement` on its line ("Running with args: "), as a document of its
 * own whose values have their places in the log; NULL if there is none. */
const struct tsim_value *tsim_log_json(struct tsim_recipe *r, const char *announcement);

/* Finds the YAML between the line with `title` and the next line of dashes; its values have their places in the log. A
 * file without that line is YAML as a whole. */
enum tsim_status tsim_log_yaml(struct tsim_recipe *r, const char *title, const struct tsim_value **root);

/* A series is the numbers behind a label, one on each line ("elapsed time per iteration (ms): 5012.3"); commas among
 * digits are left out. */
struct tsim_log_series {
    double median, low, high; /* over the steps that are kept; the middle half is from low to high */
    size_t n, n_warmup;       /* steps that are kept, and steps that were left out at the beginning */
    int line;                 /* of the first number */
};
/* Reads a series. Lines count whose number behind `same` (NULL: all) is that of the last line. If there are more than
 * two steps, a tenth of them, at least one and at most ten, are left out at the beginning. Returns false if there is no
 * such line. */
bool tsim_log_series(const char *text, size_t size, const char *label, const char *same,
                     struct tsim_log_series *series);
/* The place of the steps' rate in a program's log. `label` stands before the number (`same` as in tsim_log_series),
 * which multiplied by `scale` is measured.KEY. */
struct tsim_log_rate {
    const char *label, *same, *key, *unit;
    double scale;
};
extern const struct tsim_log_rate TSIM_LOG_MEGATRON, TSIM_LOG_DEEPSPEED, TSIM_LOG_TORCHTITAN[2], TSIM_LOG_MAXTEXT;

/* Sets measured.KEY to median x scale with `unit`, and notes the spread. */
void tsim_log_put_measured(struct tsim_recipe *r, const struct tsim_log_rate *rate,
                           const struct tsim_log_series *series);
/* Returns the number of ranks in torchtitan's "device mesh with ['dp_shard', 'tp'], [8, 4]"; 0 if there is none. */
double tsim_log_mesh(const char *text, size_t size);
/* Returns the largest number behind the label and dots; 0 if there is none. */
double tsim_log_largest(const char *text, size_t size, const char *label);
