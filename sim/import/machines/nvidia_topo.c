#include "import/machines/machine.h"

#include "base/among.h"
#include "config/recognize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* GPU0  GPU1 ... NIC0 ... CPU Affinity  NUMA Affinity
 * GPU0   X   NV18 ...  PXB ...  0-51  0
 * Between two devices: NV# (so many NVLinks), PIX (one PCIe switch), PXB (several), PHB (a host bridge), NODE (bridges
 * of one socket), SYS (between sockets). */

enum { MOST = TSIM_MACHINE_MOST_DEVICES, LINE_BYTES = 8192 };

struct matrix {
    const char *cells[MOST][MOST]; /* GPU x GPU */
    int n, n_rows;
    int n_nics;
    bool is_near[MOST]; /* a NIC that has an accelerator below the same PCIe bridges */
};

struct reading {
    struct tsim_arena *arena;
    const struct tsim_import_input *input;
    struct tsim_diags *diags;
    struct matrix *m;
    int line;
};

static enum tsim_status fail(const struct reading *g, int line, int column, const char *message) {
    struct tsim_place place = {tsim_arena_strdup(g->arena, g->input->file), line, column};
    tsim_diag_hint(tsim_diags_error(g->diags, TSIM_ERR_SYNTAX, place, "", "%s", message),
                   "the output of nvidia-smi topo -m, from its first line on");
    return TSIM_ERR_SYNTAX;
}

/* Turns the underlining of the head (ESC [ 4 m) into blanks. */
static void strip_escapes(char *line) {
    for (char *c = line; *c; c++)
        if (*c == '\x1B')
            for (; *c; c++) {
                char kind = *c;
                *c = ' ';
                if (isalpha((unsigned char)kind))
                    break;
            }
}

static bool is_device(const char *token, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(token, kind, length) == 0 && isdigit((unsigned char)token[length]);
}

static bool is_nic(const char *token) {
    return is_device(token, "NIC") || strncmp(token, "mlx", 3) == 0 || strncmp(token, "rdmap", 5) == 0 ||
           is_device(token, "ib") || strncmp(token, "bnxt", 4) == 0;
}

static void read_head(struct reading *g, char *line) {
    char *rest = line;
    for (char *token = strtok_r(line, " \t\r", &rest); token; token = strtok_r(NULL, " \t\r", &rest)) {
        g->m->n += is_device(token, "GPU") && g->m->n < MOST;
        g->m->n_nics += is_nic(token) && g->m->n_nics < MOST;
    }
}

static bool is_connection(const char *token) {
    return TSIM_IS_ONE_OF(token, "X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "PSB") || is_device(token, "NV");
}

static enum tsim_status read_row(struct reading *g, char *line) {
    char *rest = line, *start = line;
    int row = g->m->n_rows, column = 0;
    strtok_r(line, " \t\r", &rest); /* its name */
    for (char *token; column < g->m->n && (token = strtok_r(NULL, " \t\r", &rest)) != NULL; column++) {
        if (!is_connection(token))
            return fail(
                g, g->line, (int)(token - start) + 1,
                tsim_arena_printf(g->arena, "'%.20s' is no connection: X, NV#, PIX, PXB, PHB, NODE, SYS", token));
        g->m->cells[row][column] = tsim_arena_strdup(g->arena, token);
    }
    if (column < g->m->n)
        return fail(g, g->line, 1, tsim_arena_printf(g->arena, "%d connections for %d GPUs", column, g->m->n));
    for (int nic = 0; nic < g->m->n_nics; nic++) {
        const char *token = strtok_r(NULL, " \t\r", &rest);
        g->m->is_near[nic] |= token && (strcmp(token, "PIX") == 0 || strcmp(token, "PXB") == 0);
    }
    g->m->n_rows++;
    return TSIM_OK;
}

static enum tsim_status read_lines(struct reading *g) {
    const char *c = g->input->text, *end = c + g->input->size;
    for (g->line = 1; c < end; g->line++) {
        char line[LINE_BYTES];
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        size_t length = (size_t)((stop ? stop : end) - c), kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, c, kept);
        line[kept] = '\0';
        strip_escapes(line);
        char *start = line + strspn(line, " \t");
        c = stop ? stop + 1 : end;
        if (!is_device(start, "GPU"))
            continue;
        if (g->m->n == 0)
            read_head(g, start);
        else if (g->m->n_rows < g->m->n)
            TSIM_TRY(read_row(g, line));
    }
    if (g->m->n == 0)
        return fail(g, 0, 0, "no line of GPUs in it");
    if (g->m->n_rows < g->m->n)
        return fail(g, 0, 0, tsim_arena_printf(g->arena, "%d rows for %d GPUs", g->m->n_rows, g->m->n));
    return TSIM_OK;
}

