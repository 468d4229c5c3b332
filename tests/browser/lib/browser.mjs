// The part that the drivers of Chromium and Firefox share: the browser's process and its temporary profile, which end with
// close(), also when the test throws or is interrupted, and everything that is done by evaluating code in the page. A
// driver has a function that evaluates, load(url, limitMs), and those that press and look.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export const startLimitMs = 60000;
export const loadLimitMs = 60000;
const untilLimitMs = 30000;
const inside = /^(file|data|blob|about):/;

// Returns the path of the first program on PATH that has one of the names, or null.
export function findProgram(names) {
	for (const folder of (process.env.PATH ?? "").split(delimiter))
		for (const name of names) {
			const path = join(folder, name);
			try {
				accessSync(path, constants.X_OK);
				return path;
			} catch {
				continue;
			}
		}
	return null;
}

export class Browser {
	#onExit = () => this.#destroy();
	#onSignal = () => process.exit(130);
	#name;
	process;
	folder; // of the profile
	lastWords = ""; // the end of stderr
	ended; // a promise, which is resolved when the process has ended
	errors = [];
	requests = [];

	constructor(name) {
		this.#name = name;
		this.folder = mkdtempSync(join(tmpdir(), `stook-${name}.`));
		process.on("exit", this.#onExit);
		for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
			process.on(signal, this.#onSignal);
	}

	// Starts a driver of this class; its own start() does the rest.
	static async start({ width = 1200, height = 800 } = {}) {
		const browser = new this();
		try {
			await browser.start(width, height);
		} catch (error) {
			await browser.close();
			throw new Error(`${browser.#name}: ${error.message}\n${browser.lastWords}`);
		}
		return browser;
	}

	// Starts the program in a process group of its own, so that its helper processes end with it. onEnd(why)
	spawn(program, args, stdio, onEnd) {
		assert(program, `${this.#name} is not installed`);
		const child = spawn(program, args, {
			stdio,
			detached: true,
			env: { ...process.env, HOME: this.folder, XDG_CONFIG_HOME: this.folder, XDG_CACHE_HOME: this.folder },
		});
		this.process = child;
		child.stderr.on("data", (text) => {
			this.lastWords = (this.lastWords + text).slice(-2000);
		});
		this.ended = new Promise((settled) => {
			const end = (why) => {
				onEnd(new Error(why));
				settled();
			};
			child.on("error", (error) => end(error.message));
			child.on("exit", (status, signal) => end(`ended (${signal ?? status})`));
		});
	}

	get requestsOut() {
		return this.requests.filter((url) => !inside.test(url));
	}

	assertClean() {
		assert.deepEqual(this.errors, [], "console errors");
		assert.deepEqual(this.requestsOut, [], "requests out");
	}

	// Loads the page, even if only the part after '#' changes; returns when it is loaded.
	async open(fileOrUrl, { limitMs = loadLimitMs } = {}) {
		const url = /^[a-z]+:/.test(fileOrUrl) ? fileOrUrl : pathToFileURL(resolve(fileOrUrl)).href;
		await this.load("about:blank", limitMs);
		this.errors = [];
		this.requests = [];
		await this.load(url, limitMs);
	}

	// Waits until the expression is true.
	async until(expression, limitMs = untilLimitMs) {
		const end = Date.now() + limitMs;
		while (!(await this.evaluate(`Boolean(${expression})`))) {
			assert(Date.now() < end, `not within ${limitMs} ms: ${expression}`);
			await new Promise((wake) => setTimeout(wake, 20));
		}
	}

	// Returns when all changes so far are painted, that is in the second frame from now.
	async painted() {
		await this.evaluate("new Promise(done => requestAnimationFrame(() => " +
			"requestAnimationFrame(() => done())))");
	}

	// Returns the centre of the first element that matches the selector, in window pixels.
	async centre(selector) {
		const point = await this.evaluate((wanted) => {
			const box = document.querySelector(wanted)?.getBoundingClientRect();
			return box && { x: box.x + box.width / 2, y: box.y + box.height / 2 };
		}, selector);
		assert(point, `nothing matches '${selector}'`);
		return point;
	}

	// The place and options of click(x, y, options) and click(selector, options).
	async placeOf(where) {
		return typeof where[0] === "string"
			? { ...(await this.centre(where[0])), options: where[1] ?? {} }
			: { x: where[0], y: where[1], options: where[2] ?? {} };
	}

	async type(text) {
		for (const character of text)
			await this.press(character === " " ? "Space" : character);
	}

	async close() {
		if (this.process?.pid && this.process.exitCode === null) {
			const timer = setTimeout(() => this.#kill(), 3000);
			await this.askToEnd().catch(() => {});
			await this.ended;
			clearTimeout(timer);
		}
		this.#destroy();
		process.off("exit", this.#onExit);
		for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
			process.off(signal, this.#onSignal);
	}

	#kill() {
		try {
			process.kill(-this.process.pid, "SIGKILL");
		} catch {
			// all processes have ended
		}
	}

	#destroy() {
		if (this.process?.pid)
			this.#kill();
		if (this.folder)
			rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
		this.folder = null;
	}
}
