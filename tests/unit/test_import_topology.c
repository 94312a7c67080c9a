/* Topologies of machines: what nvidia-smi and NCCL say of them, as nodes. Values are read off the files by hand. */
#include "config/recognize.h"
#include "config/text/document.h"
#include "import/formats.h"
#include "support/training_rig.h"

#include <stdlib.h>
#include <string.h>

/* Returns the node of a scenario around what the import wrote. */
static const struct tsim_node *node_of(const char *yaml) {
    const char *text =
        "schema: tsim/v1\nname: t\nmodel: mlp-mnist\ntraining: {precision: fp32}\ncluster:\n  nodes: 1\n  node:\n";
    for (const char *line = yaml; *line;) {
        size_t n = strcspn(line, "\n");
        text = tsim_arena_printf(&arena, "%s    %.*s\n", text, (int)n, line);
        line += n + (line[n] == '\n');
    }
    return load_text(text)->cluster.node;
}

static const struct tsim_node *imported(const char *format, const char *path, const struct tsim_override *set) {
    const char *file = tsim_arena_printf(&arena, "%s/%s", TSIM_SOURCE_TREE, path);
    const struct tsim_import_input options = {.overrides = set, .n_overrides = set ? 1 : 0};
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(tsim_import_files(&arena, tsim_import_format_find(format), &file, 1, &options, &result, &diags),
                     TSIM_OK);
    return node_of(result.yaml);
}

static const struct tsim_node *imported_text(const char *format, const char *text) {
    struct tsim_import_input input = {"text", text, strlen(text), NULL, 0, NULL};
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(tsim_import_format_find(format)->read(&arena, &input, &result, &diags), TSIM_OK);
    return node_of(result.yaml);
}

static void check_close(double actual, double expected) {
    ck_assert_double_eq_tol(actual / expected, 1, 1e-5);
}

/* Eight GPUs with 18 NVLinks each to every other are a switch; eight of ten NICs are beside them. A DGX H100 has links
 * of 18 x 25 GB/s each way. */
TSIM_TEST(dgx_h100_by_nvidia_smi) {
    const struct tsim_node *n = imported("nvidia-topo", "tests/data/import/dgx-h100-topo.txt", NULL);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 8);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_SWITCH);
    check_close(n->scale_up_bytes_per_s, 18 * 25e9);
    ck_assert_str_eq(n->accelerator->name, "h100-sxm");
}

/* The GPUs are in pairs below a switch (PIX), with two pairs on each socket (NODE) and one NIC. */
TSIM_TEST(pcie_by_nvidia_smi) {
    const struct tsim_override l40s = {"accelerator", "l40s"};
    const struct tsim_node *n = imported("nvidia-topo", "tests/data/import/pcie-topo.txt", &l40s);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 1);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_PCIE);
    ck_assert_int_eq(n->accelerators_per_switch, 2);
    ck_assert_int_eq(n->accelerators_per_socket, 4);
    ck_assert_str_eq(n->accelerator->name, "l40s");
}

/* There are four A100 (compute capability 8.0) with 3 x 4 NVLinks and two NICs of 200,000 Mb/s; PCIe at 16 GT/s x 16
 * lanes, coded 128 of 130 bits, is 31.5 GB/s. */
TSIM_TEST(hgx_a100_by_nccl) {
    const struct tsim_node *n = imported("nccl-xml", "tests/data/import/hgx-a100x4-nccl.xml", NULL);
    ck_assert_int_eq(n->accelerators, 4);
    ck_assert_int_eq(n->nics, 2);
    check_close(n->nic_bytes_per_s, 200e9 / 8);
    check_close(n->host_link_bytes_per_s, 16e9 * 16 / 8 * 128 / 130);
    check_close(n->scale_up_bytes_per_s, 12 * 25e9);
    ck_assert_str_eq(n->accelerator->name, "a100-40gb"); /* PCI device 0x20b0 */
}

/* There are eight H100 (9.0) with 5 + 5 + 4 + 4 NVLinks to four switches, and a NIC of 400,000 Mb/s beside each; PCIe
 * is 32 GT/s x 16. */
TSIM_TEST(hgx_h100_by_nccl) {
    const struct tsim_node *n = imported("nccl-xml", "docs/examples/nccl-h100.xml", NULL);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 8);
    check_close(n->nic_bytes_per_s, 400e9 / 8);
    check_close(n->host_link_bytes_per_s, 32e9 * 16 / 8 * 128 / 130);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_SWITCH);
    ck_assert_str_eq(n->accelerator->name, "h100-sxm");
}

