#include "import/machines/topology.h"

#include "config/catalogue_load.h"
#include "config/document.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

/* Accelerators with the node of the catalogue that has them: by compute capability x 10 or, of AMD, the architecture;
 * links of one accelerator; PCI devices (The PCI ID Repository, pci-ids.ucw.cz). Of those that agree in the first two
 * the usual one comes first. */
static const struct part {
    const char *accelerator, *node, *gcn;
    int sm, links;
    unsigned devices[2];
} PARTS[] = {
    {"v100-32gb-sxm3", "dgx-2", NULL, 70, 6, {0x1db8}},
    {"v100-16gb", "dgx-2", NULL, 70, 6, {0x1db1}},
    {"v100-32gb", "dgx-2", NULL, 70, 6, {0x1db5}},
    {"a100-80gb", "dgx-a100", NULL, 80, 12, {0x20b2}},
    {"a100-40gb", "dgx-a100-40gb", NULL, 80, 12, {0x20b0}},
    {"h100-sxm", "dgx-h100", NULL, 90, 18, {0x2330}},
    {"h200", "dgx-h200", NULL, 90, 18, {0x2335}},
    {"h20", "h20-node", NULL, 90, 18, {0x2329}},
    {"h800", "h800-node", NULL, 90, 8, {0x2324}},
    {"a800", "a800-node", NULL, 80, 8, {0x20f3}},
    {"b200", "dgx-b200", NULL, 100, 18, {0x2901}},
    {"b300", "dgx-b300", NULL, 103, 18, {0x3182}},
    {"v100-32gb", "pcie-a100x8", NULL, 70, 0, {0x1db6}},
    {"v100-16gb", "pcie-a100x8", NULL, 70, 0, {0x1db4}},
    {"a100-80gb-pcie", "pcie-a100x8", NULL, 80, 0, {0x20b5}},
    {"l40s", "pcie-a100x8", NULL, 89, 0, {0x26b9}},
    {"rtx-4090", "pcie-a100x8", NULL, 89, 0, {0x2684}},
    {"h100-pcie", "pcie-a100x8", NULL, 90, 0, {0x2331}},
    {"mi250x-gcd", "mi250x-node", "90a", 0, 7, {0x7408, 0x740c}},
    {"mi300x", "mi300x-node", "942", 0, 7, {0x74a1, 0x74b5}},
    {"mi325x", "mi325x-node", "942", 0, 7, {0x74a5, 0x74b9}},
    {"mi355x", "mi355x-node", "950", 0, 7, {0x75a3, 0x75b3}},
};
enum { N_PARTS = sizeof PARTS / sizeof PARTS[0] };

/* What --set says of a key, else NULL. */
static const char *said(const struct tsim_import_input *input, const char *key) {
    for (size_t i = input->n_overrides; i > 0; i--)
        if (strcmp(input->overrides[i - 1].path, key) == 0)
            return input->overrides[i - 1].value;
    return NULL;
}

static bool is_linked(const struct tsim_machine *m) {
    return m->has_switch || m->is_cube;
}

/* The same links: all, or (H800's 8, a machine with fewer) as they are. */
static bool is_like(const struct part *part, const struct tsim_machine *m, bool by_links) {
    if (m->gcn)
        return part->gcn && strcmp(part->gcn, m->gcn) == 0;
    if (part->gcn || (part->links > 0) != is_linked(m))
        return false;
    return (m->sm == 0 || part->sm == m->sm) && (!by_links || part->links == m->nvlinks || !is_linked(m));
}

static bool has_device(const struct part *part, unsigned device) {
    return device > 0 && (part->devices[0] == device || part->devices[1] == device);
}

/* Whose accelerator --set names; of PCIe cards, of whose tree the file tells, any may be named. */
static const struct part *named_part(const struct tsim_machine *m, const char *accelerator) {
    const struct part *any = NULL;
    for (size_t i = 0; i < N_PARTS; i++) {
        bool is_kind = m->gcn ? PARTS[i].gcn != NULL : !PARTS[i].gcn && (PARTS[i].links > 0) == is_linked(m);
        if (is_kind && strcmp(PARTS[i].accelerator, accelerator) == 0)
            return &PARTS[i];
        if (is_kind && PARTS[i].links == 0)
            any = &PARTS[i];
    }
    return any;
}

/* By what --set says, by its PCI device, by what it is like. NULL: nothing is like it. AMD's devices of one
 * architecture differ by more than their memory: one that is not in the table is not like the others. */
