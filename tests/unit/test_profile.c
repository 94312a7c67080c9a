/* Profiles: classes of kernels by names as the libraries give them, figures of made-up traces worked out by hand, both
 * sorts of files, damaged ones. */
#include "study/judge/profile_database.h"
#include "support/damage.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum tsim_kernel_class class;
} NAMES[] = {
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_TNN", TSIM_KERNEL_PRODUCT},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_"
     "cublas",
     TSIM_KERNEL_PRODUCT},
    {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", TSIM_KERNEL_PRODUCT},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nt_align8>(...)",
     TSIM_KERNEL_PRODUCT},
    {"void pytorch_flash::flash_fwd_kernel<...>(pytorch_flash::Flash_fwd_params)", TSIM_KERNEL_ATTENTION},
    {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>(Flash_bwd_params)", TSIM_KERNEL_ATTENTION_BACKWARD},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128_4x1x1_kernel0_0",
     TSIM_KERNEL_ATTENTION},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_32_64x128x128_1x1x1_kernel0_0",
     TSIM_KERNEL_ATTENTION_BACKWARD},
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", TSIM_KERNEL_COMMUNICATION},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", TSIM_KERNEL_COMMUNICATION},
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctorMaster<...>>(...)", TSIM_KERNEL_OPTIMIZER},
    {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<...>(...)", TSIM_KERNEL_ELEMENT},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, ...>",
     TSIM_KERNEL_ELEMENT},
    {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", TSIM_KERNEL_ELEMENT},
    {"Memcpy DtoD (Device -> Device)", TSIM_KERNEL_COPY},
    {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_kernel_cudnn",
     TSIM_KERNEL_CONVOLUTION},
    {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_kernel_cudnn",
     TSIM_KERNEL_CONVOLUTION},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_128x128_16x4_nhwc_align4>(...)",
     TSIM_KERNEL_CONVOLUTION},
    {"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", TSIM_KERNEL_CONVOLUTION},
    {"volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", TSIM_KERNEL_CONVOLUTION},
    {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(...)",
     TSIM_KERNEL_CONVOLUTION},
    {"void cudnn::cnn::conv2d_grouped_direct_kernel<float, float, float, float, float, true, false, 0, 0, 0>(...)",
     TSIM_KERNEL_CONVOLUTION},
    {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(...)", TSIM_KERNEL_CONVOLUTION},
    {"void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(...)",
     TSIM_KERNEL_CONVOLUTION},
    {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(...)",
     TSIM_KERNEL_ELEMENT},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(...)", TSIM_KERNEL_ELEMENT},
};

TSIM_TEST_ROWS(classes_of_kernels, NAMES) {
    ck_assert_msg(tsim_kernel_class_of(NAMES[_i].name) == NAMES[_i].class, "%s is %s", NAMES[_i].name,
                  tsim_kernel_class_name(tsim_kernel_class_of(NAMES[_i].name)));
}

/* Two steps of 100 us. In each: a product of 40 us from 0, a reduction from 30 to 70, a norm from 60 to 65, and nothing
 * from 70 on. The first one has a second product from 80 to 90. One kernel of another device, one before the steps. */
static const char TRACE[] =
    "{\"schemaVersion\": 1, \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 10, \"dur\": 5, \"args\": {\"device\": 0, \"g\": "
    "[1, {\"a\": \"}\"}]}},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 1000, \"dur\": 100},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#2\", \"ts\": \"1100.0\", \"dur\": "
    "100},\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 900, \"dur\": 500},\n"
    "{\"name\": \"gemm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1000, \"dur\": 40, \"args\": {\"device\": 0}},\n"
    "{\"name\": \"ncclDevKernel_AllReduce\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1030, \"dur\": 40},\n"
    "{\"name\": \"rms_norm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1060, \"dur\": 5},\n"
    "{\"name\": \"gemm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1080, \"dur\": 10},\n"
    "{\"name\": \"gemm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1085, \"dur\": 10, \"args\": {\"device\": 1}},\n"
    "{\"name\": \"aten::mm\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"ts\": 1001, \"dur\": 90},\n"
    "{\"name\": \"gemm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1100, \"dur\": 40},\n"
    "{\"name\": \"ncclDevKernel_AllReduce\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1130, \"dur\": 40},\n"
    "{\"name\": \"rms_norm\", \"cat\": \"kernel\", \"ph\": \"X\", \"ts\": 1160, \"dur\": 5},\n"
    "{\"name\": \"flow\", \"cat\": \"kernel\", \"ph\": \"s\", \"ts\": 1160}\n"
    "], \"traceName\": \"x\"}";

