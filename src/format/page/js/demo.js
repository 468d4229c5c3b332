/*
 * Used when page.html is opened directly, during development: loads the scripts one by one and
 * provides an invented profile. Not part of stook's output; the list below must be that of
 * assets.S.
 */
"use strict";

const SCRIPTS = `theme dom difference decode tree merge colors layout pointer graph units frame search table
	timeline sandwich threads panels address keys tools app start`;

for (const name of SCRIPTS.split(/\s+/)) document.write(`<script src="js/${name}.js"></script>`);
document.write("<script>useMadeData()</script>");

const MADE_STACKS = [
	["web-1", 1, "main", "serve", "handle_request", "parse_json", 40],
	["web-1", 1, "main", "serve", "handle_request", "render", "escape_html", 25],
	["web-1", 1, "main", "serve", "handle_request", "send", "k:do_syscall_64", "k:tcp_sendmsg", 35],
	["web-2", 2, "main", "serve", "handle_request", "query", "i:hash_bytes", 22],
	["web-2", 2, "main", "serve", "accept", "k:do_syscall_64", "k:inet_accept", 8],
	["compactor", 3, "main", "compact", "j:Merge.run", "j:Merge.step", 30],
	["compactor", 3, "main", "compact", "[Missed User Stack]", 2],
];
const MADE_SLICES = 20;

function numbersToBytes(numbers) {
	const bytes = [];
	for (let number of numbers) {
		for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
		bytes.push(number);
	}
	return bytes;
}

function madeColumns() {
	const texts = ["", "(left out)"];
	const words = [[0, 0, 0], [1, 6, 0]];
	const functions = [];
	const textOf = (text) => (texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1);
	const kinds = { k: 2, i: 3, j: 4 };
	const wordOf = (frame, depth) => {
		const [, letter, name] = /^(?:([kij]):)?(.*)$/.exec(frame);
		const kind = !depth ? 0 : name.startsWith("[") ? 5 : kinds[letter] || 1;
		const text = textOf(name);
		const known = words.findIndex((word) => word[0] === text && word[1] === kind);
		if (known > 0) return known;
		if (kind === 0 || kind === 5) return words.push([text, kind, 0]) - 1;
		functions.push([text, kind === 2 ? 1 : kind === 4 ? 3 : 2]);
		return words.push([text, kind, functions.length]) - 1;
	};
	const nodes = [{ depth: 0, word: 0, self: 0 }];
	let path = [];
	for (const [thread, , ...rest] of MADE_STACKS) {
		const stack = [thread, ...rest.slice(0, -1)].map(wordOf);
		let same = 0;
		while (same < path.length && same < stack.length && path[same] === stack[same]) same++;
		for (let i = same; i < stack.length; i++) nodes.push({ depth: i + 1, word: stack[i], self: 0 });
		nodes[nodes.length - 1].self += rest.at(-1) * MADE_SLICES;
		path = stack;
	}
	const sliced = nodes.flatMap((node) => (node.self ? Array(MADE_SLICES).fill(node.self / MADE_SLICES) : []));
	return {
		"tree0.up": nodes.map((node, i) => (i ? nodes[i - 1].depth + 1 - node.depth : 0)),
		"tree0.word": nodes.map((node) => node.word),
		"tree0.self": nodes.map((node) => node.self),
		"slice.start": Array.from({ length: MADE_SLICES }, (_, i) => (i ? 5e8 : 0)),
		"slice.length": Array(MADE_SLICES).fill(5e8),
		"node.slices": nodes.map((node) => (node.self ? MADE_SLICES : 0)),
		"node.slice": sliced.map((_, i) => (i % MADE_SLICES ? 1 : 0)),
		"node.count": sliced,
		"function.name": functions.map(([name]) => name),
		"function.module": functions.map(([, module]) => module),
		"function.category": functions.map(() => 0),
		"word.text": words.map((word) => word[0]),
		"word.kind": words.map((word) => word[1]),
		"word.function": words.map((word) => word[2]),
		modules: ["", "[kernel]", "webd", "[JIT]"].map(textOf),
		texts,
	};
}

function useMadeData() {
	const list = [];
	const all = [];
	for (const [name, column] of Object.entries(madeColumns())) {
		const bytes = name === "texts" ? [...new TextEncoder().encode(column.join("\0"))] : numbersToBytes(column);
		list.push([name, column.length, bytes.length]);
		all.push(...bytes);
	}
	const about = {
		writer: "nobody", nr_labels: 1, least_share: 0, icicle: false,
		values: [{ type: "samples", unit: "count", total: 3240, tree: 0, column: "self" }],
		origin: { event: "cpu-clock", unit: "nanoseconds", period: 10101010, time_us: 0, duration_us: 1e7 },
		comments: ["made up, to try the page"],
		columns: list,
	};
	addEventListener("DOMContentLoaded", () =>
		document.body.append(
			element("script", { type: "application/json", id: "about", textContent: JSON.stringify(about) }),
			element("script", { type: "text/plain", id: "data" })), { capture: true });
	readModel = async () => modelOfColumns(about, new Columns(list, Uint8Array.from(all)));
}
