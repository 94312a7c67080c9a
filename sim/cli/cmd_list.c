#include "cli/command.h"

#include "model/model.h"
#include "report/terminal/table.h"
#include "results/format.h"

#include <string.h>

struct listing { /* files of one kind */
    enum tsim_catalogue_kind kind;
    const char *const *ids;
    size_t n_ids;
    const struct tsim_region *const *regions; /* [n_ids]; NULL for other kinds, and if all kinds are listed */
};

/* Prints one kind of the overview: "models (6)" and the ids, as many in a line as fit. */
static void print_overview(struct tsim_arena *arena, const struct listing *listing) {
    struct tsim_style style = tsim_style_of(stdout);
    const char *text = "";
    for (size_t i = 0; i < listing->n_ids; i++)
        text = tsim_arena_printf(arena, "%s%s%s", text, i ? " " : "", listing->ids[i]);
    printf("%s%s (%zu)%s\n", tsim_tint_on(&style, TSIM_TINT_BOLD), tsim_catalogue_plural(listing->kind), listing->n_ids,
           tsim_tint_off(&style));
    if (listing->n_ids == 0)
        return;
    fputs("  ", stdout);
    tsim_text_wrap(stdout, &style, 2, text);
}

/* ---- one kind: what makes one choose an entry, as its file says it ---- */

enum { MOST_SHOWN = 6 };

/* A column's cell: the values of its keys, of which those that are missing or 0 (none, not known) are left out. */
struct shown_column {
    struct tsim_column column;
    const char *keys[2];
    const char *between; /* NULL: the first of them that is there, alone */
};
static const struct shown_column SHOWN[TSIM_N_CATALOGUE_KINDS][MOST_SHOWN] = {
    [TSIM_CATALOGUE_MODELS] = {{{"kind", false}, {"kind"}, ""}},
    [TSIM_CATALOGUE_ACCELERATORS] = {{{"year", true}, {"year"}, ""},
                                     {{"16-bit peak", true}, {"peak.bf16", "peak.fp16"}, NULL},
                                     {{"memory", true}, {"memory"}, ""},
                                     {{"bandwidth", true}, {"memory_bandwidth"}, ""},
                                     {{"rent", true}, {"rent"}, ""},
                                     {{"purchase", true}, {"purchase"}, ""}},
    [TSIM_CATALOGUE_NODES] = {{{"accelerators", false}, {"accelerators", "accelerator"}, " x "},
                              {{"scale-up", false}, {"scale_up.name", "scale_up.bandwidth"}, ", "},
                              {{"NICs", false}, {"nics", "nic_bandwidth"}, " x "}},
    [TSIM_CATALOGUE_FABRICS] = {{{"bandwidth of a port", true}, {"bandwidth"}, ""},
                                {{"topology", false}, {"topology"}, ""},
                                {{"latency", true}, {"latency"}, ""},
                                {{"for", false}, {"vendor"}, ""}},
    [TSIM_CATALOGUE_SOFTWARE] = {{{"attention", false}, {"attention_kernel"}, ""}, {{"fusion", false}, {"fusion"}, ""}},
    [TSIM_CATALOGUE_STORAGE] = {{{"bandwidth", true}, {"bandwidth"}, ""}, {{"place", false}, {"place"}, ""}},
    [TSIM_CATALOGUE_SCENARIOS] = {{{"model", false}, {"model"}, ""},
                                  {{"nodes", false}, {"cluster.nodes", "cluster.node"}, " x "},
                                  {{"description", false}, {"description"}, ""}},
};

static const struct tsim_catalogue_entry *find_entry(const struct tsim_catalogue_entry *entries, size_t n,
                                                     const char *key) {
    for (size_t i = 0; key && i < n; i++)
        if (strcmp(entries[i].key, key) == 0 && entries[i].number != 0 && entries[i].value_si[0])
            return &entries[i];
    return NULL;
}

static void add_shown(struct tsim_text_table *table, struct tsim_arena *arena, const struct shown_column *shown,
                      const struct tsim_catalogue_entry *entries, size_t n) {
    const char *cell = "";
    char text[64];
    for (size_t k = 0; k < 2 && (shown->between || !cell[0]); k++) {
        const struct tsim_catalogue_entry *entry = find_entry(entries, n, shown->keys[k]);
        if (entry)
            cell = tsim_arena_printf(arena, "%s%s%s", cell, cell[0] ? shown->between : "",
                                     strcmp(entry->key, "year") == 0 ? entry->value_si
                                                                     : tsim_entry_text(entry, text, sizeof text));
    }
    tsim_text_table_add(table, cell[0] ? cell : "-");
}

