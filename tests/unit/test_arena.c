#include "base/arena.h"

#include "support/check_main.h"

#include <stdbool.h>
#include <string.h>

static struct tsim_arena arena;

static void set_up(void) {
    tsim_arena_init(&arena);
}

static void tear_down(void) {
    tsim_arena_release(&arena);
}

static bool is_zero(const unsigned char *memory, size_t size) {
    return size == 0 || (memory[0] == 0 && memcmp(memory, memory + 1, size - 1) == 0);
}

TSIM_TEST(memory_is_zeroed_and_aligned) {
    for (size_t size = 0; size < 20000; size = size * 2 + 1) {
        unsigned char *memory = tsim_arena_alloc(&arena, size);
        ck_assert_uint_eq((uintptr_t)memory % _Alignof(max_align_t), 0);
        ck_assert(is_zero(memory, size));
        memset(memory, 0xff, size);
    }
}

/* Blocks double up to 4 MiB; one request may be larger than that. A reset keeps the largest, and clears what it gives
 * again. */
TSIM_TEST(a_reset_keeps_the_largest_block) {
    enum { LARGE = 9 << 20, SMALL = 3 << 20 };
    unsigned char *large = tsim_arena_alloc(&arena, LARGE);
    memset(large, 0xff, LARGE);
    for (int i = 0; i < 3; i++)
        tsim_arena_alloc(&arena, SMALL);
    ck_assert_uint_eq(arena.used_bytes, LARGE + 3 * (size_t)SMALL);
    tsim_arena_reset(&arena);
    ck_assert_uint_eq(arena.used_bytes, 0);
    ck_assert_ptr_eq(tsim_arena_alloc(&arena, LARGE), large);
    ck_assert(is_zero(large, LARGE));
    tsim_arena_release(&arena);
    tsim_arena_reset(&arena); /* an empty one */
    ck_assert_ptr_nonnull(tsim_arena_alloc(&arena, 1));
}

TSIM_TEST(texts_are_copied_and_formatted) {
    ck_assert_str_eq(tsim_arena_strndup(&arena, "cluster.nodes", 7), "cluster");
    ck_assert_str_eq(tsim_arena_printf(&arena, "%s/%d", "node", 7), "node/7");
    ck_assert_uint_eq(strlen(tsim_arena_printf(&arena, "%300d", 1)), 300);
}

TSIM_TEST(heap_arrays_double) {
    size_t capacity = 0;
    int *numbers = NULL;
    for (int i = 0; i < 1000; i++) {
        numbers = tsim_heap_grow(numbers, &capacity, (size_t)i + 1, sizeof *numbers);
        numbers[i] = i;
        ck_assert_uint_ge(capacity, (size_t)i + 1);
    }
    ck_assert_uint_eq(capacity, 1024);
    ck_assert_int_eq(numbers[999], 999);
    tsim_heap_free(numbers);
    tsim_heap_free(tsim_heap_alloc(0));
    tsim_heap_free(NULL);
}

/* Each ends the program with the exit status of memory that ran out (Check runs tests in processes of their own). */
TSIM_EXIT_TEST(too_many_bytes, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_arena_alloc(&arena, SIZE_MAX / 2 + 1);
}
TSIM_EXIT_TEST(too_many_items, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_arena_array(&arena, SIZE_MAX / 8, 16);
}
TSIM_EXIT_TEST(a_heap_array_of_too_many_items, TSIM_OUT_OF_MEMORY_EXIT) {
    size_t capacity = 0;
    tsim_heap_grow(NULL, &capacity, SIZE_MAX / 2, 1);
}
TSIM_EXIT_TEST(a_heap_array_of_too_many_bytes, TSIM_OUT_OF_MEMORY_EXIT) {
    size_t capacity = 0;
    tsim_heap_grow(NULL, &capacity, SIZE_MAX / 8, 1000);
}
/* malloc and realloc refuse this: no machine has 2^62 bytes. AddressSanitizer ends the program itself unless told not
 * to. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}
static volatile size_t no_machine_has = (size_t)1 << 62;
TSIM_EXIT_TEST(a_block_that_no_machine_has, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_arena_alloc(&arena, no_machine_has);
}
TSIM_EXIT_TEST(a_heap_array_that_no_machine_has, TSIM_OUT_OF_MEMORY_EXIT) {
    size_t capacity = 0;
    tsim_heap_grow(NULL, &capacity, no_machine_has, 1);
}
TSIM_EXIT_TEST(a_heap_block_that_no_machine_has, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_heap_alloc(no_machine_has);
}
TSIM_EXIT_TEST(over_the_limit_at_once, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_memory_limit(1 << 20, "this test");
    tsim_arena_alloc(&arena, 2 << 20);
}
TSIM_EXIT_TEST(over_the_limit_bit_by_bit, TSIM_OUT_OF_MEMORY_EXIT) {
    tsim_memory_limit(1 << 20, "this test");
    for (int i = 0; i < 1 << 20; i++)
        tsim_arena_alloc(&arena, 64);
}
TSIM_TEST(what_is_given_back_counts_no_more) {
    tsim_memory_limit(1 << 20, "this test");
    for (int i = 0; i < 100; i++)
        tsim_heap_free(tsim_heap_alloc(1 << 19));
    for (int i = 0; i < 100; i++) {
        tsim_arena_alloc(&arena, 1 << 19);
        tsim_arena_release(&arena);
    }
}

/* An array keeps its items however often it grows. */
TSIM_TEST(arena_arrays_double) {
    int32_t *items = NULL, capacity = 0;
    for (int32_t n = 0; n < 1000; n++) {
        items = tsim_arena_grow(&arena, items, (size_t)n, &capacity, sizeof *items);
        ck_assert_int_gt(capacity, n);
        items[n] = n;
    }
    ck_assert_int_eq(capacity, 1024);
    for (int32_t n = 0; n < 1000; n++)
        ck_assert_int_eq(items[n], n);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
