// The page of stook serve in Chromium and in Firefox: the chart by each label and value, ranges, differences, search, links,
// keyboard, hostile names, the token.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Chromium } from "./lib/chromium.mjs";
import { writeProfile } from "./lib/made_profile.mjs";
import { pageTest, root, run, scratch } from "./lib/page_test.mjs";

const tools = join(root, "build/tests/tools");
const token = "0123456789abcdef0123";
const script = "<script>alert(1)</script>";

const container = "4f5e6d7c8b9a".repeat(5) + "4f5e";

// Each epoch has this profile.
function makeStore() {
	const ms = 1_000_000;
	const labels = (thread, process, its, unit) => ({ thread, process, container: its, unit });
	const redis = labels("redis", "redis-server", container, "redis.service");
	writeProfile(scratch("in.pb.gz"), {
		types: [["sleeping", "nanoseconds"], ["samples", "count"], ["cpu", "nanoseconds"]],
		samples: [
			{ stack: ["main", "read@libc.so", "sys_read@[kernel.kallsyms]"], values: [0, 3, 30 * ms], labels: redis },
			{ stack: ["main", script], values: [0, 5, 50 * ms], labels: labels(script, script, script, script) },
			{ stack: ["main", "serve"], values: [0, 2, 20 * ms], labels: labels("nginx", "nginx", "", "nginx.service") },
			{ stack: ["main", "epoll_wait"], values: [4000 * ms, 0, 0], labels: redis },
		],
	});
	// All 72 epochs are over when the test begins: otherwise one more could end during it.
	const begin = Math.floor(Date.now() / 1000) - 730;
	run(join(tools, "store_cost"), ["-k", "72", "-b", String(begin), scratch("store"), scratch("in.pb.gz")]);
}

// Returns the address of a server, which ends with the test.
async function serve() {
	writeFileSync(scratch("token"), token, { mode: 0o600 });
	const server = spawn(process.env.STOOK ?? join(root, "build/stook"),
		["serve", "--store", scratch("store"), "--listen", "127.0.0.1:0", "--token-file", scratch("token")],
		{ stdio: ["ignore", "ignore", "pipe"] });
	process.on("exit", () => server.kill());
	return new Promise((resolve, reject) => {
		let text = "";
		server.stderr.on("data", (part) => {
			text += part;
			const found = /at (http:[^\s]*)\//.exec(text);
			if (found) resolve(found[1]);
		});
		server.on("exit", () => reject(new Error(text)));
	});
}

if (!existsSync(join(tools, "store_cost"))) {
	console.log("SKIP serve: needs build/tests/tools/store_cost");
	process.exit();
}
const url = await serve();

for (const browser of ["chromium", "firefox"]) {
	for (const ending of ["", "-wal", "-shm", "-lock"])
		rmSync(scratch(`store${ending}`), { force: true });
	makeStore(); // anew: its times must be the last minutes
	await pageTest(browser === "chromium" ? "serve" : `serve, ${browser}`, testPage, { browser });
}
process.exit();

