/* Reads execution traces, replays them on two nodes, and writes and reads them again. */
#include "fuzz/fuzz.h"
#include "import/traces/chakra_file.h"
#include "step/replay/replay.h"

static const char SCENARIO[] =
    "{schema: tsim/v1, name: two, model: mlp-mnist, cluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}}";

static void replay(struct tsim_arena *arena, struct tsim_history *executions, struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    if (tsim_scenario_open_text(arena, "two", SCENARIO, &source, diags) != TSIM_OK ||
        tsim_scenario_load_from(arena, &source, NULL, 0, &scenario, diags) != TSIM_OK)
        abort();
    for (int i = 0; i < 4; i++) {
        struct tsim_replay_options options = {
            .by_roofline = i & 1, .has_recorded_communication = i & 2, .eager_bytes = 1e6};
        struct tsim_replay_result result;
        executions[1].rank = executions[0].rank == 9 ? 10 : 9;
        tsim_replay(arena, scenario, executions, i < 2 ? 1 : 2, NULL, 0, &options, &result, diags);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_history e[2], again;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    if (tsim_chakra_parse(&arena, "fuzz.3.et", (const char *)data, size, &e[0], &diags) == TSIM_OK) {
        const char *file = fuzz_file(".3.et", data, 0);
        e[1] = e[0];
        replay(&arena, e, &diags);
        if (tsim_chakra_write(&arena, file, &e[0], &diags) != TSIM_OK ||
            tsim_chakra_read(&arena, file, &again, &diags) != TSIM_OK)
            abort();
        unlink(file);
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