/* Eight H100 (PCI device 0x2330), four NVSwitches, a NIC beside each accelerator; the one behind a slower PCIe link is
 * not a job's. */
TSIM_TEST(hgx_h100_by_lstopo) {
    const struct tsim_node *n = imported("lstopo", "tests/data/import/hgx-h100-lstopo.xml", NULL);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 8);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_SWITCH);
    check_close(n->scale_up_bytes_per_s, 18 * 25e9);
    ck_assert_str_eq(n->accelerator->name, "h100-sxm");
}

/* Eight A100 as PCIe cards (0x20b5), two below a switch, four on a socket. Their PCIe links rest at 4 GB/s, which tells
 * nothing of their speed. A screen's controller is no accelerator. */
TSIM_TEST(pcie_by_lstopo) {
    const struct tsim_node *n = imported("lstopo", "tests/data/import/pcie-a100-lstopo.xml", NULL);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 1);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_PCIE);
    ck_assert_int_eq(n->accelerators_per_switch, 2);
    ck_assert_int_eq(n->accelerators_per_socket, 4);
    ck_assert_double_gt(n->host_link_bytes_per_s, 20e9);
    ck_assert_str_eq(n->accelerator->name, "a100-80gb-pcie");
}

/* Each of eight reaches the seven others by xGMI: which AMD accelerator it is, the matrix alone does not say. */
TSIM_TEST(mi300x_by_rocm_smi) {
    const struct tsim_override mi325x = {"accelerator", "mi325x"};
    const struct tsim_node *n = imported("rocm-topo", "tests/data/import/mi300x-rocm-topo.txt", &mi325x);
    ck_assert_str_eq(n->accelerator->name, "mi325x");
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_MESH);
    n = imported_text("rocm-topo", "GPU[0]\t\t: Card Model: \t\t0x74a1\nGPU[0]\t\t: GFX Version: \t\tgfx942\n"
                                   "== Weight between two GPUs ==\n GPU0 GPU1\nGPU0 0 15\nGPU1 15 0\n"
                                   "== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n");
    ck_assert_str_eq(n->accelerator->name, "mi300x");
    ck_assert_int_eq(n->accelerators, 2);
    check_close(n->scale_up_bytes_per_s, 64e9);
}

/* A hybrid cube mesh: GPU 0 has one or two links to four others, none to the rest. DGX-1V's (NVIDIA WP-08437). */
TSIM_TEST(cube_mesh_by_nvidia_smi) {
    static const char TEXT[] = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tmlx5_1\tmlx5_2\tmlx5_3\n"
                               "GPU0\tX\tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tPHB\tSYS\tSYS\n"
                               "GPU1\tNV1\tX\tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tPIX\tPHB\tSYS\tSYS\n"
                               "GPU2\tNV1\tNV2\tX\tNV2\tSYS\tSYS\tNV1\tSYS\tPHB\tPIX\tSYS\tSYS\n"
                               "GPU3\tNV2\tNV1\tNV2\tX\tSYS\tSYS\tSYS\tNV1\tPHB\tPIX\tSYS\tSYS\n"
                               "GPU4\tNV2\tSYS\tSYS\tSYS\tX\tNV1\tNV1\tNV2\tSYS\tSYS\tPIX\tPHB\n"
                               "GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\tX\tNV2\tNV1\tSYS\tSYS\tPIX\tPHB\n"
                               "GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\tX\tNV2\tSYS\tSYS\tPHB\tPIX\n"
                               "GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\tX\tSYS\tSYS\tPHB\tPIX\n";
    const struct tsim_node *n = imported_text("nvidia-topo", TEXT);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 4);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_CUBE_MESH);
}

/* A refusal says what was found. */
static const char *refused(const char *format, const char *text) {
    struct tsim_import_input input = {"text", text, strlen(text), NULL, 0, NULL};
    struct tsim_import_result result = {NULL, NULL};
    diags.n_items = diags.n_errors = 0;
    ck_assert_int_eq(tsim_import_format_find(format)->read(&arena, &input, &result, &diags), TSIM_ERR_INFEASIBLE);
    return diags.items[0].message;
}

/* A node as RCCL dumps it: each accelerator has an xGMI link to the next `links`, and a NIC of 400,000 Mb/s beside
 * it. */
