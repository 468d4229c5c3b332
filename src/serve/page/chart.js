/*
 * Amounts over time, stacked. A time is selected by dragging or with the arrow keys, and with Shift another one to
 * compare it with.
 */
"use strict";

const CHART_AXIS = 18; /* pixels below the areas */
const CHART_TOP = 14;
const CHART_STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

function chartColor(rank, nr) {
	if (rank === nr) return cssOfRgb(THEMES[isDark() ? "dark" : "light"].grey);
	const [saturation, lightness] = isDark() ? [0.5, 0.42] : [0.62, 0.66];
	return cssOfRgb(rgbOfHsl(CATEGORY_HUES[rank % CATEGORY_HUES.length], saturation, lightness));
}

function timeText(seconds, withDate) {
	const date = new Date(seconds * 1000);
	const two = (number) => String(number).padStart(2, "0");
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
	return withDate ? `${day} ${time}` : time;
}

/* Seconds of the clock here, as if it were UTC, at a time; and the time when it has these. */
function clockAt(seconds) {
	return seconds - new Date(seconds * 1000).getTimezoneOffset() * 60;
}

function timeOfClock(clock) {
	const date = new Date(clock * 1000);
	return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours()) / 1000;
}

function rangeText([from, to]) {
	const isSameDay = timeText(from, true).slice(0, 10) === timeText(to, true).slice(0, 10);
	return `${timeText(from, true)} to ${timeText(to, !isSameDay)}`;
}

class Chart {
	/* on.select(range or null, isBase), ranges in seconds */
	constructor(on) {
		this.on = on;
		this.canvas = byId("chart");
		this.context = this.canvas.getContext("2d");
		this.data = null;
		this.selected = this.base = null;
		this.drag = null;
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.listen();
	}

