/* Names, colours and descriptions of frames: in boxes, in the tooltip, for screen readers. */
"use strict";

class Frames {
	constructor(app) {
		this.app = app;
		this.model = app.model;
		this.matches = null; /* word -> 1 if it matches the search; null: no search */
	}

	text(word) {
		return this.model.texts[this.model.words.text[word]];
	}

	/* Returns the number of the word's function; -1 if it is not a function. */
	functionOf(word) {
		return this.model.words.function[word] - 1;
	}

	functionName(number) {
		return this.model.texts[this.model.functions.name[number]];
	}

	moduleName(number) {
		return this.model.modules[this.model.functions.module[number]] || "";
	}

	/*
	 * Returns a node's name. In a tree of callers or callees of a function, the root is that
	 * function.
	 */
	plainName(tree, node) {
		if (!node) return tree.rootName || "all";
		return this.text(tree.word[node]) || "(no name)";
	}

	name(tree, node) {
		const name = this.plainName(tree, node);
		if (!tree.otherTotal || !node) return name;
		const { kind } = this.change(tree, node);
		return kind === CHANGE.added ? `+ ${name}` : kind === CHANGE.gone ? `\u2212 ${name}` : name;
	}

	change(tree, node) {
		return this.app.difference.of(tree.otherTotal[node], tree.total[node]);
	}

	/* Returns the node's ratio; NaN: too few samples. As profile/ratio.c. */
	ratio(tree, node) {
		const { factor, least } = this.model.about.ratio;
		const below = tree.ratio.below[node];
		return below > 0 && below >= least ? (factor * tree.ratio.above[node]) / below : NaN;
	}

	/* Compares it with the ratio of the whole profile: from -1, much less, to 1. */
	deviation(tree, node) {
		const { whole, most } = this.model.about.ratio;
		const ratio = this.ratio(tree, node);
		if (Number.isNaN(ratio)) return NaN;
		if (!(whole > 0 && ratio > 0)) return ratio < whole ? -1 : 0;
		return Math.max(-1, Math.min(1, Math.log(ratio / whole) / Math.log(most)));
	}

	colors(tree, node) {
		const { palette } = this.app;
		const { theme } = palette;
		const word = node ? tree.word[node] : tree.rootWord || 0;
		if (this.matches && (node || tree.rootWord)) {
			return this.matches[word]
				? { fill: cssOfRgb(theme.match), text: cssOfRgb(theme.matchText) }
				: { fill: cssOfRgb(theme.faded), text: cssOfRgb(theme.fadedText) };
		}
		return { fill: this.fill(tree, node, word), text: palette.text };
	}

	fill(tree, node, word) {
		const { palette } = this.app;
		if (palette.mode === "category" && this.functionOf(word) >= 0)
			return palette.ofCategory(this.app.categoryOf(tree, node), word);
		if (palette.mode === "ratio" && tree.ratio) return palette.ofDeviation(this.deviation(tree, node));
		if (palette.mode !== "difference" || !tree.otherTotal) return palette.ofWord(word);
		const { kind, change } = this.change(tree, node);
		/* The square root keeps small changes visible beside a few large ones. */
		return palette.ofChange(kind, Math.min(1, Math.sqrt(Math.abs(change) / (this.app.mostChange || 1))));
	}

	/* Returns the source line after the function's name, if known. */
	source(word) {
		const number = this.functionOf(word);
		const text = this.text(word);
		const name = number < 0 ? text : this.functionName(number);
		return text.startsWith(name + " ") ? text.slice(name.length + 1) : "";
	}

	/* Returns [[label, text]…] for a node. */
	facts(tree, node) {
		const word = node ? tree.word[node] : tree.rootWord || 0;
		const number = this.functionOf(word);
		const facts = [];
		if (word) facts.push(["Kind", this.kindName(word)]);
		if (number >= 0 && this.moduleName(number)) facts.push(["Module", this.moduleName(number)]);
		if (word && number >= 0 && this.source(word)) facts.push(["Source", this.source(word)]);
		if (this.model.about.categories && number >= 0)
			facts.push(["Category", this.model.about.categories[this.app.categoryOf(tree, node)]]);
		facts.push(...this.weightFacts(tree, node));
		return facts;
	}

	kindName(word) {
		return KIND_COLORS[this.model.words.kind[word]].name;
	}

	weightFacts(tree, node) {
		const value = this.app.value();
		const all = this.app.tree().total[0];
		const part = (weight) => `${formatWithName(weight, value)}, ${formatPercent(weight, all)}`;
		const facts = [
			["Total", part(tree.total[node])],
			["Self", part(tree.self[node])],
		];
		if (tree.total[0] !== all)
			facts.push(["Share of function", formatPercent(tree.total[node], tree.total[0])]);
		if (tree.otherTotal) facts.push(...this.changeFacts(tree, node));
		if (tree.ratio) facts.push([this.model.about.ratio.text, formatRatio(this.ratio(tree, node))]);
		return facts;
	}

	changeFacts(tree, node) {
		const change = this.change(tree, node);
		const { by_time } = this.app.difference.scale;
		const { unit } = this.app.value();
		const show = (part) => (by_time ? formatRate(part, unit) : `${(100 * part).toFixed(2)} %`);
		const names = ["within noise", "more", "less", "new", "gone"];
		return [
			["Before", show(change.before)],
			["After", show(change.after)],
			["Change", `${formatChange(change, by_time, unit)} (${names[change.kind]})`],
		];
	}

	/* Returns one line, for the bar below the graph and for screen readers. */
	sentence(tree, node) {
		return [this.plainName(tree, node)]
			.concat(this.facts(tree, node).map(([what, text]) => `${what} ${text}`))
			.join("; ");
	}
}

/* The box next to the pointer. */
class Tooltip {
	constructor(frames) {
		this.frames = frames;
		this.box = byId("tooltip");
		this.node = null;
	}

	hide() {
		this.box.hidden = true;
		this.node = null;
	}

	show(tree, node, event) {
		if (node === null) {
			this.hide();
			return;
		}
		if (this.node !== node || this.tree !== tree) {
			const list = element("dl");
			for (const [what, text] of this.frames.facts(tree, node))
				list.append(element("dt", { textContent: what }), element("dd", { textContent: text }));
			this.box.replaceChildren(
				element("strong", { textContent: this.frames.plainName(tree, node), dir: "ltr" }), list);
			this.box.hidden = false;
			this.node = node;
			this.tree = tree;
		}
		const { offsetWidth, offsetHeight } = this.box;
		const x = Math.min(event.clientX + 14, innerWidth - offsetWidth - 8);
		const below = event.clientY + 18;
		const y = below + offsetHeight > innerHeight - 8 ? event.clientY - offsetHeight - 12 : below;
		this.box.style.left = `${Math.max(8, x)}px`;
		this.box.style.top = `${Math.max(8, y)}px`;
	}
}
