/* The step, as step/step_terms.c records it. */
#include "report/terminal/explain_term_build.h"
#include "step/step_terms.h"

#include <string.h>

const struct tsim_term *tsim_term_of_step(struct tsim_terms *terms, const char *name) {
    struct tsim_amount step[TSIM_N_STEP_TERMS], stall = {0};
    stall.value = terms->explanation->result->step.terms.data_stall_s;
    stall.term = tsim_recorded_term(terms->explanation->result->recorder, "step.data_stall_s");
    tsim_step_terms_record(&terms->recorder, terms->scenario, terms->cluster, terms->placement,
                           &terms->explanation->account, stall, step);
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++)
        if (step[i].term && strcmp(step[i].term->name, name) == 0)
            return step[i].term;
    TSIM_BUG("term '%s'", name);
}