static void check_figures(const struct tsim_profile *p) {
    ck_assert_double_eq(p->n_steps, 2);
    ck_assert_double_eq_tol(p->step_s, 100e-6, 1e-12);
    ck_assert_double_eq_tol(p->class_s[TSIM_KERNEL_PRODUCT], 45e-6, 1e-12);
    ck_assert_double_eq_tol(p->class_count[TSIM_KERNEL_PRODUCT], 1.5, 1e-12);
    ck_assert_double_eq_tol(p->class_s[TSIM_KERNEL_COMMUNICATION], 40e-6, 1e-12);
    ck_assert_double_eq_tol(p->busy_s, 75e-6, 1e-12);    /* 0 to 70; 10 more in one of two */
    ck_assert_double_eq_tol(p->exposed_s, 25e-6, 1e-12); /* 40 to 70 without the norm */
    ck_assert_str_eq(p->kernels[0].name, "gemm");
}

TSIM_TEST(a_trace_of_kineto) {
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", TRACE, strlen(TRACE), &p, &diags), TSIM_OK);
    check_figures(&p);
    ck_assert_uint_eq(p.n_other_device, 1);
}

/* PyTorch marks a step on every stream that it has kernels on: here two steps on two streams, 0 to 90 and 20 to 100 us
 * of each. */
TSIM_TEST(a_step_is_marked_on_every_stream) {
    const char *text = "[";
    struct tsim_profile p;
    for (int i = 0; i < 2; i++)
        text = tsim_arena_printf(
            &arena,
            "%s%s{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#%d\", \"ts\": %d, "
            "\"dur\": 90, \"tid\": 7}, {\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": "
            "\"ProfilerStep#%d\", \"ts\": %d, \"dur\": 80, \"tid\": 20}, {\"ph\": \"X\", \"cat\": \"kernel\", "
            "\"name\": \"gemm\", \"ts\": %d, \"dur\": 60}",
            text, i ? ", " : "", i, 1000 + 100 * i, i, 1020 + 100 * i, 1000 + 100 * i);
    text = tsim_arena_printf(&arena, "%s]", text);
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", text, strlen(text), &p, &diags), TSIM_OK);
    ck_assert_double_eq(p.n_steps, 2);
    ck_assert_double_eq_tol(p.step_s, 100e-6, 1e-12);
    ck_assert_double_eq_tol(p.class_s[TSIM_KERNEL_PRODUCT], 60e-6, 1e-12);
}

/* The same, as nsys exports it: steps are those of the host, so a kernel that was launched before them is not theirs. */
TSIM_TEST(a_database_of_nsys) {
    static const char SQL[] =
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce'), (3, 'rms_norm'), (4, 'iteration 2');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
        "demangledName INTEGER, shortName INTEGER, contextId INT, correlationId INT, globalPid INT, mangledName INT, "
        "registersPerThread INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, "
        "dynamicSharedMemory INT, graphNodeId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, demangledName, shortName) VALUES (0, "
        "40000, 0, 7, 1, 1), (30000, 70000, 0, 8, 2, 2), "
        "(60000, 65000, 0, 7, 3, 3), (80000, 90000, 0, 7, NULL, 1), (100000, 140000, 0, 7, 1, 1), (130000, 170000, 0, "
        "8, "
        "2, "
        "2), (160000, 165000, 0, 7, 3, 3);"
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, text TEXT, textId INTEGER, eventType INT, rangeId INT, "
        "globalTid INT, domainId INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, nameId INT, correlationId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-50, -45, 1, 1), (-20, -15, 1, 2), (10, 15, 1, 3);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, demangledName, correlationId) VALUES "
        "(-10, 50, 0, 7, 1, 2);"
        "INSERT INTO NVTX_EVENTS(start, end, text, textId) VALUES (0, 100000, 'iteration 1', NULL), (100000, 200000, "
        "NULL, 4), (5, 9, 'forward', "
        "NULL);";
    char file[64];
    sqlite3 *db;
    struct tsim_profile p;
    snprintf(file, sizeof file, "/tmp/tsim-test-profile-%ld.sqlite", (long)getpid());
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, SQL, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    ck_assert(tsim_profile_is_database(file));
    enum tsim_status status = tsim_profile_read_database(&arena, file, &p, &diags);
    unlink(file);
    ck_assert_int_eq(status, TSIM_OK);
    check_figures(&p);
}

