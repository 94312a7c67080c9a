/* known_sizes.h - a model of the catalogue that a scenario spells out in part. */
#pragma once

#include "config/files/catalogue_read.h"

/* Returns a transformer that a scenario spells out under the name of a model of the catalogue and with its sizes, with
 * the keys that it leaves out and that the catalogue's has (a window, sinks), and warns of them. Returns the mapping
 * itself if nothing is left out, if the name or a size differs, or if it gives its schema or kind, as a whole model
 * does. Without a width it was meant to extend that model, which is an error. */
const struct tsim_value *tsim_model_completed(struct tsim_reader *reader, const struct tsim_value *mapping,
                                              const char *path);
