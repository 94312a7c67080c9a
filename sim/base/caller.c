#include "base/caller.h"

#include <string.h>

static _Thread_local struct tsim_caller *current;

struct tsim_caller *tsim_caller_of_thread(void) {
    return current;
}

void tsim_caller_set(struct tsim_caller *caller) {
    current = caller;
}

FILE *tsim_results(void) {
    return current && current->results ? current->results : stdout;
}

FILE *tsim_messages(void) {
    return current && current->messages ? current->messages : stderr;
}

const char *tsim_caller_text(const char *name) {
    for (size_t i = 0; current && i < current->n_lent; i++)
        if (strcmp(current->lent[i].name, name) == 0)
            return current->lent[i].text;
    return NULL;
}
