/* Reads files of measurements: nccl-tests' tables and JSON (and fits links to them), calibration files of kernels,
 * traces of PyTorch's profiler, tables and databases of rocprof and Nsight Systems. */
#include "fuzz/fuzz.h"
#include "study/judge/calibrate.h"
#include "study/judge/calibrate_links.h"
#include "study/judge/profile.h"
#include "study/judge/profile_database.h"

enum { MOST_ROWS = 12 }; /* links are fitted to: with more the fit takes nearly all of the time */

static void read_collectives(struct tsim_arena *arena, const char *text, size_t size, struct tsim_diags *diags) {
    const struct tsim_nccl_hints hints = {.has_op = true, .op = TSIM_ALL_REDUCE, .n_ranks = 8};
    struct tsim_nccl_run run;
    struct tsim_link_calibration links;
    if (tsim_nccl_tests_read(arena, "all_reduce.txt", text, size, &hints, &run, diags) == TSIM_OK &&
        run.n_rows <= MOST_ROWS)
        tsim_calibrate_links(arena, "dgx-h100", "ib-ndr", &run, 1, &links, diags);
}

static void read_profile(struct tsim_arena *arena, const char *text, size_t size, struct tsim_diags *diags) {
    struct tsim_profile profile;
    tsim_profile_read_text(arena, "trace.json", text, size, &profile, diags);
}

static void read_files(struct tsim_arena *arena, const char *file, struct tsim_diags *diags) {
    struct tsim_calibration calibration;
    struct tsim_profile profile;
    if (tsim_profile_is_database(file))
        tsim_profile_read_database(arena, file, &profile, diags);
    else
        tsim_calibrate_kernels(arena, file, NULL, &calibration, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    char *text = malloc(size + 1); /* just as long, so that reading past it is seen */
    memcpy(text, data, size);
    text[size] = '\0';
    read_collectives(&arena, text, size, &diags);
    read_profile(&arena, text, size, &diags);
    const char *file = fuzz_file(".csv", data, size);
    read_files(&arena, file, &diags);
    unlink(file);
    free(text);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
