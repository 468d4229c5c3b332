/*
 * Mouse, pen and touch on a flame graph: a click zooms, the wheel zooms at the pointer (with Shift,
 * or sideways, it pans), dragging pans, two fingers pinch; a Control-click opens the function.
 */
"use strict";

const CLICK_SLACK = 4; /* pixels that the pointer may move during a click */
const WHEEL_ZOOM = 0.0022;
const LINE_HEIGHT = 18; /* pixels per line, for wheels that report lines */

function listenToPointer(graph) {
	const { canvas } = graph;
	const pointers = new Map();
	let moved = 0;

	const place = (event) => {
		const box = canvas.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	};
	const distance = () => {
		const [a, b] = [...pointers.values()];
		return Math.hypot(a.x - b.x, a.y - b.y) || 1;
	};
	const middle = () => [...pointers.values()].reduce((sum, p) => sum + p.x / pointers.size, 0);

	canvas.addEventListener("pointerdown", (event) => {
		if (event.button !== 0) return;
		if (!pointers.size) moved = 0;
		pointers.set(event.pointerId, place(event));
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		const at = place(event);
		const last = pointers.get(event.pointerId);
		if (!last) {
			hoverAt(graph, at, event);
			return;
		}
		const before = pointers.size === 2 ? distance() : 0;
		pointers.set(event.pointerId, at);
		moved += Math.abs(at.x - last.x) + Math.abs(at.y - last.y);
		if (moved < CLICK_SLACK) return;
		hoverAt(graph, null);
		if (before) graph.zoomAt(middle(), before / distance());
		else graph.pan(at.x - last.x, at.y - last.y);
	});
	const release = (event) => {
		const wasDown = pointers.delete(event.pointerId);
		if (!wasDown || event.type !== "pointerup" || moved >= CLICK_SLACK) return;
		clickAt(graph, place(event), event);
	};
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => hoverAt(graph, null));
	canvas.addEventListener("wheel", (event) => turnWheel(graph, place(event), event), {
		passive: false,
	});
	canvas.addEventListener("focus", () => graph.requestDraw());
	canvas.addEventListener("blur", () => graph.requestDraw());
}

function hoverAt(graph, at, event) {
	const node = at && graph.tree ? graph.nodeAt(at.x, at.y) : null;
	if (node !== graph.hover) {
		graph.hover = node;
		graph.canvas.style.cursor = node === null ? "default" : "pointer";
		graph.requestDraw();
	}
	graph.on.hover(node, event);
}

function clickAt(graph, at, event) {
	const node = graph.nodeAt(at.x, at.y);
	if (node === null) return;
	graph.setFocus(node, false);
	if (event.ctrlKey || event.metaKey) graph.on.open(node);
	else graph.zoomTo(node);
}

function turnWheel(graph, at, event) {
	const unit = event.deltaMode === 1 ? LINE_HEIGHT : 1;
	const dx = event.deltaX * unit;
	const dy = event.deltaY * unit;
	event.preventDefault();
	hoverAt(graph, null);
	if (event.shiftKey) graph.pan(-(dx || dy), 0);
	else if (event.altKey) graph.pan(0, -dy);
	else if (Math.abs(dx) > Math.abs(dy)) graph.pan(-dx, 0);
	else graph.zoomAt(at.x, Math.exp(dy * WHEEL_ZOOM));
}
