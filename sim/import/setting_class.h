/* setting_class.h - private to import: decides about the settings of a foreign file that nothing has read. */
#pragma once

#include "config/text/value.h"

/* A pattern has this word behind "=" for a switch that is off, in whatever words. */
#define TSIM_OFF "OFF"

/* A class of settings; the first class that matches a setting decides about it. `patterns` are a shell's (fnmatch),
 * separated by blanks: patterns of keys, or KEY=VALUE, both patterns, for a class of some values. A setting that is off
 * belongs to a class only by a pattern that names this value: KEY=OFF (any word for it but null), KEY=0. A switch that
 * a program has on by default needs such a row; otherwise a setting that is off counts as one of no effect. */
struct tsim_setting_class {
    const char *patterns;
    const char *why; /* NULL: no effect on performance; else the effect that is not modelled, for a warning */
    /* It changes the model, the data type, the batch or the parallelism: an error, unless --ignore names it. */
    bool changes_run;
    bool is_near; /* what is left without it is near what it is: --approximate takes that */
    /* The classes of another program's settings; `patterns` is then the prefix of their keys here. */
    const struct tsim_setting_classes *of_section;
};
struct tsim_setting_classes {
    const struct tsim_setting_class *rows;
    size_t n;
};

/* Reads the classes of a program's settings from models/settings/NAME.yaml of the catalogue; common.yaml beside it says
 * how such a file is written. After a mistake, which is reported, there are none. */
enum tsim_status tsim_setting_classes_read(struct tsim_arena *arena, const char *name,
                                           struct tsim_setting_classes *classes, struct tsim_diags *diags);

/* Returns the class of a setting by its key here and its value; NULL if there is none. Without a value, it returns the
 * first class with a pattern of the key, whatever values that is about. */
const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_classes *classes);
/* Returns whether a setting has its class only because its name belongs to a family (a pattern with a star: SECTION.*,
 * moe_*) whose members nobody has listed, though it may be about the model, its data types, the batch or the plan. A
 * member that changes nothing is listed before its family. */
bool tsim_is_any_of_family(const char *key, const struct tsim_value *value, const struct tsim_setting_classes *classes);
/* Returns whether the words of a key that no class knows are about files, names, logs, evaluation, or numbers of the
 * learning rate and of initialization, on which no step's time depends. Words about models, plans and configurations in
 * it rule that out. */
bool tsim_is_housekeeping(const char *key);
/* Returns whether a key that no class knows may, by its words, be about the model, its data types, the batch, the plan
 * or the kind of job. */
bool tsim_may_change_run(const char *key);
/* Returns whether a key, by its words, gives the number of samples in training. */
bool tsim_may_be_batch(const char *key);
/* Returns whether a key, by its words, is about single layers or experts, or about a network beside the model. */
bool tsim_may_be_layers(const char *key);
/* Returns whether the value is null, None, ~ or empty, without quotes. */
bool tsim_value_is_null(const struct tsim_value *value);
/* Returns whether the value is null, false, 0, none, or an empty text, list or mapping. */
bool tsim_value_is_off(const struct tsim_value *value);
