/* The page's template and the library that draws its charts, as they are in their files; text that ends with a NUL.
 * The Makefile says where they are. */
    .section .rodata
    .global tsim_page_template
tsim_page_template:
    .incbin TSIM_PAGE_TEMPLATE
    .byte 0
    .global tsim_page_chart_js
tsim_page_chart_js:
    .incbin TSIM_CHART_JS
    .byte 0
    .section .note.GNU-stack, "", %progbits
