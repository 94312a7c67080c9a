/* status.h - what a function that can fail returns, and how a failure is described to the user.
 *
 * Three kinds of trouble, three mechanisms:
 *   1. the user's input is wrong  -> one tsim_diag per mistake, collected in a tsim_diags list;
 *   2. the world failed (disk, SQLite) -> TSIM_ERR_IO / TSIM_ERR_DB and one diag;
 *   3. we are wrong -> TSIM_BUG (base/bug.h): prints where and ends (exit status 70). Never used for 1 or 2.
 *
 * A function that returns enum tsim_status leaves its outputs untouched on failure. */
#pragma once

#include "base/bug.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum tsim_status {
    TSIM_OK = 0,
    TSIM_ERR_SYNTAX,     /* not YAML, or YAML that we refuse (duplicate key, too deep, too large) */
    TSIM_ERR_SCHEMA,     /* unknown key, missing key, wrong type */
    TSIM_ERR_UNIT,       /* unknown unit, wrong dimension, unit missing */
    TSIM_ERR_RANGE,      /* a number outside what makes sense */
    TSIM_ERR_REFERENCE,  /* an id or a path that leads nowhere, an `extends` cycle */
    TSIM_ERR_INFEASIBLE, /* keys that are right alone and wrong together */
    TSIM_ERR_LIMIT,      /* one of our own limits */
    TSIM_ERR_IO,         /* files */
    TSIM_ERR_DB,         /* SQLite */
    TSIM_ERR_STOPPED     /* somebody asked for an end (base/stop.h); there is no diag */
};

/* A place in the input, counted from 1. Line 0 means that the text comes from a --set or a default, not from a file.
 * The file's name, and the text of a diag's source_line, outlive every list of diags that refers to them. */
struct tsim_place {
    const char *file;
    int line;
    int column;
};

struct tsim_diag {
    enum tsim_status status;
    bool is_warning;
    struct tsim_place at;
    const char *source_line; /* the text of that line, or NULL */
    const char *set_path;    /* the path of the --set that it is about, or NULL */
    char field[160];         /* dotted path, "cluster.node"; may be empty */
    char message[320];       /* what is wrong */
    char hint[560];          /* what would be right; may be empty */
    bool is_mute;            /* nobody will read it, so it stays empty */
};

/* The list grows; it keeps at most TSIM_MAX_DIAGS and counts the rest. It owns its items (tsim_diags_release). */
#define TSIM_MAX_DIAGS 100
struct tsim_diags {
    struct tsim_diag *items;
    size_t n_items, capacity;
    size_t n_errors, n_warnings; /* including those beyond the cap */
    bool is_mute;                /* set by its owner: errors and warnings are counted, and nothing is kept */
    enum tsim_status of_mute;    /* what tsim_diags_status says of a mute list */
};

/* A list for a call whose mistakes nobody is to hear of: those of an entry that is only looked for, or of a change that is
 * only tried. It lasts as long as the block in which it stands, and needs no release. */
#define TSIM_UNHEARD (&(struct tsim_diags){.is_mute = true})

void tsim_diags_init(struct tsim_diags *list);
void tsim_diags_release(struct tsim_diags *list);
/* Takes back what was added since `before`, a copy of the list, was made: it will be said again, or better. */
void tsim_diags_take_back(struct tsim_diags *list, const struct tsim_diags *before);

/* These append an item and return it, so that its hint and source_line may be set; once the cap is reached they return
 * a scratch item, never NULL. The message is printf-formatted; a text that is too long is cut with "...". */
struct tsim_diag *tsim_diags_error(struct tsim_diags *list, enum tsim_status status, struct tsim_place at,
                                   const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));
struct tsim_diag *tsim_diags_warning(struct tsim_diags *list, struct tsim_place at, const char *field,
                                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* These do the same for functions that have a '...' of their own. */
struct tsim_diag *tsim_diags_verror(struct tsim_diags *list, enum tsim_status status, struct tsim_place at,
                                    const char *field, const char *format, va_list args);
struct tsim_diag *tsim_diags_vwarning(struct tsim_diags *list, struct tsim_place at, const char *field,
                                      const char *format, va_list args);
void tsim_diag_hint(struct tsim_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the status of the first error from item `first` on, or TSIM_ERR_LIMIT when the list was full before it. A
 * TSIM_ERR_IO anywhere takes precedence. */
enum tsim_status tsim_diags_status(const struct tsim_diags *list, size_t first);

/* Prints like a compiler: "FILE:LINE:COLUMN: error: FIELD: message", the source line with a caret, then "  hint". */
void tsim_diags_print(const struct tsim_diags *list, FILE *out);

/* Returns the status of a call from the enclosing function unless it is TSIM_OK. That leaks nothing, because arenas own
 * the memory. */
#define TSIM_TRY(call)                                                                                                 \
    do {                                                                                                               \
        enum tsim_status status_of_call_ = (call);                                                                     \
        if (status_of_call_ != TSIM_OK)                                                                                \
            return status_of_call_;                                                                                    \
    } while (0)
