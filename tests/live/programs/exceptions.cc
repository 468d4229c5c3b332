/* An exception that passes through two functions, for unwinding.sh. */
#include <cstdio>

extern "C" {

__attribute__((noinline)) int thrower(int n)
{
	if (n > 0)
		throw n;
	return n;
}

__attribute__((noinline)) int passed(int n)
{
	return thrower(n) + 1;
}
}

int main()
{
	int sum = passed(0);

	for (int i = 1; i <= 10; i++) {
		try {
			(void)passed(i);
		} catch (int caught) {
			sum += caught;
		}
	}
	std::printf("sum %d\n", sum);
	return 0;
}
