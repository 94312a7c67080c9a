/* launch_file.h - a scenario as a file with which its software is launched.
 *
 * The format's own options say what they can. Comments hold the rest (the machine, prices, measurements, a setting
 * without an option) as "# tsim --set PATH=VALUE", which the format's importer takes like the user's --set. A file is
 * imported again before it is returned, and whatever would then differ in the scenario is added to the comments. So
 * importing it gives the same resolved scenario, or else writing it is refused. */
#pragma once

#include "config/scenario.h"

/* A format by its name, as --format takes it, and its line of help. */
struct tsim_launch_format {
    const char *name, *help;
};
extern const struct tsim_launch_format TSIM_LAUNCH_FORMATS[];
extern const size_t TSIM_N_LAUNCH_FORMATS;
bool tsim_is_launch_format(const char *name);

/* Makes the launch file of a scenario, whose software must be launched in this way (software.launch). A part of the
 * model, the training or the parallelism for which there is no option gives a warning. Returns TSIM_ERR_INFEASIBLE if
 * the format cannot express it at all, or if the software is another. */
enum tsim_status tsim_launch_file(struct tsim_arena *arena, const char *format, const struct tsim_scenario *scenario,
                                  const char **text, struct tsim_diags *diags);

/* Returns what differs between the launch files of two scenarios of one software, in its own options:
 * "--tensor-model-parallel-size 4, without --sequence-parallel". Returns NULL if the software's profile names no launch
 * file, if that cannot express them, or if it is the same for both. */
const char *tsim_launch_changes(struct tsim_arena *arena, const struct tsim_scenario *before,
                                const struct tsim_scenario *after);

/* Returns those of a scenario's settings for which its software is not known to have an option: "--set
 * parallelism.zero=2". Returns NULL if there are none, or if no launch file can be made. */
const char *tsim_launch_lacks(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_override *settings, size_t n);
