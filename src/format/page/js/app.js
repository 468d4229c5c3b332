/*
 * The page: reads the data after the first paint, holds the state of the view (`view`), and passes
 * changes to the parts that show it.
 */
"use strict";

class App {
	constructor(model) {
		const { about } = model;
		this.model = model;
		this.ended = new AbortController(); /* of listeners outside the view */
		this.difference = about.difference ? new Difference(about.difference) : null;
		this.palette = new Palette(model);
		this.frames = new Frames(this);
		this.tooltip = new Tooltip(this.frames);
		this.restWord = model.words.kind.indexOf(KIND.rest);
		this.view = {
			tab: "flame", value: 0, width: "both", color: null, colors: this.palette.modes,
			icicle: about.icicle, usualIcicle: about.icicle, byWeight: false, search: "", ignoreCase: true, range: null, threads: null,
			function: null, sort: null, usualSort: this.difference ? "change" : "self", ascending: false,
		};
		this.style = {
			name: (tree, node) => this.frames.name(tree, node),
			colors: (tree, node) => this.frames.colors(tree, node),
			background: () => this.css("--ground"),
			many: () => cssOfRgb(this.palette.theme.grey),
			outline: () => cssOfRgb(this.palette.theme.focus),
			scrollbar: () => this.css("--text-soft"),
		};
	}

	start() {
		const zoom = viewOfAddress(location.hash.slice(1), this.view, this.model);
		this.applyView();
		this.weigh();
		this.makeParts();
		this.refreshAll();
		this.graph.setZoom(zoom);
		/* Firefox restores the state of buttons when a page is reloaded. */
		byId("focus-open").disabled = true;
		const { signal } = this.ended;
		addEventListener("hashchange", () => this.onAddress(), { signal });
		systemDark.addEventListener("change", () => this.onTheme(), { signal });
		document.body.dataset.ready = "true";
	}

	/* Another model is about to be shown, in a view of its own. */
	end() {
		clearTimeout(this.saving);
		clearTimeout(this.search.timer);
		cancelAnimationFrame(this.weighing);
		for (const graph of this.graphs()) graph.stopAnimation();
		this.ended.abort();
	}

	makeParts() {
		this.graph = new FlameGraph(byId("graph"), this.style, {
			focus: (node) => this.showFocus(this.tree(), node),
			hover: (node, event) => this.tooltip.show(this.tree(), node, event),
			zoom: () => this.onZoom(),
			open: (node) => this.openNode(this.tree(), node),
		});
		this.search = new Search(this);
		this.sandwich = new Sandwich(this);
		this.table = new FunctionTable(this);
		this.threads = new Threads(this);
		this.timeline = this.model.slices ? new Timeline(this) : null;
		this.tabs = new Tabs(this);
		listenToTools(this);
		listenToKeys(this);
		fillHelp();
	}

