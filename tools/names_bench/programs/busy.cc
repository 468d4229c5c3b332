// Containers, strings, lambdas, virtual calls and exceptions: long mangled names, many inlined.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes
{
struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

template <int Sides> struct Polygon : Shape {
	std::vector<double> sides = std::vector<double>(Sides, Sides / 2.0);
	double area() const override
	{
		double sum = 0;
		for (double side : sides)
			sum += side * side;
		return sum / Sides;
	}
};
} // namespace shapes

namespace
{
std::map<std::string, double> measure(const std::vector<std::unique_ptr<shapes::Shape>> &all)
{
	std::map<std::string, double> areas;
	for (const auto &shape : all) {
		std::ostringstream name;
		name << "shape " << shape->area() << " of " << areas.size() % 97;
		areas[name.str()] += shape->area();
	}
	return areas;
}

double check(const std::function<double(double)> &f, double value)
{
	try {
		if (value > 40)
			throw std::out_of_range("large");
		return f(value);
	} catch (const std::exception &) {
		return 0;
	}
}

double turn()
{
	std::vector<std::unique_ptr<shapes::Shape>> all;
	for (int i = 0; i < 1000; i++) {
		if (i % 2)
			all.push_back(std::make_unique<shapes::Polygon<3>>());
		else
			all.push_back(std::make_unique<shapes::Polygon<50>>());
	}
	std::sort(all.begin(), all.end(),
		  [](const auto &a, const auto &b) { return a->area() < b->area(); });
	double sum = 0;
	for (const auto &[name, area] : measure(all))
		sum += check([&name](double x) { return x + name.size(); }, area / 1000);
	return sum;
}
} // namespace

int main()
{
	volatile double sum = 0;
	for (;;)
		sum = sum + turn();
}
