/* workbench.h - the page of `tsim serve`, with its script and style, as a text that is the same for everybody. The
 * server sends the page the data to show, in the form of a report's (page.h), and the report's script draws them. */
#pragma once

extern const char tsim_workbench_html[], tsim_workbench_css[], tsim_workbench_js[];
extern const char tsim_chart_css[], tsim_report_css[], tsim_report_js[], tsim_accuracy_chart_js[];
