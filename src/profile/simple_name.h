/*
 * Short forms of function names: without parameters, template arguments and return type, and fitted
 * to columns too narrow for the whole name.
 */
#ifndef STOOK_PROFILE_SIMPLE_NAME_H
#define STOOK_PROFILE_SIMPLE_NAME_H

#include <stddef.h>

/*
 * Removes parameters, template arguments and return type, in place, from a name as libiberty prints
 * it. Names never get longer. Where brackets don't match, the rest of the name stays unchanged.
 *
 *	std::function<void (int)>::operator()(int) const   std::function::operator()
 *	void f<int>(int) [clone .cold]                     f [clone .cold]
 *	a::g(int)::{lambda(b<c>)#1}::operator()() const    a::g::{lambda(b)#1}::operator()
 *	<alloc::vec::Vec<T> as a::Trait<u8>>::run::<i32>   <alloc::vec::Vec as a::Trait>::run
 *	std.stdio.writeln!(int).writeln(int)               std.stdio.writeln.writeln
 *
 * Parts that distinguish functions of one name stay: a lambda's parameters (lambdas are numbered
 * among the ones with the same parameters), and the type and trait of a Rust method.
 */
void simple_name_cxx(char *name);
void simple_name_rust(char *name);
void simple_name_d(char *name);

/* The same for an unmangled name from DWARF: `emplace<int>` becomes `emplace`. */
void simple_name_dwarf(char *name);

/*
 * Copies a name of any language, safe for a terminal, cut to `columns`. The buffer has room for
 * columns * 4 + 1 bytes. A name that is too long and in C++ or Rust loses, in this order and no
 * more than needed: return type and parameters; template arguments; the outer namespaces and
 * classes, replaced by an ellipsis. Any other name loses its middle, as with text_cut(). The marks
 * that call trees append to names stay: ` [i]`, ` (recursive)`.
 *
 *	std::vector<Row, Pool<Row> > load<Row>(std::string const&)	load<Row>
 *	void app::storage::Table<int>::flush(bool)			…Table::flush
 */
void simple_name_fit(const char *name, size_t columns, const char *ellipsis, char *buffer);

#endif