static void add_parameters(struct tsim_text_table *table, const struct tsim_model *model) {
    char text[64];
    double all = model ? tsim_model_parameters(model) : 0, active = model ? tsim_model_active_parameters(model) : 0;
    tsim_text_table_add(table, all > 0 ? tsim_quantity_human(all, TSIM_COUNT, text, sizeof text) : "-");
    tsim_text_table_add(table, active < all ? tsim_quantity_human(active, TSIM_COUNT, text, sizeof text) : "");
}

/* Lists a file with mistakes by its id, and prints its errors. */
static enum tsim_status print_entries(struct tsim_arena *arena, const struct listing *listing,
                                      struct tsim_diags *diags) {
    const struct shown_column *shown = SHOWN[listing->kind];
    struct tsim_column columns[MOST_SHOWN + 3] = {{"id", false}};
    size_t n_columns = 1, n_shown = 0;
    while (n_shown < MOST_SHOWN && shown[n_shown].column.title)
        columns[n_columns++] = shown[n_shown++].column;
    bool has_parameters = listing->kind == TSIM_CATALOGUE_MODELS;
    if (has_parameters) {
        columns[n_columns++] = (struct tsim_column){"parameters", true};
        columns[n_columns++] = (struct tsim_column){"active", true};
    }
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    enum tsim_status status = TSIM_OK;
    tsim_text_table_init(&table, arena, columns, n_columns);
    for (size_t i = 0; i < listing->n_ids; i++) {
        const struct tsim_catalogue_entry *entries = NULL;
        size_t n = 0;
        const struct tsim_model *model = NULL;
        enum tsim_status read = tsim_catalogue_describe(arena, listing->kind, listing->ids[i], &entries, &n, diags);
        if (read == TSIM_OK && has_parameters)
            read = tsim_catalogue_load_model(arena, listing->ids[i], &model, diags);
        status = status == TSIM_OK ? read : status;
        tsim_text_table_add(&table, listing->ids[i]);
        for (size_t c = 0; c < n_shown; c++)
            add_shown(&table, arena, &shown[c], entries, n);
        if (has_parameters)
            add_parameters(&table, model);
    }
    if (listing->n_ids > 0)
        tsim_text_table_print(&table, &style, stdout);
    return status;
}

/* ---- regions: with what makes one choose them ---- */

static const struct tsim_column REGION_COLUMNS[] = {
    {"id", false}, {"carbon_kg_per_kWh", true}, {"price_USD_per_kWh", true}, {"place", false}};

static void add_region(struct tsim_text_table *table, struct tsim_arena *arena, const struct tsim_region *region) {
    bool has_price = region->price_usd_per_j > 0;
    tsim_text_table_add(table, region->name);
    tsim_text_table_add(table, tsim_arena_printf(arena, "%.3f", region->carbon_kg_per_j * TSIM_KWH_J));
    tsim_text_table_add(table, has_price ? tsim_arena_printf(arena, "%.4f", region->price_usd_per_j * TSIM_KWH_J) : "");
    tsim_text_table_add(table, region->place ? region->place : "");
}

static void print_regions(struct tsim_arena *arena, const struct listing *listing, bool as_csv) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, REGION_COLUMNS, sizeof REGION_COLUMNS / sizeof REGION_COLUMNS[0]);
    for (size_t i = 0; i < listing->n_ids; i++)
        add_region(&table, arena, listing->regions[i]);
    if (as_csv)
        tsim_text_table_print_csv(&table, stdout);
    else
        tsim_text_table_print(&table, &style, stdout);
}

static void add_region_json(struct tsim_json *regions, const struct tsim_region *region) {
    struct tsim_json *item = tsim_json_object(regions, NULL);
    tsim_json_text(item, "id", region->name);
    tsim_json_text(item, "place", region->place);
    tsim_json_number(item, "carbon_kg_per_j", region->carbon_kg_per_j);
    if (region->price_usd_per_j > 0)
        tsim_json_number(item, "price_usd_per_j", region->price_usd_per_j);
}

