/* python_config.h - the part of Python in which configurations are written: functions that return an object made from
 * keywords (torchtitan's config_registry.py), or names of the module to which dictionaries are assigned (InternEvo). It
 * is read, not run: literals, lists, dictionaries, calls with keywords, names that were assigned before, attributes
 * that are set afterwards, functions of the same file with their arguments and defaults, and products and quotients of
 * numbers. */
#pragma once

#include "import/launches/recipe.h"

struct tsim_python_value {
    const char
        *path; /* "training.seq_len", "converters[0].emulate"; "x._call" is what is called, "x._0" its first argument */
    const char *text; /* "true", "false", "null", a number or a text; for anything else its source */
    int line, column;
};

struct tsim_python {
    bool keeps_locals;      /* on request: the function's own names are also kept, below "locals" */
    const char **functions; /* of the file, in their order */
    size_t n_functions;
    struct tsim_python_value *values;
    size_t n_values;
    int unread_line; /* an if, for, while, with or try that is not followed; 0: none */
};

/* Reads what `function` returns, or, if that is NULL, the values of the module's names. `python->values` is on the
 * heap, and the caller frees it also after a mistake. Returns TSIM_ERR_SYNTAX or TSIM_ERR_LIMIT, with a message at the
 * place. */
enum tsim_status tsim_python_read(struct tsim_recipe *r, const char *function, struct tsim_python *python);
/* Finds the file's functions and reads none of them. */
void tsim_python_functions(struct tsim_recipe *r, struct tsim_python *python);
