/* A scenario file that is read once and loaded many times gives what loading the file each time gives. */
#include "config/catalogue_load.h"
#include "config/scenario.h"
#include "support/check_main.h"

#include <string.h>
#include <unistd.h>

static char folder[64];
static struct tsim_arena arena, other;
static struct tsim_diags diags;

static const char *write_file(const char *name, const char *text) {
    const char *file = tsim_arena_printf(&arena, "%s/%s", folder, name);
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
    return file;
}

static const char MODEL[] = "schema: tsim/model/v1\nname: tiny\nkind: transformer\nlayers: %d\nhidden: 1024\nheads: 8\n"
                            "ffn_hidden: 4096\nvocab: 32000\nsource: a test\n";

static const char *write_model(int layers) {
    return write_file("tiny.yaml", tsim_arena_printf(&arena, MODEL, layers));
}

static const char *write_scenario(void) {
    write_file("base.yaml", "schema: tsim/v1\nname: base\nmodel: ./tiny.yaml\ncluster: {node: dgx-h100}\n");
    return write_file("s.yaml", "extends: base.yaml\nname: s\ntraining: {sequence_length: 1024}\n");
}

static void setup(void) {
    snprintf(folder, sizeof folder, "/tmp/tsim-test-source-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    tsim_arena_init(&arena);
    tsim_arena_init(&other);
    tsim_diags_init(&diags);
    write_model(4);
}

static void teardown(void) {
    static const char *const NAMES[] = {"tiny.yaml", "base.yaml", "s.yaml"};
    for (size_t i = 0; i < 3; i++)
        unlink(tsim_arena_printf(&arena, "%s/%s", folder, NAMES[i]));
    rmdir(folder);
    tsim_diags_release(&diags);
    tsim_arena_release(&other);
    tsim_arena_release(&arena);
}

static const struct tsim_override TENSOR = {"parallelism.tensor", "2"};

static const struct tsim_scenario *load_from(const struct tsim_scenario_source *source, size_t n_overrides) {
    const struct tsim_scenario *scenario = NULL;
    ck_assert_int_eq(tsim_scenario_load_from(&arena, source, &TENSOR, n_overrides, &scenario, &diags), TSIM_OK);
    return scenario;
}

TSIM_TEST(loads_are_as_from_the_file) {
    const char *file = write_scenario();
    struct tsim_scenario_source source;
    const struct tsim_scenario *whole;
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
    for (size_t n = 0; n <= 1; n++) {
        ck_assert_int_eq(tsim_scenario_load(&arena, file, &TENSOR, n, &whole, &diags), TSIM_OK);
        ck_assert_str_eq(tsim_scenario_json(&arena, load_from(&source, n)), tsim_scenario_json(&arena, whole));
        ck_assert_str_eq(load_from(&source, n)->file, file);
    }
    ck_assert_int_eq(load_from(&source, 1)->parallelism.tensor, 2);
    ck_assert_int_eq(load_from(&source, 0)->parallelism.tensor, 1); /* an override leaves no trace */
}

/* Standard input cannot be read twice: the text is kept. The files that it extends are read again. */
TSIM_TEST(it_is_opened_again_without_its_file) {
    const char *file = write_scenario();
    struct tsim_scenario_source source, again;
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
    unlink(file);
    ck_assert_int_eq(tsim_scenario_reopen(&other, &source, &again, &diags), TSIM_OK);
    ck_assert_str_eq(tsim_scenario_json(&arena, load_from(&again, 1)),
                     tsim_scenario_json(&arena, load_from(&source, 1)));
}

/* All loads from one source see the catalogue as it was at the first one; a new source sees what is there now. */
TSIM_TEST(catalogue_files_are_read_once) {
    const char *file = write_scenario();
    struct tsim_scenario_source source, later;
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
    ck_assert_int_eq(load_from(&source, 0)->model->layers, 4);
    write_model(6);
    ck_assert_int_eq(load_from(&source, 0)->model->layers, 4);
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &later, &diags), TSIM_OK);
    ck_assert_int_eq(load_from(&later, 0)->model->layers, 6);
}

/* A kept file serves the scenarios that are opened later, as long as it is as it was. */
TSIM_TEST(kept_files_are_read_anew_when_they_change) {
    static const int LAYERS[] = {4, 4, 6, 12};
    const char *file = write_scenario();
    tsim_catalogue_keep(&other);
    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        struct tsim_scenario_source source;
        if (i > 0 && LAYERS[i] != LAYERS[i - 1])
            write_model(LAYERS[i]);
        ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
        ck_assert_int_eq(load_from(&source, 0)->model->layers, LAYERS[i]);
    }
    tsim_catalogue_keep(NULL);
}

TSIM_TEST(mistakes_keep_their_places) {
    const char *file = write_scenario();
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    const struct tsim_override wrong = {"parallelism.tensor", "two"};
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_ne(tsim_scenario_load_from(&arena, &source, &wrong, 1, &scenario, &diags), TSIM_OK);
    ck_assert_uint_eq(diags.n_errors, 2);
    ck_assert_str_eq(diags.items[1].at.file, "--set parallelism.tensor=two");
    ck_assert_int_eq(tsim_scenario_open(&arena, "/nowhere/s.yaml", &source, &diags), TSIM_ERR_IO);
    write_file("s.yaml", "extends: nobody.yaml\nname: s\n");
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(diags.items[diags.n_items - 1].at.line, 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
