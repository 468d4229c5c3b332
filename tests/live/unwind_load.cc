// Exceptions through frames with clean-ups, templates and a realigned stack, for
// tests/live/differential.sh.
#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static int nr_cleaned;

struct guard {
	~guard() { nr_cleaned++; }
};

NOINLINE static int throw_from(int depth)
{
	guard cleaned;

	if (!depth)
		throw std::runtime_error(std::string(40, 'x'));
	return throw_from(depth - 1) + 1;
}

NOINLINE static int catch_from(int depth)
{
	try {
		return throw_from(depth);
	} catch (const std::exception &error) {
		return (int)std::string(error.what()).size();
	}
}

NOINLINE static double sum(const std::vector<float> &numbers)
{
	alignas(64) float lanes[64] = {};
	double all = 0;

	for (size_t i = 0; i < numbers.size(); i++)
		lanes[i % 64] += numbers[i] * 2;
	for (float lane : lanes)
		all += lane;
	return all;
}

int main()
{
	std::vector<float> numbers(4096, 1.5f);
	std::map<std::string, int> counts;

	for (long k = 0;; k++) {
		k += catch_from((int)(k % 30)) + (long)sum(numbers) % 7;
		counts[std::to_string(k % 1000)]++;
		std::sort(numbers.begin(), numbers.end(), [](float a, float b) { return a > b; });
		if (k % 5 == 0)
			k += std::regex_search("abababababd", std::regex("(a|b)+c"));
	}
}
