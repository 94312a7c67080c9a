#include "import/machines/xml.h"

#include <expat.h>
#include <string.h>

struct reading {
    XML_Parser parser;
    const struct tsim_xml_handler *handler;
    void *context;
    const char *problem;
    int depth;
};

const char *tsim_xml_attribute(const char **attributes, const char *name) {
    for (; attributes && attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return "";
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes) {
    struct reading *g = context;
    g->problem = g->depth + 1 >= TSIM_XML_MOST_DEPTH ? "nested deeper than 64 levels"
                                                     : g->handler->begin(g->context, g->depth, name, attributes);
    g->depth++;
    if (g->problem)
        XML_StopParser(g->parser, XML_FALSE);
}

static void XMLCALL on_end(void *context, const XML_Char *name) {
    struct reading *g = context;
    (void)name;
    g->depth--;
}

enum tsim_status tsim_xml_read(struct tsim_arena *arena, const struct tsim_import_input *input,
                               const struct tsim_xml_handler *handler, void *context, struct tsim_diags *diags) {
    struct reading g = {.parser = XML_ParserCreate(NULL), .handler = handler, .context = context};
    if (!g.parser)
        tsim_out_of_memory();
    XML_SetUserData(g.parser, &g);
    XML_SetElementHandler(g.parser, on_start, on_end);
    enum XML_Status status = XML_Parse(g.parser, input->text ? input->text : "", (int)input->size, XML_TRUE);
    if (status != XML_STATUS_OK) {
        enum XML_Error error = XML_GetErrorCode(g.parser);
        struct tsim_place place = {tsim_arena_strdup(arena, input->file), (int)XML_GetCurrentLineNumber(g.parser),
                                   (int)XML_GetCurrentColumnNumber(g.parser) + 1};
        if (error == XML_ERROR_NO_MEMORY)
            tsim_out_of_memory();
        tsim_diag_hint(g.problem ? tsim_diags_error(diags, TSIM_ERR_SYNTAX, place, "", "%s", g.problem)
                                 : tsim_diags_error(diags, TSIM_ERR_SYNTAX, place, "", "not valid XML: %s",
                                                    XML_ErrorString(error)),
                       "%s", handler->hint);
    }
    XML_ParserFree(g.parser);
    return status == XML_STATUS_OK ? TSIM_OK : TSIM_ERR_SYNTAX;
}
