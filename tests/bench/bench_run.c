/* One scenario again and again: how long a prediction takes from the loaded scenario on, and with reading the YAML,
 * with events (what repeats is simulated once) and events/s. Figures for comparing side by side, no
 * assertions. bench_run [SCENARIO] */
#include "run/run.h"
#include "support/clock.h"

static bool run_once(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_result *result) {
    const struct tsim_run_options options = {.ignore_memory = true};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    bool is_ok = tsim_train_run(arena, scenario, &options, result, &diags) == TSIM_OK;
    tsim_diags_print(&diags, stderr);
    tsim_diags_release(&diags);
    return is_ok;
}

static const struct tsim_scenario *load(struct tsim_arena *arena, const char *file) {
    const struct tsim_scenario *scenario = NULL;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    if (tsim_scenario_load(arena, file, NULL, 0, &scenario, &diags) != TSIM_OK) {
        tsim_diags_print(&diags, stderr);
        scenario = NULL;
    }
    tsim_diags_release(&diags);
    return scenario;
}

int main(int argc, char **argv) {
    enum { MOST_RUNS = 200 };
    const double enough_s = 0.5; /* of runs, each for loading and simulating */
    const char *file = argc > 1 ? argv[1] : "scenarios/llama70b.yaml";
    struct tsim_arena config, run;
    struct tsim_result result = {0};
    tsim_arena_init(&config);
    tsim_arena_init(&run);
    double start_s = processor_s(), load_s = 0, run_s = 0;
    const struct tsim_scenario *scenario = NULL;
    int n_loads = 0, n_runs = 0;
    for (; n_loads < MOST_RUNS && load_s < enough_s; load_s = processor_s() - start_s, n_loads++) {
        tsim_arena_reset(&config);
        scenario = load(&config, file);
        if (!scenario)
            return 1;
    }
    start_s = processor_s();
    for (; n_runs < MOST_RUNS && run_s < enough_s; run_s = processor_s() - start_s, n_runs++) {
        tsim_arena_reset(&run);
        if (!run_once(&run, scenario, &result))
            return 1;
    }
    load_s /= n_loads;
    run_s /= n_runs;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double simulated = (double)(result.events - result.step.repeated_events);
    printf("%-40s read %.3f ms, run %.3f ms, %lld events, %.0f simulated, %.2f M/s, peak %.1f MB\n", file, 1e3 * load_s,
           1e3 * run_s, (long long)result.events, simulated, 1e-6 * simulated / run_s,
           (double)usage.ru_maxrss * 1024 / 1e6);
    tsim_arena_release(&run);
    tsim_arena_release(&config);
    return 0;
}
