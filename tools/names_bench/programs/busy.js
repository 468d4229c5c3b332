// Text, JSON, sorting with a comparison, closures, a regular expression: optimised code, baseline
// code, interpreted functions (created again and again) and the runtime's builtins.
"use strict";

function tree(depth, seed) {
	if (depth === 0)
		return { leaf: seed, text: `item ${seed * 7919 % 20000}` };
	return { left: tree(depth - 1, seed * 2), right: tree(depth - 1, seed * 2 + 1) };
}

function visit(node, see) {
	if (node.text !== undefined)
		return see(node);
	visit(node.left, see);
	return visit(node.right, see);
}

class Counter {
	constructor() {
		this.counts = new Map();
	}
	add(text) {
		this.counts.set(text, (this.counts.get(text) || 0) + 1);
	}
	most() {
		return [...this.counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))[0];
	}
}

function weigh(numbers) {
	let sum = 0;
	for (let i = 0; i < numbers.length; i++)
		sum += Math.sqrt(numbers[i] * 3 + i) % 7;
	return sum;
}

function compare(a, b) {
	return a % 101 - b % 101 || a - b;
}

function settle(numbers) {
	let sum = 0;
	for (let shift = 0; shift < 40; shift++)
		sum += weigh(numbers.map((number) => number ^ shift).sort(compare));
	return sum;
}

function fresh(number) {
	return new Function("x", `let s = x; for (let i = 0; i < 300; i++) s += i % ${number}; return s;`);
}

function round(number) {
	const counter = new Counter(), numbers = [];
	const copy = JSON.parse(JSON.stringify(tree(9, number % 5 + 1)));
	visit(copy, (node) => {
		counter.add(node.text.replace(/(\d+)/g, (digits) => digits % 97));
		numbers.push(node.leaf);
	});
	return counter.most()[1] + settle(numbers) + fresh(number % 50 + 2)(number);
}

const end = Date.now() + (Number(process.argv[2]) || 3600) * 1000;
let number = 0;
(function turn() {
	for (let i = 0; i < 20; i++)
		round(number++);
	if (Date.now() < end)
		setImmediate(turn);
})();
