/* Control characters of Unicode (U+0001 to U+001F save the tab, U+007F, U+0080 to U+009F) become '?', all else stays.
 */
#include "base/plain_text.h"
#include "support/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *plain;
} CASES[] = {
    {"", ""},
    {"plain, with a \t", "plain, with a \t"},
    {"\033[31mred\033[0m", "?[31mred?[0m"},
    {"a\nb\rc\x7f", "a?b?c?"},
    {"\xc2\x9b"
     "2J",
     "?2J"},                                  /* CSI in one character */
    {"\xc2\xa0\xc3\xa9", "\xc2\xa0\xc3\xa9"}, /* a space that does not break, an accent */
    {"cut \xc2", "cut \xc2"},
};

TSIM_TEST_ROWS(control_characters, CASES) {
    struct tsim_arena arena;
    char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);
    tsim_arena_init(&arena);
    ck_assert_str_eq(tsim_plain_text(&arena, CASES[_i].text), CASES[_i].plain);
    tsim_put_plain(out, CASES[_i].text);
    fclose(out);
    ck_assert_str_eq(written, CASES[_i].plain);
    free(written);
    tsim_arena_release(&arena);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
