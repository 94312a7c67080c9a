/* Writes the order of a pipeline stage as text, as the papers' figures show it. */
#pragma once

#include "partition/schedule.h"
#include "support/check_main.h"

#include <stdio.h>

/* Writes the order of a stage's passes: F forward, B backward, I input gradient, W weight gradient; then the
 * micro-batch; a, b the chunk where there are several; & between the two of a pair: "F0a F0b B0b&F1a". */
static inline void order(struct tsim_schedule_shape shape, int32_t stage, char *text) {
    static const char KINDS[] = {'F', 'B', 'I', 'W'};
    text[0] = 0;
    for (int32_t i = 0; i < tsim_schedule_n_items(&shape, stage); i++) {
        struct tsim_pass_item item = tsim_schedule_item(&shape, stage, i);
        const char *before = i == 0 ? "" : item.pair == TSIM_PAIR_SECOND ? "&" : " ";
        text += sprintf(text, "%s%c%d", before, KINDS[item.kind], item.microbatch);
        if (shape.chunks > 1)
            text += sprintf(text, "%c", 'a' + item.chunk);
    }
}

static inline void assert_order(struct tsim_schedule_shape shape, int32_t stage, const char *expected) {
    char text[8192];
    order(shape, stage, text);
    ck_assert_str_eq(text, expected);
}
