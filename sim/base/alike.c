#include "base/alike.h"

#include "base/random.h"

const int32_t *tsim_first_alike(struct tsim_arena *arena, struct tsim_arena *scratch, const uint64_t *numbers,
                                int32_t n) {
    int32_t *first = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    size_t size = 1;
    while (size < 2 * (size_t)n)
        size *= 2;
    int32_t *table = TSIM_NEW_ARRAY(scratch, size, int32_t); /* things, plus 1, at the place that their number gives */
    for (int32_t i = 0; i < n; i++) {
        size_t at = (size_t)tsim_random_mix(numbers[i]) & (size - 1);
        while (table[at] > 0 && numbers[table[at] - 1] != numbers[i])
            at = (at + 1) & (size - 1);
        if (table[at] == 0)
            table[at] = i + 1;
        first[i] = table[at] - 1;
    }
    return first;
}
