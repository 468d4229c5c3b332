/* The controls above the graph. */
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
