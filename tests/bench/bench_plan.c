/* Searches for plans, on one thread: GPT-3 175B on 64 A100s with every plan that fits simulated (how many a second, as
 * which the bounds' share of time counts, too), with 64 sequences a step and with the 1,536 it was trained with, then
 * as the search goes; Llama 3 405B on 16,384 H100s. Seconds of the processor. Figures for comparing side by side, no
 * assertions. */
#include "base/arena.h"
#include "study/search/plan.h"
#include "support/clock.h"

static bool measure(const char *name, const char *file, bool is_exhaustive) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_scenario_source source;
    struct tsim_plan_space space;
    struct tsim_plan_result result;
    struct tsim_plan_search search = {.space = &space, .n_threads = 1, .is_exhaustive = is_exhaustive};
    search.ranking.objective = TSIM_OUTCOME_TOKENS_PER_S;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    double start_s = processor_s();
    bool is_good = tsim_scenario_open(&arena, file, &source, &diags) == TSIM_OK &&
                   tsim_plan_space_read(&arena, &source, NULL, 0, NULL, TSIM_PLAN_COARSE, &space, &diags) == TSIM_OK &&
                   tsim_plan_run(&arena, &search, NULL, NULL, &result, &diags) == TSIM_OK;
    double s = processor_s() - start_s;
    tsim_diags_print(&diags, stderr);
    if (is_good)
        printf("%-40s %.2f s, %lld plans (%.0f/s), %lld simulated (%.0f/s)\n", name, s, (long long)result.n_plans,
               (double)result.n_plans / s, (long long)result.n_evaluated, (double)result.n_evaluated / s);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return is_good;
}

/* Runs all searches, or with an argument the first alone. */
int main(int argc, char **argv) {
    (void)argv;
    tsim_memory_keep(); /* as the command does */
    if (argc > 1)
        return measure("plan GPT-3 175B, 64 A100, every plan", "tests/bench/gpt3-64.yaml", true) ? 0 : 1;
    bool is_good = measure("plan GPT-3 175B, 64 A100, every plan", "tests/bench/gpt3-64.yaml", true);
    is_good &= measure("the same, 1,536 sequences, every plan", "tests/bench/gpt3-64-1536.yaml", true);
    is_good &= measure("plan GPT-3 175B, 64 A100", "tests/bench/gpt3-64.yaml", false);
    is_good &= measure("plan Llama 3 405B, 16,384 H100", "tests/bench/llama3-405b.yaml", false);
    return is_good ? 0 : 1;
}
