#include "cli/command.h"

#include "base/among.h"
#include "config/recognize.h"
#include "report/text_file.h"
#include "study/search/starter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct init {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    bool asks; /* standard input is a terminal */
    struct tsim_starter starter;
};

/* ---- one question ---- */

/* False, after a message, for an answer that will not do. */
typedef bool (*check_fn)(struct init *init, const char *answer);

struct question {
    enum tsim_option option;
    const char *text, *usual;
    const char *more; /* how to see what there is */
    check_fn check;
};

/* Returns the line, without blanks around it; NULL at the end of input. */
static const char *read_line(struct init *init) {
    char line[512];
    if (!fgets(line, sizeof line, stdin))
        return NULL;
    char *text = line + strspn(line, " \t");
    size_t length = strcspn(text, "\r\n");
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return tsim_arena_strndup(init->arena, text, length);
}

/* Returns the answer of the command line, of the terminal, or the usual one; NULL: a wrong one was given. */
static const char *ask(struct init *init, const struct question *question) {
    const char *given = init->arguments->value[question->option];
    if (given)
        return question->check(init, given) ? given : NULL;
    while (init->asks) {
        fprintf(stderr, "%s [%s] (%s): ", question->text, question->usual, question->more);
        fflush(stderr);
        const char *line = read_line(init);
        if (!line) {
            fputc('\n', stderr);
            init->asks = false;
        } else if (!line[0]) {
            return question->usual;
        } else if (question->check(init, line)) {
            return line;
        }
    }
    return question->usual;
}

/* ---- what answers may be ---- */

/* Checks that it is an id of the catalogue, or a file. */
static bool check_id(struct init *init, enum tsim_catalogue_kind kind, const char *id) {
    const char *const *ids;
    size_t n_ids;
    if (strchr(id, '/') || tsim_is_yaml_name(id) || tsim_catalogue_file(init->arena, kind, id))
        return true;
    if (tsim_catalogue_list(init->arena, kind, &ids, &n_ids, init->diags) != TSIM_OK)
        return false;
    if (tsim_is_among(id, ids, n_ids))
        return true; /* a node that no file has: single-ACCELERATOR */
    const char *near = tsim_catalogue_nearest(init->arena, kind, id);
    fprintf(stderr, "tsim init: there is no %s '%s'", tsim_catalogue_word(kind), id);
    fprintf(stderr, near ? "; did you mean '%s'?\n" : "\n", near);
    if (!near)
        fprintf(stderr, "Try 'tsim list %s'.\n", tsim_catalogue_plural(kind));
    return false;
}

static bool check_model(struct init *init, const char *answer) {
    return check_id(init, TSIM_CATALOGUE_MODELS, answer);
}

static bool check_node(struct init *init, const char *answer) {
    return check_id(init, TSIM_CATALOGUE_NODES, answer);
}

static bool check_fabric(struct init *init, const char *answer) {
    return check_id(init, TSIM_CATALOGUE_FABRICS, answer);
}

static bool check_nodes(struct init *init, const char *answer) {
    char *end;
    errno = 0;
    long long n = strtoll(answer, &end, 10);
    init->starter.nodes = n;
    if (errno == 0 && *answer && *end == '\0' && n >= 1 && n <= 100000)
        return true;
    fprintf(stderr, "tsim init: how many nodes is a whole number from 1 to 100000, not '%s'\n", answer);
    return false;
}

static bool check_goal(struct init *init, const char *answer) {
    for (int i = 0; i < TSIM_N_STARTER_GOALS; i++)
        if (strcmp(answer, TSIM_STARTER_GOALS[i]) == 0) {
            init->starter.goal = (enum tsim_goal_word)i;
            return true;
        }
    fprintf(stderr, "tsim init: the goal is time, cost or energy, not '%s'\n", answer);
    return false;
}

/* ---- the five questions ---- */

static bool ask_machine(struct init *init) {
    struct tsim_starter *starter = &init->starter;
    const struct tsim_node *node;
    starter->node =
        ask(init, &(struct question){TSIM_OPTION_NODE, "node", TSIM_DEFAULT_NODE, "tsim list nodes", check_node});
    if (!starter->node || tsim_catalogue_load_node(init->arena, starter->node, &node, init->diags) != TSIM_OK)
        return false;
    const char *fabric;
    if (tsim_usual_fabric(init->arena, node, &fabric, init->diags) != TSIM_OK)
        return false;
    const char *nodes =
        ask(init, &(struct question){TSIM_OPTION_NODES, "how many nodes", fabric ? "8" : "1", "a number", check_nodes});
    if (!nodes || !check_nodes(init, nodes))
        return false;
    if (starter->nodes == 1 && !init->arguments->has[TSIM_OPTION_FABRIC])
        return true; /* no network between nodes */
    starter->fabric =
        ask(init, &(struct question){TSIM_OPTION_FABRIC, "fabric between them", fabric ? fabric : TSIM_DEFAULT_FABRIC,
                                     "tsim list fabrics", check_fabric});
    return starter->fabric != NULL;
}

static bool ask_all(struct init *init) {
    init->starter.model =
        ask(init, &(struct question){TSIM_OPTION_MODEL, "model", TSIM_DEFAULT_MODEL, "tsim list models", check_model});
    if (!init->starter.model || !ask_machine(init))
        return false;
    const char *goal =
        ask(init, &(struct question){TSIM_OPTION_GOAL, "goal", "time", "time, cost or energy", check_goal});
    return goal && check_goal(init, goal);
}

/* ---- the file ---- */

static enum tsim_status write_file(struct init *init, const char *file, const char *yaml) {
    struct tsim_text_file *out;
    if (strcmp(file, "-") == 0) {
        fputs(yaml, stdout);
        return TSIM_OK;
    }
    if (access(file, F_OK) == 0) {
        tsim_diag_hint(tsim_diags_error(init->diags, TSIM_ERR_IO, (struct tsim_place){.file = file}, "",
                                        "this file exists already"),
                       "name another file, as in: tsim init mine.yaml");
        return TSIM_ERR_IO;
    }
    TSIM_TRY(tsim_text_file_open(init->arena, file, &out, init->diags));
    tsim_text_file_put(out, yaml, strlen(yaml));
    TSIM_TRY(tsim_text_file_close(out, init->diags));
    if (!init->arguments->has[TSIM_OPTION_QUIET])
        printf("%s is written; next:\n  tsim run %s\n  tsim explain %s\n  tsim plan %s\n", file, file, file, file);
    return TSIM_OK;
}

static enum tsim_exit answer(struct init *init) {
    const struct tsim_arguments *arguments = init->arguments;
    const char *yaml, *file = arguments->n_operands > 0 ? arguments->operands[0] : "scenario.yaml";
    if (!ask_all(init)) /* a wrong answer, or a file that cannot be read */
        return init->diags->n_errors > 0 ? tsim_exit_of(tsim_diags_status(init->diags, 0)) : TSIM_EXIT_INVALID;
    enum tsim_status status =
        tsim_starter_write(init->arena, &init->starter, tsim_n_jobs(arguments), &yaml, init->diags);
    if (status == TSIM_OK && !yaml)
        return TSIM_EXIT_DOES_NOT_FIT;
    if (status == TSIM_OK)
        status = write_file(init, file, yaml);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_cmd_init(const struct tsim_arguments *arguments) {
    struct init init = {
        .arguments = arguments, .arena = arguments->arena, .diags = arguments->diags, .asks = isatty(STDIN_FILENO)};
    enum tsim_exit code = answer(&init);
    tsim_report_diags(arguments, init.diags);
    return code;
}
