/* Every importer: XML, JSON and binary files for those that read such files, and any other text for all that do not. */
#include "fuzz/fuzz.h"
#include "import/formats.h"

enum look { TEXT, XML, JSON, BINARY };

static enum look look_of(const uint8_t *data, size_t size) {
    size_t i = 0;
    if (memchr(data, '\0', size < 64 ? size : 64))
        return BINARY;
    while (i < size && (data[i] == ' ' || data[i] == '\n'))
        i++;
    return i == size ? TEXT : data[i] == '<' ? XML : data[i] == '{' ? JSON : TEXT;
}

static enum look look_of_format(const char *name) {
    return strcmp(name, "nccl-xml") == 0 || strcmp(name, "lstopo") == 0 ? XML
           : strcmp(name, "chakra") == 0                                ? BINARY
           : strcmp(name, "hf-config") == 0 || strcmp(name, "deepspeed") == 0 || strcmp(name, "hf-trainer") == 0 ? JSON
                                                                                                                 : TEXT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* just as long, so that reading past it is seen */
    enum look look = look_of(data, size);
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < TSIM_N_IMPORT_FORMATS; i++)
        if (look_of_format(TSIM_IMPORT_FORMATS[i].name) == look ||
            (look == TEXT && strcmp(TSIM_IMPORT_FORMATS[i].name, "hf-trainer") == 0)) /* scripts and YAML beside JSON */
            tsim_import_bytes(TSIM_IMPORT_FORMATS[i].name, text, size);
    free(text);
    return 0;
}