/* A trace as PyTorch 2 writes it: properties of devices, a base time, nanoseconds behind the point, arguments of a
 * launch, flows from the host to the device, instants. Two steps of 1,000 us, each with a product of 600.5 us. */
TSIM_TEST(a_trace_of_pytorch_2) {
    static const char TEXT[] =
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"NVIDIA H100 80GB "
        "HBM3\", "
        "\"totalGlobalMem\": 85049802752,\n      \"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132\n    }\n  "
        "],\n"
        "  \"cupti_version\": 24,\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8, "
        "\"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1]}]},\n  \"with_flops\": 1,\n"
        "  \"trace_id\": \"301995E163ED42048FBD783860E6E7DC\",\n  \"displayTimeUnit\": \"ms\",\n"
        "  \"baseTimeNanoseconds\": 1743521598000000000,\n  \"traceEvents\": [\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1147039, \"tid\": 1147039,\n"
        "    \"ts\": 198093488100.463, \"dur\": 25.453,\n    \"args\": {\n      \"External id\": 1340,\"Sequence "
        "number\": 0, "
        "\"Concrete Inputs\": [\"\", \"[2, 2]\", \"False\"], \"Input Dims\": [[4096, 4096], [], []], \"Ev Idx\": 0}},\n"
        "  {\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#7\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": 198093489000.125, \"dur\": 1000.000, \"args\": {\"External id\": 1}},\n"
        "  {\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#8\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": 198093490000.125, \"dur\": 1000.000, \"args\": {\"External id\": 2}},\n"
        "  {\"ph\": \"s\", \"id\": 136816, \"pid\": 1147039, \"tid\": 1147039, \"ts\": 198093489001.000, \"cat\": "
        "\"ac2g\", "
        "\"name\": \"ac2g\"},\n"
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nvjet_tst_256x128_64x4_1x2_h_bz_coopB_TNN\", \"pid\": 0, "
        "\"tid\": 7,\n    \"ts\": 198093489010.625, \"dur\": 600.500,\n    \"args\": {\n      \"External id\": 1341, "
        "\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 136816, \"registers per "
        "thread\": 168, "
        "\"shared memory\": 213248, \"blocks per SM\": 1.000000, \"grid\": [132, 1, 1], \"block\": [384, 1, 1], "
        "\"est. achieved occupancy %\": 0}},\n"
        "  {\"ph\": \"f\", \"id\": 136816, \"pid\": 0, \"tid\": 7, \"ts\": 198093489010.625, \"cat\": \"ac2g\", "
        "\"name\": \"ac2g\", \"bp\": \"e\"},\n"
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nvjet_tst_256x128_64x4_1x2_h_bz_coopB_TNN\", \"pid\": 0, "
        "\"tid\": 7, \"ts\": 198093490010.625, \"dur\": 600.500, \"args\": {\"device\": 0, \"grid\": [132, 1, 1]}},\n"
        "  {\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 1147039, "
        "\"tid\": 1, "
        "\"ts\": 198093490011.000, \"args\": {\"Device Id\": 0, \"Bytes\": -512}},\n"
        "  {\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 198093488100.463, \"pid\": 0, \"tid\": 0, \"args\": "
        "{\"name\": "
        "\"python\"}}\n  ],\n  \"traceName\": \"trace.json\"\n}";
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", TEXT, strlen(TEXT), &p, &diags), TSIM_OK);
    ck_assert(p.has_steps);
    ck_assert_double_eq(p.n_steps, 2);
    ck_assert_double_eq_tol(p.step_s, 1000e-6, 1e-10);
    ck_assert_double_eq_tol(p.class_s[TSIM_KERNEL_PRODUCT], 600.5e-6, 1e-10);
    ck_assert_double_eq_tol(p.busy_s, 600.5e-6, 1e-10);
}

