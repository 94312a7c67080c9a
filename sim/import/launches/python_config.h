/* python_config.h - the part of Python that configurations are written in: functions that return an object made of
 * keywords (torchtitan's config_registry.py), or names of the module that dictionaries are assigned to (InternEvo). It is read,
 * not run: literals, lists, dictionaries, calls with keywords, names that were assigned before, attributes that are set
 * afterwards, functions of the same file with their arguments and defaults, and products and quotients of numbers. */
#ifndef TSIM_IMPORT_PYTHON_CONFIG_H
#define TSIM_IMPORT_PYTHON_CONFIG_H

#include "import/launches/recipe.h"

struct tsim_python_value {
    const char *
        path; /* "training.seq_len", "converters[0].emulate"; "x._call": what is called there, "x._0": its first argument */
    const char *text; /* "true", "false", "null", a number, a text; of what is none of these its source */
    int line, column;
};

struct tsim_python {
    bool keeps_locals;      /* asked for: the function's own names, too, below "locals" */
    const char **functions; /* of the file, in their order */
    size_t n_functions;
    struct tsim_python_value *values;
    size_t n_values;
    int unread_line; /* an if, for, while, with or try that is not followed; 0: none */
};

/* Reads what `function` returns, or, where it is NULL, what the module's names hold. `python->values` is on the heap, to be
 * freed by the caller also after a mistake. TSIM_ERR_SYNTAX, TSIM_ERR_LIMIT, with a message at the place. */
enum tsim_status tsim_python_read(struct tsim_recipe *r, const char *function, struct tsim_python *python);
/* Finds the file's functions and reads none of them. */
void tsim_python_functions(struct tsim_recipe *r, struct tsim_python *python);

#endif
