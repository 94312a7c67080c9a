#include "base/arena.h"

#include "base/bug.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Blocks grow to a megabyte and no further, so that a limit of a few megabytes does not refuse room that stays empty. */
enum { FIRST_BLOCK_BYTES = 16 * 1024, MAX_BLOCK_BYTES = 1024 * 1024 };
/* Kept are arenas' blocks, the lists of a large simulation, and, of what is free, that of a few threads' simulations,
 * which take up to ten megabytes. The C library keeps no larger block than this. */
enum { KEPT_BLOCK_BYTES = 32 * MAX_BLOCK_BYTES, KEPT_BYTES = 64 * 1024 * 1024 };
#define ALIGNMENT _Alignof(max_align_t)

struct tsim_arena_block {
    struct tsim_arena_block *older;
    size_t capacity_bytes, used_bytes;
    _Alignas(max_align_t) unsigned char data[];
};

static size_t limit_bytes, counted_from_bytes; /* a limit of 0: none */
static const char *limit_name;
static atomic_size_t in_use_bytes;

void tsim_memory_limit(size_t most_bytes, const char *whose) {
    limit_bytes = most_bytes;
    counted_from_bytes = atomic_load_explicit(&in_use_bytes, memory_order_relaxed);
    limit_name = whose;
}

void tsim_memory_keep(void) {
    mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

_Noreturn static void out_of_memory(size_t wanted_bytes) {
    fprintf(stderr, "tsim: out of memory (another %zu bytes were asked for)\n", wanted_bytes);
    exit(TSIM_OUT_OF_MEMORY_EXIT);
}

void tsim_out_of_memory(void) {
    fputs("tsim: out of memory\n", stderr);
    exit(TSIM_OUT_OF_MEMORY_EXIT);
}

/* Counts bytes before memory is asked for. */
static void take(size_t n_bytes) {
    size_t before = atomic_fetch_add_explicit(&in_use_bytes, n_bytes, memory_order_relaxed);
    size_t most_bytes = counted_from_bytes + limit_bytes;
    if (limit_bytes == 0 || (before <= most_bytes && n_bytes <= most_bytes - before))
        return;
    fprintf(stderr, "tsim: out of memory: more than the %.4g GB of %s\n", 1e-9 * (double)limit_bytes, limit_name);
    exit(TSIM_OUT_OF_MEMORY_EXIT);
}

static void give_back(size_t n_bytes) {
    atomic_fetch_sub_explicit(&in_use_bytes, n_bytes, memory_order_relaxed);
}

static void free_block(struct tsim_arena_block *block) {
    if (block)
        give_back(block->capacity_bytes);
    free(block);
}

void tsim_arena_init(struct tsim_arena *arena) {
    memset(arena, 0, sizeof *arena);
}

void tsim_arena_release(struct tsim_arena *arena) {
    while (arena->block) {
        struct tsim_arena_block *older = arena->block->older;
        free_block(arena->block);
        arena->block = older;
    }
    arena->used_bytes = 0;
}

void tsim_arena_reset(struct tsim_arena *arena) {
    struct tsim_arena_block *largest = NULL;
    while (arena->block) {
        struct tsim_arena_block *block = arena->block;
        arena->block = block->older;
        if (!largest || block->capacity_bytes > largest->capacity_bytes) {
            free_block(largest);
            largest = block;
        } else {
            free_block(block);
        }
    }
    if (largest) {
        largest->older = NULL;
        largest->used_bytes = 0;
    }
    arena->block = largest;
    arena->used_bytes = 0;
}

static struct tsim_arena_block *add_block(struct tsim_arena *arena, size_t size_bytes) {
    size_t capacity = arena->block ? arena->block->capacity_bytes * 2 : FIRST_BLOCK_BYTES;
    if (capacity > MAX_BLOCK_BYTES)
        capacity = MAX_BLOCK_BYTES;
    if (capacity < size_bytes)
        capacity = size_bytes;
    take(capacity);
    struct tsim_arena_block *block = malloc(sizeof *block + capacity);
    if (!block)
        out_of_memory(capacity);
    block->older = arena->block;
    block->capacity_bytes = capacity;
    block->used_bytes = 0;
    arena->block = block;
    return block;
}

void *tsim_arena_alloc(struct tsim_arena *arena, size_t size_bytes) {
    if (size_bytes > SIZE_MAX / 2)
        out_of_memory(size_bytes);
    size_t rounded = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded == 0)
        rounded = ALIGNMENT;
    struct tsim_arena_block *block = arena->block;
    if (!block || block->capacity_bytes - block->used_bytes < rounded)
        block = add_block(arena, rounded);
    void *memory = block->data + block->used_bytes;
    block->used_bytes += rounded;
    arena->used_bytes += rounded;
    return memset(memory, 0, rounded);
}

void *tsim_arena_array(struct tsim_arena *arena, size_t count, size_t item_bytes) {
    if (item_bytes && count > SIZE_MAX / 2 / item_bytes)
        tsim_out_of_memory();
    return tsim_arena_alloc(arena, count * item_bytes);
}

void *tsim_arena_grow(struct tsim_arena *arena, void *array, size_t n, int32_t *capacity, size_t item_bytes) {
    enum { FIRST = 8 };
    if (n < (size_t)*capacity)
        return array;
    if (*capacity > INT32_MAX / 2)
        tsim_out_of_memory();
    *capacity = *capacity > 0 ? 2 * *capacity : FIRST;
    void *grown = tsim_arena_array(arena, (size_t)*capacity, item_bytes);
    if (n > 0)
        memcpy(grown, array, n * item_bytes);
    return grown;
}

char *tsim_arena_strndup(struct tsim_arena *arena, const char *text, size_t length) {
    char *copy = tsim_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *tsim_arena_strdup(struct tsim_arena *arena, const char *text) {
    return tsim_arena_strndup(arena, text, strlen(text));
}

char *tsim_arena_vprintf(struct tsim_arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    TSIM_ASSERT(length >= 0);
    char *text = tsim_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *tsim_arena_printf(struct tsim_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = tsim_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void *tsim_heap_grow(void *array, size_t *capacity, size_t needed, size_t item_bytes) {
    if (needed <= *capacity)
        return array;
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < needed) {
        if (grown > SIZE_MAX / 4)
            tsim_out_of_memory();
        grown *= 2;
    }
    if (item_bytes && grown > SIZE_MAX / 2 / item_bytes)
        tsim_out_of_memory();
    give_back(array ? malloc_usable_size(array) : 0);
    take(grown * item_bytes);
    void *bigger = realloc(array, grown * item_bytes);
    if (!bigger)
        out_of_memory(grown * item_bytes);
    take(malloc_usable_size(bigger) - grown * item_bytes);
    *capacity = grown;
    return bigger;
}

void *tsim_heap_alloc(size_t size_bytes) {
    take(size_bytes);
    void *memory = malloc(size_bytes ? size_bytes : 1);
    if (!memory)
        out_of_memory(size_bytes);
    take(malloc_usable_size(memory) - size_bytes);
    return memory;
}

void tsim_heap_free(void *array) {
    give_back(array ? malloc_usable_size(array) : 0);
    free(array);
}

void tsim_heap_free_foreign(void *text) {
    free(text);
}
