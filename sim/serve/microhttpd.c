#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The one whose header this is; Debian 12 and 13 have it. */
#define LIBRARY "libmicrohttpd.so.12"

struct tsim_microhttpd tsim_http;

/* C has no conversion of what dlsym gives to a pointer to a function; POSIX says that their bits are alike. */
static bool find(void *library, const char *name, void *pointer) {
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool tsim_microhttpd_load(char *why, size_t size) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool has_all = library != NULL;
#define FIND(name) has_all = has_all && find(library, "MHD_" #name, &tsim_http.name);
    TSIM_MICROHTTPD_FUNCTIONS(FIND)
#undef FIND
    if (!has_all)
        snprintf(why, size, "libmicrohttpd cannot be loaded (%s); Debian's package libmicrohttpd12 has it", dlerror());
    return has_all;
}
