/* Ways of playing one step agree, over scenarios drawn from the whole catalogue (support/random_scenario.h): folded or
 * not to rounding, heard or not to the last digit, by operators or by passes within 2 %, message by message within 5 % (10 with a slow link
 * in a node). TSIM_CASES says how many valid scenarios are drawn, TSIM_SEED from which seed. */
#include "step/program.h"
#include "support/random_scenario.h"
#include "support/run_laws.h"

#include <string.h>

enum { N_CASES = 30, MOST_DRAWN = 60 };

struct ways {
    const char *text;
    double step_s; /* folded, by operators, in fluid */
    int n_compared;
    double sum_apart;
};

/* Takes the line of a key away; a campaign takes long, and ways are this test's. */
static void drop_line(char *text, const char *key) {
    char *line = strstr(text, key);
    if (line)
        memmove(line, strchr(line + 1, '\n'), strlen(strchr(line + 1, '\n')) + 1);
}

/* Returns the time of the step played so; 0: that is refused, or too much for a test. */
static double step_s(const char *text, const char *detail, const char *network, const char *fold) {
    const struct tsim_override sets[] = {
        {"simulation.detail", detail}, {"simulation.network", network}, {"simulation.fold", fold}};
    struct run run;
    double time_s = run_start(&run, text, sets, sizeof sets / sizeof sets[0]) ? run.result.step.terms.time_s : 0;
    run_end(&run);
    return time_s;
}

static void hear_begin(void *context, const struct tsim_step_outline *outline) {
    (void)context, (void)outline;
}

static void hear_task(void *context, const struct tsim_step_task *task) {
    (void)context, (void)task;
}

static void count_sample(void *context, const struct tsim_step_links_sample *sample) {
    *(long *)context += sample->mean_frac > 0;
}

/* Returns the time of a step by operators that is listened to, links and all, and adds the number of samples of links in
 * use. */
static double heard_s(const char *text, long *n_samples) {
    const struct tsim_step_sink sink = {
        .begin = hear_begin, .take = hear_task, .take_links = count_sample, .context = n_samples};
    const struct tsim_run_options options = {.ignore_memory = true, .sink = &sink};
    const struct tsim_override by_operators = {"simulation.detail", "operators"};
    struct run run;
    double time_s = 0;
    if (run_start(&run, text, &by_operators, 1) &&
        tsim_train_run(&run.arena, run.scenario, &options, &run.result, &run.diags) == TSIM_OK)
        time_s = run.result.step.terms.time_s;
    run_end(&run);
    return time_s;
}

static void compare(struct ways *ways, double other_s, const char *how, double most_frac) {
    const char *text = ways->text;
    if (!(other_s > 0))
        return;
    double apart = fabs(other_s / ways->step_s - 1);
    LAW(apart <= most_frac, "%.9g s, %s %.9g s", ways->step_s, how, other_s);
    ways->n_compared++;
    ways->sum_apart += apart;
}

TSIM_TEST(random_ways) {
    const long n_cases = random_cases(N_CASES);
    struct random_source source = random_start(20261128u);
    struct ways folding = {0}, heard = {0}, detail = {0}, network = {0};
    long n = 0, n_samples = 0;
    for (long drawn = 0; (n < n_cases || n_samples == 0) && drawn < MOST_DRAWN * n_cases;
         drawn++) { /* few have links */
        char *text = random_scenario(&source);
        drop_line(text, "\nreliability:");
        drop_line(text, "\nsimulation:");
        double first_s = step_s(text, "operators", "fluid", "auto");
        if (first_s > 0) {
            n++;
            folding.text = heard.text = detail.text = network.text = text;
            folding.step_s = heard.step_s = detail.step_s = network.step_s = first_s;
            compare(&folding, step_s(text, "operators", "fluid", "off"), "unfolded", 1e-9);
            compare(&heard, heard_s(text, &n_samples), "heard", 0);
            compare(&detail, step_s(text, "passes", "fluid", "auto"), "by passes", 0.02);
            /* a slow link in one phase of a collective counts less in the mean of its phases */
            compare(&network, step_s(text, "operators", "steps", "auto"), "message by message",
                    strstr(text, "link: scale-up") ? 0.1 : 0.05);
        }
        free(text);
    }
    printf("%ld scenarios: %d unfolded; %d heard, %ld samples of links; %d by passes, %.4f %% apart; %d message by "
           "message, %.3f %% apart\n",
           n, folding.n_compared, heard.n_compared, n_samples, detail.n_compared,
           100 * detail.sum_apart / fmax(detail.n_compared, 1), network.n_compared,
           100 * network.sum_apart / fmax(network.n_compared, 1));
    ck_assert_int_ge(n, n_cases);
    ck_assert_int_eq(heard.n_compared, n);
    ck_assert_int_gt(n_samples, 0);
    ck_assert_int_ge(detail.n_compared, n_cases / 2);
}

TSIM_MAIN(3600, NULL, NULL)
