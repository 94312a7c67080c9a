/* Every importer. */
#include "fuzz/fuzz.h"
#include "import/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* just as long, so that reading past it is seen */
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < TSIM_N_IMPORT_FORMATS; i++)
        tsim_import_bytes(TSIM_IMPORT_FORMATS[i].name, text, size);
    free(text);
    return 0;
}
