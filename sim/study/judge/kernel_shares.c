#include "study/judge/kernel_shares.h"

#include <stdlib.h>
#include <string.h>

static const char BEGINNING[] = "op,shape,share_of_", END[] = "_tflops";
const char TSIM_KERNEL_SHARES_COLUMNS[] =
    "accelerator,op,precision,batch,m,n,k,bytes,time_us,direction,sum,kernel,causal,repeats";

/* The numbers of runs in a row in efficency_test. */
enum { MATMUL_RUNS = 100, GROUP_RUNS = 50, ATTENTION_RUNS = 20 };

bool tsim_kernel_shares_header(const char *line, double *flops_per_s) {
    char *end;
    if (strncmp(line, BEGINNING, strlen(BEGINNING)) != 0)
        return false;
    *flops_per_s = 1e12 * strtod(line + strlen(BEGINNING), &end);
    return *flops_per_s > 0 && strncmp(end, END, strlen(END)) == 0 &&
           (end[strlen(END)] == '\0' || end[strlen(END)] == ',');
}

struct shape {
    struct tsim_arena *arena;
    const char *text; /* name=value, name=value */
    const char *missing;
};

/* Returns the value of a name in the shape, or "" if it is not there. */
static const char *word(struct shape *s, const char *name) {
    size_t n = strlen(name);
    for (const char *at = s->text; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return tsim_arena_printf(s->arena, "%.*s", (int)strcspn(at + n + 1, ", "), at + n + 1);
    }
    s->missing = name;
    return "";
}

static double number(struct shape *s, const char *name) {
    const char *text = word(s, name);
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1e12))
        s->missing = name;
    return value;
}

static bool is_true(struct shape *s, const char *name) {
    return strcmp(word(s, name), "True") == 0;
}

struct row {
    const char *op, *direction, *sum, *kernel;
    double batch, m, n, k, flops;
    int repeats;
};

static bool take_matmul(struct shape *s, struct row *row) {
    const char *layout = word(s, "layout");
    row->op = "gemm";
    row->direction = strcmp(layout, "TN") == 0   ? "forward"
                     : strcmp(layout, "NN") == 0 ? "input_gradient"
                     : strcmp(layout, "NT") == 0 ? "weight_gradient"
                                                 : NULL;
    row->batch = number(s, "b");
    row->m = number(s, "m");
    row->n = number(s, "n");
    row->k = number(s, "k");
    row->sum = is_true(s, "accumulate") ? word(s, "out_dtype") : "";
    row->repeats = MATMUL_RUNS;
    return row->direction != NULL;
}

static bool take_group(struct shape *s, struct row *row) {
    const char *stage = word(s, "stage");
    double rows = number(s, "M"), out = number(s, "N"), in = number(s, "K");
    bool is_weight = strcmp(stage, "bwd_grad_w") == 0, is_input = strcmp(stage, "bwd_grad_act") == 0;
    row->op = "grouped";
    row->direction = is_weight ? "weight_gradient" : is_input ? "input_gradient" : "forward";
    row->batch = number(s, "ng");
    row->m = is_weight ? out : rows;
    row->n = is_weight || is_input ? in : out;
    row->k = is_weight ? rows : is_input ? out : in;
    row->sum = is_true(s, "accumulate") ? word(s, "main_grad_dtype") : "";
    row->repeats = GROUP_RUNS;
    return is_weight || is_input || strcmp(stage, "fwd") == 0;
}

static void take_attention(struct shape *s, bool is_backward, const char *kernel, struct row *row) {
    row->op = "attention";
    row->direction = is_backward ? "backward" : "forward";
    row->batch = number(s, "batch") * number(s, "head_num");
    row->m = row->n = number(s, "seq_len");
    row->k = (number(s, "qk_head_dim") + number(s, "v_head_dim")) / 2;
    row->kernel = kernel;
    row->repeats = ATTENTION_RUNS;
}

enum tsim_kernel_share tsim_kernel_share_line(struct tsim_arena *arena, const char *line, double flops_per_s,
                                              const char *accelerator, const char *attention_kernel,
                                              const char **text) {
    const char *open = strchr(line, '"'), *close = open ? strchr(open + 1, '"') : NULL;
    char *end;
    if (!open || open == line || open[-1] != ',' || !close || close[1] != ',') {
        *text = "the line is not op,\"shape\",share";
        return TSIM_SHARE_WRONG;
    }
    const char *op = tsim_arena_printf(arena, "%.*s", (int)(open - line) - 1, line);
    struct shape s = {arena, tsim_arena_printf(arena, "%.*s", (int)(close - open) - 1, open + 1), NULL};
    struct row row = {.sum = "", .kernel = ""};
    double share = strtod(close + 2, &end);
    if (end == close + 2 || !(share > 0 && share < 100) || (*end != '\0' && *end != ',')) {
        *text = "the share is not a number above 0";
        return TSIM_SHARE_WRONG;
    }
    bool is_group = strcmp(op, "group_matmul") == 0, is_backward = strcmp(op, "sdp_bwd") == 0,
         is_attention = is_backward || strcmp(op, "sdp_fwd") == 0;
    if (!is_group && !is_attention && strcmp(op, "matmul") != 0) {
        *text = tsim_arena_printf(arena, "op is '%s', not matmul, group_matmul, sdp_fwd or sdp_bwd", op);
        return TSIM_SHARE_WRONG;
    }
    if (is_attention) {
        take_attention(&s, is_backward, attention_kernel, &row);
        if (strcmp(word(&s, "qkv_contiguous"), "False") == 0)
            return TSIM_SHARE_PASSED_OVER;
    } else if (!(is_group ? take_group(&s, &row) : take_matmul(&s, &row))) {
        *text = is_group ? "stage is not fwd, bwd_grad_act or bwd_grad_w" : "layout is not TN, NN or NT";
        return TSIM_SHARE_WRONG;
    }
    if (s.missing) {
        *text = tsim_arena_printf(arena, "the shape of a %s has no %s", op, s.missing);
        return TSIM_SHARE_WRONG;
    }
    double products = row.kernel[0] ? (is_backward ? 5 : 2) : 1;
    double time_us = 1e6 * 2 * products * row.batch * row.m * row.n * row.k / (share * flops_per_s);
    *text = tsim_arena_printf(arena, "%s,%s,bf16,%.17g,%.17g,%.17g,%.17g,,%.9g,%s,%s,%s,%s,%d", accelerator, row.op,
                              row.batch, row.m, row.n, row.k, time_us, row.direction, row.sum, row.kernel,
                              row.kernel[0] ? "yes" : "", row.repeats);
    return TSIM_SHARE_TAKEN;
}
