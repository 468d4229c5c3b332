/*
 * The page of the server: the chart of a time, and below it the view of the selected part, which is that of the HTML
 * output. Each answer gets a view of its own, made from the elements that the page came with.
 */
"use strict";

const LIVE_MS = 2000;

/* Returns the number of the function with a name that Page.endView() has kept; or null. */
function functionOfKept(name, { frames, model }) {
	const number = name === null ? -1
		: model.functions.name.findIndex((_, i) => [frames.functionName(i), frames.moduleName(i)].join() === name);
	return number < 0 ? null : number;
}

function addressOfKept({ address, chosen }, app) {
	const parts = new URLSearchParams(address);
	const number = functionOfKept(chosen, app);
	for (const name of ["at", "zoom", "function", "threads", "time", "value"]) parts.delete(name);
	if (number !== null) parts.set("function", number);
	return parts;
}

function resume({ row, focused, caret, scrolls, scroll }, app) {
	const { graph, table, search } = app;
	const place = row === null ? -1 : table.order.indexOf(functionOfKept(row, app));
	graph.scroll = scroll;
	graph.clampScroll();
	graph.requestDraw();
	table.render();
	document.querySelectorAll(".scroller").forEach((scroller, i) => { scroller.scrollTop = scrolls[i]; });
	if (focused) byId(focused)?.focus({ preventScroll: true });
	if (caret) search.input.setSelectionRange(...caret);
	if (place >= 0) table.moveTo(place);
}

