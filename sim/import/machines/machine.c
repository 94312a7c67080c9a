#include "import/machines/machine.h"

#include "config/recognize.h"
#include "config/text/document.h"
#include "import/overrides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is ---- */

/* The catalogue's accelerators that say what they are known as. */
struct parts {
    const struct tsim_accelerator *const *items;
    size_t n;
};

static bool is_linked(const struct tsim_imported_machine *m) {
    return m->has_switch || m->is_cube;
}

static int sm_of(const struct tsim_accelerator *part) {
    return (int)lround(10 * part->compute_capability);
}

/* Returns whether the part is of the maker whose kind of file this is, with links or as a card, as the file shows. */
static bool is_kind(const struct tsim_accelerator *part, const struct tsim_imported_machine *m) {
    const struct tsim_known_as *known = part->known_as;
    if (m->gcn || known->gfx)
        return m->gcn && known->gfx;
    return part->compute_capability > 0 && (is_linked(m) ? known->links > 0 : known->card_devices[0] > 0);
}

/* Links of the same kind: all, or (H800's 8, a machine with fewer) as they are. */
static bool is_like(const struct tsim_accelerator *part, const struct tsim_imported_machine *m, bool by_links) {
    const struct tsim_known_as *known = part->known_as;
    if (!is_kind(part, m))
        return false;
    if (m->gcn)
        return !*m->gcn || strcmp(known->gfx, m->gcn) == 0;
    return (m->sm == 0 || sm_of(part) == m->sm) && (!by_links || known->links == m->nvlinks || !is_linked(m));
}

static bool has_device(const struct tsim_known_as *known, unsigned device) {
    for (size_t i = 0; device > 0 && i < TSIM_MOST_KNOWN; i++)
        if (known->pci_devices[i] == device || known->card_devices[i] == device)
            return true;
    return false;
}

/* Returns the part whose accelerator --set names. Any PCIe card may be named, because the file tells only of its
 * tree. */
static const struct tsim_accelerator *named_part(const struct parts *parts, const struct tsim_imported_machine *m,
                                                 const char *accelerator) {
    const struct tsim_accelerator *any = NULL;
    for (size_t i = 0; i < parts->n; i++) {
        const struct tsim_known_as *known = parts->items[i]->known_as;
        if (is_kind(parts->items[i], m) && strcmp(parts->items[i]->name, accelerator) == 0)
            return parts->items[i];
        if (is_kind(parts->items[i], m) && !known->gfx && !is_linked(m))
            any = parts->items[i];
    }
    return any;
}

static const struct tsim_accelerator *first_like(const struct parts *parts, const struct tsim_imported_machine *m,
                                                 bool by_links) {
    for (size_t i = 0; i < parts->n; i++)
        if (is_like(parts->items[i], m, by_links))
            return parts->items[i];
    return NULL;
}

/* Finds the accelerator by what --set says, by its PCI device, or by what it is like. NULL: nothing is like it. A
 * device that is not known is not like others of its architecture and links: they differ by more than their memory. */
static const struct tsim_accelerator *part_of(const struct parts *parts, const struct tsim_imported_machine *m,
                                              const struct tsim_import_input *input) {
    const char *accelerator = tsim_import_override(input, "accelerator");
    const struct tsim_accelerator *part = accelerator ? named_part(parts, m, accelerator) : NULL;
    for (size_t i = 0; i < parts->n && !part; i++)
        if ((has_device(parts->items[i]->known_as, m->device) && is_like(parts->items[i], m, false)) ||
            (m->accelerator && is_kind(parts->items[i], m) && strcmp(parts->items[i]->name, m->accelerator) == 0))
            part = parts->items[i];
    bool is_unsaid = m->gcn ? m->device > 0 || !*m->gcn : m->sm == 0 && !is_linked(m);
    if (part || is_unsaid || m->device > 0)
        return part;
    part = first_like(parts, m, true);
    return part || m->sm == 0 ? part : first_like(parts, m, false);
}

/* Finds the node from which to take what the file does not say: the usual node of a tree or a cube, otherwise the
 * part's own node, or that of the first similar part. NULL: the catalogue has none. */
