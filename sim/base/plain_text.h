/* plain_text.h - foreign texts (names in a database, keys in a file) on a terminal, where a control character could
 * move the cursor or change colours or the window's title. Each control character becomes '?'; tabs stay. */
#pragma once

#include "base/arena.h"

#include <stdio.h>

/* Returns the text with its control characters replaced, or `text` itself if it has none. */
const char *tsim_plain_text(struct tsim_arena *arena, const char *text);
void tsim_put_plain(FILE *out, const char *text);
