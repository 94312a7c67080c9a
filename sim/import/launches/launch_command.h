/* launch_command.h - private to import: finds the command of a launch script that trains, and makes settings of its
 * arguments.
 *
 * It takes the last of the script's commands (shell.h) that have most of the arguments by which such a program is
 * known. Its arguments become settings under their names without dashes, with underscores. Arguments of the launcher
 * before the program are nnodes, nproc_per_node and machine, and the launcher's others are "launcher.NAME". The program
 * itself is the setting "program". */
#pragma once

#include "import/launches/recipe.h"

struct tsim_command_kind {
    const char *const *telling; /* keys of the arguments by which the program is known, then NULL */
    const char *of, *line;      /* the program's name, and a command that has the arguments, for messages */
    bool has_pairs;             /* arguments are words KEY=VALUE behind the program; the .yml among them is "config" */
    /* Variables of the environment that the program reads, and their keys, then NULL; NULL: it reads none. */
    const char *const (*variables)[2];
    const char *script; /* one that starts the program, even without arguments; NULL: there is none */
};

/* Variables of the environment that say which accelerators a command uses, as a list "0,1,2". */
#define TSIM_VISIBLE_DEVICES                                                                                           \
    {"CUDA_VISIBLE_DEVICES", "visible_devices"}, {"HIP_VISIBLE_DEVICES", "visible_devices"}, {                         \
        "ASCEND_RT_VISIBLE_DEVICES", "visible_devices"                                                                 \
    }

/* Adds the settings of the command. A script that cannot be read, or without such a command, is wrong. */
enum tsim_status tsim_command_read(struct tsim_recipe *r, const struct tsim_command_kind *kind);

/* Returns the key of an argument: num_layers for "--num-layers". */
const char *tsim_argument_key(struct tsim_arena *arena, const char *name);
/* Returns the usual key of a launcher's argument: num_nodes is nnodes. */
const char *tsim_launcher_key(const char *key);
/* Adds an argument. Slurm's --gres gpu:a100:8 becomes two settings; all others are added as they are. */
void tsim_add_argument(struct tsim_recipe *r, const char *name, const char *key, const struct tsim_value *value);
/* Returns whether the first line that is neither empty nor a comment is KEY: ..., with which no script begins. */
bool tsim_looks_like_yaml(const char *text, size_t size);
