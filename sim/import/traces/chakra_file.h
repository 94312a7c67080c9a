/* chakra_file.h - execution traces of MLCommons Chakra. A file is protobuf messages, each after its length as a varint
 * (chakra.proto; mlcommons/chakra, src/third_party/utils/protolib.py). The first message is metadata, the others are
 * nodes. Each rank has a file, named NAME.RANK.et (astra-sim/astra-sim, astra-sim/workload/Workload.cc).
 *
 * A node has attributes, whose names and types differ with the schema and with the program that wrote the file:
 *   is_cpu_op    bool, or an integer; absent: on the accelerator
 *   runtime      microseconds, before the schema had duration_micros
 *   num_ops, tensor_size, comm_size, comm_type, comm_src, comm_dst, comm_tag, stream, tid   any integer type or double
 *   pg_name      text or a number: the process group; absent, "", or "0" with no such group: all ranks
 *   involved_dim a list; if some are false, the communicator depends on the reading simulator, which gives a warning
 *
 * Process groups come from a metadata node "process_group:init", whose input is JSON (pg_name, ranks), from rank lists
 * in a file of groups (ASTRA-sim's: {"1": [0, 1]}), or from nowhere.
 *
 * Files of spring 2023 (no metadata, attributes with a type, `parent`) are also read, with their own numbers of kinds
 * of nodes and collectives. Those of 2022, without attributes, are refused. */
#pragma once

#include "base/arena.h"
#include "base/status.h"
#include "import/formats.h"
#include "partition/history.h"

#include <stddef.h>

/* The largest file that is read. */
enum { TSIM_CHAKRA_MAX_BYTES = 256 * 1000 * 1000 };

/* Parses the bytes of a file. Everything is in `arena`. Mistakes say which node, at which byte: not protobuf, a node
 * twice, a cycle, a collective or message without size or peer. Dependencies on nodes that are not in the file give a
 * warning. */
enum tsim_status tsim_chakra_parse(struct tsim_arena *arena, const char *file, const char *bytes, size_t size,
                                   struct tsim_history *execution, struct tsim_diags *diags);
/* Does the same for a file; returns TSIM_ERR_IO if it cannot be read. The rank is that in its name, else -1. */
enum tsim_status tsim_chakra_read(struct tsim_arena *arena, const char *file, struct tsim_history *execution,
                                  struct tsim_diags *diags);

/* Writes FILE, of which nothing is left if it cannot be written. The schema is 0.0.4 in the types that ASTRA-sim's
 * reader takes: num_ops, comm_type and comm_size int64, tensor_size uint64, comm_src, comm_dst and comm_tag int32,
 * pg_name text. Times are whole microseconds. Begin and end of each node are rounded, so that rounding does not add up
 * along a stream. */
enum tsim_status tsim_chakra_write(struct tsim_arena *arena, const char *file, const struct tsim_history *execution,
                                   struct tsim_diags *diags);
/* Writes the groups of all ranks as ASTRA-sim reads them (--comm-group-configuration). */
enum tsim_status tsim_chakra_write_groups(struct tsim_arena *arena, const char *file,
                                          const struct tsim_history_group *groups, int32_t n, struct tsim_diags *diags);

/* Makes a replay (config/replay_spec.h) of the execution traces of some ranks of a job, or of all. */
enum tsim_status tsim_import_chakra(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags);

/* Returns the rank in NAME.RANK.et, or -1 if there is none. */
int32_t tsim_chakra_rank(const char *file);
