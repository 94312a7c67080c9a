/* Schema tables: every kind of key, every mistake at its place, sources, and a writer whose text reads back. */
#include "config/keys/schema.h"
#include "config/text/document.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

enum colour { RED, GREEN = 5 };

struct inner {
    double power_w;
    bool is_on;
};

struct thing {
    const char *name;
    bool flag;
    int64_t count, replicas;
    double rate_bytes_per_s, share_frac, measured_flops_per_s;
    enum colour colour;
    struct inner inner;
    int64_t custom;
};

static const struct tsim_word SCHEMA_WORDS[] = {{"thing/v1", 0}, {NULL, 0}};
static const struct tsim_word COLOURS[] = {{"red", RED}, {"green", GREEN}, {NULL, 0}};
static const struct tsim_word AUTO[] = {{"auto", 0}, {"none", -1}, {NULL, 0}};

/* A list whose length counts. */
static void read_custom(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (value && value->kind == TSIM_VALUE_SEQUENCE)
        *(int64_t *)field = (int64_t)value->n_items;
    else if (value)
        tsim_schema_wrong_kind(reader, value, path, "a list");
}

static void write_custom(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    (void)path;
    tsim_writer_begin(writer, key, '[');
    for (int64_t i = 0; i < *(const int64_t *)field; i++)
        tsim_writer_int(writer, NULL, i);
    tsim_writer_end(writer, ']');
}

/* clang-format off */
static const struct tsim_key INNER_KEYS[] = {
    {.key = "power", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .offset = offsetof(struct inner, power_w),
     .is_required = true, .is_positive = true, .help = "drawn"},
    {.key = "on", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct inner, is_on), .default_text = "true", .help = "h"},
};
TSIM_TABLE(INNER, INNER_KEYS, true);
static const struct tsim_key KEYS[] = {
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = SCHEMA_WORDS, .help = "h"},
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(struct thing, name), .is_required = true, .help = "its name"},
    {.key = "flag", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct thing, flag), .help = "h"},
    {.key = "count", .kind = TSIM_KEY_INT, .offset = offsetof(struct thing, count), .default_text = "3", .max = 1e6,
     .is_positive = true, .help = "h"},
    {.key = "replicas", .kind = TSIM_KEY_INT, .offset = offsetof(struct thing, replicas), .words = AUTO,
     .default_text = "auto", .max = 1e6, .help = "h"},
    {.key = "rate", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_BYTES_PER_S, .default_text = "1 GB/s",
     .offset = offsetof(struct thing, rate_bytes_per_s), .help = "h"},
    {.key = "share", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1,
     .offset = offsetof(struct thing, share_frac), .is_omitted_when_zero = true, .help = "h"},
    {.key = "tflops", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FLOPS_PER_S, .takes_bare = true, .bare_scale = 1e12,
     .offset = offsetof(struct thing, measured_flops_per_s), .is_omitted_when_zero = true, .help = "h"},
    {.key = "colour", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct thing, colour), .words = COLOURS,
     .default_text = "green", .help = "h"},
    {.key = "inner", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct thing, inner), .table = &INNER, .help = "h"},
    {.key = "custom", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct thing, custom), .read = read_custom,
     .write = write_custom, .help = "h"},
};
TSIM_TABLE(THING, KEYS, true);
/* clang-format on */

static const struct tsim_value *parse(const char *text) {
    const struct tsim_value *root = NULL;
    ck_assert_int_eq(tsim_document_parse(&arena, "t.yaml", text, strlen(text), &root, &diags), TSIM_OK);
    return root;
}

static struct thing read_thing(const char *text) {
    struct tsim_reader reader = {.arena = &arena, .diags = &diags};
    struct thing thing;
    memset(&thing, 0, sizeof thing);
    tsim_schema_read(&reader, &THING, parse(text), "", &thing);
    return thing;
}

