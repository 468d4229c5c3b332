/*
 * Samples over time, as bars. A time range is selected by dragging or with the arrow keys; all
 * views then show the samples in that range.
 */
"use strict";

const TIMELINE_AXIS = 16; /* pixels below the bars */

class Timeline {
	constructor(app) {
		this.app = app;
		this.canvas = byId("timeline-canvas");
		this.context = this.canvas.getContext("2d");
		this.slices = app.model.slices;
		const last = this.slices.starts.length - 1;
		this.startNs = this.slices.starts[0];
		this.spanNs = this.slices.starts[last] + this.slices.lengths[last] - this.startNs || 1;
		this.dragFrom = null;
		byId("timeline").hidden = false;
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.listen();
	}

	listen() {
		const { canvas } = this;
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0) return;
			canvas.setPointerCapture(event.pointerId);
			this.dragFrom = this.sliceAt(event.offsetX);
			this.choose(this.dragFrom, this.dragFrom, true);
		});
		canvas.addEventListener("pointermove", (event) => {
			if (this.dragFrom === null) this.showSlice(event);
			else this.choose(this.dragFrom, this.sliceAt(event.offsetX), true);
		});
		canvas.addEventListener("pointerup", (event) => {
			if (this.dragFrom === null) return;
			this.choose(this.dragFrom, this.sliceAt(event.offsetX));
			this.dragFrom = null;
		});
		canvas.addEventListener("keydown", (event) => this.onKey(event));
		byId("timeline-clear").addEventListener("click", () => this.app.setRange(null));
	}

	onKey(event) {
		const last = this.slices.starts.length - 1;
		const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
		const [first, end] = this.app.view.range || [0, last];
		if (event.key === "Escape") this.app.setRange(null);
		else if (event.key === "Home") this.choose(0, 0);
		else if (event.key === "End") this.choose(last, last);
		else if (!step) return;
		else if (event.shiftKey) this.choose(first, Math.max(first, Math.min(last, end + step)));
		else if (!this.app.view.range) this.choose(step > 0 ? 0 : last, step > 0 ? 0 : last);
		else this.move(first, end, step, last);
		event.preventDefault();
		event.stopPropagation();
	}

	move(first, end, step, last) {
		const by = Math.max(-first, Math.min(last - end, step));
		this.choose(first + by, end + by);
	}

	choose(one, other, isDragging = false) {
		this.app.setRange([Math.min(one, other), Math.max(one, other)], isDragging);
	}

	/* Slices are sorted by time. */
	sliceAt(x) {
		const ns = this.startNs + (x / this.canvas.clientWidth) * this.spanNs;
		const { starts } = this.slices;
		let low = 0;
		let high = starts.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (starts[middle] <= ns) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	rangeText([first, last]) {
		const { starts, lengths } = this.slices;
		const from = starts[first] - this.startNs;
		const to = starts[last] + lengths[last] - this.startNs;
		return `${formatSeconds(from)} to ${formatSeconds(to)}`;
	}

	showSlice(event) {
		const slice = this.sliceAt(event.offsetX);
		const count = formatWithName(
			this.sums[slice] * this.app.ratio(this.app.view.value), this.app.value());
		this.canvas.title = `${this.rangeText([slice, slice])}: ${count}`;
	}

	update() {
		const { view, model } = this.app;
		this.sums = sumBySlice(model.trees[0], this.slices, view.threads);
		this.draw();
	}

	showRange() {
		const { range } = this.app.view;
		const text = range ? this.rangeText(range) : "";
		byId("timeline-range").textContent = range ? `Time: ${text}` : "Time: full range";
		byId("timeline-clear").hidden = !range;
		this.canvas.setAttribute("aria-label", `Samples over time, ${range ? text : "full range"} selected`);
		if (range && this.dragFrom === null) say(`${text}: ${formatWithName(this.app.tree().total[0], this.app.value())}`);
		this.draw();
	}

	/* Returns rates, so that slices of different length are comparable. */
	columns(width) {
		const heights = new Float64Array(width);
		const { starts, lengths } = this.slices;
		const scale = width / this.spanNs;
		for (let i = 0; i < starts.length; i++) {
			const left = (starts[i] - this.startNs) * scale;
			const right = Math.max(left + 0.01, left + lengths[i] * scale);
			const rate = this.sums[i] / (right - left);
			for (let x = Math.floor(left); x < right && x < width; x++)
				heights[x] += rate * (Math.min(right, x + 1) - Math.max(left, x));
		}
		return heights;
	}

	draw() {
		const { clientWidth: width, clientHeight: height } = this.canvas;
		const ratio = window.devicePixelRatio || 1;
		if (!width || !this.sums) return;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.drawBars(width, height - TIMELINE_AXIS);
		this.drawAxis(width, height);
	}

	drawBars(width, height) {
		const style = getComputedStyle(document.documentElement);
		const heights = this.columns(width);
		const most = Math.max(...heights) || 1;
		const { range } = this.app.view;
		const at = (ns) => ((ns - this.startNs) / this.spanNs) * width;
		const { starts, lengths } = this.slices;
		const from = range ? at(starts[range[0]]) : 0;
		const to = range ? Math.max(from + 2, at(starts[range[1]] + lengths[range[1]])) : width;
		if (range) {
			this.context.fillStyle = style.getPropertyValue("--selection");
			this.context.fillRect(from, 0, to - from, height);
		}
		const accent = style.getPropertyValue("--accent");
		const faint = style.getPropertyValue("--bar-faint");
		for (let x = 0; x < width; x++) {
			const size = (heights[x] / most) * (height - 3);
			this.context.fillStyle = x + 0.5 >= from && x + 0.5 <= to ? accent : faint;
			this.context.fillRect(x, height - size, 1, size);
		}
	}

	drawAxis(width, height) {
		const style = getComputedStyle(document.documentElement);
		const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200];
		const seconds = this.spanNs / 1e9;
		const step = steps.find((s) => (s / seconds) * width >= 60) || 86400;
		this.context.fillStyle = style.getPropertyValue("--text-soft");
		this.context.font = `11px ${style.getPropertyValue("--font")}`;
		this.context.textBaseline = "bottom";
		this.context.fillRect(0, height - TIMELINE_AXIS, width, 1);
		for (let at = 0; at < seconds; at += step) {
			const x = (at / seconds) * width;
			this.context.fillRect(x, height - TIMELINE_AXIS, 1, 4);
			if (x + 40 < width) this.context.fillText(formatSeconds(at * 1e9), x + 4, height - 1);
		}
	}
}
