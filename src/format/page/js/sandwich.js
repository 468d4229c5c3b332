/*
 * The view of one function, with its callers above and its callees below: two flame graphs, and
 * tables of the direct callers and callees.
 */
"use strict";

const PEERS_MAX = 200; /* rows of the tables of callers and callees */

class Sandwich {
	constructor(app) {
		this.app = app;
		const on = (side) => ({
			focus: (node) => app.showFocus(this[side].tree, node),
			hover: (node, event) => app.tooltip.show(this[side].tree, node, event),
			zoom: () => {},
			open: (node) => app.openNode(this[side].tree, node),
		});
		this.callers = new FlameGraph(byId("callers-canvas"), app.style, on("callers"));
		this.callees = new FlameGraph(byId("callees-canvas"), app.style, on("callees"));
		this.callees.isIcicle = true;
		this.stale = true;
	}

	graphs() {
		return [this.callers, this.callees];
	}

	/* Called when the function or the weights have changed. */
	update() {
		const { app } = this;
		const number = app.view.function;
		this.stale = app.view.tab !== "callers";
		if (this.stale) return;
		byId("sandwich").hidden = number === null;
		byId("sandwich-empty").hidden = number !== null;
		if (number === null) return;
		const tree = app.tree();
		const isWanted = app.wordsOf(number);
		const nodes = outermost(tree, isWanted).filter((node) => tree.width[node]);
		const { restWord } = app;
		const name = app.frames.functionName(number) || "(no name)";
		const callees = mergeCallees(tree, nodes, app.view, restWord);
		const callers = mergeCallers(tree, nodes, app.view, restWord);
		for (const made of [callees, callers]) {
			made.rootName = name;
			made.rootWord = isWanted.indexOf(1);
		}
		byId("sandwich-name").textContent = name;
		byId("sandwich-facts").textContent = this.facts(number, callees);
		this.callees.view = { from: 0, to: 1 };
		this.callers.view = { from: 0, to: 1 };
		this.callers.setTree(callers);
		this.callees.setTree(callees);
		this.fillPeers("callers-body", callers);
		this.fillPeers("callees-body", callees);
	}

	facts(number, tree) {
		const { app } = this;
		const all = app.tree().total[0];
		const { self } = app.sums;
		const part = (weight) => `${formatPercent(weight, all)} (${formatWithName(weight, app.value())})`;
		const module = app.frames.moduleName(number);
		return `${module ? module + " \u00b7 " : ""}self ${part(self[number])} \u00b7 total ${part(tree.total[0])}`;
	}

	/* Words of the same function (different source lines) share a row. */
	fillPeers(id, tree) {
		const { app } = this;
		const sums = new Map();
		for (const node of tree.children(0)) {
			const key = app.frames.functionOf(tree.word[node]);
			const text = key < 0 ? app.frames.text(tree.word[node]) || "(no name)" : app.frames.functionName(key);
			const row = sums.get(key < 0 ? text : key) || { key, text, weight: 0 };
			row.weight += tree.total[node];
			sums.set(key < 0 ? text : key, row);
		}
		const rows = [...sums.values()].sort((a, b) => b.weight - a.weight);
		if (tree.self[0])
			rows.unshift({ key: -1, text: id === "callers-body" ? "(no caller)" : "(itself)", weight: tree.self[0] });
		byId(id).replaceChildren(
			...rows.slice(0, PEERS_MAX).map((row) => this.peerRow(row, tree.total[0])));
	}

	peerRow({ key, text, weight }, all) {
		const name = element("th", { scope: "row" });
		if (key < 0) name.append(element("span", { textContent: text }));
		else {
			const button = element("button", { type: "button", textContent: text, title: text, dir: "ltr" });
			button.addEventListener("click", () => this.app.openFunction(key));
			name.append(button);
		}
		const share = element("td", { textContent: formatPercent(weight, all) });
		share.style.setProperty("--part", `${((100 * weight) / (all || 1)).toFixed(2)}%`);
		return element("tr", {}, share, name);
	}
}