TSIM_TEST(every_kind) {
    struct thing t = read_thing("schema: thing/v1\n"
                                "name: it\n"
                                "flag: true\n"
                                "count: 4 Ki\n"
                                "replicas: 7\n"
                                "rate: 400 Gb/s\n"
                                "share: 25 %\n"
                                "tflops: 2 TFLOP/s\n"
                                "colour: red\n"
                                "inner: {power: 2 kW, on: false}\n"
                                "custom: [a, b]\n");
    ck_assert_uint_eq(diags.n_errors, 0);
    ck_assert_str_eq(t.name, "it");
    ck_assert(t.flag);
    ck_assert_int_eq(t.count, 4096);
    ck_assert_int_eq(t.replicas, 7);
    ck_assert_double_eq(t.rate_bytes_per_s, 50e9);
    ck_assert_double_eq(t.share_frac, 0.25);
    ck_assert_double_eq(t.measured_flops_per_s, 2e12);
    ck_assert_int_eq(t.colour, RED);
    ck_assert_double_eq(t.inner.power_w, 2000);
    ck_assert(!t.inner.is_on);
    ck_assert_int_eq(t.custom, 2);
}

TSIM_TEST(defaults) {
    struct thing t = read_thing("name: it\n");
    ck_assert_uint_eq(diags.n_errors, 0); /* `inner` is absent as a whole: then its power is not required */
    ck_assert_int_eq(t.count, 3);
    ck_assert_int_eq(t.replicas, 0);
    ck_assert_double_eq(t.rate_bytes_per_s, 1e9);
    ck_assert_int_eq(t.colour, GREEN);
    ck_assert(t.inner.is_on);
    ck_assert_double_eq(t.inner.power_w, 0);
}

TSIM_TEST(words_and_bare_numbers) {
    ck_assert_int_eq(read_thing("{name: n, replicas: none}").replicas, -1);
    ck_assert_int_eq(read_thing("{name: n, replicas: 0}").replicas, 0);
    ck_assert_double_eq(read_thing("{name: n, tflops: 137.5}").measured_flops_per_s, 137.5e12);
    ck_assert_double_eq(read_thing("{name: n, rate: 0}").rate_bytes_per_s, 0);
    ck_assert_str_eq(read_thing("{name: \"\"}").name, ""); /* quoted: meant */
    ck_assert_uint_eq(diags.n_errors, 0);
}

