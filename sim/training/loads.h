/* loads.h - private to training: how full each sort of link was. */
#ifndef TSIM_TRAINING_LOADS_H
#define TSIM_TRAINING_LOADS_H

#include "training/expansion.h"

/* After the engine has run. step_links: NULL where it is folded, and the gangs' members have links of their own. */
void tsim_loads_find(struct tsim_arena *arena, const struct tsim_step_links *step_links, const struct tsim_gang *gangs,
                     int32_t n_gangs, struct tsim_step_simulation *simulation);

#endif
