/* The view is stored in the page's address, after the `#`, so that a link to it can be shared. */
"use strict";

const PLACES = 1e7; /* resolution of zooms, in parts of the full width */

function addressOf(view, zoom) {
	const parts = new URLSearchParams();
	const put = (name, value, usual) => {
		if (value !== usual && value !== null) parts.set(name, value);
	};
	put("tab", view.tab, "flame");
	put("value", view.value, 0);
	put("width", view.width, "both");
	put("color", view.color, view.colors[0]);
	put("icicle", view.icicle ? 1 : 0, view.usualIcicle ? 1 : 0);
	put("order", view.byWeight ? "weight" : "name", "name");
	put("search", view.search, "");
	put("case", view.ignoreCase ? 0 : 1, 0);
	put("function", view.function, null);
	put("sort", view.sort, view.usualSort);
	put("up", view.ascending ? 1 : 0, 0);
	put("theme", chosenTheme, null);
	if (view.range) parts.set("time", view.range.join("-"));
	if (view.threads) parts.set("threads", [...view.threads].sort((a, b) => a - b).join("."));
	if (zoom.node) parts.set("at", zoom.node);
	else if (zoom.from > 0 || zoom.to < 1)
		parts.set("zoom", `${Math.round(zoom.from * PLACES)}-${Math.round(zoom.to * PLACES)}`);
	return parts.toString();
}

function numbersOf(text, separator) {
	return text.split(separator).map(Number).filter((number) => number >= 0);
}

/* Takes over valid values only: an address may be hand-written, or made for another page. */
function viewOfAddress(address, view, model) {
	const parts = new URLSearchParams(address);
	const get = (name, allowed, usual) => (allowed.includes(parts.get(name)) ? parts.get(name) : usual);
	const number = (name, end, usual) => {
		const value = Number(parts.get(name));
		return parts.has(name) && Number.isInteger(value) && value >= 0 && value < end ? value : usual;
	};
	view.tab = get("tab", TABS, "flame");
	view.value = number("value", model.about.values.length, 0);
	view.width = get("width", ["both", "after", "before"], "both");
	view.color = get("color", view.colors, view.colors[0]);
	view.icicle = parts.has("icicle") ? parts.get("icicle") === "1" : view.usualIcicle;
	view.byWeight = parts.get("order") === "weight";
	view.search = parts.get("search") || "";
	view.ignoreCase = parts.get("case") !== "1";
	view.function = number("function", model.functions.name.length, null);
	view.sort = parts.get("sort") || view.usualSort;
	view.ascending = parts.get("up") === "1";
	const range = parts.has("time") && model.slices ? numbersOf(parts.get("time"), "-") : [];
	view.range =
		range.length === 2 && range[0] <= range[1] && range[1] < model.slices.starts.length ? range : null;
	const threads = parts.has("threads") ? numbersOf(parts.get("threads"), ".") : [];
	view.threads = threads.length ? new Set(threads) : null;
	chooseTheme(get("theme", ["light", "dark"], null));
	const zoom = parts.has("zoom") ? numbersOf(parts.get("zoom"), "-") : [];
	const node = number("at", model.trees[model.about.values[view.value].tree].nr, 0);
	if (node) return { node };
	return zoom.length === 2 && zoom[0] < zoom[1] && zoom[1] <= PLACES
		? { from: zoom[0] / PLACES, to: zoom[1] / PLACES }
		: { from: 0, to: 1 };
}
