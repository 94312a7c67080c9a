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
    if (current && current->messages)
        return current->messages;
    fflush(stdout); /* both may go to one file: a message then follows earlier results */
    return stderr;
}

static struct tsim_lent *find(struct tsim_caller *caller, const char *name) {
    for (size_t i = 0; i < caller->n_lent; i++)
        if (strcmp(caller->lent[i].name, name) == 0)
            return &caller->lent[i];
    return NULL;
}

bool tsim_caller_lend(struct tsim_caller *caller, const char *name, const char *text, size_t size) {
    struct tsim_lent *lent = find(caller, name);
    if (!lent && caller->n_lent == TSIM_MOST_LENT)
        return false;
    if (!lent)
        lent = &caller->lent[caller->n_lent++];
    *lent = (struct tsim_lent){name, text, size};
    return true;
}

const struct tsim_lent *tsim_caller_lent(const char *name) {
    return current ? find(current, name) : NULL;
}
