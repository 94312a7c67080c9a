#include "import/machines/machine.h"
#include "import/machines/xml.h"

#include <stdlib.h>
#include <string.h>

/* <system><cpu numaid=...><pci class=... link_speed="32.0 GT/s PCIe" link_width="16">...<gpu dev=... sm="90">
 * <nvlink target=... count="18" tclass="0x068000"/></gpu> ... <nic><net name=... speed="400000"/></nic></pci></cpu>
 * A pci of class 0x0604.. is a bridge or switch. RCCL writes <gpu sm="304" gcn="gfx942"> with
 * <xgmi target=... count="1"/>: sm are the compute units (90 before ROCm 6, whatever they are), gcn was a number: 942, 908, and
 * 910 for gfx90a. */

enum { MOST = TSIM_MACHINE_MOST_DEVICES };

struct gpu {
    int cpu, bridge; /* numbers of the elements above it; bridge 0: none */
    int sm, nvlinks, n_targets;
    unsigned device;
    char gcn[8];
    bool has_switch;
    double link_bytes_per_s;
};

struct frame {
    int cpu, bridge;
    double link_bytes_per_s, uplink_bytes_per_s;
    unsigned device;
};

struct reading {
    struct frame frames[TSIM_XML_MOST_DEPTH + 1]; /* [depth]: what surrounds an element there */
    int n_cpus, n_bridges;
    bool has_system;
    struct gpu gpus[MOST];
    int n_gpus, n_nets;
    double net_bytes_per_s, uplink_bytes_per_s;
};

/* "32.0 GT/s PCIe" x 16 lanes; generations from 8 GT/s on send 128 bits in 130, those before 8 in 10. */
static double pcie_rate(const char **attributes) {
    double transfers = strtod(tsim_xml_attribute(attributes, "link_speed"), NULL),
           width = strtod(tsim_xml_attribute(attributes, "link_width"), NULL);
    if (!(transfers > 0) || transfers > 1000 || !(width > 0) || width > 64)
        return 0;
    return transfers * 1e9 * width / 8 * (transfers < 8 ? 0.8 : 128.0 / 130);
}

static void begin_pci(struct reading *g, struct frame *frame, const char **attributes) {
    double link = pcie_rate(attributes);
    bool is_bridge = strncmp(tsim_xml_attribute(attributes, "class"), "0x0604", 6) == 0;
    frame->link_bytes_per_s = link;
    frame->device = (unsigned)strtoul(tsim_xml_attribute(attributes, "device"), NULL, 16) & 0xffff;
    if (is_bridge) {
        frame->bridge = ++g->n_bridges;
        frame->uplink_bytes_per_s = link;
    }
}

/* "gfx942", "942": without the first three letters. */
static void read_gcn(struct gpu *gpu, const char *text) {
    if (strncmp(text, "gfx", 3) == 0)
        text += 3;
    snprintf(gpu->gcn, sizeof gpu->gcn, "%.*s", (int)strspn(text, "0123456789abcdef"),
             strcmp(text, "910") == 0 ? "90a" : text);
}

static void begin_gpu(struct reading *g, const struct frame *frame, const char **attributes) {
    g->gpus[g->n_gpus++] = (struct gpu){.cpu = frame->cpu,
                                        .bridge = frame->bridge,
                                        .sm = atoi(tsim_xml_attribute(attributes, "sm")),
                                        .device = frame->device,
                                        .link_bytes_per_s = frame->link_bytes_per_s};
    read_gcn(&g->gpus[g->n_gpus - 1], tsim_xml_attribute(attributes, "gcn"));
    /* Slower than what is below it: a bridge of a virtual machine, whose speed says nothing. */
    if (frame->uplink_bytes_per_s > 0 && frame->uplink_bytes_per_s >= frame->link_bytes_per_s)
        g->uplink_bytes_per_s = frame->uplink_bytes_per_s;
}

/* NVLink, or xGMI of AMD's. */
static void add_link(struct reading *g, const char **attributes) {
    int count = atoi(tsim_xml_attribute(attributes, "count"));
    if (g->n_gpus == 0 || count < 1 || count > 1000)
        return;
    struct gpu *gpu = &g->gpus[g->n_gpus - 1];
    gpu->nvlinks = gpu->nvlinks < 1000 ? gpu->nvlinks + count : gpu->nvlinks;
    gpu->n_targets++;
    gpu->has_switch |= strncmp(tsim_xml_attribute(attributes, "tclass"), "0x0680", 6) == 0;
}

