/* xml.h - private to import/machines: reads XML by expat, element by element, and reports mistakes with their
 * places. */
#pragma once

#include "import/formats.h"

enum { TSIM_XML_MOST_DEPTH = 64 };

struct tsim_xml_handler {
    /* It is called where an element begins, inside `depth` others; attributes are pairs of name and value, then NULL.
     * Returns what is wrong with the element, which ends the reading, or NULL. */
    const char *(*begin)(void *context, int depth, const char *name, const char **attributes);
    const char *hint; /* what the file should be */
};

/* Reads the input. Returns TSIM_ERR_SYNTAX if it is not XML, is deeper than TSIM_XML_MOST_DEPTH, or is refused by
 * `begin`. */
enum tsim_status tsim_xml_read(struct tsim_arena *arena, const struct tsim_import_input *input,
                               const struct tsim_xml_handler *handler, void *context, struct tsim_diags *diags);

/* Returns the value of an attribute; "" if there is none of that name. */
const char *tsim_xml_attribute(const char **attributes, const char *name);
