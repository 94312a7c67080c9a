#include "import/overrides.h"

#include "base/among.h"

#include <stdlib.h>
#include <string.h>

const char *tsim_import_override(const struct tsim_import_input *input, const char *path) {
    for (size_t i = input->n_overrides; i > 0; i--)
        if (strcmp(input->overrides[i - 1].path, path) == 0)
            return input->overrides[i - 1].value;
    return NULL;
}

int64_t tsim_import_override_int(const struct tsim_import_input *input, const char *path) {
    const char *text = tsim_import_override(input, path);
    const int64_t value = text ? strtoll(text, NULL, 10) : 0;
    return value > 0 && value <= 1000000 ? value : 0;
}

bool tsim_import_ignores(const struct tsim_import_input *input, const char *key) {
    return tsim_is_among(key, input->ignored, input->n_ignored);
}

const char *tsim_import_environment(const struct tsim_import_input *input, const char *name, size_t length) {
    for (size_t i = 0; i < input->n_environment; i++)
        if (strncmp(input->environment[i], name, length) == 0 && input->environment[i][length] == '=')
            return input->environment[i] + length + 1;
    return NULL;
}
