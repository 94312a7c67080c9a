/* Small languages: quantities of every dimension, conditions (--where), settings (--set PATH=VALUE). A value that was
 * read is written canonically and must read back to the same number. */
#include "base/quantity.h"
#include "config/text/document.h"
#include "fuzz/fuzz.h"
#include "study/search/filter.h"

#include <math.h>

static void try_quantity(const char *text, enum tsim_dimension dimension) {
    double value, again;
    char why[160], hint[160], buffer[160];
    for (int bare = 0; bare < 2; bare++) {
        if (tsim_quantity_parse(text, dimension, bare, &value, why, hint) != TSIM_OK)
            continue;
        TSIM_ASSERT(isfinite(value));
        tsim_quantity_si(value, dimension, buffer, sizeof buffer);
        TSIM_ASSERT(tsim_quantity_parse(buffer, dimension, true, &again, why, hint) == TSIM_OK &&
                    memcmp(&again, &value, sizeof value) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_filter *filter;
    const struct tsim_value *root;
    struct tsim_point point;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    memset(&point, 0, sizeof point);
    const char *text = size <= 4096 ? fuzz_text(&arena, data, size) : NULL;
    for (int i = 0; text && i < TSIM_N_DIMENSIONS; i++)
        try_quantity(text, (enum tsim_dimension)i);
    if (text && tsim_filter_parse(&arena, "--where", text, &filter, &diags) == TSIM_OK)
        tsim_filter_holds(filter, &point);
    if (text)
        tsim_document_parse_override(&arena, "cluster.nodes", text, NULL, &root, &diags);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
