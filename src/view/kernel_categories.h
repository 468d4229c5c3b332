/*
 * The built-in table of categories.h: the kernel's subsystems by the names of their functions, of
 * kernels 5.10 to 7.x on x86-64 and arm64. Patterns are about the kernel unless they say otherwise.
 */
#ifndef STOOK_VIEW_KERNEL_CATEGORIES_H
#define STOOK_VIEW_KERNEL_CATEGORIES_H

extern const char kernel_categories[];

#endif
