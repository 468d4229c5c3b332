// Templates, virtual calls, sorting with comparators, maps of strings.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

template <typename Key, typename Value> struct Node {
	virtual ~Node() = default;
	virtual void visit(const std::function<void(const Key &, const Value &)> &see) const = 0;
};

template <typename Key, typename Value> struct Leaf : Node<Key, Value> {
	Key key;
	Value value;

	Leaf(Key k, Value v) : key(std::move(k)), value(std::move(v)) {}

	void visit(const std::function<void(const Key &, const Value &)> &see) const override
	{
		see(key, value);
	}
};

template <typename Key, typename Value> struct Branch : Node<Key, Value> {
	std::unique_ptr<Node<Key, Value>> left, right;

	void visit(const std::function<void(const Key &, const Value &)> &see) const override
	{
		left->visit(see);
		right->visit(see);
	}
};

using Tree = Node<std::string, int>;

std::unique_ptr<Tree> make_tree(int depth, int seed)
{
	if (!depth) {
		std::ostringstream name;
		name << "item " << seed * 7919u % 20000;
		return std::make_unique<Leaf<std::string, int>>(name.str(), seed);
	}
	auto branch = std::make_unique<Branch<std::string, int>>();
	branch->left = make_tree(depth - 1, seed * 2);
	branch->right = make_tree(depth - 1, seed * 2 + 1);
	return branch;
}

size_t one_round(int seed)
{
	std::map<std::string, std::vector<int>> found;
	make_tree(9, seed)->visit([&](const std::string &key, const int &value) {
		found[key].push_back(value);
	});
	std::vector<std::pair<std::string, size_t>> sizes;
	for (const auto &[key, values] : found)
		sizes.emplace_back(key, values.size());
	std::sort(sizes.begin(), sizes.end(), [](const auto &a, const auto &b) {
		return a.first.substr(5) < b.first.substr(5);
	});
	return sizes.size();
}

} // namespace

int main()
{
	for (int seed = 1;; seed += one_round(seed) & 1)
		;
}
