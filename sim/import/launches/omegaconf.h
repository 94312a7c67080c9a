/* omegaconf.h - private to import: resolves the "${...}" of OmegaConf, which NeMo, llm-foundry and others write in
 * their values. */
#pragma once

#include "import/formats.h"

struct tsim_omegaconf {
    struct tsim_arena *arena;
    const struct tsim_value *root;
    const struct tsim_import_input *input; /* its environment (--env), which "${NAME}" may name; NULL: none */
    int n_resolved; /* values that stood for others; they are counted because there may be very many */
};

/* Returns what the value at `path` stands for: "${x.y}", "${.y}" beside it, "${multiply:4, ${.y}}" and other resolvers
 * of NeMo's launcher, "${oc.env:NAME, default}", and "${NAME}" from --env NAME=VALUE. Returns the value itself if that
 * is not in the tree, and if it is no scalar. */
const struct tsim_value *tsim_omegaconf_value(struct tsim_omegaconf *g, const char *path,
                                              const struct tsim_value *value);
