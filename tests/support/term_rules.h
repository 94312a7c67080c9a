/* term_rules.h - what every node of every formula tree holds to: its value is what its rule makes of its parts, a leaf
 * says where it is from, and what a simulation or a search gave says so. */
#pragma once

#include "base/term.h"

void expect_term_rules(const struct tsim_term *term);
