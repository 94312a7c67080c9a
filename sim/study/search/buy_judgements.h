/* buy_judgements.h - what `tsim buy` assumes if no measurement decides, each figure with its reason. docs/buy.md
 * tells its reader the same figures. */
#pragma once

/* ---- chances ---- */

/* The highest chance that is claimed. With enough runs measured on the accelerator and like the offer's it is what the
 * ends of 90 % can support: intervals are fitted to the errors of some twenty runs, and those do not tell 95 % from 99
 * %. With few such runs the chance of a miss doubles, and with none it doubles again, so that no machine wins by an
 * interval without evidence. */
#define TSIM_MOST_CHANCE_MEASURED 0.95
#define TSIM_MOST_CHANCE_SIMILAR 0.90
#define TSIM_MOST_CHANCE_ESTIMATE 0.80

/* A chance is told in steps of one run among so many, and never rounded up: if it says 90 %, nine of ten cases keep the
 * limit. */
#define TSIM_CHANCE_STEPS 20

/* An offer makes the goal if that is at least as likely as missing it. */
#define TSIM_CHANCE_LIKELY 0.5

/* ---- which machines ---- */

/* The most that a product may cost on a machine, over its cost on the cheapest machine, for the machine to be among the
 * first that are searched. Losses beside products take about a third of a step (TSIM_REACHED_FRAC), so a machine that
 * loses nothing at all makes up for a price 1.5 times as high. A dearer machine is searched if its peak does not prove
 * that it loses. */
#define TSIM_MOST_PRICE_RATIO 1.6

/* The largest cluster that is tried. The largest with a measured run has 12,288 accelerators. */
#define TSIM_MOST_BOUGHT_ACCELERATORS 32768

/* ---- the first guess of how many; predictions correct it ---- */

/* A good plan reaches this part of the rate of long products. The rest goes to small kernels, communication and
 * waits. */
#define TSIM_REACHED_FRAC (2.0 / 3)

/* A parameter takes these bytes: weights and gradients in 16 bits, and a copy and Adam's two moments in 32: 2 + 2 + 4 +
 * 4 + 4 (Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1). */
#define TSIM_STATE_BYTES_PER_PARAMETER 16.0

/* The part of the memory that these may take: activations and buffers need the other half. */
#define TSIM_STATE_MEMORY_FRAC 0.5

/* The guess fills this part of the time until the date: failures, checkpoints and tsim's own error need the rest. */
#define TSIM_FIRST_DATE_FRAC 0.8

/* The part of a budget that the first guess of a model spends on the machine whose products cost least. In one case of
 * ten prices are 1.6 times as high (price_spread), and that machine is often not the one that is chosen. */
#define TSIM_FIRST_BUDGET_FRAC 0.45

/* A run may take this long if only a budget is set: about as long as published runs of large models took. */
#define TSIM_DAYS_WITHOUT_DATE 60.0
