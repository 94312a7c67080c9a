#include "step/account/alike_links.h"

#include "base/alike.h"
#include "base/random.h"

#include <string.h>

/* Links have equal numbers as long as every list of crossed links so far has put as many bytes on each of them, for each
 * byte on the node and for each through a NIC. (Two other links get the same 64 bits once in 10^19.) */
struct numbering {
    uint64_t *of;              /* by link */
    double *on_node, *between; /* by link: what the list at hand puts on it */
    int32_t *crossed;          /* the links of this list, */
    bool *is_crossed;          /* by link: whether it is one of them */
    int32_t n_crossed, n_links, first_resource;
    uint64_t n_lists;
};

static void cross(struct numbering *numbers, int32_t resource, double on_node, double between) {
    int32_t link = resource - numbers->first_resource;
    if (link < 0 || link >= numbers->n_links)
        return;
    if (!numbers->is_crossed[link])
        numbers->crossed[numbers->n_crossed++] = link;
    numbers->is_crossed[link] = true;
    numbers->on_node[link] += on_node;
    numbers->between[link] += between;
}

static void cross_all(struct numbering *numbers, const struct tsim_crossed_links *crossed) {
    for (int32_t k = 0; k < crossed->n; k++) {
        const struct tsim_crossed_link *link = &crossed->items[k];
        cross(numbers, link->link.resource, link->is_between_nodes ? 0 : link->link.per_unit,
              link->is_between_nodes ? link->link.per_unit : 0);
    }
}

static void cross_own(struct numbering *numbers, const struct tsim_member *member) {
    cross(numbers, member->scale_up_out, 1, 0);
    cross(numbers, member->scale_up_in, 1, 0);
    cross(numbers, member->nic_out, 0, 1);
    cross(numbers, member->nic_in, 0, 1);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Tells apart what the list crosses differently, or does not cross, and empties it. */
static void tell_apart(struct numbering *numbers) {
    numbers->n_lists++;
    for (int32_t i = 0; i < numbers->n_crossed; i++) {
        int32_t link = numbers->crossed[i];
        uint64_t put =
            tsim_random_mix_of(numbers->n_lists, bits_of(numbers->on_node[link]), bits_of(numbers->between[link]));
        numbers->of[link] = tsim_random_mix(numbers->of[link] + put);
        numbers->on_node[link] = numbers->between[link] = 0;
        numbers->is_crossed[link] = false;
    }
    numbers->n_crossed = 0;
}

/* Members without links of a kind of their own send over their own. */
static void tell_apart_by_group(struct numbering *numbers, const struct tsim_stage_group *group) {
    for (int whose = 0; whose <= TSIM_N_CROSSED; whose++) {
        bool has_some = whose == TSIM_N_CROSSED;
        for (int32_t i = 0; i < group->n_members; i++)
            has_some |= whose < TSIM_N_CROSSED && group->members[i].crossed[whose].items;
        for (int32_t i = 0; has_some && i < group->n_members; i++) {
            const struct tsim_member *member = &group->members[i];
            if (whose < TSIM_N_CROSSED && member->crossed[whose].items)
                cross_all(numbers, &member->crossed[whose]);
            else
                cross_own(numbers, member);
        }
        tell_apart(numbers);
    }
    for (int what = 0; what < TSIM_N_SENT; what++) {
        cross_all(numbers, &group->sent[what]);
        tell_apart(numbers);
    }
}

static void begin(struct numbering *numbers, struct tsim_arena *arena, const struct tsim_links *links) {
    size_t n = (size_t)links->topology->n_links;
    *numbers = (struct numbering){.n_links = links->topology->n_links, .first_resource = links->first_resource};
    numbers->of = TSIM_NEW_ARRAY(arena, n, uint64_t);
    numbers->on_node = TSIM_NEW_ARRAY(arena, n, double);
    numbers->between = TSIM_NEW_ARRAY(arena, n, double);
    numbers->crossed = TSIM_NEW_ARRAY(arena, n, int32_t);
    numbers->is_crossed = TSIM_NEW_ARRAY(arena, n, bool);
    for (int32_t i = 0; i < numbers->n_links; i++)
        numbers->of[i] = bits_of(tsim_engine_capacity(links->engine, links->first_resource + i));
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
    struct numbering numbers;
    tsim_arena_init(&scratch);
    begin(&numbers, &scratch, links);
    for (int32_t g = 0; g < n_stage_groups; g++)
        tell_apart_by_group(&numbers, &stage_groups[g]);
    const int32_t *stands_for = tsim_first_alike(arena, &scratch, numbers.of, numbers.n_links);
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
    tsim_arena_release(&scratch);
    return stands_for;
}

void tsim_alike_links_book(const struct tsim_links *links, const int32_t *stands_for) {
    for (int32_t i = 0; i < links->topology->n_links; i++)
        if (stands_for[i] != i)
            tsim_engine_book_flow(links->engine, links->first_resource + i,
                                  tsim_engine_resource_flowed(links->engine, links->first_resource + stands_for[i]));
}
