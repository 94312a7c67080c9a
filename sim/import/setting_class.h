/* setting_class.h - private to import: decides what becomes of the settings of a foreign file that nothing has read.
 */
#ifndef TSIM_IMPORT_SETTING_CLASS_H
#define TSIM_IMPORT_SETTING_CLASS_H

#include "config/text/value.h"

/* The first class that matches a setting decides what becomes of it. `patterns` are a shell's (fnmatch)
 * with blanks between them, of keys, or KEY=VALUE, both patterns, for a class of some values. A setting that is off or
 * null belongs to no class. */
struct tsim_setting_class {
    const char *patterns;
    const char *why;  /* NULL: no effect on performance; else what it does that is not modelled: a warning */
    bool changes_run; /* the model, the data type, the batch or the parallelism: an error, unless --ignore names it */
};

/* Returns the class of a setting by its key here and its value, NULL: none. */
const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_class *classes, size_t n_classes);
/* Tells whether a key that no class knows is by its words about files, names, logs, evaluation, or numbers of the learning rate
 * and of initialization: what no step's time depends on. Words of models, plans and configurations in it deny that. */
bool tsim_is_housekeeping(const char *key);
/* Tells whether a key that no class knows may, by its words, be about the model, its data types, the batch, the plan or the kind of
 * job. */
bool tsim_may_change_run(const char *key);
/* Tells whether a key says by its words how many samples of training there are. */
bool tsim_may_be_batch(const char *key);
/* null, None, ~ or nothing, without quotes. */
bool tsim_value_is_null(const struct tsim_value *value);
/* null, false, 0, none, or an empty list or mapping. */
bool tsim_value_is_off(const struct tsim_value *value);

#endif
