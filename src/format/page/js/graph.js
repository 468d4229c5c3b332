/*
 * A flame graph on a canvas: shows a part of a tree's width, `view`, at a scroll position. Only the
 * visible part is laid out and drawn, at most once per animation frame.
 *
 * The owner passes `style`, which provides name(tree, node), colors(tree, node) and the other
 * colours; and `on`, which is called back: focus(node), hover(node, event), zoom(), open(node).
 */
"use strict";

const ROW = 19; /* pixels per row, including a gap of one */
const FONT_SIZE = 11.5;
const FONT = `${FONT_SIZE}px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace`;
const TEXT_PAD = 4;
const SCROLLBAR = 5;
const ANIMATION_MS = 70;
const QUICK_DRAW_MS = 8; /* zooms are animated only if drawing takes no longer */
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

class FlameGraph {
	constructor(canvas, style, on) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d", { alpha: false });
		this.style = style;
		this.on = on;
		this.boxes = new Boxes();
		this.tree = null;
		this.view = { from: 0, to: 1 };
		this.scroll = 0; /* pixels scrolled, from the root's end */
		this.isIcicle = false;
		this.byWeight = false;
		this.focus = 0;
		this.zoomed = 0; /* the last node that was zoomed to */
		this.hover = null;
		this.drawMs = 0;
		this.frame = 0;
		new ResizeObserver(() => this.resize()).observe(canvas);
		listenToPointer(this);
	}

	setTree(tree) {
		if (tree !== this.tree) this.zoomed = this.focus = 0;
		this.tree = tree;
		this.hover = null;
		this.resize();
	}

	resize() {
		const { clientWidth, clientHeight } = this.canvas;
		const ratio = window.devicePixelRatio || 1;
		if (!clientWidth || !clientHeight) return;
		this.pixels = { width: clientWidth, height: clientHeight, ratio };
		this.canvas.width = Math.round(clientWidth * ratio);
		this.canvas.height = Math.round(clientHeight * ratio);
		this.clampScroll();
		this.draw();
	}

	requestDraw() {
		if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
	}

	/*
	 * --- positions --------------------------------------------------------------------------
	 */

	contentHeight() {
		return this.tree ? this.tree.nrDepths * ROW : 0;
	}

	clampScroll() {
		const most = Math.max(0, this.contentHeight() - (this.pixels ? this.pixels.height : 0));
		this.scroll = Math.min(most, Math.max(0, this.scroll));
	}

	top(row) {
		return this.isIcicle
			? row * ROW - this.scroll
			: this.pixels.height - (row + 1) * ROW + this.scroll;
	}

	rowAt(y) {
		return Math.floor(
			(this.isIcicle ? y + this.scroll : this.pixels.height - y - 1 + this.scroll) / ROW,
		);
	}

	nodeAt(x, y) {
		const node = this.tree ? this.boxes.find(this.rowAt(y), x) : null;
		return node === MANY ? null : node;
	}

	/* --- moving ----------------------------------------------------------------------------- */

	setView(from, to) {
		const least = 1e-9;
		const size = Math.min(1, Math.max(least, to - from));
		const start = Math.min(1 - size, Math.max(0, from));
		this.view = { from: start, to: start + size };
		this.on.zoom();
		this.requestDraw();
	}

	zoomAt(x, factor) {
		const { from, to } = this.view;
		const at = from + ((to - from) * x) / this.pixels.width;
		this.stopAnimation();
		this.setView(at - (at - from) * factor, at + (to - at) * factor);
	}

	pan(dx, dy) {
		const shift = (dx / this.pixels.width) * (this.view.to - this.view.from);
		this.stopAnimation();
		this.scroll += this.isIcicle ? -dy : dy;
		this.clampScroll();
		this.setView(this.view.from - shift, this.view.to - shift);
	}

	rangeOf(node) {
		const all = this.tree.width[0] || 1;
		const start = this.tree.start(node, this.byWeight);
		return { from: start / all, to: (start + this.tree.width[node]) / all };
	}

	zoomTo(node) {
		if (!this.tree || !this.tree.width[node]) return;
		this.zoomed = node;
		this.showRow(this.tree.depth[node], true);
		this.animateTo(this.rangeOf(node));
	}

	/* Returns the zoom: a node, or a range. */
	zoom() {
		const node = this.viewNode();
		return node && node === this.zoomed ? { node } : this.view;
	}

	/* Restores a zoom without animation; widths may have changed since it was returned. */
	setZoom({ node, from = 0, to = 1 }) {
		const range = node && this.tree.width[node] ? this.rangeOf(node) : { from, to };
		this.stopAnimation();
		this.zoomed = node || 0;
		if (node) this.showRow(this.tree.depth[node], true);
		this.setView(range.from, range.to);
	}

	reset() {
		this.scroll = 0;
		this.animateTo({ from: 0, to: 1 });
	}

	/* Scrolls to make the row visible, and when zooming also the rows above it. */
	showRow(row, withCallees) {
		if (!this.pixels) return;
		const { height } = this.pixels;
		const room = withCallees ? Math.max(ROW * 2, height / 2) : ROW * 2;
		if ((row + 1) * ROW - this.scroll > height - room + ROW)
			this.scroll = (row + 1) * ROW - height + room;
		if (row * ROW < this.scroll) this.scroll = row * ROW;
		this.clampScroll();
	}

	stopAnimation() {
		cancelAnimationFrame(this.animation);
		this.animation = 0;
	}

	animateTo(target) {
		const start = this.view;
		const begin = performance.now();
		const step = (now) => {
			const part = Math.min(1, Math.max(0, (now - begin) / ANIMATION_MS));
			const eased = 1 - (1 - part) ** 3;
			this.setView(
				start.from + (target.from - start.from) * eased,
				start.to + (target.to - start.to) * eased,
			);
			if (part < 1) this.animation = requestAnimationFrame(step);
		};
		this.stopAnimation();
		if (reducedMotion.matches || this.drawMs > QUICK_DRAW_MS) this.setView(target.from, target.to);
		else this.animation = requestAnimationFrame(step);
	}

	setFocus(node, scroll = true) {
		this.focus = node;
		if (scroll) {
			this.showRow(this.tree.depth[node], false);
			const range = this.rangeOf(node);
			const { from, to } = this.view;
			/* The view follows if the node is out of sight. */
			if (range.to <= from || range.from >= to)
				this.setView((range.from + range.to - (to - from)) / 2, (range.from + range.to + to - from) / 2);
		}
		this.on.focus(node);
		this.requestDraw();
	}

	/* Returns the node that was zoomed to; else the deepest node that covers the view. */
	viewNode() {
		const { from, to } = this.view;
		const slack = (to - from) * 1e-6;
		const covers = (range) => range.from <= from + slack && range.to >= to - slack;
		const isAll = ({ from: start, to: end }) => end - start <= to - from + slack;
		if (!this.tree || !this.tree.width[0]) return 0;
		if (this.zoomed && this.zoomed < this.tree.nr) {
			const range = this.rangeOf(this.zoomed);
			if (covers(range) && isAll(range)) return this.zoomed;
		}
		let node = 0;
		let range = { from: 0, to: 1 };
		while (!isAll(range)) {
			const child = this.childOver(node, range.from, covers);
			if (!child) break;
			[node, range] = child;
		}
		return node;
	}

	childOver(node, start, covers) {
		const { tree } = this;
		const children = tree.children(node);
		if (this.byWeight) children.sort((a, b) => (tree.isBefore(a, b) ? -1 : 1));
		for (const child of children) {
			const range = { from: start, to: start + tree.width[child] / tree.width[0] };
			if (covers(range)) return [child, range];
			start = range.to;
		}
		return null;
	}

	/* --- drawing ---------------------------------------------------------------------------- */

	draw() {
		const begin = performance.now();
		cancelAnimationFrame(this.frame);
		this.frame = 0;
		if (!this.tree || !this.pixels) return;
		const { width, height, ratio } = this.pixels;
		const context = this.context;
		const maxRow = Math.ceil((height + this.scroll) / ROW);
		layOut(this.boxes, this.tree, this.view, width, maxRow, this.byWeight);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = this.style.background();
		context.fillRect(0, 0, width, height);
		context.font = FONT;
		context.textBaseline = "middle";
		this.charWidth = this.charWidth || context.measureText("0").width;
		for (let row = 0; row < this.boxes.nrRows; row++) {
			const top = this.top(row);
			if (top > -ROW && top < height) this.drawRow(this.boxes.rows[row], top);
		}
		this.drawOutlines();
		this.drawScrollbar();
		this.drawMs = performance.now() - begin;
	}

	drawRow({ nodes, lefts, rights }, top) {
		const { width } = this.pixels;
		for (let i = 0; i < nodes.length; i++) {
			const left = Math.max(0, lefts[i]);
			const right = Math.min(width, rights[i]);
			/* Leave a gap between neighbours if there is room for it. */
			const gap = right - left > 3 && rights[i] <= width ? 1 : 0;
			if (nodes[i] === MANY) {
				this.context.fillStyle = this.style.many();
				this.context.fillRect(left, top, right - left, ROW - 1);
			} else {
				this.drawBox(nodes[i], left, right - left - gap, top);
			}
		}
	}

	drawBox(node, left, width, top) {
		const { fill, text } = this.style.colors(this.tree, node);
		const room = Math.floor((width - 2 * TEXT_PAD) / this.charWidth);
		this.context.fillStyle = fill;
		this.context.fillRect(left, top, Math.max(width, 0.5), ROW - 1);
		if (room < 3) return;
		const name = this.style.name(this.tree, node);
		const shown = name.length <= room ? name : name.slice(0, room - 1) + "\u2026";
		this.context.fillStyle = text;
		this.context.fillText(shown, left + TEXT_PAD, top + ROW / 2, width - 2 * TEXT_PAD);
	}

	drawOutlines() {
		const line = (node, color, size) => {
			const row = this.tree.depth[node];
			if (row >= this.boxes.nrRows) return;
			const { nodes, lefts, rights } = this.boxes.rows[row];
			const at = nodes.indexOf(node);
			if (at < 0) return;
			const left = Math.max(0, lefts[at]);
			const right = Math.min(this.pixels.width, rights[at]);
			this.context.strokeStyle = color;
			this.context.lineWidth = size;
			this.context.strokeRect(
				left + size / 2, this.top(row) + size / 2, Math.max(1, right - left - size - 1), ROW - 1 - size);
		};
		if (this.hover !== null) line(this.hover, this.style.outline(), 1);
		if (document.activeElement === this.canvas) line(this.focus, this.style.outline(), 2);
	}

	drawScrollbar() {
		const { width, height } = this.pixels;
		const content = this.contentHeight();
		if (content <= height) return;
		const size = Math.max(24, (height * height) / content);
		const at = (this.scroll / (content - height)) * (height - size);
		this.context.fillStyle = this.style.scrollbar();
		this.context.fillRect(
			width - SCROLLBAR, this.isIcicle ? at : height - size - at, SCROLLBAR, size);
	}
}
