#include "config/files/known_as.h"

#include "config/files/catalogue_keys.h"

#include <stdlib.h>
#include <string.h>

/* Returns the items of a list; 0 of them after a mistake. */
static size_t list_of(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                      const struct tsim_value *const **items) {
    bool is_list = value && value->kind == TSIM_VALUE_SEQUENCE && value->n_items <= TSIM_MOST_KNOWN;
    for (size_t i = 0; is_list && i < value->n_items; i++)
        is_list = value->items[i]->kind == TSIM_VALUE_SCALAR;
    if (value && !is_list)
        tsim_schema_wrong_kind(reader, value, path, "a list of at most four");
    *items = is_list ? value->items : NULL;
    return is_list ? value->n_items : 0;
}

static void read_names(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    const struct tsim_value *const *items;
    size_t n = list_of(reader, value, path, &items);
    for (size_t i = 0; i < n; i++)
        ((const char **)field)[i] = items[i]->text;
}

static void read_devices(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    const struct tsim_value *const *items;
    size_t n = list_of(reader, value, path, &items);
    for (size_t i = 0; i < n; i++) {
        char *end;
        unsigned long device = strtoul(items[i]->text, &end, 16);
        if (*end || device == 0 || device > 0xffff)
            tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, items[i], path, "no PCI device"),
                           "four hexadecimal digits, as 0x2330");
        else
            ((unsigned *)field)[i] = (unsigned)device;
    }
}

/* clang-format off */
static const struct tsim_word STATUSES[] = {{"read", TSIM_SOURCE_READ}, {"derived", TSIM_SOURCE_DERIVED},
                                            {"estimate", TSIM_SOURCE_ESTIMATE}, {NULL, 0}};
#define AT(field_) offsetof(struct tsim_known_as, field_)
static const struct tsim_key KNOWN_AS_KEYS[] = {
    {.key = "names", .kind = TSIM_KEY_CUSTOM, .offset = AT(names), .read = read_names,
     .help = "list of names in job scripts and logs, in small letters; if a text has several, the longest counts"},
    {.key = "pci_devices", .kind = TSIM_KEY_CUSTOM, .offset = AT(pci_devices), .read = read_devices,
     .help = "list of PCI devices of boards that have links to each other"},
    {.key = "card_devices", .kind = TSIM_KEY_CUSTOM, .offset = AT(card_devices), .read = read_devices,
     .help = "list of PCI devices of PCIe cards"},
    {.key = "gfx", .kind = TSIM_KEY_STRING, .offset = AT(gfx), .help = "for AMD's parts, the number of the architecture, as 942"},
    {INTEGER(struct tsim_known_as, "links", links, 1000, "NVLinks or xGMI links of one; 0: a PCIe card alone"),
     .default_text = "0"},
    {INTEGER(struct tsim_known_as, "devices", devices, 16, "devices that JAX shows in one accelerator; 0: one"),
     .default_text = "0"},
    {.key = "node", .kind = TSIM_KEY_STRING, .offset = AT(node), .help = "id of the node that has it; absent: none"},
    {.key = "usual", .kind = TSIM_KEY_BOOL, .offset = AT(is_usual), .default_text = "false",
     .help = "the entry to take when a file fits several entries"},
    {.key = "status", .kind = TSIM_KEY_ENUM, .offset = AT(status), .words = STATUSES, .default_text = "read",
     .help = "how good the source is"},
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = AT(source), .help = "where all of this was read"},
};
/* clang-format on */
const struct tsim_table tsim_known_as_table = {KNOWN_AS_KEYS, sizeof KNOWN_AS_KEYS / sizeof KNOWN_AS_KEYS[0], false};

/* No prediction rests on a name, so it needs no source. */
void tsim_known_as_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_reader silent = *reader;
    silent.note = NULL;
    if (!value)
        return;
    if (value->kind != TSIM_VALUE_MAPPING) {
        tsim_schema_wrong_kind(reader, value, path, "a mapping");
        return;
    }
    struct tsim_known_as *known = TSIM_NEW(reader->arena, struct tsim_known_as);
    memset(known, 0, sizeof *known);
    tsim_schema_read(&silent, &tsim_known_as_table, value, path, known);
    *(const struct tsim_known_as **)field = known;
}

/* Reads values on which no prediction rests: what to take if a file of another program does not say. It keeps no notes
 * of their sources. */
static void read_silently(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                          const char *path, void *field) {
    struct tsim_reader silent = *reader;
    silent.note = NULL;
    if (value)
        tsim_schema_read_value(&silent, key, value, path, field);
}

void tsim_usual_fabric_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    static const struct tsim_key ID = {.key = USUAL_FABRIC_KEY, .kind = TSIM_KEY_STRING};
    read_silently(reader, &ID, value, path, field);
}

void tsim_usual_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    static const struct tsim_key FLAG = {.key = USUAL_KEY, .kind = TSIM_KEY_BOOL};
    read_silently(reader, &FLAG, value, path, field);
}
