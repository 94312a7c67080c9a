#include "base/plain_text.h"

#include <string.h>

/* Returns the bytes of the control character that `text` begins with (U+0001 to U+001F, U+007F to U+009F), 0: of none. */
static size_t control_bytes(const char *text) {
    unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if ((first > 0 && first < 0x20 && first != '\t') || first == 0x7F)
        return 1;
    return first == 0xC2 && second >= 0x80 && second <= 0x9F ? 2 : 0;
}

static size_t plain_bytes(const char *text) {
    size_t n = 0;
    while (text[n] && control_bytes(text + n) == 0)
        n++;
    return n;
}

const char *tsim_plain_text(struct tsim_arena *arena, const char *text) {
    size_t n = plain_bytes(text);
    if (!text[n])
        return text;
    char *plain = tsim_arena_strdup(arena, text), *to = plain + n;
    for (const char *from = text + n; *from;) {
        size_t n_control = control_bytes(from);
        *to++ = n_control > 0 ? '?' : *from;
        from += n_control > 0 ? n_control : 1;
    }
    *to = '\0';
    return plain;
}

void tsim_put_plain(FILE *out, const char *text) {
    for (size_t n; *text; text += n) {
        n = plain_bytes(text);
        fwrite(text, 1, n, out);
        if (n == 0) {
            fputc('?', out);
            n = control_bytes(text);
        }
    }
}
