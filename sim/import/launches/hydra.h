/* hydra.h - private to import: composes a configuration of Hydra from the files that its `defaults` list names. */
#pragma once

#include "import/formats.h"

/* Returns the configuration with the files that its `defaults` list names, which stand in the same tree: "- model:
 * llama" is model/llama.yaml below `model`, "- base" a file beside it, "_self_" the place at which its own values count
 * (else they count last), and "GROUP@PACKAGE" another place. A missing file gives a warning, or nothing if it is
 * optional. Without such a list it returns the root itself. */
const struct tsim_value *tsim_hydra_compose(struct tsim_arena *arena, const struct tsim_import_input *input,
                                            const struct tsim_value *root, struct tsim_diags *diags);
