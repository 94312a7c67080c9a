/* launch_command.h - private to import: finds the command of a launch script that trains, and makes settings of its
 * arguments.
 *
 * The last of a script's commands (shell.h) that have most of the arguments that tell such a program is taken. Its arguments are
 * settings under their names without dashes, with underscores; those of the launcher before the program are nnodes,
 * nproc_per_node and machine, and all others of it "launcher.NAME". The program itself is the setting "program". */
#ifndef TSIM_IMPORT_LAUNCH_COMMAND_H
#define TSIM_IMPORT_LAUNCH_COMMAND_H

#include "import/launches/recipe.h"

struct tsim_command_kind {
    const char *const *telling; /* keys of arguments, then NULL */
    const char *of, *line;      /* whose arguments, and a command that has them, for messages */
    bool has_pairs; /* arguments are words KEY=VALUE behind the program; the setting "config" is the .yml among them */
};

/* Adds the settings of the command. A script that cannot be read, or without such a command, is a mistake. */
enum tsim_status tsim_command_read(struct tsim_recipe *r, const struct tsim_command_kind *kind);

/* "--num-layers" is num_layers. */
const char *tsim_argument_key(struct tsim_arena *arena, const char *name);
/* Returns the usual key of a launcher's argument: num_nodes is nnodes. */
const char *tsim_launcher_key(const char *key);
/* Slurm's --gres gpu:a100:8 becomes two settings; all others are added as they are. */
void tsim_add_argument(struct tsim_recipe *r, const char *name, const char *key, const struct tsim_value *value);
/* Tells whether the first line that is neither empty nor a comment is KEY: ..., which no script begins with. */
bool tsim_looks_like_yaml(const char *text, size_t size);

#endif