/* PyTorch 1.8 to 1.12 wrote it so: other categories, microseconds since 1970. A thousand kernels of 2 us with 2 us
 * between: busy is 2,000 us to a nanosecond. */
TSIM_TEST(a_trace_of_pytorch_1) {
    const char *text =
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"ProfilerStep#1\", \"ts\": "
        "1712667379482786, \"dur\": 5000}";
    for (int i = 0; i < 1000; i++)
        text = tsim_arena_printf(
            &arena,
            "%s,\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": \"stream 7\", "
            "\"ts\": %lld, \"dur\": 2, \"args\": {\"correlation\": %d, \"external id\": 4, \"device\": 0}}",
            text, i % 10 == 0 ? "Memset" : "Kernel", i % 10 == 0 ? "Memset (Device)" : "rms_norm",
            1712667379482800LL + 4 * i, i);
    text = tsim_arena_printf(&arena, "%s]}", text);
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", text, strlen(text), &p, &diags), TSIM_OK);
    ck_assert(p.has_steps);
    ck_assert_double_eq_tol(p.busy_s, 2000e-6, 1e-9);
    ck_assert_double_eq_tol(p.class_count[TSIM_KERNEL_COPY], 100, 1e-9);
    ck_assert_double_eq_tol(p.class_s[TSIM_KERNEL_ELEMENT], 1800e-6, 1e-9);
}

/* PyTorch 2.4 writes it so: nanoseconds behind the point, with marks of the host alone. Two steps of 100 us on the host,
 * which runs ahead: each launches a product of 130.5 us, and when it marks the first the device is still at work on what
 * was launched before. A step has its own product and takes as long; 160 us of one stream in 100 us cannot be. */
TSIM_TEST(a_host_that_runs_ahead) {
    static const char TEXT[] =
        "{\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1712080000000000000, \"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 1000.000, \"dur\": "
        "100.000},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#2\", \"ts\": 1100.000, \"dur\": "
        "100.000},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"ts\": 950.125, \"dur\": 5.1, "
        "\"args\": {\"cbid\": 211, \"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"ts\": 1010.125, \"dur\": 5.1, "
        "\"args\": {\"correlation\": 2}},"
        "{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernel\", \"ts\": 1110.125, \"dur\": 5.1, "
        "\"args\": {\"correlation\": 3}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1000.250, \"dur\": 59.500, "
        "\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1060.000, \"dur\": 130.500, "
        "\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 2}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1190.500, \"dur\": 130.500, "
        "\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 3}}]}";
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", TEXT, strlen(TEXT), &p, &diags), TSIM_OK);
    ck_assert_double_eq(p.n_steps, 2);
    ck_assert_double_eq_tol(p.step_s, 130.5e-6, 1e-12);
    ck_assert_double_eq_tol(p.class_s[TSIM_KERNEL_PRODUCT], 130.5e-6, 1e-12);
    ck_assert_double_eq_tol(p.busy_s, 130.5e-6, 1e-12);
    ck_assert_uint_eq(diags.n_warnings, 0);
}

/* Two kernels of 100 us at the same time on one stream, in what is taken as a step of 110 us; on two it is well. */
TSIM_TEST(more_kernels_than_a_step_holds) {
    for (int stream = 7; stream <= 8; stream++) {
        const char *text = tsim_arena_printf(&arena,
                                             "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 0, "
                                             "\"dur\": 100, \"args\": {\"stream\": 7}},"
                                             "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"ts\": 10, "
                                             "\"dur\": 100, \"args\": {\"stream\": %d}}]",
                                             stream);
        struct tsim_profile p;
        diags.n_items = diags.n_warnings = 0;
        ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", text, strlen(text), &p, &diags), TSIM_OK);
        ck_assert_uint_eq(diags.n_warnings, stream == 7 ? 1 : 0);
        if (stream == 7)
            ck_assert_str_eq(diags.items[0].message,
                             "the kernels of stream 7 take 0.200 ms of a step of 0.110 ms, which is impossible");
    }
}

