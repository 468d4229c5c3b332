// The page in a browser: its contents for a profile with known numbers, by mouse, by keyboard and
// for a screen reader; no network requests; readable in light and dark colours.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { pageTest, root, scratch, stook } from "./lib/page_test.mjs";
import { writeProfile } from "./lib/made_profile.mjs";

const start = 1_700_000_000_000_000_000n;
const second = 1_000_000_000n;

// Ten seconds: a server that sends at 10 samples a second, and a worker that computes more and
// more.
function threadsOverTime() {
	const samples = [];
	for (let i = 0n; i < 10n; i++) {
		const time = { slice_start: start + i * second, slice_end: start + (i + 1n) * second };
		samples.push({
			stack: ["main@app", "serve@app", "send@libc.so.6", "tcp_sendmsg@[kernel.kallsyms]"],
			values: [10], labels: { thread_comm: "server", tid: 1, ...time },
		}, {
			stack: ["main@app", "work@app", "loop>step@app", "compute@app"],
			values: [2n * i + 1n], labels: { thread_comm: "worker", tid: 2, ...time },
		}, {
			stack: ["main@app", "work@app", "send@libc.so.6"],
			values: [1], labels: { thread_comm: "worker", tid: 2, ...time },
		});
	}
	return samples;
}

const hostile = Buffer.concat([
	Buffer.from("</script><script>document.title='caught'</script>;\"quotes' & <b>bold</b>;leaf <!-- 30\n"),
	Buffer.from("<img src=http://stook.invalid/x onerror=alert(1)>;]]>;\u202eevil\u202c;zero\u200bwidth 20\n"),
	Buffer.from("__proto__;constructor;hasOwnProperty;toString 15\n"),
	Buffer.from("<!--policy-->;<!--/data-->;<!--script-->;--> 8\n"),
	Buffer.from([0xff, 0xfe, 0x3b, 0xc3, 0x20, 0x78, 0x20, 0x39, 0x0a]),
	Buffer.from(";;;empty 10\n"),
]);

