#include "engine/event_queue.h"

#include "support/check_main.h"
#include "support/random.h"

static struct tsim_event_queue queue;

static void set_up(void) {
    tsim_event_queue_init(&queue);
}

static void tear_down(void) {
    tsim_event_queue_release(&queue);
}

static void expect(int32_t item, int64_t tick, enum tsim_phase phase) {
    struct tsim_event seen = {0}, popped = {0};
    ck_assert(tsim_event_queue_peek(&queue, &seen));
    ck_assert(tsim_event_queue_pop(&queue, &popped));
    ck_assert_int_eq(seen.item, popped.item);
    ck_assert_int_eq(popped.item, item);
    ck_assert_int_eq(popped.tick, tick);
    ck_assert_int_eq(popped.phase, phase);
}

TSIM_TEST(empty_queue_has_nothing) {
    struct tsim_event event = {7, TSIM_PHASE_START, 7};
    ck_assert(!tsim_event_queue_peek(&queue, &event));
    ck_assert(!tsim_event_queue_pop(&queue, &event));
    ck_assert_int_eq(event.item, 7); /* untouched */
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 0);
    tsim_event_queue_remove(&queue, 3);
    ck_assert(!tsim_event_queue_has(&queue, 3));
    ck_assert(!tsim_event_queue_has(&queue, -1));
}

TSIM_TEST(order_is_tick_then_phase_then_item) {
    tsim_event_queue_put(&queue, 5, 20, TSIM_PHASE_END);
    tsim_event_queue_put(&queue, 4, 10, TSIM_PHASE_START);
    tsim_event_queue_put(&queue, 1, 10, TSIM_PHASE_START);
    tsim_event_queue_put(&queue, 9, 10, TSIM_PHASE_END);
    tsim_event_queue_put(&queue, 2, -3, TSIM_PHASE_START);
    tsim_event_queue_put(&queue, 0, INT64_MAX, TSIM_PHASE_END);
    expect(2, -3, TSIM_PHASE_START);
    expect(9, 10, TSIM_PHASE_END);
    expect(1, 10, TSIM_PHASE_START);
    expect(4, 10, TSIM_PHASE_START);
    expect(5, 20, TSIM_PHASE_END);
    expect(0, INT64_MAX, TSIM_PHASE_END);
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 0);
}

TSIM_TEST(put_again_moves_the_event) {
    for (int32_t item = 0; item < 8; item++)
        tsim_event_queue_put(&queue, item, 10 + item, TSIM_PHASE_END);
    tsim_event_queue_put(&queue, 7, 1, TSIM_PHASE_END);  /* to the front */
    tsim_event_queue_put(&queue, 0, 99, TSIM_PHASE_END); /* to the back */
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 8);
    expect(7, 1, TSIM_PHASE_END);
    tsim_event_queue_put(&queue, 6, 2, TSIM_PHASE_START); /* while the root is vacant */
    expect(6, 2, TSIM_PHASE_START);
    for (int32_t item = 1; item < 6; item++)
        expect(item, 10 + item, TSIM_PHASE_END);
    expect(0, 99, TSIM_PHASE_END);
}

TSIM_TEST(removed_events_do_not_come) {
    for (int32_t item = 0; item < 20; item++)
        tsim_event_queue_put(&queue, item, 100 - item, TSIM_PHASE_END);
    for (int32_t item = 0; item < 20; item += 2)
        tsim_event_queue_remove(&queue, item);
    ck_assert(!tsim_event_queue_has(&queue, 4));
    ck_assert(tsim_event_queue_has(&queue, 5));
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 10);
    expect(19, 81, TSIM_PHASE_END);
    tsim_event_queue_remove(&queue, 17); /* while the root is vacant */
    for (int32_t item = 15; item > 0; item -= 2)
        expect(item, 100 - item, TSIM_PHASE_END);
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 0);
}

/* Ascending events stand in a run. Events that are taken out of its middle, by removal or by moving, leave holes:
 * neither they nor events of the same tick that come before them may show. */
TSIM_TEST(events_leave_a_run_anywhere) {
    enum { N = 1000 };
    for (int32_t item = 0; item < N; item++)
        tsim_event_queue_put(&queue, item, item / 10, TSIM_PHASE_START);
    for (int32_t item = 0; item < N; item++)
        if (item % 10 == 9)
            tsim_event_queue_put(&queue, item, -1, TSIM_PHASE_END);
        else if (item % 10 != 3)
            tsim_event_queue_remove(&queue, item);
    tsim_event_queue_put(&queue, 5, 99, TSIM_PHASE_START); /* after 993, of the same tick: before it by its number */
    ck_assert_uint_eq(tsim_event_queue_count(&queue), 2 * N / 10 + 1);
    for (int32_t item = 9; item < N; item += 10)
        expect(item, -1, TSIM_PHASE_END);
    for (int32_t item = 3; item < N - 10; item += 10)
        expect(item, item / 10, TSIM_PHASE_START);
    expect(5, 99, TSIM_PHASE_START);
    expect(993, 99, TSIM_PHASE_START);
}

/* One event far away must not keep the memory of all that come and go before it. */
TSIM_TEST(a_run_is_closed_up) {
    tsim_event_queue_put(&queue, 0, 1, TSIM_PHASE_END);
    tsim_event_queue_put(&queue, 1, 1, TSIM_PHASE_START);
    for (int64_t i = 2; i < 100000; i++) {
        tsim_event_queue_put(&queue, 2, i, TSIM_PHASE_END);
        tsim_event_queue_put(&queue, 3, i, TSIM_PHASE_END);
        tsim_event_queue_remove(&queue, 2);
        tsim_event_queue_remove(&queue, 3);
    }
    for (int i = 0; i < TSIM_QUEUE_RUNS; i++)
        ck_assert_uint_le(queue.runs[i].capacity, 1024);
    expect(0, 1, TSIM_PHASE_END);
    expect(1, 1, TSIM_PHASE_START);
}

enum { N_ITEMS = 60 };

/* Returns the first of a plain array of ticks (< 0 = not queued), which is the second implementation. */
static int32_t first_of(const int64_t ticks[N_ITEMS], const enum tsim_phase phases[N_ITEMS]) {
    int32_t first = -1;
    for (int32_t item = 0; item < N_ITEMS; item++)
        if (ticks[item] >= 0 &&
            (first < 0 || ticks[item] < ticks[first] || (ticks[item] == ticks[first] && phases[item] < phases[first])))
            first = item;
    return first;
}

/* Operations are in the row, and, with numbers twice as large, among many. */
TSIM_TEST(random_operations_agree_with_an_array) {
    struct random_source random = {42};
    int64_t ticks[N_ITEMS];
    enum tsim_phase phases[N_ITEMS] = {TSIM_PHASE_END};
    for (int32_t item = 0; item < N_ITEMS; item++)
        ticks[item] = -1;
    for (int operation = 0; operation < 50000; operation++) {
        int32_t item = random_between(&random, 0, N_ITEMS - 1);
        int32_t what = random_between(&random, 0, 9), first = first_of(ticks, phases);
        if (what < 5) {
            ticks[item] = random_between(&random, 0, 30); /* few ticks: many ties */
            phases[item] = (enum tsim_phase)random_between(&random, 0, 1);
            tsim_event_queue_put(&queue, item, ticks[item], phases[item]);
        } else if (what < 6) {
            ticks[item] = -1;
            tsim_event_queue_remove(&queue, item);
        } else if (first >= 0) {
            expect(first, ticks[first], phases[first]);
            ticks[first] = -1;
        }
        ck_assert_int_eq(tsim_event_queue_has(&queue, item), ticks[item] >= 0);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
