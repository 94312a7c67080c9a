/* known_as.h - what other programs' files call an accelerator: names in job scripts and logs, PCI devices, and what a
 * topology shows of it. */
#pragma once

#include "config/catalogue.h"

enum { TSIM_MOST_KNOWN = 4 };

/* The key `known_as` of an accelerator's file. `extends` does not inherit it, because a board with another memory is
 * another board. */
struct tsim_known_as {
    const char *names[TSIM_MOST_KNOWN];     /* in small letters; NULL after the last */
    unsigned pci_devices[TSIM_MOST_KNOWN];  /* boards that have links to each other; 0 after the last */
    unsigned card_devices[TSIM_MOST_KNOWN]; /* PCIe cards; 0 after the last */
    const char *gfx;                        /* AMD's name of the target: "942"; NULL: another maker's accelerator */
    int64_t links;    /* NVLinks or xGMI links of one accelerator; 0: it exists only as a PCIe card */
    int64_t devices;  /* that JAX shows in one accelerator; 0: one */
    const char *node; /* id of the catalogue's node that has it; NULL: none */
    bool is_usual;    /* it is taken if a file shows only what several accelerators share */
    enum tsim_source_status status;
    const char *source;
};
