/* toml.h - reads the part of TOML 1.0 in which configurations are written, as settings of a recipe: comments, tables
 * ([a], [a.b]), dotted and quoted keys, strings of all four kinds, numbers (also with underscores, hexadecimal, octal
 * and binary), booleans, dates as text, arrays over several lines, inline tables. Arrays of tables ([[a]]) are
 * refused. */
#pragma once

#include "import/launches/recipe.h"

/* Adds each value under its whole dotted key. Mistakes are reported with their places, up to the first that stops the
 * reading. Returns TSIM_ERR_SYNTAX for these and for a key that is given twice, and TSIM_ERR_LIMIT for nesting over 16
 * levels. */
enum tsim_status tsim_toml_read(struct tsim_recipe *r);