static enum tsim_status node_like(struct tsim_arena *arena, const struct parts *parts,
                                  const struct tsim_imported_machine *m, const struct tsim_accelerator *part,
                                  const struct tsim_node **like, struct tsim_diags *diags) {
    if (m->is_cube || (!is_linked(m) && !m->gcn))
        return tsim_usual_node(arena, m->is_cube ? TSIM_SCALE_UP_CUBE_MESH : TSIM_SCALE_UP_PCIE, like, diags);
    for (size_t i = 0; i < parts->n && !part->known_as->node; i++)
        if (sm_of(parts->items[i]) == sm_of(part) && parts->items[i]->known_as->links == part->known_as->links)
            part = parts->items[i];
    return part->known_as->node ? tsim_catalogue_load_node(arena, part->known_as->node, like, diags) : TSIM_OK;
}

/* Returns the accelerators that the file would show in the same way. */
static const char *others_like(struct tsim_arena *arena, const struct parts *parts, const struct tsim_accelerator *part,
                               const struct tsim_imported_machine *m) {
    const char *text = "";
    for (size_t i = 0; i < parts->n; i++)
        if (parts->items[i] != part && is_like(parts->items[i], m, true) &&
            (!m->is_cube || sm_of(parts->items[i]) == sm_of(part)))
            text = tsim_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", parts->items[i]->name);
    return text;
}

/* ---- mistakes ---- */

static const char *described(struct tsim_arena *arena, const struct tsim_imported_machine *m) {
    const char *text = m->gcn && *m->gcn ? tsim_arena_printf(arena, "gfx%s", m->gcn)
                       : m->sm > 0       ? tsim_arena_printf(arena, "compute capability %d.%d", m->sm / 10, m->sm % 10)
                                         : "";
    if (m->compute_units > 0)
        text = tsim_arena_printf(arena, "%s, %d compute units", text, m->compute_units);
    if (m->device > 0)
        text = tsim_arena_printf(arena, "%s%sPCI device 0x%04x", text, *text ? ", " : "", m->device);
    if (is_linked(m) && m->nvlinks > 0)
        text = tsim_arena_printf(arena, "%s%s%d %s", text, *text ? ", " : "", m->nvlinks,
                                 m->gcn ? "xGMI links" : "NVLinks");
    return *text ? text : "the file does not say which machine it describes";
}

/* Returns "mi300x (gfx942), ..." for AMD's accelerators, else "h100-sxm (18), ..." for those with links. */
static const char *known_parts(struct tsim_arena *arena, const struct parts *parts, bool is_amd) {
    const char *text = "";
    for (size_t i = 0; i < parts->n; i++) {
        const struct tsim_known_as *known = parts->items[i]->known_as;
        const char *shown = is_amd ? (known->gfx ? tsim_arena_printf(arena, "gfx%s", known->gfx) : NULL)
                            : !known->gfx && known->links > 0
                                ? tsim_arena_printf(arena, "%lld", (long long)known->links)
                                : NULL;
        if (shown)
            text = tsim_arena_printf(arena, "%s%s%s (%s)", text, *text ? ", " : "", parts->items[i]->name, shown);
    }
    return text;
}

/* Finds the row of hardware/pci-devices.yaml for a device that the catalogue does not have; NULL: there is none. */
static const struct tsim_value *foreign_device(struct tsim_arena *arena, const struct tsim_imported_machine *m) {
    const char *folder = m->device > 0 ? tsim_catalogue_folder(arena) : NULL;
    const struct tsim_value *table, *maker, *row = NULL;
    struct tsim_diags unheard;
    tsim_diags_init(&unheard);
    if (folder && tsim_document_read(arena, tsim_arena_printf(arena, "%s/hardware/pci-devices.yaml", folder), &table,
                                     &unheard) == TSIM_OK) {
        maker = tsim_value_find(table, m->gcn ? "amd" : "nvidia");
        row = maker ? tsim_value_find(maker, tsim_arena_printf(arena, "0x%04x", m->device)) : NULL;
    }
    tsim_diags_release(&unheard);
    return row;
}