static const char *rccl(int n, int links, const char *pci, const char *gpu) {
    const char *text = "<system version=\"2\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">";
    for (int i = 0; i < n; i++) {
        text = tsim_arena_printf(&arena,
                                 "%s<pci busid=\"0000:0%d:00.0\" class=\"0x120000\" vendor=\"0x1002\" %s "
                                 "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"%d\" %s rank=\"%d\">",
                                 text, i, pci, i, gpu, i);
        for (int k = 1; k <= links; k++)
            text = tsim_arena_printf(&arena, "%s<xgmi target=\"0000:0%d:00.0\" count=\"1\" tclass=\"0x120000\"/>", text,
                                     (i + k) % n);
        text = tsim_arena_printf(&arena,
                                 "%s</gpu></pci><pci busid=\"0000:1%d:00.0\" class=\"0x020700\"><nic><net "
                                 "name=\"mlx5_%d\" speed=\"400000\"/></nic></pci>",
                                 text, i, i);
    }
    return tsim_arena_printf(&arena,
                             "%s<pci busid=\"0000:20:00.0\" class=\"0x020000\"><nic><net name=\"eth0\" "
                             "speed=\"10000\"/></nic></pci></cpu></system>",
                             text);
}

/* Eight MI300X of 304 compute units, 7 links of 64 GB/s each; four of them have 3. The administrator's 10 Gb/s is no
 * NIC of the job. Before ROCm 6 gfx90a was 910, and sm 90. */
TSIM_TEST(amd_by_rccl) {
    const struct tsim_node *n =
        imported_text("nccl-xml", rccl(8, 7, "device=\"0x74b5\"", "sm=\"304\" gcn=\"gfx942\" arch=\"38911\""));
    ck_assert_str_eq(n->accelerator->name, "mi300x");
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 8);
    check_close(n->nic_bytes_per_s, 400e9 / 8);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_MESH);
    check_close(n->scale_up_bytes_per_s, 7 * 64e9);
    check_close(n->host_link_bytes_per_s, 32e9 * 16 / 8 * 128 / 130);
    n = imported_text("nccl-xml", rccl(4, 3, "", "sm=\"304\" gcn=\"942\""));
    ck_assert_int_eq(n->accelerators, 4);
    check_close(n->scale_up_bytes_per_s, 3 * 64e9);
    check_close(n->scale_up_ring_bytes_per_s, 313e9 * 3 / 7);
    n = imported_text("nccl-xml", rccl(8, 3, "", "sm=\"90\" gcn=\"910\""));
    ck_assert_str_eq(n->accelerator->name, "mi250x-gcd");
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_MESH);
    n = imported_text("nccl-xml", rccl(8, 7, "device=\"0x74a5\"", "sm=\"304\" gcn=\"gfx942\""));
    ck_assert_str_eq(n->accelerator->name, "mi325x");
}

/* Two of the four GPUs of a tray, told from B200 by their PCI device; the rest is the rack's. */
TSIM_TEST(a_tray_of_a_rack) {
    static const char GPU[] =
        "<pci busid=\"000%d:01:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x%x\" link_speed=\"\" "
        "link_width=\"0\"><gpu dev=\"%d\" sm=\"%d\" rank=\"%d\" gdr=\"1\">"
        "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>";
    static const struct {
        unsigned device;
        int sm;
        const char *name;
    } RACKS[] = {{0x2941, 100, "gb200"}, {0x31c2, 103, "gb300"}, {0x2901, 100, "b200"}};
    for (size_t i = 0; i < sizeof RACKS / sizeof RACKS[0]; i++) {
        const unsigned device = RACKS[i].device;
        const char *text =
            tsim_arena_printf(&arena, "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\">%s%s</cpu></system>",
                              tsim_arena_printf(&arena, GPU, 8, device, 0, RACKS[i].sm, 0),
                              tsim_arena_printf(&arena, GPU, 9, device, 1, RACKS[i].sm, 1));
        const struct tsim_node *n = imported_text("nccl-xml", text);
        ck_assert_int_eq(n->accelerators, 2);
        ck_assert_str_eq(n->accelerator->name, RACKS[i].name);
    }
}

