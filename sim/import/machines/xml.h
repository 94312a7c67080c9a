/* xml.h - private to import/machines: reads XML by expat, element after element, with the place of what is wrong. */
#ifndef TSIM_IMPORT_XML_H
#define TSIM_IMPORT_XML_H

#include "import/formats.h"

enum { TSIM_XML_MOST_DEPTH = 64 };

struct tsim_xml_handler {
    /* An element begins, `depth` others around it; attributes are pairs of name and value, NULL after the last. Returns
     * what is wrong with it, which ends the reading, or NULL. */
    const char *(*begin)(void *context, int depth, const char *name, const char **attributes);
    const char *hint; /* what the file should be */
};

/* TSIM_ERR_SYNTAX where it is not XML, deeper than TSIM_XML_MOST_DEPTH, or `begin` refuses it. */
enum tsim_status tsim_xml_read(struct tsim_arena *arena, const struct tsim_import_input *input,
                               const struct tsim_xml_handler *handler, void *context, struct tsim_diags *diags);

/* "" where there is none of that name. */
const char *tsim_xml_attribute(const char **attributes, const char *name);

#endif
