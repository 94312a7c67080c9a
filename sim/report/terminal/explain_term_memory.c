/* Memory of the fullest stage, as workload/memory.h records it, with what driver and runtime take. */
#include "report/terminal/explain_term_build.h"
#include "workload/memory.h"

#include <string.h>

const struct tsim_term *tsim_term_of_memory(struct tsim_terms *terms, const char *name) {
    const struct tsim_accelerator *a = terms->scenario->cluster.node->accelerator;
    int32_t stage = terms->explanation->result->step.fullest_stage;
    struct tsim_term_recorder *r = &terms->recorder;
    struct tsim_stage_terms kinds;
    if (strcmp(name, "memory.capacity_bytes") == 0)
        return tsim_of_accelerator(r, a, "memory", a->memory_bytes, TSIM_BYTES).term;
    tsim_stage_memory_recorded(r, terms->scenario, stage, &kinds);
    struct tsim_amount reserve = tsim_of_accelerator(r, a, "reserve", a->usable_memory_reserve_bytes, TSIM_BYTES);
    struct tsim_amount buffers = tsim_sum(r, "memory.buffers_bytes", "buffers + driver and runtime", TSIM_BYTES,
                                          TSIM_PARTS(kinds.buffers, reserve));
    const struct tsim_amount all[] = {kinds.weights,   kinds.gradients,   kinds.master,
                                      kinds.optimizer, kinds.activations, buffers};
    enum { N_KINDS = sizeof all / sizeof all[0] };
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(all[i].term->name, name) == 0)
            return all[i].term;
    if (strcmp(name, "memory.peak_bytes") != 0)
        return NULL;
    return tsim_sum(r, name, tsim_record_text(r, "the kinds on the fullest stage, %d", stage), TSIM_BYTES, all, N_KINDS)
        .term;
}
