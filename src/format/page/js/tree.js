/*
 * Call trees in pre-order, callers before callees, in typed arrays: two million nodes take a few
 * dozen megabytes, and a pass over all of them takes a few milliseconds.
 *
 * `self` is a node's own weight, `total` includes all nodes below it. In a difference, `otherSelf`
 * and `otherTotal` are the weights before.
 */
"use strict";

class Tree {
	/* up: number of levels from the preceding node up to the node's parent. */
	constructor(up, word, selves) {
		const nr = word.length;
		this.nr = nr;
		this.word = word;
		this.selves = selves; /* by index of the value, unchanged */
		this.parent = new Uint32Array(nr);
		this.end = new Uint32Array(nr); /* the first following node that is not below it */
		this.depth = new Uint32Array(nr);
		this.nrDepths = 1;
		const path = [];
		for (let i = 0; i < nr; i++) {
			for (let k = i ? up[i] : 0; k; k--) this.end[path.pop()] = i;
			this.parent[i] = i ? path[path.length - 1] : 0;
			this.depth[i] = path.length;
			path.push(i);
			if (path.length > this.nrDepths) this.nrDepths = path.length;
		}
		while (path.length) this.end[path.pop()] = nr;
		this.self = new Float64Array(nr);
		this.total = new Float64Array(nr);
		this.otherSelf = null;
		this.otherTotal = null;
		this.ratio = null; /* see chooseRatio() */
	}

	static sum(parent, self, total) {
		total.set(self);
		for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
	}

	sumUp() {
		Tree.sum(this.parent, this.self, this.total);
		if (this.otherSelf) Tree.sum(this.parent, this.otherSelf, this.otherTotal);
	}

	/* Computes the widths of nodes when drawn. */
	useWidths(afterScale, beforeScale) {
		if (!this.otherTotal) {
			this.width = this.total;
			return;
		}
		this.width = new Float64Array(this.nr);
		for (let i = 0; i < this.nr; i++)
			this.width[i] = this.total[i] * afterScale + this.otherTotal[i] * beforeScale;
	}

	children(node) {
		const list = [];
		for (let i = node + 1; i < this.end[node]; i = this.end[i]) list.push(i);
		return list;
	}

	/* Returns the path from the root, which is not included, to the node. */
	path(node) {
		const list = [];
		for (; node; node = this.parent[node]) list.push(node);
		return list.reverse();
	}

	/*
	 * Returns a node's start within the root's width; byWeight: siblings are sorted by weight.
	 */
	start(node, byWeight) {
		let start = 0;
		for (let at = node; at; at = this.parent[at]) {
			const parent = this.parent[at];
			for (let i = parent + 1; i < this.end[parent]; i = this.end[i])
				if (byWeight ? this.isBefore(i, at) : i < at) start += this.width[i];
		}
		return start;
	}

	isBefore(one, other) {
		return (
			this.width[one] > this.width[other] ||
			(this.width[one] === this.width[other] && one < other)
		);
	}
}

/* Sets the nodes' own weights according to the view: the value, the time range, the threads. */
function chooseWeights(tree, model, view) {
	const value = tree.selves.get(view.value);
	const before = view.before === null ? null : tree.selves.get(view.before);
	if (view.range) sumSlices(tree.self, model.slices, view.range, view.timeScale);
	else tree.self.set(value);
	if (before) {
		tree.otherSelf = tree.otherSelf || new Float64Array(tree.nr);
		tree.otherTotal = tree.otherTotal || new Float64Array(tree.nr);
		tree.otherSelf.set(before);
	} else {
		tree.otherSelf = tree.otherTotal = null;
	}
	if (view.threads) {
		for (const node of tree.children(0)) {
			if (view.threads.has(tree.word[node])) continue;
			tree.self.fill(0, node, tree.end[node]);
			if (before) tree.otherSelf.fill(0, node, tree.end[node]);
		}
	}
	tree.sumUp();
	tree.useWidths(view.afterScale, view.beforeScale);
}

/*
 * Sums up the two values of a ratio for each node, and of the selected threads for the root; not in a range of time,
 * since slices have the first value only.
 */
function chooseRatio(tree, ratio, view) {
	tree.ratio = null;
	if (!ratio || view.range || !tree.selves.has(ratio.above) || !tree.selves.has(ratio.below)) return;
	const [above, below] = [ratio.above, ratio.below].map((value) => {
		const self = Float64Array.from(tree.selves.get(value));
		for (const node of view.threads ? tree.children(0) : [])
			if (!view.threads.has(tree.word[node])) self.fill(0, node, tree.end[node]);
		const total = new Float64Array(tree.nr);
		Tree.sum(tree.parent, self, total);
		return total;
	});
	tree.ratio = { above, below };
}

/* Returns the ratio numbers[i] / of[i] if it is the same for all i; else 0. */
function ratioOf(numbers, of) {
	let ratio = 0;
	for (let i = 0; i < numbers.length; i++) {
		if (!ratio && of[i]) ratio = numbers[i] / of[i];
		if (Math.abs(numbers[i] - ratio * of[i]) > 1e-9 * numbers[i]) return 0;
	}
	return ratio;
}

/* range: first and last selected slice; scale: the value's ratio to the slices' value. */
function sumSlices(self, slices, [first, last], scale) {
	let at = 0;
	for (let node = 0; node < slices.nrOfNode.length; node++) {
		const end = at + slices.nrOfNode[node];
		let sum = 0;
		for (let slice = 0; at < end; at++) {
			slice += slices.steps[at];
			if (slice >= first && slice <= last) sum += slices.counts[at];
		}
		self[node] = sum * scale;
	}
}

/* Returns the sum of each slice over the selected threads. */
function sumBySlice(tree, slices, threads) {
	const sums = new Float64Array(slices.starts.length);
	let at = 0;
	let wanted = true;
	for (let node = 0; node < slices.nrOfNode.length; node++) {
		const end = at + slices.nrOfNode[node];
		if (tree.depth[node] === 1) wanted = !threads || threads.has(tree.word[node]);
		for (let slice = 0; at < end; at++) {
			slice += slices.steps[at];
			if (wanted) sums[slice] += slices.counts[at];
		}
	}
	return sums;
}

/*
 * Sums up for each function its own weight, and the total weight of the nodes below it. Recursive
 * calls are counted once.
 */
function sumFunctions(tree, functionOfWord, nrFunctions) {
	const sums = { self: new Float64Array(nrFunctions), total: new Float64Array(nrFunctions) };
	const open = new Uint32Array(nrFunctions);
	const path = [];
	if (tree.otherTotal) {
		sums.otherSelf = new Float64Array(nrFunctions);
		sums.otherTotal = new Float64Array(nrFunctions);
	}
	for (let i = 0; i < tree.nr; i++) {
		while (path.length > tree.depth[i]) {
			const left = path.pop();
			if (left) open[left - 1]--;
		}
		const number = functionOfWord[tree.word[i]];
		path.push(number);
		if (!number) continue;
		sums.self[number - 1] += tree.self[i];
		if (tree.otherSelf) sums.otherSelf[number - 1] += tree.otherSelf[i];
		if (open[number - 1]++) continue;
		sums.total[number - 1] += tree.total[i];
		if (tree.otherTotal) sums.otherTotal[number - 1] += tree.otherTotal[i];
	}
	return sums;
}

/* Returns the outermost nodes whose word is in isWanted. */
function outermost(tree, isWanted) {
	const nodes = [];
	for (let i = 1; i < tree.nr; ) {
		if (isWanted[tree.word[i]]) {
			nodes.push(i);
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return nodes;
}
