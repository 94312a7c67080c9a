/* kernel_shares.h - kernels that are measured as shares of a peak, as lines of kernel_rows.h.
 *
 * The file has the columns op,shape,share_of_P_tflops and any others, which are not read: P is the peak in TFLOP/s, the
 * shape stands in quotes. So MooreThreads/SimuMax writes what simu_tools/efficency_test measures, in the order
 * measured:
 *   matmul             b, m, k, n; layout TN is a forward product, NN the input's gradient, NT the weight's; with
 *                      accumulate=True it adds to a sum of out_dtype. 100 in a row
 *   group_matmul       ng experts, M rows of each, N and K of the forward product; stage fwd, bwd_grad_act or
 *                      bwd_grad_w; with accumulate=True it adds to a sum of main_grad_dtype. 50 in a row
 *   sdp_fwd, sdp_bwd   batch, seq_len, head_num, qk_head_dim, v_head_dim: causal attention, whose share counts all of
 *                      the square. 20, each after a pause. Operands that do not lie side by side (qkv_contiguous=False)
 *                      are passed over: they are measured within 5 % of the others Products are of bf16. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum tsim_kernel_share { TSIM_SHARE_TAKEN, TSIM_SHARE_PASSED_OVER, TSIM_SHARE_WRONG };

/* Returns whether the line is such a header; `flops_per_s` then becomes the peak. */
bool tsim_kernel_shares_header(const char *line, double *flops_per_s);

/* The columns of the lines that tsim_kernel_share_line makes. */
extern const char TSIM_KERNEL_SHARES_COLUMNS[];

/* Makes a line in those columns from one line of the file. TAKEN: `text` is the line. WRONG: `text` says what would be
 * right. */
enum tsim_kernel_share tsim_kernel_share_line(struct tsim_arena *arena, const char *line, double flops_per_s,
                                              const char *accelerator, const char *attention_kernel, const char **text);
