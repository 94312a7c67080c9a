/* The texts of pages as they are in their files; each ends with a NUL. */
    .section .rodata
    .macro text name, file
    .global \name
\name:
    .incbin "\file"
    .byte 0
    .endm
    text tsim_page_template, sim/report/page/page.html
    text tsim_chart_css, sim/report/page/chart.css
    text tsim_report_css, sim/report/page/report.css
    text tsim_report_js, sim/report/page/report.js
    text tsim_workbench_html, sim/report/page/workbench.html
    text tsim_workbench_css, sim/report/page/workbench.css
    text tsim_accuracy_chart_js, sim/report/page/accuracy_chart.js
    text tsim_workbench_js, sim/report/page/workbench.js
    .section .note.GNU-stack, "", %progbits
