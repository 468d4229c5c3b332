/*
 * Computes which boxes of a tree are visible, and where: boxes in a part of the width, row by row,
 * from left to right. Nodes narrower than a pixel are not descended into, so the cost depends on
 * the size of the screen, not of the tree; only the siblings of a node are all visited.
 */
"use strict";

const NARROWEST = 0.7; /* pixels */
const MANY = -1; /* the node of a box that represents several narrow nodes */

/* Boxes per row in three arrays that are reused between animation frames. */
class Boxes {
	constructor() {
		this.rows = [];
		this.nrRows = 0;
	}

	clear() {
		for (let i = 0; i < this.nrRows; i++) this.rows[i].nodes.length = 0;
		this.nrRows = 0;
	}

	add(row, node, left, right) {
		while (this.nrRows <= row) {
			if (this.rows.length <= this.nrRows) this.rows.push({ nodes: [], lefts: [], rights: [] });
			this.nrRows++;
		}
		const { nodes, lefts, rights } = this.rows[row];
		const at = nodes.length;
		nodes.push(node);
		lefts[at] = left;
		rights[at] = right;
	}

	/* Returns the node at a place, MANY, or null. */
	find(row, x) {
		if (row < 0 || row >= this.nrRows) return null;
		const { nodes, lefts, rights } = this.rows[row];
		let low = 0;
		let high = nodes.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (rights[middle] <= x) low = middle + 1;
			else high = middle;
		}
		return low < nodes.length && lefts[low] <= x ? nodes[low] : null;
	}
}

/* Returns a node's children sorted by weight; narrow ones, which come last, only as a sum. */
function heaviestFirst(tree, node, least) {
	const wide = [];
	let narrow = 0;
	for (let i = node + 1; i < tree.end[node]; i = tree.end[i]) {
		if (tree.width[i] >= least) wide.push(i);
		else narrow += tree.width[i];
	}
	wide.sort((a, b) => (tree.isBefore(a, b) ? -1 : 1));
	return { wide, narrow };
}

/*
 * view: {from, to} as fractions of the root's width; width: pixels. Rows below maxRow are not
 * computed.
 */
function layOut(boxes, tree, view, width, maxRow, byWeight) {
	const scale = width / ((view.to - view.from) * tree.width[0]);
	const left = -view.from * tree.width[0] * scale;
	const work = [];

	boxes.clear();
	if (!tree.width[0]) return;

	const many = { row: 0, left: 0, right: -1 };
	const endMany = () => {
		if (many.right - many.left >= NARROWEST) boxes.add(many.row, MANY, many.left, many.right);
		many.right = -1;
	};
	const put = (row, node, x, size) => {
		if (x + size <= 0 || x >= width) return;
		if (size >= NARROWEST) {
			endMany();
			boxes.add(row, node, x, x + size);
			work.push(row, node, x);
			return;
		}
		if (many.right < x - NARROWEST) {
			endMany();
			many.left = x;
		}
		many.row = row;
		many.right = x + size;
	};
	const putChildren = (row, node, x) => {
		if (byWeight) {
			const { wide, narrow } = heaviestFirst(tree, node, NARROWEST / scale);
			for (const child of wide) {
				put(row, child, x, tree.width[child] * scale);
				x += tree.width[child] * scale;
			}
			if (narrow * scale >= NARROWEST && x < width && x + narrow * scale > 0)
				boxes.add(row, MANY, x, x + narrow * scale);
			return;
		}
		for (let i = node + 1; i < tree.end[node] && x < width; i = tree.end[i]) {
			const size = tree.width[i] * scale;
			put(row, i, x, size);
			x += size;
		}
		endMany();
	};

	put(0, 0, left, tree.width[0] * scale);
	/* Breadth-first: a row's boxes must be added from left to right. */
	for (let at = 0; at < work.length; at += 3) {
		const row = work[at];
		if (row < maxRow) putChildren(row + 1, work[at + 1], work[at + 2]);
	}
}
