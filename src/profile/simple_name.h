/*
 * Short forms of functions' names: without parameters, template arguments and return type, and for
 * columns that are too narrow for the whole name.
 */
#ifndef STOOK_PROFILE_SIMPLE_NAME_H
#define STOOK_PROFILE_SIMPLE_NAME_H

#include <stddef.h>

/*
 * A function without its parameters, template arguments and return type. Pure functions over text
 * as libiberty prints it, in place; names only get shorter. Where brackets don't match, the rest of
 * the name stays as it is.
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

/* The same for a name as DWARF has it where it is not mangled: `emplace<int>` becomes `emplace`. */
void simple_name_dwarf(char *name);

/*
 * Copies a name of whatever language, safe for a terminal, into at most so many columns, of which the
 * buffer has room for columns * 4 + 1 bytes. What is too long loses, in this order and no more than
 * needed, if it is C++ or Rust: return type and parameters; template arguments; the outer namespaces
 * and classes, to an ellipsis. Else it loses its middle, as by text_cut(). What call trees put behind
 * names stays: ` [i]`, ` (recursive)`.
 *
 *	std::vector<Row, Pool<Row> > load<Row>(std::string const&)	load<Row>
 *	void app::storage::Table<int>::flush(bool)			…Table::flush
 */
void simple_name_fit(const char *name, size_t columns, const char *ellipsis, char *buffer);

#endif
