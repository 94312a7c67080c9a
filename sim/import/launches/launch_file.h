/* launch_file.h - a scenario as a file that its software is launched by.
 *
 * The format's own options say what they can. Comments keep the rest (the machine, prices, measurements, a setting
 * without an option) as "# tsim --set PATH=VALUE", which the format's importer takes as it takes the user's --set. A file
 * is imported again before it is given out, and whatever would then be another scenario is added to the comments:
 * importing it gives the same resolved scenario, or writing it is refused. */
#ifndef TSIM_IMPORT_LAUNCH_FILE_H
#define TSIM_IMPORT_LAUNCH_FILE_H

#include "config/scenario.h"

/* Formats by name: what --format takes, and its line of help. */
struct tsim_launch_format {
    const char *name, *help;
};
extern const struct tsim_launch_format TSIM_LAUNCH_FORMATS[];
extern const size_t TSIM_N_LAUNCH_FORMATS;
bool tsim_is_launch_format(const char *name);

/* The scenario's software must be launched so (software.launch). A part of the model, the training or the parallelism that
 * no option can say gives a warning. TSIM_ERR_INFEASIBLE: the format cannot say it at all, or the software is another. */
enum tsim_status tsim_launch_file(struct tsim_arena *arena, const char *format, const struct tsim_scenario *scenario,
                                  const char **text, struct tsim_diags *diags);

/* Says what differs between the launch files of two scenarios of one software, in its own options:
 * "--tensor-model-parallel-size 4, without --sequence-parallel". NULL: its profile names no launch file, that cannot say
 * them, or it says both alike. */
const char *tsim_launch_changes(struct tsim_arena *arena, const struct tsim_scenario *before,
                                const struct tsim_scenario *after);

#endif
