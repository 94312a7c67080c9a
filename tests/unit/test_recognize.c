/* Names that files of others give the catalogue's hardware: each name leads to one accelerator, and to a node that
 * has it. */
#include "config/files/catalogue_read.h"
#include "config/recognize.h"
#include "config/text/document.h"
#include "support/training_rig.h"

#include <string.h>

static const struct tsim_accelerator *const *known;
static size_t n_known;

static void set_up_known(void) {
    set_up();
    ck_assert_int_eq(tsim_known_accelerators(&arena, &known, &n_known, &diags), TSIM_OK);
    ck_assert_uint_ge(n_known, 22);
}

static bool shares(const unsigned *devices, const unsigned *others) {
    for (size_t i = 0; i < TSIM_MOST_KNOWN && devices[i]; i++)
        for (size_t k = 0; k < TSIM_MOST_KNOWN && others[k]; k++)
            if (devices[i] == others[k])
                return true;
    return false;
}

TSIM_TEST(a_device_is_one_accelerator) {
    for (size_t i = 0; i < n_known; i++)
        for (size_t k = 0; k < n_known; k++) {
            const struct tsim_known_as *a = known[i]->known_as, *b = known[k]->known_as;
            ck_assert_msg(!shares(a->pci_devices, b->card_devices), "%s, %s", known[i]->name, known[k]->name);
            ck_assert_msg(i == k ||
                              (!shares(a->pci_devices, b->pci_devices) && !shares(a->card_devices, b->card_devices)),
                          "%s, %s", known[i]->name, known[k]->name);
        }
}

TSIM_TEST(its_node_has_it) {
    for (size_t i = 0; i < n_known; i++) {
        const struct tsim_known_as *a = known[i]->known_as;
        const struct tsim_node *node;
        ck_assert_ptr_nonnull(a->source);
        ck_assert(a->node || !a->names[0]);
        if (!a->node)
            continue;
        ck_assert_int_eq(tsim_catalogue_load_node(&arena, a->node, &node, &diags), TSIM_OK);
        ck_assert_str_eq(node->accelerator->name, known[i]->name);
    }
}

static const char *usual_fabric(const struct tsim_node *node) {
    const char *id = "";
    ck_assert_int_eq(tsim_usual_fabric(&arena, node, &id, &diags), TSIM_OK);
    return id;
}

/* The fastest that the NICs fill; NICs slower than all of them have the slowest. */
static const struct {
    int64_t nics;
    double gigabits_per_s;
    const char *fabric;
} NICS[] = {{8, 1600, "ib-xdr"}, {8, 800, "ib-xdr"},     {8, 799, "ib-ndr"},    {8, 400, "ib-ndr"}, {8, 200, "ib-hdr"},
            {4, 100, "ib-edr"},  {2, 99, "ethernet-10"}, {1, 1, "ethernet-10"}, {0, 400, NULL}};

TSIM_TEST_ROWS(fabric_of_nics, NICS) {
    const struct tsim_node node = {.nics = NICS[_i].nics, .nic_bytes_per_s = NICS[_i].gigabits_per_s * 1e9 / 8};
    ck_assert_pstr_eq(usual_fabric(&node), NICS[_i].fabric);
}

TSIM_TEST(usual_nodes) {
    const struct tsim_node *node;
    ck_assert_int_eq(tsim_usual_node(&arena, TSIM_SCALE_UP_PCIE, &node, &diags), TSIM_OK);
    ck_assert_str_eq(node->name, "pcie-a100x8");
    ck_assert_int_eq(tsim_usual_node(&arena, TSIM_SCALE_UP_CUBE_MESH, &node, &diags), TSIM_OK);
    ck_assert_str_eq(node->name, "dgx-1v");
    ck_assert_int_eq(tsim_usual_node(&arena, TSIM_SCALE_UP_SWITCH, &node, &diags), TSIM_OK);
    ck_assert_ptr_null(node);
}

/* There is one of each kind, because a second one would be taken or not by its name. */
TSIM_TEST(one_usual_node_of_a_kind) {
    const char *const *ids;
    size_t n, n_usual[TSIM_SCALE_UP_CUBE_MESH + 1] = {0};
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_NODES, &ids, &n, &diags), TSIM_OK);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_node *node;
        ck_assert_int_eq(tsim_catalogue_load_node(&arena, ids[i], &node, &diags), TSIM_OK);
        n_usual[node->scale_up] += node->is_usual;
        ck_assert_uint_le(n_usual[node->scale_up], 1);
    }
}

