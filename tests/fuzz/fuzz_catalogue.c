/* A file of the catalogue (models, accelerators, nodes, fabrics, software and what else there is), read as the kind
 * that its schema names, and without one as some kind. */
#define _GNU_SOURCE /* memmem */
#include "config/catalogue_load.h"
#include "fuzz/fuzz.h"
#include "fuzz/yaml_lines.h"

static enum tsim_catalogue_kind choose_kind(const uint8_t *data, size_t size) {
    const uint8_t *slash = memmem(data, size, "tsim/", 5);
    size_t rest = slash ? size - (size_t)(slash - data) - 5 : 0;
    for (int kind = 0; kind < TSIM_N_CATALOGUE_KINDS; kind++) {
        const char *word = tsim_catalogue_word((enum tsim_catalogue_kind)kind);
        if (rest > strlen(word) && memcmp(slash + 5, word, strlen(word)) == 0)
            return (enum tsim_catalogue_kind)kind;
    }
    return (enum tsim_catalogue_kind)(size % TSIM_N_CATALOGUE_KINDS);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_lines(data, size, max_size, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *file = fuzz_file(".yaml", data, size);
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_catalogue_entry *entries;
    size_t n_entries;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    if (tsim_catalogue_describe(&arena, choose_kind(data, size), file, &entries, &n_entries, &diags) != TSIM_OK)
        TSIM_ASSERT(diags.n_errors > 0);
    unlink(file);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