async function open(page, file, address = "") {
	await page.open(`file://${file}${address && `#${address}`}`);
	await page.until("document.body.dataset.ready");
	await page.painted();
}

const textOf = (page, id) => page.evaluate(`document.getElementById("${id}").textContent`);
const total = (page) => page.evaluate("stook.tree().total[0]");
const crumbs = (page) =>
	page.evaluate("[...document.querySelectorAll('#crumbs button')].map((b) => b.textContent)");
const settled = (page) => page.evaluate("new Promise((done) => setTimeout(done, 350))");

// Returns the screen position of the first frame of that name.
async function placeOf(page, name) {
	const place = await page.evaluate((wanted) => {
		const { graph, frames } = window.stook;
		graph.draw();
		const corner = graph.canvas.getBoundingClientRect();
		for (let row = 0; row < graph.boxes.nrRows; row++) {
			const { nodes, lefts, rights } = graph.boxes.rows[row];
			const at = nodes.findIndex((n) => n >= 0 && frames.plainName(graph.tree, n).startsWith(wanted));
			if (at >= 0)
				return { x: corner.left + (lefts[at] + rights[at]) / 2, y: corner.top + graph.top(row) + 8 };
		}
		return null;
	}, name);
	assert(place, `no frame '${name}' in sight`);
	return place;
}

async function clickFrame(page, name, options) {
	const { x, y } = await placeOf(page, name);
	await page.click(x, y, options);
	await settled(page);
}

const functionRows = `[...document.querySelectorAll("#functions-body tr[data-place]")].map((row) =>
	[...row.children].map((cell) => cell.textContent))`;

await pageTest("page", async (test) => {
	const file = scratch("page.html");
	writeProfile(scratch("threads.pb.gz"), {
		types: [["samples", "count"]], samples: threadsOverTime(),
		comments: ["samples  all of them", "cost     next to nothing"], seconds: 10,
	});
	stook("flame", scratch("threads.pb.gz"), "-q", "-o", file);

	await test("loads without an error and asks for nothing", async (page) => {
		await open(page, file);
		page.assertClean();
		assert.deepEqual(page.requests, [`file://${file}`]);
		assert.equal(await total(page), 210);
		assert.match(await textOf(page, "subtitle"), /^210 samples/);
		assert(await page.evaluate("document.getElementById('loading').hidden"));
		await assert.rejects(page.evaluate("fetch('data:text/plain,x').then((r) => r.text())"), /Failed/);
	});
	await test("the same bytes each time", async () => {
		stook("flame", scratch("threads.pb.gz"), "-q", "-o", scratch("again.html"));
		assert(readFileSync(file).equals(readFileSync(scratch("again.html"))));
	});
	await test("a click zooms, crumbs lead back, 0 resets", async (page) => {
		await open(page, file);
		await clickFrame(page, "work");
		assert.match((await crumbs(page)).at(-1), /^work/);
		await page.click("#crumbs li:first-child button");
		await settled(page);
		assert.deepEqual(await page.evaluate("stook.graph.view"), { from: 0, to: 1 });
		await clickFrame(page, "serve");
		await page.press("0");
		await settled(page);
		assert.deepEqual(await crumbs(page), ["all"]);
	});
	await test("the wheel zooms at the pointer, dragging moves", async (page) => {
		await open(page, file);
		const { x, y } = await placeOf(page, "main");
		await page.wheel(x, y, { dy: -300 });
		await page.until("stook.graph.view.to - stook.graph.view.from < 0.6");
		const before = await page.evaluate("stook.graph.view");
		await page.drag({ x, y }, { x: x - 60, y });
		const after = await page.evaluate("stook.graph.view");
		assert(after.from > before.from && Math.abs(after.to - after.from - before.to + before.from) < 1e-9);
	});
	await test("search: share, case, what is no expression", async (page) => {
		await open(page, file);
		await page.press("/");
		await page.type("SEND");
		await page.press("Enter");
		assert.equal(await textOf(page, "search-status"), "52.4 % matched");
		await page.press("Control+i");
		assert.equal(await textOf(page, "search-status"), "No match");
		assert.equal(await page.evaluate("document.getElementById('case').ariaPressed"), "true");
		await page.press("Control+i");
		await page.press("Enter");
		await settled(page);
		assert.match((await crumbs(page)).at(-1), /^send/);
		await page.press("Control+f");
		assert.equal(await page.evaluate("document.activeElement.id"), "search");
		await page.type("a(");
		await page.press("Enter");
		assert.match(await textOf(page, "search-status"), /^Invalid regular expression/);
		assert.equal(await page.evaluate("document.getElementById('search').ariaInvalid"), "true");
		await page.press("Escape");
		assert.equal(await textOf(page, "search-status"), "");
		page.assertClean();
	});
	await test("the keyboard reaches frames, and each is told", async (page) => {
		await open(page, file);
		await page.evaluate("document.getElementById('graph').focus()");
		await page.press("ArrowUp");
		assert.match(await textOf(page, "live"), /^worker\S*; Kind thread; Total 110 samples, 52.4 %/);
		await page.press("ArrowLeft");
		assert.match(await textOf(page, "live"), /^server/);
		for (let i = 0; i < 4; i++)
			await page.press("ArrowUp");
		assert.match(await textOf(page, "live"), /^tcp_sendmsg.*Kind kernel; Module \[kernel/);
		await page.press("ArrowDown");
		await page.press("Enter");
		await settled(page);
		assert.match((await crumbs(page)).at(-1), /^tcp_sendmsg|^send/);
		await page.press("s");
		assert.match(await textOf(page, "sandwich-name"), /^send/);
		await page.press("y");
		await page.until("!document.getElementById('note').hidden");
		assert.match(await textOf(page, "note"), /^Copied: send/);
		await page.press("1");
		await page.press("i");
		assert(await page.evaluate("stook.graph.isIcicle"));
		await page.press("?");
		assert(await page.evaluate("document.getElementById('help').open"));
		await page.press("Escape");
		assert(!(await page.evaluate("document.getElementById('help').open")));
	});
	await test("the table of functions: exact, sorted, filtered, by keyboard", async (page) => {
		await open(page, file, "tab=functions");
		const rows = await page.evaluate(functionRows);
		const main = rows.find((row) => row[4] === "main");
		assert.deepEqual(rows[0], ["47.6 %", "100", "47.6 %", "100", "tcp_sendmsg", "[kernel]"]);
		assert.deepEqual(main.slice(0, 4), ["0 %", "0", "100 %", "210"]);
		assert.equal(await page.evaluate("document.getElementById('functions-table').getAttribute('aria-rowcount')"), "9");
		await page.click("#functions-head th:last-child button");
		assert.equal(await page.evaluate("document.querySelector('#functions-head th:last-child').ariaSort"), "ascending");
		await page.press("/");
		await page.type("^(send|step)$");
		await page.press("Enter");
		assert.deepEqual((await page.evaluate(functionRows)).map((row) => row[4]), ["step", "send"]);
		await page.evaluate("document.querySelector('#functions-body button').focus()");
		await page.press("ArrowDown");
		await page.press("Enter");
		assert.equal(await page.evaluate("stook.view.tab"), "callers");
		assert.equal(await textOf(page, "sandwich-name"), "send");
	});
	await test("callers and callees of a function", async (page) => {
		await open(page, file);
		await clickFrame(page, "send", { modifiers: ["Control"] });
		const rows = (id) => page.evaluate(`[...document.querySelectorAll("#${id} tr")].map((r) => r.textContent)`);
		assert.deepEqual(await rows("callers-body"), ["90.9 %serve", "9.1 %work"]);
		assert.deepEqual(await rows("callees-body"), ["9.1 %(itself)", "90.9 %tcp_sendmsg"]);
		assert.match(await textOf(page, "sandwich-facts"), /libc.so.6 · self 4.8 % \(10 samples\) · total 52.4 % \(110 samples\)/);
		await page.painted();
		assert(await page.evaluate("stook.sandwich.callers.boxes.nrRows >= 4"));
		await page.click("#callers-body button");
		assert.equal(await textOf(page, "sandwich-name"), "serve");
	});
	await test("threads: one, several, all", async (page) => {
		await open(page, file);
		await page.press("t");
		assert.equal(await page.evaluate("document.querySelectorAll('#threads-list input').length"), 2);
		await page.click("#threads-list li:nth-child(2) input");
		assert.equal(await total(page), 100);
		assert.match(await textOf(page, "threads-summary"), /^server/);
		await page.click("#threads-all");
		assert.equal(await total(page), 210);
	});
	await test("the timeline chooses, and all views follow", async (page) => {
		await open(page, file);
		assert.deepEqual(await page.evaluate("[...stook.timeline.sums]"), [12, 14, 16, 18, 20, 22, 24, 26, 28, 30]);
		const box = await page.evaluate("document.getElementById('timeline-canvas').getBoundingClientRect().toJSON()");
		const at = (part) => ({ x: box.x + box.width * part, y: box.y + 20 });
		await page.drag(at(0.05), at(0.25));
		await page.until("stook.view.range");
		await page.painted();
		assert.deepEqual(await page.evaluate("stook.view.range"), [0, 2]);
		assert.equal(await total(page), 42);
		assert.equal(await page.evaluate("stook.sums.total.reduce((a, b) => Math.max(a, b))"), 42);
		assert.equal(await textOf(page, "timeline-range"), "Time: 0 s to 3 s");
		await page.evaluate("document.getElementById('timeline-canvas').focus()");
		await page.press("ArrowRight");
		assert.equal(await total(page), 48);
		await page.press("Shift+ArrowRight");
		assert.equal(await total(page), 68);
		await page.press("Escape");
		assert.equal(await total(page), 210);
	});
	await test("the address holds what is looked at", async (page) => {
		await open(page, file);
		await clickFrame(page, "work");
		await page.evaluate("stook.setRange([2, 5]); stook.search.set('compute'); stook.toggleTheme()");
		await settled(page);
		const address = await page.evaluate("location.hash.slice(1)");
		await open(page, file, address);
		assert.deepEqual(await page.evaluate("stook.view.range"), [2, 5]);
		assert.match((await crumbs(page)).at(-1), /^work/);
		assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
		assert.match(await textOf(page, "search-status"), /matched/);
		await open(page, file, "tab=no&value=99&zoom=5-x&time=9-1&function=-1&threads=,&color=%00");
		assert.equal(await total(page), 210);
		page.assertClean();
	});
	await test("dark as the system is, or as chosen", async (page) => {
		const theme = () => page.evaluate("document.documentElement.dataset.theme");
		await page.setDark(true);
		await open(page, file);
		assert.equal(await theme(), "dark");
		await page.press("d");
		assert.equal(await theme(), "light");
		await page.setDark(false);
		await open(page, file);
		assert.equal(await theme(), "light");
	});
	await test("every text can be read: WCAG AA in both themes", async (page) => {
		for (const dark of [false, true]) {
			await page.setDark(dark);
			await open(page, file);
			const pairs = await page.evaluate(() => {
				const style = getComputedStyle(document.documentElement);
				const rgb = (name) => style.getPropertyValue(name).match(/[0-9a-f]{2}/g).map((x) => parseInt(x, 16));
				const named = [];
				for (const text of ["--text", "--text-soft", "--accent-text", "--more", "--less", "--bad"])
					for (const ground of ["--ground", "--panel", "--raised", "--selection"])
						named.push([`${text} on ${ground}`, window.contrast(rgb(text), rgb(ground))]);
				named.push(["--text on --bar", window.contrast(rgb("--text"), rgb("--bar"))]);
				const frames = window.stook.palette.pairs().map(([text, ground]) =>
					[`${text} on ${ground}`, window.contrast(text, ground)]);
				return [...named, ...frames];
			});
			const bad = pairs.filter(([, contrast]) => contrast < 4.5);
			assert.deepEqual(bad, []);
			assert(pairs.length > 400);
			// Lines that mark buttons and selections need a contrast of at least 3.
			const lines = await page.evaluate(() => {
				const style = getComputedStyle(document.documentElement);
				const rgb = (name) => style.getPropertyValue(name).match(/[0-9a-f]{2}/g).map((x) => parseInt(x, 16));
				return ["--line-strong", "--accent"].map((name) => window.contrast(rgb(name), rgb("--ground")));
			});
			assert(Math.min(...lines) >= 3, String(lines));
		}
		await page.setDark(false);
	});
	await test("each part has a role and a name", async (page) => {
		await open(page, file);
		const { nodes } = await page.call("Accessibility.getFullAXTree");
		const named = (role) => nodes.filter((n) => n.role?.value === role).map((n) => n.name?.value);
		assert.equal(named("tab").length, 4);
		assert(named("button").every(Boolean) && named("searchbox").every(Boolean) && named("combobox").every(Boolean));
		assert(nodes.some((n) => n.role?.value === "application" && n.name.value === "Flame graph"));
		assert(nodes.some((n) => /tabpanel/.test(n.role?.value)));
	});
	await test("fits a phone", async (page) => {
		await page.setViewport(390, 780);
		for (const tab of ["flame", "functions", "callers", "about"]) {
			await open(page, file, `tab=${tab}&function=0`);
			assert(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab);
			const height = await page.evaluate((id) => document.getElementById(id).clientHeight, `panel-${tab}`);
			assert(height > 250, `${tab} has ${height} pixels`);
		}
		await page.setViewport(1200, 800);
	});
	await test("about: how it was taken, what the run said", async (page) => {
		await open(page, file, "tab=about");
		assert.match(await textOf(page, "facts"), /Duration10 s/);
		assert.match(await textOf(page, "comments"), /samples {2}all of themcost/);
	});
	await test("several values", async (page) => {
		writeProfile(scratch("heap.pb.gz"), {
			types: [["alloc_objects", "count"], ["alloc_space", "bytes"], ["inuse_space", "bytes"]],
			samples: [
				{ stack: ["main@app", "a@app"], values: [3, 3000, 0] },
				{ stack: ["main@app", "b@app"], values: [1, 0, 500] },
			],
		});
		stook("flame", scratch("heap.pb.gz"), "-q", "-o", scratch("heap.html"));
		await open(page, scratch("heap.html"));
		const shown = {};
		for (let i = 0; i < 3; i++) {
			shown[await page.evaluate("stook.value().type")] = await total(page);
			await page.press("v");
			await settled(page);
		}
		assert.deepEqual(shown, { alloc_objects: 4, alloc_space: 3000, inuse_space: 500 });
		assert.equal(await page.evaluate("document.getElementById('value').options.length"), 3);
		page.assertClean();
	});
	await test("sums are told with their unit, whatever it is", async (page) => {
		const told = {};
		for (const unit of ["\u00b5s", "megabytes", "constructor", "<b>\u202e", "count"]) {
			writeProfile(scratch("unit.pb.gz"), { types: [["wait", unit]], samples: [{ stack: ["f@app"], values: [5007] }] });
			stook("flame", scratch("unit.pb.gz"), "-q", "-o", scratch("unit.html"));
			await open(page, scratch("unit.html"));
			told[unit] = await textOf(page, "subtitle");
			page.assertClean();
		}
		assert.deepEqual(told, {
			"\u00b5s": "5.01 ms of wait", megabytes: "5,007 megabytes, the sum of wait",
			constructor: "5,007 constructor, the sum of wait",
			"<b>\u202e": "5,007 <b>\u2039U+202E\u203a, the sum of wait", count: "5,007 wait",
		});
	});
	await test("a difference: more, less, new, gone, and what may be chance", async (page) => {
		writeFileSync(scratch("two.folded"),
			["same 4000 4010", "more 1000 2000", "less 2000 1000", "gone 700 0", "new 0 690"]
				.map((line) => `app;main;${line}\n`).join(""));
		stook("flame", scratch("two.folded"), "-q", "-o", scratch("two.html"));
		await open(page, scratch("two.html"), "tab=functions&sort=name&up=1");
		const rows = await page.evaluate(`[...document.querySelectorAll("#functions-body tr[data-place]")].map((row) =>
			[row.querySelector(".column-name").textContent, row.querySelector(".column-change").dataset.change])`);
		assert.deepEqual(Object.fromEntries(rows),
			{ gone: "gone", less: "less", main: "none", more: "more", new: "new", same: "none" });
		const name = (wanted) => page.evaluate((text) => {
			const { frames } = window.stook;
			const tree = window.stook.tree();
			for (let i = 1; i < tree.nr; i++)
				if (frames.plainName(tree, i) === text) return frames.name(tree, i);
			return null;
		}, wanted);
		assert.deepEqual([await name("new"), await name("gone"), await name("same")], ["+ new", "\u2212 gone", "same"]);
		assert.equal(await page.evaluate("stook.palette.mode"), "difference");
		page.assertClean();
	});
	await test("a difference is by time, and as sure, as was asked for; and says of what it is", async (page) => {
		const two = (name, moved) => writeProfile(scratch(name), {
			types: [["samples", "count"]], seconds: 10,
			samples: [["a@app", 400 - moved], ["b@app", 200 + moved]].map(([leaf, count]) =>
				({ stack: ["main@app", leaf], values: [count] })),
		});
		two("before.pb.gz", 0);
		two("after.pb.gz", 60);
		const kinds = {};
		for (const options of [[], ["--by-time"], ["--confidence", "99.9999"]]) {
			stook("diff", scratch("before.pb.gz"), scratch("after.pb.gz"), "-q", ...options, "-o", scratch("sure.html"));
			await open(page, scratch("sure.html"));
			const told = await page.evaluate("stook.frames.sentence(stook.tree(), 1)");
			assert.match(told, options[0] === "--by-time" ? /Before 60.0\/s; After 60.0\/s/ : /Before 100.00 %; After 100.00 %/);
			kinds[options.join(" ")] = await page.evaluate(
				"[...stook.tree().depth.keys()].slice(1).map((i) => stook.frames.change(stook.tree(), i).kind).some(Boolean)");
		}
		assert.deepEqual(kinds, { "": true, "--by-time": true, "--confidence 99.9999": false });
		assert.equal(await textOf(page, "subtitle"), "600 samples before, 600 samples after");
		assert.equal(await page.evaluate("document.title"), "Difference: before.pb.gz \u2192 after.pb.gz");
		assert.match(await textOf(page, "legend"), /^more, \+ newless, \u2212 gonewithin noisewidth: before plus after$/);
		page.assertClean();
	});
	await test("kinds have the names and hues that a picture has", async (page) => {
		stook("flame", scratch("threads.pb.gz"), "-q", "-o", scratch("kinds.svg"));
		const picture = [...readFileSync(scratch("kinds.svg"), "utf8").split('id="legend"')[1].split("</g>")[0]
			.matchAll(/fill="#(..)(..)(..)".*>(.+)<\/text>/g)]
			.map(([, r, g, b, name]) => [name, [r, g, b].map((part) => parseInt(part, 16))]);
		await open(page, file);
		const shown = await page.evaluate("stook.palette.legend().map(([name, css]) => [name, css.match(/\\d+/g).map(Number)])");
		const hue = ([r, g, b]) => (Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) * 180 / Math.PI + 360) % 360;
		assert.deepEqual(shown.map(([name]) => name), picture.map(([name]) => name));
		for (const [i, [name, color]] of shown.entries())
			assert(Math.abs(hue(color) - hue(picture[i][1])) < 12, `${name}: ${color} and ${picture[i][1]}`);
	});
	await test("times are rounded as a whole", async (page) => {
		await open(page, file);
		const times = [0, 0.9994, 0.9996, 119.9, 179.4, 179.7, 7199.4, 7199.7, 86399.9];
		assert.deepEqual(await page.evaluate(`[${times}].map((seconds) => formatSeconds(seconds * 1e9))`),
			["0 s", "999 ms", "1 s", "119.9 s", "2 min 59 s", "3 min 0 s", "119 min 59 s", "2 h 0 min", "24 h 0 min"]);
	});
	await test("names cannot break out of it", async (page) => {
		writeFileSync(scratch("hostile.folded"), hostile);
		stook("flame", scratch("hostile.folded"), "-q", "--title", "</title><script>alert(1)</script>", "-o", scratch("hostile.html"));
		await open(page, scratch("hostile.html"));
		page.assertClean();
		assert.equal(await page.evaluate("document.title"), "</title><script>alert(1)</script>");
		assert.equal(await total(page), 92);
		assert(await page.evaluate("stook.model.texts.some((text) => text === '\u2039U+202E\u203aevil\u2039U+202C\u203a')"));
		await page.evaluate("stook.showTab('functions'); stook.openFunction(0)");
		await page.evaluate("stook.showFocus(stook.tree(), 1)");
		await page.painted();
		assert.deepEqual(await page.evaluate("[...stook.model.words.text.keys()].map((word) => stook.palette.makeOfWord(word))" +
			".filter((color) => !/^rgb\\(\\d+,\\d+,\\d+\\)$/.test(color))"), []);
		assert.equal(await page.evaluate("document.images.length + document.querySelectorAll('b').length"), 0);
		assert.equal(await page.evaluate("document.scripts.length"), 3);
		page.assertClean();
	});
	await test("an empty profile, and a browser without DecompressionStream, are told", async (page) => {
		writeProfile(scratch("empty.pb.gz"), { types: [["samples", "count"]], samples: [] });
		stook("flame", scratch("empty.pb.gz"), "-q", "-o", scratch("empty.html"));
		await open(page, scratch("empty.html"));
		assert(!(await page.evaluate("document.getElementById('nothing').hidden")));
		page.assertClean();
		const { identifier } = await page.call("Page.addScriptToEvaluateOnNewDocument",
			{ source: "delete window.DecompressionStream" });
		await page.open(file);
		await page.until("document.querySelector('#loading.failed')");
		assert.match(await textOf(page, "loading"), /too old/);
		await page.call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
	});
	await test("the template opens by itself", async (page) => {
		await open(page, `${root}/src/format/page/page.html`);
		page.assertClean();
		assert.equal(await total(page), 3240);
	});
}, { width: 1200, height: 800 });