async function testPage(test, page) {
	const clean = () => {
		assert.deepEqual(page.errors.filter((text) => !/status of 401/.test(text)), [], "console errors");
		assert.deepEqual(page.requests.filter((address) => !address.startsWith(url) && !/^(data|about|blob):/.test(address)), []);
	};
	const ready = async () => {
		await page.until("window.page && !document.body.dataset.loading && document.body.dataset.ready");
		await page.painted();
	};
	const text = (id) => page.evaluate(`document.getElementById("${id}").textContent`);
	const total = () => page.evaluate("stook.tree().total[0]");
	const drag = async (from, to, modifiers = []) => {
		const box = await page.evaluate(() => {
			const { x, y, width, height } = document.getElementById("chart").getBoundingClientRect();
			return { x, y, width, height };
		});
		const at = (part) => ({ x: box.x + part * box.width, y: box.y + box.height / 2 });
		await page.drag(at(from), at(to), { modifiers });
		await ready();
	};

	await test("without the token there is no data, and the page asks for it", async () => {
		await page.open(`${url}/`);
		await page.until("document.getElementById('login').open");
		assert.equal(await page.evaluate("window.stook === undefined"), true);
		for (let i = 0; i < 2; i++) {
			await page.press("Escape");
			await page.painted();
			await page.until("document.getElementById('login').open");
		}
		await page.click("#token");
		await page.type("wrong-token-wrong");
		await page.press("Enter");
		await page.until("document.getElementById('login-failed').textContent");
		await page.evaluate("document.getElementById('token').value = ''");
		await page.click("#token");
		await page.type(token);
		await page.press("Enter");
		await ready();
		assert.equal(await page.evaluate("document.getElementById('token').value + document.getElementById('login-failed').textContent"), "");
		clean();
	});
	await test("a link with the token opens it, and the token leaves the address", async () => {
		await page.open(`${url}/?span=-15m#token=${token}`);
		await ready();
		assert.equal((await page.evaluate("location.href")).replace(/#$/, ""), `${url}/?span=-15m`);
		assert.equal(await page.evaluate("document.cookie"), "", "the cookie is not for scripts");
		clean();
	});
	await test("the chart has all processes", async () => {
		await page.evaluate("page.change({ span: '-15m', by: 'comm' })");
		await ready();
		assert.deepEqual(await page.evaluate("page.chart.data.series.map((row) => row.name)"), [script, "redis", "nginx"]);
		assert.match(await text("chart-legend"), /redis/);
		clean();
	});
	const choose = async (id, value) => {
		await page.evaluate((wanted, chosen) => {
			const select = document.getElementById(wanted);
			if (![...select.options].some((option) => option.value === chosen))
				throw new Error(`no ${chosen}`);
			select.value = chosen;
			select.dispatchEvent(new Event("change"));
		}, id, value);
		await ready();
	};
	await test("by process, container and unit", async () => {
		await page.evaluate("window.alert = () => { window.wasAlerted = true }");
		for (const [label, names] of Object.entries({
			process: [script, "redis-server", "nginx"],
			container: [script, container, ""],
			unit: [script, "redis.service", "nginx.service"],
		})) {
			await choose("by", label);
			assert.deepEqual(await page.evaluate("page.chart.data.series.map((row) => row.name)"), names);
			assert((await text("chart-legend")).includes(script));
			assert.equal(await page.evaluate("document.querySelectorAll('section script, main script').length"), 0);
			await page.click("#chart-legend li:nth-child(1) button"); // a condition with that name
			await ready();
			assert.equal(await page.evaluate("page.shown.where"), `${label}="${script}"`);
			assert.equal(await page.evaluate("page.chart.data.series.length"), 1);
			await page.evaluate("page.change({ where: '' })");
			await ready();
		}
		await choose("by", "comm");
		assert.equal(await page.evaluate("window.wasAlerted"), undefined);
		clean();
	});
	await test("on and off the CPU", async () => {
		const onCpu = await total();
		assert.deepEqual(await page.evaluate("[...document.getElementById('kind').options].map((option) => option.text).sort()"),
			["Off CPU: sleeping", "On CPU"]);
		await choose("kind", "sleeping");
		assert.deepEqual(await page.evaluate("page.chart.data.series.map((row) => row.name)"), ["redis"]);
		assert.equal(await total() / onCpu, 40);
		assert.match(await page.evaluate("page.chart.rateText(page.chart.most)"), /^0\.4 threads$/);
		await choose("kind", "");
		assert.equal(await total(), onCpu);
		clean();
	});
	const drawn = () => page.evaluate(() => {
		const texts = [];
		const { context } = window.page.chart;
		context.fillText = (text) => texts.push(text);
		window.page.chart.draw();
		delete context.fillText;
		return texts;
	});
	await test("an empty chart has no scale", async () => {
		assert(/CPUs$/.test((await drawn())[0]));
		await page.evaluate("page.change({ where: 'comm=none' })");
		await ready();
		assert.deepEqual((await drawn()).filter((words) => !/^[\d: -]+$/.test(words)), []);
		await page.evaluate("page.change({ where: '' })");
		await ready();
		clean();
	});
	if (page instanceof Chromium) await test("times are those of the clock here, also when it is changed", async () => {
		// Only its driver can choose a time zone.
		await page.call("Emulation.setTimezoneOverride", { timezoneId: "Europe/Berlin" });
		for (const [year, month, day] of [[2025, 10, 23], [2025, 3, 27]]) {
			await page.evaluate((from) => {
				const covered = new Array(6 * 24).fill(0);
				window.page.chart.setData({ from, step: 3600, points: 6 * 24, covered, measured: covered, series: [], rest: covered, unit: "", value: "" });
			}, Date.UTC(year, month - 1, day) / 1000);
			const days = (await drawn()).filter((words) => /^\d{4}-/.test(words));
			const two = (number) => String(number).padStart(2, "0");
			assert.deepEqual(days, [1, 2, 3, 4, 5].map((i) => {
				const date = new Date(Date.UTC(year, month - 1, day + i));
				return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
			}));
		}
		const row = { factor: 1.1, error: 0.01, since: "2025-10-25 22:00", since_time: Date.UTC(2025, 9, 25, 22) / 1000, cost: 1, name: "f" };
		assert.equal(await page.evaluate(`page.growthRow(${JSON.stringify(row)}).cells[1].textContent`), "2025-10-26 00:00");
		await page.call("Emulation.setTimezoneOverride", { timezoneId: "" });
		await page.evaluate("page.charted = null, page.change({})");
		await ready();
		clean();
	});
	await test("search", async () => {
		await page.click("#search");
		await page.type("sys_");
		await page.until("/30.* % matched/.test(document.getElementById('search-status').textContent)");
		await page.press("Escape");
		await page.evaluate("stook.search.set('')");
		clean();
	});
	await test("names are text", async () => {
		assert.equal(await page.evaluate("document.querySelectorAll('#chart-legend script, main script').length"), 0);
		assert((await text("chart-legend")).includes(script));
		assert.equal(await page.evaluate("stook.frames.plainName(stook.tree(), stook.tree().children(0)[0])") !== "", true);
	});
	let all;
	await test("dragging selects a time", async () => {
		all = await total();
		await drag(0.5, 0.7);
		const part = await total();
		assert(part > 0 && part < all, `${part} of ${all}`);
		assert.match(await text("chosen"), /^\d{4}-/);
		clean();
	});
	await test("dragging with Shift compares", async () => {
		await drag(0.75, 0.9, ["Shift"]);
		assert(await page.evaluate("Boolean(stook.difference)"));
		assert.match(await text("chosen"), /compared with/);
		assert.equal(await page.evaluate("document.getElementById('tab-functions').click() || document.querySelectorAll('td[data-change]').length > 0"), true);
		await page.screenshot(process.env.SHOTS && join(process.env.SHOTS, "difference.png"));
		clean();
	});
	await test("the address has all of it", async () => {
		await page.until("/tab=functions/.test(location.hash)");
		const address = await page.evaluate("location.href");
		const before = [await text("chosen"), await total()];
		await page.open(address);
		await ready();
		assert.deepEqual([await text("chosen"), await total()], before);
		assert.equal(await page.evaluate("stook.view.tab"), "functions");
		clean();
	});
	await test("keys move the selection", async () => {
		await page.evaluate("page.change({ base: null }).then(() => document.getElementById('chart').focus())");
		await ready();
		const before = await page.evaluate("page.shown.selected");
		await page.press("ArrowRight");
		await ready();
		const after = await page.evaluate("page.shown.selected");
		assert.deepEqual(after, before.map((time) => time + 10));
		await page.press("Shift+ArrowRight");
		await ready();
		assert.deepEqual(await page.evaluate("page.shown.selected"), [after[0], after[1] + 10]);
		await page.press("b");
		await ready();
		assert(await page.evaluate("Boolean(stook.difference)"));
		await page.press("Escape");
		await ready();
		assert.equal(await total(), all);
		await page.press("ArrowLeft");
		await ready();
		await page.press("Enter");
		await ready();
		assert.deepEqual(await page.evaluate("[page.chart.data.points, page.shown.selected]"), [1, null]);
		clean();
	});
	await test("the legend filters", async () => {
		await page.evaluate("page.change({ span: '-15m', time: null })");
		await ready();
		await page.click("#chart-legend li:nth-child(2) button");
		await ready();
		assert.equal(await page.evaluate("page.shown.where"), 'comm="redis"');
		assert.equal(await page.evaluate("page.chart.data.series.length"), 1);
		await page.evaluate("page.change({ where: '((' })");
		await page.until("document.getElementById('where').getAttribute('aria-invalid')");
		await page.evaluate("page.change({ where: '' })");
		page.errors = page.errors.filter((line) => !/status of 400/.test(line));
		await ready();
		clean();
	});
	await test("by category, live, callers, regressions", async () => {
		await page.evaluate("page.change({ by: 'category' })");
		await ready();
		assert(await page.evaluate("Boolean(stook.model.about.categories)"));
		await page.click("#live-view");
		await ready();
		assert.equal(await page.evaluate("page.shown.selected[1] - page.shown.selected[0]"), 10);
		await page.evaluate("stook.openFunction(0)");
		assert.equal(await page.evaluate("document.getElementById('sandwich').hidden"), false);
		await page.click("#live-view");
		await ready();
		await page.click("#regressions");
		await page.until("/too little time/.test(document.getElementById('growth-note').textContent)");
		page.errors = page.errors.filter((line) => !/status of 404/.test(line));
		await page.press("Escape");
		await page.until("!document.getElementById('growth').open");
		await page.evaluate("stook.showTab('flame')");
		clean();
	});
	await test("another view goes on where the user was", async () => {
		const again = async (change = {}) => {
			await page.evaluate(`page.charted = null, page.change(${JSON.stringify(change)})`);
			await ready();
		};
		const functionNamed = (name) => `[...stook.model.functions.name.keys()].find((i) => stook.frames.functionName(i) === ${JSON.stringify(name)})`;
		await page.click("#search");
		await page.type("serve");
		await again();
		await page.type("r?");
		assert.deepEqual(await page.evaluate("[document.activeElement.id, document.activeElement.value]"), ["search", "server?"]);
		await page.until("stook.view.search === 'server?'");
		await page.evaluate("stook.search.set('')");
		await page.click("#where");
		await page.type("comm");
		await again();
		assert.deepEqual(await page.evaluate("[document.activeElement.id, document.activeElement.value]"), ["where", "comm"]);
		await page.evaluate("document.getElementById('where').value = ''");
		await page.click("#chart-legend");
		await ready();
		const before = await page.evaluate(`stook.openFunction(${functionNamed("sys_read")}), stook.view.function`);
		await again({ where: 'comm="redis"' });
		const after = await page.evaluate("stook.view.function");
		assert.notEqual(after, before);
		assert.equal(await page.evaluate(functionNamed("sys_read")), after);
		assert.equal(await text("sandwich-name"), "sys_read");
		await again({ where: "" });
		assert.equal(await page.evaluate("stook.view.function"), before);

		await page.evaluate("stook.showTab('functions')");
		await page.evaluate("document.styleSheets[0].insertRule('#functions-scroller { max-height: 80px; flex: none }')");
		await page.painted();
		await page.evaluate("stook.table.moveTo(0)");
		for (let i = 0; i < 3; i++) await page.press("ArrowDown");
		const state = "[document.activeElement.textContent, document.getElementById('functions-scroller').scrollTop]";
		const there = await page.evaluate(state);
		assert(there[1] > 0);
		await again();
		assert.deepEqual(await page.evaluate(state), there);
		await page.evaluate("document.styleSheets[0].deleteRule(0)");

		await page.evaluate("void (window.old = stook)");
		await again();
		await page.evaluate("old.graph.zoomTo(1), old.saveAddress(), new Promise((done) => setTimeout(done, 500))");
		assert(!/at=|zoom=/.test(await page.evaluate("location.hash")));
		await page.evaluate("stook.showTab('flame')");
		clean();
	});
	await test("regressions since a date", async () => {
		const asked = () => page.requests.filter((address) => address.includes("/api/regressions?"));
		const noted = () => page.until("/too little time/.test(document.getElementById('growth-note').textContent)");
		await page.click("#regressions");
		await noted();
		assert.equal(new URL(asked().at(-1)).searchParams.get("from"), null);
		assert.equal(await page.evaluate("new URLSearchParams(location.search).get('regressions')"), "all");
		await page.evaluate(() => {
			const input = document.getElementById("growth-from");
			input.value = "2026-01-02";
			input.dispatchEvent(new Event("change"));
		});
		await page.until("/regressions=2026-01-02/.test(location.search)");
		await noted();
		const from = await page.evaluate("`@${new Date(2026, 0, 2).getTime() / 1000}`");
		assert.equal(new URL(asked().at(-1)).searchParams.get("from"), from);
		await page.open(await page.evaluate("location.href"));
		await ready();
		await page.until("document.getElementById('growth').open");
		await noted();
		assert.equal(await page.evaluate("document.getElementById('growth-from').value"), "2026-01-02");
		assert.equal(new URL(asked().at(-1)).searchParams.get("from"), from);
		await page.press("Escape");
		await page.until("!/regressions/.test(location.search)");
		page.errors = page.errors.filter((line) => !/status of 404/.test(line));
		clean();
	});
	if (page instanceof Chromium) await test("a proxy without a server, until it is back", async () => {
		const source = `const ask = fetch; window.fetch = (...asked) => window.isBack ? ask(...asked)
			: Promise.resolve(new Response("<html>Bad Gateway</html>", { status: 502 }));`;
		const { identifier } = await page.call("Page.addScriptToEvaluateOnNewDocument", { source });
		await page.open(`${url}/?span=-15m`);
		await page.until("document.querySelector('#loading.failed')");
		assert.equal(await text("loading"), "The server answered with status 502.");
		assert.equal(await page.evaluate("document.querySelector('#loading.failed').role"), "alert");
		await page.until("/status 502/.test(document.getElementById('red').textContent)");
		await page.call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
		await page.evaluate("window.isBack = true");
		await ready();
		await page.until("document.getElementById('kind').options.length");
		assert.doesNotMatch(await text("red"), /502/); // it may be that the store is old by now
		clean();
	});
	await test("downloads in every format", async () => {
		const links = await page.evaluate("[...document.querySelectorAll('#downloads-list a')].map((a) => a.href)");
		assert.equal(links.length, 10);
		for (const link of links)
			assert.equal(await page.evaluate(`fetch(${JSON.stringify(link)}).then((answer) => answer.status)`), 200, link);
		clean();
	});
	await test("light and dark", async () => {
		await page.evaluate("page.change({ by: 'comm' })");
		await ready();
		if (process.env.SHOTS) await page.screenshot(join(process.env.SHOTS, "light.png"));
		await page.setDark(true);
		await page.painted();
		if (process.env.SHOTS) await page.screenshot(join(process.env.SHOTS, "dark.png"));
		assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
		await page.setViewport(400, 800);
		await page.painted();
		if (process.env.SHOTS) await page.screenshot(join(process.env.SHOTS, "narrow.png"));
		clean();
	});
}
