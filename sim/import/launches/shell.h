/* shell.h - what a launch script would run, as far as that can be told without running it.
 *
 * It reads words with quotes, comments, here-documents (as scripts if a shell or sbatch is given them, or if they begin
 * as a script does; as values if read or $(cat) is), the text of bash -c with its arguments and of eval, files that
 * `source` names, assignments of text and arrays (= and +=), export, set --, shift, printf -v, $NAME, ${NAME},
 * ${NAME[@]}, ${NAME:-word}, ${NAME:=word}, ${NAME:+word} and the like, $1 and "$@", $((arithmetic)), $(echo ...),
 * $(printf ...), $(expr ...), if and case whose conditions compare texts and numbers, tests before && and ||, and the
 * #SBATCH lines of Slurm.
 *
 * Nothing is executed: other $(commands) are empty text, and so is what neither the script nor the caller sets. Loops
 * over words and numbers go round as often as they would, up to a limit, but their commands count as they are the first
 * time. Tests of files count as not true. Every character of a word knows where in the file it was written, through all
 * expansions. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>

struct tsim_shell_word {
    const char *text;
    const uint32_t *at; /* offset in the script of each character; NULL: it came from outside */
    uint32_t start;     /* offset at which the word was written */
};

struct tsim_shell_command {
    const struct tsim_shell_word *words;
    size_t n_words;
};

/* A variable that is empty, and the text from which its value would have come: "$2", "$NODES", "$(hostname)". */
struct tsim_shell_lost {
    const char *name, *from;
};

/* A variable and its first word, "" if it is empty, as the commands [from, to) find it; before a command, NAME=VALUE is
 * for that command alone. */
struct tsim_shell_value {
    const char *name;
    struct tsim_shell_word word;
    const char *lost; /* what would have set it, if it is empty; NULL: nothing */
    size_t from, to;
};

/* A file that the script writes. */
struct tsim_shell_file {
    const char *name, *text;
};

/* The caller's part, which the script does not contain: its arguments, its environment and the files beside
 * it. */
struct tsim_shell_outside {
    const char *const *arguments; /* $1, $2, ... */
    size_t n_arguments;
    const char *const *environment; /* NAME=VALUE */
    size_t n_environment;
    /* Returns the text of a file beside the script, which must stay valid; NULL if there is none. The function may be
     * NULL. */
    const char *(*read_beside)(void *context, struct tsim_arena *arena, const char *path, size_t *size);
    void *context;
};

struct tsim_shell_script {
    const struct tsim_shell_command *commands; /* simple commands in their order; all #SBATCH lines are one */
    size_t n_commands;
    const struct tsim_shell_word *assigned; /* all words that were assigned to variables, in their order */
    size_t n_assigned;
    const char *undecided; /* NULL, or the condition that was taken as not true */
    const char *unread;    /* NULL, or the file that `source` names and that is not beside the script */
    const struct tsim_shell_lost *lost;
    size_t n_lost;
    const struct tsim_shell_value *values; /* that were assigned, in their order */
    size_t n_values;
    const struct tsim_shell_file *files; /* that it writes by here-documents */
    size_t n_files;
};

/* Returns what a command finds in its environment: the value that was assigned last; NULL: there is none. */
const struct tsim_shell_value *tsim_shell_value_of(const struct tsim_shell_script *script, const char *name,
                                                   size_t command);

/* Reads a script. `text` must stay valid; `outside` may be NULL. Returns TSIM_ERR_SYNTAX (a quote or a list that does
 * not end) or TSIM_ERR_LIMIT (more than 4 M characters after expansion), at *offset, with what is wrong in *message. */
enum tsim_status tsim_shell_read(struct tsim_arena *arena, const char *text, size_t size,
                                 const struct tsim_shell_outside *outside, struct tsim_shell_script *script,
                                 size_t *offset, const char **message);
