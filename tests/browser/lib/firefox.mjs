// Drives a headless Firefox for tests, over WebDriver BiDi, with node's built-in modules only. Its methods are those of
// chromium.mjs.
//
// One browser, one page. The protocol is spoken over a WebSocket on a port of 127.0.0.1 that Firefox chooses. All
// requests except those to 127.0.0.1 go to a proxy that does not exist.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Browser, findProgram, startLimitMs } from "./browser.mjs";
import { SocketCommands } from "./commands.mjs";
import { keyCharacters } from "./keys.mjs";

const buttons = { left: 0, middle: 1, right: 2 };

// Of the profile. The remote agent sets more of this kind by itself: no updates, no telemetry, no first-run pages.
const preferences = {
	"network.proxy.type": 1,
	"network.proxy.socks": "127.0.0.1",
	"network.proxy.socks_port": 9,
	"network.proxy.socks_remote_dns": true,
	"network.proxy.no_proxies_on": "127.0.0.1",
	"browser.shell.checkDefaultBrowser": false,
	"datareporting.policy.dataSubmissionEnabled": false,
	"gfx.color_management.mode": 0,
	"layout.css.prefers-color-scheme.content-override": 1,
	"ui.useOverlayScrollbars": 1,
};

// Returns the path of Firefox, or null.
export function findFirefox() {
	return findProgram(["firefox", "firefox-esr"]);
}

export class Firefox extends Browser {
	#socket;
	#context;
	#said = "";

	constructor() {
		super("firefox");
	}

