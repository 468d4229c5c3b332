// Harness for tests of pages in Chromium, or in Firefox. A file of tests/browser looks like this:
//
//	import assert from "node:assert/strict";
//	import { pageTest, scratch, stook } from "./lib/page_test.mjs";
//
//	await pageTest("flame graph", async (test) => {
//		stook("flame", "tests/golden/profiles/small.folded", "-o", scratch("out.svg"));
//		await test("it loads without an error", async (page) => {
//			await page.open(scratch("out.svg"));
//			page.assertClean();
//		});
//	});
//
// Each test() prints `PASS name` or `FAIL name: why`, and the next one uses the same page. The
// browser and the scratch folder are removed at the end. Prints SKIP without the browser.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Chromium, findChromium } from "./chromium.mjs";
import { Firefox, findFirefox } from "./firefox.mjs";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

let folder;

// Returns a path in the test's temporary folder.
export function scratch(name) {
	if (!folder) {
		folder = mkdtempSync(join(tmpdir(), "stook-browser-test."));
		process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	}
	return join(folder, name);
}

// Runs a program and returns its stdout; throws unless the status is 0.
export function run(program, args, options = {}) {
	const { status, signal, error, stdout, stderr } = spawnSync(program, args, {
		cwd: root, encoding: "utf8", maxBuffer: 1 << 28, ...options,
	});
	if (error)
		throw error;
	if (status !== 0)
		throw new Error(`${program} ${args.join(" ")}: ${signal ?? status}: ${stderr.slice(-500)}`);
	return stdout;
}

export function stook(...args) {
	return run(process.env.STOOK ?? join(root, "build/stook"), args);
}

// Runs the check and prints its result.
export async function check(name, body) {
	try {
		await body();
		console.log(`PASS ${name}`);
	} catch (error) {
		// The first line goes to the summary, the rest has the details.
		console.log(`FAIL ${name}: ${error.message.replaceAll("\n", " ").slice(0, 300)}`);
		console.error(error.stack);
		process.exitCode = 1;
	}
}

// The browsers' drivers and programs.
const kinds = { chromium: [Chromium, findChromium], firefox: [Firefox, findFirefox] };

export async function pageTest(title, body, { browser = "chromium", ...window } = {}) {
	const [kind, find] = kinds[browser];
	if (!find()) {
		console.log(`SKIP ${title}: needs ${browser}`);
		return;
	}
	let page;
	await check(`${title}: starts`, async () => {
		page = await kind.start(window);
	});
	if (!page)
		return;
	try {
		await body((name, test) => check(`${title}: ${name}`, () => test(page)), page);
	} catch (error) {
		await check(title, () => Promise.reject(error));
	} finally {
		await page.close();
	}
}
