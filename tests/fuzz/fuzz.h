/* fuzz.h - what the fuzz targets share. A target is a program of its own: with libFuzzer under `make fuzz`, with
 * replay.c, which gives it the files of its corpus, under `make test`. Nothing a target is given may crash, leak, hang
 * for a second, or run into undefined behaviour. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the bytes as a text in `arena`; NULL if they hold a NUL. */
static inline const char *fuzz_text(struct tsim_arena *arena, const uint8_t *data, size_t size) {
    if (size > 0 && memchr(data, 0, size))
        return NULL;
    return tsim_arena_strndup(arena, size > 0 ? (const char *)data : "", size);
}

/* Writes the bytes into a file in $TMPDIR (a folder in memory: what is written is synced), which is always the same
 * one of this process; returns its name. */
static inline const char *fuzz_file(const char *suffix, const uint8_t *data, size_t size) {
    static char name[200];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%.150s/tsim-fuzz-%ld%s", folder ? folder : "/tmp", (long)getpid(), suffix);
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    return name;
}

/* libFuzzer's own mutations, which it links in; replay.c has none. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
