/* nccl_tables.h - constants of NCCL's tuning model (NVIDIA/nccl@5067397, src/graph/tuning.cc), in seconds and bytes/s.
 * Those that depend on the accelerator's generation are in hardware/families. This is private to collective.c. Files that
 * are cited without a repository are NCCL's.
 *
 * Protocols. LL sends 4 bytes of flag with each 4 bytes of data and needs no fence. LL128 sends 8 bytes of flag with
 * 120 bytes of data, over NVLink only. Simple sends data alone and pays a memory fence for each piece. Arrays of three
 * are in this order. */
#pragma once

#include "cost/collective.h"

enum { ROW_TREE, ROW_RING, N_ROWS };
enum { LINK_NVLINK, LINK_PCI, LINK_NET, N_LINKS };

#define US 1e-6
#define GB_PER_S 1e9

/* NCCL needs this long to start a collective. */
static const double BASE_LATENCY_S[N_ROWS][3] = {
    [ROW_TREE] = {6.8 * US, 14.0 * US, 8.4 * US},
    [ROW_RING] = {6.6 * US, 14.0 * US, 8.4 * US},
};

/* NCCL needs this long for a hop. */
static const double HOP_LATENCY_S[N_LINKS][N_ROWS][3] = {
    [LINK_NVLINK] = {[ROW_TREE] = {0.6 * US, 1.25 * US, 4.0 * US}, [ROW_RING] = {0.6 * US, 1.9 * US, 3.4 * US}},
    [LINK_PCI] = {[ROW_TREE] = {1.0 * US, 1.9 * US, 4.0 * US}, [ROW_RING] = {1.0 * US, 2.5 * US, 5.7 * US}},
    [LINK_NET] = {[ROW_TREE] = {5.0 * US, 8.5 * US, 14.0 * US}, [ROW_RING] = {2.7 * US, 4.0 * US, 14.0 * US}},
};

/* In-switch reduction has three latencies: one of the whole operation on a node, one of each round, and one of each hop
 * of the tree between nodes. The round's is fitted to 8 H100, 2 MiB to 1 GiB (NVIDIA/dgxc-benchmarking@841f546,
 * nccl/README.md). */
static const double NVLS_LATENCY_S = 25 * US;
static const double NVLS_ROUND_LATENCY_S = 5 * US;
static const double NVLS_TREE_HOP_LATENCY_S = 20.9 * US;

/* The hop latencies above contain this latency of a fabric, so only what a machine has beyond it is added. It is the
 * tree's LL hop, the only one that is a single message from one node to another. On a node the same holds for the
 * ring's LL hop of its link. */
static const double REFERENCE_FABRIC_LATENCY_S = 5.0 * US;

/* A proxy thread on the host posts each network message, and a ring's hops cannot follow each other faster than it
 * does. A step of Simple takes three posts. The time is that of Intel's hosts; NCCL has 2 us for AMD's. */
static const double NET_OVERHEAD_S = 1 * US;
static const double NET_OVERHEAD_SIMPLE_POSTS = 3;

/* Hops of a ring all-reduce between nodes with Simple wait for each other, by a factor, if a rank's piece of a channel has
 * more bytes than this. */
static const double PLATEAU_BYTES = 64;

/* LL cannot exceed this bus bandwidth between nodes, where the host (Intel's) sets it. */
static const double LL_MAX_2_NODES_BYTES_PER_S = 39.0 * GB_PER_S, LL_MAX_NODES_BYTES_PER_S = 20.4 * GB_PER_S;

/* A protocol reaches these fractions of the link's rate. NCCL also limits what one channel carries. Channels are as
 * many as fill a link, so that limit binds only for trees between nodes, which have one channel for each NIC. */
static const double RING_FRAC[3] = {0.5, 0.92, 1};
static const double TREE_FRAC = 0.92, TREE_LL_FRAC = 1 / 3.8, TREE_LL128_NODE_FRAC = 7.0 / 9,
                    TREE_LL128_FRAC = 120.0 / 128;
/* In-switch reduction with a tree between nodes reaches this fraction of its bandwidth on one node: nccl-tests show 465
 * to 487 GB/s on two nodes of 8 H100 or H200, 8 GB and more, on four machines; 480 GB/s x 1.875/1.75 would be all of
 * it. */
static const double NVLS_TREE_FRAC = 0.94;

/* Trees reach this fraction of their bandwidth at 64 B, 128 B, ... 512 MiB: short buffers are cut into small chunks to
 * fill the pipeline. */
#define N_TREE_SIZES 24
static const double TREE_CORRECTION[3][N_TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
};

/* One step of a channel's buffer has this many bytes of data (src/include/device.h). LL: NCCL_LL_SLICE_LINES lines of
 * 16 bytes, half of them flags. LL128: NCCL_LL128_SLICE_ELEMS elements of 8 bytes, 15 of 16 data. Simple: an eighth of
 * NCCL_BUFFSIZE. */
static const double CHUNK_BYTES[3] = {32768, 576000, 524288};

/* Messages of send/receive up to this size go as LL (NCCL_P2P_LL_THRESHOLD). */
static const double P2P_LL_BYTES = 16384;
/* Messages to many nodes at once meet in the fabric and reach this fraction of what a ring reaches on a NIC. Long
 * all-to-alls on two nodes of 8 A100 over RoCE reach 40.5 GB/s of S a rank, 0.87 of it; DeepEP on H800 reaches 43 of
 * 46.5 GB/s, 0.92. */
static const double PAIRWISE_NET_FRAC = 0.9;
/* One accelerator exchanges messages with so many peers at a time (NCCL_MAX_DEV_WORK_P2P_PER_BATCH). */
static const double P2P_PEERS_AT_ONCE = 8;
/* Messages have so many channels. One channel carries so many bytes/s, and takes a part of a message that is at most
 * this long before another channel takes a part (src/enqueue.cc, scheduleP2pTasksToPlan and calcP2pChannelCount; on one
 * node 32 steps of 512 KiB). The rate of a channel is a quarter of 84.7 GB/s, which eight B200 reach that send 64 MiB
 * each over 4 channels; twice the channels reach twice that (sendrecv_perf of run vultr-b200,
 * tests/data/collectives.csv). */
static const double P2P_CHANNELS = 32;
static const double P2P_CHANNEL_BYTES_PER_S = 21.2e9;
static const double P2P_LONGEST_PART_BYTES = 16777216;

/* Between nodes NCCL opens two channels for each NIC (src/graph/connect.cc, ncclTopoPostset), and more if these are fewer
 * than 16 and one NIC carries more than 45 GB/s. */
static const double CHANNELS_PER_NIC = 2, FEW_CHANNELS = 16, FAST_NIC_BYTES_PER_S = 45.0 * GB_PER_S;
/* A channel reduces so many bytes for each rank of the node in the switch at a time (NCCL_NVLS_CHUNKSIZE), and fewer if
 * there would be few rounds: 64 KiB below 8 MiB a channel and rank, 32 below 512 KiB, 16 below 64 KiB
 * (src/enqueue.cc). */
static const double NVLS_CHUNK_BYTES = 131072, NVLS_LEAST_CHUNK_BYTES = 16384, NVLS_ROUNDS_EXPONENT = 0.7;
/* Trees with Simple have chunks of at least this size, and so many chunks of a channel for each step of the tree's
 * depth before chunks grow (src/enqueue.cc). */
static const double TREE_LEAST_CHUNK_BYTES = 32768, TREE_CHUNKS_PER_DEPTH = 4;

#undef US
#undef GB_PER_S