static const char *text_of(const struct tsim_value *row, const char *key) {
    const struct tsim_value *value = row ? tsim_value_find(row, key) : NULL;
    return value && value->kind == TSIM_VALUE_SCALAR ? value->text : NULL;
}

static enum tsim_status is_unknown(struct tsim_arena *arena, const struct parts *parts,
                                   const struct tsim_imported_machine *m, struct tsim_place place,
                                   struct tsim_diags *diags) {
    const struct tsim_value *row = foreign_device(arena, m);
    const char *name = text_of(row, "name"), *nearest = text_of(row, "nearest");
    bool is_of_nvlinks = m->is_cube || (is_linked(m) && !m->gcn);
    if (name) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                                        "the accelerator is %s (PCI device 0x%04x), which the catalogue does not have",
                                        name, m->device),
                       nearest ? "--set accelerator=%s takes the nearest that it has"
                               : "--set accelerator=ID says which to take",
                       nearest);
        return TSIM_ERR_INFEASIBLE;
    }
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "no %s of the catalogue is %s: %s",
                                    is_of_nvlinks ? "node" : "accelerator",
                                    is_of_nvlinks ? "like this one" : "this one", described(arena, m)),
                   "--set accelerator=ID says which to take; %s %s", m->gcn ? "known are" : "NVLinks are known of",
                   known_parts(arena, parts, m->gcn != NULL));
    return TSIM_ERR_INFEASIBLE;
}

/* A cloud's file for NCCL has neither links nor devices: the accelerator that --set names says whether it has links. */
static enum tsim_status complete(struct tsim_arena *arena, const struct parts *parts, struct tsim_imported_machine *m,
                                 const struct tsim_import_input *input, struct tsim_place place,
                                 struct tsim_diags *diags) {
    const char *accelerator = tsim_import_override(input, "accelerator");
    if (!m->is_of_unsaid_links)
        return TSIM_OK;
    for (size_t i = 0; accelerator && i < parts->n; i++) {
        const struct tsim_accelerator *part = parts->items[i];
        if (strcmp(part->name, accelerator) == 0 && !part->known_as->gfx && part->known_as->links > 0) {
            m->has_switch = true;
            m->nvlinks = (int)part->known_as->links;
        }
    }
    if (accelerator)
        return TSIM_OK;
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                                    "the file says neither which accelerators these are%s nor how they are linked",
                                    m->sm > 0 ? tsim_arena_printf(arena, " (%s)", described(arena, m)) : ""),
                   "give it with --set accelerator=ID, as h100-sxm or h100-pcie; it stands in the file that NCCL "
                   "writes in a running job (NCCL_TOPO_DUMP_FILE)");
    return TSIM_ERR_INFEASIBLE;
}

/* ---- the file ---- */

static const char *rate(struct tsim_arena *arena, double bytes_per_s) {
    return tsim_arena_printf(arena, "%.6g GB/s", bytes_per_s / 1e9);
}

/* Writes bandwidths if the wires differ from those of the similar node: what rings reach changes with them. */
static const char *bandwidths(struct tsim_arena *arena, const struct tsim_node *like, double share) {
    return tsim_arena_printf(
        arena, "  bandwidth: %s\n  ring_bandwidth: {value: %s, source: \"%s's, as the wires are\", status: estimate}\n",
        rate(arena, share * like->scale_up_bytes_per_s), rate(arena, share * like->scale_up_ring_bytes_per_s),
        like->name);
}

