#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tsim_bug_at(const char *file, int line, const char *format, ...) {
    fflush(stdout);
    fprintf(stderr, "tsim: this is a bug in tsim, please report it: %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(70);
}
