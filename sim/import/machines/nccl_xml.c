#include "import/machines/machine.h"
#include "import/machines/xml.h"

#include <stdlib.h>
#include <string.h>

/* <system><cpu numaid=...><pci class=... link_speed="32.0 GT/s PCIe" link_width="16">...<gpu dev=... sm="90"> <nvlink
 * target=... count="18" tclass="0x068000"/></gpu> ... <nic><net name=... speed="400000"/></nic></pci></cpu> A pci of
 * class 0x0604.. is a bridge or switch. RCCL writes <gpu sm="304" gcn="gfx942"> with <xgmi target=... count="1"/>: sm
 * are the compute units (90 before ROCm 6, whatever they are), gcn was a number: 942, 908, and 910 for gfx90a. Clouds
 * give their virtual machines a file that NCCL reads (NCCL_TOPO_FILE). It has the same elements down to <pci>: class
 * 0x0302.. is an accelerator, 0x0207.. and 0x0200.. a NIC, and what they are NCCL finds out itself. A cloud's file with
 * <gpu sm="90"/> has no <nvlink> either, which a machine of PCIe cards has not in a file that NCCL wrote: there the PCI
 * device tells which cards. */

enum { MOST = TSIM_MACHINE_MOST_DEVICES };

struct gpu {
    int cpu, bridge; /* numbers of the elements above it; bridge 0: none */
    bool is_bare;    /* a <pci> without <gpu> in it */
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
    const char *busid;
    int gpu; /* the number + 1 of the <pci>'s in `gpus`; 0: it is none */
};

struct nics {
    int n;
    double bytes_per_s; /* of one: of the fastest, which are counted */
};

struct reading {
    struct tsim_arena *arena;
    struct frame frames[TSIM_XML_MOST_DEPTH + 1]; /* [depth]: what surrounds an element there */
    int n_cpus, n_bridges;
    bool has_system;
    struct gpu gpus[MOST];
    int n_gpus;
    struct nics nets, infiniband, ethernet; /* <net>, and <pci> of the two classes with its link's rate */
    double uplink_bytes_per_s;
};

/* Returns the rate of "32.0 GT/s PCIe" x 16 lanes. Generations from 8 GT/s on send 128 bits in 130, earlier ones 8 in
 * 10. */
static double pcie_rate(const char **attributes) {
    double transfers = strtod(tsim_xml_attribute(attributes, "link_speed"), NULL),
           width = strtod(tsim_xml_attribute(attributes, "link_width"), NULL);
    if (!(transfers > 0) || transfers > 1000 || !(width > 0) || width > 64)
        return 0;
    return transfers * 1e9 * width / 8 * (transfers < 8 ? 0.8 : 128.0 / 130);
}

static void add_nic(struct nics *nics, double bytes_per_s) {
    if (nics->n == MOST || bytes_per_s < nics->bytes_per_s)
        return;
    nics->n = bytes_per_s > nics->bytes_per_s ? 1 : nics->n + 1;
    nics->bytes_per_s = bytes_per_s;
}

/* Returns what is wrong, or NULL. */
static const char *add_gpu(struct reading *g, struct frame *frame) {
    if (g->n_gpus == MOST)
        return "more than 256 accelerators";
    g->gpus[g->n_gpus] = (struct gpu){.cpu = frame->cpu,
                                      .bridge = frame->bridge,
                                      .is_bare = true,
                                      .device = frame->device,
                                      .link_bytes_per_s = frame->link_bytes_per_s};
    frame->gpu = ++g->n_gpus;
    /* Slower than what is below it: a bridge of a virtual machine, whose speed says nothing. */
    if (frame->uplink_bytes_per_s > 0 && frame->uplink_bytes_per_s >= frame->link_bytes_per_s)
        g->uplink_bytes_per_s = frame->uplink_bytes_per_s;
    return NULL;
}

static const char *begin_pci(struct reading *g, struct frame *frame, const char **attributes) {
    const char *class = tsim_xml_attribute(attributes, "class");
    double link = pcie_rate(attributes);
    frame->link_bytes_per_s = link;
    frame->device = (unsigned)strtoul(tsim_xml_attribute(attributes, "device"), NULL, 16) & 0xffff;
    frame->busid = tsim_arena_strdup(g->arena, tsim_xml_attribute(attributes, "busid"));
    frame->gpu = 0;
    if (strncmp(class, "0x0604", 6) == 0) {
        frame->bridge = ++g->n_bridges;
        frame->uplink_bytes_per_s = link;
    } else if (strncmp(class, "0x0207", 6) == 0)
        add_nic(&g->infiniband, link);
    else if (strncmp(class, "0x0200", 6) == 0)
        add_nic(&g->ethernet, link);
    return strncmp(class, "0x0302", 6) == 0 ? add_gpu(g, frame) : NULL;
}

/* Reads "gfx942" or "942", without the first three letters. */
static void read_gcn(struct gpu *gpu, const char *text) {
    if (strncmp(text, "gfx", 3) == 0)
        text += 3;
    snprintf(gpu->gcn, sizeof gpu->gcn, "%.*s", (int)strspn(text, "0123456789abcdef"),
             strcmp(text, "910") == 0 ? "90a" : text);
}

static const char *begin_gpu(struct reading *g, struct frame *frame, const char **attributes) {
    const char *problem = frame->gpu > 0 ? NULL : add_gpu(g, frame);
    if (problem)
        return problem;
    struct gpu *gpu = &g->gpus[frame->gpu - 1];
    gpu->is_bare = false;
    gpu->sm = atoi(tsim_xml_attribute(attributes, "sm"));
    read_gcn(gpu, tsim_xml_attribute(attributes, "gcn"));
    return NULL;
}

