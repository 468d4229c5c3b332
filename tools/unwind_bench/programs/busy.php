<?php
// Trees, sorting, text and regular expressions.
function tree(int $depth, int $seed): array {
	return $depth === 0 ? ['name' => sprintf('item %05d', $seed * 7919 % 20000)]
		: ['left' => tree($depth - 1, $seed * 2), 'right' => tree($depth - 1, $seed * 2 + 1)];
}

function leaves(array $node, array &$found): void {
	if (isset($node['name'])) {
		$found[] = $node['name'];
		return;
	}
	leaves($node['left'], $found);
	leaves($node['right'], $found);
}

for ($seed = 1; ; $seed = strlen($text) % 1000) {
	$found = [];
	leaves(json_decode(json_encode(tree(9, $seed)), true), $found);
	usort($found, fn($a, $b) => strcmp($a, $b));
	$text = preg_replace('/(item) +(\d+)\b/', '$2 $1', implode(', ', $found));
	preg_match_all('/[a-z]+,|\d{5}/', $text, $words);
}
