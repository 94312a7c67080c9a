/* YAML text to trees of values: places, everything that is refused, merging, setting, and hostile input. */
#include "config/text/document.h"
#include "support/arena_rig.h"
#include "support/random.h"

#include <string.h>

static const struct tsim_value *parse(const char *text) {
    const struct tsim_value *root = NULL;
    tsim_document_parse(&arena, "a.yaml", text, strlen(text), &root, &diags);
    return root;
}

static const struct tsim_value *parse_good(const char *text) {
    const struct tsim_value *root = parse(text);
    ck_assert_msg(root && diags.n_errors == 0, "%s", diags.n_items ? diags.items[0].message : "no root");
    return root;
}

static void check_place(const struct tsim_value *value, int line, int column) {
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->line, line);
    ck_assert_int_eq(value->column, column);
}

/* ---- places ---- */

TSIM_TEST(places_are_one_based) {
    const struct tsim_value *root = parse_good("a: 1\n"
                                               "b:\n"
                                               "  c: [x, 'y z',\n"
                                               "      {d: 2}]\n");
    check_place(root, 1, 1);
    check_place(tsim_value_find(root, "a"), 1, 4);
    const struct tsim_value *list = tsim_value_find_path(root, "b.c");
    check_place(list, 3, 6);
    ck_assert_uint_eq(list->n_items, 3);
    check_place(list->items[1], 3, 10);
    ck_assert_str_eq(list->items[1]->text, "y z");
    ck_assert(list->items[1]->is_quoted);
    check_place(tsim_value_find(list->items[2], "d"), 4, 11);
    const struct tsim_pair *pair = tsim_value_find_pair(tsim_value_find(root, "b"), "c");
    ck_assert_int_eq(pair->line, 3);
    ck_assert_int_eq(pair->column, 3);
    ck_assert_ptr_null(tsim_value_find_path(root, "b.x.y"));
}

/* libyaml's documents give an alias its anchor's place; here it stands where it is used. */
TSIM_TEST(alias_stands_where_it_is_used) {
    const struct tsim_value *root = parse_good("a: &x {k: 1}\n"
                                               "b: *x\n");
    const struct tsim_value *alias = tsim_value_find(root, "b");
    check_place(alias, 2, 4);
    check_place(tsim_value_find(alias, "k"), 1, 11); /* its content, where it was written */
    ck_assert_uint_eq(root->n_nodes, 5);             /* root, two mappings of two */
}

TSIM_TEST(json_is_yaml) {
    const struct tsim_value *root = parse_good("{\"a\": \"x\\n\\u0041\", \"b\": [1, true]}");
    ck_assert_str_eq(tsim_value_find(root, "a")->text, "x\nA");
    ck_assert_uint_eq(tsim_value_find(root, "b")->n_items, 2);
}

TSIM_TEST(byte_order_mark_and_directive_are_taken) {
    ck_assert_str_eq(tsim_value_find(parse_good("\xEF\xBB\xBF%YAML 1.1\n---\na: 1\n...\n"), "a")->text, "1");
}

/* ---- what is refused ---- */

