#include "config/files/catalogue_read.h"

#include "base/file_bytes.h"
#include "config/files/catalogue_keys.h"
#include "config/text/document.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TSIM_SOURCE_TREE
#error "compile with -DTSIM_SOURCE_TREE: the folder that holds models/, hardware/ and scenarios/"
#endif
#ifndef TSIM_PREFIX
#error "compile with -DTSIM_PREFIX: where the program gets installed"
#endif

enum { MAX_CHAIN = 16, MAX_FOLDERS = 3 };

static const struct {
    const char *word, *plural;
    const char *folders[MAX_FOLDERS];
    const char *families; /* folder of files that are only extended; a file that extends nothing extends its COMMON */
} KINDS[TSIM_N_CATALOGUE_KINDS] = {
    [TSIM_CATALOGUE_MODELS] = {"model", "models", {"models/architectures"}},
    [TSIM_CATALOGUE_ACCELERATORS] = {"accelerator", "accelerators", {"hardware/accelerators"}, "hardware/families"},
    [TSIM_CATALOGUE_NODES] = {"node", "nodes", {"hardware/nodes"}},
    [TSIM_CATALOGUE_FABRICS] = {"fabric", "fabrics", {"hardware/fabrics"}},
    [TSIM_CATALOGUE_SOFTWARE] = {"software", "software", {"models/software"}},
    [TSIM_CATALOGUE_REGIONS] = {"region", "regions", {"hardware/regions"}},
    [TSIM_CATALOGUE_STORAGE] = {"storage", "storage", {"hardware/storage"}},
    [TSIM_CATALOGUE_SCENARIOS] = {"scenario", "scenarios", {"scenarios", "scenarios/published", "scenarios/campaigns"}},
};
static const char SINGLE[] = "single-", COMMON[] = "all";

const char *tsim_catalogue_word(enum tsim_catalogue_kind kind) {
    return KINDS[kind].word;
}

const char *tsim_catalogue_plural(enum tsim_catalogue_kind kind) {
    return KINDS[kind].plural;
}

bool tsim_catalogue_find_kind(const char *word, enum tsim_catalogue_kind *kind) {
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++)
        if (strcmp(word, KINDS[i].word) == 0 || strcmp(word, KINDS[i].plural) == 0) {
            *kind = (enum tsim_catalogue_kind)i;
            return true;
        }
    return false;
}

/* ---- folders and files ---- */

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Returns PREFIX/share/tsim for a program that is now at PREFIX/bin/tsim, wherever that is: an unpacked package, or an
 * installed tree that was moved. Returns NULL if there is none, or if the system does not say where the program is. */
static const char *beside_program(struct tsim_arena *arena) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return NULL;
    program[length] = '\0';
    for (int i = 0; i < 2; i++) { /* without "/bin/tsim" */
        char *slash = strrchr(program, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    const char *folder = tsim_arena_printf(arena, "%s/share/tsim", program);
    return is_folder(tsim_arena_printf(arena, "%s/hardware", folder)) ? folder : NULL;
}

static bool holds_catalogue(struct tsim_arena *arena, const char *folder) {
    return is_folder(tsim_arena_printf(arena, "%s/hardware", folder)) ||
           is_folder(tsim_arena_printf(arena, "%s/models", folder)) ||
           is_folder(tsim_arena_printf(arena, "%s/scenarios", folder));
}

/* Every id that is looked up asks; a tree that was found is not looked for again. */
static bool has_source_tree(void) {
    static atomic_bool is_found;
    if (TSIM_SOURCE_TREE[0] && !is_found && is_folder(TSIM_SOURCE_TREE "/hardware"))
        is_found = true;
    return is_found;
}

const char *tsim_catalogue_own_folder(struct tsim_arena *arena) {
    if (has_source_tree())
        return TSIM_SOURCE_TREE;
    return is_folder(TSIM_PREFIX "/share/tsim/hardware") ? TSIM_PREFIX "/share/tsim" : beside_program(arena);
}

const char *tsim_catalogue_folder(struct tsim_arena *arena) {
    const char *data = getenv("TSIM_DATA");
    if (data && *data)
        return holds_catalogue(arena, data) ? tsim_arena_strdup(arena, data) : NULL;
    return tsim_catalogue_own_folder(arena);
}

/* Returns whether the text has only letters, digits, '.', '_' and '-', and no leading dot, so that an id never leaves
 * its folder. */
static bool is_id(const char *text) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(text);
    return length > 0 && length <= 100 && text[0] != '.' && strspn(text, LETTERS) == length;
}