	css(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name);
	}

	value() {
		return this.model.about.values[this.view.value];
	}

	tree() {
		return this.model.trees[this.value().tree];
	}

	graphs() {
		return [this.graph, ...this.sandwich.graphs()];
	}

	/*
	 * Returns a node's category: its function's, else that of the nearest caller that has one.
	 */
	categoryOf(tree, node) {
		const { functions, words } = this.model;
		for (let at = node; at; at = tree.parent[at]) {
			const number = words.function[tree.word[at]];
			if (number && functions.category[number - 1]) return functions.category[number - 1];
		}
		return 0;
	}

	/* Returns an array that marks the words of a function. */
	wordsOf(number) {
		const words = this.model.words.function;
		const wanted = new Uint8Array(words.length);
		for (let i = 0; i < words.length; i++) if (words[i] === number + 1) wanted[i] = 1;
		return wanted;
	}

	/*
	 * --- derived from the view --------------------------------------------------------------
	 */

	applyView() {
		const { view } = this;
		const scale = this.difference ? this.difference.scale : null;
		const isCompared = scale && (view.value === 0 || view.value === scale.value);
		/* In a difference, the shown value is "after". */
		if (isCompared) view.value = 0;
		view.before = isCompared ? scale.value : null;
		view.afterScale = isCompared && view.width !== "before" ? 1 / (scale.after || 1) : 0;
		view.beforeScale = isCompared && view.width !== "after" ? 1 / (scale.before || 1) : 0;
		if (view.range && (isCompared || !this.hasTime())) view.range = null;
		view.timeScale = view.range ? this.ratio(view.value) : 1;
		this.palette.use(view.color || view.colors[0], isDark() ? "dark" : "light");
	}

	/*
	 * Slices are of the first value; another value has them only if its ratio to the first is
	 * constant.
	 */
	hasTime() {
		return Boolean(this.model.slices && this.ratio(this.view.value));
	}

	ratio(value) {
		const { selves } = this.model.trees[0];
		this.ratios = this.ratios || [1];
		if (this.ratios[value] === undefined)
			this.ratios[value] = selves.has(value) ? ratioOf(selves.get(value), selves.get(0)) : 0;
		return this.ratios[value];
	}

	weigh() {
		const { model, view } = this;
		const tree = this.tree();
		const isWhole = !view.range && !view.threads && view.value === 0 && !view.before;
		chooseWeights(tree, model, view);
		chooseRatio(tree, model.about.ratio, view);
		this.mostChange = tree.otherTotal ? this.difference.mostChange(tree) : 0;
		this.sums = sumFunctions(tree, model.words.function, model.functions.name.length);
		/* These sums include calls omitted from the tree. */
		if (isWhole && model.functions.self) {
			this.sums.self = model.functions.self;
			this.sums.total = model.functions.total;
		}
	}

	refreshAll() {
		this.graph.isIcicle = this.view.icicle;
		this.graph.byWeight = this.view.byWeight;
		this.search.input.value = this.view.search;
		this.search.run();
		this.table.makeHead();
		showTools(this);
		this.threads.show();
		this.graph.setTree(this.tree());
		if (this.timeline) this.timeline.update();
		this.onWeights();
		showLegend(this);
		showAbout(this);
		this.tabs.show();
	}

	/* Called when weights have changed: all numbers must be updated. */
	onWeights() {
		this.search.count();
		this.table.update();
		this.graph.setTree(this.tree());
		this.sandwich.update();
		showHeading(this);
		showCrumbs(this);
		byId("nothing").hidden = this.tree().width[0] > 0;
		if (this.timeline) this.timeline.showRange();
	}

	/* Computes new weights and keeps the zoom. */
	reweigh() {
		const zoom = this.graph.zoom();
		this.applyView();
		this.weigh();
		this.onWeights();
		this.graph.setZoom(zoom);
	}

	onSearch() {
		this.table.update();
		for (const graph of this.graphs()) graph.requestDraw();
		this.saveAddress();
	}

	onZoom() {
		if (this.ended.signal.aborted) return;
		showCrumbs(this);
		this.saveAddress();
	}

	onTheme() {
		applyTheme();
		this.applyView();
		showTools(this);
		showLegend(this);
		for (const graph of this.graphs()) graph.requestDraw();
		if (this.timeline) this.timeline.draw();
	}

	/* --- the address ------------------------------------------------------------------------ */

	saveAddress() {
		clearTimeout(this.saving);
		if (this.ended.signal.aborted) return;
		this.saving = setTimeout(() => {
			this.saved = addressOf(this.view, this.graph.zoom());
			history.replaceState(null, "", `#${this.saved}`);
		}, 200);
	}

	onAddress() {
		const address = location.hash.slice(1);
		if (address === this.saved) return;
		const zoom = viewOfAddress(address, this.view, this.model);
		this.applyView();
		this.weigh();
		this.refreshAll();
		this.graph.setZoom(zoom);
	}

	/*
	 * --- user actions -----------------------------------------------------------------------
	 */

	showTab(tab) {
		this.view.tab = tab;
		this.tooltip.hide();
		this.tabs.show();
		if (tab === "callers" && this.sandwich.stale) this.sandwich.update();
		if (tab === "functions") this.table.render();
		if (tab === "about") showAbout(this);
		this.saveAddress();
	}

	openFunction(number) {
		this.view.function = number;
		this.sandwich.stale = true;
		this.showTab("callers");
		this.table.render();
		say(`Callers and callees of ${this.frames.functionName(number)}`);
	}

	openNode(tree, node) {
		const number = this.frames.functionOf(node ? tree.word[node] : tree.rootWord || 0);
		if (number >= 0) this.openFunction(number);
	}

	openFocus() {
		const graph = this.activeGraph();
		this.openNode(graph.tree, graph.focus);
	}

	copyFocus() {
		const graph = this.activeGraph();
		copyText(this.frames.plainName(graph.tree, graph.focus));
	}

	/* Returns the graph with keyboard focus, or else the visible one. */
	activeGraph() {
		const focused = this.graphs().find((graph) => graph.canvas === document.activeElement);
		if (focused) return focused;
		return this.view.tab === "callers" && this.sandwich.callees.tree ? this.sandwich.callees : this.graph;
	}

	focusGraph() {
		if (this.view.tab === "flame") this.graph.canvas.focus();
		else byId(`tab-${this.view.tab}`).focus();
	}

	focusSearch() {
		this.search.input.focus();
		this.search.input.select();
	}

	showFocus(tree, node) {
		const number = this.frames.functionOf(node ? tree.word[node] : tree.rootWord || 0);
		document.body.dataset.focused = "true";
		byId("focused").textContent = this.frames.sentence(tree, node);
		byId("focus-open").disabled = number < 0;
		say(this.frames.sentence(tree, node));
	}

	zoomBy(factor) {
		const graph = this.activeGraph();
		if (graph.pixels) graph.zoomAt(graph.pixels.width / 2, factor);
	}

	setIcicle(is) {
		this.view.icicle = this.graph.isIcicle = is;
		this.graph.scroll = 0;
		this.graph.requestDraw();
		showTools(this);
		this.saveAddress();
	}

	setByWeight(is) {
		const node = this.graph.viewNode();
		this.view.byWeight = this.graph.byWeight = is;
		for (const graph of this.sandwich.graphs()) graph.byWeight = is;
		this.graph.setZoom({ node });
		for (const graph of this.graphs()) graph.requestDraw();
		showTools(this);
	}

	setColor(color) {
		this.view.color = color;
		this.onTheme();
		this.saveAddress();
	}

	nextColor() {
		const { colors, color } = this.view;
		this.setColor(colors[(colors.indexOf(color || colors[0]) + 1) % colors.length]);
		say(`Colours by ${this.view.color}`);
	}

	setValue(value) {
		this.view.value = value;
		this.applyView();
		this.weigh();
		this.refreshAll();
		this.graph.reset();
		this.saveAddress();
	}

	nextValue() {
		const list = [...byId("value").options].map((option) => Number(option.value));
		if (list.length > 1) this.setValue(list[(list.indexOf(this.view.value) + 1) % list.length]);
	}

	setWidth(width) {
		this.view.width = width;
		this.reweigh();
		showLegend(this);
	}

	setThreads(threads) {
		this.view.threads = threads;
		this.reweigh();
		if (this.timeline) this.timeline.update();
		this.threads.show();
	}

	/* During dragging, updates once per animation frame. */
	setRange(range, isDragging) {
		if (!this.hasTime()) return;
		this.view.range = range;
		cancelAnimationFrame(this.weighing);
		if (isDragging) {
			this.timeline.showRange();
			this.weighing = requestAnimationFrame(() => this.reweigh());
		} else {
			this.reweigh();
		}
	}

	openThreads() {
		if (byId("threads").hidden) return;
		this.threads.open();
		byId("threads-filter").focus();
	}

	toggleTheme() {
		chooseTheme(isDark() ? "light" : "dark");
		this.onTheme();
		this.saveAddress();
	}

	showHelp() {
		byId("help").showModal();
	}
}
