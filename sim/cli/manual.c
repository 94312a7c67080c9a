#include "cli/manual.h"

#include "base/version.h"

#include <string.h>

/* roff takes a line that begins with '.' or an apostrophe as a request, '\' as an escape and '-' as a hyphen. */
static void put_roff_part(const char *text, const char *end, FILE *out) {
    bool is_line_start = true;
    for (const char *at = text; at < end; at++) {
        if (is_line_start && (*at == '.' || *at == '\''))
            fputs("\\&", out);
        if (*at == '\\')
            fputs("\\e", out);
        else if (*at == '-')
            fputs("\\-", out);
        else
            fputc(*at, out);
        is_line_start = *at == '\n';
    }
}

static void put_roff(const char *text, FILE *out) {
    put_roff_part(text, text + strlen(text), out);
}

static void put_tagged(const char *tag, const char *text, FILE *out) {
    fputs(".TP\n.B ", out);
    put_roff(tag, out);
    fputc('\n', out);
    put_roff(text, out);
    fputc('\n', out);
}

static void put_head(const char *page, const char *summary, FILE *out) {
    fprintf(out, ".TH %s 1 \"\" \"tsim %s\" \"tsim\"\n.SH NAME\n", page, TSIM_VERSION);
    put_roff(page, out);
    fputs(" \\- ", out);
    put_roff(summary, out);
    fputs("\n.SH SYNOPSIS\n.B ", out);
}

static void put_tail(FILE *out) {
    static const struct {
        const char *tag, *text;
    } VARIABLES[] = {{"TSIM_DATA", "the folder that holds the catalogue (models/, hardware/, scenarios/)"},
                     {"NO_COLOR", "when set, no colours"},
                     {"COLUMNS", "how wide tables may be"}};
    char status[16];
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < TSIM_N_EXITS; i++) {
        snprintf(status, sizeof status, "%d", (int)TSIM_EXITS[i].status);
        put_tagged(status, TSIM_EXITS[i].text, out);
    }
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++)
        put_tagged(VARIABLES[i].tag, VARIABLES[i].text, out);
}

/* Writes the text of a command's help. There a line "  WORDS  MEANING" begins an item of a list, a line with a deeper
 * indent continues its meaning, and any other line after the list, or an empty one, begins a paragraph. */
static void put_description(const char *text, FILE *out) {
    enum { ITEM_INDENT = 2 };
    bool is_list = false;
    for (const char *line = text, *end; line; line = *end ? end + 1 : NULL) {
        end = line + strcspn(line, "\n");
        const char *words = line + strspn(line, " ");
        if (words - line == ITEM_INDENT) {
            const char *gap = strstr(words, "  "), *tag_end = gap && gap < end ? gap : end;
            fputs(".TP\n.B ", out);
            put_roff_part(words, tag_end, out);
            fputc('\n', out);
            words = tag_end + strspn(tag_end, " ");
            is_list = true;
        } else if (words == end || (words == line && is_list)) {
            fputs(".PP\n", out);
            is_list = false;
        }
        if (words < end) {
            put_roff_part(words, end, out);
            fputc('\n', out);
        }
    }
}

static void put_command_page(const struct tsim_command *command, FILE *out) {
    char text[80];
    snprintf(text, sizeof text, "tsim-%s", command->name);
    put_head(text, command->summary, out);
    fprintf(out, "tsim %s\n[OPTION]... ", command->name);
    put_roff(command->operands, out);
    fputs("\n.SH DESCRIPTION\n", out);
    put_description(command->text ? command->text : command->summary, out);
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if (tsim_command_takes(command, (enum tsim_option)i))
            put_tagged(tsim_option_usage((enum tsim_option)i, text, sizeof text),
                       tsim_option_help(command, (enum tsim_option)i), out);
    fputs(".SH EXAMPLES\n.nf\n", out);
    put_roff(command->examples, out);
    fputs("\n.fi\n", out);
    put_tail(out);
    fputs(".SH SEE ALSO\n.BR tsim (1)\n", out);
}

static void put_main_page(const struct tsim_commands *commands, FILE *out) {
    char tag[80];
    put_head("tsim", "predicts how a neural network trains on a cluster of accelerators", out);
    fputs("tsim\nCOMMAND [OPTION]... [OPERAND]...\n.SH DESCRIPTION\n"
          "tsim is a discrete\\-event simulator. It reads a scenario in YAML, one training job on one cluster, and "
          "predicts its\n"
          "step time, throughput, pipeline bubbles, exposed communication, memory, power, energy, days and cost. "
          "Results are\n"
          "written to standard output, everything else to standard error.\n.SH COMMANDS\n",
          out);
    for (size_t i = 0; i < commands->n_items; i++) {
        snprintf(tag, sizeof tag, commands->items[i].operands[0] ? "%s %s" : "%s", commands->items[i].name,
                 commands->items[i].operands);
        put_tagged(tag, commands->items[i].summary, out);
    }
    put_tail(out);
    fputs(".SH FILES\n", out);
    put_tagged("tsim.db", "the database of runs, in the current folder unless --db names another", out);
    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; i < commands->n_items; i++)
        fprintf(out, ".BR tsim\\-%s (1)%s\n", commands->items[i].name, i + 1 < commands->n_items ? "," : "");
}

void tsim_manual_page(const struct tsim_commands *commands, const struct tsim_command *command, FILE *out) {
    if (command)
        put_command_page(command, out);
    else
        put_main_page(commands, out);
}
