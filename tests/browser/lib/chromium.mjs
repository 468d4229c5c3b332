// Drives a headless Chromium for tests, with node's built-in modules only.
//
//	import { Chromium } from "./lib/chromium.mjs";
//
//	const page = await Chromium.start({ width: 1200, height: 800 });
//	try {
//		await page.open("/tmp/out.svg");                  // a file's path, or a URL
//		await page.evaluate("document.title");            // any expression; promises are awaited
//		await page.evaluate((id) => document.getElementById(id).textContent, "details");
//		const { x, y } = await page.centre("rect.frame"); // of the first match
//		await page.click(x, y);                           // { button, count, modifiers }
//		await page.click("#reset");                       // at its centre
//		await page.move(x, y);
//		await page.wheel(x, y, { dy: -120, modifiers: ["Control"] });
//		await page.drag({ x, y }, { x: x + 100, y });
//		await page.press("Control+f");                    // see keys.mjs
//		await page.type("malloc");
//		await page.setDark(true);
//		await page.setViewport(400, 800);
//		await page.until("document.title === 'done'");
//		await page.screenshot("/tmp/out.png");
//		page.assertClean();                               // no errors, no outside requests
//	} finally {
//		await page.close();
//	}
//
// One browser, one page. Commands go over pipes (--remote-debugging-pipe), so no port is needed.
// Console messages of level error, uncaught exceptions and all requests are collected from open()
// on: page.errors, page.requests, page.requestsOut (requests other than file:, data:, blob: and
// about:). No host name resolves; 127.0.0.1 can be connected to.
//
// The browser's profile folder is temporary: it is removed by close(), also when the test throws or
// is interrupted. firefox.mjs has the same methods; browser.mjs has the ones that are the same in
// both, and tests/browser/lib/page_test.mjs is the harness of a test.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Browser, findProgram, loadLimitMs, startLimitMs } from "./browser.mjs";
import { PipeCommands } from "./commands.mjs";
import { keyEvent, modifierMask } from "./keys.mjs";

const buttonBits = { left: 1, right: 2, middle: 4 };

// The page must look the same on every machine, without access to the network.
const flags = [
	"--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
	"--disable-quic", "--disable-background-networking", "--disable-component-update",
	"--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-domain-reliability",
	"--no-first-run", "--no-default-browser-check", "--no-pings", "--metrics-recording-only",
	"--disable-features=MediaRouter,OptimizationHints,Translate,AutofillServerCommunication",
	"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--password-store=basic", "--use-mock-keychain",
	"--force-color-profile=srgb", "--force-device-scale-factor=1", "--hide-scrollbars", "--mute-audio",
];

// Returns the path of Chromium, which has different names in distributions, or null.
export function findChromium() {
	return findProgram(["chromium", "chromium-browser", "google-chrome"]);
}

export class Chromium extends Browser {
	#pipe;
	#sessionId;
	#listeners = new Set();

	constructor() {
		super("chromium");
	}

	async start(width, height) {
		const own = [`--user-data-dir=${this.folder}`, `--window-size=${width},${height}`];
		if (process.getuid() === 0)
			own.push("--no-sandbox");
		this.spawn(findChromium(), [...flags, ...own, "about:blank"],
			["ignore", "ignore", "pipe", "pipe", "pipe"], (why) => this.#pipe?.close(why));
		this.#pipe = new PipeCommands(this.process.stdio[4], this.process.stdio[3]);
		this.#pipe.onEvent = (method, params) => this.#handle(method, params);
		const call = (method, params, more) =>
			this.#pipe.call(method, params, { limitMs: startLimitMs, ...more });
		const { targetInfos } = await call("Target.getTargets");
		const first = targetInfos.find((target) => target.type === "page");
		const targetId = first?.targetId ??
			(await call("Target.createTarget", { url: "about:blank" })).targetId;
		const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
		this.#sessionId = sessionId;
		for (const domain of ["Page", "Runtime", "Log", "Network", "DOM"])
			await this.call(`${domain}.enable`);
		await this.setViewport(width, height);
	}

	askToEnd() {
		return this.#pipe.call("Browser.close");
	}

	#handle(method, params) {
		if (method === "Runtime.exceptionThrown") {
			const { text, exception } = params.exceptionDetails;
			this.errors.push(exception?.description ?? text);
		} else if (method === "Runtime.consoleAPICalled" && /^(error|assert)$/.test(params.type)) {
			const words = params.args.map((arg) => arg.value ?? arg.description ?? "");
			this.errors.push(words.join(" "));
		} else if (method === "Log.entryAdded" && params.entry.level === "error") {
			this.errors.push(`${params.entry.text} ${params.entry.url ?? ""}`.trim());
		} else if (method === "Network.requestWillBeSent") {
			this.requests.push(params.request.url);
		}
		for (const listener of [...this.#listeners])
			listener(method, params);
	}

	// Sends a command of the DevTools Protocol to the page, for anything without a method here.
	call(method, params, options) {
		return this.#pipe.call(method, params, { sessionId: this.#sessionId, ...options });
	}

	// Waits for the next event of that name.
	event(name, limitMs = loadLimitMs) {
		return new Promise((resolveEvent, reject) => {
			const listener = (method, params) => {
				if (method !== name)
					return;
				clearTimeout(timer);
				this.#listeners.delete(listener);
				resolveEvent(params);
			};
			const timer = setTimeout(() => {
				this.#listeners.delete(listener);
				reject(new Error(`${name} did not come within ${limitMs} ms`));
			}, limitMs);
			this.#listeners.add(listener);
			this.ended.then(() => {
				clearTimeout(timer);
				reject(new Error("the browser ended"));
			});
		});
	}

	async load(url, limitMs) {
		const loaded = this.event("Page.loadEventFired", limitMs);
		loaded.catch(() => {}); // awaited below, unless navigation fails
		const { errorText } = await this.call("Page.navigate", { url }, { limitMs });
		assert(!errorText, `cannot open '${url}': ${errorText}`);
		await loaded;
	}

	// Evaluates an expression, or a function with arguments. Arguments and result must be JSON
	// values.
	async evaluate(code, ...args) {
		const expression = typeof code === "function"
			? `(${code})(...${JSON.stringify(args)})`
			: code;
		const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
			expression, awaitPromise: true, returnByValue: true, userGesture: true,
		});
		if (exceptionDetails) {
			const { text, exception } = exceptionDetails;
			throw new Error(`in the page: ${exception?.description ?? text}`);
		}
		return result.value;
	}

