/* machine.h - private to import: what a file says of one machine's accelerators, links and NICs, and the node file
 * (tsim/node/v1) that is made from it. The rest is taken from the catalogue's node that is most like it. */
#pragma once

#include "import/formats.h"

enum { TSIM_MACHINE_MOST_DEVICES = 256 };

struct tsim_imported_machine {
    const char *program, *file;
    int n_accelerators, n_nics;
    int sm;                  /* compute capability x 10; 0: not given */
    const char *gcn;         /* AMD's architecture without "gfx": "942", or "" if it is not given; NULL: not AMD's */
    unsigned device;         /* of PCI; 0: not given */
    int compute_units;       /* AMD's; 0: not given */
    int nvlinks;             /* NVLinks or xGMI links of one accelerator; 0: none */
    int n_targets;           /* accelerators that xGMI links of one reach; negative: not given */
    bool has_switch;         /* NVLinks reach every other accelerator alike */
    bool is_cube;            /* NVLinks reach some accelerators, as on DGX-1V */
    bool is_of_unsaid_links; /* NVIDIA's, and the file has neither links nor PCI devices: it may be a board or a card */
    bool is_nic_rate_of_link;   /* `nic_bytes_per_s` is the rate that the NIC's PCIe link can carry */
    const char *accelerator;    /* its id, if the file has its name; NULL: it does not */
    int per_switch, per_socket; /* accelerators below one PCIe switch and on one socket; 0: all */
    double nic_bytes_per_s, host_link_bytes_per_s, uplink_bytes_per_s; /* 0: not given */
};

/* Writes the node, checked by the rules for nodes. Overrides are of its keys (accelerator=h200). */
enum tsim_status tsim_machine_write(struct tsim_arena *arena, const struct tsim_imported_machine *machine,
                                    const struct tsim_import_input *input, struct tsim_import_result *result,
                                    struct tsim_diags *diags);

/* Reads the matrix that `nvidia-smi topo -m` prints. */
enum tsim_status tsim_import_nvidia_topo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                         struct tsim_import_result *result, struct tsim_diags *diags);
/* Reads the output of `rocm-smi --showtopo`, with --showproductname or without. */
enum tsim_status tsim_import_rocm_topo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags);
/* Reads hwloc's XML (`lstopo FILE.xml`). */
enum tsim_status tsim_import_lstopo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags);
/* Reads the XML that NCCL writes to the file in NCCL_TOPO_DUMP_FILE. */
enum tsim_status tsim_import_nccl_xml(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags);
