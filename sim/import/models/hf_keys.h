/* hf_keys.h - private to import: decides what becomes of the keys of a config.json that nothing has read. */
#ifndef TSIM_IMPORT_HF_KEYS_H
#define TSIM_IMPORT_HF_KEYS_H

#include "import/formats.h"

/* Keys that are not used are mistakes where they change the model or tsim does not know them, each at its
 * place, unless --ignore names them. With --approximate a part that tsim does not have is taken as the nearest that it has,
 * a line of comment is added to `notes`, and `is_approximate` set; experts and towers of images have none that is near. A key that is off (null, false, 0, empty) changes nothing. */
enum tsim_status tsim_hf_keys_check(struct tsim_arena *arena, const struct tsim_value *root, const bool *is_used,
                                    const struct tsim_import_input *input, struct tsim_diags *diags, const char **notes,
                                    bool *is_approximate);

#endif