class Page {
	constructor() {
		this.shown = shownOfAddress();
		this.app = null;
		this.hasFailed = false; /* without an answer of the server: it may be back soon */
		this.asked = new AbortController();
		this.askedGrowth = new AbortController();
		this.pristine = [...document.body.children].filter((child) => !this.isOwn(child)).map((child) => child.cloneNode(true));
		this.chart = new Chart({
			select: (range, isBase) => this.select(range, isBase),
			zoom: () => this.zoom(),
		});
		listenToRanges(this);
		systemDark.addEventListener("change", () => this.onTheme());
		new MutationObserver(() => this.onTheme()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
	}

	isOwn(child) {
		return ["server", "login", "growth"].includes(child.id);
	}

	onTheme() {
		this.chart.draw();
		this.showLegend();
	}

	/* The path and parameters of the question for what is selected. */
	question(more = {}) {
		const { shown } = this;
		const range = shown.selected || (this.chart.data && [this.chart.data.from, this.chart.end()]);
		const common = { ...timesOf(range), by: "comm", value: shown.value, where: shown.where, ...more };
		if (shown.by === "category") common.categories = "kernel";
		return shown.base
			? ["/api/diff", { ...common, ...timesOf(shown.base, "before_from", "before_to") }]
			: ["/api/profile", common];
	}

	/* --- actions ---------------------------------------------------------------------------- */

	change(change) {
		Object.assign(this.shown, change);
		return this.load();
	}

	select(range, isBase) {
		if (isBase && !this.shown.selected) return this.select(range, false);
		return this.change(isBase ? { base: range } : { selected: range, base: range && this.shown.base, isLive: false });
	}

	compare(what) {
		const { selected } = this.shown;
		if (!selected || what === "own") return showRanges(this);
		const by = what === "same" ? selected[1] - selected[0] : Number(what);
		return this.change({ base: what ? [selected[0] - by, selected[1] - by] : null });
	}

	zoom() {
		if (this.shown.selected) this.change({ time: this.shown.selected, selected: null, base: null, isLive: false });
	}

	toggleLive() {
		const isLive = !this.shown.isLive;
		this.change(isLive ? { isLive, time: null, span: "-15m", base: null } : { isLive, selected: null });
	}

	/* --- loading ---------------------------------------------------------------------------- */

	/* What is asked later aborts this. */
	async load() {
		this.asked.abort();
		this.asked = new AbortController();
		const { signal } = this.asked;
		this.save();
		document.body.dataset.loading = "true";
		try {
			await this.loadAll(signal);
			delete document.body.dataset.loading;
			this.hasFailed = false;
			if (!byId("kind").options.length) this.showValues();
		} catch (error) {
			if (signal.aborted) return;
			delete document.body.dataset.loading;
			this.fail(error);
			if (!error.status) throw error;
		}
	}

	async loadAll(signal) {
		const { shown } = this;
		const needed = JSON.stringify([shown.time, shown.span, shown.by, shown.value, shown.where, shown.isLive && this.epoch]);
		if (shown.isLive) shown.selected = await this.lastEpoch(signal);
		if (needed !== this.charted) {
			const times = shown.time ? timesOf(shown.time) : { from: shown.span === "@0" ? `@${await this.beginning(signal)}` : shown.span };
			const data = await askServer("/api/series", { ...times, by: shown.by, value: shown.value, where: shown.where }, signal);
			this.charted = needed;
			this.chart.setData(data);
			this.showLegend();
			performance.mark("chart painted");
		}
		this.chart.setRanges(shown.selected, shown.base);
		byId("where").removeAttribute("aria-invalid");
		showRanges(this);
		const { about, data } = await askServer(...this.question({ format: "page" }), signal);
		const model = await readModel(about, data);
		if (!signal.aborted) this.show(model);
	}

	async lastEpoch(signal) {
		const { epoch } = await askServer("/api/store", {}, signal);
		this.epoch = epoch.to;
		return [epoch.from, epoch.to];
	}

	async beginning(signal) {
		return (await askServer("/api/store", {}, signal)).from;
	}

	/* The view of before goes, but not what it was set to, nor what the user is doing in it. */
	show(model) {
		const kept = this.app && this.endView();
		for (const child of [...document.body.children]) if (!this.isOwn(child)) child.remove();
		document.body.append(...this.pristine.map((child) => child.cloneNode(true)));
		byId("loading").hidden = true;
		const app = new App(model);
		if (kept) history.replaceState(null, "", `${location.search || location.pathname}#${addressOfKept(kept, app)}`);
		app.start();
		this.app = app;
		if (kept) resume(kept, app);
		window.stook = app; /* for the console, and for tests */
		performance.mark("graph painted");
	}

	/* Ends the view, and returns what the next one begins with. Numbers are the model's: functions have their names. */
	endView() {
		const { app } = this;
		const { view, graph, table, search } = app;
		const { activeElement: focused } = document;
		const nameOf = (number) => (number === null ? null : [app.frames.functionName(number), app.frames.moduleName(number)].join());
		const isRow = table.body.contains(focused);
		view.search = search.input.value;
		const kept = {
			address: addressOf(view, graph.zoom()),
			chosen: nameOf(view.function),
			row: isRow ? nameOf(table.order[table.focused]) : null,
			focused: focused.id,
			caret: focused === search.input ? [focused.selectionStart, focused.selectionEnd] : null,
			scrolls: [...document.querySelectorAll(".scroller")].map(({ scrollTop }) => scrollTop),
			scroll: graph.scroll,
		};
		app.end();
		return kept;
	}

	fail(error) {
		this.hasFailed = !error.isOfServer;
		if (error.status === 400 && this.shown.where) byId("where").setAttribute("aria-invalid", "true");
		byId("loading").hidden = false;
		byId("loading").classList.add("failed");
		byId("loading").setAttribute("role", "alert");
		byId("loading").textContent = error.message;
		showRanges(this);
	}

	save() {
		const hash = location.hash;
		history.replaceState(null, "", addressOfShown(this.shown) + hash);
	}

	/* --- around the chart ------------------------------------------------------------------- */

	showLegend() {
		const { data } = this.chart;
		if (!data) return;
		const { by } = this.shown;
		const all = this.chart.sums.reduce((sum, amount) => sum + amount, 0);
		byId("chart-legend").replaceChildren(...data.series.map(({ name, total }, rank) => {
			const swatch = element("span", { className: "swatch", "aria-hidden": "true" });
			swatch.style.background = chartColor(rank, data.series.length);
			const button = element("button", { type: "button", title: showUnseen(name) },
				swatch,
				element("span", { className: "name", textContent: showUnseen(name) || "(none)", dir: "ltr" }),
				element("span", { className: "share", textContent: formatPercent(total, all) }));
			button.disabled = !by || by === "category";
			button.addEventListener("click", () => this.change({ where: name ? conditionFor(by, name) : `!${by}` }));
			return element("li", {}, button);
		}));
	}

	/* Looks at the health, and in a live view for another epoch; asks again for what has failed. */
	async watch() {
		try {
			const { epoch, red } = await askServer("/api/store", {});
			byId("red").hidden = !red;
			byId("red").textContent = red ? `No data: ${showUnseen(red)}` : "";
			const isOpen = document.querySelector("#help[open], #threads[open]"); /* in the view that another would replace */
			const isStale = this.hasFailed || (this.shown.isLive && epoch.to !== this.epoch);
			if (isStale && !isOpen && !document.body.dataset.loading) await this.load();
		} catch (error) {
			byId("red").hidden = false;
			byId("red").textContent = error.status ? error.message : `The server does not answer: ${error.message}`;
		}
		setTimeout(() => this.watch(), this.shown.isLive ? LIVE_MS : 5 * LIVE_MS);
	}

	async showValues() {
		const { data } = this.chart;
		const times = data ? timesOf([data.from, this.chart.end()]) : {};
		const { values } = await askServer("/api/labels", times).catch(() => ({ values: [] }));
		const names = values.map(({ name }) => name).filter((name) => name !== "samples");
		fillSelect(byId("kind"), names.map((name) => [name === "cpu" ? "" : name, name === "cpu" ? "On CPU" : `Off CPU: ${showUnseen(name)}`]), this.shown.value);
		byId("kind").hidden = names.length < 2;
	}

	/* since: a date; empty: all that the store has. */
	async showGrowth(since = this.shown.growth || "") {
		this.askedGrowth.abort();
		this.askedGrowth = new AbortController();
		const { signal } = this.askedGrowth;
		this.shown.growth = since;
		this.save();
		if (!byId("growth").open) byId("growth").showModal();
		byId("growth-from").value = since;
		byId("growth-table").hidden = true;
		byId("growth-note").textContent = since ? `Looking at the time since ${since}\u2026` : "Looking at the whole store\u2026";
		try {
			const from = since && `@${new Date(`${since}T00:00`).getTime() / 1000}`;
			const { rows } = await askServer("/api/regressions", { from, where: this.shown.where, value: this.shown.value }, signal);
			byId("growth-note").textContent = rows.length ? "" : "None that is significant.";
			byId("growth-body").replaceChildren(...rows.map((row) => this.growthRow(row)));
			byId("growth-table").hidden = !rows.length;
		} catch (error) {
			if (signal.aborted) return;
			byId("growth-note").textContent = error.message;
		}
	}

	hideGrowth() {
		this.askedGrowth.abort();
		this.shown.growth = null;
		this.save();
	}

	growthRow({ factor, error, since_time, cost, name, module, service }) {
		const cell = (text) => element("td", { textContent: showUnseen(text || "") });
		const button = element("button", { type: "button", textContent: showUnseen(name), title: showUnseen(module || "") });
		button.addEventListener("click", () => {
			byId("growth").close();
			this.app?.search.set(`^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
		});
		return element("tr", {},
			cell(`+${(100 * (factor - 1)).toFixed(1)} \u00b1 ${(100 * error).toFixed(1)} %`), cell(timeText(since_time, true).slice(0, 16)), cell(`${cost.toFixed(2)} %`),
			element("th", { scope: "row" }, button), cell(service));
	}
}

async function mainOfServer() {
	await takeTokenFromAddress().catch(() => {});
	const page = new Page();
	window.page = page; /* for the console, and for tests */
	try {
		await page.load();
	} finally {
		if (page.shown.growth !== null) page.showGrowth();
		page.watch();
	}
}

addEventListener("DOMContentLoaded", mainOfServer);
