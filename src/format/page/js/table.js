/*
 * The table of functions: a real table, but only its visible rows are in the document, so that a
 * hundred thousand functions scroll like ten.
 */
"use strict";

const TABLE_ROW = 28; /* pixels, must match page.css */
const TABLE_MORE = 8; /* extra rows above and below the visible ones */

class FunctionTable {
	constructor(app) {
		this.app = app;
		this.scroller = byId("functions-scroller");
		this.head = byId("functions-head");
		this.body = byId("functions-body");
		this.table = byId("functions-table");
		this.order = [];
		this.focused = 0; /* the row whose button has the tab stop */
		this.scroller.addEventListener("scroll", () => this.render(), { passive: true });
		new ResizeObserver(() => this.render()).observe(this.scroller);
		this.narrow = matchMedia("(max-width: 720px)");
		this.narrow.addEventListener("change", () => {
			this.makeHead();
			this.update();
		}, { signal: app.ended.signal });
		this.body.addEventListener("keydown", (event) => this.onKey(event));
		this.body.addEventListener("click", (event) => this.onClick(event));
		this.makeHead();
	}

	/* Narrow screens show only the most important columns. */
	columns() {
		const wanted = ["self", "total", "change", "name"];
		const columns = this.app.sums.otherSelf ? this.changeColumns() : this.weightColumns();
		return this.narrow.matches ? columns.filter(({ id }) => wanted.includes(id)) : columns;
	}

	nameColumns() {
		const { frames } = this.app;
		return [
			{ id: "name", label: "Function", key: (i) => frames.functionName(i) },
			{
				id: "module", label: "Module", key: (i) => frames.moduleName(i),
				text: (i) => frames.moduleName(i),
			},
		];
	}

	weightColumns() {
		const { app } = this;
		const all = () => app.tree().total[0];
		const percent = (array) => (i) => formatPercent(array()[i], all());
		const amount = (array) => (i) => formatAmount(array()[i], app.value().unit);
		const part = (array) => (i) => array()[i] / (all() || 1);
		const self = () => app.sums.self;
		const total = () => app.sums.total;
		return [
			{ id: "self", label: "Self", key: (i) => self()[i], text: percent(self), part: part(self) },
			{ id: "self-amount", label: "", of: "self", text: amount(self), key: (i) => self()[i] },
			{ id: "total", label: "Total", key: (i) => total()[i], text: percent(total), part: part(total) },
			{ id: "total-amount", label: "", of: "total", text: amount(total), key: (i) => total()[i] },
			...this.nameColumns(),
		];
	}

	changeColumns() {
		const { app } = this;
		const { by_time } = app.difference.scale;
		const show = (share) =>
			by_time ? formatRate(share, app.value().unit) : `${(100 * share).toFixed(2)} %`;
		const self = (i) => app.difference.of(app.sums.otherSelf[i], app.sums.self[i]);
		const total = (i) => app.difference.of(app.sums.otherTotal[i], app.sums.total[i]);
		const change = (of) => (i) => formatChange(of(i), by_time, app.value().unit);
		const weight = (of) => (i) => {
			const { kind, change: by, sigma } = of(i);
			return (kind === CHANGE.none ? 0 : 1e6) + Math.abs(by) + sigma * 1e-9;
		};
		return [
			{ id: "before", label: "Self before", key: (i) => self(i).before, text: (i) => show(self(i).before) },
			{ id: "after", label: "Self after", key: (i) => self(i).after, text: (i) => show(self(i).after) },
			{ id: "change", label: "Change \u00b1 error", key: weight(self), text: change(self), mark: (i) => self(i).kind },
			{ id: "total-after", label: "Total after", key: (i) => total(i).after, text: (i) => show(total(i).after) },
			{ id: "total-change", label: "Total change", key: weight(total), text: change(total), mark: (i) => total(i).kind },
			...this.nameColumns(),
		];
	}

	makeHead() {
		this.cells = this.columns();
		const row = element("tr", { "aria-rowindex": "1" });
		for (const column of this.cells) {
			if (column.of) continue;
			const button = element("button", { type: "button", textContent: column.label });
			const cell = element("th", { scope: "col", className: `column-${column.id}` }, button);
			if (this.cells.some((other) => other.of === column.id)) cell.colSpan = 2;
			button.addEventListener("click", () => this.sortBy(column.id));
			cell.dataset.column = column.id;
			row.append(cell);
		}
		this.head.replaceChildren(row);
	}

	sortBy(id) {
		const { view } = this.app;
		if (view.sort === id) view.ascending = !view.ascending;
		else [view.sort, view.ascending] = [id, id === "name" || id === "module"];
		this.update();
		this.app.saveAddress();
		say(`Sorted by ${id}, ${view.ascending ? "ascending" : "descending"}`);
	}