bool tsim_is_yaml_name(const char *name) {
    return tsim_length_before(name, ".yaml") > 0 || tsim_length_before(name, ".yml") > 0;
}

static bool is_path(const char *text) {
    return strchr(text, '/') || tsim_is_yaml_name(text);
}

static const char *file_in(struct tsim_arena *arena, const char *root, const char *folder, const char *id,
                           struct stat *info) {
    const char *file = tsim_arena_printf(arena, "%s/%s/%s.yaml", root, folder, id);
    return stat(file, info) == 0 && !S_ISDIR(info->st_mode) ? file : NULL;
}

/* The file of an id belongs to the catalogue, wherever that is, so it is found even if files are confined to other
 * folders. */
static const char *find_file(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id,
                             struct stat *info) {
    const char *folder = tsim_catalogue_folder(arena);
    if (!folder || !is_id(id))
        return NULL;
    const char *file = NULL;
    for (size_t i = 0; i < MAX_FOLDERS && KINDS[kind].folders[i] && !file; i++)
        file = file_in(arena, folder, KINDS[kind].folders[i], id, info);
    return file;
}

/* A catalogue of the user's own need not have families: those of the program's then serve. */
static const char *find_family(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id,
                               struct stat *info) {
    const char *const roots[] = {tsim_catalogue_folder(arena), tsim_catalogue_own_folder(arena)}, *file = NULL;
    for (size_t i = 0; i < 2 && KINDS[kind].families && is_id(id) && !file; i++)
        file = roots[i] ? file_in(arena, roots[i], KINDS[kind].families, id, info) : NULL;
    return file;
}

const char *tsim_catalogue_file(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id) {
    struct stat info;
    return find_file(arena, kind, id, &info);
}

const char *tsim_file_beside(struct tsim_arena *arena, const struct tsim_value *value, const char *name) {
    const char *file = value->document->file;
    const char *slash = strrchr(file, '/');
    if (name[0] == '/' || !slash || value->document->is_override)
        return name;
    return tsim_arena_printf(arena, "%.*s%s", (int)(slash - file + 1), file, name);
}

/* ---- listing ---- */

struct id_list {
    struct tsim_arena *arena;
    const char **ids;
    size_t n, capacity;
};

static void add_id(struct id_list *list, const char *id) {
    list->ids = tsim_heap_grow(list->ids, &list->capacity, list->n + 1, sizeof *list->ids);
    list->ids[list->n++] = id;
}

static enum tsim_status cannot_list(const char *folder, int error, struct tsim_diags *diags) {
    if (error == ENOMEM)
        tsim_out_of_memory();
    tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = folder}, "", "cannot read the folder: %s",
                     strerror(error));
    return TSIM_ERR_IO;
}

/* A missing folder holds nothing. */
static enum tsim_status add_folder(struct id_list *list, const char *folder, const char *prefix,
                                   struct tsim_diags *diags) {
    const char *const *names;
    size_t n_names;
    int error = tsim_folder_list(list->arena, folder, ".yaml", &names, &n_names);
    if (error)
        return error == ENOENT ? TSIM_OK : cannot_list(folder, error, diags);
    for (size_t i = 0; i < n_names; i++) {
        const char *id =
            tsim_arena_printf(list->arena, "%s%.*s", prefix, (int)tsim_length_before(names[i], ".yaml"), names[i]);
        if (is_id(id))
            add_id(list, id);
    }
    return TSIM_OK;
}