TSIM_TEST(what_the_catalogue_does_not_have) {
    assert_says(refused("nccl-xml", rccl(4, 3, "device=\"0x74a0\"", "sm=\"228\" gcn=\"942\"")), /* MI300A */
                "an Instinct MI300A");
    assert_says(refused("nccl-xml", rccl(4, 3, "", "sm=\"90\" gcn=\"908\"")), /* MI100 */
                "gfx908, 3 xGMI links");
    assert_says(refused("nccl-xml", rccl(8, 7, "", "sm=\"80\" gcn=\"gfx942\"")),
                "gfx942, 80 compute units, 7 xGMI links");
    assert_says(refused("nccl-xml", rccl(6, 2, "", "sm=\"90\" gcn=\"gfx90a\"")), "one has xGMI links to 2 others");
    assert_says(refused("nccl-xml", "<system><cpu><pci><gpu sm=\"75\"/></pci></cpu></system>"),
                "compute capability 7.5");
    assert_says(refused("nvidia-topo", "GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n"), "does not say");
    assert_says(refused("rocm-topo", "== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 PCIE\nGPU1 PCIE 0\n"),
                "does not say");
    assert_says(refused("lstopo", "<topology><object type=\"Machine\"><object type=\"PCIDev\" pci_type=\"0302 "
                                  "[10de:9999] [10de:1] a1\"/></object></topology>"),
                "PCI device 0x9999");
}

/* nvidia-smi shows no NIC if there is none or its driver is missing. A note says so, and how to give NICs. */
TSIM_TEST(without_nics) {
    static const char TEXT[] = "GPU0 GPU1\nGPU0 X NV18\nGPU1 NV18 X\n";
    ck_assert_int_eq(imported_text("nvidia-topo", TEXT)->nics, 0);
    ck_assert_uint_eq(diags.n_warnings, 1);
    ck_assert_ptr_nonnull(strstr(diags.items[0].hint, "--set nics=8"));
    diags.n_items = diags.n_warnings = 0;
    const struct tsim_override sets[] = {{"nics", "2"}, {"nic_bandwidth", "200 Gb/s"}};
    struct tsim_import_input input = {"text", TEXT, strlen(TEXT), sets, 2, NULL};
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(tsim_import_format_find("nvidia-topo")->read(&arena, &input, &result, &diags), TSIM_OK);
    const struct tsim_node *n = node_of(result.yaml);
    ck_assert_int_eq(n->nics, 2);
    check_close(n->nic_bytes_per_s, 25e9);
    ck_assert_uint_eq(diags.n_warnings, 0);
}

/* Eight cards of PCIe 3, all on one socket and none behind a switch: nothing of the catalogue's node of eight is taken
 * over. */
TSIM_TEST(a_tree_as_it_is) {
    const char *text = "<system><cpu numaid=\"0\">";
    for (int i = 0; i < 8; i++)
        text = tsim_arena_printf(&arena,
                                 "%s<pci class=\"0x030200\" device=\"0x26b9\" link_speed=\"8.0 GT/s\" "
                                 "link_width=\"16\"><gpu sm=\"89\"/></pci>",
                                 text);
    const struct tsim_node *n = imported_text("nccl-xml", tsim_arena_printf(&arena, "%s</cpu></system>", text));
    ck_assert_str_eq(n->accelerator->name, "l40s");
    ck_assert_int_eq(n->accelerators_per_switch, 0);
    ck_assert_int_eq(n->accelerators_per_socket, 0);
    check_close(n->scale_up_bytes_per_s, 8e9 * 16 / 8 * 128 / 130);
    check_close(n->scale_up_ring_bytes_per_s, 24e9 * (8e9 * 16 / 8 * 128 / 130) / 31.5e9);
}

/* The links of PCIe by generation: 2.5 and 5 GT/s lose a fifth to 8b/10b, 8 GT/s and more lose 2 of 130. */
static const struct {
    const char *speed;
    int lanes;
    double bytes_per_s;
} PCIE[] = {{"2.5 GT/s PCIe", 16, 4e9},
            {"5.0 GT/s PCIe", 8, 4e9},
            {"8.0 GT/s PCIe", 16, 8e9 * 16 / 8 * 128 / 130},
            {"16.0 GT/s PCIe", 8, 16e9 * 8 / 8 * 128 / 130},
            {"32.0 GT/s PCIe", 16, 32e9 * 16 / 8 * 128 / 130}};

TSIM_TEST_ROWS(pcie_generations, PCIE) {
    const char *gpus = "";
    for (int i = 0; i < 2; i++)
        gpus =
            tsim_arena_printf(&arena,
                              "%s<pci busid=\"0000:0%d:00.0\" class=\"0x030200\" device=\"0x20b5\" link_speed=\"%s\" "
                              "link_width=\"%d\">"
                              "<gpu dev=\"%d\" sm=\"80\" rank=\"%d\"/></pci>",
                              gpus, i + 1, PCIE[_i].speed, PCIE[_i].lanes, i, i);
    const struct tsim_node *n = imported_text(
        "nccl-xml", tsim_arena_printf(&arena, "<system version=\"1\"><cpu numaid=\"0\">%s</cpu></system>", gpus));
    ck_assert_int_eq(n->accelerators, 2);
    check_close(n->host_link_bytes_per_s, PCIE[_i].bytes_per_s);
}

