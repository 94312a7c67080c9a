/* Tests workers that push to servers and pull from them: times against closed forms by hand, staleness, memory. */
#include "model/model.h"
#include "model/optimizer.h"
#include "step/step.h"
#include "support/training_rig.h"

#include <math.h>

static const char *text_of(const char *plan, const char *rest) {
    return tsim_arena_printf(&arena,
                             "schema: tsim/v1\nname: s\nmodel: resnet50\n"
                             "cluster: {node: dgx-1v, nodes: 4, fabric: ethernet-10}\n"
                             "training: {global_batch_size: 512, micro_batch_size: 16, precision: fp32, optimizer: "
                             "momentum, steps: 1000}\n"
                             "software: transformers-2024\nparallelism: {zero: 0, %s}\nenergy: {pue: 1}\n%s\n",
                             plan, rest);
}

static struct tsim_result run(const char *server, const char *rest) {
    return train(load_text(text_of(tsim_arena_printf(&arena, "parameter_server: {%s}", server), rest)));
}

/* The bytes of a push, or of a pull, and the bytes/s of an accelerator's NICs and of a server's. */
struct rates {
    double bytes, own, server, memory;
};

static struct rates rates_of(const struct tsim_scenario *sc) {
    double own = tsim_machine_of(&arena, sc, NULL).cluster->nic_bytes_per_s;
    return (struct rates){4 * tsim_model_parameters(sc->model), own, 8 * own,
                          sc->cluster.node->host_memory_bytes_per_s};
}

/* 32 workers push to four servers at the rate of their own NICs, and to one at that of the server's; then the servers
 * read 32 gradients, read and write weights and momenta, and all pull. */
TSIM_TEST(a_round_of_all_is_a_sum) {
    for (int servers = 1; servers <= 4; servers += 3) {
        struct tsim_result r = run(tsim_arena_printf(&arena, "servers: %d, synchronous: true", servers), "");
        struct rates x = rates_of(r.scenario);
        double exchange_s = x.bytes / fmin(x.own, servers * x.server / 32), state_bytes = 4;
        double update_s = x.memory > 0 ? x.bytes / 4 * (32 * 4 + 2 * (4 + state_bytes)) / (servers * x.memory) : 0;
        ck_assert_double_eq_tol(r.server.exchange_s, 2 * exchange_s + update_s, 1e-6);
        SAME(r.server.time_s, r.step.terms.time_s + r.server.exchange_s);
        ck_assert_double_eq(r.server.staleness, 0);
        ck_assert_double_eq_tol(r.campaign.days * 86400, 1000 * r.server.time_s, 1e-3 * 1000 * r.server.time_s);
        SAME(r.server.samples_per_s, 512 / r.server.time_s);
    }
}

/* Without a queue a worker's loop is its step, a push and a pull; a single server is full of pushes. While each of
 * others goes around once, a gradient gets as many updates old as there are others. */
TSIM_TEST(workers_go_around_alone) {
    struct tsim_result many = run("servers: 1000", ""), one = run("servers: 1, workers: 32", "");
    struct rates x = rates_of(many.scenario);
    double loop_s = many.step.terms.time_s + 2 * x.bytes / x.own;
    ck_assert_double_eq_tol(many.server.time_s, loop_s, 0.02 * loop_s);
    ck_assert_double_eq_tol(many.server.staleness, 31, 0.1);
    double full_s = 32 * x.bytes / x.server;
    ck_assert_double_ge(one.server.time_s, full_s * (1 - 1e-6));
    ck_assert_double_lt(one.server.time_s, 2 * full_s + one.step.terms.time_s);
    ck_assert_double_gt(one.server.busy_frac, 0.6);
    ck_assert_double_eq_tol(one.server.staleness, 31, 1);
}

/* A node's eight replicas sum their gradients on the node, and push once. */
TSIM_TEST(replicas_push_together) {
    struct tsim_result nodes = run("servers: 1000, workers: 4", ""), each = run("servers: 1000", "");
    struct rates x = rates_of(nodes.scenario);
    double loop_s = nodes.step.terms.time_s + 2 * x.bytes / (8 * x.own);
    ck_assert_double_eq_tol(nodes.server.time_s, loop_s, 0.02 * loop_s);
    ck_assert_double_eq_tol(nodes.server.staleness, 3, 0.1);
    ck_assert_double_gt(nodes.step.terms.exposed_data_s, each.step.terms.exposed_data_s);
    ck_assert_double_eq(each.step.terms.exposed_data_s, 0);
}

/* Slow workers hold up all who wait for them, and nobody else; their own gradients get older. */
TSIM_TEST(slow_workers_hold_up_those_who_wait) {
    const char *slow = "variability: {stragglers: {fraction: 0.1, slowdown: 4}}";
    struct tsim_result even = run("servers: 8", ""), free = run("servers: 8", slow),
                       together = run("servers: 8, synchronous: true", slow),
                       even_together = run("servers: 8, synchronous: true", "");
    SAME(free.step.terms.time_s, even.step.terms.time_s);
    SAME(together.server.time_s - even_together.server.time_s, 3 * even.step.terms.time_s);
    ck_assert_double_lt(free.server.time_s, 1.2 * even.server.time_s);
    ck_assert_double_gt(free.server.most_staleness, 1.3 * even.server.most_staleness);
    struct tsim_result again = run("servers: 8", slow);
    ck_assert_double_eq(again.server.time_s, free.server.time_s);
}

/* Workers keep weights and gradients alone, and update nothing. */
TSIM_TEST(servers_keep_the_state) {
    struct tsim_result own = train(load_text(text_of("data: auto", ""))), served = run("servers: 4", "");
    ck_assert_double_gt(own.step.memory.optimizer_bytes, 0);
    ck_assert_double_eq(served.step.memory.optimizer_bytes + served.step.memory.master_bytes, 0);
    SAME(served.step.memory.weights_bytes, own.step.memory.weights_bytes);
    ck_assert_double_gt(own.step.terms.optimizer_s, 0);
    ck_assert_double_eq(served.step.terms.optimizer_s, 0);
    ck_assert(!own.server.has);
}

TSIM_TEST(mistakes_are_named) {
    static const struct {
        const char *plan, *rest, *message;
    } MISTAKES[] = {{"parameter_server: {workers: 4}", "", "servers are missing"},
                    {"parameter_server: {servers: 4, workers: 3}", "", "32 replicas do not divide into 3 workers"},
                    {"parameter_server: {servers: 4}, local_sgd: {workers: 4, steps: 10}", "", "beside local SGD"},
                    {"parameter_server: {servers: 4}", "variability: {compute_cv: 0.1}", "noise of workers"},
                    {"parameter_server: {servers: 4}", "reliability: {node_mtbf: 1000 h}", "failures of workers"}};
    for (size_t i = 0; i < sizeof MISTAKES / sizeof MISTAKES[0]; i++) {
        size_t first = diags.n_items;
        bool is_named = false;
        ck_assert_ptr_null(try_text(text_of(MISTAKES[i].plan, MISTAKES[i].rest)));
        for (size_t d = first; d < diags.n_items; d++)
            is_named |= strstr(diags.items[d].message, MISTAKES[i].message) != NULL;
        ck_assert_msg(is_named, "%s", MISTAKES[i].message);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
