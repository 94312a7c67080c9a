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

const char *tsim_usual_fabric(const struct tsim_node *node) {
    static const struct {
        double bytes_per_s;
        const char *id;
    } FABRICS[] = {{100e9, "ib-xdr"}, {50e9, "ib-ndr"}, {25e9, "ib-hdr"}, {12.5e9, "ib-edr"}};
    if (node->usual_fabric)
        return node->usual_fabric;
    for (size_t i = 0; i < sizeof FABRICS / sizeof FABRICS[0]; i++)
        if (node->nics > 0 && node->nic_bytes_per_s >= FABRICS[i].bytes_per_s)
            return FABRICS[i].id;
    return node->nics > 0 ? "ethernet-10" : NULL;
}
