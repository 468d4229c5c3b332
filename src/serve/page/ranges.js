/* What is shown, and the controls for it. It is in the part of the address before the `#`; a link has all of it. */
"use strict";

const SPANS = [
	["-15m", "Last 15 minutes"], ["-1h", "Last hour"], ["-6h", "Last 6 hours"], ["-1d", "Last day"],
	["-7d", "Last 7 days"], ["-30d", "Last 30 days"], ["@0", "All"],
];
const STACKED_BY = [
	["process", "By process"], ["comm", "By thread"], ["container", "By container"], ["cgroup", "By cgroup"],
	["unit", "By unit"], ["category", "By category"], ["", "All in one"],
];
const AGAINST = [["", "Compare with\u2026"], ["same", "The time before"], ["3600", "An hour before"], ["86400", "A day before"], ["604800", "A week before"], ["own", "A time chosen with Shift"]];
const DOWNLOADS = [
	["pprof", "pprof"], ["html", "Page (HTML)"], ["svg", "Flame graph (SVG)"], ["folded", "Folded stacks"], ["perf", "perf script"],
	["speedscope", "speedscope"], ["report", "Report (text)"], ["md", "Report (Markdown)"], ["csv", "Table (CSV)"], ["json", "Table (JSON)"],
];

function rangeOfText(text) {
	const range = (text || "").split("~").map(Number);
	return range.length === 2 && range[0] < range[1] && range[0] >= 0 ? range : null;
}

/* Since when regressions are listed: a date; empty: all the time; null: they are not. */
function growthOfText(text) {
	return text === "all" ? "" : /^\d{4}-\d\d-\d\d$/.test(text || "") && !isNaN(new Date(text)) ? text : null;
}

function shownOfAddress() {
	const parts = new URLSearchParams(location.search);
	const own = rangeOfText(parts.get("time"));
	const span = parts.get("span");
	const by = parts.get("by");
	return {
		span: own ? null : SPANS.some(([name]) => name === span) ? span : "-1h",
		time: own,
		selected: rangeOfText(parts.get("selected")),
		base: rangeOfText(parts.get("base")),
		by: STACKED_BY.some(([name]) => name === by) ? by : "process",
		value: parts.get("value") || "",
		where: parts.get("where") || "",
		isLive: parts.get("live") === "1",
		growth: growthOfText(parts.get("regressions")),
	};
}

function addressOfShown(shown) {
	const parts = new URLSearchParams();
	if (shown.time) parts.set("time", shown.time.join("~"));
	else if (shown.span !== "-1h") parts.set("span", shown.span);
	if (shown.selected) parts.set("selected", shown.selected.join("~"));
	if (shown.base) parts.set("base", shown.base.join("~"));
	if (shown.by !== "process") parts.set("by", shown.by);
	if (shown.value) parts.set("value", shown.value);
	if (shown.where) parts.set("where", shown.where);
	if (shown.isLive) parts.set("live", "1");
	if (shown.growth !== null) parts.set("regressions", shown.growth || "all");
	return parts.size || parts.toString() ? `?${parts}` : location.pathname;
}

/* Times for the server. */
function timesOf(range, from = "from", to = "to") {
	return range ? { [from]: `@${range[0]}`, [to]: `@${range[1]}` } : {};
}

/* A condition of one label, with any text. */
function conditionFor(key, text) {
	return `${key}="${text.replace(/[\\"]/g, "\\$&")}"`;
}

function listenToRanges(page) {
	const on = (id, event, action) => byId(id).addEventListener(event, action);
	on("span", "change", () => page.change({ span: byId("span").value, time: null, selected: null, base: null }));
	on("by", "change", () => page.change({ by: byId("by").value }));
	on("kind", "change", () => page.change({ value: byId("kind").value }));
	on("where", "change", () => page.change({ where: byId("where").value.trim() }));
	on("against", "change", () => page.compare(byId("against").value));
	on("zoom-in", "click", () => page.zoom());
	on("choose-all", "click", () => page.select(null, false));
	on("live-view", "click", () => page.toggleLive());
	on("regressions", "click", () => page.showGrowth());
	on("growth-from", "change", () => page.showGrowth(byId("growth-from").value));
	on("growth", "close", () => page.hideGrowth());
	addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
		const action = { l: () => page.toggleLive(), r: () => page.showGrowth(), b: () => page.compare(page.shown.base ? "" : "same") }[event.key];
		if (!action) return;
		event.preventDefault();
		action();
	});
}

function showRanges(page) {
	const { shown } = page;
	const spans = shown.time ? [["", rangeText(shown.time)], ...SPANS] : SPANS;
	fillSelect(byId("span"), spans, shown.time ? "" : shown.span);
	fillSelect(byId("by"), STACKED_BY, shown.by);
	const against = shown.base ? [["", "No comparison"], ...AGAINST.slice(1)] : AGAINST;
	fillSelect(byId("against"), against, shown.base ? "own" : "");
	byId("against").disabled = !shown.selected;
	if (document.activeElement !== byId("where")) byId("where").value = shown.where; /* else it is being typed */
	byId("zoom-in").disabled = byId("choose-all").hidden = !shown.selected;
	byId("choose-all").hidden = !shown.selected;
	byId("live-view").setAttribute("aria-pressed", String(shown.isLive));
	byId("chosen").textContent = shown.base
		? `${rangeText(shown.selected)}, compared with ${rangeText(shown.base)}`
		: shown.selected ? rangeText(shown.selected) : "All of the time shown; drag to select a part of it";
	byId("downloads-list").replaceChildren(...DOWNLOADS.map(([format, text]) =>
		element("li", {}, element("a", { href: addressFor(...page.question({ format })), textContent: text, download: "" }))));
}
