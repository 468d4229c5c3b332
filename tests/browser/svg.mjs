// The flame graph SVG in a browser: zoom, search, keyboard, state in the URL, other widths.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { pageTest, run, scratch, stook } from "./lib/page_test.mjs";

const folded = `server;main;handle;parse;memcpy 400
server;main;handle;parse 200
server;main;handle;write_all_of_it_to_the_socket;do_syscall_64_[k];ksys_write_[k] 300
server;main;<b>&"]]>'(anonymous namespace)::f(int) 90
worker;kthread_[k] 10
`;

// The boxes now visible, by name.
const shown = `Object.fromEntries([...document.querySelectorAll("#frames rect")]
	.filter((box) => box.getAttribute("display") !== "none")
	.map((box) => [box.parentNode.firstChild.textContent.split("\\n")[0].replace(/ \\([^(]*$/, ""), {
		left: parseFloat(box.getAttribute("x")), width: parseFloat(box.getAttribute("width")),
		text: box.nextElementSibling?.localName === "text" ? box.nextElementSibling.textContent : "",
		above: box.classList.contains("above"), match: box.classList.contains("match"),
	}]))`;
const boxNamed = (name) => `[...document.querySelectorAll("#frames rect")]
	.find((box) => box.parentNode.firstChild.textContent.startsWith(${JSON.stringify(name)} + " ("))`;

// Moves the mouse to the upper left corner of the box; returns the position.
async function pointAt(page, name) {
	const { x, y } = await page.evaluate(`(({ x, y }) => ({ x: x + 5, y: y + 5 }))(
		${boxNamed(name)}.getBoundingClientRect())`);
	await page.move(x, y);
	return { x, y };
}

async function clickBox(page, name) {
	const { x, y } = await page.evaluate(`(() => {
		const at = ${boxNamed(name)}.getBoundingClientRect();
		return { x: at.x + at.width / 2, y: at.y + at.height / 2 };
	})()`);
	await page.click(x, y);
}

const textOf = (page, id) => page.evaluate(`document.getElementById("${id}").textContent`);
const query = (page) => page.evaluate("location.search + location.hash");

// Opens the picture from an http URL, because some browsers do not allow a state after "?" in file
// URLs. The pattern excludes the icon that Chromium may request from a host at any time.
async function openFromHost(page, url, path) {
	await page.call("Fetch.enable", { patterns: [{ urlPattern: "http://stook.test/flame.svg*" }] });
	try {
		const paused = page.event("Fetch.requestPaused");
		const opened = page.open(url);
		const { requestId } = await paused;
		await page.call("Fetch.fulfillRequest", {
			requestId, responseCode: 200, body: readFileSync(path).toString("base64"),
			responseHeaders: [{ name: "Content-Type", value: "image/svg+xml" }],
		});
		await opened;
	} finally {
		await page.call("Fetch.disable");
	}
}

