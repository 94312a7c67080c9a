/* library.c - tsim from a C program: one run, then one sweep. docs/library.md says how to compile it. */
#include <tsim.h>

#include <stdio.h>

/* The scenario, and what is changed of it. */
static int one_run(struct tsim_job *job) {
    enum tsim_job_status status = tsim_job_run(job);
    if (status != TSIM_JOB_OK) {
        fputs(tsim_job_messages(job), stderr);
        return (int)status;
    }
    printf("step %.3f s, %.0f tokens/s, MFU %.1f %%, memory %.1f GB, %.1f days\n", tsim_job_figure(job, "step.time_s"),
           tsim_job_figure(job, "throughput.tokens_per_s"), 100 * tsim_job_figure(job, "throughput.mfu"),
           tsim_job_figure(job, "memory.peak_bytes") / 1e9, tsim_job_figure(job, "campaign.days"));
    return 0;
}

struct best {
    double mfu;
    char set[200];
};

static int print_point(void *context, const struct tsim_job_point *point) {
    struct best *best = context;
    double mfu = tsim_job_point_figure(point, "throughput.mfu");
    if (point->status != TSIM_JOB_OK) {
        printf("%s: %s\n", point->set_json, point->reason);
        return 0;
    }
    printf("%s: MFU %.1f %%\n", point->set_json, 100 * mfu);
    if (mfu > best->mfu) {
        best->mfu = mfu;
        snprintf(best->set, sizeof best->set, "%s", point->set_json);
    }
    return 0; /* anything else ends the sweep */
}

static int one_sweep(struct tsim_job *job) {
    static const char *const AXES[] = {"parallelism.tensor=4,8", "parallelism.pipeline=2,4,8"};
    struct best best = {0, ""};
    enum tsim_job_status status = tsim_job_sweep(job, AXES, 2, 2, print_point, &best);
    if (status != TSIM_JOB_OK) {
        fputs(tsim_job_messages(job), stderr);
        return (int)status;
    }
    printf("best: %s\n", best.set);
    return 0;
}

int main(int argc, char **argv) {
    struct tsim_job *job = tsim_job_new();
    int status = 2;
    if (argc != 2)
        fprintf(stderr, "usage: %s SCENARIO\n", argv[0]);
    else if ((status = (int)tsim_job_load_file(job, argv[1])) != 0)
        fputs(tsim_job_messages(job), stderr);
    else if ((status = one_run(job)) == 0) {
        tsim_job_set(job, "parallelism.data", "auto");
        status = one_sweep(job);
    }
    tsim_job_free(job);
    return status;
}