static const struct refused {
    const char *text;
    enum tsim_status status;
    int line, column;
    const char *message;
    bool has_root; /* all the same, for the mistakes of the other keys */
} REFUSED[] = {
    {"", TSIM_ERR_SYNTAX, 0, 0, "the file is empty"},
    {"# only a comment\n", TSIM_ERR_SYNTAX, 0, 0, "the file is empty"},
    {"just text\n", TSIM_ERR_SYNTAX, 1, 1, "expected keys with values"},
    {"- a\n- b\n", TSIM_ERR_SYNTAX, 1, 1, "expected keys with values"},
    {"a: 1\nb: 2\na: 3\n", TSIM_ERR_SYNTAX, 3, 1, "'a' occurs twice", true},
    {"x: {a: 1, \"a\": 3}\n", TSIM_ERR_SYNTAX, 1, 11, "'a' occurs twice", true},
    {"b: &b {x: 1}\na:\n  <<: *b\n", TSIM_ERR_SYNTAX, 3, 3, "('<<') are not supported"},
    {"a: !!int 5\n", TSIM_ERR_SYNTAX, 1, 4, "are not used here", true},
    {"a: !x [5]\n", TSIM_ERR_SYNTAX, 1, 4, "are not used here", true},
    {"a: !!map {b: 1}\n", TSIM_ERR_SYNTAX, 1, 4, "are not used here", true},
    {"[a, b]: 1\n", TSIM_ERR_SYNTAX, 1, 1, "must be plain text", true},
    {"? {a: 1}\n: 2\n", TSIM_ERR_SYNTAX, 1, 3, "must be plain text", true},
    {"?\n: 1\n", TSIM_ERR_SYNTAX, 1, 2, "must be plain text", true},
    {"a: 1\n---\nb: 2\n", TSIM_ERR_SYNTAX, 2, 1, "document ('---') starts here"},
    {"a: *x\n", TSIM_ERR_SYNTAX, 1, 4, "before this alias"},
    {"a: &x [1, *x]\n", TSIM_ERR_SYNTAX, 1, 11, "the alias '*x' is inside its own anchor"},
    {"a: \"\\0\"\n", TSIM_ERR_SYNTAX, 1, 4, "the text holds a NUL character", true},
    {"a: [1, 2\n", TSIM_ERR_SYNTAX, 2, 1, "expected ',' or ']'"},
    {"a: 1\nb: \xFF\xFE\n", TSIM_ERR_SYNTAX, 2, 4, "invalid leading UTF-8 octet"},
    {"a: \x1B[31m\n", TSIM_ERR_SYNTAX, 1, 4, "not UTF-8 text: control characters are not allowed"},
    {"a: @b\n", TSIM_ERR_SYNTAX, 1, 4, "cannot start any token"},
    {"a:\n\tb: 1\n", TSIM_ERR_SYNTAX, 2, 1, "cannot start any token"},
};

TSIM_TEST_ROWS(refused, REFUSED) {
    const struct refused *c = &REFUSED[_i];
    const struct tsim_value *root = NULL;
    ck_assert_int_eq(tsim_document_parse(&arena, "a.yaml", c->text, strlen(c->text), &root, &diags), c->status);
    ck_assert(c->has_root == (root != NULL));
    ck_assert_uint_eq(diags.n_errors, 1);
    assert_says(diags.items[0].message, c->message);
    ck_assert_int_eq(diags.items[0].at.line, c->line);
    ck_assert_int_eq(diags.items[0].at.column, c->column);
    ck_assert_str_eq(diags.items[0].at.file, "a.yaml");
}

TSIM_TEST(several_mistakes_at_once) {
    ck_assert_ptr_nonnull(parse("a: 1\n"
                                "a: 2\n"
                                "b: !!str x\n"
                                "c: {d: 1, d: 2}\n"));
    ck_assert_uint_eq(diags.n_errors, 3);
    ck_assert_str_eq(diags.items[0].source_line, "a: 2");
    assert_says(diags.items[0].hint, "keep one of them");
    ck_assert_int_eq(diags.items[2].at.line, 4);
}

/* The keys of both are there, each with its first value. */
TSIM_TEST(duplicate_mappings_are_joined) {
    const struct tsim_value *root = parse("a: {b: 1, c: {d: 2}}\ne: 3\na: {c: {d: 4, f: 5}, g: 6}\n");
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_uint_eq(root->n_items, 2);
    static const char *const VALUES[][2] = {{"a.b", "1"}, {"a.c.d", "2"}, {"a.c.f", "5"}, {"a.g", "6"}, {"e", "3"}};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++)
        ck_assert_str_eq(tsim_value_find_path(root, VALUES[i][0])->text, VALUES[i][1]);
}