/* Adds an NVLink, or AMD's xGMI. A link that leads back to its own accelerator does not count: Azure writes it for
 * cards without NVLinks. */
static void add_link(struct reading *g, const struct frame *frame, const char **attributes) {
    int count = atoi(tsim_xml_attribute(attributes, "count"));
    if (frame->gpu == 0 || count < 1 || count > 1000 ||
        strcmp(tsim_xml_attribute(attributes, "target"), frame->busid ? frame->busid : "") == 0)
        return;
    struct gpu *gpu = &g->gpus[frame->gpu - 1];
    gpu->nvlinks = gpu->nvlinks < 1000 ? gpu->nvlinks + count : gpu->nvlinks;
    gpu->n_targets++;
    gpu->has_switch |= strncmp(tsim_xml_attribute(attributes, "tclass"), "0x0680", 6) == 0;
}

/* No NIC is faster (10 Tb/s); Slingshot's driver gives kilobits in place of megabits. */
#define FASTEST_MB_PER_S 1e7

/* Counts the fastest NICs, which a job uses; slower ones (10 Gb/s for administration) do not count. */
static void add_net(struct reading *g, const char **attributes) {
    double speed = strtod(tsim_xml_attribute(attributes, "speed"), NULL); /* Mb/s */
    if (speed > FASTEST_MB_PER_S)
        speed /= 1000;
    if (speed >= 1000 && speed <= FASTEST_MB_PER_S)
        add_nic(&g->nets, 1e6 / 8 * speed);
}

static const char *begin(void *context, int depth, const char *name, const char **attributes) {
    struct reading *g = context;
    struct frame frame = g->frames[depth];
    const char *problem = NULL;
    if (strcmp(name, "system") == 0)
        g->has_system = true;
    else if (strcmp(name, "cpu") == 0)
        frame.cpu = ++g->n_cpus;
    else if (strcmp(name, "pci") == 0)
        problem = begin_pci(g, &frame, attributes);
    else if (strcmp(name, "gpu") == 0)
        problem = begin_gpu(g, &frame, attributes);
    else if (strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0)
        add_link(g, &frame, attributes);
    else if (strcmp(name, "net") == 0)
        add_net(g, attributes);
    g->frames[depth + 1] = frame;
    return problem;
}

/* ---- what it is ---- */

static int count_same(const struct reading *g, bool by_bridge) {
    int n = 0;
    for (int i = 0; i < g->n_gpus; i++)
        n += by_bridge ? g->gpus[i].bridge == g->gpus[0].bridge && g->gpus[0].bridge > 0
                       : g->gpus[i].cpu == g->gpus[0].cpu;
    return n;
}

/* If some devices have a <gpu>, drops those without one: they are no accelerators of the job. */
static void drop_bare(struct reading *g) {
    int n = 0;
    for (int i = 0; i < g->n_gpus; i++)
        if (!g->gpus[i].is_bare)
            g->gpus[n++] = g->gpus[i];
    g->n_gpus = n > 0 ? n : g->n_gpus;
}

/* Returns the largest of the usual rates of a port that its PCIe link carries; 0: less than the smallest, or not
 * said. */
static double port_rate(double link_bytes_per_s) {
    static const double USUAL_GB_PER_S[] = {800, 400, 200, 100, 50, 25, 10};
    for (size_t i = 0; i < sizeof USUAL_GB_PER_S / sizeof USUAL_GB_PER_S[0]; i++)
        if (USUAL_GB_PER_S[i] * 1e9 / 8 <= link_bytes_per_s)
            return USUAL_GB_PER_S[i] * 1e9 / 8;
    return 0;
}

static void count_nics(const struct reading *g, struct tsim_imported_machine *m) {
    const struct nics *ports = g->infiniband.n > 0 ? &g->infiniband : &g->ethernet;
    m->is_nic_rate_of_link = g->nets.n == 0 && ports->n > 0;
    m->n_nics = m->is_nic_rate_of_link ? ports->n : g->nets.n;
    m->nic_bytes_per_s = m->is_nic_rate_of_link ? port_rate(ports->bytes_per_s) : g->nets.bytes_per_s;
}

static void classify(const struct reading *g, struct tsim_imported_machine *m) {
    const struct gpu *gpu = &g->gpus[0];
    int per_switch = count_same(g, true), per_socket = count_same(g, false);
    bool is_amd = gpu->gcn[0] != '\0';
    m->n_accelerators = g->n_gpus;
    m->is_of_unsaid_links = !is_amd && gpu->nvlinks == 0 && gpu->device == 0;
    count_nics(g, m);
    m->sm = is_amd ? 0 : gpu->sm;
    m->gcn = is_amd ? gpu->gcn : NULL;
    m->compute_units = is_amd && gpu->sm != 90 ? gpu->sm : 0;
    m->device = gpu->device;
    m->n_targets = gpu->n_targets;
    m->nvlinks = gpu->nvlinks;
    m->has_switch = gpu->has_switch || (gpu->nvlinks > 0 && gpu->n_targets == g->n_gpus - 1 && g->n_gpus > 1);
    m->is_cube = !is_amd && !m->has_switch && g->n_gpus == 8 && gpu->nvlinks == 6 && gpu->n_targets == 4;
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
    g->arena = arena;
    TSIM_TRY(tsim_xml_read(arena, input, &HANDLER, g, diags));
    if (!g->has_system || g->n_gpus == 0) {
        struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
        tsim_diag_hint(
            tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "", g->has_system ? "no gpu in it" : "no <system> in it"),
            "%s", HANDLER.hint);
        return TSIM_ERR_SCHEMA;
    }
    drop_bare(g);
    classify(g, &machine);
    return tsim_machine_write(arena, &machine, input, result, diags);
}
