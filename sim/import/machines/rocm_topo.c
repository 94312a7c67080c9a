#include "import/machines/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* =============== Link Type between two GPUs ===============
 *        GPU0         GPU1
 * GPU0   0            XGMI
 * GPU1   XGMI         0
 * GPU[0]    : (Topology) Numa Node: 0
 * and, with --showproductname:
 * GPU[0]    : Card Model:   0x74a1        (or Card Series, Card SKU, Device ID)
 * GPU[0]    : GFX Version:  gfx942
 * The matrices of weights and hops follow from the links' kinds, XGMI and PCIE, and are not read. */

enum { MOST = TSIM_MACHINE_MOST_DEVICES, LINE_BYTES = 8192 };

struct reading {
    struct tsim_arena *arena;
    const struct tsim_import_input *input;
    struct tsim_diags *diags;
    int line;
    bool is_of_links; /* the matrix at which it stands */
    int n, n_rows, n_targets;
    int numa[MOST];
    unsigned device;
    const char *gcn;
};

static enum tsim_status fail(const struct reading *g, int line, int column, const char *message) {
    struct tsim_place place = {tsim_arena_strdup(g->arena, g->input->file), line, column};
    tsim_diag_hint(tsim_diags_error(g->diags, TSIM_ERR_SYNTAX, place, "", "%s", message),
                   "the output of rocm-smi --showtopo, whole");
    return TSIM_ERR_SYNTAX;
}

static bool is_gpu(const char *token) {
    return strncmp(token, "GPU", 3) == 0 && isdigit((unsigned char)token[3]);
}

static void read_head(struct reading *g, char *line) {
    char *rest = line;
    for (char *token = strtok_r(line, " \t\r", &rest); token; token = strtok_r(NULL, " \t\r", &rest))
        g->n += is_gpu(token) && g->n < MOST;
}

/* Reads how many of the others the first accelerator has a link to. */
static enum tsim_status read_row(struct reading *g, char *line) {
    char *rest = line, *start = line;
    int column = 0;
    strtok_r(line, " \t\r", &rest); /* its name */
    for (char *token; column < g->n && (token = strtok_r(NULL, " \t\r", &rest)) != NULL; column++) {
        bool is_xgmi = strcmp(token, "XGMI") == 0;
        if (!is_xgmi && strcmp(token, "PCIE") != 0 && strcmp(token, "0") != 0)
            return fail(g, g->line, (int)(token - start) + 1,
                        tsim_arena_printf(g->arena, "'%.20s' is no link: XGMI, PCIE, or 0 to itself", token));
        g->n_targets += is_xgmi && g->n_rows == 0;
    }
    if (column < g->n)
        return fail(g, g->line, 1, tsim_arena_printf(g->arena, "%d links for %d GPUs", column, g->n));
    g->n_rows++;
    return TSIM_OK;
}

static const char *value_of(const char *line, const char *key) {
    const char *at = strstr(line, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), ": \t") : NULL;
}

/* Reads GPU[0] : KEY: VALUE. A fact of one card holds for all. */
static void read_fact(struct reading *g, const char *line) {
    const char *numa = value_of(line, "Numa Node"), *gfx = value_of(line, "GFX Version");
    int gpu = atoi(line + strlen("GPU["));
    if (numa && gpu >= 0 && gpu < MOST)
        g->numa[gpu] = atoi(numa);
    if (gfx && strncmp(gfx, "gfx", 3) == 0)
        g->gcn = tsim_arena_strndup(g->arena, gfx + 3, strspn(gfx + 3, "0123456789abcdef"));
    static const char *const IDS[] = {"Card Model", "Card model", "Device ID"};
    for (size_t i = 0; i < sizeof IDS / sizeof IDS[0]; i++) {
        const char *id = value_of(line, IDS[i]);
        if (id && strncmp(id, "0x", 2) == 0)
            g->device = (unsigned)strtoul(id, NULL, 16) & 0xffff;
    }
}

static enum tsim_status read_lines(struct reading *g) {
    const char *c = g->input->text, *end = c + g->input->size;
    for (g->line = 1; c < end; g->line++) {
        char line[LINE_BYTES];
        const char *stop = memchr(c, '\n', (size_t)(end - c));
        size_t length = (size_t)((stop ? stop : end) - c), kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, c, kept);
        line[kept] = '\0';
        char *start = line + strspn(line, " \t");
        c = stop ? stop + 1 : end;
        if (strstr(line, "between two GPUs"))
            g->is_of_links = strstr(line, "Link Type") != NULL;
        else if (strncmp(start, "GPU[", 4) == 0)
            read_fact(g, start);
        else if (!g->is_of_links || !is_gpu(start))
            continue;
        else if (g->n == 0)
            read_head(g, start);
        else if (g->n_rows < g->n)
            TSIM_TRY(read_row(g, line));
    }
    if (g->n == 0)
        return fail(g, 0, 0, "no 'Link Type between two GPUs' in it");
    if (g->n_rows < g->n)
        return fail(g, 0, 0, tsim_arena_printf(g->arena, "%d rows for %d GPUs", g->n_rows, g->n));
    return TSIM_OK;
}

static int per_socket(const struct reading *g) {
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->numa[i] == g->numa[0];
    return n < g->n && g->n % n == 0 ? n : 0;
}

enum tsim_status tsim_import_rocm_topo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    struct reading *g = TSIM_NEW(arena, struct reading);
    *g = (struct reading){.arena = arena, .input = input, .diags = diags, .gcn = ""};
    TSIM_TRY(read_lines(g));
    const struct tsim_imported_machine machine = {.program = "rocm-smi --showtopo",
                                                  .file = input->file,
                                                  .n_accelerators = g->n,
                                                  .gcn = g->gcn,
                                                  .device = g->device,
                                                  .nvlinks = g->n_targets,
                                                  .n_targets = g->n_targets,
                                                  .has_switch = g->n > 1 && g->n_targets == g->n - 1,
                                                  .per_socket = per_socket(g)};
    return tsim_machine_write(arena, &machine, input, result, diags);
}
