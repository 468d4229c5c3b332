/* Keyboard shortcuts: a table of keys, which `?` shows as a list. */
"use strict";

/*
 * keys, description, action; without an action the key is handled elsewhere, and only listed here.
 */
const KEYS = [
	[["/", "Control+f"], "Search by regular expression", (app) => app.focusSearch()],
	[["Control+i"], "Match case, or ignore it", (app) => app.search.toggleCase()],
	[["n"], "Zoom to the next match, heaviest first", (app) => app.search.next(1)],
	[["Shift+N"], "Zoom to the previous match", (app) => app.search.next(-1)],
	[["1", "2", "3", "4"], "Flame graph, functions, callers and callees, about", (app, key) => app.showTab(TABS[key - 1])],
	[["Arrow keys"], "In a graph: to the caller, the callees, the neighbours", null],
	[["Enter"], "In a graph: zoom to the frame", null],
	[["+", "="], "Zoom in", (app) => app.zoomBy(0.6)],
	[["-"], "Zoom out", (app) => app.zoomBy(1 / 0.6)],
	[["0", "Home", "Escape"], "Show the whole graph", (app) => app.activeGraph().reset()],
	[["s"], "Callers and callees of the frame", (app) => app.openFocus()],
	[["y"], "Copy the frame\u2019s name", (app) => app.copyFocus()],
	[["i"], "Flame graph or icicle", (app) => app.setIcicle(!app.view.icicle)],
	[["o"], "Frames by name, or heaviest first", (app) => app.setByWeight(!app.view.byWeight)],
	[["c"], "Next colour scheme", (app) => app.nextColor()],
	[["v"], "Next value", (app) => app.nextValue()],
	[["t"], "Choose threads", (app) => app.openThreads()],
	[["x"], "Show the full time range", (app) => app.setRange(null)],
	[["d"], "Dark or light", (app) => app.toggleTheme()],
	[["?"], "This list", (app) => app.showHelp()],
];

function chordOf(event) {
	let chord = event.key;
	if (event.shiftKey && /^[A-Z]$/.test(chord)) chord = `Shift+${chord}`;
	if (event.ctrlKey || event.metaKey) chord = `Control+${event.key.toLowerCase()}`;
	return chord;
}

function isTyping(target) {
	return target.matches("input, select, textarea") && target.type !== "checkbox";
}

function listenToKeys(app) {
	const actions = new Map();
	for (const [keys, , action] of KEYS) if (action) for (const key of keys) actions.set(key, action);
	addEventListener("keydown", (event) => {
		const chord = chordOf(event);
		const action = actions.get(chord);
		if (!action || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
		if (isTyping(event.target) && !chord.startsWith("Control+")) return;
		event.preventDefault();
		action(app, event.key);
	}, { signal: app.ended.signal });
	for (const graph of app.graphs())
		graph.canvas.addEventListener("keydown", (event) => onGraphKey(graph, event));
}

/* Returns the next sibling in the displayed order. */
function neighbour(graph, step) {
	const { tree, focus } = graph;
	if (!focus) return 0;
	const shown = tree.children(tree.parent[focus]).filter((node) => tree.width[node] > 0);
	if (graph.byWeight) shown.sort((a, b) => (tree.isBefore(a, b) ? -1 : 1));
	return shown[shown.indexOf(focus) + step] || focus;
}

function heaviestChild(graph) {
	const { tree, focus } = graph;
	let best = focus;
	for (const node of tree.children(focus))
		if (tree.width[node] > (best === focus ? 0 : tree.width[best])) best = node;
	return best;
}

function onGraphKey(graph, event) {
	if (!graph.tree || event.ctrlKey || event.altKey || event.metaKey) return;
	const towardsRoot = graph.isIcicle ? "ArrowUp" : "ArrowDown";
	const fromRoot = graph.isIcicle ? "ArrowDown" : "ArrowUp";
	if (event.key === towardsRoot) graph.setFocus(graph.tree.parent[graph.focus]);
	else if (event.key === fromRoot) graph.setFocus(heaviestChild(graph));
	else if (event.key === "ArrowLeft") graph.setFocus(neighbour(graph, -1));
	else if (event.key === "ArrowRight") graph.setFocus(neighbour(graph, 1));
	else if (event.key === "Enter" || event.key === " ") graph.zoomTo(graph.focus);
	else return;
	event.preventDefault();
}

function fillHelp() {
	byId("help-keys").replaceChildren(
		...KEYS.map(([keys, what]) => {
			const names = keys.flatMap((key, i) => [
				i ? " " : "",
				element("kbd", { textContent: key.replace("Control+", "Ctrl-").replace(/-(\w)$/, (all) => all.toUpperCase()) }),
			]);
			return element("tr", {}, element("th", { scope: "row" }, ...names), element("td", { textContent: what }));
		}));
}
