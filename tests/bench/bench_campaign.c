/* Times 1,000 replications of a run of 60 days on 16,384 H100s at the default failure rates, on one thread. The figure
 * is for comparing side by side, and nothing is asserted. */
#include "campaign/replication.h"
#include "support/campaign_job.h"
#include "support/clock.h"

#include <stdio.h>

int main(void) {
    const char *file = "scenarios/campaigns/llama3-405b-54-days.yaml";
    const double work_s = 60 * 86400.0, step_s = 7;
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_scenario *scenario;
    struct tsim_campaign_job job;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    if (tsim_scenario_load(&arena, file, NULL, 0, &scenario, &diags) != TSIM_OK)
        return 1;
    scenario_job(scenario, work_s, step_s, &job);
    double start_s = now_s(), sum_s = 0;
    int64_t events = 0;
    enum { N = 1000 };
    for (int64_t i = 0; i < N; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate(&job, i, &one);
        sum_s += one.time_s / N;
        events += one.events;
    }
    double s = now_s() - start_s;
    printf("%-40s %.3f s, %.1f M events (%.0f ns each), %.1f days\n", "campaign, 1,000 x 60 days, 16,384 GPUs", s,
           (double)events / 1e6, s / (double)events * 1e9, sum_s / 86400);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return 0;
}
