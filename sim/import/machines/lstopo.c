#include "import/machines/machine.h"
#include "import/machines/xml.h"

#include <stdlib.h>
#include <string.h>

/* <topology><object type="Machine"><object type="Package">...
 * <object type="Bridge" bridge_type="1-1" pci_type="0604 [8086:2030] ...">
 * <object type="PCIDev" pci_busid="0000:1b:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="63.015385">
 * <object type="OSDev" osdev_type="3" name="mlx5_0"/>
 * pci_type is class, maker and device; osdev_type 3 is InfiniBand's and RoCE's and EFA's, from hwloc 3 on a set of bits of
 * which 32 is that one. Links between accelerators are a matrix where hwloc was built with the maker's library (distances2 of the name
 * NVLinkBandwidth or XGMIBandwidth), else NVSwitches show as bridges of class 0680. PCIe links of accelerators at rest
 * are slow to save power, so their speed is not read. */

enum { MOST = TSIM_MACHINE_MOST_DEVICES, NVIDIA = 0x10de, AMD = 0x1002 };

enum kind { ELSEWHERE, SOCKET, BRIDGE, DEVICE };

struct object {
    enum kind kind;
    int number; /* from 1 on, in the file's order */
};

struct gpu {
    struct object above[TSIM_XML_MOST_DEPTH];
    int depth;
    unsigned maker, device;
};

struct reading {
    struct object path[TSIM_XML_MOST_DEPTH + 1]; /* [depth]: the element there */
    int n_objects, version;
    bool has_topology, has_links, has_switch;
    struct gpu gpus[MOST];
    int n_gpus;
    int n_nics, last_nic; /* the PCI device that was counted last */
    double nic_link;      /* the fastest PCIe link of one: slower ones are not counted */
    double device_link;   /* of the last PCI device */
};

static void begin_pci(struct reading *g, int depth, const char **attributes) {
    unsigned class = 0, maker = 0, device = 0;
    g->device_link = strtod(tsim_xml_attribute(attributes, "pci_link_speed"), NULL);
    if (sscanf(tsim_xml_attribute(attributes, "pci_type"), "%4x [%4x:%4x]", &class, &maker, &device) != 3)
        return;
    g->has_switch |= maker == NVIDIA && class == 0x0680;
    /* 3D and display controllers, and AMD's processing accelerators; a VGA is there for a screen. */
    bool is_gpu = (maker == NVIDIA && (class == 0x0302 || class == 0x0300)) ||
                  (maker == AMD && (class == 0x0302 || class == 0x0380 || class == 0x1200));
    if (!is_gpu || g->n_gpus == MOST)
        return;
    struct gpu *gpu = &g->gpus[g->n_gpus++];
    *gpu = (struct gpu){.depth = depth, .maker = maker, .device = device};
    memcpy(gpu->above, g->path, (size_t)depth * sizeof *gpu->above);
}

/* A device with a port of InfiniBand or RoCE is a NIC, also with two ports. Among several kinds the fastest belong to
 * the job. */
static void begin_os(struct reading *g, int depth, const char **attributes) {
    const long type = strtol(tsim_xml_attribute(attributes, "osdev_type"), NULL, 0);
    int number = g->path[depth - 1].number;
    bool is_fabric = (g->version < 3 ? type == 3 : (type & 32) != 0) ||
                     strncmp(tsim_xml_attribute(attributes, "name"), "mlx5_", 5) == 0;
    if (!is_fabric || g->path[depth - 1].kind != DEVICE || number == g->last_nic || g->device_link < g->nic_link)
        return;
    g->n_nics = g->device_link > g->nic_link ? 1 : g->n_nics + 1;
    g->nic_link = g->device_link;
    g->last_nic = number;
}

static const char *begin(void *context, int depth, const char *name, const char **attributes) {
    struct reading *g = context;
    const char *type = tsim_xml_attribute(attributes, "type");
    struct object object = {.number = ++g->n_objects};
    if (depth == 0 && strcmp(name, "topology") == 0) {
        g->has_topology = true;
        g->version = atoi(tsim_xml_attribute(attributes, "version"));
    }
    if (strncmp(name, "distances2", 10) == 0) {
        const char *matrix = tsim_xml_attribute(attributes, "name");
        g->has_links |= strcmp(matrix, "NVLinkBandwidth") == 0 || strcmp(matrix, "XGMIBandwidth") == 0;
    }
    if (strcmp(name, "object") == 0 && depth > 0) {
        if (strcmp(type, "Package") == 0)
            object.kind = SOCKET;
        else if (strcmp(type, "Bridge") == 0 && strcmp(tsim_xml_attribute(attributes, "bridge_type"), "1-1") == 0)
            object.kind = BRIDGE;
        else if (strcmp(type, "PCIDev") == 0) {
            object.kind = DEVICE;
            begin_pci(g, depth, attributes);
        } else if (strcmp(type, "OSDev") == 0)
            begin_os(g, depth, attributes);
    }
    g->path[depth] = object;
    return NULL;
}

/* Accelerators that have an element of this kind above them that is above the first one, too. */
static int count_below(const struct reading *g, enum kind kind) {
    const struct gpu *first = &g->gpus[0];
    int n = 0;
    for (int i = 0; i < g->n_gpus; i++) {
        const struct gpu *gpu = &g->gpus[i];
        bool is_shared = false;
        for (int d = 0; d < first->depth && d < gpu->depth; d++)
            is_shared |= first->above[d].kind == kind && first->above[d].number == gpu->above[d].number;
        n += is_shared;
    }
    return n;
}

static int whole_groups(const struct reading *g, int n, int least) {
    return n >= least && n < g->n_gpus && g->n_gpus % n == 0 ? n : 0;
}

enum tsim_status tsim_import_lstopo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags) {
    static const struct tsim_xml_handler HANDLER = {begin, "the XML that hwloc writes: lstopo FILE.xml"};
    struct reading *g = TSIM_NEW(arena, struct reading);
    TSIM_TRY(tsim_xml_read(arena, input, &HANDLER, g, diags));
    if (!g->has_topology || g->n_gpus == 0) {
        struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
        tsim_diag_hint(
            tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "",
                             g->has_topology ? "no accelerator of NVIDIA or AMD in it" : "no <topology> in it"),
            "%s", g->has_topology ? "lstopo needs to see the PCI devices" : HANDLER.hint);
        return TSIM_ERR_SCHEMA;
    }
    const struct gpu *gpu = &g->gpus[0];
    bool is_amd = gpu->maker == AMD;
    const struct tsim_imported_machine machine = {.program = "lstopo",
                                                  .file = input->file,
                                                  .n_accelerators = g->n_gpus,
                                                  .n_nics = g->n_nics,
                                                  .gcn = is_amd ? "" : NULL,
                                                  .device = gpu->device,
                                                  .n_targets = is_amd ? -1 : 0,
                                                  .has_switch = g->has_switch || (!is_amd && g->has_links),
                                                  .per_switch = whole_groups(g, count_below(g, BRIDGE), 2),
                                                  .per_socket = whole_groups(g, count_below(g, SOCKET), 1)};
    return tsim_machine_write(arena, &machine, input, result, diags);
}