static int compare_ids(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the ids sorted, each once, in the arena. */
static const char *const *finish_list(struct id_list *list, size_t *n_ids) {
    if (list->n)
        qsort(list->ids, list->n, sizeof *list->ids, compare_ids);
    const char **ids = TSIM_NEW_ARRAY(list->arena, list->n, const char *);
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (n == 0 || strcmp(ids[n - 1], list->ids[i]) != 0)
            ids[n++] = list->ids[i];
    tsim_heap_free(list->ids);
    *n_ids = n;
    return ids;
}

static enum tsim_status list_ids(struct tsim_arena *arena, const char *root, enum tsim_catalogue_kind kind,
                                 const char *const **ids, size_t *n_ids, struct tsim_diags *diags) {
    struct id_list list = {.arena = arena};
    enum tsim_status status = TSIM_OK;
    for (size_t i = 0; i < MAX_FOLDERS && KINDS[kind].folders[i] && status == TSIM_OK; i++)
        status = add_folder(&list, tsim_arena_printf(arena, "%s/%s", root, KINDS[kind].folders[i]), "", diags);
    if (kind == TSIM_CATALOGUE_NODES && status == TSIM_OK)
        status =
            add_folder(&list, tsim_arena_printf(arena, "%s/%s", root, KINDS[TSIM_CATALOGUE_ACCELERATORS].folders[0]),
                       SINGLE, diags);
    *ids = finish_list(&list, n_ids);
    return status;
}

/* Returns the folder, or NULL after a mistake. */
static const char *find_folder(struct tsim_arena *arena, struct tsim_diags *diags) {
    const char *folder = tsim_catalogue_folder(arena);
    if (folder)
        return folder;
    static const char MISSING[] = "the catalogue (models/, hardware/, scenarios/) was not found";
    for (size_t i = 0; i < diags->n_items; i++)
        if (strcmp(diags->items[i].message, MISSING) == 0)
            return NULL; /* is said once, however many ids are looked for */
    struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){NULL, 0, 0}, "", "%s", MISSING);
    const char *data = getenv("TSIM_DATA");
    tsim_diag_hint(diag,
                   data && *data ? "TSIM_DATA says '%.200s', where none of these folders is"
                                 : "set TSIM_DATA to its folder%s",
                   data && *data ? data : "");
    return NULL;
}

enum tsim_status tsim_catalogue_list(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *const **ids,
                                     size_t *n_ids, struct tsim_diags *diags) {
    const char *folder = find_folder(arena, diags);
    return folder ? list_ids(arena, folder, kind, ids, n_ids, diags) : TSIM_ERR_IO;
}

/* Returns whether the text goes on as the word does, whatever separates their letters and digits. */
static bool goes_on_as(const char *text, const char *word) {
    for (;; text++, word++) {
        while (*text && !isalnum((unsigned char)*text))
            text++;
        while (*word && !isalnum((unsigned char)*word))
            word++;
        if (!*word || tolower((unsigned char)*text) != tolower((unsigned char)*word))
            return !*word;
    }
}

static bool holds(const char *text, const char *word) {
    while (*text && !goes_on_as(text, word))
        text++;
    return *text;
}

/* Returns the shortest id that holds the word, as dgx-h100 does "h100" and single-rtx-4090 "RTX4090". */
static const char *find_holder(const char *word, const char *const *ids, size_t n_ids) {
    const char *best = NULL;
    for (size_t i = 0; i < n_ids && strlen(word) > 2 && isalnum((unsigned char)*word); i++)
        if (holds(ids[i], word) && (!best || strlen(ids[i]) < strlen(best)))
            best = ids[i];
    return best;
}

/* Scenarios name all sorts of things: that one holds the word says nothing. */
static const char *nearest_id(enum tsim_catalogue_kind kind, const char *word, const char *const *ids, size_t n_ids) {
    const char *near = tsim_did_you_mean(word, ids, n_ids);
    return near || kind == TSIM_CATALOGUE_SCENARIOS ? near : find_holder(word, ids, n_ids);
}

const char *tsim_catalogue_nearest(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *word) {
    const char *folder = tsim_catalogue_folder(arena), *const * ids;
    size_t n_ids;
    bool is_listed = folder && list_ids(arena, folder, kind, &ids, &n_ids, TSIM_UNHEARD) == TSIM_OK;
    return is_listed ? nearest_id(kind, word, ids, n_ids) : NULL;
}

/* ---- references ---- */

/* The files that are being read because one names the next. Two names of one file are the same file. */
struct chain {
    const struct chain *above;
    const char *file;
    dev_t device;
    ino_t inode;
};

