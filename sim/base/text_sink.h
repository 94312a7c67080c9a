/* text_sink.h - a stream whose output becomes a text in memory. The text counts towards the process's limit of memory
 * (arena.h), and may have a limit of its own. */
#pragma once

#include <stdio.h>

struct tsim_text_sink {
    FILE *stream;
    char *text; /* what has been flushed */
    size_t size, capacity;
    size_t most_bytes; /* a longer text ends the program as memory that runs out does */
};

/* Opens a sink, which must stay at its address until it is released. */
void tsim_text_sink_open(struct tsim_text_sink *sink, size_t most_bytes);

/* Returns the text so far, with a NUL behind it. The next write may move it. */
const char *tsim_text_sink_text(struct tsim_text_sink *sink);

/* Forgets what has been written. */
void tsim_text_sink_clear(struct tsim_text_sink *sink);

void tsim_text_sink_release(struct tsim_text_sink *sink);