TSIM_TEST(nul_byte) {
    const struct tsim_value *root = NULL;
    ck_assert_int_eq(tsim_document_parse(&arena, "a.yaml", "a: 1\nb: \0", 9, &root, &diags), TSIM_ERR_SYNTAX);
    ck_assert_int_eq(diags.items[0].at.line, 2);
    ck_assert_int_eq(diags.items[0].at.column, 4);
}

static char *repeat(const char *before, const char *text, size_t n, const char *after) {
    size_t length = strlen(text);
    char *all = tsim_arena_alloc(&arena, strlen(before) + n * length + strlen(after) + 1);
    strcpy(all, before);
    for (size_t i = 0; i < n; i++)
        memcpy(all + strlen(before) + i * length, text, length);
    strcpy(all + strlen(before) + n * length, after);
    return all;
}

/* The root mapping is level 1, so 62 lists around a scalar make 64. */
TSIM_TEST(depth_limit) {
    const char *in = repeat("a: ", "[", 62, "");
    parse_good(repeat(in, "]", 62, ""));
    ck_assert_ptr_null(parse(repeat("a: ", "[", 65, "")));
    ck_assert_int_eq(diags.items[0].status, TSIM_ERR_LIMIT);
    assert_says(diags.items[0].message, "nested deeper than 64 levels");
}

TSIM_TEST(depth_through_aliases) {
    const char *deep = repeat("a: &a ", "[", 40, repeat("", "]", 40, "\n"));
    const char *deeper = repeat(deep, "b: ", 1, repeat("", "[", 40, repeat("*a", "]", 40, "\n")));
    ck_assert_ptr_null(parse(deeper));
    assert_says(diags.items[0].message, "nested deeper than 64 levels");
}

TSIM_TEST(alias_bomb) {
    ck_assert_ptr_null(parse("a: &a [x, x, x, x, x, x, x, x, x, x]\n"
                             "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
                             "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
                             "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
                             "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"));
    ck_assert_int_eq(diags.items[0].status, TSIM_ERR_LIMIT);
    ck_assert_int_eq(diags.items[0].at.line, 5);
}

TSIM_TEST(sizes) {
    const struct tsim_value *root;
    char *keys = tsim_arena_alloc(&arena, 20 * 10000 + 1), *end = keys;
    for (int i = 0; i < 10000; i++)
        end += sprintf(end, "key%d: %d\n", i, i);
    ck_assert_int_eq(tsim_document_parse(&arena, "a.yaml", keys, strlen(keys), &root, &diags), TSIM_ERR_LIMIT);
    assert_says(diags.items[0].message, "keys in one mapping");
    char *large = repeat("", "#", TSIM_DOCUMENT_MAX_BYTES + 1, "");
    ck_assert_int_eq(tsim_document_parse(&arena, "a.yaml", large, strlen(large), &root, &diags), TSIM_ERR_LIMIT);
    assert_says(diags.items[1].message, "larger than 4 MB");
}

TSIM_TEST(files_that_cannot_be_read) {
    const struct tsim_value *root = NULL;
    ck_assert_int_eq(tsim_document_read(&arena, "/nonexistent/a.yaml", &root, &diags), TSIM_ERR_IO);
    assert_says(diags.items[0].message, "No such file");
    ck_assert_int_eq(tsim_document_read(&arena, "/", &root, &diags), TSIM_ERR_IO);
    assert_says(diags.items[1].message, "Is a directory");
    ck_assert_ptr_null(root);
}

TSIM_TEST(shown_lines) {
    const char *text = "a: 1\r\nb: \"\t\"\rc: \xC2\x85"
                       "d: 4\n";
    struct tsim_document document = {.arena = &arena, .file = "a", .text = text, .size = strlen(text)};
    ck_assert_str_eq(tsim_document_line(&document, 1, 1), "a: 1");
    ck_assert_str_eq(tsim_document_line(&document, 2, 1), "b: \"\t\"");
    ck_assert_str_eq(tsim_document_line(&document, 3, 1), "c: ");
    ck_assert_str_eq(tsim_document_line(&document, 4, 1), "d: 4");
    ck_assert_ptr_null(tsim_document_line(&document, 5, 1));
    document.text = repeat("", "\xC3\xA9", 200, ""); /* cut at 160 bytes, between two characters */
    document.size = 400;
    ck_assert_ptr_null(tsim_document_line(&document, 0, 1)); /* a value that has no place has no line */
    ck_assert_uint_eq(strlen(tsim_document_line(&document, 1, 1)), 160);
    ck_assert_ptr_null(tsim_document_line(&document, 1, 161)); /* the caret would stand beyond the cut */
    document.text = "x\x1B[1my";
    document.size = 6;
    ck_assert_str_eq(tsim_document_line(&document, 1, 1), "x?[1my");
}

