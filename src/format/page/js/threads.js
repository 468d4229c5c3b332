/* A menu of check boxes that selects labels at the root of the stacks (threads, processes, …). */
"use strict";

const THREADS_SHOWN = 400;

class Threads {
	constructor(app) {
		this.app = app;
		this.list = byId("threads-list");
		this.filter = byId("threads-filter");
		this.isOpen = false;
		this.labels = this.read();
		byId("threads").hidden = !this.labels.length;
		this.filter.addEventListener("input", () => this.render());
		byId("threads-all").addEventListener("click", () => this.choose(null));
		this.list.addEventListener("change", () => this.fromBoxes());
		byId("threads").addEventListener("toggle", () => this.onToggle());
		addEventListener("pointerdown", (event) => {
			if (!byId("threads").contains(event.target)) byId("threads").open = false;
		}, { signal: app.ended.signal });
		byId("threads").addEventListener("keydown", (event) => this.onKey(event));
	}

	/*
	 * Returns [{word, weight}] for all labels, heaviest first; empty if stacks have no labels.
	 */
	read() {
		const { model } = this.app;
		const tree = model.trees[0];
		const weights = new Float64Array(tree.nr);
		if (!model.about.nr_labels) return [];
		Tree.sum(tree.parent, tree.selves.get(0), weights);
		return tree
			.children(0)
			.filter((node) => model.words.kind[tree.word[node]] === KIND.label)
			.map((node) => ({ word: tree.word[node], weight: weights[node], all: weights[0] }))
			.sort((a, b) => b.weight - a.weight || a.word - b.word);
	}

	/* The event comes later than the change: a list that a key has opened must stay as it is, it may be clicked by now. */
	onToggle() {
		const { open } = byId("threads");
		if (open && !this.isOpen) this.open();
		this.isOpen = open;
	}

	onKey(event) {
		if (event.key !== "Escape") return;
		byId("threads").open = false;
		byId("threads-summary").focus();
		event.stopPropagation();
	}

	open() {
		const box = byId("threads-box");
		const { left } = byId("threads").getBoundingClientRect();
		byId("threads").open = true;
		this.isOpen = true;
		this.render();
		/* Below its button, moved to the left if needed to stay visible. */
		box.style.left = `${Math.min(0, innerWidth - 12 - box.offsetWidth - left)}px`;
	}

	render() {
		const wanted = this.filter.value.toLowerCase();
		const { threads } = this.app.view;
		const shown = this.labels.filter(({ word }) =>
			this.app.frames.text(word).toLowerCase().includes(wanted));
		this.list.replaceChildren(
			...shown.slice(0, THREADS_SHOWN).map(({ word, weight, all }) => {
				const box = element("input", {
					type: "checkbox", checked: !threads || threads.has(word), value: String(word),
				});
				const name = element("span", { textContent: this.app.frames.text(word), className: "name", dir: "ltr" });
				const share = element("span", { textContent: formatPercent(weight, all), className: "share" });
				return element("li", {}, element("label", {}, box, name, share));
			}));
		if (shown.length > THREADS_SHOWN)
			this.list.append(element("li", { textContent: `${shown.length - THREADS_SHOWN} more: filter by name` }));
	}

	/* If all are selected, clicking a box selects only that one. */
	fromBoxes() {
		const boxes = [...this.list.querySelectorAll("input")];
		const { threads } = this.app.view;
		const changed = boxes.find((box) => box.checked !== (!threads || threads.has(+box.value)));
		if (!changed) return;
		if (!threads) {
			this.choose(new Set([+changed.value]));
			return;
		}
		const chosen = new Set(threads);
		if (changed.checked) chosen.add(+changed.value);
		else chosen.delete(+changed.value);
		this.choose(chosen.size && chosen.size < this.labels.length ? chosen : null);
	}

	choose(threads) {
		this.app.setThreads(threads);
		this.render();
	}

	show() {
		const { threads } = this.app.view;
		const nr = this.labels.length;
		let text = `All threads (${wholeNumber.format(nr)})`;
		if (threads && threads.size === 1) text = this.app.frames.text([...threads][0]);
		else if (threads) text = `${wholeNumber.format(threads.size)} of ${wholeNumber.format(nr)} threads`;
		byId("threads-summary").textContent = text;
	}
}
