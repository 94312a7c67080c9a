/* recipe.h - private to import: a foreign recipe's settings, and the scenario that is built from them.
 *
 * The scenario is a tree of values that have the places of the settings from which they come. So whatever the
 * scenario's own rules find wrong is reported in the foreign file, at the setting. */
#pragma once

#include "import/formats.h"
#include "import/setting_class.h"

/* The beginning of a line that carries a setting. */
#define TSIM_CARRIED "# tsim --set "
/* The key of a list of such lines in JSON, which has no comments; DeepSpeed ignores the key. */
#define TSIM_CARRIED_KEY "tsim"

struct tsim_setting {
    const char *name;               /* as it is written: "--num-layers", "model.num_layers" */
    const char *key;                /* the key by which it is found: "num_layers" */
    const struct tsim_value *value; /* at its place; "true" for a flag */
    bool is_used;
    const char *lost; /* what should have given its value and is empty ("$2"); NULL: nothing */
};

/* The reason why a key of the scenario has its value. */
struct tsim_origin {
    const char *path, *text;
};

/* The lines are one text on the heap. */
struct tsim_lines {
    char *text;
    size_t size, capacity;
};

/* Appends a line. Release the lines with tsim_heap_free(lines->text). */
void tsim_lines_add(struct tsim_arena *arena, struct tsim_lines *lines, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The most settings of a file, and the most that it may carry for tsim. */
enum { TSIM_RECIPE_MAX_SETTINGS = 4096, TSIM_RECIPE_MAX_CARRIED = 256 };

struct tsim_shell_file;
struct tsim_recipe {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_document *document;
    struct tsim_import_input input; /* its overrides are those that the file carries (launch_file.h), then the user's */
    size_t n_carried;
    const char *program;                 /* "Megatron-LM" */
    struct tsim_setting_classes classes; /* of its settings */
    struct tsim_value at_top;            /* the place of mistakes that concern the whole file */
    struct tsim_setting *settings;
    size_t n_settings;
    struct tsim_origin *origins;
    size_t n_origins, origins_capacity;
    const struct tsim_value *root;                  /* of the scenario */
    struct tsim_lines assumed, not_modelled, notes; /* comments of the scenario, and what is told beside it */
    struct tsim_lines no_effect;                    /* notes on the settings without effect on performance */
    size_t n_no_effect;
    const char *unknown; /* names of settings of no class, from a program's list of all settings */
    size_t n_unknown;
    size_t n_errors_before;   /* in diags */
    const char *assumed_node; /* the machine that was assumed because nothing names it; else NULL */
    int64_t assumed_gpus;     /* accelerators that were assumed because nothing gives their number; else 0 */
    bool fits;                /* the scenario fits into their memory */
    bool lists_all;           /* a program printed it, so it has every setting, most of them with the default */
    bool has_others;          /* arguments of a program of its own are among them; unknown ones share one warning */
    bool *has_ignored;        /* whether the file has the setting that this --ignore names */
    const struct tsim_shell_file *written; /* files that a launch script writes by here-documents */
    size_t n_written;
    const char **absent; /* keys for which the importer looked in vain: candidates for a misspelt name */
    size_t n_absent, absent_capacity;
};

/* Copies the text, and takes the settings that it carries in comments ("# tsim --set PATH=VALUE" at a line's
 * beginning). `classes` names the file of the program's classes (setting_class.h); NULL: it has none. Release frees
 * what is not in the arena. */
void tsim_recipe_init(struct tsim_recipe *r, struct tsim_arena *arena, const struct tsim_import_input *input,
                      const char *program, const char *classes, struct tsim_diags *diags);
/* Takes the classes of another program in place of them. */
void tsim_recipe_take_classes(struct tsim_recipe *r, const char *name);
void tsim_recipe_release(struct tsim_recipe *r);
/* Returns the text of a file that the launch script writes, or that stands beside the imported one; NULL: neither. */
const char *tsim_recipe_read_beside(const struct tsim_recipe *r, const char *path, size_t *size);
/* Reports a file that is no log and is larger than other files may be. */
enum tsim_status tsim_recipe_check_size(struct tsim_recipe *r);
/* Takes one more carried setting, "PATH=VALUE", that does not stand in a comment. */
void tsim_recipe_carry(struct tsim_recipe *r, const struct tsim_value *at, const char *setting);
/* Adds a setting, unless a --ignore names it. */
void tsim_recipe_add(struct tsim_recipe *r, const char *name, const char *key, const struct tsim_value *value);
/* Takes each setting below a mapping that is no mapping itself, in the file's order, with its dotted path. */
typedef void (*tsim_recipe_leaf_fn)(void *context, const char *path, const struct tsim_value *value);
/* Adds the value to the recipe `context`, with its path as name and key. */
void tsim_recipe_add_leaf(void *context, const char *path, const struct tsim_value *value);
void tsim_recipe_each(struct tsim_recipe *r, const struct tsim_value *mapping, tsim_recipe_leaf_fn take, void *context);
/* Returns a new scalar with a place in the file. */
const struct tsim_value *tsim_recipe_scalar(struct tsim_recipe *r, int line, int column, const char *text);

/* Returns the last setting with that key, which then counts as used; NULL if it is absent or null. */
struct tsim_setting *tsim_recipe_find(struct tsim_recipe *r, const char *key);
/* Returns the first of several keys that has a setting; `keys` ends with NULL. */
struct tsim_setting *tsim_recipe_find_any(struct tsim_recipe *r, const char *const *keys);
/* Returns the value, of a list its first element; anything else is reported. */
const char *tsim_setting_text(const struct tsim_setting *s);
/* Returns whether the setting exists and has just this value. */
bool tsim_setting_is(const struct tsim_setting *s, const char *text);
/* Returns whether the word is in a text with blanks between its words ("full_shard auto_wrap"), or in a list of words
 * or of lists. False without a setting. */
bool tsim_setting_lists(const struct tsim_setting *s, const char *word);
/* Reports a setting that has no value because what it came from is empty. Returns whether it did. */
bool tsim_setting_is_lost(struct tsim_recipe *r, const struct tsim_setting *s);
int64_t tsim_setting_int(struct tsim_recipe *r, const struct tsim_setting *s, int64_t least, int64_t most);
/* Parses digits with the underscores that Python allows between them, or 5e8. */
bool tsim_setting_parse_int(const char *text, int64_t *value);
double tsim_setting_number(struct tsim_recipe *r, const struct tsim_setting *s);
bool tsim_setting_flag(struct tsim_recipe *r, const struct tsim_setting *s);
/* These find the setting by its key; if there is none they return `otherwise`. */
int64_t tsim_recipe_int(struct tsim_recipe *r, const char *key, int64_t least, int64_t most, int64_t otherwise);
bool tsim_recipe_flag(struct tsim_recipe *r, const char *key, bool otherwise);
bool tsim_recipe_is(struct tsim_recipe *r, const char *key, const char *text);

/* Sets a key of the scenario. `from` may be NULL; then `why` says where the value comes from. */
void tsim_recipe_put(struct tsim_recipe *r, const char *path, const struct tsim_setting *from, const char *why,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
void tsim_recipe_put_int(struct tsim_recipe *r, const char *path, const struct tsim_setting *from, int64_t value);
/* Does the same for what the file does not say; it is listed at the head of the scenario. */
void tsim_recipe_assume(struct tsim_recipe *r, const char *path, const char *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts the loss scaling of fp16 in Megatron-LM and DeepSpeed, whose defaults are the same: a dynamic scale grows after
 * a window of 1,000 steps and shrinks at the second overflow (hysteresis 2; arguments.py, runtime/fp16/loss_scaler.py);
 * a fixed scale stays. Settings may be NULL. */
void tsim_recipe_put_loss_scaling(struct tsim_recipe *r, const struct tsim_setting *fixed,
                                  const struct tsim_setting *window, const struct tsim_setting *hysteresis);
/* Puts a list of whole numbers. */
void tsim_recipe_put_list(struct tsim_recipe *r, const char *path, const struct tsim_setting *from,
                          const char *const *texts, size_t n);

/* Puts a value of any other kind. */
void tsim_recipe_put_value(struct tsim_recipe *r, const char *path, const struct tsim_setting *from,
                           const struct tsim_value *value);

/* Adds and returns an error at a setting (NULL: for the whole file). */
struct tsim_diag *tsim_recipe_error(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports a setting that matters and is not, or not fully, modelled, by a warning and a comment. */
void tsim_recipe_not_modelled(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses the settings whose classes say that they change what is run. It is called before the scenario is built, so
 * that nobody is asked for sizes that such a file does not need. Returns true if none was refused; else
 * tsim_recipe_finish ends the import. */
bool tsim_recipe_accepts(struct tsim_recipe *r);
/* Does the same by other classes. */
bool tsim_recipe_accepts_by(struct tsim_recipe *r, const struct tsim_setting_classes *classes);
/* Refuses one setting that the code cannot take as it is, by an error that tells of --ignore. */
void tsim_recipe_refuse(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes something about a setting that the user should know, beside the scenario and in a comment. */
void tsim_recipe_note(struct tsim_recipe *r, const char *name, const struct tsim_value *value, const char *text);

/* Classifies the settings that nothing has read (one of no class is an error), applies `overrides`, checks the scenario
 * by its own rules and writes it. */
enum tsim_status tsim_recipe_finish(struct tsim_recipe *r, struct tsim_import_result *result);

/* Returns the model that a --set gives in place of the file's. Returns NULL if none does, or if it is no model, which
 * is reported. */
const struct tsim_model *tsim_recipe_given_model(struct tsim_recipe *r);
/* Returns that model, or the one that has been put; NULL if there is neither, or after a mistake. */
const struct tsim_model *tsim_recipe_model(struct tsim_recipe *r);

/* Returns a name for the scenario from the file's: "train_gpt3_175b" from ".../train_gpt3_175b.sh". */
const char *tsim_recipe_name(struct tsim_arena *arena, const char *file, const char *otherwise);