/* NCCL's tables go by NVIDIA's compute capability; what a file says itself counts more. */
static const struct {
    const char *keys;
    enum tsim_generation generation;
} CAPABILITIES[] = {{"compute_capability: 7.0", TSIM_VOLTA},
                    {"compute_capability: 8.9", TSIM_AMPERE},
                    {"compute_capability: 9.0", TSIM_HOPPER},
                    {"compute_capability: 10.3", TSIM_BLACKWELL},
                    {"compute_capability: 12.0", TSIM_BLACKWELL},
                    {"compute_capability: 0", TSIM_HOPPER},
                    {"compute_capability: 8.0, nccl_generation: blackwell", TSIM_BLACKWELL}};

TSIM_TEST_ROWS(generations, CAPABILITIES) {
    const char *text = tsim_arena_printf(&arena,
                                         "{schema: tsim/accelerator/v1, name: a, memory: 80 GB, memory_bandwidth: 2 "
                                         "TB/s, peak: {bf16: 1e14 FLOP/s}, %s}",
                                         CAPABILITIES[_i].keys);
    struct tsim_reader reader = {.arena = &arena, .diags = &diags};
    const struct tsim_value *root;
    ck_assert_int_eq(tsim_document_parse(&arena, "a.yaml", text, strlen(text), &root, &diags), TSIM_OK);
    const struct tsim_accelerator *a = tsim_catalogue_read(&reader, TSIM_CATALOGUE_ACCELERATORS, root, "");
    ck_assert_ptr_nonnull(a);
    ck_assert_int_eq(a->nccl_generation, CAPABILITIES[_i].generation);
}

TSIM_TEST(usual_fabrics_are_there) {
    const char *const *ids;
    size_t n;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_NODES, &ids, &n, &diags), TSIM_OK);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_node *node;
        const struct tsim_fabric *fabric;
        ck_assert_int_eq(tsim_catalogue_load_node(&arena, ids[i], &node, &diags), TSIM_OK);
        const char *id = usual_fabric(node);
        if (id)
            ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, id, &fabric, &diags), TSIM_OK);
        else
            ck_assert_int_eq(node->nics, 0);
    }
}

/* NCCL, Slurm and comments have them so. */
static const struct {
    const char *text, *id;
} TEXTS[] = {{"NVIDIA H100 80GB HBM3", "h100-sxm"},
             {"NVIDIA A100-SXM4-40GB", "a100-40gb"},
             {"NVIDIA A100-SXM4-80GB", "a100-80gb"},
             {"v100-32g", "v100-32gb-sxm3"},
             {"NVIDIA GB200", "gb200"},
             {"NVIDIA B200", "b200"},
             {"8 H200 GPUs", "h200"},
             {"preset for 64xH20", "h20"},
             {"AMD Instinct MI300X", "mi300x"},
             {"h2048", NULL},
             {"Quadro", NULL},
             {"", NULL}};

TSIM_TEST_ROWS(names, TEXTS) {
    const struct tsim_accelerator *named;
    ck_assert_int_eq(tsim_accelerator_named(&arena, TEXTS[_i].text, &named, &diags), TSIM_OK);
    ck_assert_pstr_eq(named ? named->name : NULL, TEXTS[_i].id);
}

/* A part that extends another is another part. */
TSIM_TEST(not_inherited) {
    const struct tsim_accelerator *a;
    const struct tsim_node *node;
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, "h100-96gb", &a, &diags), TSIM_OK);
    ck_assert_ptr_null(a->known_as);
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "p4de-24xlarge", &node, &diags), TSIM_OK);
    ck_assert_str_eq(usual_fabric(node), "efa-100");
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "dgx-a100", &node, &diags), TSIM_OK);
    ck_assert_str_eq(usual_fabric(node), "ib-hdr");
}

static const struct {
    const char *known_as, *message;
} MISTAKES[] = {{"3", "expected a mapping"},
                {"{pci_devices: [H100]}", "no PCI device"},
                {"{pci_devices: [0x12330]}", "no PCI device"},
                {"{names: h100}", "expected a list of at most four"},
                {"{names: [a, b, c, d, e]}", "expected a list of at most four"},
                {"{colour: green}", "unknown key"}};

TSIM_TEST_ROWS(mistakes, MISTAKES) {
    const char *text = tsim_arena_printf(
        &arena,
        "{schema: tsim/v1, name: t, model: mlp-mnist, training: {precision: fp32}, cluster: {nodes: 1, node: "
        "{extends: single-l40s, accelerator: {extends: l40s, known_as: %s}}}}",
        MISTAKES[_i].known_as);
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    const struct tsim_value *root;
    ck_assert_int_eq(tsim_document_parse(&arena, "t.yaml", text, strlen(text), &root, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_scenario_open_value(&arena, root, &source, &diags), TSIM_OK);
    ck_assert_int_ne(tsim_scenario_load_from(&arena, &source, NULL, 0, &scenario, &diags), TSIM_OK);
    ck_assert_msg(strstr(diags.items[0].message, MISTAKES[_i].message), "%s", diags.items[0].message);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_known, tear_down)