/* Describes a tree of PCIe; what the file does not show is not there. */
static const char *tree(struct tsim_arena *arena, const struct tsim_imported_machine *m, const struct tsim_node *like,
                        const struct tsim_import_input *input) {
    const char *per_switch = tsim_import_override(input, "scale_up.accelerators_per_switch"),
               *per_socket = tsim_import_override(input, "scale_up.accelerators_per_socket"), *text = "scale_up:\n";
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

/* A mesh of AMD's accelerators has one link for each pair. Between the two dies of an MI250X there are four, of which
 * the file shows one; eight dies are taken as in the catalogue. */
static const char *scale_up(struct tsim_arena *arena, const struct tsim_imported_machine *m,
                            const struct tsim_accelerator *part, const struct tsim_node *like) {
    double share = m->is_cube || m->n_accelerators == 1 ? 1
                   : !m->gcn                            ? (double)m->nvlinks / (double)part->known_as->links
                   : m->n_accelerators == like->accelerators
                       ? 1
                       : (double)(m->n_accelerators - 1) / (double)(like->accelerators - 1);
    if (!(share > 0) || share == 1)
        return "";
    return tsim_arena_printf(arena, "scale_up:  # %.3g of %s's links\n%s", share, like->name,
                             bandwidths(arena, like, share));
}

static const char *nics(struct tsim_arena *arena, const struct tsim_imported_machine *m,
                        const struct tsim_import_input *input) {
    const char *n = tsim_import_override(input, "nics"), *bandwidth = tsim_import_override(input, "nic_bandwidth"),
               *text;
    text = n ? tsim_arena_printf(arena, "nics: %s  # --set\n", n)
             : tsim_arena_printf(arena, "nics: %d%s\n", m->n_nics, m->n_nics == 0 ? "  # the file shows none" : "");
    if (bandwidth)
        return tsim_arena_printf(arena, "%snic_bandwidth: %s  # --set\n", text, bandwidth);
    return m->nic_bytes_per_s > 0
               ? tsim_arena_printf(arena, "%snic_bandwidth: %.6g Gb/s%s\n", text, 8 * m->nic_bytes_per_s / 1e9,
                                   m->is_nic_rate_of_link ? "  # what its PCIe link carries" : "")
               : text;
}

static const char *node_text(struct tsim_arena *arena, const struct tsim_imported_machine *m,
                             const struct tsim_accelerator *part, const struct tsim_node *like,
                             const struct tsim_import_input *input) {
    const char *slash = strrchr(m->file, '/'), *file = slash ? slash + 1 : m->file;
    const char *set = tsim_import_override(input, "accelerator"), *accelerator = set ? set : part->name;
    char *shown = tsim_arena_strndup(arena, file, strlen(file) < 60 ? strlen(file) : 60);
    for (char *c = shown; *c; c++)
        *c = (unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F' || *c == '"' || *c == '\\' ? '?' : *c;
    const char *text =
        tsim_arena_printf(arena,
                          "schema: tsim/node/v1\nname: imported\nextends: %s\nsource: \"%s of %s; what it "
                          "does not say is %s's\"\naccelerators: %d\n",
                          like->name, m->program, shown, like->name, m->n_accelerators);
    bool is_told = set || m->accelerator || m->device > 0 || !is_linked(m);
    if (is_told && strcmp(accelerator, like->accelerator->name) != 0)
        text = tsim_arena_printf(arena, "%saccelerator: %s%s\n", text, accelerator, set ? "  # --set" : "");
    text = tsim_arena_printf(arena, "%s%s", text, nics(arena, m, input));
    if (m->host_link_bytes_per_s > 0)
        text = tsim_arena_printf(arena, "%shost_link: %s\n", text, rate(arena, m->host_link_bytes_per_s));
    return tsim_arena_printf(arena, "%s%s", text,
                             is_linked(m) || m->gcn ? scale_up(arena, m, part, like) : tree(arena, m, like, input));
}

/* Makes a scenario with the node, so that its rules are checked. */
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
            tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_REFERENCE, place, "",
                                            "this import has no key '%.60s' to set", set->path),
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

/* A mesh of AMD's accelerators has a link for each pair. With MI250X, where only some pairs have links, only a mesh of
 * as many dies as in the catalogue is known. */
static bool has_known_links(const struct tsim_imported_machine *m, const struct tsim_node *like) {
    return !m->gcn || m->n_targets == m->n_accelerators - 1 ||
           (m->n_targets != 0 && m->n_accelerators == like->accelerators);
}

enum { MOST_OF_A_MACHINE = 16 }; /* no machine of the catalogue but racks has more */

static const char *notes(struct tsim_arena *arena, const struct parts *parts, const struct tsim_imported_machine *m,
                         const struct tsim_accelerator *part, const struct tsim_node *like,
                         const struct tsim_import_input *input) {
    const char *text = tsim_arena_printf(arena, "%s: note: values that it lacks come from %s\n", m->file, like->name);
    if (m->is_nic_rate_of_link && m->nic_bytes_per_s > 0 && !tsim_import_override(input, "nic_bandwidth"))
        text = tsim_arena_printf(arena,
                                 "%s%s: note: the rate of the NICs is taken as the largest that their PCIe links "
                                 "carry: --set nic_bandwidth='100 Gb/s' says another\n",
                                 text, m->file);
    if (m->n_accelerators < like->accelerators && like->accelerators > MOST_OF_A_MACHINE)
        text = tsim_arena_printf(
            arena,
            "%s%s: note: this is a part of the rack %s, whose %d accelerators one network of links joins: its "
            "memory, power and price are those of the whole. cluster.node: %s is the rack\n",
            text, m->file, like->name, (int)like->accelerators, like->name);
    const char *others = others_like(arena, parts, part, m);
    if (tsim_import_override(input, "accelerator") || m->accelerator || has_device(part->known_as, m->device))
        return text;
    return tsim_arena_printf(arena, "%s%s: note: the accelerator is taken as %s (%s)%s%s%s\n", text, m->file,
                             m->is_cube ? like->accelerator->name : part->name, described(arena, m),
                             *others ? "; so would be " : "", others, *others ? ": --set accelerator=ID" : "");
}

static void warn(const struct tsim_imported_machine *m, const struct tsim_import_input *input, struct tsim_place place,
                 struct tsim_diags *diags) {
    if (m->n_nics == 0 && !tsim_import_override(input, "nics"))
        tsim_diag_hint(tsim_diags_warning(diags, place, "",
                                          "the file shows no NIC: the node has none, and cannot run with others"),
                       "--set nics=8 --set nic_bandwidth='400 Gb/s' says how many there are, and of which speed");
    if (m->nvlinks > 0 && !is_linked(m) && !m->gcn)
        tsim_diags_warning(diags, place, "",
                           "NVLinks between some of the accelerators are not modelled: all traffic takes PCIe");
}

enum tsim_status tsim_machine_write(struct tsim_arena *arena, const struct tsim_imported_machine *machine,
                                    const struct tsim_import_input *input, struct tsim_import_result *result,
                                    struct tsim_diags *diags) {
    struct tsim_imported_machine completed = *machine;
    const struct tsim_imported_machine *m = &completed;
    struct tsim_place place = {.file = tsim_arena_strdup(arena, input->file)};
    const struct tsim_node *like = NULL;
    struct parts parts;
    TSIM_TRY(check_overrides(input, place, diags));
    TSIM_TRY(tsim_known_accelerators(arena, &parts.items, &parts.n, diags));
    TSIM_TRY(complete(arena, &parts, &completed, input, place, diags));
    const struct tsim_accelerator *part = part_of(&parts, m, input);
    if (part)
        TSIM_TRY(node_like(arena, &parts, m, part, &like, diags));
    if (!like)
        return is_unknown(arena, &parts, m, place, diags);
    if (m->is_cube && sm_of(part) != sm_of(like->accelerator))
        return is_unknown(arena, &parts, m, place, diags);
    if (m->compute_units > 0 && !tsim_import_override(input, "accelerator") &&
        m->compute_units != like->accelerator->compute_units)
        return is_unknown(arena, &parts, m, place, diags);
    if (!has_known_links(m, like)) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                         "%d accelerators of which one has xGMI links to %d others: the catalogue has no such node",
                         m->n_accelerators, m->n_targets);
        return TSIM_ERR_INFEASIBLE;
    }
    warn(m, input, place, diags);
    const char *yaml = node_text(arena, m, part, like, input);
    TSIM_TRY(check(arena, yaml, m->n_accelerators, input, diags));
    result->yaml = yaml;
    result->notes = notes(arena, &parts, m, part, like, input);
    return TSIM_OK;
}
