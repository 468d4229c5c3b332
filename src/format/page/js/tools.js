/* The controls above the graph, and the start of the page. */
"use strict";

const COLOR_NAMES = {
	kind: "Colour: kind", module: "Colour: module", category: "Colour: category",
	difference: "Colour: change", ratio: "Colour: ratio",
};

function listenToTools(app) {
	const on = (id, event, action) => byId(id).addEventListener(event, action);
	on("value", "change", () => app.setValue(Number(byId("value").value)));
	on("width", "change", () => app.setWidth(byId("width").value));
	on("color", "change", () => app.setColor(byId("color").value));
	on("icicle", "click", () => app.setIcicle(!app.view.icicle));
	on("order", "click", () => app.setByWeight(!app.view.byWeight));
	on("skip", "click", () => app.focusGraph());
	on("reset", "click", () => app.activeGraph().reset());
	on("theme", "click", () => app.toggleTheme());
	on("keys", "click", () => app.showHelp());
	on("focus-open", "click", () => app.openFocus());
	on("focus-copy", "click", () => app.copyFocus());
}

/* In a difference, "before" cannot be selected; only the width of frames can. */
function valueOptions(app) {
	const { values, difference } = app.model.about;
	const isOnly = ({ type }) => values.filter((value) => value.type === type).length === 1;
	return values
		.map((value, i) => [i, isOnly(value) ? value.type : `${value.type} (${value.unit})`])
		.filter(([i]) => !difference || i !== difference.value);
}

function showTools(app) {
	const { view } = app;
	const options = valueOptions(app);
	fillSelect(byId("value"), options, view.value);
	byId("value").hidden = options.length < 2;
	byId("width").hidden = view.before === null;
	byId("width").value = view.width;
	fillSelect(byId("color"), view.colors.map((color) => [color, COLOR_NAMES[color]]), app.palette.mode);
	byId("icicle").textContent = view.icicle ? "View: icicle" : "View: flame";
	byId("icicle").title = view.icicle ? "Callers on top; click for a flame graph" : "Callers at the bottom; click for an icicle";
	byId("icicle").setAttribute("aria-pressed", String(view.icicle));
	byId("order").textContent = view.byWeight ? "Order: weight" : "Order: name";
	byId("order").setAttribute("aria-pressed", String(view.byWeight));
	byId("theme").textContent = isDark() ? "Light" : "Dark";
	byId("theme").title = isDark() ? "Switch to the light theme" : "Switch to the dark theme";
	if (app.timeline) byId("timeline").hidden = view.before !== null || !app.hasTime();
}

function fail(text) {
	byId("loading").classList.add("failed");
	byId("loading").textContent = text;
	byId("loading").setAttribute("role", "alert");
}

/* Resolves after the static page has been painted; the data are decoded only then. */
function afterPaint() {
	return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

async function main() {
	if (!window.DecompressionStream) {
		fail("This browser is too old to decompress the profile: it has no DecompressionStream. " +
			"Firefox 113, Chrome 80, Safari 16.4 or newer is needed.");
		return;
	}
	await afterPaint();
	try {
		const about = JSON.parse(byId("about").textContent);
		const app = new App(await readModel(about, byId("data").textContent));
		app.start();
		window.stook = app; /* for the console, and for tests */
		byId("loading").hidden = true;
		await afterPaint();
		performance.mark("graph painted");
	} catch (error) {
		fail(`The profile in this page cannot be read: ${error.message}`);
		throw error;
	}
}

addEventListener("DOMContentLoaded", main);
