/*
 * Short forms of readable names: a function without its parameters, template arguments and return
 * type. Pure functions over text as libiberty prints it, in place; names only get shorter. Where
 * brackets don't match, the rest of the name stays as it is.
 *
 *	std::function<void (int)>::operator()(int) const   std::function::operator()
 *	void f<int>(int) [clone .cold]                     f [clone .cold]
 *	a::g(int)::{lambda(b<c>)#1}::operator()() const    a::g::{lambda(b)#1}::operator()
 *	<alloc::vec::Vec<T> as a::Trait<u8>>::run::<i32>   <alloc::vec::Vec as a::Trait>::run
 *	std.stdio.writeln!(int).writeln(int)               std.stdio.writeln.writeln
 *
 * What tells functions apart by name stays: a lambda's parameters (lambdas are numbered among those
 * with the same ones), and which type and trait a Rust method is of.
 */
#ifndef STOOK_SYM_SIMPLE_NAME_H
#define STOOK_SYM_SIMPLE_NAME_H

void simple_name_cxx(char *name);
void simple_name_rust(char *name);
void simple_name_d(char *name);

#endif
