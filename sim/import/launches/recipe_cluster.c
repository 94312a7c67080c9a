/* recipe_cluster.c - where a recipe's run takes place: what a scheduler, a comment or --set says of the machines, and
 * what is usual. */
#include "import/launches/gpt.h"

#include "base/quantity.h"
#include "config/recognize.h"
#include "import/overrides.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns the node that has the accelerator which the setting names; NULL: it names none. */
static const char *node_of(struct tsim_recipe *r, const struct tsim_setting *machine) {
    const struct tsim_accelerator *named = NULL;
    if (machine)
        tsim_accelerator_named(r->arena, tsim_setting_text(machine), &named, r->diags);
    return named ? named->known_as->node : NULL;
}

/* Returns the bytes of an accelerator's memory in "v100-32g" or "H100 GPUs (with 96GiB memory)"; 0: not given. */
static double stated_memory(const char *text) {
    for (const char *c = text; *c; c++) {
        char *end;
        if (!isdigit((unsigned char)*c))
            continue;
        double value = strtod(c, &end);
        const char *unit = end + (*end == ' ');
        size_t length = strncasecmp(unit, "gib", 3) == 0  ? 3
                        : strncasecmp(unit, "gb", 2) == 0 ? 2
                                                          : toupper((unsigned char)*unit) == 'G';
        if (length > 0 && !isalnum((unsigned char)unit[length]) && value > 0 && value < 10000)
            return value * (length == 3 ? 1073741824.0 : 1e9);
        c = end - 1;
    }
    return 0;
}

static bool has_memory(const struct tsim_accelerator *accelerator, double bytes) {
    return fabs(accelerator->memory_bytes / bytes - 1) < 0.08; /* GB and GiB are taken for each other */
}

/* Finds an accelerator with the same name up to the dash ("h100") and that memory. Returns NULL if the catalogue has
 * none. */
static const char *with_memory(struct tsim_recipe *r, const struct tsim_accelerator *usual, double bytes) {
    const char *const *ids, *found = NULL;
    size_t n, length = strcspn(usual->name, "-");
    struct tsim_diags unused;
    tsim_diags_init(&unused);
    if (tsim_catalogue_list(r->arena, TSIM_CATALOGUE_ACCELERATORS, &ids, &n, &unused) != TSIM_OK)
        n = 0;
    for (size_t i = 0; i < n && !found; i++) {
        const struct tsim_accelerator *accelerator;
        if (strncmp(ids[i], usual->name, length) == 0 && ids[i][length] == '-' && !strstr(ids[i], "pcie") &&
            tsim_catalogue_load_accelerator(r->arena, ids[i], &accelerator, &unused) == TSIM_OK &&
            has_memory(accelerator, bytes))
            found = ids[i];
    }
    tsim_diags_release(&unused);
    return found;
}

static bool is_node_set(const struct tsim_recipe *r) {
    for (size_t i = 0; i < r->input.n_overrides; i++)
        if (strncmp(r->input.overrides[i].path, "cluster.node", 12) == 0 && r->input.overrides[i].path[12] != 's')
            return true;
    return false;
}

/* Puts the maker's usual node, with the accelerator of the memory that the file gives. */
static void put_node(struct tsim_recipe *r, const struct tsim_setting *machine, const char *id) {
    double bytes = stated_memory(tsim_setting_text(machine));
    const struct tsim_node *node;
    char said[64], usual[64];
    if (bytes == 0 || is_node_set(r) || tsim_catalogue_load_node(r->arena, id, &node, r->diags) != TSIM_OK ||
        has_memory(node->accelerator, bytes)) {
        tsim_recipe_put(r, "cluster.node", machine, "with its maker's usual node", "%s", id);
        return;
    }
    const char *accelerator = with_memory(r, node->accelerator, bytes);
    if (!accelerator) {
        tsim_diag_hint(
            tsim_recipe_error(r, machine, "%s of memory, but %s has %s, and no other of its name is in the catalogue",
                              tsim_quantity_human(bytes, TSIM_BYTES, said, sizeof said), node->accelerator->name,
                              tsim_quantity_human(node->accelerator->memory_bytes, TSIM_BYTES, usual, sizeof usual)),
            "--set cluster.node=ID of another, or {extends: %s, accelerator: {extends: %s, memory: ...}}", id,
            node->accelerator->name);
        return;
    }
    tsim_recipe_put(r, "cluster.node.extends", machine, "with its maker's usual node", "%s", id);
    tsim_recipe_put(r, "cluster.node.accelerator", machine, "the memory that it says", "%s", accelerator);
}

static void put_machine(struct tsim_recipe *r, const struct tsim_setting *machine, bool has_fabric) {
    const char *named = node_of(r, machine), *id = named ? named : TSIM_DEFAULT_NODE;
    const char *fabric;
    const struct tsim_node *node;
    if (named)
        put_node(r, machine, id);
    else if (!tsim_import_override(&r->input, "cluster.node"))
        r->assumed_node = id;
    if (!named)
        tsim_recipe_assume(r, "cluster.node", "--set cluster.node=ID for another", "%s", id);
    if (has_fabric && tsim_catalogue_load_node(r->arena, id, &node, r->diags) == TSIM_OK &&
        tsim_usual_fabric(r->arena, node, &fabric, r->diags) == TSIM_OK && fabric)
        tsim_recipe_assume(r, "cluster.fabric", "--set cluster.fabric=ID for another", "%s", fabric);
}

