/* The texts of pages as they are in their files; each ends with a NUL. A script is one text of several files. */
    .section .rodata
    .macro text name, files:vararg
    .global \name
\name:
    .irp file, \files
    .incbin "sim/report/page/\file"
    .endr
    .byte 0
    .endm
    text tsim_page_template, page.html
    text tsim_chart_css, chart.css
    text tsim_report_css, report.css
    text tsim_report_js, report/elements.js, report/figures.js, report/charts.js, report/run.js, report/comparison.js, report/sortable.js, report/sweep.js, report/plans.js, report/decision.js, report/report.js
    text tsim_workbench_html, workbench.html
    text tsim_workbench_css, workbench.css
    text tsim_accuracy_chart_js, report/accuracy_chart.js
    text tsim_workbench_js, workbench/state.js, workbench/server.js, workbench/yaml_text.js, workbench/controls.js, workbench/results.js, workbench/questions.js, workbench/measured_runs.js, workbench/workbench.js
    .section .note.GNU-stack, "", %progbits
