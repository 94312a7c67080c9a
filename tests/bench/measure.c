/* measure NAME SECONDS MEGABYTES COMMAND... - whether a command keeps its limits of time and memory, on a machine of any speed and
 * however busy. It runs the command three times, each time after a loop that always does the same work, and compares the least
 * processor time of the one (of all its threads and children) with the least of the other: what slows both decides nothing.
 * SECONDS are those of the reference machine (one core of 2025), on which the loop takes LOOP_S; the limit is that ratio.
 * Prints one line. Exit status 0: within both limits; 1: above one; 2: the command could not be run or failed. */
#include "support/clock.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOP_S 0.100
enum { REPETITIONS = 3, N_PENDING = 1 << 16, N_HOLDS = 1350 * 1000, WRONG = 2 };

static double times[N_PENDING];

/* Runs a heap of times whose earliest is replaced by a later one, again and again: the comparisons, jumps and divisions
 * of a simulation of events. It is not the engine's queue, so that the measure does not change with what is measured. */
static double loop_s(void) {
    uint64_t state = 1;
    double start_s = processor_s();
    for (size_t i = 0; i < N_PENDING; i++)
        times[i] = (double)i;
    for (int k = 0; k < N_HOLDS; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double later = times[0] + 1e9 / (1.0 + (double)(state >> 44));
        size_t at = 0;
        for (size_t child = 1; child < N_PENDING; at = child, child = 2 * at + 1) {
            child += child + 1 < N_PENDING && times[child + 1] < times[child];
            if (times[child] >= later)
                break;
            times[at] = times[child];
        }
        times[at] = later;
    }
    return processor_s() - start_s;
}

/* Returns the processor's time of all children so far; their most memory stands in the usage. */
static double children_s(struct rusage *usage) {
    getrusage(RUSAGE_CHILDREN, usage);
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Measures the command, whose output is thrown away. Returns false if it cannot be run or fails. */
static bool run(char **command, double *s, double *mb) {
    struct rusage usage;
    int status;
    double before_s = children_s(&usage);
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
            _exit(WRONG);
        execvp(command[0], command);
        perror(command[0]);
        _exit(WRONG);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return false;
    *s = children_s(&usage) - before_s;
    *mb = (double)usage.ru_maxrss * 1024 / 1e6;
    return true;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "measure NAME SECONDS MEGABYTES COMMAND...\n");
        return WRONG;
    }
    double most_loops = atof(argv[2]) / LOOP_S, most_mb = atof(argv[3]), least_loop_s = (double)INFINITY,
           least_s = (double)INFINITY, mb = 0;
    for (int i = 0; i < REPETITIONS; i++) {
        double s;
        least_loop_s = fmin(least_loop_s, loop_s());
        if (!run(argv + 4, &s, &mb)) {
            printf("%-28s failed: %s\n", argv[1], argv[4]);
            return WRONG;
        }
        least_s = fmin(least_s, s);
    }
    double loops = least_s / least_loop_s;
    bool is_kept = loops <= most_loops && mb <= most_mb;
    printf("%-28s %8.2f of %5.0f loops, %6.0f of %5.0f MB (%.3f s, the loop %.3f s)%s\n", argv[1], loops, most_loops,
           mb, most_mb, least_s, least_loop_s, is_kept ? "" : "   <- more");
    return is_kept ? EXIT_SUCCESS : EXIT_FAILURE;
}
