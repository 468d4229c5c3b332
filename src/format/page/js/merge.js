/*
 * Trees made from parts of another tree: all calls below a function, and all call paths that lead
 * to it. Nodes with the same words are merged. Nodes below 1/5000 of the weight are not followed
 * further.
 */
"use strict";

const MERGE_LEAST = 1 / 5000;
const MERGE_MAX_DEPTH = 4000;

class MergedTree {
	constructor(source) {
		this.source = source;
		this.up = [];
		this.words = [];
		this.selves = [];
		this.otherSelves = source.otherTotal ? [] : null;
		this.lastDepth = -1;
	}

	add(depth, word, self, otherSelf) {
		this.up.push(this.lastDepth + 1 - depth);
		this.words.push(word);
		this.selves.push(self);
		if (this.otherSelves) this.otherSelves.push(otherSelf);
		this.lastDepth = depth;
	}

	finish(view) {
		const tree = new Tree(Uint32Array.from(this.up), Uint32Array.from(this.words), null);
		tree.self.set(this.selves);
		if (this.otherSelves) {
			tree.otherSelf = Float64Array.from(this.otherSelves);
			tree.otherTotal = new Float64Array(tree.nr);
		}
		tree.sumUp();
		tree.useWidths(view.afterScale, view.beforeScale);
		return tree;
	}
}

function groupBy(items, wordOf) {
	const groups = new Map();
	for (const item of items) {
		const word = wordOf(item);
		const group = groups.get(word);
		if (group) group.push(item);
		else groups.set(word, [item]);
	}
	return groups;
}

function sumOf(items, weightOf) {
	let sum = 0;
	for (const item of items) sum += weightOf(item);
	return sum;
}

/* Returns groups sorted by weight, and the items of groups that are too light. */
function heavyGroups(groups, widthOf, least) {
	const list = [];
	const light = [];
	for (const [word, items] of groups) {
		const width = sumOf(items, widthOf);
		if (width >= least) list.push({ word, items, width });
		else light.push(...items);
	}
	list.sort((a, b) => b.width - a.width || a.word - b.word);
	return { list, light };
}

/* nodes: nodes of one function in the source; they are merged into the root of the result. */
function mergeCallees(source, nodes, view, restWord) {
	const merged = new MergedTree(source);
	const least = sumOf(nodes, (n) => source.width[n]) * MERGE_LEAST;
	const other = (array) => (n) => (source.otherTotal ? array[n] : 0);

	const addRest = (items, depth) => {
		const weight = sumOf(items, (n) => source.total[n]);
		const otherWeight = sumOf(items, other(source.otherTotal));
		if (weight || otherWeight) merged.add(depth, restWord, weight, otherWeight);
	};
	const add = (word, items, depth) => {
		const self = sumOf(items, (n) => source.self[n]);
		merged.add(depth, word, self, sumOf(items, other(source.otherSelf)));
		const children = [];
		for (const node of items)
			for (let i = node + 1; i < source.end[node]; i = source.end[i])
				if (source.width[i]) children.push(i);
		if (depth >= MERGE_MAX_DEPTH) {
			addRest(children, depth + 1);
			return;
		}
		const { list, light } = heavyGroups(
			groupBy(children, (n) => source.word[n]), (n) => source.width[n], least);
		for (const group of list) add(group.word, group.items, depth + 1);
		addRest(light, depth + 1);
	};

	add(0, nodes, 0);
	return merged.finish(view);
}

/* The same upwards: the root is the function, its children are its callers. */
function mergeCallers(source, nodes, view, restWord) {
	const merged = new MergedTree(source);
	const least = sumOf(nodes, (n) => source.width[n]) * MERGE_LEAST;
	const weightOf = (way) => source.total[way.node];
	const otherOf = (way) => (source.otherTotal ? source.otherTotal[way.node] : 0);

	const addLeaf = (word, ways, depth) => {
		const weight = sumOf(ways, weightOf);
		const otherWeight = sumOf(ways, otherOf);
		if (weight || otherWeight || !depth) merged.add(depth, word, weight, otherWeight);
	};
	/*
	 * A way is a node with the position of the walk up from it (`at`); a way ends at the root.
	 */
	const add = (word, ways, depth) => {
		const ended = ways.filter((way) => !way.at);
		const going = ways.filter((way) => way.at);
		merged.add(depth, word, sumOf(ended, weightOf), sumOf(ended, otherOf));
		if (depth >= MERGE_MAX_DEPTH) {
			addLeaf(restWord, going, depth + 1);
			return;
		}
		const { list, light } = heavyGroups(
			groupBy(going, (way) => source.word[way.at]), (way) => source.width[way.node], least);
		for (const group of list) {
			for (const way of group.items) way.at = source.parent[way.at];
			add(group.word, group.items, depth + 1);
		}
		addLeaf(restWord, light, depth + 1);
	};

	add(0, nodes.map((node) => ({ node, at: source.parent[node] })), 0);
	return merged.finish(view);
}