	async start(width, height) {
		writeFileSync(join(this.folder, "user.js"), Object.entries(preferences)
			.map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
		this.spawn(findFirefox(),
			["--headless", "--no-remote", "--remote-allow-system-access", "--remote-debugging-port", "0",
				"--profile", this.folder, "about:blank"],
			["ignore", "ignore", "pipe"], (why) => this.#socket?.close(why));
		this.#socket = await SocketCommands.connect(await this.#port(), "/session");
		this.#socket.onEvent = (method, params) => this.#handle(method, params);
		await this.call("session.new", { capabilities: {} }, { limitMs: startLimitMs });
		const { contexts } = await this.call("browsingContext.getTree");
		this.#context = contexts[0].context;
		await this.call("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
		await this.setViewport(width, height);
	}

	// Firefox prints its port when it listens.
	#port() {
		return new Promise((found, reject) => {
			const timer = setTimeout(() => reject(new Error("does not listen")), startLimitMs);
			this.process.stderr.on("data", (text) => {
				this.#said = (this.#said + text).slice(-10000);
				const port = /WebDriver BiDi listening on ws:\/\/[^:]*:(\d+)/.exec(this.#said);
				if (port) {
					clearTimeout(timer);
					found(Number(port[1]));
				}
			});
			this.ended.then(() => reject(new Error("ended")));
		});
	}

	async askToEnd() {
		await this.call("browser.close");
		this.#socket.end();
	}

	#handle(method, params) {
		if (method === "log.entryAdded" && params.level === "error")
			this.errors.push(params.text);
		else if (method === "network.beforeRequestSent")
			this.requests.push(params.request.url);
	}

	// Sends a command of WebDriver BiDi, for anything without a method here.
	call(method, params, options) {
		return this.#socket.call(method, params, options);
	}

	async load(url, limitMs) {
		try {
			await this.call("browsingContext.navigate", { context: this.#context, url, wait: "complete" }, { limitMs });
		} catch (error) {
			throw new Error(`cannot open '${url}': ${error.message}`);
		}
	}

	// Evaluates an expression, or a function with arguments. Arguments and result must be JSON
	// values.
	evaluate(code, ...args) {
		const expression = typeof code === "function"
			? `(${code})(...${JSON.stringify(args)})`
			: code;
		return this.#evaluateIn(this.#context, expression);
	}

	async #evaluateIn(context, expression) {
		const { type, result, exceptionDetails } = await this.call("script.evaluate", {
			expression: `Promise.resolve((${expression})).then((value) => JSON.stringify(value))`,
			target: { context }, awaitPromise: true, userActivation: true,
		});
		if (type === "exception")
			throw new Error(`in the page: ${exceptionDetails.text}`);
		return result.type === "string" ? JSON.parse(result.value) : undefined;
	}

	// Actions of one device each; keys and buttons stay down until they are released.
	#perform(...sources) {
		return this.call("input.performActions", { context: this.#context, actions: sources });
	}

	#mouse(...actions) {
		return this.#perform({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
	}

	#keys(...actions) {
		return this.#perform({ type: "key", id: "keys", actions });
	}

	async #holding(modifiers, body) {
		const keys = modifiers.map((name) => keyCharacters(name).key);
		if (keys.length)
			await this.#keys(...keys.map((value) => ({ type: "keyDown", value })));
		await body();
		if (keys.length)
			await this.#keys(...keys.reverse().map((value) => ({ type: "keyUp", value })));
	}

	// click(x, y, options) or click(selector, options)
	async click(...where) {
		const { x, y, options } = await this.placeOf(where);
		const button = buttons[options.button ?? "left"];
		const once = [{ type: "pointerDown", button }, { type: "pointerUp", button }];
		await this.#holding(options.modifiers ?? [], () => this.#mouse(moveTo(x, y),
			...Array.from({ length: options.count ?? 1 }, () => once).flat()));
	}

	async move(x, y, { modifiers = [] } = {}) {
		await this.#holding(modifiers, () => this.#mouse(moveTo(x, y)));
	}

	async wheel(x, y, { dx = 0, dy = 0, modifiers = [] } = {}) {
		const scroll = { type: "scroll", x: Math.round(x), y: Math.round(y), deltaX: dx, deltaY: dy };
		await this.#holding(modifiers, () => this.#perform({ type: "wheel", id: "wheel", actions: [scroll] }));
	}

	async drag(from, to, { steps = 8, modifiers = [] } = {}) {
		const moves = Array.from({ length: steps }, (_, step) =>
			moveTo(from.x + ((to.x - from.x) * (step + 1)) / steps, from.y + ((to.y - from.y) * (step + 1)) / steps));
		await this.#holding(modifiers, () => this.#mouse(moveTo(from.x, from.y), { type: "pointerDown", button: 0 },
			...moves, { type: "pointerUp", button: 0 }));
	}

	async press(chord) {
		const { modifiers, key } = keyCharacters(chord);
		await this.#keys(...modifiers.map((value) => ({ type: "keyDown", value })),
			{ type: "keyDown", value: key }, { type: "keyUp", value: key },
			...modifiers.reverse().map((value) => ({ type: "keyUp", value })));
	}

	// Selects files in an <input type="file">, as a user would.
	async chooseFiles(selector, paths) {
		const { nodes } = await this.call("browsingContext.locateNodes",
			{ context: this.#context, locator: { type: "css", value: selector } });
		assert(nodes.length, `nothing matches '${selector}'`);
		await this.call("input.setFiles", {
			context: this.#context, element: { sharedId: nodes[0].sharedId }, files: paths.map((path) => resolve(path)),
		});
	}

	// By a preference: the protocol has no command for it.
	async setDark(dark) {
		const { contexts } = await this.call("browsingContext.getTree", { "moz:scope": "chrome" });
		await this.#evaluateIn(contexts[0].context,
			`Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", ${dark ? 0 : 1})`);
		await this.until(`matchMedia("(prefers-color-scheme: dark)").matches === ${dark}`);
	}

	async setViewport(width, height) {
		await this.call("browsingContext.setViewport", { context: this.#context, viewport: { width, height }, devicePixelRatio: 1 });
	}

	// Returns a screenshot as PNG; also writes it to a file if a path is given.
	async screenshot(path) {
		const { data } = await this.call("browsingContext.captureScreenshot", { context: this.#context });
		const bytes = Buffer.from(data, "base64");
		if (path)
			writeFileSync(path, bytes);
		return bytes;
	}
}

function moveTo(x, y) {
	return { type: "pointerMove", x: Math.round(x), y: Math.round(y) };
}
