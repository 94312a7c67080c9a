#include "step/account/alike_links.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* A list of crossed links puts so many bytes on one of them for each byte on the node, and for each through a NIC. */
struct crossing {
    int32_t link, set;
    double on_node, between;
};

/* Sets of links that no list so far has told apart, and the list that comes next. */
struct partition {
    int32_t *set_of, *n_of; /* by link; by set */
    int32_t n_sets, n_links, first_resource;
    struct crossing *list;
    size_t n, capacity;
};

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

static int by_link(const void *a, const void *b) {
    const struct crossing *x = a, *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

static bool is_alike(const struct crossing *x, const struct crossing *y) {
    return x->set == y->set && compare(x->on_node, y->on_node) == 0 && compare(x->between, y->between) == 0;
}

static int by_share(const void *a, const void *b) {
    const struct crossing *x = a, *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    int order = compare(x->on_node, y->on_node);
    return order ? order : compare(x->between, y->between);
}

static void cross(struct partition *p, int32_t resource, double on_node, double between) {
    int32_t link = resource - p->first_resource;
    if (link < 0 || link >= p->n_links)
        return;
    p->list = tsim_heap_grow(p->list, &p->capacity, p->n + 1, sizeof *p->list);
    p->list[p->n++] = (struct crossing){.link = link, .on_node = on_node, .between = between};
}

static void cross_all(struct partition *p, const struct tsim_crossed_links *crossed) {
    for (int32_t k = 0; k < crossed->n; k++) {
        const struct tsim_crossed_link *link = &crossed->items[k];
        cross(p, link->link.resource, link->is_between_nodes ? 0 : link->link.per_unit,
              link->is_between_nodes ? link->link.per_unit : 0);
    }
}

static void cross_own(struct partition *p, const struct tsim_member *member) {
    cross(p, member->scale_up_out, 1, 0);
    cross(p, member->scale_up_in, 1, 0);
    cross(p, member->nic_out, 0, 1);
    cross(p, member->nic_in, 0, 1);
}

/* Adds up what the list says of one link several times. */
static void merge(struct partition *p) {
    size_t n = 0;
    qsort(p->list, p->n, sizeof *p->list, by_link);
    for (size_t i = 0; i < p->n; i++) {
        if (n > 0 && p->list[n - 1].link == p->list[i].link) {
            p->list[n - 1].on_node += p->list[i].on_node;
            p->list[n - 1].between += p->list[i].between;
            continue;
        }
        p->list[n] = p->list[i];
        p->list[n++].set = p->set_of[p->list[i].link];
    }
    p->n = n;
}

/* Tells apart what the list crosses differently, or does not cross, and empties it. */
static void tell_apart(struct partition *p) {
    if (p->n == 0)
        return;
    merge(p);
    qsort(p->list, p->n, sizeof *p->list, by_share);
    for (size_t i = 0, end; i < p->n; i = end) {
        int32_t set = p->list[i].set;
        for (end = i + 1; end < p->n && is_alike(&p->list[end], &p->list[i]); end++)
            ;
        if ((int32_t)(end - i) == p->n_of[set])
            continue;
        p->n_of[set] -= (int32_t)(end - i);
        p->n_of[p->n_sets] = (int32_t)(end - i);
        for (size_t k = i; k < end; k++)
            p->set_of[p->list[k].link] = p->n_sets;
        p->n_sets++;
    }
    p->n = 0;
}

/* Members without links of a kind of their own send over their own. */
static void tell_apart_by_group(struct partition *p, const struct tsim_stage_group *group) {
    for (int whose = 0; whose <= TSIM_N_CROSSED; whose++) {
        bool has_some = whose == TSIM_N_CROSSED;
        for (int32_t i = 0; i < group->n_members; i++)
            has_some |= whose < TSIM_N_CROSSED && group->members[i].crossed[whose].items;
        for (int32_t i = 0; has_some && i < group->n_members; i++) {
            const struct tsim_member *member = &group->members[i];
            if (whose < TSIM_N_CROSSED && member->crossed[whose].items)
                cross_all(p, &member->crossed[whose]);
            else
                cross_own(p, member);
        }
        tell_apart(p);
    }
    for (int what = 0; what < TSIM_N_SENT; what++) {
        cross_all(p, &group->sent[what]);
        tell_apart(p);
    }
}

static void begin(struct partition *p, struct tsim_arena *arena, const struct tsim_links *links) {
    *p = (struct partition){.n_links = links->topology->n_links, .first_resource = links->first_resource};
    p->set_of = TSIM_NEW_ARRAY(arena, (size_t)p->n_links, int32_t);
    p->n_of = TSIM_NEW_ARRAY(arena, (size_t)p->n_links + 1, int32_t);
    p->n_of[p->n_sets++] = p->n_links;
    /* The first lists are of those with one capacity. */
    for (int32_t i = 0; i < p->n_links; i++)
        cross(p, links->first_resource + i, tsim_engine_capacity(links->engine, links->first_resource + i), 0);
    tell_apart(p);
}

static void take_away(const int32_t *stands_for, const struct tsim_links *links, struct tsim_crossed_links *crossed) {
    int32_t n = 0;
    for (int32_t k = 0; k < crossed->n; k++) {
        int32_t link = crossed->items[k].link.resource - links->first_resource;
        if (stands_for[link] == link)
            crossed->items[n++] = crossed->items[k];
    }
    crossed->n = n;
}

static void take_away_own(const int32_t *stands_for, const struct tsim_links *links, int32_t *resource) {
    int32_t link = *resource - links->first_resource;
    if (link >= 0 && link < links->topology->n_links && stands_for[link] != link)
        *resource = TSIM_OTHER_STANDS;
}

const int32_t *tsim_alike_links_find(struct tsim_arena *arena, const struct tsim_links *links,
                                     struct tsim_stage_group *stage_groups, int32_t n_stage_groups) {
    struct tsim_arena scratch;
    struct partition p;
    tsim_arena_init(&scratch);
    begin(&p, &scratch, links);
    for (int32_t g = 0; g < n_stage_groups; g++)
        tell_apart_by_group(&p, &stage_groups[g]);
    int32_t *first_of = p.n_of, *stands_for = TSIM_NEW_ARRAY(arena, (size_t)p.n_links, int32_t);
    memset(first_of, -1, (size_t)p.n_sets * sizeof *first_of);
    for (int32_t i = 0; i < p.n_links; i++) {
        if (first_of[p.set_of[i]] < 0)
            first_of[p.set_of[i]] = i;
        stands_for[i] = first_of[p.set_of[i]];
    }
    for (int32_t g = 0; g < n_stage_groups; g++) {
        struct tsim_stage_group *group = &stage_groups[g];
        for (int what = 0; what < TSIM_N_SENT; what++)
            take_away(stands_for, links, &group->sent[what]);
        for (int32_t i = 0; i < group->n_members; i++) {
            struct tsim_member *member = &group->members[i];
            for (int whose = 0; whose < TSIM_N_CROSSED; whose++)
                take_away(stands_for, links, &member->crossed[whose]);
            take_away_own(stands_for, links, &member->scale_up_out);
            take_away_own(stands_for, links, &member->scale_up_in);
            take_away_own(stands_for, links, &member->nic_out);
            take_away_own(stands_for, links, &member->nic_in);
        }
    }
    tsim_heap_free(p.list);
    tsim_arena_release(&scratch);
    return stands_for;
}

void tsim_alike_links_book(const struct tsim_links *links, const int32_t *stands_for) {
    for (int32_t i = 0; i < links->topology->n_links; i++)
        if (stands_for[i] != i)
            tsim_engine_book_flow(links->engine, links->first_resource + i,
                                  tsim_engine_resource_flowed(links->engine, links->first_resource + stands_for[i]));
}
