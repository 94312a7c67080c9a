/* shell.h - what a launch script would run, as far as that can be told without running it.
 *
 * Read are words with quotes, comments, here-documents (as scripts where a shell or sbatch is given them, or where they
 * begin as a script does; as values where read or $(cat) is), the text of bash -c and of eval, assignments of text and arrays (= and +=), export, $NAME,
 * ${NAME}, ${NAME[@]}, ${NAME:-word}, ${NAME:+word} and the like, $((arithmetic)), if and case whose conditions compare
 * texts and numbers, and the #SBATCH lines of Slurm. Nothing is executed: $(commands) are empty text, positional
 * parameters and what the script does not set are empty, the body of a loop is read once, tests of files count as not
 * true. Every character of a word knows where in the file it was written, through all expansions. */
#ifndef TSIM_IMPORT_SHELL_H
#define TSIM_IMPORT_SHELL_H

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>

struct tsim_shell_word {
    const char *text;
    const uint32_t *at; /* of each character, its offset in the script */
    uint32_t start;     /* offset of the word where it was written */
};

struct tsim_shell_command {
    const struct tsim_shell_word *words;
    size_t n_words;
};

struct tsim_shell_script {
    const struct tsim_shell_command *commands; /* simple commands in their order; #SBATCH lines together as one */
    size_t n_commands;
    const struct tsim_shell_word *assigned; /* all words that were assigned to variables, in their order */
    size_t n_assigned;
    const char *undecided; /* NULL, or the condition that was taken as not true */
};

/* `text` must stay. TSIM_ERR_SYNTAX (a quote or a list that does not end), TSIM_ERR_LIMIT (more than 4 M characters
 * after expansion), at *offset, with what is wrong in *message. */
enum tsim_status tsim_shell_read(struct tsim_arena *arena, const char *text, size_t size,
                                 struct tsim_shell_script *script, size_t *offset, const char **message);

#endif
