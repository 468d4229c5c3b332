/*
 * The static parts of pages and pictures, embedded into the program: files of src/format/page/,
 * src/format/flame/ and, for the page of `stook serve`, src/serve/page/. Each ends with a NUL byte.
 */
#ifndef STOOK_FORMAT_PAGE_ASSETS_H
#define STOOK_FORMAT_PAGE_ASSETS_H

extern const char asset_svg_js[];
extern const char asset_page_html[];
extern const char asset_page_css[];
extern const char asset_page_js[];
extern const char asset_serve_html[];
extern const char asset_serve_css[];
extern const char asset_serve_js[];

#endif
