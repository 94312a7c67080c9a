#include "cli/completion.h"

#include "config/catalogue_load.h"
#include "config/reference.h"

#include <string.h>

/* ---- what an operand can be ---- */

enum operand { OPERAND_FILE, OPERAND_COMMAND, OPERAND_KIND, OPERAND_ID, OPERAND_NONE };

static enum operand operand_of(const struct tsim_command *command) {
    static const struct {
        const char *text;
        enum operand operand;
    } OPERANDS[] = {
        {"", OPERAND_NONE}, {"[COMMAND]", OPERAND_COMMAND}, {"[KIND]", OPERAND_KIND}, {"KIND/ID|FILE", OPERAND_ID}};
    for (size_t i = 0; i < sizeof OPERANDS / sizeof OPERANDS[0]; i++)
        if (strcmp(command->operands, OPERANDS[i].text) == 0)
            return OPERANDS[i].operand;
    return OPERAND_FILE;
}

#define LIST_OF_IDS "tsim list --csv 2>/dev/null | sed '1d; s/,/\\//'"

static bool is_file(const struct tsim_option_spec *spec) {
    return spec->value && strcmp(spec->value, "FILE") == 0;
}

static void put_commands(const struct tsim_commands *commands, FILE *out) {
    for (size_t i = 0; i < commands->n_items; i++)
        fprintf(out, "%s%s", i ? " " : "", commands->items[i].name);
}

static void put_kinds(FILE *out) {
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++)
        fprintf(out, "%s%s", i ? " " : "", tsim_catalogue_plural((enum tsim_catalogue_kind)i));
}

/* ---- bash ---- */

/* Keys of a scenario, after --set and --vary: the value is typed after '='. */
static void put_bash_paths(FILE *out) {
    fputs("  case $before in\n  --set | --vary)\n    _tsim_words '", out);
    tsim_reference_paths(out);
    fputs("'\n    compopt -o nospace 2>/dev/null\n    [[ ${#COMPREPLY[@]} -eq 1 ]] && COMPREPLY[0]+==\n    return ;;\n "
          " esac\n",
          out);
}

static void put_bash_values(FILE *out) {
    put_bash_paths(out);
    fputs("  case $before in\n", out);
    for (int i = 0; i < TSIM_N_OPTIONS; i++) {
        const struct tsim_option_spec *spec = tsim_option_spec((enum tsim_option)i);
        if (spec->words)
            fprintf(out, "  --%s) _tsim_words '%s'; return ;;\n", spec->name, spec->words);
        else if (is_file(spec))
            fprintf(out, "  --%s) return ;;\n", spec->name);
        else if (spec->kind == TSIM_OPTION_NEEDS_VALUE)
            fprintf(out, "  --%s) compopt +o default; return ;;\n", spec->name);
    }
    fputs("  esac\n", out);
}