static const struct part *part_of(const struct tsim_machine *m, const struct tsim_import_input *input) {
    const char *accelerator = said(input, "accelerator");
    const struct part *named = accelerator ? named_part(m, accelerator) : NULL;
    if (named)
        return named;
    for (size_t i = 0; i < N_PARTS; i++)
        if (has_device(&PARTS[i], m->device) && is_like(&PARTS[i], m, false))
            return &PARTS[i];
    if ((m->gcn && m->device > 0) || (!m->gcn && m->sm == 0 && !is_linked(m)))
        return NULL;
    for (size_t i = 0; i < N_PARTS; i++)
        if (is_like(&PARTS[i], m, true))
            return &PARTS[i];
    for (size_t i = 0; m->sm > 0 && i < N_PARTS; i++)
        if (is_like(&PARTS[i], m, false))
            return &PARTS[i];
    return NULL;
}

/* Accelerators that the file would show in the same way. */
static const char *others_like(struct tsim_arena *arena, const struct part *part, const struct tsim_machine *m) {
    const char *text = "";
    for (size_t i = 0; i < N_PARTS; i++)
        if (&PARTS[i] != part && is_like(&PARTS[i], m, true) && (!m->is_cube || PARTS[i].sm == 70))
            text = tsim_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", PARTS[i].accelerator);
    return text;
}

/* ---- mistakes ---- */

static const char *described(struct tsim_arena *arena, const struct tsim_machine *m) {
    const char *text = m->gcn      ? tsim_arena_printf(arena, "gfx%s", m->gcn)
                       : m->sm > 0 ? tsim_arena_printf(arena, "compute capability %d.%d", m->sm / 10, m->sm % 10)
                                   : "";
    if (m->compute_units > 0)
        text = tsim_arena_printf(arena, "%s, %d compute units", text, m->compute_units);
    if (m->device > 0)
        text = tsim_arena_printf(arena, "%s, PCI device 0x%04x", text, m->device);
    if (is_linked(m))
        text = tsim_arena_printf(arena, "%s%s%d %s", text, *text ? ", " : "", m->nvlinks,
                                 m->gcn ? "xGMI links" : "NVLinks");
    return *text ? text : "the file does not say what it is";
}

static enum tsim_status is_unknown(struct tsim_arena *arena, const struct tsim_machine *m, struct tsim_place place,
                                   struct tsim_diags *diags) {
    struct tsim_diag *diag =
        m->is_cube || (is_linked(m) && !m->gcn)
            ? tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "no node of the catalogue is like this one: %s",
                               described(arena, m))
            : tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "no accelerator of the catalogue is this one: %s",
                               described(arena, m));
    tsim_diag_hint(diag,
                   m->gcn ? "--set accelerator=ID says which to take; known are MI250X (gfx90a), MI300X and MI325X "
                            "(gfx942) and MI355X (gfx950)"
                          : "--set accelerator=ID says which to take; NVLinks are known of V100 (6), A100 (12), A800 "
                            "and H800 (8), H100, H200, H20, B200 and B300 (18)");
    return TSIM_ERR_INFEASIBLE;
}

/* ---- the file ---- */

static const char *rate(struct tsim_arena *arena, double bytes_per_s) {
    return tsim_arena_printf(arena, "%.6g GB/s", bytes_per_s / 1e9);
}

/* With other wires than the node that is like it, what rings reach changes with them. */
static const char *bandwidths(struct tsim_arena *arena, const struct tsim_node *like, double share) {
    return tsim_arena_printf(
        arena,
        "  bandwidth: %s\n  ring_bandwidth: {value: %s, source: \"%s's, as the wires are\", status: "
        "estimate}\n",
        rate(arena, share * like->scale_up_bytes_per_s), rate(arena, share * like->scale_up_ring_bytes_per_s),
        like->name);
}

