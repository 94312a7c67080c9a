#include "import/topology.h"

#include "config/document.h"

#include <stdlib.h>
#include <string.h>

/* ---- the node of the catalogue that is most like it ---- */

/* NVLinks of an accelerator and bytes/s of each, one direction (NVIDIA's data sheets: NVLink 2 to 4 25 GB/s, 5 50). */
static const struct {
    int sm, nvlinks;
    const char *node;
    double link_bytes_per_s;
} NODES[] = {{70, 6, "dgx-2", 25e9},      {80, 12, "dgx-a100", 25e9}, {90, 18, "dgx-h100", 25e9},
             {100, 18, "dgx-b200", 50e9}, {0, 18, "dgx-h100", 25e9},  {0, 12, "dgx-a100", 25e9},
             {90, 8, "h800-node", 25e9},  {0, 8, "h800-node", 25e9},  {0, 6, "dgx-2", 25e9}};

static size_t like(const struct tsim_machine *m) {
    size_t n = sizeof NODES / sizeof NODES[0];
    for (size_t i = 0; i < n; i++)
        if (NODES[i].sm == m->sm && NODES[i].nvlinks == m->nvlinks)
            return i;
    for (size_t i = 0; i < n; i++)
        if (NODES[i].sm == m->sm && m->sm > 0)
            return i;
    return n;
}

/* Without NVLinks the catalogue has one node; its accelerator by compute capability. */
static const char *pcie_accelerator(int sm) {
    return sm == 70 ? "v100-32gb" : sm == 89 ? "l40s" : sm == 90 ? "h100-pcie" : "a100-80gb-pcie";
}

static const char *base_of(const struct tsim_machine *m) {
    size_t which = like(m);
    if (m->is_cube)
        return "dgx-1v";
    if (!m->has_switch)
        return "pcie-a100x8";
    return which < sizeof NODES / sizeof NODES[0] ? NODES[which].node : NULL;
}

/* ---- the file ---- */

static const char *rate(struct tsim_arena *arena, double bytes_per_s) {
    return tsim_arena_printf(arena, "%.6g GB/s", bytes_per_s / 1e9);
}

static const char *scale_up(struct tsim_arena *arena, const struct tsim_machine *m) {
    size_t which = like(m);
    if (m->is_cube)
        return "";
    if (m->has_switch) {
        bool is_known = which < sizeof NODES / sizeof NODES[0];
        double wire = is_known ? m->nvlinks * NODES[which].link_bytes_per_s : 0;
        if (!is_known || NODES[which].nvlinks == m->nvlinks)
            return "";
        /* Fewer links than the node like it: what rings reach falls with them. */
        return tsim_arena_printf(arena,
                                 "scale_up: {bandwidth: %s}  # %d NVLinks; ring_bandwidth is still the other's\n",
                                 rate(arena, wire), m->nvlinks);
    }
    const char *text = m->host_link_bytes_per_s > 0
                           ? tsim_arena_printf(arena, "  bandwidth: %s\n", rate(arena, m->host_link_bytes_per_s))
                           : "";
    if (m->per_switch > 1)
        text = tsim_arena_printf(arena, "%s  accelerators_per_switch: %d\n", text, m->per_switch);
    if (m->per_switch > 1 && m->uplink_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%s  switch_uplink: %s\n", text, rate(arena, m->uplink_bytes_per_s));
    if (m->per_socket > 0)
        text = tsim_arena_printf(arena, "%s  accelerators_per_socket: %d\n", text, m->per_socket);
    return *text ? tsim_arena_printf(arena, "scale_up:\n%s", text) : "";
}

static const char *node_text(struct tsim_arena *arena, const struct tsim_machine *m, const char *base) {
    const char *slash = strrchr(m->file, '/'), *file = slash ? slash + 1 : m->file;
    char *shown = tsim_arena_strndup(arena, file, strlen(file) < 60 ? strlen(file) : 60);
    for (char *c = shown; *c; c++)
        *c = (unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F' || *c == '"' || *c == '\\' ? '?' : *c;
    const char *text =
        tsim_arena_printf(arena,
                          "schema: tsim/node/v1\nname: imported\nextends: %s\nsource: \"%s of %s; what it "
                          "does not say is %s's\"\naccelerators: %d\n",
                          base, m->program, shown, base, m->n_accelerators);
    if (!m->has_switch && !m->is_cube && m->sm > 0)
        text = tsim_arena_printf(arena, "%saccelerator: %s\n", text, pcie_accelerator(m->sm));
    text = tsim_arena_printf(arena, "%snics: %d\n", text, m->n_nics);
    if (m->nic_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%snic_bandwidth: %.6g Gb/s\n", text, 8 * m->nic_bytes_per_s / 1e9);
    if (m->host_link_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%shost_link: %s\n", text, rate(arena, m->host_link_bytes_per_s));
    return tsim_arena_printf(arena, "%s%s", text, scale_up(arena, m));
}

/* A scenario around the node, so that its rules are checked. */
static enum tsim_status check(struct tsim_arena *arena, const char *yaml, const struct tsim_import_input *input,
                              struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    const struct tsim_value *node, *root;
    static const char TEXT[] = "{schema: tsim/v1, name: imported, model: mlp-mnist, cluster: {nodes: 1}, "
                               "training: {precision: fp32}}";
    TSIM_TRY(tsim_document_parse(arena, input->file, yaml, strlen(yaml), &node, diags));
    TSIM_TRY(tsim_document_parse(arena, input->file, TEXT, strlen(TEXT), &root, diags));
    TSIM_TRY(tsim_value_set(arena, root, "cluster.node", node, NULL, 0, &root, diags));
    TSIM_TRY(tsim_scenario_open_value(arena, root, &source, diags));
    return tsim_scenario_load_from(arena, &source, NULL, 0, &scenario, diags);
}

static bool is_word(const char *text) {
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_./") == strlen(text);
}

enum tsim_status tsim_machine_write(struct tsim_arena *arena, const struct tsim_machine *m,
                                    const struct tsim_import_input *input, struct tsim_import_result *result,
                                    struct tsim_diags *diags) {
    const char *base = base_of(m);
    struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
    if (!base) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                                        "no node of the catalogue has %d NVLinks to a switch", m->nvlinks),
                       "4, 6 (V100), 8 (H800), 12 (A100) and 18 (H100, B200) are known");
        return TSIM_ERR_INFEASIBLE;
    }
    const char *yaml = node_text(arena, m, base);
    for (size_t i = 0; i < input->n_overrides; i++) {
        if (strcmp(input->overrides[i].path, "accelerator") != 0 || !is_word(input->overrides[i].value)) {
            tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_REFERENCE, place, "", "--set %.60s: not known here",
                                            input->overrides[i].path),
                           "accelerator=ID is; other keys can be changed in the file");
            return TSIM_ERR_REFERENCE;
        }
        yaml = tsim_arena_printf(arena, "%saccelerator: %s  # --set\n", yaml, input->overrides[i].value);
    }
    TSIM_TRY(check(arena, yaml, input, diags));
    result->yaml = yaml;
    result->notes = tsim_arena_printf(arena, "%s: note: what it does not say is taken from %s\n", input->file, base);
    return TSIM_OK;
}
