/* A job under a plan. */
#include "config/draft/rules.h"
#include "config/lengths.h"
#include "config/plan_choice.h"

static void draft_choice(const struct tsim_scenario *job, const struct tsim_plan_choice *choice,
                         struct tsim_draft *draft) {
    struct tsim_scenario *sc = &draft->scenario;
    struct tsim_parallelism_spec *p = &sc->parallelism;
    *sc = *job;
    sc->source = NULL; /* the plan is not in it */
    sc->training.micro_batch_size = choice->value[TSIM_PLAN_MICRO_BATCH];
    int64_t recompute = choice->value[TSIM_PLAN_RECOMPUTE], offload = choice->value[TSIM_PLAN_OFFLOAD];
    sc->training.recompute = tsim_plan_recompute_mode(recompute);
    if (recompute != (int64_t)job->training.recompute) {
        sc->training.recompute_parts = tsim_plan_recompute_parts(recompute);
        int64_t layers = tsim_plan_recompute_layers(recompute);
        bool are_first = sc->training.recompute == TSIM_RECOMPUTE_LAYERS;
        sc->training.recompute_layers = are_first ? layers : 0;
        sc->training.recompute_every = are_first ? 0 : layers;
    }
    sc->training.offload.optimizer |= (offload & TSIM_PLAN_OFFLOADS_OPTIMIZER) != 0;
    if (offload & TSIM_PLAN_OFFLOADS_ACTIVATIONS)
        sc->training.offload.activations_frac = 1;
    p->tensor = choice->value[TSIM_PLAN_TENSOR];
    p->pipeline = choice->value[TSIM_PLAN_PIPELINE];
    p->virtual_pipeline = choice->value[TSIM_PLAN_VIRTUAL];
    p->context = choice->value[TSIM_PLAN_CONTEXT];
    p->expert = choice->value[TSIM_PLAN_EXPERT];
    p->expert_tensor = choice->value[TSIM_PLAN_EXPERT_TENSOR];
    if (choice->value[TSIM_PLAN_ORDER])
        tsim_plan_pipeline_inside(job->parallelism.order, p->order);
    p->sequence = choice->value[TSIM_PLAN_SEQUENCE];
    const unsigned bits = tsim_plan_more_overlap(job, choice);
    struct tsim_overlap more = {0};
    tsim_overlap_add(&more, bits);
    tsim_overlap_add(&p->overlap, bits);
    p->says_overlap_pipeline |= more.pipeline;
    p->says_overlap_expert |= more.expert;
    p->balances = choice->value[TSIM_PLAN_LAYERS];
    p->layers_per_chunk = NULL;
    p->says_layers = false;
    draft->schedule = (int)choice->value[TSIM_PLAN_SCHEDULE];
    draft->attention = (int)sc->training.attention;
    draft->master_weights = !sc->training.no_master_weights;
    draft->zero = choice->value[TSIM_PLAN_ZERO];
    draft->zero_group = p->zero_group_ranks;
    draft->fold = job->simulation.fold;
    if (job->cluster.fabric && job->cluster.fabric->topology == TSIM_TOPOLOGY_TORUS)
        draft->n_shape = draft->n_tile = (size_t)job->cluster.fabric->torus_dimensions; /* resolved, in the cluster */
}

/* Gives the stages of a job its plan, except for the keys that they set themselves. */
static bool replan_stages(struct tsim_arena *arena, const struct tsim_scenario *job,
                          const struct tsim_plan_choice *choice, struct tsim_training_spec *training) {
    struct tsim_stage_spec *stages = TSIM_NEW_ARRAY(arena, job->training.n_stages, struct tsim_stage_spec);
    bool are_valid = true;
    for (size_t i = 0; i < job->training.n_stages && are_valid; i++) {
        const struct tsim_stage_spec *said = &job->training.stages[i];
        struct tsim_scenario stage = *job;
        struct tsim_plan_choice of_stage = *choice;
        stage.training.stages = NULL;
        stage.training.n_stages = 0;
        if (said->sequence_length > 0)
            stage.training.sequence_length = said->sequence_length;
        if (said->global_batch_size > 0)
            stage.training.global_batch_size = said->global_batch_size;
        if (said->micro_batch_size > 0)
            of_stage.value[TSIM_PLAN_MICRO_BATCH] = said->micro_batch_size;
        if (said->context > 0)
            of_stage.value[TSIM_PLAN_CONTEXT] = said->context;
        tsim_lengths_measure(&stage);
        stages[i] = *said;
        are_valid = tsim_scenario_replan(arena, &stage, &of_stage, &stages[i].scenario);
    }
    training->stages = stages;
    return are_valid;
}

bool tsim_scenario_replan(struct tsim_arena *arena, const struct tsim_scenario *job,
                          const struct tsim_plan_choice *choice, const struct tsim_scenario **scenario) {
    /* Mistakes are said about values: of a document without text. */
    const struct tsim_document document = {.arena = arena, .file = "", .text = "", .is_override = true};
    const struct tsim_value root = {.kind = TSIM_VALUE_MAPPING, .document = &document};
    struct tsim_draft *draft = TSIM_NEW(arena, struct tsim_draft);
    struct tsim_reader reader = {.arena = arena, .diags = TSIM_UNHEARD};
    draft->root = &root;
    draft_choice(job, choice, draft);
    draft->scenario.variability = (struct tsim_variability_spec){.straggler_slowdown = 1};
    tsim_draft_fill_plan(draft);
    tsim_draft_validate(draft, &reader);
    bool is_valid = reader.diags->n_errors == 0;
    if (is_valid)
        tsim_draft_finish(draft, arena);
    *scenario = &draft->scenario;
    return is_valid && replan_stages(arena, job, choice, &draft->scenario.training);
}