struct resolver {
    struct tsim_reader *reader;
    enum tsim_catalogue_kind kind;
    const char *path;
    bool is_extended; /* what is looked for is what another file extends */
};

static const struct tsim_value *resolve_mapping(const struct resolver *r, const struct tsim_value *mapping,
                                                const struct chain *chain);

static void report_unknown_id(const struct resolver *r, const char *folder, const struct tsim_value *reference) {
    struct tsim_arena *arena = r->reader->arena;
    size_t n_ids;
    const char *const *ids;
    if (list_ids(arena, folder, r->kind, &ids, &n_ids, r->reader->diags) != TSIM_OK)
        return;
    const char *nearest = nearest_id(r->kind, reference->text, ids, n_ids);
    struct tsim_diag *diag = tsim_value_error(r->reader->diags, TSIM_ERR_REFERENCE, reference, r->path,
                                              "unknown %s '%.80s'", KINDS[r->kind].word, reference->text);
    if (!is_id(reference->text))
        tsim_diag_hint(diag, "an id has letters, digits, '.', '_' and '-'; a file's path has a '/' or ends in .yaml");
    else if (nearest)
        tsim_diag_hint(diag, "did you mean '%s'? 'tsim list %s' shows all", nearest, KINDS[r->kind].plural);
    else
        tsim_diag_hint(diag, "'tsim list %s' shows all %zu; a file's path has a '/' or ends in .yaml",
                       KINDS[r->kind].plural, n_ids);
}

/* Returns "a.yaml -> b.yaml -> a.yaml". */
static const char *chain_text(struct tsim_arena *arena, const struct chain *chain, const char *last) {
    for (; chain; chain = chain->above)
        last = tsim_arena_printf(arena, "%s -> %s", chain->file, last);
    return last;
}

static bool check_chain(const struct resolver *r, const struct tsim_value *reference, const struct chain *chain,
                        const struct chain *next) {
    size_t length = 0;
    for (const struct chain *link = chain; link; link = link->above, length++)
        if (link->device == next->device && link->inode == next->inode) {
            struct tsim_diag *diag = tsim_value_error(r->reader->diags, TSIM_ERR_REFERENCE, reference, r->path,
                                                      "'%.80s' extends itself", reference->text);
            tsim_diag_hint(diag, "%s", chain_text(r->reader->arena, chain, next->file));
            return false;
        }
    if (length < MAX_CHAIN)
        return true;
    tsim_value_error(r->reader->diags, TSIM_ERR_LIMIT, reference, r->path, "a chain of more than %d files", MAX_CHAIN);
    return false;
}

static bool check_name(const struct resolver *r, const char *id, const struct tsim_value *root) {
    const struct tsim_value *name = tsim_value_find(root, "name");
    if (tsim_value_is_text(name, id))
        return true;
    struct tsim_diag *diag = tsim_value_error(r->reader->diags, TSIM_ERR_SCHEMA, name ? name : root, "",
                                              name ? "the name is not that of the file" : "missing key 'name'");
    tsim_diag_hint(diag, "name: %.100s", id);
    return false;
}

/* Returns a node of one device without links, for an accelerator that exists. */
static const struct tsim_value *generate_single(const struct resolver *r, const char *id) {
    struct tsim_arena *arena = r->reader->arena;
    size_t n_prefix = sizeof SINGLE - 1;
    if (r->kind != TSIM_CATALOGUE_NODES || strncmp(id, SINGLE, n_prefix) != 0 ||
        !tsim_catalogue_file(arena, TSIM_CATALOGUE_ACCELERATORS, id + n_prefix))
        return NULL;
    const char *text = tsim_arena_printf(arena,
                                         "schema: tsim/node/v1\n"
                                         "name: %s\n"
                                         "source: generated, one device without links\n"
                                         "accelerator: %s\n"
                                         "accelerators: 1\n"
                                         "scale_up: {kind: none}\n",
                                         id, id + n_prefix);
    const struct tsim_value *root = NULL;
    tsim_document_parse(arena, id, text, strlen(text), &root, r->reader->diags);
    return root;
}

/* A list of files, because a scenario names only a few. */
struct tsim_file_cache {
    struct tsim_arena *arena;
    struct cached_file *first;
    bool looks_again; /* a file that has changed is read anew */
};

