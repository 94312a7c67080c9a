/* replay.c - gives the target the files that are named, each at once and cut off at some places, and says how many. A
 * file that takes longer than MOST_S ends the program, whose name it then says. */
#include "fuzz/fuzz.h"

#include <signal.h>

enum { MOST_BYTES = 1 << 22, MOST_S = 10 }; /* a second, and room for sanitizers and busy machines */

static const char *current;

static void on_alarm(int signal_number) {
    (void)signal_number;
    write(STDERR_FILENO, "too slow: ", 10);
    write(STDERR_FILENO, current, strlen(current));
    write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

int main(int argc, char **argv) {
    uint8_t *data = malloc(MOST_BYTES);
    signal(SIGALRM, on_alarm);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(current = argv[i], "rb");
        size_t size = file ? fread(data, 1, MOST_BYTES, file) : 0;
        if (!file)
            return 1;
        fclose(file);
        alarm(MOST_S);
        LLVMFuzzerTestOneInput(data, size);
        for (int part = 1; part < 4; part++)
            LLVMFuzzerTestOneInput(data, size * (size_t)part / 4);
        alarm(0);
    }
    free(data);
    printf("%d passed, 0 failed\n", argc - 1);
    return 0;
}