/* ---- what it is ---- */

/* NICs below the bridges of an accelerator belong to the job. If there are such NICs, the others (a DGX H100 has two of
 * ten) lead to storage. */
static int count_nics(const struct matrix *m) {
    int n_near = 0;
    for (int i = 0; i < m->n_nics; i++)
        n_near += m->is_near[i];
    return n_near > 0 ? n_near : m->n_nics;
}

/* Reads the name that nvidia-smi prints in the same file, above the matrix: "NVIDIA H100 80GB HBM3". */
static enum tsim_status read_name(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_imported_machine *machine, struct tsim_diags *diags) {
    static const char MAKER[] = "NVIDIA ";
    const struct tsim_accelerator *part = NULL;
    for (const char *c = input->text, *end = c + input->size; c && c < end && !part;) {
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        size_t length = (size_t)((stop ? stop : end) - c);
        char *line = tsim_arena_strndup(arena, c, length < LINE_BYTES ? length : LINE_BYTES), *at = strstr(line, MAKER);
        if (at)
            TSIM_TRY(tsim_accelerator_named(arena, at + strlen(MAKER), &part, diags));
        c = stop ? stop + 1 : end;
    }
    machine->accelerator = part ? part->name : NULL;
    return TSIM_OK;
}

static int nvlinks_of(const char *cell) {
    return is_device(cell, "NV") ? atoi(cell + 2) : 0;
}

/* Returns the number of accelerators that reach the first one in one of these ways, itself included. */
static int group_size(const struct matrix *m, const char *const *ways) {
    int n = 1;
    for (int i = 1; i < m->n; i++)
        for (const char *const *way = ways; *way; way++)
            n += strcmp(m->cells[0][i], *way) == 0;
    return n;
}

static void classify(const struct matrix *m, struct tsim_imported_machine *machine) {
    static const char *const SWITCH[] = {"PIX", "PXB", NULL}, *const SOCKET[] = {"PIX", "PXB", "PHB", "NODE", NULL};
    int least = 1000, sum = 0, n_linked = 0;
    for (int i = 1; i < m->n; i++) {
        int links = nvlinks_of(m->cells[0][i]);
        least = links < least ? links : least;
        sum += links;
        n_linked += links > 0;
    }
    machine->n_accelerators = m->n;
    machine->n_nics = count_nics(m);
    machine->has_switch = m->n > 1 && n_linked == m->n - 1;
    machine->nvlinks = machine->has_switch ? least : sum;
    machine->is_cube = m->n == 8 && n_linked == 4 && sum == 6;
    if (!machine->has_switch) {
        int per_switch = group_size(m, SWITCH), per_socket = group_size(m, SOCKET);
        machine->per_switch = per_switch > 1 && m->n % per_switch == 0 ? per_switch : 0;
        machine->per_socket = per_socket < m->n && m->n % per_socket == 0 ? per_socket : 0;
    }
}

enum tsim_status tsim_import_nvidia_topo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                         struct tsim_import_result *result, struct tsim_diags *diags) {
    struct reading g = {.arena = arena, .input = input, .diags = diags, .m = TSIM_NEW(arena, struct matrix)};
    struct tsim_imported_machine machine = {.program = "nvidia-smi topo -m", .file = input->file};
    TSIM_TRY(read_lines(&g));
    classify(g.m, &machine);
    TSIM_TRY(read_name(arena, input, &machine, diags));
    return tsim_machine_write(arena, &machine, input, result, diags);
}