struct cached_file {
    struct cached_file *next;
    struct stat info; /* as it was read */
    const struct tsim_value *root;
};

static _Thread_local struct tsim_file_cache *kept;

struct tsim_file_cache *tsim_file_cache_new(struct tsim_arena *arena) {
    struct tsim_file_cache *cache = TSIM_NEW(arena, struct tsim_file_cache);
    cache->arena = arena;
    return cache;
}

struct tsim_file_cache *tsim_file_cache_of_thread(struct tsim_arena *arena) {
    return kept ? kept : tsim_file_cache_new(arena);
}

void tsim_catalogue_keep(struct tsim_arena *arena) {
    kept = arena ? tsim_file_cache_new(arena) : NULL;
    if (kept)
        kept->looks_again = true;
}

static bool is_same_file(const struct tsim_file_cache *cache, const struct stat *a, const struct stat *b) {
    bool is_it = a->st_dev == b->st_dev && a->st_ino == b->st_ino;
    return is_it && (!cache->looks_again || (a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
                                             a->st_mtim.tv_nsec == b->st_mtim.tv_nsec));
}

/* Returns the file's root, or NULL and a diag after a mistake. */
static const struct tsim_value *read_file(struct tsim_reader *reader, const char *file, const struct stat *info) {
    struct tsim_file_cache *cache = reader->files;
    const struct tsim_value *root = NULL;
    for (const struct cached_file *item = cache ? cache->first : NULL; item; item = item->next)
        if (is_same_file(cache, &item->info, info))
            return item->root;
    enum tsim_status status = tsim_document_read(cache ? cache->arena : reader->arena, file, &root, reader->diags);
    if (status == TSIM_OK && cache) {
        struct cached_file *item = TSIM_NEW(cache->arena, struct cached_file);
        *item = (struct cached_file){cache->first, *info, root};
        cache->first = item;
    }
    return root;
}

