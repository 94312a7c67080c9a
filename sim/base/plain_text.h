/* plain_text.h - texts of others (names in a database, keys in a file) on a terminal: a control character could move
 * the cursor, change colours or the window's title. Each becomes '?'; tabs stay. */
#ifndef TSIM_BASE_PLAIN_TEXT_H
#define TSIM_BASE_PLAIN_TEXT_H

#include "base/arena.h"

#include <stdio.h>

/* Returns `text` itself where there is nothing to replace. */
const char *tsim_plain_text(struct tsim_arena *arena, const char *text);
void tsim_put_plain(FILE *out, const char *text);

#endif
