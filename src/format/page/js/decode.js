/*
 * Decodes the page's data, as written by format/page/html_tree.c: columns of numbers, each number
 * in groups of 7 bits, lowest first; all columns concatenated, compressed by gzip, in base64. The
 * JSON `about` lists their names and lengths.
 */
"use strict";

/* Kinds of words, as enum word_kind; `rest` is for omitted calls. */
const KIND = { label: 0, user: 1, kernel: 2, inlined: 3, runTime: 4, missed: 5, rest: 6 };

/* Characters that are invisible, or change the direction of text, are shown by their code. */
const UNSEEN =
	/[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]/g;

function showUnseen(text) {
	return text.replace(
		UNSEEN,
		(c) => "\u2039U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u203a",
	);
}

function bytesOfBase64(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Numbers above 2^53 lose their last digits: these are sums, and are shown rounded anyway. */
function readNumbers(bytes, numbers) {
	let at = 0;
	for (let i = 0; i < numbers.length; i++) {
		let byte = bytes[at++];
		let number = byte & 0x7f;
		let shift = 7;
		for (; byte & 0x80 && shift < 28; shift += 7) {
			byte = bytes[at++];
			number |= (byte & 0x7f) << shift;
		}
		for (let scale = 2 ** shift; byte & 0x80; scale *= 128) {
			byte = bytes[at++];
			number += (byte & 0x7f) * scale;
		}
		numbers[i] = number;
	}
	return numbers;
}

/* Access to the columns by name. */
class Columns {
	constructor(list, bytes) {
		this.places = new Map();
		this.bytes = bytes;
		let at = 0;
		for (const [name, nr, length] of list) {
			this.places.set(name, { nr, at, length });
			at += length;
		}
	}

	has(name) {
		return this.places.has(name);
	}

	slice(name) {
		const place = this.places.get(name);
		return this.bytes.subarray(place.at, place.at + place.length);
	}

	numbers(name, Type = Uint32Array) {
		return readNumbers(this.slice(name), new Type(this.places.get(name).nr));
	}

	texts(name) {
		const all = new TextDecoder().decode(this.slice(name));
		return showUnseen(all).split("\0");
	}
}

function treeOfColumns(columns, number, values) {
	const prefix = `tree${number}.`;
	const selves = new Map();
	values.forEach((value, i) => {
		if (value.tree === number)
			selves.set(i, columns.numbers(`${prefix}${value.column}`, Float64Array));
	});
	return new Tree(columns.numbers(prefix + "up"), columns.numbers(prefix + "word"), selves);
}

/* Returns the time slices: for each node of the first tree, its slices and the counts in them. */
function slicesOfColumns(columns) {
	if (!columns.has("slice.length")) return null;
	const starts = columns.numbers("slice.start", Float64Array);
	for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
	return {
		starts,
		lengths: columns.numbers("slice.length", Float64Array),
		nrOfNode: columns.numbers("node.slices"),
		steps: columns.numbers("node.slice"),
		counts: columns.numbers("node.count", Float64Array),
	};
}

function functionsOfColumns(columns) {
	const functions = {
		name: columns.numbers("function.name"),
		module: columns.numbers("function.module"),
		category: columns.numbers("function.category", Uint8Array),
		self: null,
		total: null,
	};
	if (columns.has("function.self")) {
		functions.self = columns.numbers("function.self", Float64Array);
		functions.total = columns.numbers("function.total", Float64Array);
	}
	return functions;
}

function modelOfColumns(about, columns) {
	const texts = columns.texts("texts");
	const modules = columns.numbers("modules");
	const values = about.values.map((value) =>
		({ ...value, type: showUnseen(value.type), unit: showUnseen(value.unit) }));
	const model = {
		about: { ...about, values },
		texts,
		modules: Array.from(modules, (text) => texts[text]),
		functions: functionsOfColumns(columns),
		words: {
			text: columns.numbers("word.text"),
			kind: columns.numbers("word.kind", Uint8Array),
			function: columns.numbers("word.function"), /* its number + 1; 0: none */
		},
		trees: [],
		slices: slicesOfColumns(columns),
	};
	const nrTrees = 1 + Math.max(...about.values.map((value) => value.tree));
	for (let i = 0; i < nrTrees; i++) model.trees.push(treeOfColumns(columns, i, about.values));
	return model;
}

async function readModel(about, base64) {
	const bytes = await inflate(bytesOfBase64(base64));
	return modelOfColumns(about, new Columns(about.columns, bytes));
}
