/* The page's template as it is in its file; text that ends with a NUL. The Makefile says where it is. */
    .section .rodata
    .global tsim_page_template
tsim_page_template:
    .incbin TSIM_PAGE_TEMPLATE
    .byte 0
    .section .note.GNU-stack, "", %progbits
