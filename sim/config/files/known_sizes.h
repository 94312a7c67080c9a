/* known_sizes.h - recognizes a model of the catalogue by its sizes. */
#ifndef TSIM_CONFIG_KNOWN_SIZES_H
#define TSIM_CONFIG_KNOWN_SIZES_H

#include "config/files/catalogue_read.h"

/* Returns a transformer that a scenario spells out with the keys that it leaves out and that the catalogue's model of
 * exactly its sizes has (a window, sinks), and warns of them. Returns the mapping itself where there is no such model, or
 * several, or nothing is left out, and where the mapping says its schema or kind, as a whole model does. */
const struct tsim_value *tsim_model_completed(struct tsim_reader *reader, const struct tsim_value *mapping,
                                              const char *path);

#endif
