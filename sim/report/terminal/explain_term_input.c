/* step.data_stall_s as a tree: what the parts of the pipeline need for the batches of a step, beside what is asked. */
#include "report/terminal/explain_term_build.h"
#include "workload/memory.h"

#include <math.h>

static const struct tsim_term *batches_term(struct tsim_terms *terms) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(terms->scenario);
    const struct tsim_term *each = tsim_term_given(terms, "batches of a replica in a step",
                                                   tsim_schedule_chunk_microbatches(&shape), TSIM_COUNT, "the plan");
    const struct tsim_term *replicas =
        tsim_term_given(terms, "replicas that the fullest node feeds", terms->explanation->pipeline.n_consumers,
                        TSIM_COUNT, "placement of the ranks");
    return tsim_term_times(terms, "batches of the node in a step", "replicas x batches", TSIM_COUNT, replicas, each);
}

static const struct tsim_term *of_batch(struct tsim_terms *terms, const char *name, const char *key, double per_sample,
                                        enum tsim_dimension dimension) {
    const struct tsim_term *size = tsim_term_of_scenario(
        terms, "training.micro_batch_size", (double)terms->scenario->training.micro_batch_size, TSIM_COUNT);
    return tsim_term_times(terms, name, "micro-batch x a sample", dimension, size,
                           tsim_term_of_scenario(terms, key, per_sample, dimension));
}

static const struct tsim_term *storage_rate(struct tsim_terms *terms) {
    const struct tsim_data_spec *data = &terms->scenario->data;
    double rate = terms->explanation->pipeline.storage_bytes_per_s;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, "storage of the node",
                                           "bandwidth x random access, its share where shared", rate, TSIM_BYTES_PER_S);
    tsim_term_add(terms, term,
                  tsim_term_of_file(terms, TSIM_CATALOGUE_STORAGE, "bandwidth", data->storage->bandwidth_bytes_per_s,
                                    TSIM_BYTES_PER_S),
                  1);
    if (data->access == TSIM_ACCESS_RANDOM)
        tsim_term_add(terms, term,
                      tsim_term_of_file(terms, TSIM_CATALOGUE_STORAGE, "random_access",
                                        data->storage->random_access_frac, TSIM_FRACTION),
                      1);
    return term;
}

static const struct tsim_term *alone_term(struct tsim_terms *terms) {
    const struct tsim_data_spec *data = &terms->scenario->data;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, "a batch read by one worker alone",
                      "requests x latency + bytes / stream", terms->explanation->pipeline.read_alone_s, TSIM_TIME_S);
    tsim_term_add(terms, term,
                  tsim_term_of_file(terms, TSIM_CATALOGUE_STORAGE, "latency", data->storage->latency_s, TSIM_TIME_S),
                  1);
    tsim_term_add(terms, term, of_batch(terms, "bytes read", "data.sample_size", data->sample_bytes, TSIM_BYTES), 1);
    return term;
}

/* The time that a part with so many hands needs for all batches. */
static const struct tsim_term *by_hands(struct tsim_terms *terms, const char *name, const char *formula,
                                        const struct tsim_term *batches, const struct tsim_term *batch_s,
                                        const struct tsim_term *hands) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, name, formula, (double)NAN, TSIM_TIME_S);
    tsim_term_add(terms, term, batches, 1);
    tsim_term_add(terms, term, batch_s, 1);
    tsim_term_add(terms, term, hands, -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *hands_term(struct tsim_terms *terms) {
    const struct tsim_input_pipeline *f = &terms->explanation->pipeline;
    bool are_cores = f->cores > 0 && f->cores < f->workers;
    return are_cores ? tsim_term_of_file(terms, TSIM_CATALOGUE_NODES, "host_cores", f->cores, TSIM_COUNT)
                     : tsim_term_of_scenario(terms, "data.workers", f->workers, TSIM_COUNT);
}

static const struct tsim_term *needed_term(struct tsim_terms *terms) {
    const struct tsim_input_pipeline *f = &terms->explanation->pipeline;
    const struct tsim_data_spec *data = &terms->scenario->data;
    const struct tsim_term *batches = batches_term(terms);
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_MAX, "a step's batches in the slowest part",
                      "the longest of storage, requests, workers, links", (double)NAN, TSIM_TIME_S);
    const struct tsim_term *read_s = tsim_term_over(
        terms, "a batch from storage", "bytes / rate", TSIM_TIME_S,
        of_batch(terms, "bytes read", "data.sample_size", data->sample_bytes, TSIM_BYTES), storage_rate(terms));
    tsim_term_add(terms, term, tsim_term_times(terms, "storage", "batches x a batch", TSIM_TIME_S, batches, read_s), 1);
    tsim_term_add(terms, term,
                  by_hands(terms, "requests", "batches x a batch alone / workers", batches, alone_term(terms),
                           tsim_term_of_scenario(terms, "data.workers", f->workers, TSIM_COUNT)),
                  1);
    if (f->cpu_s > 0)
        tsim_term_add(
            terms, term,
            by_hands(terms, "workers", "batches x a batch / cores that work on them", batches,
                     of_batch(terms, "a batch on one core", "data.sample_cpu_time", data->sample_cpu_s, TSIM_TIME_S),
                     hands_term(terms)),
            1);
    if (f->link_bytes_per_s > 0)
        tsim_term_add(terms, term,
                      by_hands(terms, "links", "batches x a copy / replicas", batches,
                               tsim_term_over(terms, "a copy", "bytes / rate", TSIM_TIME_S,
                                              of_batch(terms, "bytes copied", "data.transfer_size",
                                                       data->transfer_bytes, TSIM_BYTES),
                                              tsim_term_of_file(terms, TSIM_CATALOGUE_NODES, "host_link",
                                                                f->link_bytes_per_s, TSIM_BYTES_PER_S)),
                               tsim_term_given(terms, "replicas that the fullest node feeds", f->n_consumers,
                                               TSIM_COUNT, "placement of the ranks")),
                      1);
    return tsim_term_close(terms, term, NULL);
}

const struct tsim_term *tsim_term_of_input(struct tsim_terms *terms, const char *name) {
    const struct tsim_step_terms *t = &terms->explanation->result->step.terms;
    if (!terms->scenario->data.has)
        return tsim_term_given(terms, name, 0, TSIM_TIME_S, "the scenario has no data: batches are always there");
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                      "what the slowest rank waits for batches, simulated on the engine", t->data_stall_s, TSIM_TIME_S);
    tsim_term_add(terms, term, needed_term(terms), 1);
    tsim_term_add(terms, term,
                  tsim_term_given(terms, "the step but for that", t->time_s - t->data_stall_s, TSIM_TIME_S,
                                  "simulated, see step.time_s"),
                  1);
    tsim_term_add(terms, term,
                  tsim_term_of_scenario(terms, "data.prefetch", (double)terms->scenario->data.prefetch, TSIM_COUNT), 1);
    return term;
}
