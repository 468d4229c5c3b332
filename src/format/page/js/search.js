/*
 * Search by regular expression: finds matching words, the share of stacks that contain a match, and
 * steps through the matching frames.
 */
"use strict";

class Search {
	constructor(app) {
		this.app = app;
		this.input = byId("search");
		this.caseButton = byId("case");
		this.status = byId("search-status");
		this.found = [];
		this.at = -1;
		this.input.addEventListener("input", () => {
			clearTimeout(this.timer);
			this.timer = setTimeout(() => this.set(this.input.value), 120);
		});
		this.input.addEventListener("keydown", (event) => this.onKey(event));
		this.caseButton.addEventListener("click", () => this.toggleCase());
	}

	onKey(event) {
		if (event.key === "Enter") {
			clearTimeout(this.timer);
			if (this.input.value !== this.app.view.search) this.set(this.input.value);
			else this.next(event.shiftKey ? -1 : 1);
			event.preventDefault();
		} else if (event.key === "Escape") {
			event.stopPropagation();
			if (this.input.value) this.set("");
			else this.app.focusGraph();
		}
	}

	toggleCase() {
		this.app.view.ignoreCase = !this.app.view.ignoreCase;
		this.set(this.input.value);
	}

	set(pattern) {
		const { view } = this.app;
		view.search = pattern;
		if (this.input.value !== pattern) this.input.value = pattern;
		this.run();
		this.app.onSearch();
	}

	run() {
		const { search, ignoreCase } = this.app.view;
		let expression;
		this.caseButton.setAttribute("aria-pressed", String(!ignoreCase));
		this.input.removeAttribute("aria-invalid");
		this.expression = null;
		this.app.frames.matches = null;
		this.found = [];
		this.at = -1;
		this.status.classList.remove("bad");
		if (!search) {
			this.status.textContent = "";
			return;
		}
		try {
			expression = new RegExp(search, ignoreCase ? "i" : "");
		} catch (error) {
			this.status.textContent = `Invalid regular expression: ${error.message.split(": ").pop()}`;
			this.status.classList.add("bad");
			this.input.setAttribute("aria-invalid", "true");
			return;
		}
		this.expression = expression;
		this.app.frames.matches = this.matchWords(expression);
		this.count();
	}

	matchWords(expression) {
		const { words, texts } = this.app.model;
		const matches = new Uint8Array(words.text.length);
		const known = new Map();
		for (let i = 1; i < matches.length; i++) {
			if (words.kind[i] === KIND.rest) continue;
			const text = words.text[i];
			let is = known.get(text);
			if (is === undefined) known.set(text, (is = expression.test(texts[text]) ? 1 : 0));
			matches[i] = is;
		}
		return matches;
	}

	count() {
		const tree = this.app.tree();
		const { matches } = this.app.frames;
		if (!matches) return;
		this.found = outermost(tree, matches);
		let sum = 0;
		for (const node of this.found) sum += tree.total[node];
		this.percent = tree.total[0] ? (100 * sum) / tree.total[0] : 0;
		this.status.textContent = this.found.length
			? `${formatPercent(sum, tree.total[0])} matched`
			: "No match";
	}

	/* Matches are visited by weight, heaviest first. */
	next(step) {
		const tree = this.app.tree();
		if (!this.found.length) return;
		if (this.at < 0) this.found.sort((a, b) => tree.width[b] - tree.width[a] || a - b);
		this.at = (this.at + step + this.found.length) % this.found.length;
		this.app.showTab("flame");
		this.app.graph.setFocus(this.found[this.at]);
		this.app.graph.zoomTo(this.found[this.at]);
	}
}
