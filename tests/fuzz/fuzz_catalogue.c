/* A file of the catalogue: models, accelerators, nodes, fabrics, software and what else there is, each read as each
 * kind. */
#include "config/catalogue_load.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *file = fuzz_file(".yaml", data, size);
    for (int kind = 0; kind < TSIM_N_CATALOGUE_KINDS; kind++) {
        struct tsim_arena arena;
        struct tsim_diags diags;
        const struct tsim_catalogue_entry *entries;
        size_t n_entries;
        tsim_arena_init(&arena);
        tsim_diags_init(&diags);
        if (tsim_catalogue_describe(&arena, (enum tsim_catalogue_kind)kind, file, &entries, &n_entries, &diags) !=
            TSIM_OK)
            TSIM_ASSERT(diags.n_errors > 0);
        tsim_diags_release(&diags);
        tsim_arena_release(&arena);
    }
    return 0;
}
