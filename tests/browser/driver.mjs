// Tests of the browsers' drivers, which the other tests of this folder use, on a page made for it.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { pageTest, scratch } from "./lib/page_test.mjs";

const html = `<!doctype html><title>driver</title>
<style>body { margin: 0; background: white }
@media (prefers-color-scheme: dark) { body { background: black } }
#pad { width: 100px; height: 100px; user-select: none }</style>
<div id="pad"></div><input id="text"><input type="file" id="file">
<script>
const seen = [];
for (const name of ["click", "dblclick", "wheel", "mousedown", "mouseup", "contextmenu"])
	document.getElementById("pad").addEventListener(name, (e) =>
		seen.push([name, e.clientX, e.clientY, e.ctrlKey, e.deltaY ?? 0].join()));
addEventListener("keydown", (e) => e.key !== "Control" && seen.push("key " + e.key + " " + e.code + " " + e.ctrlKey));
</script>`;

for (const browser of ["chromium", "firefox"])
	await pageTest(browser === "chromium" ? "driver" : `driver, ${browser}`, (test, page) => testDriver(browser, test, page), { browser });

async function testDriver(browser, test, page) {
	const file = scratch("driver.html");
	writeFileSync(file, html);
	const seen = () => page.evaluate("seen.splice(0)");

	await test("opens a file, evaluates, awaits", async () => {
		await page.open(file);
		assert.equal(await page.evaluate("document.title"), "driver");
		assert.equal(await page.evaluate("Promise.resolve(7)"), 7);
		assert.deepEqual(await page.evaluate((a, b) => [a, b], 1, "x"), [1, "x"]);
		await assert.rejects(page.evaluate("nothing.at.all"), /in the page: ReferenceError/);
		page.assertClean();
		assert.equal(page.requests.length, browser === "chromium" ? 1 : 0); // Firefox does not report files
	});
	await test("clicks, turns the wheel, drags", async () => {
		await page.click(30, 40);
		assert((await seen()).includes("click,30,40,false,0"));
		await page.click("#pad", { count: 2 });
		assert((await seen()).includes("dblclick,50,50,false,0"));
		await page.click("#pad", { modifiers: ["Control"] });
		assert((await seen()).includes("click,50,50,true,0"));
		await page.click(10, 10, { button: "right" });
		assert((await seen()).includes("contextmenu,10,10,false,0"));
		await page.wheel(20, 20, { dy: 120 });
		await page.until("seen.length");
		assert((await seen()).includes("wheel,20,20,false,120"));
		await page.drag({ x: 10, y: 10 }, { x: 90, y: 20 });
		const drag = await seen();
		assert.deepEqual([drag.at(0), drag.at(-2)],
			["mousedown,10,10,false,0", "mouseup,90,20,false,0"]);
	});
	await test("presses keys and types", async () => {
		await page.press("Control+f");
		await page.press("Escape");
		assert.deepEqual(await seen(), ["key f KeyF true", "key Escape Escape false"]);
		await page.click("#text");
		await page.type("Ab +1é");
		await page.press("Backspace");
		assert.equal(await page.evaluate("text.value"), "Ab +1");
	});
	await test("dark mode, size, screenshot", async () => {
		const background = "getComputedStyle(document.body).backgroundColor";
		await page.setDark(true);
		assert.equal(await page.evaluate(background), "rgb(0, 0, 0)");
		await page.setDark(false);
		assert.equal(await page.evaluate(background), "rgb(255, 255, 255)");
		await page.setViewport(640, 480);
		await page.painted();
		const png = await page.screenshot(scratch("driver.png"));
		assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [640, 480]);
		assert(existsSync(scratch("driver.png")));
	});
	await test("chooses files", async () => {
		await page.chooseFiles("#file", [file]);
		assert.equal(await page.evaluate("document.getElementById('file').files[0].text()"), html);
	});
	await test("sees errors and requests out, and forgets them at the next page", async () => {
		await page.evaluate(() => {
			console.error("said", 1);
			setTimeout(() => { throw new Error("thrown"); });
			return fetch("http://stook.invalid/x").catch(() => 0);
		});
		await page.until("true");
		const errors = page.errors.join("|");
		assert.match(errors, /said 1/);
		assert.match(errors, /Error: thrown/);
		assert.deepEqual(page.requestsOut, ["http://stook.invalid/x"]);
		assert.throws(() => page.assertClean());
		await page.open(file + "");
		page.assertClean();
	});
	await test("an error page is an error", async () => {
		await assert.rejects(page.open(scratch("none.html")), /cannot open/);
	});
}
