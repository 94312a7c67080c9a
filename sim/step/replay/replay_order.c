/* The streams of a rank: an order of all its nodes in which each comes after what it waits for, cut into streams.
 * Between streams nodes wait through signals; within one the order says it all. */
#include "step/replay/replay_run.h"

#include <stdlib.h>
#include <string.h>

/* ---- the order: a heap of nodes that are ready, the earliest recorded start first, then the first in the file ---- */

struct heap {
    const struct tsim_history_node *nodes;
    int32_t *items, n;
};

static bool comes_before(const struct heap *heap, int32_t a, int32_t b) {
    double x = heap->nodes[a].start_s, y = heap->nodes[b].start_s;
    return x < y || (!(y < x) && a < b);
}

static void swap(int32_t *a, int32_t *b) {
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void push(struct heap *heap, int32_t item) {
    int32_t at = heap->n++;
    heap->items[at] = item;
    for (; at > 0 && comes_before(heap, heap->items[at], heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap->items[at], &heap->items[(at - 1) / 2]);
}

static int32_t pop(struct heap *heap) {
    int32_t first = heap->items[0], at = 0;
    heap->items[0] = heap->items[--heap->n];
    for (;;) {
        int32_t least = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->n; child++)
            if (comes_before(heap, heap->items[child], heap->items[least]))
                least = child;
        if (least == at)
            return first;
        swap(&heap->items[at], &heap->items[least]);
        at = least;
    }
}

struct children {
    int32_t *first, *items; /* of node i: items[first[i]] .. items[first[i + 1] - 1] */
};

static struct children children_of(struct tsim_arena *arena, const struct tsim_history *e) {
    size_t n = (size_t)e->n_nodes, n_edges = 0;
    struct children c = {.first = TSIM_NEW_ARRAY(arena, n + 2, int32_t)};
    int32_t *at = c.first + 1; /* first[i + 2] is counted, then moved to its place */
    for (size_t i = 0; i < n; n_edges += (size_t)e->nodes[i].n_deps, i++)
        for (int32_t k = 0; k < e->nodes[i].n_deps; k++)
            c.first[e->nodes[i].deps[k] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        c.first[i] += c.first[i - 1];
    c.items = TSIM_NEW_ARRAY(arena, n_edges, int32_t);
    for (size_t i = 0; i < n; i++)
        for (int32_t k = 0; k < e->nodes[i].n_deps; k++)
            c.items[at[e->nodes[i].deps[k]]++] = (int32_t)i;
    return c;
}

/* The execution has no cycles (its reader has looked). */
static const int32_t *order_of(struct tsim_arena *arena, const struct tsim_history *e) {
    size_t n = (size_t)e->n_nodes;
    struct children children = children_of(arena, e);
    struct heap heap = {.nodes = e->nodes, .items = TSIM_NEW_ARRAY(arena, n, int32_t)};
    int32_t *waits = TSIM_NEW_ARRAY(arena, n, int32_t), *order = TSIM_NEW_ARRAY(arena, n, int32_t);
    for (size_t i = 0; i < n; i++)
        if ((waits[i] = e->nodes[i].n_deps) == 0)
            push(&heap, (int32_t)i);
    for (size_t at = 0; at < n; at++) {
        TSIM_ASSERT(heap.n > 0);
        int32_t node = order[at] = pop(&heap);
        for (int32_t k = children.first[node]; k < children.first[node + 1]; k++)
            if (--waits[children.items[k]] == 0)
                push(&heap, children.items[k]);
    }
    return order;
}

/* ---- streams ---- */

static void stream_key(const struct tsim_replay_member *member, const struct tsim_history_node *node,
                       enum tsim_replay_category *category, int64_t *number) {
    *number = node->stream;
    switch (node->kind) {
    case TSIM_HISTORY_NOTHING:
        *category = TSIM_REPLAY_HOST;
        return;
    case TSIM_HISTORY_COMPUTE:
        *category = node->is_host ? TSIM_REPLAY_HOST : TSIM_REPLAY_KERNELS;
        return;
    case TSIM_HISTORY_LOAD:
    case TSIM_HISTORY_STORE:
        *category = TSIM_REPLAY_MEMORY;
        *number = node->kind;
        return;
    case TSIM_HISTORY_SEND:
        *category = TSIM_REPLAY_SENDS;
        *number = node->to;
        return;
    case TSIM_HISTORY_RECEIVE:
        *category = TSIM_REPLAY_RECEIVES;
        *number = node->from;
        return;
    case TSIM_HISTORY_COLLECTIVE:
        *category = TSIM_REPLAY_GROUP;
        *number = member->groups[node->group + 1];
        return;
    case TSIM_N_HISTORY_KINDS:
        break;
    }
    TSIM_BUG("kind %d", (int)node->kind);
}

static int compare_streams(const struct tsim_replay_stream *a, enum tsim_replay_category category, int64_t number) {
    if (a->category != category)
        return a->category < category ? -1 : 1;
    return a->number < number ? -1 : a->number > number;
}

/* Returns the place of the stream in the sorted list, or the place at which it belongs. */
static int32_t place_of(const struct tsim_replay_stream *streams, int32_t n, enum tsim_replay_category category,
                        int64_t number) {
    int32_t low = 0, high = n;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (compare_streams(&streams[middle], category, number) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_streams(struct tsim_replay_run *run, struct tsim_replay_member *member) {
    const struct tsim_history *e = member->execution;
    struct tsim_replay_stream *found = NULL;
    size_t capacity = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < e->n_nodes; i++) {
        enum tsim_replay_category category;
        int64_t number;
        stream_key(member, &e->nodes[i], &category, &number);
        int32_t at = place_of(found, n, category, number);
        if (at < n && compare_streams(&found[at], category, number) == 0) {
            found[at].n++;
            continue;
        }
        found = tsim_heap_grow(found, &capacity, (size_t)n + 1, sizeof *found);
        memmove(found + at + 1, found + at, (size_t)(n++ - at) * sizeof *found);
        found[at] = (struct tsim_replay_stream){.category = category, .number = number, .n = 1, .member = member};
    }
    member->streams = TSIM_NEW_ARRAY(run->arena, (size_t)n, struct tsim_replay_stream);
    if (found)
        memcpy(member->streams, found, (size_t)n * sizeof *found);
    member->n_streams = n;
    tsim_heap_free(found);
    for (int32_t s = 0; s < n; s++)
        member->streams[s].nodes = TSIM_NEW_ARRAY(run->arena, (size_t)member->streams[s].n, int32_t);
}

void tsim_replay_order(struct tsim_replay_run *run, struct tsim_replay_member *member) {
    const struct tsim_history *e = member->execution;
    const int32_t *order = order_of(run->arena, e);
    find_streams(run, member);
    member->stream_of = TSIM_NEW_ARRAY(run->arena, (size_t)e->n_nodes, int32_t);
    for (int32_t i = 0; i < e->n_nodes; i++) {
        enum tsim_replay_category category;
        int64_t number;
        stream_key(member, &e->nodes[order[i]], &category, &number);
        int32_t s = place_of(member->streams, member->n_streams, category, number);
        member->stream_of[order[i]] = s;
        member->streams[s].nodes[member->streams[s].at++] = order[i];
    }
    for (int32_t s = 0; s < member->n_streams; s++)
        member->streams[s].at = 0;
}

/* ---- signals ---- */

struct edge {
    int32_t from, stream, place, to; /* the stream of `to`, and its place there */
};

static int compare_edges(const void *a, const void *b) {
    const struct edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool next_fan(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_replay_fan *fan = context;
    (void)stream;
    if (fan->is_done)
        return false;
    fan->is_done = true;
    task->waits[task->n_waits++] = fan->wait;
    for (int32_t i = 0; i < fan->n_lowers; i++)
        task->lowers[task->n_lowers++] = fan->lowers[i];
    return true;
}

/* When a list is full, its last place becomes the signal of a fan, which takes over that place's signal and all further
 * ones. */
static void lower(struct tsim_replay_run *run, int32_t *n, int32_t lowers[TSIM_TASK_MAX_SIGNALS],
                  struct tsim_replay_fan **fan, int32_t signal) {
    int32_t *n_to = *fan ? &(*fan)->n_lowers : n, *to = *fan ? (*fan)->lowers : lowers;
    if (*n_to < TSIM_TASK_MAX_SIGNALS) {
        to[(*n_to)++] = signal;
        return;
    }
    struct tsim_replay_fan *next = TSIM_NEW(run->arena, struct tsim_replay_fan);
    next->wait = tsim_engine_add_signals(run->engine, 1, 1);
    next->lowers[next->n_lowers++] = to[TSIM_TASK_MAX_SIGNALS - 1];
    next->lowers[next->n_lowers++] = signal;
    to[TSIM_TASK_MAX_SIGNALS - 1] = next->wait;
    tsim_engine_add_stream(run->engine, next_fan, next);
    *fan = next;
}

/* Edges from a node to another stream, of which only the first there counts: the others come after it. */
static size_t edges_of(struct tsim_replay_run *run, const struct tsim_replay_member *member, struct edge **edges) {
    const struct tsim_history *e = member->execution;
    size_t n = 0, n_kept = 0;
    int32_t *place = TSIM_NEW_ARRAY(run->arena, (size_t)e->n_nodes, int32_t);
    for (int32_t s = 0; s < member->n_streams; s++)
        for (int32_t k = 0; k < member->streams[s].n; k++)
            place[member->streams[s].nodes[k]] = k;
    for (int32_t i = 0; i < e->n_nodes; i++)
        n += (size_t)e->nodes[i].n_deps;
    struct edge *all = *edges = TSIM_NEW_ARRAY(run->arena, n, struct edge);
    n = 0;
    for (int32_t i = 0; i < e->n_nodes; i++)
        for (int32_t k = 0; k < e->nodes[i].n_deps; k++)
            if (member->stream_of[e->nodes[i].deps[k]] != member->stream_of[i])
                all[n++] = (struct edge){e->nodes[i].deps[k], member->stream_of[i], place[i], i};
    qsort(all, n, sizeof *all, compare_edges);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || all[i].from != all[i - 1].from || all[i].stream != all[i - 1].stream)
            all[n_kept++] = all[i];
    return n_kept;
}

void tsim_replay_signals(struct tsim_replay_run *run, struct tsim_replay_member *member) {
    size_t n_nodes = (size_t)member->execution->n_nodes;
    struct edge *edges;
    size_t n = edges_of(run, member, &edges);
    int32_t *count = TSIM_NEW_ARRAY(run->arena, n_nodes, int32_t);
    struct tsim_replay_fan *fan = NULL;
    member->waits = TSIM_NEW_ARRAY(run->arena, n_nodes, int32_t);
    member->n_lowers = TSIM_NEW_ARRAY(run->arena, n_nodes, int32_t);
    member->lowers = tsim_arena_array(run->arena, n_nodes, sizeof *member->lowers);
    for (size_t i = 0; i < n; i++)
        count[edges[i].to]++;
    for (size_t i = 0; i < n_nodes; i++)
        if (member->execution->nodes[i].kind == TSIM_HISTORY_SEND && member->meetings[i].arrival >= 0)
            member->lowers[i][member->n_lowers[i]++] = member->meetings[i].arrival;
    for (size_t i = 0; i < n_nodes; i++)
        member->waits[i] = count[i] > 0 ? tsim_engine_add_signals(run->engine, 1, count[i]) : -1;
    for (size_t i = 0; i < n; i++) {
        int32_t from = edges[i].from;
        if (i > 0 && from != edges[i - 1].from)
            fan = NULL;
        lower(run, &member->n_lowers[from], member->lowers[from], &fan, member->waits[edges[i].to]);
    }
}
