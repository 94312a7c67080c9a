/* reference.h - every key of a scenario and of the catalogue's files, from the tables that read them (schema.h), for
 * docs/reference.md and for shells that complete --set. */
#pragma once

#include <stdio.h>

/* Prints Markdown, with a table for each section. */
void tsim_reference_print(FILE *out);

/* Prints the dotted paths of a scenario's values, which --set takes, one on each line. */
void tsim_reference_paths(FILE *out);