static const struct mistake {
    const char *text;
    enum tsim_status status;
    int line, column;
    const char *field, *message, *hint;
} MISTAKES[] = {
    {"flag: true\n", TSIM_ERR_SCHEMA, 1, 1, "", "missing key 'name'", "name: its name"},
    {"name: n\ncuont: 3\n", TSIM_ERR_SCHEMA, 2, 1, "", "'cuont' in the file", "did you mean 'count'?"},
    {"name: n\ninner: {power: 1 W, watts: 3}\n", TSIM_ERR_SCHEMA, 2, 21, "", "unknown key 'watts' in inner",
     "its keys are: power, on"},
    {"name: n\ninner: {on: true}\n", TSIM_ERR_SCHEMA, 2, 8, "", "missing key 'inner.power'", "power: drawn"},
    {"name: [n]\n", TSIM_ERR_SCHEMA, 1, 7, "name", "expected text, found a list", ""},
    {"name:\n", TSIM_ERR_SCHEMA, 1, 6, "name", "has no value, expected text", ""},
    {"name: ~\n", TSIM_ERR_SCHEMA, 1, 7, "name", "expected text, found '~'", ""},
    {"name: n\nflag: yes\n", TSIM_ERR_SCHEMA, 2, 7, "flag", "expected true or false, found 'yes'",
     "yes, no, on and off are not taken"},
    {"name: n\nflag: 'true'\n", TSIM_ERR_SCHEMA, 2, 7, "flag", "expected true or false, found 'true'",
     "write it without quotes"},
    {"name: n\nflag: [true]\n", TSIM_ERR_SCHEMA, 2, 7, "flag", "expected true or false, found a list",
     "yes, no, on and off are not taken"},
    {"name: n\ncount: 1.5\n", TSIM_ERR_RANGE, 2, 8, "count", "not a whole number", "1024 or 128 k"},
    {"name: n\nreplicas: 1e16\n", TSIM_ERR_RANGE, 2, 11, "replicas", "1e16 is out of range", "0 to 1 M"},
    {"name: n\ncount: 0\n", TSIM_ERR_RANGE, 2, 8, "count", "0 is out of range", "1 to 1 M"},
    {"name: n\ncount: -1\n", TSIM_ERR_RANGE, 2, 8, "count", "-1 is out of range", "1 to 1 M"},
    {"name: n\ncount: 2 M\n", TSIM_ERR_RANGE, 2, 8, "count", "2 M is out of range", "1 to 1 M"},
    {"name: n\ncount: many\n", TSIM_ERR_SCHEMA, 2, 8, "count", "start with a number", "1024, 0.5 or 1e-3"},
    {"name: n\ncount: {x: 1}\n", TSIM_ERR_SCHEMA, 2, 8, "count", "expected a count, found a mapping", ""},
    {"name: n\nreplicas: atuo\n", TSIM_ERR_SCHEMA, 2, 11, "replicas", "unknown word 'atuo'", "did you mean 'auto'?"},
    {"name: n\nrate: 400\n", TSIM_ERR_UNIT, 2, 7, "rate", "expected bytes per second", "write 400 GB/s"},
    {"name: n\nrate: 400 GB\n", TSIM_ERR_UNIT, 2, 7, "rate", "expected bytes per second", "for example '3.35 TB/s'"},
    {"name: n\nrate: -1 GB/s\n", TSIM_ERR_RANGE, 2, 7, "rate", "-1 GB/s is out of range", "kB/s to 1 EB/s"},
    {"name: n\ninner: {power: 0 W}\n", TSIM_ERR_RANGE, 2, 16, "inner.power", "0 W is out of range",
     "must be from 1 mW to 1 GW"},
    {"name: n\nshare: 1.2\n", TSIM_ERR_RANGE, 2, 8, "share", "1.2 is out of range", "from 0.000001 to 1"},
    {"name: n\ncolour: blue\n", TSIM_ERR_SCHEMA, 2, 9, "colour", "unknown word 'blue'", "one of: red, green"},
    {"name: n\ncolour: gren\n", TSIM_ERR_SCHEMA, 2, 9, "colour", "unknown word 'gren'", "did you mean 'green'?"},
    {"name: n\ncolour: {}\n", TSIM_ERR_SCHEMA, 2, 9, "colour", "expected a word, found a mapping", ""},
    {"name: n\ninner: 5 W\n", TSIM_ERR_SCHEMA, 2, 8, "inner", "values, found '5 W'", ""},
    {"name: n\nschema: thing/v2\n", TSIM_ERR_SCHEMA, 2, 9, "schema", "expected 'thing/v1', found 'thing/v2'", ""},
    {"name: n\ncustom: x\n", TSIM_ERR_SCHEMA, 2, 9, "custom", "expected a list, found 'x'", ""},
    {"name: n\nrate: {value: 5 W, source: s}\n", TSIM_ERR_UNIT, 2, 15, "rate",
     "'5 W' is power, expected bytes per second", "for example '3.35 TB/s'"},
    {"name: n\nrate: {source: s}\n", TSIM_ERR_SCHEMA, 2, 7, "", "missing key 'rate.value'", "value: the value itself"},
    {"name: n\nrate: {value: 5 GB/s, sauce: s}\n", TSIM_ERR_SCHEMA, 2, 23, "", "unknown key 'sauce' in rate",
     "did you mean 'source'?"},
    {"name: n\nrate: {value: 5 GB/s, status: guess}\n", TSIM_ERR_SCHEMA, 2, 31, "rate.status", "unknown word 'guess'",
     "read, derived, fitted, estimate"},
    {"name: n\nrate: {value: 5 GB/s, interval: 4 GB/s}\n", TSIM_ERR_SCHEMA, 2, 33, "rate.interval",
     "high], found '4 GB/s'", ""},
    {"name: n\nrate: {value: 5 GB/s, interval: [4 GB/s]}\n", TSIM_ERR_SCHEMA, 2, 33, "rate.interval",
     "high], found a list", ""},
    {"name: n\nrate: {value: 5 GB/s, interval: [6 GB/s, 7 GB/s]}\n", TSIM_ERR_SCHEMA, 2, 33, "rate",
     "the value is not within its interval", "[low, high] with the value between them"},
    {"name: n\nrate: {value: 5 GB/s, interval: [4 W, 7 GB/s]}\n", TSIM_ERR_UNIT, 2, 34, "rate",
     "'4 W' is power, expected bytes per second", "for example '3.35 TB/s'"},
    {"name: n\ncolour: {value: red, interval: [1, 2]}\n", TSIM_ERR_SCHEMA, 2, 32, "colour.interval",
     "expected none: intervals are of quantities, found a list", ""},
};