	/* Rebuilds the rows after weights, search or order have changed. */
	update() {
		const { app } = this;
		const { view, sums } = app;
		const column = this.cells.find((c) => c.id === view.sort) || this.cells[0];
		const wanted = app.search.expression;
		const order = [];
		for (let i = 0; i < sums.total.length; i++) {
			if (!sums.total[i] && !(sums.otherTotal && sums.otherTotal[i])) continue;
			if (wanted && !wanted.test(app.frames.functionName(i))) continue;
			order.push(i);
		}
		this.order = this.sort(order, column, view.ascending);
		for (const cell of this.head.querySelectorAll("th")) {
			const is = cell.dataset.column === column.id;
			cell.setAttribute("aria-sort", is ? (view.ascending ? "ascending" : "descending") : "none");
		}
		this.table.setAttribute("aria-rowcount", String(order.length + 1));
		this.focused = 0;
		this.scroller.scrollTop = 0;
		byId("functions-empty").hidden = order.length > 0;
		this.render();
	}

	sort(order, column, ascending) {
		const { sums } = this.app;
		const keys = new Map(order.map((i) => [i, column.key(i)]));
		const sign = ascending ? 1 : -1;
		const compare =
			typeof keys.get(order[0]) === "string"
				? (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0)
				: (a, b) => keys.get(a) - keys.get(b);
		return order.sort((a, b) => sign * compare(a, b) || sums.total[b] - sums.total[a] || a - b);
	}

	render() {
		const { scrollTop, clientHeight } = this.scroller;
		if (!clientHeight) return;
		const first = Math.max(0, Math.floor(scrollTop / TABLE_ROW) - TABLE_MORE);
		const end = Math.min(
			this.order.length, Math.ceil((scrollTop + clientHeight) / TABLE_ROW) + TABLE_MORE);
		const focusedRow = this.body.contains(document.activeElement) ? this.focused : -1;
		const rows = [this.space(first)];
		for (let i = first; i < end; i++) rows.push(this.row(i));
		rows.push(this.space(this.order.length - end));
		this.body.replaceChildren(...rows);
		if (focusedRow >= first && focusedRow < end) this.button(focusedRow).focus({ preventScroll: true });
	}

	space(nr) {
		const row = element("tr", { "aria-hidden": "true", className: "space" });
		const cell = element("td");
		cell.style.height = `${nr * TABLE_ROW}px`;
		row.hidden = nr <= 0;
		row.append(cell);
		return row;
	}

	row(place) {
		const number = this.order[place];
		const row = element("tr", { "aria-rowindex": String(place + 2) });
		row.dataset.place = place;
		if (this.app.view.function === number) row.classList.add("chosen");
		for (const column of this.cells)
			row.append(column.id === "name" ? this.nameCell(place, number) : this.cell(column, number));
		return row;
	}

	nameCell(place, number) {
		const name = this.app.frames.functionName(number) || "(no name)";
		const button = element("button", {
			type: "button", textContent: name, title: name, dir: "ltr",
			tabIndex: place === this.focused ? 0 : -1,
		});
		return element("th", { scope: "row", className: "column-name" }, button);
	}

	cell(column, number) {
		const text = column.text(number);
		const cell = element("td", { className: `column-${column.id}`, textContent: text });
		if (column.id === "module") cell.title = text;
		if (column.part) cell.style.setProperty("--part", `${(100 * column.part(number)).toFixed(2)}%`);
		if (column.mark) cell.dataset.change = ["none", "more", "less", "new", "gone"][column.mark(number)];
		return cell;
	}

	button(place) {
		return this.body.querySelector(`tr[data-place="${place}"] button`);
	}

	moveTo(place) {
		this.focused = Math.max(0, Math.min(this.order.length - 1, place));
		const top = this.focused * TABLE_ROW;
		const { scrollTop, clientHeight } = this.scroller;
		const room = clientHeight - this.head.offsetHeight - TABLE_ROW;
		if (top < scrollTop) this.scroller.scrollTop = top;
		else if (top > scrollTop + room) this.scroller.scrollTop = top - room;
		this.render();
		const button = this.button(this.focused);
		if (button) button.focus({ preventScroll: true });
	}

	onKey(event) {
		const page = Math.floor(this.scroller.clientHeight / TABLE_ROW) - 2;
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
		const step = steps[event.key];
		if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
		event.preventDefault();
		event.stopPropagation();
		this.moveTo(this.focused + step);
	}

	onClick(event) {
		const row = event.target.closest("tr[data-place]");
		if (!row || !event.target.closest("button")) return;
		this.focused = +row.dataset.place;
		this.app.openFunction(this.order[this.focused]);
	}
}
