/* server.h - how fail.c's server and drive.c speak, over two pipes.
 *
 * For each call: the server writes a report and reads a byte (go on); writes the child's process number (pid_t), and
 * when it has ended its status (int, as of waitpid), and reads a byte (files are as they were before the child). */
#pragma once

enum { ANSWERS_FD = 198, REPORTS_FD = 199, N_FILES = 64 };

struct report {
    int kind; /* index of the kinds' names in fail.c */
    int is_lasting;
    long n;
};

#define FAIL_KINDS                                                                                                     \
    { "alloc", "write", "sync", "open", "read", "rename", "thread", "sql", "signal" }