/* A cloud's file (NCCL_TOPO_FILE) has PCI devices alone: with the accelerator named it is the node of that, with as
 * many as the file has, and NICs as fast as a usual port that 16 lanes of 8 GT/s carry (15.75 GB/s = 126 Gb/s: 100
 * Gb/s). */
TSIM_TEST(a_file_of_a_cloud) {
    static const char SWITCH[] =
        "<pci busid=\"ffff:ff:0%d.0\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">"
        "<pci busid=\"%d\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"/>"
        "<pci busid=\"%d\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"/>"
        "<pci busid=\"%d\" class=\"0x020000\" link_speed=\"8 GT/s\" link_width=\"16\"/></pci>";
    const char *text = "<system version=\"1\"><cpu numaid=\"0\">";
    const struct tsim_override a100 = {"accelerator", "a100-40gb"}, l40s = {"accelerator", "l40s"};
    struct tsim_import_result result = {NULL, NULL};
    for (int i = 1; i <= 4; i++)
        text = tsim_arena_printf(&arena, "%s%s", text,
                                 tsim_arena_printf(&arena, SWITCH, i, 10 * i, 10 * i + 1, 10 * i + 2));
    text = tsim_arena_printf(&arena, "%s</cpu></system>", text);
    struct tsim_import_input input = {
        .file = "text", .text = text, .size = strlen(text), .overrides = &a100, .n_overrides = 1};
    const struct tsim_import_format *format = tsim_import_format_find("nccl-xml");
    ck_assert_int_eq(format->read(&arena, &input, &result, &diags), TSIM_OK);
    const struct tsim_node *n = node_of(result.yaml);
    ck_assert_int_eq(n->accelerators, 8);
    ck_assert_int_eq(n->nics, 4);
    check_close(n->nic_bytes_per_s, 100e9 / 8);
    ck_assert_int_eq(n->scale_up, TSIM_SCALE_UP_SWITCH);
    check_close(n->scale_up_bytes_per_s, 12 * 25e9);
    input.overrides = &l40s;
    ck_assert_int_eq(format->read(&arena, &input, &result, &diags), TSIM_OK);
    ck_assert_int_eq(node_of(result.yaml)->scale_up, TSIM_SCALE_UP_PCIE);
    ck_assert_int_eq(node_of(result.yaml)->accelerators_per_switch, 2);
    input.n_overrides = 0;
    ck_assert_int_eq(format->read(&arena, &input, &result, &diags), TSIM_ERR_INFEASIBLE);
}

/* hardware/pci-devices.yaml names what the catalogue does not have, and what it has that is nearest. */
TSIM_TEST(devices_that_the_catalogue_does_not_have) {
    const struct tsim_accelerator *const *known;
    const struct tsim_value *table;
    size_t n;
    ck_assert_int_eq(tsim_known_accelerators(&arena, &known, &n, &diags), TSIM_OK);
    ck_assert_int_eq(
        tsim_document_read(&arena,
                           tsim_arena_printf(&arena, "%s/hardware/pci-devices.yaml", tsim_catalogue_folder(&arena)),
                           &table, &diags),
        TSIM_OK);
    for (size_t maker = 0; maker < table->n_items; maker++)
        for (size_t i = 0; i < table->pairs[maker].value->n_items; i++) {
            const struct tsim_pair *row = &table->pairs[maker].value->pairs[i];
            const struct tsim_value *nearest = tsim_value_find(row->value, "nearest");
            const unsigned device = (unsigned)strtoul(row->key, NULL, 16);
            bool is_there = nearest == NULL;
            for (size_t k = 0; k < n; k++) {
                is_there |= nearest && strcmp(known[k]->name, nearest->text) == 0;
                for (size_t d = 0; d < TSIM_MOST_KNOWN; d++)
                    ck_assert_msg(known[k]->known_as->pci_devices[d] != device &&
                                      known[k]->known_as->card_devices[d] != device,
                                  "%s is %s", row->key, known[k]->name);
            }
            ck_assert_msg(is_there && tsim_value_find(row->value, "name"), "%s", row->key);
        }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