/* Returns the accelerators of the node, which a --set may name; 8 if it is not known. */
static int64_t accelerators_of_node(struct tsim_recipe *r, const struct tsim_setting *machine) {
    const char *named = node_of(r, machine), *set = tsim_import_override(&r->input, "cluster.node");
    const char *id = set ? set : named ? named : TSIM_DEFAULT_NODE;
    const struct tsim_node *node;
    struct tsim_diags unused;
    tsim_diags_init(&unused);
    bool is_known = tsim_catalogue_load_node(r->arena, id, &node, &unused) == TSIM_OK;
    tsim_diags_release(&unused);
    return is_known ? node->accelerators : 8;
}

/* Unless the recipe says otherwise, a node is taken to have eight, or fewer if fewer are needed or given: four, or as
 * many as divide what the plan needs. */
static int64_t usual_each(int64_t least_world, bool has_nodes, int64_t of_node) {
    int64_t each = least_world < 8 && !has_nodes ? least_world : 8;
    each = each < of_node ? each : of_node;
    if (has_nodes || least_world % each == 0)
        return each;
    if (each > 4 && least_world % 4 == 0)
        return 4;
    while (least_world % each != 0)
        each--;
    return each;
}

/* Writes as many accelerators as --gpus says, or as hold the model; returns 0 after a mistake. */
static int64_t put_gpus(struct tsim_recipe *r, const struct tsim_setting *machine, int64_t each, int64_t of_node) {
    const int64_t gpus = r->input.gpus, n = gpus / each;
    if (gpus % each != 0) {
        tsim_recipe_error(r, NULL, "--gpus %lld is no whole number of nodes of %lld", (long long)gpus, (long long)each);
        return gpus;
    }
    put_machine(r, machine, n > 1);
    if (r->input.is_smallest)
        tsim_recipe_assume(r, "cluster.nodes", "the smallest cluster that holds the model", "%lld", (long long)n);
    else
        tsim_recipe_put(r, "cluster.nodes", NULL, "--gpus", "%lld", (long long)n);
    if (each != of_node)
        tsim_recipe_put(r, "cluster.accelerators_per_node", NULL, r->input.is_smallest ? "assumed" : "--gpus", "%lld",
                        (long long)each);
    return gpus;
}

/* Many files that are meant to be copied name one node for a model that needs more. */
static bool check_holds(struct tsim_recipe *r, const struct tsim_setting *nodes, int64_t world, int64_t least) {
    static const char *const DEGREES[] = {"parallelism.tensor",  "parallelism.pipeline",
                                          "parallelism.context", "parallelism.expert",
                                          "cluster.nodes",       "cluster.accelerators_per_node"};
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0]; i++)
        if (tsim_import_override(&r->input, DEGREES[i]))
            return true;
    if (!nodes || world >= least)
        return true;
    tsim_recipe_error(r, nodes, "%lld accelerators, but the parallelism needs %lld: use --gpus %lld", (long long)world,
                      (long long)least, (long long)least);
    return false;
}

int64_t tsim_recipe_put_cluster(struct tsim_recipe *r, const struct tsim_setting *nodes,
                                const struct tsim_setting *per_node, const struct tsim_setting *machine,
                                int64_t least_world) {
    int64_t of_node = accelerators_of_node(r, machine);
    int64_t said = per_node ? tsim_setting_int(r, per_node, 1, 10000) : 0;
    int64_t set_each = tsim_import_override_int(&r->input, "cluster.accelerators_per_node"),
            set = tsim_import_override_int(&r->input, "cluster.nodes");
    const int64_t parts = !set_each && said > of_node && said % of_node == 0 ? said / of_node : 1;
    said /= parts;
    int64_t each = set_each ? set_each : said ? said : usual_each(least_world, nodes != NULL || set > 0, of_node);
    if (r->input.gpus > 0)
        return put_gpus(r, machine, set_each ? set_each : r->input.gpus < of_node ? r->input.gpus : of_node, of_node);
    int64_t n = nodes ? parts * tsim_setting_int(r, nodes, 1, 1000000) : (least_world + each - 1) / each;
    if (!check_holds(r, nodes, n * each, least_world))
        return least_world;
    put_machine(r, machine, (set ? set : n) > 1);
    if (parts > 1)
        tsim_recipe_assume(r, "cluster.nodes", "each of its nodes is several of these", "%lld", (long long)n);
    else if (nodes)
        tsim_recipe_put(r, "cluster.nodes", nodes, NULL, "%lld", (long long)n);
    else if (!set && !r->lists_all)
        r->assumed_gpus = n * each;
    if (!nodes && !set && parts == 1)
        tsim_recipe_assume(r, "cluster.nodes", "as many as the parallelism needs", "%lld", (long long)n);
    if (each != of_node && !set_each && per_node)
        tsim_recipe_put(r, "cluster.accelerators_per_node", per_node, NULL, "%lld", (long long)each);
    else if (each != of_node && !set_each)
        tsim_recipe_assume(r, "cluster.accelerators_per_node",
                           each < 8 ? "as many as the parallelism needs" : "nothing says how many of a node", "%lld",
                           (long long)each);
    return (set ? set : n) * each;
}
