/* join.c - who has come to which join: a hash table by join id, of joins that wait for parties only. Nothing iterates
 * over it, so its order is never seen. */
#include "base/arena.h"
#include "engine/engine_internal.h"

#include <string.h>

/* Hashes by Fibonacci's method, because ids are often consecutive. */
static size_t home_slot(const struct tsim_engine *engine, int64_t id) {
    return (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & (engine->join_capacity - 1);
}

/* Returns the slot of the join, or the empty slot in which it belongs. */
static size_t find_slot(const struct tsim_engine *engine, int64_t id) {
    size_t slot = home_slot(engine, id);
    while (engine->joins[slot].n_arrived > 0 && engine->joins[slot].id != id)
        slot = (slot + 1) & (engine->join_capacity - 1);
    return slot;
}

const struct tsim_engine_join *tsim_engine_find_join(const struct tsim_engine *engine, int64_t id) {
    if (engine->join_capacity == 0)
        return NULL;
    const struct tsim_engine_join *join = &engine->joins[find_slot(engine, id)];
    return join->n_arrived > 0 ? join : NULL;
}

static void grow_table(struct tsim_engine *engine) {
    struct tsim_engine_join *old = engine->joins;
    size_t old_capacity = engine->join_capacity, capacity = 0;
    engine->joins = tsim_heap_grow(NULL, &capacity, old_capacity == 0 ? 16 : 2 * old_capacity, sizeof *engine->joins);
    memset(engine->joins, 0, capacity * sizeof *engine->joins);
    engine->join_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].n_arrived > 0)
            engine->joins[find_slot(engine, old[i].id)] = old[i];
    tsim_heap_free(old);
}

/* Closes the gap by moving back whatever would no longer be found beyond it (Knuth 6.4, algorithm R). */
static void remove_slot(struct tsim_engine *engine, size_t gap) {
    size_t mask = engine->join_capacity - 1;
    for (size_t slot = (gap + 1) & mask; engine->joins[slot].n_arrived > 0; slot = (slot + 1) & mask) {
        size_t home = home_slot(engine, engine->joins[slot].id);
        if (((slot - home) & mask) < ((slot - gap) & mask))
            continue;
        engine->joins[gap] = engine->joins[slot];
        gap = slot;
    }
    engine->joins[gap].n_arrived = 0;
    engine->n_joins--;
}

static int32_t choose_leader(struct tsim_engine *engine, int32_t first_party) {
    int32_t leader = first_party;
    for (int32_t party = first_party; party >= 0; party = engine->streams[party].next_party)
        if (party < leader)
            leader = party;
    engine->streams[leader].first_party = first_party;
    return leader;
}

static void open_join(struct tsim_engine *engine, struct tsim_engine_join *join, int32_t stream) {
    const struct tsim_task *task = &engine->streams[stream].task;
    *join = (struct tsim_engine_join){task->join, task->n_parties, 1, stream, stream, false};
    engine->n_joins++;
}

static void enter_join(struct tsim_engine *engine, struct tsim_engine_join *join, int32_t stream) {
    const struct tsim_task *task = &engine->streams[stream].task;
    const struct tsim_task *others = &engine->streams[join->first_party].task;
    if (task->n_parties != join->n_parties || task->work < others->work || task->work > others->work)
        join->disagrees = true;
    engine->streams[join->last_party].next_party = stream;
    join->last_party = stream;
    join->n_arrived++;
}

int32_t tsim_engine_arrive(struct tsim_engine *engine, int32_t stream) {
    const struct tsim_task *task = &engine->streams[stream].task;
    if (task->n_parties == 1)
        return stream;
    if (2 * (engine->n_joins + 1) > engine->join_capacity)
        grow_table(engine);
    size_t slot = find_slot(engine, task->join);
    struct tsim_engine_join *join = &engine->joins[slot];
    if (join->n_arrived == 0)
        open_join(engine, join, stream);
    else
        enter_join(engine, join, stream);
    if (join->disagrees || join->n_arrived < join->n_parties)
        return -1;
    int32_t leader = choose_leader(engine, join->first_party);
    remove_slot(engine, slot);
    return leader;
}
