#include "config/recognize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    const struct tsim_accelerator *one = *(const struct tsim_accelerator *const *)a,
                                  *other = *(const struct tsim_accelerator *const *)b;
    const struct tsim_known_as *x = one->known_as, *y = other->known_as;
    if (!x->node != !y->node)
        return x->node ? -1 : 1;
    if (x->is_usual != y->is_usual)
        return x->is_usual ? -1 : 1;
    return strcmp(one->name, other->name);
}

enum tsim_status tsim_known_accelerators(struct tsim_arena *arena, const struct tsim_accelerator *const **accelerators,
                                         size_t *n, struct tsim_diags *diags) {
    const char *const *ids;
    size_t n_ids;
    TSIM_TRY(tsim_catalogue_list(arena, TSIM_CATALOGUE_ACCELERATORS, &ids, &n_ids, diags));
    const struct tsim_accelerator **known = TSIM_NEW_ARRAY(arena, n_ids, const struct tsim_accelerator *);
    *n = 0;
    for (size_t i = 0; i < n_ids; i++) {
        TSIM_TRY(tsim_catalogue_load_accelerator(arena, ids[i], &known[*n], diags));
        *n += known[*n]->known_as != NULL;
    }
    if (*n)
        qsort(known, *n, sizeof known[0], compare);
    *accelerators = known;
    return TSIM_OK;
}

/* "h20" stands in "4 h20", and not in "h200". */
static bool stands_in(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if (!isdigit((unsigned char)at[length]))
            return true;
    return false;
}

enum tsim_status tsim_accelerator_named(struct tsim_arena *arena, const char *text,
                                        const struct tsim_accelerator **accelerator, struct tsim_diags *diags) {
    const struct tsim_accelerator *const *known;
    size_t n, longest = 0;
    TSIM_TRY(tsim_known_accelerators(arena, &known, &n, diags));
    char *small = tsim_arena_strdup(arena, text);
    for (char *c = small; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    *accelerator = NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; known[i]->known_as->node && k < TSIM_MOST_KNOWN && known[i]->known_as->names[k]; k++) {
            const char *name = known[i]->known_as->names[k];
            if (strlen(name) > longest && stands_in(small, name)) {
                longest = strlen(name);
                *accelerator = known[i];
            }
        }
    return TSIM_OK;
}

enum tsim_status tsim_usual_node(struct tsim_arena *arena, enum tsim_scale_up scale_up, const struct tsim_node **node,
                                 struct tsim_diags *diags) {
    const char *const *ids;
    size_t n;
    *node = NULL;
    TSIM_TRY(tsim_catalogue_list(arena, TSIM_CATALOGUE_NODES, &ids, &n, diags));
    for (size_t i = 0; i < n && !*node; i++) {
        const struct tsim_node *one;
        TSIM_TRY(tsim_catalogue_load_node(arena, ids[i], &one, diags));
        if (one->is_usual && one->scale_up == scale_up)
            *node = one;
    }
    return TSIM_OK;
}

/* NICs that are slower than every fabric still hang on one: on the slowest. */
static bool is_better(const struct tsim_fabric *fabric, const struct tsim_fabric *best, double nic_bytes_per_s) {
    bool is_filled = fabric->link_bytes_per_s <= nic_bytes_per_s;
    if (!best || is_filled != (best->link_bytes_per_s <= nic_bytes_per_s))
        return !best || is_filled;
    return is_filled ? fabric->link_bytes_per_s > best->link_bytes_per_s
                     : fabric->link_bytes_per_s < best->link_bytes_per_s;
}

enum tsim_status tsim_usual_fabric(struct tsim_arena *arena, const struct tsim_node *node, const char **id,
                                   struct tsim_diags *diags) {
    const char *const *ids;
    const struct tsim_fabric *best = NULL;
    size_t n = 0;
    *id = node->usual_fabric;
    if (node->usual_fabric || node->nics <= 0)
        return TSIM_OK;
    TSIM_TRY(tsim_catalogue_list(arena, TSIM_CATALOGUE_FABRICS, &ids, &n, diags));
    for (size_t i = 0; i < n; i++) {
        const struct tsim_fabric *fabric;
        TSIM_TRY(tsim_catalogue_load_fabric(arena, ids[i], &fabric, diags));
        if (fabric->is_usual && is_better(fabric, best, node->nic_bytes_per_s))
            best = fabric;
    }
    *id = best ? best->name : NULL;
    return TSIM_OK;
}
