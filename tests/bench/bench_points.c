/* 400,000 points of a sweep into a database and out of it again, and a space of 10 million points walked through: time,
 * and that memory stays what it was. Figures for comparing side by side, no assertions. bench_points [FILE] */
#include "results/store_points.h"
#include "support/clock.h"

#include <math.h>
#include <unistd.h>

enum { N_POINTS = 400000, BATCH = 2000 };

static void fill(struct tsim_point *point, int64_t position) {
    struct tsim_hash hash;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)position);
    tsim_hash_init(&hash);
    tsim_hash_add(&hash, text);
    *point = (struct tsim_point){.position = position, .seed = (int64_t)(hash.high & INT64_MAX)};
    tsim_hash_text(&hash, point->key);
    point->outcome.bottleneck = "compute";
    for (int i = 0; i < TSIM_N_OUTCOMES; i++)
        point->outcome.value[i] = sqrt((double)(position + i));
}

static bool write_all(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id, struct tsim_diags *diags) {
    struct tsim_point_writer *writer;
    if (tsim_point_writer_open(arena, store, sweep_id, &writer, diags) != TSIM_OK)
        return false;
    bool is_good = true;
    for (int64_t i = 0; i < N_POINTS && is_good; i++) {
        struct tsim_point point;
        fill(&point, i);
        is_good = tsim_point_writer_add(writer, &point, "{\"parallelism.tensor\": 8, \"cluster.nodes\": 128}", diags) ==
                      TSIM_OK &&
                  (i % BATCH != BATCH - 1 || tsim_point_writer_commit(writer, diags) == TSIM_OK);
    }
    is_good = is_good && tsim_point_writer_commit(writer, diags) == TSIM_OK;
    tsim_point_writer_close(writer);
    return is_good;
}

static int64_t read_all(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                        struct tsim_diags *diags) {
    struct tsim_point_reader *reader;
    struct tsim_point point;
    bool is_there = true;
    int64_t n = 0;
    if (tsim_point_reader_open(arena, store, sweep_id, 0, 1, &reader, diags) != TSIM_OK)
        return -1;
    while (tsim_point_reader_next(reader, &point, &is_there, diags) == TSIM_OK && is_there)
        n++;
    tsim_point_reader_close(reader);
    return n;
}

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "";
    const struct tsim_sweep_row sweep = {"key", "bench", "{}", "0", "2026-01-01T00:00:00Z", N_POINTS};
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_store *store = NULL;
    int64_t sweep_id, n_read = -1;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    double before_mb = peak_mb(), start_s = now_s(), write_s = 0;
    double write_processor_s = processor_s();
    if (tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags) == TSIM_OK &&
        tsim_store_add_sweep(store, &sweep, &sweep_id, &diags) == TSIM_OK &&
        write_all(&arena, store, sweep_id, &diags)) {
        write_s = now_s() - start_s;
        write_processor_s = processor_s() - write_processor_s;
        start_s = now_s();
        n_read = read_all(&arena, store, sweep_id, &diags);
    }
    tsim_diags_print(&diags, stderr);
    if (n_read != N_POINTS)
        return 1;
    printf("%-40s %.2f s (%.0f points/s), %.2f s of them the processor's\n", "400,000 points stored", write_s,
           N_POINTS / write_s, write_processor_s);
    printf("%-40s %.2f s\n", "400,000 points read", now_s() - start_s);
    printf("%-40s %.1f MB more than at the start\n", "memory", peak_mb() - before_mb);
    tsim_store_close(store);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