/* ---- merging ---- */

static const char *text_at(const struct tsim_value *root, const char *path) {
    const struct tsim_value *value = tsim_value_find_path(root, path);
    return value && value->kind == TSIM_VALUE_SCALAR ? value->text : NULL;
}

TSIM_TEST(merging) {
    const struct tsim_value *base = parse_good("a: {x: 1, y: 2}\n"
                                               "l: [1, 2]\n"
                                               "s: {value: 3, status: estimate}\n"
                                               "r: {extends: p, k: 1}\n");
    const struct tsim_value *over = parse_good("l: [3]\n"
                                               "a: {y: 5, z: 6}\n"
                                               "s: {value: 4}\n"
                                               "r: {extends: q}\n"
                                               "n: new\n");
    const struct tsim_value *merged = tsim_value_merge(&arena, base, over);
    ck_assert_str_eq(text_at(merged, "a.x"), "1");
    ck_assert_str_eq(text_at(merged, "a.y"), "5");
    ck_assert_str_eq(text_at(merged, "a.z"), "6");
    ck_assert_uint_eq(tsim_value_find(merged, "l")->n_items, 1);
    ck_assert_ptr_null(text_at(merged, "s.status")); /* a sourced value is one value */
    ck_assert_ptr_null(text_at(merged, "r.k"));      /* another base replaces */
    ck_assert_str_eq(text_at(merged, "n"), "new");
    ck_assert_str_eq(text_at(base, "a.y"), "2"); /* untouched */
    ck_assert_ptr_eq(tsim_value_merge(&arena, base, NULL), base);
    ck_assert_ptr_eq(tsim_value_merge(&arena, NULL, over), over);
}

/* The keys of an anchor stand where a mapping of another program's file takes them over and does not have them itself. */
TSIM_TEST(merge_keys_of_other_programs) {
    const struct tsim_value *root;
    static const char TEXT[] = "a: &x {k: 1, l: 2}\nb: &y {<<: *x, l: 3}\nc: {m: 4, <<: [*y, {m: 5, n: 6}]}\n";
    ck_assert_int_eq(tsim_document_parse_wide(&arena, "f", TEXT, strlen(TEXT), &root, &diags), TSIM_OK);
    static const char *const VALUES[][2] = {{"b.k", "1"}, {"b.l", "3"}, {"c.k", "1"},
                                            {"c.l", "3"}, {"c.m", "4"}, {"c.n", "6"}};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++)
        ck_assert_str_eq(text_at(root, VALUES[i][0]), VALUES[i][1]);
    ck_assert_uint_eq(tsim_value_find(root, "c")->n_items, 4);
}

/* ---- setting ---- */

static const char *const REFERENCES[] = {"node", "accelerator"};

static const struct tsim_value *set(const struct tsim_value *root, const char *path, const char *text) {
    const struct tsim_value *value, *result = NULL;
    ck_assert_int_eq(tsim_document_parse_override(&arena, path, text, NULL, &value, &diags), TSIM_OK);
    tsim_value_set(&arena, root, path, value, REFERENCES, 2, &result, &diags);
    return result;
}

