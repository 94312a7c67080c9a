/* alike_links.h - private to sim/step: links of the topology that are one to the engine.
 *
 * Links are alike if each task that crosses one of them crosses all of them, with the same share of its bytes, and they
 * have the same capacity: the eight NICs over which the tensor ranks of a stage send, say. They are full at the same
 * time and bind the same tasks, so one of them stands for all, and what flowed through it is booked on the others after
 * the step. A message between stages of eight ranks demands two resources instead of sixteen. */
#pragma once

#include "step/groups/stage_group.h"

/* Finds links that are alike, once all groups have their members and the links that these cross, and takes those for
 * which others stand away from both. Nothing else may cross links: neither copies, nor input, nor others' traffic, nor
 * messages one by one. Returns, by link, the one that stands for it. */
const int32_t *tsim_alike_links_find(struct tsim_arena *arena, const struct tsim_links *links,
                                     struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
/* Books, after the step, what flowed through links on those for which they stand. */
void tsim_alike_links_book(const struct tsim_links *links, const int32_t *stands_for);
