#define _GNU_SOURCE /* fopencookie */
#include "base/text_sink.h"

#include "base/arena.h"

#include <string.h>
#include <sys/types.h>

static ssize_t take(void *cookie, const char *bytes, size_t n) {
    struct tsim_text_sink *sink = cookie;
    if (n > sink->most_bytes || sink->size > sink->most_bytes - n)
        tsim_out_of_memory();
    sink->text = tsim_heap_grow(sink->text, &sink->capacity, sink->size + n + 1, 1);
    memcpy(sink->text + sink->size, bytes, n);
    sink->size += n;
    return (ssize_t)n;
}

void tsim_text_sink_open(struct tsim_text_sink *sink, size_t most_bytes) {
    *sink = (struct tsim_text_sink){.most_bytes = most_bytes};
    sink->text = tsim_heap_grow(NULL, &sink->capacity, 1, 1);
    sink->stream = fopencookie(sink, "w", (cookie_io_functions_t){.write = take});
    if (!sink->stream)
        tsim_out_of_memory();
}

const char *tsim_text_sink_text(struct tsim_text_sink *sink) {
    if (fflush(sink->stream) != 0 || ferror(sink->stream)) /* for want of memory, as nothing else can fail */
        tsim_out_of_memory();
    sink->text[sink->size] = '\0';
    return sink->text;
}

void tsim_text_sink_clear(struct tsim_text_sink *sink) {
    fflush(sink->stream);
    sink->size = 0;
}

void tsim_text_sink_release(struct tsim_text_sink *sink) {
    fclose(sink->stream);
    tsim_heap_free(sink->text);
}