/* Without marked steps the whole is one. */
TSIM_TEST(without_steps) {
    static const char TEXT[] =
        "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 5, \"dur\": 10},"
        "{\"ph\": \"X\", \"cat\": \"gpu_memset\", \"name\": \"Memset\", \"ts\": 20, \"dur\": 5}]";
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", TEXT, strlen(TEXT), &p, &diags), TSIM_OK);
    ck_assert(!p.has_steps);
    ck_assert_double_eq_tol(p.step_s, 20e-6, 1e-12);
    ck_assert_double_eq_tol(p.busy_s, 15e-6, 1e-12);
    ck_assert_double_eq_tol(p.class_s[TSIM_KERNEL_COPY], 5e-6, 1e-12);
}

TSIM_TEST(mistakes_have_a_place) {
    static const char TEXT[] = "{\"traceEvents\": [\n{\"ph\": \"X\" \"cat\": 1}]}";
    struct tsim_profile p;
    ck_assert_int_eq(tsim_profile_read_kineto(&arena, "t.json", TEXT, strlen(TEXT), &p, &diags), TSIM_ERR_SYNTAX);
    ck_assert_int_eq(diags.items[0].at.line, 2);
    ck_assert_int_eq(diags.items[0].at.column, 12);
}

/* A trace gives a profile or one error. */
static void read_damaged(const void *context, const char *text, size_t size) {
    struct tsim_profile p;
    enum tsim_status status = tsim_profile_read_kineto(&arena, context, text, size, &p, &diags);
    TSIM_ALWAYS((status == TSIM_OK) == (diags.n_errors == 0) && diags.n_errors <= 1, "%.*s", (int)size, text);
}

TSIM_TEST(damaged_traces) {
    const struct damage damage = {.junk = "\"{}[]:,9-\xff\\", .changes = 1, .apart = 1, .seed = 7};
    damage_everywhere(&damage, TRACE, sizeof TRACE - 1, read_damaged, "t");
}

/* Kernels of two steps without marks, in microseconds: the updates of Adam end at 10, 110 and 210. So a step takes 100 us; it has a product of 40, a reduction from 50 to 90 beside it, and an update of 10. */
static const struct {
    const char *name;
    int start_us, end_us, device, stream;
} KERNELS[] = {{"multi_tensor_apply<AdamFunctor, float>", 0, 10, 4, 1},
               {"Cijk_gemm", 20, 60, 4, 1},
               {"ncclDevKernel_Generic", 50, 90, 4, 2},
               {"Cijk_gemm", 60, 70, 5, 1},
               {"multi_tensor_apply<AdamFunctor, float>", 100, 110, 4, 1},
               {"Cijk_gemm", 120, 160, 4, 1},
               {"ncclDevKernel_Generic", 150, 190, 4, 2},
               {"multi_tensor_apply<AdamFunctor, float>", 200, 210, 4, 1},
               {"Cijk_gemm", 220, 260, 4, 1}};
enum { N_KERNELS = sizeof KERNELS / sizeof KERNELS[0] };
#define BOOT_NS 1700000000000000000 /* an origin where a double of seconds is a quarter of a microsecond off */

static void check_updates(const struct tsim_profile *p) {
    ck_assert(p->is_by_update);
    ck_assert_double_eq(p->n_steps, 2);
    ck_assert_double_eq_tol(p->step_s, 100e-6, 1e-12);
    ck_assert_double_eq_tol(p->class_s[TSIM_KERNEL_PRODUCT], 40e-6, 1e-12);
    ck_assert_double_eq_tol(p->class_s[TSIM_KERNEL_OPTIMIZER], 10e-6, 1e-12);
    ck_assert_double_eq_tol(p->exposed_s, 30e-6, 1e-12);
    ck_assert_uint_eq(p->n_other_device, 1);
}

