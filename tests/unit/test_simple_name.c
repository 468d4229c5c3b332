/* profile/simple_name: tables of names and their simplified forms; truncated and damaged names. */
#include "profile/simple_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "unit/test.h"

struct name {
	const char *full, *simple;
};

static const struct name cxx_names[] = {
	{"", ""},
	{"f", "f"},
	{"f()", "f"},
	{"f(int) [clone .isra.0]", "f [clone .isra.0]"},
	{"void f<int>(int) [clone .part.0] [clone .cold]", "f [clone .part.0] [clone .cold]"},
	{"A::f() const", "A::f"},
	{"A::f() const volatile &", "A::f"},
	{"A::f() &&", "A::f"},
	{"A::~A()", "A::~A"},
	{"A::constant(int)", "A::constant"},
	{"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"},
	{"A<std::vector<std::pair<int,int>>>::f()", "A::f"},
	{"std::function<void (int)>::operator()(int) const", "std::function::operator()"},
	{"std::function<void(int)>", "std::function"},
	{"std::function<void (int)> make<int>(std::function<void (int)>)", "make"},
	{"unsigned long const& f<int>(int)", "f"},
	{"A::operator()() const", "A::operator()"},
	{"void A::operator()<int>(int) const", "A::operator()"},
	{"A::operator[](int)", "A::operator[]"},
	{"A::operator<(A const&) const", "A::operator<"},
	{"bool operator< <char>(A<char>, A<char>)", "operator<"},
	{"operator<<(std::ostream&, A const&)", "operator<<"},
	{"std::ostream& operator<< <char>(std::ostream&, A<char>)", "operator<<"},
	{"bool operator><int>(A<int>, int)", "operator>"},
	{"bool operator>=<int>(A<int>, int)", "operator>="},
	{"auto operator<=><int>(A<int>, A<int>)", "operator<=>"},
	{"A::operator->() const", "A::operator->"},
	{"int* A::operator-><int>() const", "A::operator->"},
	{"A<int>::operator->*(int)", "A::operator->*"},
	{"A operator-<int>(A)", "operator-"},
	{"A::operator,(int)", "A::operator,"},
	{"A::operator=(A&&)", "A::operator="},
	{"operator new(unsigned long)", "operator new"},
	{"A<int>::operator new[](unsigned long)", "A::operator new[]"},
	{"operator delete[](void*, unsigned long)", "operator delete[]"},
	{"operator\"\" _km(long double)", "operator\"\" _km"},
	{"A::operator int() const", "A::operator int"},
	{"A::operator unsigned long() const", "A::operator unsigned long"},
	{"A::operator char const*() const", "A::operator char const*"},
	{"A::operator std::vector<int>()", "A::operator std::vector"},
	{"A::operator (anonymous namespace)::B<int>()", "A::operator (anonymous namespace)::B"},
	{"A::operator void (*)(int)() const", "A::operator void (*)(int)"},
	{"A::operator T*<int>()", "A::operator T*"},
	{"operators::f(int)", "operators::f"},
	{"my_operator<int>(int)", "my_operator"},
	{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
	{"void (anonymous namespace)::A<int>::f<char>((anonymous namespace)::B)",
	 "(anonymous namespace)::A::f"},
	{"f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda(int)#1}::operator()"},
	{"A::f() const::{lambda(std::vector<int>, void (*)(B<C>))#2}::operator()() const",
	 "A::f::{lambda(std::vector, void (*)(B))#2}::operator()"},
	{"auto f<int>()::{lambda(auto:1)#1}::operator()<char>(char) const",
	 "f::{lambda(auto:1)#1}::operator()"},
	{"f(int)::{unnamed type#1}::g()", "f::{unnamed type#1}::g"},
	{"f(int)::x", "f::x"},
	{"f[abi:cxx11](int)", "f[abi:cxx11]"},
	{"A<int>::f[abi:cxx11]<3>() const", "A::f[abi:cxx11]"},
	{"void f<(char)60>(A<(char)62>)", "f"},
	{"void f<'<', '>', '('>(B<'<'>)", "f"},
	{"void f<((1)>(2)), (N)<(8), (N)>>(3), (N)>=(2)>(int)", "f"},
	{"decltype (({parm#1}<{parm#2})->g()) f<int>(int, int)", "f"},
	{"decltype(auto) f<int>(int)", "f"},
	{"decltype (*this) A::f<int>()", "A::f"},
	{"void f<&(A::operator<(A const&))>()", "f"},
	{"void f<&(bool A::operator< <int>(B<int>))>()", "f"},
	{"A<B::operator()<C>(int)::D>::f()", "A::f"},
	{"std::enable_if<(sizeof (int))<(8), int>::type f<int>(int)", "f"},
	{"void (*f(int))(char)", "f"},
	{"void (*A::f<int>(int))(char) [clone .cold]", "A::f [clone .cold]"},
	{"int (&f<int>(int))[3]", "f"},
	{"int (A::*(anonymous namespace)::f(int))(char)", "(anonymous namespace)::f"},
	{"non-virtual thunk to A<int>::f(int)", "non-virtual thunk to A::f"},
	{"virtual thunk to A::f()", "virtual thunk to A::f"},
	{"vtable for std::function<void (int)>", "vtable for std::function"},
	{"typeinfo for void (int)", "typeinfo for void (int)"},
	{"guard variable for f<int>(int)::x", "guard variable for f::x"},
	{"global constructors keyed to f.cc", "global constructors keyed to f.cc"},
	{"A<int>::value", "A::value"},
	{"A<int", "A<int"},
	{"f(int", "f(int"},
	{"f<int)>(", "f("},
	{"f>)", "f>"},
	{"{", "{"},
};

static const struct name rust_names[] = {
	{"core::fmt::Formatter::pad", "core::fmt::Formatter::pad"},
	{"std::mem::align_of::<f64>", "std::mem::align_of"},
	{"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place"},
	{"<T as core::convert::Into<U>>::into", "<T as core::convert::Into>::into"},
	{"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	 "<alloc::vec::Vec as core::ops::drop::Drop>::drop"},
	{"<impl core::fmt::Display for foo::Bar>::fmt",
	 "<impl core::fmt::Display for foo::Bar>::fmt"},
	{"core::num::<impl core::str::FromStr for A<u8>>::from_str",
	 "core::num::<impl core::str::FromStr for A>::from_str"},
	{"<alloc::vec::Vec<u8>>::push::<3>::{closure#0}", "<alloc::vec::Vec>::push::{closure#0}"},
	{"foo::{{closure}}", "foo::{{closure}}"},
	{"<&<A<B> as C>::D as E<F>>::g::<fn(u8) -> H<I>>", "<&<A as C>::D as E>::g"},
	{"f::<'<', 'a', A<'b>> [clone .cold]", "f [clone .cold]"},
	{"f::<A", "f::<A"},
};

static const struct name d_names[] = {
	{"foo.bar(int)", "foo.bar"},
	{"std.stdio.writeln!(immutable(char)[]).writeln(immutable(char)[])",
	 "std.stdio.writeln.writeln"},
	{"a.B.c() const", "a.B.c"},
	{"a.f!(')', \"(\").g(int).h(char)", "a.f.g.h"},
	{"a.B.this(this)", "a.B.this(this)"},
	{"a.B.this(int)", "a.B.this"},
	{"initializer for a.B!(int)", "initializer for a.B"},
	{"D main", "D main"},
	{"a.f!(", "a.f!("},
};

static void check_all(const struct name *names, size_t nr, void (*simplify)(char *name))
{
	size_t i;

	for (i = 0; i < nr; i++) {
		cleanup_free char *name = strdup(names[i].full);

		CHECK(name);
		simplify(name);
		CHECK_STR(name, names[i].simple);
		simplify(name);
		CHECK_STR(name, names[i].simple);
	}
}

static const struct name dwarf_names[] = {
	{"main", "main"},
	{"sum<int>", "sum"},
	{"push<std::function<void(int)> >", "push"},
	{"operator()<int, char>", "operator()"},
	{"operator<< <std::char_traits<char> >", "operator<<"},
	{"operator< <int>", "operator<"},
	{"operator-> <int>", "operator->"},
	{"operator unsigned int", "operator unsigned int"},
	{"~vector", "~vector"},
	{"get<(anonymous namespace)::key>", "get"},
	{"_M_insert<unsigned long>", "_M_insert"},
	{"{closure_env#0}<u32>", "{closure_env#0}"},
	{"<init>", "<init>"},
	{"broken<int", "broken<int"},
};

TEST(simple_name_dwarf_table)
{
	check_all(dwarf_names, ARRAY_SIZE(dwarf_names), simple_name_dwarf);
}

TEST(simple_name_cxx_table)
{
	check_all(cxx_names, ARRAY_SIZE(cxx_names), simple_name_cxx);
}

TEST(simple_name_rust_table)
{
	check_all(rust_names, ARRAY_SIZE(rust_names), simple_name_rust);
}

TEST(simple_name_d_table)
{
	check_all(d_names, ARRAY_SIZE(d_names), simple_name_d);
}

static void check_shorter(const char *full, size_t nr)
{
	static void (*const simplify[])(char *) = {simple_name_cxx, simple_name_rust, simple_name_d,
						   simple_name_dwarf};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(simplify); i++) {
		char *name = malloc(nr + 1); /* AddressSanitizer checks its end */

		CHECK(name);
		memcpy(name, full, nr);
		name[nr] = '\0';
		simplify[i](name);
		CHECK(strlen(name) <= nr);
		free(name);
	}
}

TEST(simple_name_truncated_and_damaged)
{
	static const char marks[] = "<>(){}[]'\"-:* &oO!";
	uint64_t state = 7;
	size_t i, nr, round;

	for (i = 0; i < ARRAY_SIZE(cxx_names); i++) {
		for (nr = strlen(cxx_names[i].full) + 1; nr-- > 0;)
			check_shorter(cxx_names[i].full, nr);
		for (round = 0; round < 200 && cxx_names[i].full[0]; round++) {
			cleanup_free char *damaged = strdup(cxx_names[i].full);

			CHECK(damaged);
			nr = strlen(damaged);
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			damaged[(state >> 33) % nr] = marks[(state >> 20) % (sizeof(marks) - 1)];
			check_shorter(damaged, nr);
		}
	}
}

/* --- in columns ------------------------------------------------------------------------------ */

TEST(simple_name_fitted)
{
	static const struct {
		const char *full;
		size_t columns;
		const char *fitted;
	} rows[] = {
		{"std::vector<Row, Pool<Row> > load<Row>(std::string const&)", 60,
		 "std::vector<Row, Pool<Row> > load<Row>(std::string const&)"},
		{"std::vector<Row, Pool<Row> > load<Row>(std::string const&)", 20, "load<Row>"},
		{"std::vector<Row, Pool<Row> > load<Row>(std::string const&)", 8, "load"},
		{"void app::storage::Table<int>::flush(bool)", 32,
		 "app::storage::Table<int>::flush"},
		{"void app::storage::Table<int>::flush(bool)", 27, "app::storage::Table::flush"},
		{"void app::storage::Table<int>::flush(bool)", 20, "…Table::flush"},
		{"void app::storage::Table<int>::flush(bool)", 8, "…flush"},
		{"void app::storage::Table<int>::flush(bool)", 5, "ap…sh"},
		{"A<int>::operator()(int, long) const", 20, "A<int>::operator()"},
		{"bool operator< <char>(A<char>, A<char>)", 20, "operator< <char>"},
		{"f(int, int, int) [clone .isra.0]", 20, "f [clone .isra.0]"},
		{"void A<int>::f(int, int) [i]", 14, "A<int>::f [i]"},
		{"void A<int>::f(int, int) [i] (recursive)", 32, "A<int>::f [i] (recursive)"},
		{"do_syscall_64_and_then_some [k]", 20, "do_sysca…en_some [k]"},
		{"boost::asio::detail::scheduler::run", 16, "…scheduler::run"},
		{"<alloc::vec::Vec<T> as a::Trait<u8>>::run::<i32>", 42,
		 "<alloc::vec::Vec as a::Trait>::run"},
		/* Names of other languages are shortened in the middle. */
		{"github.com/x/y.(*Server).handle", 16, "github.c….handle"},
		{"run /srv/app/server.js:12:3", 16, "run /srv…js:12:3"},
		{"java/lang/String.indexOf", 16, "java/lan…indexOf"},
		{"RegExp:^(alpha|beta|gamma)", 16, "RegExp:^…|gamma)"},
		{"some thing (with a remark)", 16, "some thi…remark)"},
		{"do_syscall_64_and_then_some", 16, "do_sysca…en_some"},
		{"", 4, ""},
		{"a(b(c", 3, "a…c"},
	};
	char buffer[4 * 64 + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		simple_name_fit(rows[i].full, rows[i].columns, "…", buffer);
		CHECK_STR(buffer, rows[i].fitted);
		CHECK(text_columns(buffer) <= rows[i].columns);
	}
	for (i = 0; i < ARRAY_SIZE(cxx_names); i++) {
		size_t columns;

		for (columns = 1; columns < 64; columns++) {
			simple_name_fit(cxx_names[i].full, columns, "…", buffer);
			CHECK(text_columns(buffer) <= columns);
		}
	}
}