TSIM_TEST_ROWS(mistakes, MISTAKES) {
    const struct mistake *c = &MISTAKES[_i];
    read_thing(c->text);
    ck_assert_uint_eq(diags.n_errors, 1);
    const struct tsim_diag *diag = &diags.items[0];
    assert_says(diag->message, c->message);
    assert_says(diag->hint, c->hint);
    ck_assert_str_eq(diag->field, c->field);
    ck_assert_int_eq(diag->status, c->status);
    ck_assert_int_eq(diag->at.line, c->line);
    ck_assert_int_eq(diag->at.column, c->column);
}

TSIM_TEST(all_mistakes_at_once) {
    struct thing t = read_thing("{nam: x, count: x, rate: 5, colour: x, inner: {power: x}, custom: 3}");
    ck_assert_uint_eq(diags.n_errors, 7); /* with the missing name */
    ck_assert_double_eq(t.rate_bytes_per_s, 0);
}

TSIM_TEST(many_mistakes_are_counted) {
    char *text = tsim_arena_alloc(&arena, 20 * 4000 + 100), *end = text;
    for (int i = 0; i < 4000; i++)
        end += sprintf(end, "key%d: %d\n", i, i);
    read_thing(text);
    ck_assert_uint_eq(diags.n_errors, 4001);
    ck_assert_uint_eq(diags.n_items, TSIM_MAX_DIAGS);
}

/* ---- sources ---- */

struct notes {
    struct tsim_note items[20];
    size_t n;
};

static void keep(void *context, const struct tsim_note *note) {
    struct notes *notes = context;
    ck_assert_uint_lt(notes->n, 20);
    notes->items[notes->n++] = *note;
}

static const struct tsim_note *find_note(const struct notes *notes, const char *path) {
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->items[i].path, path) == 0)
            return &notes->items[i];
    return NULL;
}

TSIM_TEST(sources) {
    struct notes notes = {.n = 0};
    struct tsim_reader reader = {.arena = &arena, .diags = &diags, .note = keep, .context = &notes};
    struct thing thing = {.name = NULL};
    struct tsim_document document = *parse("{a: 1}")->document;
    document.source = "the datasheet";
    struct tsim_value root = *parse("name: n\n"
                                    "inner: {power: {value: 3 W, source: a meter, status: estimate}}\n"
                                    "rate: {value: 5 GB/s, status: derived}\n"
                                    "count: 5\n");
    struct tsim_value count = *tsim_value_find(&root, "count");
    count.document = &document; /* as in a file with a `source:` of its own */
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(&arena, root.n_items, struct tsim_pair);
    memcpy(pairs, root.pairs, root.n_items * sizeof *pairs);
    pairs[3].value = &count;
    root.pairs = pairs;
    tsim_schema_read(&reader, &THING, &root, "", &thing);
    ck_assert_uint_eq(diags.n_errors, 0);
    const struct tsim_note *power = find_note(&notes, "inner.power");
    ck_assert_str_eq(power->source, "a meter");
    ck_assert_int_eq(power->status, TSIM_SOURCE_ESTIMATE);
    ck_assert_double_eq(power->number, 3);
    ck_assert_ptr_null(find_note(&notes, "rate")->source);
    ck_assert_int_eq(find_note(&notes, "rate")->status, TSIM_SOURCE_DERIVED);
    ck_assert_str_eq(find_note(&notes, "count")->source, "the datasheet");
    ck_assert_int_eq(find_note(&notes, "count")->status, TSIM_SOURCE_READ);
    ck_assert(find_note(&notes, "colour")->is_default);
    ck_assert_str_eq(find_note(&notes, "colour")->text, "green");
    ck_assert(!find_note(&notes, "count")->is_default);
    ck_assert_ptr_null(find_note(&notes, "share")); /* neither given nor with a default */
}

