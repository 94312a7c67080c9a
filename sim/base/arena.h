/* arena.h - memory by lifetime. Objects are never freed one by one: an arena is reset or released as a whole, and a
 * function that returns new memory takes the arena as its first parameter, so the signature states who owns it. An
 * arena is not thread-safe: each thread has its own. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum { TSIM_OUT_OF_MEMORY_EXIT = 5 }; /* the same as for other failures of the system */

struct tsim_arena_block;
struct tsim_arena {
    struct tsim_arena_block *block; /* newest first; private */
    size_t used_bytes;              /* the sum over all blocks, for reports and tests */
};

void tsim_arena_init(struct tsim_arena *arena);
void tsim_arena_release(struct tsim_arena *arena); /* frees everything; the arena may be used again */
void tsim_arena_reset(struct tsim_arena *arena);   /* forgets everything, keeps the largest block for reuse */

/* Returns zeroed memory, aligned for any type and never NULL: if memory runs out, the program prints a message and
 * exits with status 5. Zero bytes give a valid unique pointer. */
void *tsim_arena_alloc(struct tsim_arena *arena, size_t size_bytes);
void *tsim_arena_array(struct tsim_arena *arena, size_t count, size_t item_bytes); /* checks for overflow */
/* Returns an array of n items that has room for one more: `array` itself, or a copy of twice its size if it is full.
 * *capacity is the size in items. The smaller array stays in the arena. */
void *tsim_arena_grow(struct tsim_arena *arena, void *array, size_t n, int32_t *capacity, size_t item_bytes);
char *tsim_arena_strdup(struct tsim_arena *arena, const char *text);
char *tsim_arena_strndup(struct tsim_arena *arena, const char *text, size_t length);
char *tsim_arena_printf(struct tsim_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *tsim_arena_vprintf(struct tsim_arena *arena, const char *format, va_list args);

#define TSIM_NEW(arena, type) ((type *)tsim_arena_alloc((arena), sizeof(type)))
#define TSIM_NEW_ARRAY(arena, count, type) ((type *)tsim_arena_array((arena), (count), sizeof(type)))

/* Sets the most bytes that arenas and heap arrays of the process may hold together, beyond what they hold now. 0 means
 * no limit, as at the beginning. A process that asks for more ends as it does when memory runs out, and says `whose`
 * limit it was. Call it before threads are started. */
void tsim_memory_limit(size_t most_bytes, const char *whose);

/* Keeps freed memory in the process from now on. Simulations that follow one another take and free the same megabytes,
 * and the system would clear those pages anew each time, which costs a search for plans 4 % of its time. A single run
 * does not gain by it, so a program asks for it and the library does not. Call it before threads are started. */
void tsim_memory_keep(void);

/* Grows a heap array by doubling, and checks for overflow. Returns the array with room for at least `needed` items, and
 * updates *capacity. This is the only allocation besides arenas; free it with tsim_heap_free. */
void *tsim_heap_grow(void *array, size_t *capacity, size_t needed, size_t item_bytes);
void *tsim_heap_alloc(size_t size_bytes); /* stands in for malloc in libraries that allocate; never NULL */
void tsim_heap_free(void *array);
/* Frees memory that the C library has taken by itself (open_memstream), which no limit counts. */
void tsim_heap_free_foreign(void *text);

/* Ends the program as a failed allocation does, for libraries that report that they had no memory. */
_Noreturn void tsim_out_of_memory(void);
