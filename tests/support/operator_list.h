/* Answers questions about a list of operators: sums over it, and one of it by its name. */
#pragma once

#include "model/operators.h"
#include "support/check_main.h"

#include <string.h>

static inline double sum_flops(const struct tsim_op_list *list) {
    double flops = 0;
    for (int32_t i = 0; i < list->n; i++)
        flops += list->ops[i].flops;
    return flops;
}

static inline double sum_collective(const struct tsim_op_list *list, enum tsim_op_collective collective) {
    double bytes = 0;
    for (int32_t i = 0; i < list->n; i++)
        if (list->ops[i].kind == TSIM_OP_COLLECTIVE && list->ops[i].collective == collective)
            bytes += list->ops[i].collective_bytes;
    return bytes;
}

/* Returns the first of that name, or NULL. */
static inline const struct tsim_op *seek(const struct tsim_op_list *list, const char *name) {
    for (int32_t i = 0; i < list->n; i++)
        if (strcmp(list->ops[i].name, name) == 0)
            return &list->ops[i];
    return NULL;
}

/* The first of that name, which must be there. */
static inline const struct tsim_op *find(const struct tsim_op_list *list, const char *name) {
    const struct tsim_op *op = seek(list, name);
    ck_assert_msg(op != NULL, "no operator %s", name);
    return op;
}
