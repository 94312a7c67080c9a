/* An arena and diagnostics that every test of a file begins with, empty, and ends with:
 *   tcase_add_checked_fixture(tests, set_up, tear_down);
 * Errors that no test looked at stand on standard error. A file with more to prepare calls set_up first. */
#pragma once

#include "base/arena.h"
#include "base/status.h"
#include "support/check_main.h"

#include <stdio.h>

static struct tsim_arena arena;
static struct tsim_diags diags;

static inline void set_up(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
}

static inline void tear_down(void) {
    tsim_diags_print(&diags, stderr);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}