/* ---- any kind ---- */

static void print_csv(struct tsim_arena *arena, const struct listing *listings, size_t n_listings) {
    static const struct tsim_column columns[] = {{"kind", false}, {"id", false}};
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, columns, 2);
    for (size_t k = 0; k < n_listings; k++) {
        for (size_t i = 0; i < listings[k].n_ids; i++) {
            tsim_text_table_add(&table, tsim_catalogue_word(listings[k].kind));
            tsim_text_table_add(&table, listings[k].ids[i]);
        }
    }
    tsim_text_table_print_csv(&table, stdout);
}

static struct tsim_json *listings_json(const struct listing *listings, size_t n_listings) {
    struct tsim_json *root = tsim_json_new_object();
    for (size_t k = 0; k < n_listings; k++) {
        struct tsim_json *ids = tsim_json_array(root, tsim_catalogue_plural(listings[k].kind));
        for (size_t i = 0; i < listings[k].n_ids; i++) {
            if (listings[k].regions)
                add_region_json(ids, listings[k].regions[i]);
            else
                tsim_json_text(ids, NULL, listings[k].ids[i]);
        }
    }
    return root;
}

static enum tsim_exit print_listings(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                     const struct listing *listings, size_t n_listings, struct tsim_diags *diags) {
    bool as_csv = arguments->has[TSIM_OPTION_CSV];
    enum tsim_status status = TSIM_OK;
    if (listings[0].regions && (as_csv || !tsim_is_json_on_stdout(arguments)))
        print_regions(arena, &listings[0], as_csv);
    else if (as_csv)
        print_csv(arena, listings, n_listings);
    else if (!tsim_is_json_on_stdout(arguments) && n_listings == 1)
        status = print_entries(arena, listings, diags);
    else if (!tsim_is_json_on_stdout(arguments))
        for (size_t k = 0; k < n_listings; k++)
            print_overview(arena, &listings[k]);
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_exit_worse(tsim_exit_of(status), tsim_write_json(arguments, listings_json(listings, n_listings)));
    return tsim_exit_of(status);
}

static bool choose_kinds(const struct tsim_arguments *arguments, struct listing *listings, size_t *n_listings) {
    *n_listings = 0;
    if (arguments->n_operands == 0) {
        for (int kind = 0; kind < TSIM_N_CATALOGUE_KINDS; kind++)
            listings[(*n_listings)++].kind = (enum tsim_catalogue_kind)kind;
        return true;
    }
    if (!tsim_find_kind(arguments, arguments->operands[0], &listings[0].kind))
        return false;
    *n_listings = 1;
    return true;
}

static enum tsim_status load_regions(struct tsim_arena *arena, struct listing *listing, struct tsim_diags *diags) {
    const struct tsim_region **regions = TSIM_NEW_ARRAY(arena, listing->n_ids, const struct tsim_region *);
    for (size_t i = 0; i < listing->n_ids; i++)
        TSIM_TRY(tsim_catalogue_load_region(arena, listing->ids[i], &regions[i], diags));
    listing->regions = regions;
    return TSIM_OK;
}

static enum tsim_status list_kinds(struct tsim_arena *arena, struct listing *listings, size_t n_listings,
                                   struct tsim_diags *diags) {
    for (size_t k = 0; k < n_listings; k++)
        TSIM_TRY(tsim_catalogue_list(arena, listings[k].kind, &listings[k].ids, &listings[k].n_ids, diags));
    if (n_listings == 1 && listings[0].kind == TSIM_CATALOGUE_REGIONS)
        return load_regions(arena, &listings[0], diags);
    return TSIM_OK;
}

enum tsim_exit tsim_cmd_list(const struct tsim_arguments *arguments) {
    struct listing listings[TSIM_N_CATALOGUE_KINDS] = {0};
    size_t n_listings;
    if (!choose_kinds(arguments, listings, &n_listings))
        return TSIM_EXIT_USAGE;
    enum tsim_exit status = tsim_exit_of(list_kinds(arguments->arena, listings, n_listings, arguments->diags));
    if (status == TSIM_EXIT_OK)
        status = print_listings(arguments, arguments->arena, listings, n_listings, arguments->diags);
    tsim_report_diags(arguments, arguments->diags);
    return status;
}
