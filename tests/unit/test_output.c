/* base/output.h: files that are there as a whole or not at all; base/file_bytes.h: files that are read whole. */
#define _XOPEN_SOURCE 700 /* setreuid */
#include "base/file_bytes.h"
#include "base/output.h"
#include "support/arena_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tsim-output-XXXXXX";

static void set_up_folder(void) {
    set_up();
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void tear_down_folder(void) {
    ck_assert_int_eq(chdir("/tmp"), 0);
    ck_assert_int_eq(system(tsim_arena_printf(&arena, "rm -rf %s", folder)), 0);
    tear_down();
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static const char *text_of(const char *name) {
    static char text[100];
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int n_files(void) {
    DIR *dir = opendir(".");
    int n = -2; /* . and .. */
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static struct tsim_output *open_output(const char *name) {
    struct tsim_output *output = NULL;
    ck_assert_int_eq(tsim_output_open(&arena, name, &output, &diags), TSIM_OK);
    fputs("new", tsim_output_stream(output));
    return output;
}

TSIM_TEST(a_file_is_as_it_was_until_it_is_kept) {
    put("a", "old");
    ck_assert_int_eq(chmod("a", 0640), 0);
    struct tsim_output *output = open_output("a");
    ck_assert_str_eq(text_of("a"), "old");
    ck_assert_int_eq(n_files(), 2);
    ck_assert_int_eq(tsim_output_keep(output, &diags), TSIM_OK);
    struct stat info;
    ck_assert_str_eq(text_of("a"), "new");
    ck_assert_int_eq(stat("a", &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777, 0640);
    ck_assert_int_eq(n_files(), 1);
}

TSIM_TEST(what_is_discarded_was_never_there) {
    put("a", "old");
    tsim_output_discard(open_output("a"));
    tsim_output_discard(open_output("b"));
    ck_assert_str_eq(text_of("a"), "old");
    ck_assert_int_eq(n_files(), 1);
}

TSIM_TEST(a_link_stays_one) {
    put("a", "old");
    ck_assert_int_eq(symlink("a", "link"), 0);
    ck_assert_int_eq(tsim_output_keep(open_output("link"), &diags), TSIM_OK);
    struct stat info;
    ck_assert_int_eq(lstat("link", &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    ck_assert_str_eq(text_of("a"), "new");
}

/* Devices and pipes are written to; /dev/fd and /proc lead to files that somebody has open. */
TSIM_TEST(what_is_no_file_is_written_to) {
    put("a", "");
    FILE *held = fopen("a", "r+");
    char name[2][64];
    snprintf(name[0], sizeof name[0], "/dev/fd/%d", fileno(held));
    snprintf(name[1], sizeof name[1], "/proc/self/fd/%d", fileno(held));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tsim_output_keep(open_output(name[i]), &diags), TSIM_OK);
        ck_assert_str_eq(text_of("a"), "new");
    }
    fclose(held);
    ck_assert_int_eq(tsim_output_keep(open_output("/dev/null"), &diags), TSIM_OK);
    tsim_output_discard(open_output("/dev/null"));
    ck_assert_int_eq(n_files(), 1);
}

TSIM_TEST(several_at_a_time) {
    struct tsim_output *outputs[TSIM_MOST_OUTPUTS];
    for (int i = 0; i < TSIM_MOST_OUTPUTS; i++)
        outputs[i] = open_output(tsim_arena_printf(&arena, "%d", i));
    tsim_output_discard(outputs[2]);
    outputs[2] = open_output("again");
    for (int i = 0; i < TSIM_MOST_OUTPUTS; i++)
        ck_assert_int_eq(tsim_output_keep(outputs[i], &diags), TSIM_OK);
    ck_assert_int_eq(n_files(), TSIM_MOST_OUTPUTS);
}

TSIM_TEST(tried_before_it_is_written) {
    ck_assert_int_eq(tsim_output_try("new", &diags), TSIM_OK);
    ck_assert_int_eq(tsim_output_try("/dev/null", &diags), TSIM_OK);
    ck_assert_int_eq(tsim_output_try(".", &diags), TSIM_ERR_IO);
    ck_assert_int_eq(tsim_output_try("no/such/folder", &diags), TSIM_ERR_IO);
    ck_assert_int_eq(n_files(), 0);
}

TSIM_TEST(failures_name_the_file) {
    struct tsim_output *output;
    static const char *const NAMES[] = {"no/such/folder", "."};
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(tsim_output_open(&arena, NAMES[i], &output, &diags), TSIM_ERR_IO);
    ck_assert_str_eq(diags.items[0].at.file, "no/such/folder");
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "No such file"));
    output = open_output("/dev/full");
    ck_assert_int_eq(tsim_output_keep(output, &diags), TSIM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(diags.items[2].message, "No space left"));
    ck_assert_int_eq(mkdir("sub", 0755), 0);
    output = open_output("sub/a");
    ck_assert_int_eq(system("rm -rf sub"), 0);
    ck_assert_int_eq(tsim_output_keep(output, &diags), TSIM_ERR_IO); /* nowhere to rename it to */
    ck_assert_int_eq(n_files(), 0);
}

/* Whoever is not root is refused; root asks as somebody else. */
TSIM_TEST(a_file_that_may_not_be_written) {
    struct tsim_output *output;
    put("a", "old");
    ck_assert_int_eq(chmod("a", 0444), 0);
    if (getuid() == 0)
        ck_assert_int_eq(setreuid(65534, (uid_t)-1), 0);
    ck_assert_int_eq(tsim_output_open(&arena, "a", &output, &diags), TSIM_ERR_IO);
    if (geteuid() == 0)
        ck_assert_int_eq(setreuid(0, (uid_t)-1), 0);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "Permission denied"));
    ck_assert_str_eq(text_of("a"), "old");
    ck_assert_int_eq(n_files(), 1);
}

TSIM_TEST(files_that_cannot_be_read) {
    struct tsim_file_bytes bytes;
    ck_assert_int_eq(mkdir("folder", 0755), 0);
    put("long", "0123456789");
    ck_assert_int_eq(tsim_file_read(&arena, "folder", 100, "a thing", &bytes, &diags), TSIM_ERR_IO);
    ck_assert_int_eq(tsim_file_read(&arena, "nowhere", 100, "a thing", &bytes, &diags), TSIM_ERR_IO);
    ck_assert_int_eq(tsim_file_read(&arena, "long", 9, "a thing", &bytes, &diags), TSIM_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "Is a directory"));
    ck_assert_ptr_nonnull(strstr(diags.items[1].message, "No such file"));
    ck_assert_ptr_nonnull(strstr(diags.items[2].hint, "a thing"));
    ck_assert_int_eq(tsim_file_read(&arena, "long", 10, "a thing", &bytes, &diags), TSIM_OK);
    ck_assert_uint_eq(bytes.size, 10);
    ck_assert_str_eq(bytes.text, "0123456789");
    tsim_heap_free(bytes.text);
}

TSIM_TEST(all_are_abandoned) {
    open_output("a");
    open_output("b");
    ck_assert_int_eq(n_files(), 2);
    tsim_output_abandon_all();
    ck_assert_int_eq(n_files(), 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_folder, tear_down_folder)