/* Heads as the programs write them; `row` has the fields of a kernel in the order name, begin, end, device, queue. */
static const struct {
    const char *head, *row;
    bool has_duration;
} TABLES[] = {
    {"\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\",\"Agent_Id\",\"Queue_Id\",\"Grid_Size_X\"\n",
     "\"KERNEL_DISPATCH\",\"%s\",%lld,%lld,\"Agent %d\",%d,256\n", false},
    {"\"Index\",\"KernelName\",\"BeginNs\",\"EndNs\",\"gpu-id\",\"queue-id\",\"DurationNs\"\r\n",
     "0,\"%s\",%lld,%lld,%d,%d,17\r\n", false},
    {"CorrId,Name,Start (ns),Duration (ns),Device,Strm\n", "1,\"%s\",%lld,%lld,NVIDIA H100 80GB HBM3 (%d),%d\n", true},
};

TSIM_TEST_ROWS(tables_of_kernels, TABLES) {
    const char *text = TABLES[_i].head;
    struct tsim_profile p;
    for (int i = 0; i < N_KERNELS; i++) {
        const long long start = BOOT_NS + 1000LL * KERNELS[i].start_us, end = BOOT_NS + 1000LL * KERNELS[i].end_us;
        text = tsim_arena_printf(&arena, "%s%s", text,
                                 tsim_arena_printf(&arena, TABLES[_i].row, KERNELS[i].name, start,
                                                   TABLES[_i].has_duration ? end - start : end, KERNELS[i].device,
                                                   KERNELS[i].stream));
    }
    ck_assert(tsim_profile_is_table(text, strlen(text)));
    ck_assert_int_eq(tsim_profile_read_text(&arena, "t.csv", text, strlen(text), &p, &diags), TSIM_OK);
    check_updates(&p);
    text = tsim_arena_printf(&arena, "%s%s", TABLES[_i].head, "\"a\",b\n");
    ck_assert_int_eq(tsim_profile_read_text(&arena, "t.csv", text, strlen(text), &p, &diags), TSIM_ERR_SYNTAX);
    ck_assert_int_eq(diags.items[diags.n_items - 1].at.line, 2);
}

/* Databases of ROCm: tables as their schemas have them, a row a kernel. */
static const struct {
    const char *tables, *row;
} DATABASES[] = {
    {"CREATE TABLE rocpd_info_kernel_symbol_0a_1b(id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name "
     "TEXT);"
     "CREATE TABLE rocpd_memory_copy_0a_1b(id INTEGER PRIMARY KEY, start BIGINT, \"end\" BIGINT, dst_agent_id INT, "
     "src_agent_id INT, "
     "stream_id INT);"
     "CREATE TABLE rocpd_kernel_dispatch_0a_1b(id INTEGER PRIMARY KEY, agent_id INT, kernel_id INT, queue_id INT, "
     "stream_id INT, start "
     "BIGINT, \"end\" BIGINT);",
     "INSERT INTO rocpd_info_kernel_symbol_0a_1b(id, kernel_name, display_name) VALUES (%d, 'mangled', '%s');"
     "INSERT INTO rocpd_kernel_dispatch_0a_1b(kernel_id, start, \"end\", agent_id, stream_id) VALUES (%d, %lld, %lld, "
     "%d, %d);"},
    {"CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT); INSERT INTO rocpd_string VALUES (100, "
     "'KernelExecution');"
     "CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INT, queueId INT, sequenceId INT, start INT, end INT, "
     "description_id INT, "
     "opType_id INT);",
     "INSERT INTO rocpd_string VALUES (%d, '%s');"
     "INSERT INTO rocpd_op(description_id, start, end, gpuId, queueId, opType_id) VALUES (%d, %lld, %lld, %d, %d, "
     "100);"},
    {"CREATE TABLE OPS(BeginNs INTEGER, EndNs INTEGER, \"dev-id\" INTEGER, \"queue-id\" INTEGER, Name TEXT, pid "
     "INTEGER, "
     "tid INTEGER, Data TEXT);",
     "INSERT INTO OPS(tid, Name, pid, BeginNs, EndNs, \"dev-id\", \"queue-id\") VALUES (%d, '%s', %d, %lld, %lld, %d, "
     "%d);"},
};