TSIM_TEST(setting) {
    const struct tsim_value *root = parse_good("cluster: {node: dgx, nodes: 4}\n"
                                               "order: [a, b, [c]]\n"
                                               "recompute: none\n");
    ck_assert_str_eq(text_at(set(root, "cluster.nodes", "8"), "cluster.nodes"), "8");
    ck_assert_str_eq(text_at(set(root, "cluster.nodes", "8"), "cluster.node"), "dgx"); /* its neighbours stay */
    ck_assert_str_eq(text_at(root, "cluster.nodes"), "4");
    ck_assert_str_eq(text_at(set(root, "new.deep.key", "x"), "new.deep.key"), "x");
    ck_assert_str_eq(tsim_value_find(set(root, "order[1]", "z"), "order")->items[1]->text, "z");
    ck_assert_str_eq(tsim_value_find(set(root, "order.0", "z"), "order")->items[0]->text, "z");
    ck_assert_str_eq(tsim_value_find(set(root, "order[2][0]", "z"), "order")->items[2]->items[0]->text, "z");
    ck_assert_uint_eq(tsim_value_find(set(root, "order", "[x]"), "order")->n_items, 1);
    ck_assert_str_eq(text_at(set(root, "recompute.every", "4"), "recompute.every"), "4"); /* takes its place */
    ck_assert_ptr_null(text_at(set(root, "recompute.every", "4"), "recompute.extends"));
    ck_assert_uint_eq(diags.n_errors, 0);
}

/* A mapping takes the place of a scalar that stands in the way, in a list as well. */
TSIM_TEST(setting_below_an_item) {
    const struct tsim_value *root = parse_good("list: [a, b]\n");
    const struct tsim_value *changed = set(root, "list[0].node", "x");
    ck_assert_str_eq(text_at(tsim_value_find(changed, "list")->items[0], "node"), "x");
    ck_assert_ptr_null(text_at(tsim_value_find(changed, "list")->items[0], "extends"));
}

/* Two settings below one id are one amendment; a setting of `extends` names another one. */
TSIM_TEST(settings_below_a_reference_add_up) {
    const struct tsim_value *root = parse_good("cluster: {fabric: f}\n");
    const struct tsim_value *changed = set(set(root, "cluster.node.rent", "1"), "cluster.node.reserve", "2");
    const struct tsim_value *base = parse_good("node: dgx\n");
    const struct tsim_value *merged = tsim_value_merge(&arena, base, tsim_value_find(changed, "cluster"));
    ck_assert_str_eq(text_at(merged, "node.extends"), "dgx");
    ck_assert_str_eq(text_at(merged, "node.rent"), "1");
    ck_assert_str_eq(text_at(merged, "node.reserve"), "2");
    merged = tsim_value_merge(&arena, tsim_value_find(changed, "cluster"), tsim_value_find(changed, "cluster"));
    ck_assert(tsim_value_find(merged, "node")->is_patch); /* still an amendment */
    changed = set(parse_good("cluster: {node: dgx}\n"), "cluster.node.extends", "other");
    ck_assert_str_eq(text_at(changed, "cluster.node.extends"), "other");
    ck_assert_uint_eq(tsim_value_find_path(changed, "cluster.node")->n_items, 1);
}

/* A catalogue file's source is a text; anything else is left to its table. */
TSIM_TEST(the_source_of_a_file) {
    ck_assert_str_eq(parse_good("source: a page\n")->document->source, "a page");
    ck_assert_ptr_null(parse_good("source: [a, page]\n")->document->source);
}

/* A key below an id amends what the id stands for. */
TSIM_TEST(setting_below_a_reference) {
    const struct tsim_value *root = parse_good("cluster: {node: dgx}\n");
    const struct tsim_value *changed = set(root, "cluster.node.accelerator.rent", "5 USD/h");
    ck_assert_str_eq(text_at(changed, "cluster.node.extends"), "dgx");
    ck_assert_str_eq(text_at(changed, "cluster.node.accelerator.rent"), "5 USD/h");
    const struct tsim_value *base = parse_good("accelerator: h100\n");
    const struct tsim_value *node = tsim_value_find_path(changed, "cluster.node");
    const struct tsim_value *merged = tsim_value_merge(&arena, base, tsim_value_without(&arena, node, "extends"));
    ck_assert_str_eq(text_at(merged, "accelerator.extends"), "h100");
    ck_assert_str_eq(text_at(merged, "accelerator.rent"), "5 USD/h");
}

