/*
 * Embeds the page's files and the pictures' scripts unchanged, each followed by a NUL; see
 * assets.h. Paths are relative to the directory that make runs in. The files can be opened in a
 * browser directly, and no tool is needed to convert them to C.
 */

	.macro asset name, path
	.global asset_\name
	.type asset_\name, %object
asset_\name:
	.incbin "\path"
	.byte 0
	.size asset_\name, . - asset_\name
	.endm

/* In this order. */
#define PAGE_SCRIPTS theme, dom, difference, decode, tree, merge, colors, layout, pointer, graph, \
	units, frame, search, table, timeline, sandwich, threads, panels, address, keys, tools, app

	.section .rodata
	asset page_html, "src/format/page/page.html"
	asset page_css, "src/format/page/page.css"

	/*
	 * Scripts that consist of several files, in this order. The picture's script is one
	 * function.
	 */
	.global asset_svg_js
	.type asset_svg_js, %object
asset_svg_js:
	.ascii "(function () {\n'use strict';\n\n"
	.irp name, svg, svg_search, svg_keys, svg_state, svg_start
	.incbin "src/format/flame/\name\().js"
	.endr
	.asciz "})();\n"
	.size asset_svg_js, . - asset_svg_js

	.global asset_page_js
	.type asset_page_js, %object
asset_page_js:
	.irp name, PAGE_SCRIPTS, start
	.incbin "src/format/page/js/\name\().js"
	.endr
	.byte 0
	.size asset_page_js, . - asset_page_js

	/* The page of the server has the same, and more. */
	asset serve_html, "src/serve/page/page.html"

	.global asset_serve_css
	.type asset_serve_css, %object
asset_serve_css:
	.incbin "src/format/page/page.css"
	.incbin "src/serve/page/page.css"
	.byte 0
	.size asset_serve_css, . - asset_serve_css

	.global asset_serve_js
	.type asset_serve_js, %object
asset_serve_js:
	.irp name, PAGE_SCRIPTS
	.incbin "src/format/page/js/\name\().js"
	.endr
	.irp name, server, chart, ranges, page
	.incbin "src/serve/page/\name\().js"
	.endr
	.byte 0
	.size asset_serve_js, . - asset_serve_js

	/* Without this section the program's stack would be executable. */
	.section .note.GNU-stack, "", %progbits

	/*
	 * There is no code here, so the file is compatible with branch targets and shadow stacks.
	 */
#ifdef __CET__
#include <cet.h>
#endif
#ifdef __ARM_FEATURE_BTI_DEFAULT
	.section .note.gnu.property, "a", %note
	.balign 8
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000000, 4, 3, 0 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI and PAC */
#endif
