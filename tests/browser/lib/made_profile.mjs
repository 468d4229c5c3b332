// Writes made-up profiles as pprof files: like those of a run, but without root and reproducible.
//
//	writeProfile(path, {
//		types: [["samples", "count"], ["cpu", "nanoseconds"]],
//		samples: [{ stack: ["main", "read@[kernel.kallsyms]"], values: [3, 30], labels: { tid: 7 } }],
//		comments: ["a line"], period: 10, seconds: 2,
//	});
//
// Stacks are root first. A frame is "function@module"; "f>g@module" has g inlined into f. Labels are
// texts, numbers, or nanoseconds if they are big integers: slice_start and slice_end.

import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

function varint(number) {
	const bytes = [];
	let rest = BigInt(number);
	for (; rest > 0x7fn; rest >>= 7n)
		bytes.push(Number(rest & 0x7fn) | 0x80);
	return Buffer.from([...bytes, Number(rest)]);
}

const numberField = (field, number) => Buffer.concat([varint(field << 3), varint(number)]);

function bytesField(field, ...parts) {
	const bytes = Buffer.concat(parts);
	return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

// Numbers items from `first`, in the order of the first request.
class Numbers {
	#numbers = new Map();
	constructor(first) {
		this.first = first;
	}
	of(text) {
		if (!this.#numbers.has(text))
			this.#numbers.set(text, this.first + this.#numbers.size);
		return this.#numbers.get(text);
	}
	entries() {
		return [...this.#numbers];
	}
}

export function writeProfile(path, { types, samples, comments = [], period = 0, seconds = 0 }) {
	const strings = new Numbers(0);
	const mappings = new Numbers(1);
	const locations = new Numbers(1);
	const functions = new Numbers(1);
	const parts = [];
	strings.of("");

	const valueType = (field, [type, unit]) =>
		bytesField(field, numberField(1, strings.of(type)), numberField(2, strings.of(unit)));
	const label = ([key, value]) =>
		bytesField(3, numberField(1, strings.of(key)),
			typeof value === "string" ? numberField(2, strings.of(value)) : numberField(3, value),
			typeof value === "bigint" ? numberField(4, strings.of("nanoseconds")) : Buffer.alloc(0));

	for (const type of types)
		parts.push(valueType(1, type));
	for (const { stack, values, labels = {} } of samples)
		parts.push(bytesField(2,
			...[...stack].reverse().map((frame) => numberField(1, locations.of(frame))),
			...values.map((value) => numberField(2, value)),
			...Object.entries(labels).map(label)));
	for (const [frame, id] of locations.entries()) {
		const [names, module = "app"] = frame.split("@");
		const lines = names.split(">").reverse().map((name, i) =>
			bytesField(4, numberField(1, functions.of(name)), numberField(2, 10 + i)));
		// Segments of 64 KiB each; the kernel is in the upper half.
		const base = module.startsWith("[kernel") ? 1n << 63n : BigInt(mappings.of(module)) << 32n;
		parts.push(bytesField(4, numberField(1, id), numberField(2, mappings.of(module)),
			numberField(3, base + BigInt(id)), ...lines));
	}
	for (const [module, id] of mappings.entries()) {
		const isKernel = module.startsWith("[kernel");
		const start = isKernel ? 1n << 63n : BigInt(id) << 32n;
		parts.push(bytesField(3, numberField(1, id), numberField(2, start),
			numberField(3, isKernel ? (1n << 64n) - 1n : start + 0x10000n),
			numberField(5, strings.of(module)), numberField(7, 1)));
	}
	for (const [name, id] of functions.entries())
		parts.push(bytesField(5, numberField(1, id), numberField(2, strings.of(name)),
			numberField(4, strings.of(`/src/${name}.c`))));
	if (seconds)
		parts.push(numberField(9, 1700000000n * 1000000000n), numberField(10, seconds * 1e9));
	if (period)
		parts.push(valueType(11, types.at(-1)), numberField(12, period));
	parts.push(...comments.map((line) => numberField(13, strings.of(line))));
	parts.push(...strings.entries().map(([text]) => bytesField(6, Buffer.from(text))));
	writeFileSync(path, gzipSync(Buffer.concat(parts)));
}
