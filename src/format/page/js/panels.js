/*
 * The parts around the graphs: tabs, the path of the zoom, legend, and facts about the recording.
 */
"use strict";

const TABS = ["flame", "functions", "callers", "about"];
const CRUMBS_SHOWN = 7;
const CRUMBS_SHOWN_NARROW = 4;

class Tabs {
	constructor(app) {
		this.app = app;
		for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => app.showTab(tab));
		byId("tabs").addEventListener("keydown", (event) => this.onKey(event));
	}

	onKey(event) {
		const at = TABS.indexOf(this.app.view.tab);
		const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
		if (next === undefined) return;
		event.preventDefault();
		event.stopPropagation();
		this.app.showTab(TABS[(next + TABS.length) % TABS.length]);
		byId(`tab-${this.app.view.tab}`).focus();
	}

	show() {
		for (const tab of TABS) {
			const is = tab === this.app.view.tab;
			byId(`tab-${tab}`).setAttribute("aria-selected", String(is));
			byId(`tab-${tab}`).tabIndex = is ? 0 : -1;
			byId(`panel-${tab}`).hidden = !is;
		}
		const hasGraph = ["flame", "callers"].includes(this.app.view.tab);
		byId("graph-tools").hidden = this.app.view.tab !== "flame";
		byId("color").hidden = byId("frame-bar").hidden = !hasGraph;
	}
}

function showCrumbs(app) {
	const { graph } = app;
	const tree = app.tree();
	const path = [0, ...tree.path(graph.viewNode())];
	const list = byId("crumbs");
	if (list.dataset.path === path.join() && list.childElementCount) return;
	list.dataset.path = path.join();
	const most = innerWidth > 720 ? CRUMBS_SHOWN : CRUMBS_SHOWN_NARROW;
	const left = path.length > most ? path.slice(2, path.length - most + 3) : [];
	const items = path
		.filter((node) => !left.includes(node))
		.map((node, i, shown) => {
			const button = element("button", {
				type: "button", textContent: app.frames.plainName(tree, node), dir: "ltr",
				title: app.frames.plainName(tree, node),
			});
			if (i === shown.length - 1) button.setAttribute("aria-current", "true");
			button.addEventListener("click", () => (node ? graph.zoomTo(node) : graph.reset()));
			return element("li", {}, button);
		});
	if (left.length)
		items.splice(2, 0, element("li", { className: "left-out", textContent: `${left.length} more` }));
	list.replaceChildren(...items);
}

function showLegend(app) {
	byId("legend").replaceChildren(
		...app.palette.legend(app.view.width).map(([name, color]) => {
			if (!color) return element("li", { textContent: name });
			const swatch = element("span", { className: "swatch", "aria-hidden": "true" });
			swatch.style.background = color;
			return element("li", {}, swatch, name);
		}));
}

/* Returns [[label, text]…] about the recording. */
function originFacts(about) {
	const { origin } = about;
	const facts = [];
	if (origin.event) facts.push(["Event", origin.event]);
	if (origin.period > 1 && origin.unit === "nanoseconds")
		facts.push(["Rate", `${+(1e9 / origin.period).toFixed(1)} Hz`]);
	else if (origin.period && origin.unit !== "nanoseconds")
		facts.push(["Period", `${formatAmount(origin.period, "count")} ${origin.unit || ""}`.trim()]);
	if (origin.time_us) {
		const date = new Date(origin.time_us / 1000);
		facts.push(["Date", date.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")]);
	}
	if (origin.duration_us) facts.push(["Duration", formatSeconds(origin.duration_us * 1000)]);
	for (const value of about.values)
		facts.push([value.type[0].toUpperCase() + value.type.slice(1), formatWithName(value.total, value)]);
	return facts;
}

function leftOutFacts(app) {
	const { model } = app;
	const tree = app.tree();
	let left = 0;
	for (let i = 0; i < tree.nr; i++)
		if (model.words.kind[tree.word[i]] === KIND.rest) left += tree.total[i];
	if (!left) return [];
	const value = app.value();
	return [[
		"Omitted from the graph",
		`${formatWithName(left, value)} (${formatPercent(left, tree.total[0])}) in calls of less than ` +
			`${+(100 * model.about.least_share).toPrecision(2)} % of the total each; ` +
			"the grey frames \u201c(left out)\u201d represent them",
	]];
}

function showAbout(app) {
	const { about } = app.model;
	const facts = [...originFacts(about), ...leftOutFacts(app)];
	facts.push(["Different calls", wholeNumber.format(app.tree().nr - 1)]);
	facts.push(["Functions", wholeNumber.format(app.model.functions.name.length)]);
	facts.push(["Written by", about.writer]);
	byId("facts").replaceChildren(
		...facts.flatMap(([what, text]) => [
			element("dt", { textContent: what }),
			element("dd", { textContent: text }),
		]));
	byId("comments-part").hidden = !about.comments.length;
	byId("comments").replaceChildren(
		...about.comments.map((line) => element("li", { textContent: showUnseen(line) })));
	byId("comments").hidden = !about.comments.length;
}

function showHeading(app) {
	const { about } = app.model;
	const parts = originFacts(about).filter(([what]) => ["Event", "Rate", "Duration"].includes(what));
	const value = app.value();
	const { total, otherTotal } = app.tree();
	const after = formatTotal(total[0], value);
	byId("subtitle").textContent = [
		otherTotal ? `${formatTotal(otherTotal[0], value)} before, ${after} after` : after,
		...parts.map(([, text]) => text),
	].join(" \u00b7 ");
}