/* ---- writing ---- */

static const char *write_thing(const struct thing *thing, const char *const *estimates, size_t n_estimates) {
    struct tsim_writer writer = {.estimate_paths = estimates, .n_estimate_paths = n_estimates};
    tsim_writer_begin(&writer, NULL, '{');
    tsim_writer_table(&writer, &THING, "", thing);
    tsim_writer_end(&writer, '}');
    return tsim_writer_finish(&writer, &arena);
}

TSIM_TEST(json) {
    static const char *const estimates[] = {"inner.power"};
    struct thing thing = {.name = "it",
                          .count = 3,
                          .replicas = 0,
                          .rate_bytes_per_s = 50e9,
                          .colour = GREEN,
                          .inner = {.power_w = 0.1, .is_on = true},
                          .custom = 2};
    ck_assert_str_eq(write_thing(&thing, estimates, 1), "{\n"
                                                        "  \"schema\": \"thing/v1\",\n"
                                                        "  \"name\": \"it\",\n"
                                                        "  \"flag\": false,\n"
                                                        "  \"count\": 3,\n"
                                                        "  \"replicas\": \"auto\",\n"
                                                        "  \"rate\": \"50000000000 B/s\",\n"
                                                        "  \"colour\": \"green\",\n"
                                                        "  \"inner\": {\n"
                                                        "    \"power\": {\n"
                                                        "      \"value\": \"0.1 W\",\n"
                                                        "      \"status\": \"estimate\"\n"
                                                        "    },\n"
                                                        "    \"on\": true\n"
                                                        "  },\n"
                                                        "  \"custom\": [\n"
                                                        "    0,\n"
                                                        "    1\n"
                                                        "  ]\n"
                                                        "}\n");
    thing.custom = 0;
    ck_assert_ptr_nonnull(strstr(write_thing(&thing, NULL, 0), "\"custom\": []"));
}

/* Texts that JSON and libyaml treat differently: quotes, controls, separators, marks, characters beyond 16 bits. */
static const char *const TEXTS[] = {
    "plain",
    "a \"quoted\" \\ back/slash",
    "tab\tnewline\nreturn\r",
    "\x01\x1F\x7F",
    "\xC2\x80\xC2\x85\xC2\xA0",
    "\xE2\x80\xA8\xE2\x80\xA9",
    "\xEF\xBB\xBF",
    "\xEF\xBF\xBD",
    "\xF0\x9F\x98\x80 caf\xC3\xA9",
    "true",
    "~",
    " # not a comment",
    "{a: 1}",
    "- x",
    "*x",
};

TSIM_TEST_ROWS(text_reads_back, TEXTS) {
    struct thing thing = {.name = TEXTS[_i], .count = 1, .inner = {.power_w = 1}};
    ck_assert_str_eq(read_thing(write_thing(&thing, NULL, 0)).name, TEXTS[_i]);
    ck_assert_uint_eq(diags.n_errors, 0);
}

TSIM_TEST(text_that_is_not_utf8_is_marked) {
    struct thing thing = {.name = "a\xFF\xC3"
                                  "b",
                          .count = 1,
                          .inner = {.power_w = 1}};
    ck_assert_str_eq(read_thing(write_thing(&thing, NULL, 0)).name, "a\xEF\xBF\xBD\xEF\xBF\xBD"
                                                                    "b");
    thing.name = "\x80\xF0\x9F\x98\x80"; /* no first byte of a character, then one of four bytes */
    ck_assert_str_eq(read_thing(write_thing(&thing, NULL, 0)).name, "\xEF\xBF\xBD\xF0\x9F\x98\x80");
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