TSIM_TEST(override_has_no_line) {
    const struct tsim_value *value;
    ck_assert_int_eq(tsim_document_parse_override(&arena, "a.b", "[1, 2]", NULL, &value, &diags), TSIM_OK);
    ck_assert_int_eq(value->items[1]->line, 0);
    ck_assert(value->document->is_override);
    tsim_value_error(&diags, TSIM_ERR_SCHEMA, value, "a.b", "wrong");
    ck_assert_str_eq(diags.items[0].at.file, "--set a.b=[1, 2]");
    ck_assert_ptr_null(diags.items[0].source_line);
}

static const char *const BAD_PATHS[] = {"",
                                        ".",
                                        "a.",
                                        ".a",
                                        "a..b",
                                        "list[",
                                        "list[]",
                                        "list[x]",
                                        "list[2]",
                                        "list.-1",
                                        "list[99999999999999999999]",
                                        "list[0]x",
                                        "list.[0]",
                                        "list[0].a..b"};

TSIM_TEST_ROWS(bad_paths, BAD_PATHS) {
    const struct tsim_value *root = parse_good("list: [1, 2]\n");
    ck_assert_ptr_null(set(root, BAD_PATHS[_i], "x"));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_int_eq(diags.items[0].status, TSIM_ERR_REFERENCE);
}

TSIM_TEST(long_paths) {
    const struct tsim_value *root = parse_good("a: 1\n");
    ck_assert_ptr_null(set(root, repeat("a", ".a", 100000, ""), "x"));
    ck_assert_ptr_null(set(root, repeat("", "a", 100000, ""), "x"));
    ck_assert_uint_eq(diags.n_errors, 2);
}

/* ---- hostile input: any outcome but a crash, and a diag for every failure ---- */

static void survives(const char *text, size_t size) {
    const struct tsim_value *root = NULL;
    size_t n_errors = diags.n_errors;
    enum tsim_status status = tsim_document_parse(&arena, "a.yaml", text, size, &root, &diags);
    ck_assert(status != TSIM_OK || root);
    ck_assert((status == TSIM_OK) == (diags.n_errors == n_errors));
    tsim_diags_release(&diags);
    tsim_arena_reset(&arena);
}

TSIM_TEST(random_bytes) {
    struct random_source random = {7};
    for (int i = 0; i < 2000; i++) {
        char text[200];
        size_t size = (size_t)random_between(&random, 0, sizeof text);
        for (size_t j = 0; j < size; j++)
            text[j] = (char)random_u64(&random);
        survives(text, size);
    }
}

/* Characters that mean something in YAML come up more often than by chance. */
TSIM_TEST(random_yaml) {
    static const char letters[] = "ab: -[]{},&*#!|>'\"%@`?\n\n  \t\\<~1.\xC3\xA9";
    struct random_source random = {11};
    for (int i = 0; i < 20000; i++) {
        char text[80];
        size_t size = (size_t)random_between(&random, 0, sizeof text);
        for (size_t j = 0; j < size; j++)
            text[j] = letters[random_between(&random, 0, sizeof letters - 2)];
        survives(text, size);
    }
}

TSIM_TEST(nesting_of_megabytes) {
    static const char *const openers[] = {"[", "{", "- ", "? ", "[{", "a: [", "&a [", "!!x [", "\"", "|\n "};
    for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
        size_t n = 1000000 / strlen(openers[i]);
        struct tsim_arena own;
        tsim_arena_init(&own);
        char *text = tsim_arena_alloc(&own, 1000001);
        for (size_t j = 0; j < n; j++)
            memcpy(text + j * strlen(openers[i]), openers[i], strlen(openers[i]));
        survives(text, strlen(text));
        tsim_arena_release(&own);
    }
}

TSIM_MAIN(30, set_up, tear_down)