/* Whoever writes "meta-llama/Llama-2-70b-hf" takes it for an id. */
static void hint_at_ids(const struct resolver *r, const char *file, struct tsim_diag *diag) {
    const char *near =
        tsim_catalogue_nearest(r->reader->arena, r->kind, strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
    const char *plural = tsim_catalogue_plural(r->kind);
    if (near)
        tsim_diag_hint(diag, "a word with '/' is a file's path; did you mean '%s'? 'tsim list %s' shows all", near,
                       plural);
    else
        tsim_diag_hint(diag, "a word with '/' is a file's path; 'tsim list %s' shows the ids", plural);
}

static const struct tsim_value *resolve_file(const struct resolver *r, const struct tsim_value *reference,
                                             const char *file, const struct stat *info, const char *id,
                                             const struct chain *chain) {
    if (!S_ISREG(info->st_mode)) { /* a pipe would be waited for */
        tsim_value_error(r->reader->diags, TSIM_ERR_REFERENCE, reference, r->path, "'%.200s' is %s", file,
                         S_ISDIR(info->st_mode) ? "a folder" : "no regular file");
        return NULL;
    }
    struct chain next = {chain, file, info->st_dev, info->st_ino};
    const struct tsim_value *root = NULL;
    if (!check_chain(r, reference, chain, &next) || !(root = read_file(r->reader, file, info)))
        return NULL;
    if (id && r->kind != TSIM_CATALOGUE_SCENARIOS && !check_name(r, id, root))
        return NULL;
    return resolve_mapping(r, root, &next);
}

static const struct tsim_value *resolve_path(const struct resolver *r, const struct tsim_value *reference,
                                             const struct chain *chain) {
    const char *file = tsim_file_beside(r->reader->arena, reference, reference->text);
    struct stat info;
    if (tsim_file_stat(file, &info) == 0)
        return resolve_file(r, reference, file, &info, NULL, chain);
    struct tsim_diag *diag = tsim_value_error(r->reader->diags, TSIM_ERR_REFERENCE, reference, r->path,
                                              "cannot open '%.200s': %s", file, strerror(errno));
    if (!tsim_is_yaml_name(file))
        hint_at_ids(r, file, diag);
    return NULL;
}

static const struct tsim_value *resolve_scalar(const struct resolver *r, const struct tsim_value *reference,
                                               const struct chain *chain) {
    struct tsim_arena *arena = r->reader->arena;
    struct stat info;
    if (is_path(reference->text))
        return resolve_path(r, reference, chain);
    const char *file = find_file(arena, r->kind, reference->text, &info);
    if (!file && r->is_extended)
        file = find_family(arena, r->kind, reference->text, &info);
    if (file)
        return resolve_file(r, reference, file, &info, reference->text, chain);
    const struct tsim_value *single = generate_single(r, reference->text);
    const char *folder = single ? NULL : find_folder(arena, r->reader->diags);
    if (folder)
        report_unknown_id(r, folder, reference);
    return single;
}

static const struct tsim_value *resolve(const struct resolver *r, const struct tsim_value *reference,
                                        const struct chain *chain) {
    if (reference->kind == TSIM_VALUE_SCALAR && reference->text[0] != '\0')
        return resolve_scalar(r, reference, chain);
    if (reference->kind == TSIM_VALUE_MAPPING)
        return resolve_mapping(r, reference, chain);
    tsim_schema_wrong_kind(r->reader, reference, r->path, "an id, a path or a mapping");
    return NULL;
}

/* Drops the names of a part that another one extends: names of a part do not apply to a similar part. */
static const struct tsim_value *without_names(struct tsim_arena *arena, const struct tsim_value *mapping) {
    static const char *const KEYS[] = {KNOWN_AS_KEY, USUAL_FABRIC_KEY, USUAL_KEY};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (tsim_value_find(mapping, KEYS[i]))
            mapping = tsim_value_without(arena, mapping, KEYS[i]);
    return mapping;
}

const struct tsim_value *tsim_catalogue_family(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                               const char *id) {
    struct stat info;
    const char *file = find_family(reader->arena, kind, id, &info);
    if (file)
        return read_file(reader, file, &info);
    if (find_folder(reader->arena, reader->diags))
        tsim_diags_error(reader->diags, TSIM_ERR_IO, (struct tsim_place){.file = KINDS[kind].families}, "",
                         "the file %s.yaml is missing", id);
    return NULL;
}

static const struct tsim_value *resolve_mapping(const struct resolver *r, const struct tsim_value *mapping,
                                                const struct chain *chain) {
    const struct tsim_value *extends = tsim_value_find(mapping, "extends");
    if (!extends && !KINDS[r->kind].families)
        return mapping;
    if (extends && extends->kind != TSIM_VALUE_SCALAR) {
        tsim_schema_wrong_kind(r->reader, extends, tsim_schema_path(r->reader->arena, r->path, "extends"),
                               "an id or a path");
        return NULL;
    }
    struct resolver of_base = {r->reader, r->kind, r->path, true};
    const struct tsim_value *base =
        extends ? resolve(&of_base, extends, chain) : tsim_catalogue_family(r->reader, r->kind, COMMON);
    if (!base)
        return NULL;
    base = without_names(r->reader->arena, base);
    const struct tsim_value *merged =
        tsim_value_merge(r->reader->arena, base, tsim_value_without(r->reader->arena, mapping, "extends"));
    if (merged->n_nodes <= TSIM_VALUE_MAX_NODES && merged->n_items <= TSIM_VALUE_MAX_KEYS)
        return merged;
    tsim_value_error(r->reader->diags, TSIM_ERR_LIMIT, extends ? extends : mapping, r->path,
                     "the files together are too large");
    return NULL;
}

const struct tsim_value *tsim_catalogue_resolve(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                                const struct tsim_value *reference, const char *path) {
    struct resolver resolver = {reader, kind, path, false};
    return resolve(&resolver, reference, NULL);
}

const struct tsim_value *tsim_catalogue_resolve_root(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                                     const struct tsim_value *root) {
    struct resolver resolver = {reader, kind, "", false};
    struct stat info;
    struct chain chain = {NULL, root->document->file, 0, 0};
    bool is_a_file = tsim_file_stat(root->document->file, &info) == 0;
    if (is_a_file) {
        chain.device = info.st_dev;
        chain.inode = info.st_ino;
    }
    return resolve_mapping(&resolver, root, is_a_file ? &chain : NULL);
}
