/* deadlock.c - what is said of streams that do not get on. The report when nothing can happen any more and some are not
 * finished: joins first, because they are usually the cause, then signals. A handful is named; the rest is counted. */
#include "engine/engine_internal.h"

enum { MAX_JOINS_NAMED = 4, MAX_WAITS_NAMED = 4, MAX_PARTIES_NAMED = 3, TEXT_BYTES = 320 };

void tsim_engine_tell(const struct tsim_engine *engine, int32_t stream, char *text, size_t size) {
    char detail[160] = "";
    if (engine->options.describe)
        engine->options.describe(engine->options.context, stream, engine->streams[stream].task.label, detail,
                                 sizeof detail);
    if (detail[0])
        snprintf(text, size, "stream %d (%s)", stream, detail);
    else
        snprintf(text, size, "stream %d (task %lld)", stream, (long long)engine->streams[stream].task.label);
}

noreturn void tsim_engine_goes_round(const struct tsim_engine *engine, int32_t stream) {
    char who[200];
    tsim_engine_tell(engine, stream, who, sizeof who);
    TSIM_BUG("more than %lld events at tick %lld: %s goes round without time passing",
             (long long)engine->options.max_events_per_tick, (long long)engine->now, who);
}

static void append_text(char text[TEXT_BYTES], const char *more) {
    size_t length = 0;
    while (text[length])
        length++;
    snprintf(text + length, TEXT_BYTES - length, "%s", more);
}

static bool is_first_of_join(const struct tsim_engine *engine, int32_t stream) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    const struct tsim_engine_join *join = tsim_engine_find_join(engine, s->task.join);
    return s->state == STREAM_JOINING && join && join->first_party == stream;
}

/* "JOIN: NAME, NAME and 5 more"; if the members expect different things, each NAME is followed by what it expects. */
static void report_join(const struct tsim_engine *engine, const struct tsim_engine_join *join,
                        struct tsim_diags *diags) {
    char parties[TEXT_BYTES] = "", who[200], line[TEXT_BYTES];
    int32_t n_named = 0;
    for (int32_t party = join->first_party; party >= 0 && n_named < MAX_PARTIES_NAMED;
         party = engine->streams[party].next_party, n_named++) {
        const struct tsim_task *task = &engine->streams[party].task;
        tsim_engine_tell(engine, party, who, sizeof who);
        snprintf(line, sizeof line, "%s%s", n_named ? ", " : "", who);
        append_text(parties, line);
        if (join->disagrees) {
            snprintf(line, sizeof line, " of %d parties with %g units", task->n_parties, task->work);
            append_text(parties, line);
        }
    }
    if (join->n_arrived > n_named) {
        snprintf(line, sizeof line, " and %d more", join->n_arrived - n_named);
        append_text(parties, line);
    }
    if (join->disagrees) {
        struct tsim_diag *diag =
            tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "",
                             "the parties of join %lld disagree: %s", (long long)join->id, parties);
        tsim_diag_hint(diag, "all parties of a join must agree on their number and on the work");
        return;
    }
    tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "", "join %lld has %d of its %d parties: %s",
                     (long long)join->id, join->n_arrived, join->n_parties, parties);
}

/* A signal is described like a task of stream -1, a counter like one of stream -2. */
enum { SIGNALS = -1, COUNTERS = -2 };

static void tell_awaited(const struct tsim_engine *engine, int32_t kind, int32_t number, char *text, size_t size) {
    const char *name = kind == SIGNALS ? "signal" : "counter";
    char detail[160] = "";
    if (engine->options.describe)
        engine->options.describe(engine->options.context, kind, number, detail, sizeof detail);
    if (detail[0])
        snprintf(text, size, "%s %d (%s)", name, number, detail);
    else
        snprintf(text, size, "%s %d", name, number);
}

static void report_wait(const struct tsim_engine *engine, int32_t stream, struct tsim_diags *diags) {
    const struct tsim_engine_stream *s = &engine->streams[stream];
    char who[200], what[200];
    tsim_engine_tell(engine, stream, who, sizeof who);
    for (int32_t i = 0; i < s->task.n_waits; i++) {
        int32_t signal = s->task.waits[i];
        if (engine->signals[signal].count == 0)
            continue;
        tell_awaited(engine, SIGNALS, signal, what, sizeof what);
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "",
                         "%s waits for %s, which must be lowered %d more time%s", who, what,
                         engine->signals[signal].count, engine->signals[signal].count == 1 ? "" : "s");
        return;
    }
    const struct tsim_engine_counter *counter = &engine->counters[s->task.awaited_counter];
    tell_awaited(engine, COUNTERS, s->task.awaited_counter, what, sizeof what);
    tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "",
                     "%s waits for %s to reach %lld, which is %lld", who, what, (long long)s->task.awaited_value,
                     (long long)counter->value);
}

/* Reports the joins whose members disagree, or the others. Those that disagree come first, because they are the cause
 * of whatever else waits. Returns the number that were named so far. */
static int report_joins(const struct tsim_engine *engine, bool that_disagree, int n_named, struct tsim_diags *diags) {
    for (int32_t stream = 0; (size_t)stream < engine->n_streams && n_named < MAX_JOINS_NAMED; stream++) {
        if (!is_first_of_join(engine, stream))
            continue;
        const struct tsim_engine_join *join = tsim_engine_find_join(engine, engine->streams[stream].task.join);
        if (join->disagrees != that_disagree)
            continue;
        report_join(engine, join, diags);
        n_named++;
    }
    return n_named;
}

enum tsim_status tsim_engine_report_deadlock(const struct tsim_engine *engine, struct tsim_diags *diags) {
    struct tsim_diag *diag =
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "",
                         "deadlock after %.9g s: %d of %zu streams wait for ever",
                         tsim_engine_seconds(engine, engine->now), engine->n_unfinished, engine->n_streams);
    tsim_diag_hint(diag, "a join starts when all its parties have come, a signal fires when it has been lowered often "
                         "enough; what follows is the beginning of what is missing");
    int n_waits = 0, n_joins = report_joins(engine, true, 0, diags);
    report_joins(engine, false, n_joins, diags);
    for (int32_t stream = 0; (size_t)stream < engine->n_streams && n_waits < MAX_WAITS_NAMED; stream++) {
        if (engine->streams[stream].state != STREAM_WAITING || engine->streams[stream].is_excused)
            continue;
        report_wait(engine, stream, diags);
        n_waits++;
    }
    return TSIM_ERR_INFEASIBLE;
}