TSIM_TEST_ROWS(databases_of_rocm, DATABASES) {
    const char *sql = DATABASES[_i].tables;
    char file[64];
    sqlite3 *db;
    struct tsim_profile p;
    for (int i = 0; i < N_KERNELS; i++)
        sql = tsim_arena_printf(&arena, "%s%s", sql,
                                tsim_arena_printf(&arena, DATABASES[_i].row, i + 1, KERNELS[i].name, i + 1,
                                                  BOOT_NS + 1000LL * KERNELS[i].start_us,
                                                  BOOT_NS + 1000LL * KERNELS[i].end_us, KERNELS[i].device,
                                                  KERNELS[i].stream));
    snprintf(file, sizeof file, "/tmp/tsim-test-rocm-%ld.db", (long)getpid());
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    enum tsim_status status = tsim_profile_read_database(&arena, file, &p, &diags);
    unlink(file);
    ck_assert_int_eq(status, TSIM_OK);
    check_updates(&p);
}

/* rocprofv3 has the names of kernels in a table. */
TSIM_TEST(json_of_rocprofv3) {
    const char *kernels = "", *names = "";
    struct tsim_profile p;
    for (int i = 0; i < N_KERNELS; i++) {
        kernels = tsim_arena_printf(&arena,
                                    "%s%s{\"start_timestamp\": %lld, \"end_timestamp\": %lld, \"correlation_id\": "
                                    "{\"internal\": 3}, \"dispatch_info\": "
                                    "{\"agent_id\": {\"handle\": %d}, \"queue_id\": {\"handle\": %d}, \"kernel_id\": "
                                    "%d, \"grid_size\": {\"x\": 1}}}",
                                    kernels, i > 0 ? ", " : "", BOOT_NS + 1000LL * KERNELS[i].start_us,
                                    BOOT_NS + 1000LL * KERNELS[i].end_us, KERNELS[i].device, KERNELS[i].stream,
                                    N_KERNELS - i);
        names = tsim_arena_printf(&arena, "%s%s{\"kernel_id\": %d, \"formatted_kernel_name\": \"%s\"}", names,
                                  i > 0 ? ", " : "", N_KERNELS - i, KERNELS[i].name);
    }
    const char *text =
        tsim_arena_printf(&arena,
                          "{\"rocprofiler-sdk-tool\": [{\"metadata\": {\"pid\": 7}, \"buffer_records\": "
                          "{\"kernel_dispatch\": [%s], \"memory_copy\": []}, \"kernel_symbols\": [%s]}]}",
                          kernels, names);
    ck_assert_int_eq(tsim_profile_read_text(&arena, "t.json", text, strlen(text), &p, &diags), TSIM_OK);
    check_updates(&p);
    static const char DEEP[] =
        "{\"rocprofiler-sdk-tool\": [{\"buffer_records\": {\"kernel_dispatch\": [{\"dispatch_info\": "
        "{\"dispatch_info\": {\"dispatch_info\": {\"dispatch_info\": {\"agent_id\": 1}}}}}]}}]}";
    tsim_profile_read_text(&arena, "t.json", DEEP, strlen(DEEP), &p, &diags);
}

/* The first rocprof traces calls beside what they run, without categories. */
TSIM_TEST(json_of_rocprof) {
    const char *text =
        "{\"traceEvents\": [{\"args\": {\"name\": \"0 GPU0\"}, \"ph\": \"M\", \"pid\": 6, \"name\": \"process_name\"}, "
        "{\"ph\": \"X\", \"name\": \"hipLaunchKernel\", \"ts\": \"1\", \"dur\": \"900\", \"args\": {\"pid\": \"1\"}}";
    struct tsim_profile p;
    for (int i = 0; i < N_KERNELS; i++)
        text = tsim_arena_printf(
            &arena,
            "%s, {\"ph\": \"X\", \"name\": \"%s\", \"ts\": \"%lld\", \"dur\": \"%lld\", \"args\": {\"dev-id\": "
            "\"%d\", \"queue-id\": \"%d\"}}",
            text, KERNELS[i].name, (long long)KERNELS[i].start_us, (long long)(KERNELS[i].end_us - KERNELS[i].start_us),
            KERNELS[i].device, KERNELS[i].stream);
    text = tsim_arena_printf(&arena, "%s]}", text);
    ck_assert_int_eq(tsim_profile_read_text(&arena, "t.json", text, strlen(text), &p, &diags), TSIM_OK);
    check_updates(&p);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
