/* vendor.h - what the accelerators of a maker are called. */
#ifndef TSIM_CONFIG_VENDOR_H
#define TSIM_CONFIG_VENDOR_H

#include "base/arena.h"

struct tsim_vendor {
    const char *device;              /* the word for one accelerator: "GPU", "TPU", "accelerator" */
    const char *kubernetes_resource; /* resource of its device plugin; NULL: not known */
};

/* Finds the row of hardware/vendors.yaml for a maker; another maker, or none (NULL), has accelerators of unknown resource.
 * Texts are allocated from `arena`. */
struct tsim_vendor tsim_vendor_find(struct tsim_arena *arena, const char *name);

#endif
