// Imports our files with speedscope itself: the page of the npm package loads the file and exports
// it again (Ctrl-S); the export is compared with our folded stacks.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pageTest, root, scratch, stook } from "./lib/page_test.mjs";

// Returns the package's page, null if npm cannot install it here.
function installPage() {
	const folder = scratch(".");
	copyFileSync(join(root, "tests/browser/package.json"), scratch("package.json"));
	const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock",
		"--ignore-scripts"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"], timeout: 60000 });
	return status === 0 ? scratch("node_modules/speedscope/dist/release/index.html") : null;
}

// Without a period, and so without time, both have only one value: the count.
const folded = `
server;_start;main;handle;parse 300
server;_start;main;handle;libc_write 120
server;_start;main;reply 61
server;_start;main 9
server;_start;main;recurse;recurse;recurse 17
we"ird;sort(std::vector<int>&);<Größe as T>::\\next 7
worker;spin 500
`.trimStart();

// Loads the page with the file; returns the import as speedscope's own format.
async function importedBy(page, html, file) {
	await page.open(html);
	await page.evaluate(() => {
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => {
			window.saved = blob.text();
			return create.call(URL, blob);
		};
		HTMLAnchorElement.prototype.click = () => 0; // suppresses the download
	});
	await page.chooseFiles("#file", [file]);
	await page.until("document.querySelector('canvas')");
	await page.until("!document.querySelector('#file')");
	// It listens to keys only a moment after it shows the file.
	for (let tries = 0; tries < 50 && !(await page.evaluate("Boolean(window.saved)")); tries++) {
		await page.press("Control+s");
		await page.painted();
	}
	await page.until("window.saved");
	page.assertClean();
	return JSON.parse(await page.evaluate("window.saved"));
}

// Returns stacks of names with their weights. For samples without order, speedscope exports events.
function stacksOf(imported, profile) {
	const names = imported.shared.frames.map((frame) => frame.name);
	const stacks = new Map();
	const add = (stack, weight) => {
		const line = stack.map((frame) => names[frame]).join(";");
		if (weight)
			stacks.set(line, (stacks.get(line) ?? 0) + weight);
	};
	if (profile.type === "sampled") {
		profile.samples.forEach((stack, i) => add(stack, profile.weights[i]));
		return stacks;
	}
	const open = [];
	let at = 0;
	for (const event of profile.events) {
		add(open, event.at - at);
		at = event.at;
		if (event.type === "O")
			open.push(event.frame);
		else
			assert.equal(open.pop(), event.frame);
	}
	return stacks;
}

function linesOf(text) {
	return new Map(text.trimEnd().split("\n").map((line) => {
		const space = line.lastIndexOf(" ");
		return [line.slice(0, space), Number(line.slice(space + 1))];
	}));
}

const sorted = (stacks) => [...stacks].sort();
const total = (stacks) => [...stacks.values()].reduce((sum, weight) => sum + weight, 0);

await pageTest("speedscope", async (test) => {
	const html = installPage();
	if (!html) {
		console.log("SKIP speedscope: its importers: needs npm and the package speedscope");
		return;
	}
	writeFileSync(scratch("in.folded"), folded);
	stook("flame", scratch("in.folded"), "-o", scratch("out.speedscope.json"), "-o",
		scratch("out.pb.gz"), "-o", scratch("out.folded"));
	const wanted = linesOf(readFileSync(scratch("out.folded"), "utf8"));

	await test("reads .speedscope.json, every stack of it", async (page) => {
		const imported = await importedBy(page, html, scratch("out.speedscope.json"));
		assert.equal(imported.profiles.length, 1);
		const stacks = stacksOf(imported, imported.profiles[0]);
		assert.deepEqual(sorted(stacks), sorted(wanted));
		assert.equal(total(stacks), 1014);
	});
	await test("reads .pb.gz, with the same stacks but for labels", async (page) => {
		const imported = await importedBy(page, html, scratch("out.pb.gz"));
		const stacks = stacksOf(imported, imported.profiles[0]);
		const unlabelled = new Map();
		for (const [line, weight] of wanted) {
			const frames = line.slice(line.indexOf(";") + 1);
			unlabelled.set(frames, (unlabelled.get(frames) ?? 0) + weight);
		}
		assert.deepEqual(sorted(stacks), sorted(unlabelled));
		assert.equal(total(stacks), 1014);
	});
	await test("shows what it has read", async (page) => {
		await importedBy(page, html, scratch("out.speedscope.json"));
		await page.press("3"); // the table of functions
		await page.until("document.body.innerText.includes('spin')");
		assert.match(await page.evaluate("document.body.innerText"), /500 \(49%\)/);
	});
});
