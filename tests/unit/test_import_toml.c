/* TOML: keys and values as the specification of TOML 1.0.0 (toml.io) has them in its examples. */
#include "import/launches/toml.h"
#include "support/arena_rig.h"

#include <string.h>

static const char *shown(const struct tsim_value *value) {
    if (value->kind == TSIM_VALUE_SCALAR)
        return value->text;
    const char *text = "[";
    for (size_t i = 0; i < value->n_items; i++)
        text = tsim_arena_printf(&arena, "%s%s%s", text, i > 0 ? "," : "", shown(value->items[i]));
    return tsim_arena_printf(&arena, "%s]", text);
}

static const struct {
    const char *text, *settings;
} CASES[] = {
    {"# a comment\nkey = \"value\" # another", "key=value"},
    {"bare-key_1 = 1\n\"quoted key\" = 2\n'lit' = 3", "bare-key_1=1;quoted key=2;lit=3"},
    {"fruit.color = \"yellow\"\nfruit . flavor = \"banana\"", "fruit.color=yellow;fruit.flavor=banana"},
    {"[table-1]\nkey1 = 1\n[table-2.sub]\nkey1 = 2", "table-1.key1=1;table-2.sub.key1=2"},
    {"[ j . \"k\" ]\na = 1", "j.k.a=1"},
    {"s = \"I'm \\\"quotable\\\". Jos\\u00E9\\tx\"", "s=I'm \"quotable\". Jos\xC3\xA9\tx"},
    {"w = 'C:\\Users\\nodejs'", "w=C:\\Users\\nodejs"},
    {"s = \"\"\"\nRoses\nViolets\"\"\"", "s=Roses\nViolets"},
    {"s = \"\"\"\\\n   The quick \\\n\n   brown\\\n   \"\"\"", "s=The quick brown"},
    {"s = '''\nfirst ''newline\n'''", "s=first ''newline\n"},
    {"i = 1_000\nh = 0xDEADBEEF\nf = -2e-2\nb = true\nn = +99", "i=1_000;h=0xDEADBEEF;f=-2e-2;b=true;n=+99"},
    {"d = 1979-05-27T07:32:00Z", "d=1979-05-27T07:32:00Z"},
    {"a = [ 1, 2,\n  3, # three\n]\nb = []\nc = [[1], [\"x\", 'y']]", "a=[1,2,3];b=[];c=[[1],[x,y]]"},
    {"t = [{a = 1, b = [2]}, {a = 3}, 4]\nu = [[{a = 1}]]\na = 5",
     "t.0.a=1;t.0.b=[2];t.1.a=3;t=[,,4];u.0.0.a=1;u=[[]];a=5"},
    {"p = { x = 1, y = {z = 2} }\nq = {}", "p.x=1;p.y.z=2"},
    {"a = 1\r\nb = 2\r\n", "a=1;b=2"},
    {"", ""},
};

TSIM_TEST_ROWS(as_the_specification, CASES) {
    struct tsim_import_input input = {"x.toml", CASES[_i].text, strlen(CASES[_i].text), NULL, 0};
    struct tsim_recipe r;
    tsim_recipe_init(&r, &arena, &input, "TOML", NULL, &diags);
    ck_assert_int_eq(tsim_toml_read(&r), TSIM_OK);
    const char *all = "";
    for (size_t i = 0; i < r.n_settings; i++)
        all = tsim_arena_printf(&arena, "%s%s%s=%s", all, i > 0 ? ";" : "", r.settings[i].key,
                                shown(r.settings[i].value));
    ck_assert_str_eq(all, CASES[_i].settings);
    tsim_recipe_release(&r);
}

/* Memory grows with the file, not with its square. */
TSIM_TEST(many_strings_take_little_memory) {
    enum { N = 3000 };
    const char *text = "a = [";
    for (int i = 0; i < N / 100; i++)
        text = tsim_arena_printf(&arena, "%s%s\n", text,
                                 "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
                                 "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
                                 "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
                                 "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',"
                                 "'a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a','a',");
    text = tsim_arena_printf(&arena, "%s]", text);
    struct tsim_import_input input = {"x.toml", text, strlen(text), NULL, 0};
    struct tsim_recipe r;
    tsim_recipe_init(&r, &arena, &input, "TOML", NULL, &diags);
    size_t before = arena.used_bytes;
    ck_assert_int_eq(tsim_toml_read(&r), TSIM_OK);
    ck_assert_uint_eq(r.settings[0].value->n_items, N);
    ck_assert_uint_lt(arena.used_bytes - before, 200 * strlen(text));
    tsim_recipe_release(&r);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