static void put_bash_options(const struct tsim_commands *commands, FILE *out) {
    fputs("  if [[ $word == -* ]]; then\n    case ${COMP_WORDS[1]} in\n", out);
    for (size_t c = 0; c < commands->n_items; c++) {
        fprintf(out, "    %s) _tsim_words '", commands->items[c].name);
        for (int i = 0; i < TSIM_N_OPTIONS; i++)
            if (tsim_command_takes(&commands->items[c], (enum tsim_option)i))
                fprintf(out, " --%s", tsim_option_spec((enum tsim_option)i)->name);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n    return\n  fi\n", out);
}

static void put_bash_operands(const struct tsim_commands *commands, FILE *out) {
    fputs("  case ${COMP_WORDS[1]} in\n", out);
    for (size_t c = 0; c < commands->n_items; c++) {
        enum operand operand = operand_of(&commands->items[c]);
        if (operand == OPERAND_FILE)
            continue;
        fprintf(out, "  %s) _tsim_words \"", commands->items[c].name);
        if (operand == OPERAND_COMMAND)
            put_commands(commands, out);
        else if (operand == OPERAND_KIND)
            put_kinds(out);
        else if (operand == OPERAND_ID)
            fputs("$(" LIST_OF_IDS ")", out);
        fputs("\" ;;\n", out);
    }
    fputs("  esac\n", out);
}

void tsim_completion_bash(const struct tsim_commands *commands, FILE *out) {
    fputs("# bash completion of tsim; written by: tsim help --format bash\n"
          "_tsim_words() { # the words that go on from what was typed, and no files\n"
          "  compopt +o default 2>/dev/null\n"
          "  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\")\n"
          "}\n"
          "_tsim() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "  COMPREPLY=()\n"
          "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
          "  if ((COMP_CWORD == 1)); then\n    _tsim_words '",
          out);
    put_commands(commands, out);
    fputs(" --help --version'\n    return\n  fi\n", out);
    put_bash_values(out);
    put_bash_options(commands, out);
    put_bash_operands(commands, out);
    fputs("}\ncomplete -o default -F _tsim tsim\n", out);
}

/* ---- zsh ---- */

/* Prints a text within a quoted argument of _arguments, whose parts brackets and colons end. */
static void put_zsh(const char *text, FILE *out) {
    for (const char *at = text; *at; at++)
        if (*at == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, strchr("[]:\\", *at) ? "\\%c" : "%c", *at);
}

static void put_zsh_option(const struct tsim_command *command, enum tsim_option option, FILE *out) {
    const struct tsim_option_spec *spec = tsim_option_spec(option);
    fprintf(out, " \\\n      '*--%s%s[", spec->name,
            spec->kind == TSIM_OPTION_BARE          ? ""
            : spec->kind == TSIM_OPTION_NEEDS_VALUE ? "="
                                                    : "=-");
    put_zsh(tsim_option_help(command, option), out);
    fputc(']', out);
    if (spec->kind != TSIM_OPTION_BARE) {
        fputs(spec->kind == TSIM_OPTION_NEEDS_VALUE ? ":" : "::", out);
        put_zsh(spec->value, out);
        if (spec->words)
            fprintf(out, ":(%s)", spec->words);
        else
            fputs(is_file(spec) ? ":_files" : ":", out);
    }
    fputc('\'', out);
}

static void put_zsh_command(const struct tsim_commands *commands, const struct tsim_command *command, FILE *out) {
    enum operand operand = operand_of(command);
    fprintf(out, "  %s)\n    _arguments", command->name);
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if (tsim_command_takes(command, (enum tsim_option)i))
            put_zsh_option(command, (enum tsim_option)i, out);
    if (operand != OPERAND_NONE) {
        fputs(" \\\n      '*:", out);
        put_zsh(command->operands, out);
        fputs(operand == OPERAND_FILE ? ":_files" : operand == OPERAND_ID ? ":_tsim_ids" : ":(", out);
        if (operand == OPERAND_COMMAND)
            put_commands(commands, out);
        else if (operand == OPERAND_KIND)
            put_kinds(out);
        fputs(operand == OPERAND_COMMAND || operand == OPERAND_KIND ? ")'" : "'", out);
    }
    fputs("\n    ;;\n", out);
}

void tsim_completion_zsh(const struct tsim_commands *commands, FILE *out) {
    fputs("#compdef tsim\n# zsh completion of tsim; written by: tsim help --format zsh\n"
          "_tsim_ids() {\n  local -a ids\n  ids=(${(f)\"$(" LIST_OF_IDS ")\"})\n  _values id $ids\n}\n"
          "_tsim() {\n  local -a commands\n  commands=(\n",
          out);
    for (size_t i = 0; i < commands->n_items; i++) {
        fprintf(out, "    '%s:", commands->items[i].name);
        put_zsh(commands->items[i].summary, out);
        fputs("'\n", out);
    }
    fputs("  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
          "  shift words\n  ((CURRENT--))\n  case $words[1] in\n",
          out);
    for (size_t i = 0; i < commands->n_items; i++)
        put_zsh_command(commands, &commands->items[i], out);
    fputs("  esac\n}\nif [ \"$funcstack[1]\" = _tsim ]; then\n  _tsim \"$@\"\nelse\n  compdef _tsim tsim\nfi\n", out);
}
