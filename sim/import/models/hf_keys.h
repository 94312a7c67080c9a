/* hf_keys.h - private to import: decides about the keys of a config.json that nothing has read. */
#pragma once

#include "import/formats.h"

/* Reports each unused key at its place as a mistake if it changes the model or tsim does not know it, unless --ignore
 * names it. With --approximate, a part that tsim does not have is taken as the nearest that it has, a line of comment
 * is added to `notes`, and `is_approximate` is set; experts and towers of images have none that is near. A key that is
 * off (null, false, 0, empty) changes nothing. If a Llama stands in for the model, a comment names keys that tsim does
 * not know. */
enum tsim_status tsim_hf_keys_check(struct tsim_arena *arena, const struct tsim_value *root, const bool *is_used,
                                    bool is_stand_in, const struct tsim_import_input *input, struct tsim_diags *diags,
                                    const char **notes, bool *is_approximate);