/* A speed that no NIC has (Slingshot's driver gives kilobits) tells nothing. */
#define FASTEST_MB_PER_S 1e7

/* The fastest are those that a job uses; others (10 Gb/s for the administrator) are not counted. */
static void add_net(struct reading *g, const char **attributes) {
    double speed = strtod(tsim_xml_attribute(attributes, "speed"), NULL); /* Mb/s */
    double bytes_per_s = speed <= FASTEST_MB_PER_S ? 1e6 / 8 * speed : 0;
    if (!(speed >= 1000) || g->n_nets == MOST || bytes_per_s < g->net_bytes_per_s)
        return;
    g->n_nets = bytes_per_s > g->net_bytes_per_s ? 1 : g->n_nets + 1;
    g->net_bytes_per_s = bytes_per_s;
}

static const char *begin(void *context, int depth, const char *name, const char **attributes) {
    struct reading *g = context;
    struct frame frame = g->frames[depth];
    if (strcmp(name, "system") == 0)
        g->has_system = true;
    else if (strcmp(name, "cpu") == 0)
        frame.cpu = ++g->n_cpus;
    else if (strcmp(name, "pci") == 0)
        begin_pci(g, &frame, attributes);
    else if (strcmp(name, "gpu") == 0 && g->n_gpus == MOST)
        return "more than 256 accelerators";
    else if (strcmp(name, "gpu") == 0)
        begin_gpu(g, &frame, attributes);
    else if (strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0)
        add_link(g, attributes);
    else if (strcmp(name, "net") == 0)
        add_net(g, attributes);
    g->frames[depth + 1] = frame;
    return NULL;
}

/* ---- what it is ---- */

static int count_same(const struct reading *g, bool by_bridge) {
    int n = 0;
    for (int i = 0; i < g->n_gpus; i++)
        n += by_bridge ? g->gpus[i].bridge == g->gpus[0].bridge && g->gpus[0].bridge > 0
                       : g->gpus[i].cpu == g->gpus[0].cpu;
    return n;
}

static void classify(const struct reading *g, struct tsim_imported_machine *m) {
    const struct gpu *gpu = &g->gpus[0];
    int per_switch = count_same(g, true), per_socket = count_same(g, false);
    bool is_amd = gpu->gcn[0] != '\0';
    m->n_accelerators = g->n_gpus;
    m->n_nics = g->n_nets;
    m->sm = is_amd ? 0 : gpu->sm;
    m->gcn = is_amd ? gpu->gcn : NULL;
    m->compute_units = is_amd && gpu->sm != 90 ? gpu->sm : 0;
    m->device = gpu->device;
    m->n_targets = gpu->n_targets;
    m->nvlinks = gpu->nvlinks;
    m->has_switch = gpu->has_switch || (gpu->nvlinks > 0 && gpu->n_targets == g->n_gpus - 1 && g->n_gpus > 1);
    m->is_cube = !is_amd && !m->has_switch && g->n_gpus == 8 && gpu->nvlinks == 6 && gpu->n_targets == 4;
    m->nic_bytes_per_s = g->net_bytes_per_s;
    m->host_link_bytes_per_s = gpu->link_bytes_per_s;
    m->uplink_bytes_per_s = g->uplink_bytes_per_s;
    m->per_switch = per_switch > 1 && g->n_gpus % per_switch == 0 ? per_switch : 0;
    m->per_socket = per_socket < g->n_gpus && g->n_gpus % per_socket == 0 ? per_socket : 0;
}

enum tsim_status tsim_import_nccl_xml(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags) {
    static const struct tsim_xml_handler HANDLER = {begin, "the file that NCCL writes where NCCL_TOPO_DUMP_FILE says"};
    struct reading *g = TSIM_NEW(arena, struct reading);
    struct tsim_imported_machine machine = {.program = "NCCL's topology", .file = input->file};
    TSIM_TRY(tsim_xml_read(arena, input, &HANDLER, g, diags));
    if (!g->has_system || g->n_gpus == 0) {
        struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
        tsim_diag_hint(
            tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "", g->has_system ? "no gpu in it" : "no <system> in it"),
            "%s", HANDLER.hint);
        return TSIM_ERR_SCHEMA;
    }
    classify(g, &machine);
    return tsim_machine_write(arena, &machine, input, result, diags);
}