/* A tree of PCIe: what the file does not show is not there. */
static const char *tree(struct tsim_arena *arena, const struct tsim_machine *m, const struct tsim_node *like,
                        const struct tsim_import_input *input) {
    const char *per_switch = said(input, "scale_up.accelerators_per_switch"),
               *per_socket = said(input, "scale_up.accelerators_per_socket"), *text = "scale_up:\n";
    if (m->host_link_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%s%s", text,
                                 bandwidths(arena, like, m->host_link_bytes_per_s / like->scale_up_bytes_per_s));
    text = per_switch ? tsim_arena_printf(arena, "%s  accelerators_per_switch: %s  # --set\n", text, per_switch)
                      : tsim_arena_printf(arena, "%s  accelerators_per_switch: %d\n", text, m->per_switch);
    if (m->per_switch > 1 && m->uplink_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%s  switch_uplink: %s\n", text, rate(arena, m->uplink_bytes_per_s));
    return per_socket ? tsim_arena_printf(arena, "%s  accelerators_per_socket: %s  # --set\n", text, per_socket)
                      : tsim_arena_printf(arena, "%s  accelerators_per_socket: %d\n", text, m->per_socket);
}

/* A mesh of AMD's has one link to each other accelerator; between those of one package of MI250X there are four, of which
 * the file tells one: eight of them are taken as the catalogue has them. */
static const char *scale_up(struct tsim_arena *arena, const struct tsim_machine *m, const struct part *part,
                            const struct tsim_node *like) {
    double share = m->is_cube || m->n_accelerators == 1 ? 1
                   : !m->gcn                            ? (double)m->nvlinks / part->links
                   : m->n_accelerators == like->accelerators
                       ? 1
                       : (double)(m->n_accelerators - 1) / (double)(like->accelerators - 1);
    if (!(share > 0) || share == 1)
        return "";
    return tsim_arena_printf(arena, "scale_up:  # %.3g of %s's links\n%s", share, like->name,
                             bandwidths(arena, like, share));
}

static const char *nics(struct tsim_arena *arena, const struct tsim_machine *m, const struct tsim_import_input *input) {
    const char *n = said(input, "nics"), *bandwidth = said(input, "nic_bandwidth"), *text;
    text = n ? tsim_arena_printf(arena, "nics: %s  # --set\n", n)
             : tsim_arena_printf(arena, "nics: %d%s\n", m->n_nics, m->n_nics == 0 ? "  # the file shows none" : "");
    if (bandwidth)
        return tsim_arena_printf(arena, "%snic_bandwidth: %s  # --set\n", text, bandwidth);
    return m->nic_bytes_per_s > 0
               ? tsim_arena_printf(arena, "%snic_bandwidth: %.6g Gb/s\n", text, 8 * m->nic_bytes_per_s / 1e9)
               : text;
}

static const char *node_text(struct tsim_arena *arena, const struct tsim_machine *m, const struct part *part,
                             const struct tsim_node *like, const struct tsim_import_input *input) {
    const char *slash = strrchr(m->file, '/'), *file = slash ? slash + 1 : m->file;
    const char *set = said(input, "accelerator"), *accelerator = set ? set : part->accelerator;
    char *shown = tsim_arena_strndup(arena, file, strlen(file) < 60 ? strlen(file) : 60);
    for (char *c = shown; *c; c++)
        *c = (unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F' || *c == '"' || *c == '\\' ? '?' : *c;
    const char *text =
        tsim_arena_printf(arena,
                          "schema: tsim/node/v1\nname: imported\nextends: %s\nsource: \"%s of %s; what it "
                          "does not say is %s's\"\naccelerators: %d\n",
                          like->name, m->program, shown, like->name, m->n_accelerators);
    bool is_told = set || m->device > 0 || !is_linked(m);
    if (is_told && strcmp(accelerator, like->accelerator->name) != 0)
        text = tsim_arena_printf(arena, "%saccelerator: %s%s\n", text, accelerator, set ? "  # --set" : "");
    text = tsim_arena_printf(arena, "%s%s", text, nics(arena, m, input));
    if (m->host_link_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%shost_link: %s\n", text, rate(arena, m->host_link_bytes_per_s));
    return tsim_arena_printf(arena, "%s%s", text,
                             is_linked(m) || m->gcn ? scale_up(arena, m, part, like) : tree(arena, m, like, input));
}

/* A scenario around the node, so that its rules are checked. */
static enum tsim_status check(struct tsim_arena *arena, const char *yaml, int n_accelerators,
                              const struct tsim_import_input *input, struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    const struct tsim_value *node, *root;
    const char *text = tsim_arena_printf(arena,
                                         "{schema: tsim/v1, name: imported, model: mlp-mnist, cluster: {nodes: 1}, "
                                         "training: {precision: fp32, global_batch_size: %d}}",
                                         n_accelerators);
    TSIM_TRY(tsim_document_parse(arena, input->file, yaml, strlen(yaml), &node, diags));
    TSIM_TRY(tsim_document_parse(arena, input->file, text, strlen(text), &root, diags));
    TSIM_TRY(tsim_value_set(arena, root, "cluster.node", node, NULL, 0, &root, diags));
    TSIM_TRY(tsim_scenario_open_value(arena, root, &source, diags));
    return tsim_scenario_load_from(arena, &source, NULL, 0, &scenario, diags);
}

static enum tsim_status check_overrides(const struct tsim_import_input *input, struct tsim_place place,
                                        struct tsim_diags *diags) {
    static const char *const KNOWN[] = {"accelerator", "nics", "nic_bandwidth", "scale_up.accelerators_per_switch",
                                        "scale_up.accelerators_per_socket"};
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./ ";
    for (size_t i = 0; i < input->n_overrides; i++) {
        const struct tsim_override *set = &input->overrides[i];
        size_t known = 0;
        while (known < sizeof KNOWN / sizeof KNOWN[0] && strcmp(set->path, KNOWN[known]) != 0)
            known++;
        if (known == sizeof KNOWN / sizeof KNOWN[0]) {
            tsim_diag_hint(
                tsim_diags_error(diags, TSIM_ERR_REFERENCE, place, "", "--set %.60s: not known here", set->path),
                "accelerator, nics, nic_bandwidth, scale_up.accelerators_per_switch and "
                "scale_up.accelerators_per_socket are; other keys can be changed in the file");
            return TSIM_ERR_REFERENCE;
        }
        if (!*set->value || strspn(set->value, GOOD) != strlen(set->value)) {
            tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "", "--set %s: '%.60s' is no value of it", set->path,
                             set->value);
            return TSIM_ERR_SCHEMA;
        }
    }
    return TSIM_OK;
}

/* A mesh of AMD's has a link to each other accelerator; MI250X's, of which only some are linked, is known of eight. */
static bool has_known_links(const struct tsim_machine *m, const struct tsim_node *like) {
    return !m->gcn || m->n_targets == m->n_accelerators - 1 ||
           (m->n_targets > 0 && m->n_accelerators == like->accelerators);
}

static const char *notes(struct tsim_arena *arena, const struct tsim_machine *m, const struct part *part,
                         const struct tsim_node *like, const struct tsim_import_input *input) {
    const char *text =
        tsim_arena_printf(arena, "%s: note: what it does not say is taken from %s\n", m->file, like->name);
    const char *others = others_like(arena, part, m);
    if (said(input, "accelerator") || has_device(part, m->device))
        return text;
    return tsim_arena_printf(arena, "%s%s: note: the accelerator is taken as %s (%s)%s%s%s\n", text, m->file,
                             m->is_cube ? like->accelerator->name : part->accelerator, described(arena, m),
                             *others ? "; so would be " : "", others, *others ? ": --set accelerator=ID" : "");
}

static void warn(const struct tsim_machine *m, const struct tsim_import_input *input, struct tsim_place place,
                 struct tsim_diags *diags) {
    if (m->n_nics == 0 && !said(input, "nics"))
        tsim_diag_hint(tsim_diags_warning(diags, place, "",
                                          "the file shows no NIC: the node has none, and cannot run with others"),
                       "--set nics=8 --set nic_bandwidth='400 Gb/s' says how many there are, and of which speed");
    if (m->nvlinks > 0 && !is_linked(m) && !m->gcn)
        tsim_diags_warning(diags, place, "",
                           "NVLinks between some of the accelerators are not modelled: all traffic takes PCIe");
}

enum tsim_status tsim_machine_write(struct tsim_arena *arena, const struct tsim_machine *m,
                                    const struct tsim_import_input *input, struct tsim_import_result *result,
                                    struct tsim_diags *diags) {
    struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
    const struct tsim_node *like;
    TSIM_TRY(check_overrides(input, place, diags));
    const struct part *part = part_of(m, input);
    if (!part || (m->is_cube && part->sm != 70))
        return is_unknown(arena, m, place, diags);
    TSIM_TRY(tsim_catalogue_load_node(arena, m->is_cube ? "dgx-1v" : part->node, &like, diags));
    if (m->compute_units > 0 && !said(input, "accelerator") && m->compute_units != like->accelerator->compute_units)
        return is_unknown(arena, m, place, diags);
    if (!has_known_links(m, like)) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                         "%d accelerators of which one has xGMI links to %d others: no node of the catalogue is so",
                         m->n_accelerators, m->n_targets);
        return TSIM_ERR_INFEASIBLE;
    }
    warn(m, input, place, diags);
    const char *yaml = node_text(arena, m, part, like, input);
    TSIM_TRY(check(arena, yaml, m->n_accelerators, input, diags));
    result->yaml = yaml;
    result->notes = notes(arena, m, part, like, input);
    return TSIM_OK;
}
