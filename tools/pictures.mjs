// Takes screenshots of the files drawn by tools/pictures, and of the server: node tools/pictures.mjs FROM TO
//
// Each is a Chromium window of 1200 by 700 pixels, or as high as the flame graph. The PNG files
// have a palette of up to 256 colours, which reduces them to a third; on plain surfaces no
// difference is visible.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { Chromium } from "../tests/browser/lib/chromium.mjs";

const [from, to] = process.argv.slice(2);
const width = 1200;
const height = 700;
const mostHeight = 900;
const maxBytes = 150_000;

// --- PNG ----------------------------------------------------------------------------------------

function* chunks(png) {
	for (let at = 8; at < png.length; ) {
		const length = png.readUInt32BE(at);
		yield { type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
		at += length + 12;
	}
}

// Predictors of the PNG filters, by filter number; arguments: the bytes left, above, and above
// left.
const predictors = [
	() => 0,
	(a) => a,
	(a, b) => b,
	(a, b) => (a + b) >> 1,
	(a, b, c) => {
		const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
		return da <= db && da <= dc ? a : db <= dc ? b : c;
	},
];

// Returns the pixels, as 0xRRGGBB, of a PNG with 8 bits per channel, with or without alpha.
function pixelsOf(png) {
	const all = [...chunks(png)];
	const head = all.find(({ type }) => type === "IHDR").data;
	const [columns, rows] = [head.readUInt32BE(0), head.readUInt32BE(4)];
	const size = { 2: 3, 6: 4 }[head[9]];
	const bytes = inflateSync(Buffer.concat(all.filter(({ type }) => type === "IDAT").map(({ data }) => data)));
	const stride = columns * size;
	const pixels = new Uint32Array(columns * rows);
	let last = Buffer.alloc(stride);
	for (let row = 0; row < rows; row++) {
		const at = row * (stride + 1);
		const predict = predictors[bytes[at]];
		const line = bytes.subarray(at + 1, at + 1 + stride);
		for (let i = 0; i < stride; i++) {
			const isFirst = i < size;
			line[i] += predict(isFirst ? 0 : line[i - size], last[i], isFirst ? 0 : last[i - size]);
		}
		for (let i = 0; i < columns; i++)
			pixels[row * columns + i] = line.readUIntBE(i * size, 3);
		last = line;
	}
	return { columns, rows, pixels };
}

function distance(one, other) {
	const part = (shift) => ((one >> shift) & 255) - ((other >> shift) & 255);
	return part(16) ** 2 + part(8) ** 2 + part(0) ** 2;
}

// Returns the most frequent colours, and the nearest of them for each colour. Antialiased text has
// many rare colours.
function paletteOf(pixels) {
	const counts = new Map();
	for (const pixel of pixels)
		counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
	const colors = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
	const palette = colors.slice(0, 256);
	const places = new Map(palette.map((color, i) => [color, i]));
	for (const color of colors.slice(256)) {
		let best = 0;
		for (let i = 1; i < palette.length; i++)
			if (distance(color, palette[i]) < distance(color, palette[best]))
				best = i;
		places.set(color, best);
	}
	return { palette, places };
}

// Own implementation: zlib.crc32() is missing from the older Node.js of some distributions.
function crc32(bytes) {
	let crc = ~0;
	for (const byte of bytes) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++)
			crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc >>> 0;
}

function chunk(type, data) {
	const body = Buffer.concat([Buffer.from(type), data]);
	const frame = Buffer.alloc(8);
	frame.writeUInt32BE(data.length, 0);
	frame.writeUInt32BE(crc32(body), 4);
	return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function withPalette(png) {
	const { columns, rows, pixels } = pixelsOf(png);
	const { palette, places } = paletteOf(pixels);
	const lines = Buffer.alloc(rows * (columns + 1)); // a row: filter type 0 (none), pixels
	for (let row = 0; row < rows; row++)
		for (let i = 0; i < columns; i++)
			lines[row * (columns + 1) + 1 + i] = places.get(pixels[row * columns + i]);
	const head = Buffer.alloc(13);
	head.writeUInt32BE(columns, 0);
	head.writeUInt32BE(rows, 4);
	head.set([8, 3, 0, 0, 0], 8); // 8 bits, palette; no interlacing
	const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
	return Buffer.concat([png.subarray(0, 8), chunk("IHDR", head), chunk("PLTE", colors),
		chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

// --- pictures -----------------------------------------------------------------------------------

const functionNamed = (name) => `stook.model.functions.name.findIndex((text) => stook.model.texts[text] === "${name}")`;

// Shows all of the time that the server's store has, and selects parts of it.
const serverShows = (more) => `(async () => {
	const { data } = page.chart;
	const at = (point) => data.from + point * data.step;
	const [from, to] = [at(data.covered.indexOf(1)), at(data.covered.lastIndexOf(1) + 1)];
	const part = (one, other) => [one, other].map((share) => Math.round(from + share * (to - from)));
	await page.change({ time: [from, to], ...${more} });
})()`;

// name, file and fragment or "link" for the server, dark theme, script to run before the screenshot
const pictures = [
	["flame", "flame.svg"],
	["categories", "categories.svg"],
	["diff", "diff.svg"],
	["wall", "wall.svg"],
	["page-wall", "page-wall.html"],
	["page-light", "page.html"],
	["page-dark", "page.html#search=tcp_", true],
	["page-functions", "page.html#tab=functions"],
	["page-callers", "page.html", false, `stook.openFunction(${functionNamed("tcp_sendmsg_locked")})`],
	["page-timeline", "page.html", false, `(() => {
		const { starts } = stook.model.slices;
		stook.setRange([Math.floor(starts.length * 0.41), Math.floor(starts.length * 0.6)]);
	})()`],
	["server", "link", false, serverShows("{ selected: part(0.3, 0.5) }")],
	["server-compared", "link", true, serverShows("{ base: part(0.3, 0.5), selected: part(0.6, 0.8) }")],
];

const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));

// A page adapts to the window; for a flame graph the window is as high as the picture.
function heightOf(file) {
	if (!file.endsWith(".svg"))
		return height;
	const [, own] = /<svg [^>]*height="(\d+)"/.exec(readFileSync(join(from, file), "utf8"));
	return Math.min(Number(own), mostHeight);
}

async function take(page, [name, file, dark = false, before]) {
	await page.setDark(dark);
	await page.setViewport(width, heightOf(file));
	const isServer = file === "link";
	await page.open(isServer ? readFileSync(join(from, file), "utf8").trim() : `file://${join(from, file)}`);
	if (isServer || file.startsWith("page"))
		await page.until("document.body.dataset.ready");
	if (before)
		await page.evaluate(before);
	await page.until("!document.body?.dataset.loading"); // the server's
	await wait(500); // animations
	await page.painted();
	if (isServer)
		assert.deepEqual(page.errors, []);
	else
		page.assertClean();
	const png = withPalette(await page.screenshot());
	writeFileSync(join(to, `${name}.png`), png);
	console.log(`${name}.png  ${Math.round(png.length / 1000)} kB`);
	if (png.length > maxBytes)
		throw new Error(`${name}.png is larger than ${maxBytes} bytes`);
}

const page = await Chromium.start({ width, height });
try {
	for (const picture of pictures)
		await take(page, picture);
} finally {
	await page.close();
}