	listen() {
		const { canvas } = this;
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0 || !this.data) return;
			canvas.setPointerCapture(event.pointerId);
			this.drag = { from: this.pointAt(event.offsetX), isBase: event.shiftKey };
			this.show(this.drag.from, this.drag.from);
		});
		canvas.addEventListener("pointermove", (event) => {
			if (!this.data) return;
			if (this.drag) this.show(this.drag.from, this.pointAt(event.offsetX));
			else canvas.title = this.titleOf(this.pointAt(event.offsetX));
		});
		canvas.addEventListener("pointerup", () => this.endDrag());
		canvas.addEventListener("pointercancel", () => this.endDrag());
		canvas.addEventListener("keydown", (event) => this.onKey(event));
	}

	endDrag() {
		if (!this.drag) return;
		const { isBase } = this.drag;
		this.drag = null;
		this.on.select(isBase ? this.base : this.selected, isBase);
	}

	show(one, other) {
		const range = this.rangeOf(Math.min(one, other), Math.max(one, other));
		if (this.drag.isBase) this.base = range;
		else this.selected = range;
		this.draw();
	}

	onKey(event) {
		if (!this.data || event.ctrlKey || event.metaKey || event.altKey) return;
		const last = this.data.points - 1;
		const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
		if (event.key === "Escape") {
			this.on.select(null, false);
		} else if (event.key === "Enter") {
			this.on.zoom();
		} else if (event.key === "Home" || event.key === "End") {
			const at = event.key === "Home" ? 0 : last;
			this.on.select(this.rangeOf(at, at), false);
		} else if (step) {
			const { from, step: length } = this.data;
			const [first, end] = this.selected
				? [Math.round((this.selected[0] - from) / length), Math.round((this.selected[1] - from) / length) - 1]
				: step > 0 ? [this.data.covered.indexOf(1) - 1, this.data.covered.indexOf(1) - 1]
					: [this.data.covered.lastIndexOf(1) + 1, this.data.covered.lastIndexOf(1) + 1];
			const to = Math.max(0, Math.min(last, end + step));
			const by = event.shiftKey ? 0 : Math.max(-first, Math.min(last - end, step));
			this.on.select(event.shiftKey ? this.rangeOf(Math.max(0, Math.min(first, to)), to) : this.rangeOf(first + by, end + by), false);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	setData(data) {
		this.data = data;
		const rows = [...data.series.map((row) => row.amounts), data.rest];
		this.sums = data.covered.map((_, point) => rows.reduce((sum, amounts) => sum + amounts[point], 0));
		this.rows = rows.map((amounts) => amounts.map((_, point) => this.rateAt(amounts, point)));
		this.rates = this.sums.map((_, point) => this.rateAt(this.sums, point));
		this.most = Math.max(...this.rates, 0);
		this.draw();
	}

	setRanges(selected, base) {
		this.selected = selected;
		this.base = base;
		this.draw();
	}

	end() {
		return this.data.from + this.data.points * this.data.step;
	}

	pointAt(x) {
		const point = Math.floor((x / this.canvas.clientWidth) * this.data.points);
		return Math.max(0, Math.min(this.data.points - 1, point));
	}

	rangeOf(first, last) {
		const { from, step } = this.data;
		return [from + first * step, from + (last + 1) * step];
	}

	/*
	 * Per second. What is in a point was measured for less or more than its length: it consists of whole epochs. One of
	 * some milliseconds, as before a pause, says little.
	 */
	rateAt(amounts, point) {
		return amounts[point] / Math.max(this.data.measured[point] || this.data.step, this.data.step / 20);
	}

	/* Time on CPUs per time is a number of CPUs. */
	rateText(rate) {
		const { unit, value } = this.data;
		if (unit === "nanoseconds") return `${+(rate / 1e9).toPrecision(3)} ${value === "cpu" ? "CPUs" : "threads"}`;
		return `${formatWithName(rate, { unit, type: value })}/s`;
	}

	titleOf(point) {
		const top = this.data.series
			.map((row) => [showUnseen(row.name) || "(none)", this.rateAt(row.amounts, point)])
			.filter(([, rate]) => rate > 0)
			.slice(0, 8)
			.map(([name, rate]) => `${name}: ${this.rateText(rate)}`);
		const text = this.data.covered[point] ? this.rateText(this.rates[point]) : "no data";
		return [`${rangeText(this.rangeOf(point, point))}: ${text}`, ...top].join("\n");
	}

	draw() {
		const { clientWidth: width, clientHeight: height } = this.canvas;
		const ratio = window.devicePixelRatio || 1;
		if (!width || !this.data) return;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		const style = getComputedStyle(document.documentElement);
		this.drawAreas(width, height - CHART_AXIS, style);
		this.drawRanges(width, height - CHART_AXIS, style);
		this.drawAxis(width, height, style);
	}

	drawAreas(width, height, style) {
		const { context, data } = this;
		const scale = (height - CHART_TOP) / (this.most || 1);
		const at = (point) => Math.round((point / data.points) * width);
		context.fillStyle = style.getPropertyValue("--ground");
		context.fillRect(0, 0, width, height);
		for (let point = 0; point < data.points; point++) {
			const left = at(point);
			const size = Math.max(1, at(point + 1) - left);
			let bottom = height;
			if (!data.covered[point]) {
				context.fillStyle = style.getPropertyValue("--panel");
				context.fillRect(left, 0, size, height);
			}
			this.rows.forEach((rates, rank) => {
				const part = rates[point] * scale;
				if (part <= 0) return;
				context.fillStyle = chartColor(rank, this.rows.length - 1);
				context.fillRect(left, bottom - part, size, part);
				bottom -= part;
			});
		}
		context.fillStyle = style.getPropertyValue("--text-soft");
		context.font = `11px ${style.getPropertyValue("--font")}`;
		context.textBaseline = "top";
		if (this.most) context.fillText(this.rateText(this.most), 4, 1);
	}

	drawRanges(width, height, style) {
		const { context, data } = this;
		const at = (time) => ((time - data.from) / (data.points * data.step)) * width;
		for (const [range, name, text] of [[this.base, "--less", "before"], [this.selected, "--accent", this.base ? "after" : ""]]) {
			if (!range) continue;
			const left = at(range[0]);
			const size = Math.max(2, at(range[1]) - left);
			context.strokeStyle = context.fillStyle = style.getPropertyValue(name);
			context.lineWidth = 2;
			context.setLineDash(range === this.base ? [4, 3] : []);
			context.strokeRect(left + 1, 1, Math.max(1, size - 2), height - 2);
			context.globalAlpha = 0.16;
			context.fillRect(left, 0, size, height);
			context.globalAlpha = 1;
			if (text) context.fillText(text, left + 4, 14);
		}
		context.setLineDash([]);
	}

	drawAxis(width, height, style) {
		const { context, data } = this;
		const seconds = data.points * data.step;
		const step = CHART_STEPS.find((s) => (s / seconds) * width >= 110) || 2592000;
		const offset = data.from - clockAt(data.from);
		/* When the clock is changed, short steps go on, and long ones stay at full hours of the clock. */
		const timeOf = step > 3600 ? timeOfClock : (clock) => clock + offset;
		context.fillStyle = style.getPropertyValue("--text-soft");
		context.textBaseline = "bottom";
		context.fillRect(0, height - CHART_AXIS, width, 1);
		for (let clock = Math.ceil(clockAt(data.from) / step) * step; timeOf(clock) < data.from + seconds; clock += step) {
			const time = timeOf(clock);
			const x = ((time - data.from) / seconds) * width;
			const text = timeText(time, true);
			context.fillRect(x, height - CHART_AXIS, 1, 4);
			if (x + 70 < width) context.fillText(step >= 86400 ? text.slice(0, 10) : step >= 3600 ? text.slice(5, 16) : text.slice(11), x + 4, height - 1);
		}
	}
}