	#mouse(type, x, y, more = {}) {
		return this.call("Input.dispatchMouseEvent", { type, x, y, ...more });
	}

	// click(x, y, options) or click(selector, options)
	async click(...where) {
		const at = await this.placeOf(where);
		const { button = "left", count = 1, modifiers = [] } = at.options;
		const mask = modifierMask(modifiers);
		await this.#mouse("mouseMoved", at.x, at.y, { modifiers: mask });
		for (let clickCount = 1; clickCount <= count; clickCount++) {
			const how = { button, clickCount, modifiers: mask };
			await this.#mouse("mousePressed", at.x, at.y, { ...how, buttons: buttonBits[button] });
			await this.#mouse("mouseReleased", at.x, at.y, how);
		}
	}

	async move(x, y, { modifiers = [] } = {}) {
		await this.#mouse("mouseMoved", x, y, { modifiers: modifierMask(modifiers) });
	}

	async wheel(x, y, { dx = 0, dy = 0, modifiers = [] } = {}) {
		await this.#mouse("mouseWheel", x, y, {
			deltaX: dx, deltaY: dy, modifiers: modifierMask(modifiers),
		});
	}

	async drag(from, to, { steps = 8, modifiers = [] } = {}) {
		const how = { button: "left", clickCount: 1, modifiers: modifierMask(modifiers) };
		await this.#mouse("mouseMoved", from.x, from.y);
		await this.#mouse("mousePressed", from.x, from.y, { ...how, buttons: 1 });
		for (let step = 1; step <= steps; step++)
			await this.#mouse("mouseMoved", from.x + ((to.x - from.x) * step) / steps,
				from.y + ((to.y - from.y) * step) / steps, { ...how, buttons: 1 });
		await this.#mouse("mouseReleased", to.x, to.y, how);
	}

	async press(chord) {
		const key = keyEvent(chord);
		const type = key.text === undefined ? "rawKeyDown" : "keyDown";
		await this.call("Input.dispatchKeyEvent", { type, ...key });
		await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...key, text: undefined });
	}

	// Selects files in an <input type="file">, as a user would.
	async chooseFiles(selector, paths) {
		const { root } = await this.call("DOM.getDocument");
		const { nodeId } = await this.call("DOM.querySelector", { nodeId: root.nodeId, selector });
		assert(nodeId, `nothing matches '${selector}'`);
		const files = paths.map((path) => resolve(path));
		await this.call("DOM.setFileInputFiles", { nodeId, files });
	}

	// Sets media features by name and value, as in "@media (prefers-reduced-motion: reduce)".
	async setMedia(features) {
		await this.call("Emulation.setEmulatedMedia", {
			features: Object.entries(features).map(([name, value]) => ({ name, value })),
		});
	}

	async setDark(dark) {
		await this.setMedia({ "prefers-color-scheme": dark ? "dark" : "light" });
	}

	async setViewport(width, height) {
		await this.call("Emulation.setDeviceMetricsOverride", {
			width, height, deviceScaleFactor: 1, mobile: false,
		});
	}

	// Returns a screenshot as PNG; also writes it to a file if a path is given.
	async screenshot(path) {
		const { data } = await this.call("Page.captureScreenshot", { format: "png" });
		const bytes = Buffer.from(data, "base64");
		if (path)
			writeFileSync(path, bytes);
		return bytes;
	}
}