await pageTest("svg", async (test, page) => {
	const input = scratch("in.folded"), file = scratch("flame.svg");
	writeFileSync(input, folded);
	stook("flame", input, "-o", file);

	await test("is XML", () => run("python3", ["-c",
		"import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])", file]));
	await test("loads and shows all boxes", async () => {
		await page.open(file);
		page.assertClean();
		const boxes = await page.evaluate(shown);
		assert.equal(Object.keys(boxes).length, 12);
		assert.deepEqual([boxes.parse.left, boxes.parse.width, boxes.parse.text], [9, 60, "parse"]);
		assert(boxes[`<b>&"]]>'(anonymous namespace)::f(int)`]);
	});
	await test("tells details under the pointer", async () => {
		await pointAt(page, "memcpy");
		assert.equal(await textOf(page, "details"), "Function: memcpy (400 samples, 40.00%)");
		await page.move(5, 5);
		assert.equal((await textOf(page, "details")).trim(), "");
	});
	await test("a drag selects none of the boxes' texts; those around them can be", async () => {
		const selected = () => page.evaluate("String(getSelection())");
		const from = await pointAt(page, "memcpy");
		await page.drag(from, { x: from.x + 600, y: from.y + 60 });
		assert.equal((await selected()).trim(), "");
		await page.evaluate(`getSelection().selectAllChildren(document.getElementById("subtitle"))`);
		assert.equal(await selected(), "1,000 samples");
		await page.evaluate(`(() => {
			document.getElementById("details").textContent = "told";
			getSelection().selectAllChildren(document.getElementById("details"));
		})()`);
		assert.equal(await selected(), "told");
		await page.open(file);
	});
	await test("Tab goes to the boxes at once", async () => {
		const at = `(({ id, localName }) => id || localName)(document.activeElement)`;
		const stops = [];
		for (let i = 0; i < 3; i++) {
			await page.press("Tab");
			stops.push(await page.evaluate(at));
		}
		assert.deepEqual(stops, ["search", "fold", "rect"]);
		assert.match(await textOf(page, "details"), /^Function: all \(1,000 samples/);
		await page.open(file);
	});
	await test("shares are of --total", async () => {
		stook("flame", input, "--total", "2000", "-o", scratch("total.svg"));
		await page.open(scratch("total.svg"));
		await pointAt(page, "memcpy");
		assert.equal(await textOf(page, "details"), "Function: memcpy (400 samples, 20.00%)");
		await page.press("Control+f");
		await page.type("memcpy");
		await page.press("Enter");
		assert.equal(await textOf(page, "matched"), "Matched: 20.0%");
		await page.open(file);
	});
	await test("zooms by a click, and resets", async () => {
		await clickBox(page, "parse");
		let boxes = await page.evaluate(shown);
		assert.deepEqual(Object.keys(boxes), ["all", "server", "main", "handle", "parse", "memcpy"]);
		assert.deepEqual([boxes.main.width, boxes.main.above], [100, true]);
		assert.deepEqual([boxes.parse.width, boxes.parse.above], [100, false]);
		assert(Math.abs(boxes.memcpy.width - 200 / 3) < 1e-3);
		await page.click("#reset");
		boxes = await page.evaluate(shown);
		assert.equal(Object.keys(boxes).length, 12);
		assert(!boxes.main.above);
		await clickBox(page, "parse");
		await page.press("Escape");
		assert.equal(Object.keys(await page.evaluate(shown)).length, 12);
	});
	await test("searches, and tells how much matches", async () => {
		await page.press("Control+f");
		await page.type("^par|memcpy|KSYS");
		await page.press("Enter");
		let boxes = await page.evaluate(shown);
		assert.deepEqual(Object.keys(boxes).filter((name) => boxes[name].match), ["parse", "memcpy"]);
		assert.equal(await textOf(page, "matched"), "Matched: 60.0%");
		await page.press("Control+i");
		assert.equal(await textOf(page, "matched"), "Matched: 90.0%");
		await page.press("Control+i");
		await page.press("Escape");
		boxes = await page.evaluate(shown);
		assert.equal(Object.values(boxes).filter((box) => box.match).length, 0);
		assert.equal(await textOf(page, "matched"), "");
	});
	await test("searches for what is no regular expression as it stands", async () => {
		await page.press("F3");
		await page.type("namespace)::f(");
		await page.press("Enter");
		assert.equal(await textOf(page, "matched"), "Matched: 9.0%");
		await page.click("#search");
		assert.equal(await textOf(page, "search"), "Search");
	});
	await test("ignores case, and searches again, from within the field, too", async () => {
		await page.open(file);
		await page.press("Control+f");
		await page.type("KSYS");
		await page.until("document.getElementById('matched').textContent === 'Matched: 0.0%'");
		await page.press("Control+i");
		assert.equal(await textOf(page, "matched"), "Matched: 30.0%");
		await page.press("Control+f");
		assert.equal(await page.evaluate("document.activeElement.value"), "KSYS");
		await page.press("Escape");
		assert.equal(await textOf(page, "matched"), "");
	});
	await test("moves by keys", async () => {
		const at = "document.activeElement.previousElementSibling.textContent.split(' (')[0]";
		await page.evaluate(`${boxNamed("all")}.focus()`);
		for (const [key, name] of [["ArrowUp", "server"], ["ArrowUp", "main"], ["ArrowUp", "handle"],
			["ArrowUp", "parse"], ["ArrowRight", "write_all_of_it_to_the_socket"],
			["ArrowLeft", "parse"], ["ArrowDown", "handle"]]) {
			await page.press(key);
			assert.equal(await page.evaluate(at), name, key);
		}
		assert.match(await textOf(page, "details"), /^Function: handle \(900 samples/);
		assert.match(await page.evaluate("document.activeElement.getAttribute('aria-label')"),
			/^handle \(900 samples, 90.00%\)$/);
		await page.press("Enter");
		assert.equal((await page.evaluate(shown)).handle.width, 100);
		await page.press("Escape");
		assert.equal(Object.keys(await page.evaluate(shown)).length, 12);
	});
	await test("cuts texts to their boxes at any width", async () => {
		const wide = async () => {
			const { text } = (await page.evaluate(shown)).write_all_of_it_to_the_socket;
			return text;
		};
		const tooWide = `[...document.querySelectorAll("#frames text")].filter((text) => text.textContent
			&& text.getBBox().width > text.previousElementSibling.getBBox().width).length`;
		assert.equal(await wide(), "write_all_of_it_to_the_socket");
		await page.setViewport(500, 600);
		await page.painted();
		assert.match(await wide(), /^write_a.*[^.]\.\.$/);
		assert.equal(await page.evaluate(tooWide), 0);
		await clickBox(page, "handle");
		assert.equal(await page.evaluate(tooWide), 0);
		await page.setViewport(1600, 600);
		await page.painted();
		assert.equal(await wide(), "write_all_of_it_to_the_socket");
		await page.press("Escape");
		await page.setViewport(1200, 800);
		page.assertClean();
	});
	await test("fits its place in a page, also when only that gets another width", async () => {
		const svg = readFileSync(file, "utf8").replace(/^<\?xml.*\n/, "");
		writeFileSync(scratch("around.html"), `<!doctype html><div id="around">${svg}</div>`);
		await page.open(scratch("around.html"));
		await page.evaluate("document.getElementById('around').style.width = '500px'");
		await page.painted();
		assert.equal(await page.evaluate("document.getElementById('frames').getAttribute('width')"), "480");
		assert.match((await page.evaluate(shown)).write_all_of_it_to_the_socket.text, /^write_a.*\.\.$/);
		page.assertClean();
	});
	await test("keeps its state in the address", async () => {
		await openFromHost(page, "http://stook.test/flame.svg?theme=x", file);
		await clickBox(page, "parse");
		await page.press("Control+f");
		await page.type("memcpy");
		await page.press("Enter");
		const state = new URLSearchParams(await query(page));
		assert.deepEqual([...state.keys()], ["theme", "x", "y", "s"]);
		await openFromHost(page, await page.evaluate("location.href"), file);
		const boxes = await page.evaluate(shown);
		assert.deepEqual([boxes.parse.width, boxes.memcpy.match], [100, true]);
		assert.equal(await textOf(page, "matched"), "Matched: 40.0%");
		await page.press("Escape");
		await page.press("Escape");
		assert.equal(await query(page), "?theme=x");
	});
	await test("keeps its state when it is a file", async () => {
		await page.open(file);
		await clickBox(page, "parse");
		const href = await page.evaluate("location.href");
		assert.match(href, /[?#]x=9&y=/);
		await page.open(href);
		assert.equal((await page.evaluate(shown)).parse.width, 100);
		page.assertClean();
	});
	await test("icicles grow downwards, for the keys, too", async () => {
		stook("flame", "--inverted", input, "-o", scratch("icicle.svg"));
		await page.open(scratch("icicle.svg"));
		await page.evaluate(`${boxNamed("all")}.focus()`);
		await page.press("ArrowDown");
		assert.match(await textOf(page, "details"), /^Function: server/);
		await page.press("ArrowUp");
		assert.match(await textOf(page, "details"), /^Function: all/);
		page.assertClean();
	});
	await test("is opened at its root, with a title that fits", async () => {
		const deep = Array.from({ length: 500 }, (_, i) => `frame_${i}`).join(";");
		writeFileSync(scratch("deep.folded"), `${deep} 10\n`);
		stook("flame", scratch("deep.folded"), "-q", "--title", "A title that is much longer than the window is wide",
			"-o", scratch("deep.svg"));
		await page.setViewport(300, 600);
		await page.open(scratch("deep.svg"));
		const root = await page.evaluate(`${boxNamed("all")}.getBoundingClientRect().bottom`);
		assert(root > 0 && root <= 600, `${root}`);
		const boxOf = (id) => page.evaluate(`document.getElementById("${id}").getBoundingClientRect().toJSON()`);
		const [title, search] = [await boxOf("title"), await boxOf("search")];
		assert(title.left >= 0 && title.right <= search.left, `${title.right} ${search.left}`);
		assert.match(await textOf(page, "title"), /^A title.*\.\.$/);
		await page.press("Control+f");
		const field = await page.evaluate("document.activeElement.getBoundingClientRect().toJSON()");
		assert(field.top >= 0 && field.bottom <= 600, `${field.top}`);
		await page.setViewport(1200, 800);
		page.assertClean();
	});
	await test("a difference: says of what, and what colours and widths mean", async () => {
		for (const [name, moved] of [["old", 0], ["new", 900]])
			writeFileSync(scratch(`${name}.folded`), `app;main;a ${4000 - moved}\napp;main;b ${2000 + moved}\napp;main;c 3000\n`);
		stook("diff", scratch("old.folded"), scratch("new.folded"), "-q", "-o", scratch("diff.svg"));
		await page.open(scratch("diff.svg"));
		assert.equal(await textOf(page, "title"), "Differential Flame Graph: old.folded \u2192 new.folded");
		assert.match(await textOf(page, "legend"), /more\s+less.*within noise\s+width: before plus after/s);
		const told = (name) => page.evaluate(`${boxNamed(name)}.previousElementSibling.textContent.split(", ").pop()`);
		assert.deepEqual([await told("a"), await told("b"), await told("c"), await told("main")],
			["less", "more", "within noise", "within noise"]);
		page.assertClean();
	});
	await test("is a picture without its script, too", async () => {
		await page.call("Emulation.setScriptExecutionDisabled", { value: true });
		try {
			await page.open(file);
			const png = await page.screenshot();
			assert(png.length > 8000, `${png.length} bytes`);
		} finally {
			await page.call("Emulation.setScriptExecutionDisabled", { value: false });
		}
	});
});
