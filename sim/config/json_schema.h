/* json_schema.h - the keys of a scenario as a JSON Schema (2020-12), made from the tables that read them (schema.h),
 * for editors and for pages that offer controls. Rules between keys are not in it; `tsim check` knows them. Numbers
 * with a dimension carry their range in SI units as x-least and x-most, and their unit as x-unit. */
#pragma once

#include <stdio.h>

void tsim_json_schema_print(FILE *out);
