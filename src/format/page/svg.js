/*
 * The script of a flame graph's picture: zoom, search, keyboard, and texts cut to their boxes.
 *
 * Boxes stand callers first, so what a box has above it is the run of deeper ones behind it. Where
 * they are is read from the picture once; afterwards only what changes is written to it.
 *
 * The state is kept in the address, as flamegraph.pl does: ?x=&y=&s= (which box, what is searched
 * for). Where that is forbidden (a file opened from disk in some browsers, a frame of another page)
 * it stands behind # instead.
 */
(function () {
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const MARGIN = 10; /* left and right of the boxes */
const EDGE = 3; /* between a box' edge and its text */
const SEARCH_PAUSE_MS = 120;

const script = document.currentScript;
const picture = script && script.parentNode ? script.parentNode : document.documentElement;
const frames = picture.querySelector('#frames');
const details = picture.querySelector('#details');
const style = getComputedStyle(picture);
const fontSize = parseFloat(style.fontSize);

/* --- the boxes ------------------------------------------------------------------------------- */

const boxes = Array.from(frames.querySelectorAll('rect'));
const nr = boxes.length;
const left = new Float64Array(nr); /* percent, as drawn first; so is width */
const width = new Float64Array(nr);
const top = new Float64Array(nr);
const depth = new Uint32Array(nr);
const end = new Uint32Array(nr); /* the first box that is not above this one */
const parents = new Int32Array(nr);
const texts = new Array(nr);
const names = new Array(nr);
const row = parseFloat(frames.dataset.row);
let growsDown = false;
let baseline = 0; /* of a text, below its box' upper edge */

function readBoxes() {
	const open = [];

	boxes.forEach((box, i) => {
		const text = box.nextElementSibling;

		box.flameNumber = i;
		left[i] = parseFloat(box.getAttribute('x'));
		width[i] = parseFloat(box.getAttribute('width'));
		top[i] = parseFloat(box.getAttribute('y'));
		depth[i] = Math.round(Math.abs(top[i] - top[0]) / row);
		growsDown = growsDown || top[i] > top[0];
		while (open.length > depth[i])
			end[open.pop()] = i;
		parents[i] = open.length ? open[open.length - 1] : -1;
		open.push(i);
		if (text && text.localName === 'text')
			texts[i] = text;
	});
	open.forEach((i) => {
		end[i] = nr;
	});
	baseline = texts[0] ? parseFloat(texts[0].getAttribute('y')) - top[0] : row * 0.75;
}

function titleOf(i) {
	return boxes[i].previousElementSibling.textContent;
}

function nameOf(i) {
	if (names[i] === undefined) {
		const line = titleOf(i).split('\n', 1)[0];

		names[i] = line.slice(0, line.lastIndexOf(' ('));
	}
	return names[i];
}

/* --- texts ----------------------------------------------------------------------------------- */

const canvas = document.createElementNS(HTML, 'canvas');
const measure = canvas.getContext ? canvas.getContext('2d') : null;
const characterWidths = new Map();

if (measure)
	measure.font = fontSize + 'px ' + style.fontFamily;

function characterWidth(character) {
	let known = characterWidths.get(character);

	if (known === undefined) {
		known = measure ? measure.measureText(character).width : fontSize * 0.59;
		characterWidths.set(character, known);
	}
	return known;
}

/* As much of the name as there is room for; nothing, if that is next to nothing. */
function cut(name, room) {
	const dots = 2 * characterWidth('.');
	let used = 0, fits = 0, at = 0, characters = 0;

	for (const character of name) {
		used += characterWidth(character);
		if (used > room)
			return characters < 1 ? '' : name.slice(0, fits) + '..';
		at += character.length;
		if (used + dots <= room) {
			fits = at;
			characters++;
		}
	}
	return name;
}

function makeText(i) {
	const text = document.createElementNS(SVG, 'text');

	text.setAttribute('y', top[i] + baseline);
	text.setAttribute('dx', EDGE);
	boxes[i].after(text);
	texts[i] = text;
	return text;
}

/* leftNow and widthNow in percent. */
function writeText(i, leftNow, widthNow, pixels) {
	const room = widthNow / 100 * pixels - 2 * EDGE;
	const shown = room < fontSize ? '' : cut(nameOf(i), room);

	if (!shown && !texts[i])
		return;
	const text = texts[i] || makeText(i);

	if (text.textContent !== shown)
		text.textContent = shown;
	if (shown)
		text.setAttribute('x', leftNow + '%');
}

/* --- zoom ------------------------------------------------------------------------------------ */

const isShown = new Uint8Array(nr).fill(1);
let zoomed = 0;

function framesWidth() {
	return Math.max(picture.getBoundingClientRect().width - 2 * MARGIN, 50);
}

function isAncestor(i, of) {
	return i < of && end[i] > of;
}

function show(i, shown) {
	if (isShown[i] === (shown ? 1 : 0))
		return;
	isShown[i] = shown ? 1 : 0;
	if (shown)
		boxes[i].removeAttribute('display');
	else
		boxes[i].setAttribute('display', 'none');
	if (texts[i] && !shown)
		texts[i].textContent = '';
}

function place(i, leftNow, widthNow, pixels) {
	show(i, true);
	boxes[i].setAttribute('x', leftNow + '%');
	boxes[i].setAttribute('width', widthNow + '%');
	writeText(i, leftNow, widthNow, pixels);
}

function layOut() {
	const pixels = framesWidth();
	const scale = 100 / (width[zoomed] || 100);

	for (let i = 0; i < nr; i++) {
		const above = isAncestor(i, zoomed);

		if (above)
			place(i, 0, 100, pixels);
		else if (i >= zoomed && i < end[zoomed])
			place(i, (left[i] - left[zoomed]) * scale, width[i] * scale, pixels);
		else
			show(i, false);
		if (boxes[i].classList.contains('above') !== above)
			boxes[i].classList.toggle('above', above);
	}
	resetButton.setAttribute('display', zoomed ? 'inline' : 'none');
}

function zoom(i) {
	if (i === zoomed)
		return;
	zoomed = i;
	layOut();
	keepState();
}

/* Another width of the window: boxes follow by themselves, texts do not. */
function fit() {
	const pixels = framesWidth();

	frames.setAttribute('width', pixels);
	for (let i = 0; i < nr; i++)
		if (isShown[i])
			writeText(i, parseFloat(boxes[i].getAttribute('x')),
				  parseFloat(boxes[i].getAttribute('width')), pixels);
}

/* --- details --------------------------------------------------------------------------------- */

function tell(i) {
	details.textContent = i < 0 ? ' '
		: details.dataset.name + ' ' + titleOf(i).split('\n').join(', ');
}

/* --- buttons --------------------------------------------------------------------------------- */

function addText(attributes, words) {
	const text = document.createElementNS(SVG, 'text');

	Object.keys(attributes).forEach((key) => text.setAttribute(key, attributes[key]));
	text.textContent = words;
	picture.insertBefore(text, frames);
	return text;
}

function addButton(attributes, words, press) {
	const button = addText(attributes, words);

	button.setAttribute('class', 'button');
	button.setAttribute('role', 'button');
	button.setAttribute('tabindex', '0');
	button.addEventListener('click', press);
	button.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' && event.key !== ' ')
			return;
		event.preventDefault();
		event.stopPropagation();
		press();
	});
	return button;
}

const resetButton = addButton({id: 'reset', x: MARGIN, y: 2 * fontSize, display: 'none'},
			      'Reset zoom', () => zoom(0));
const searchButton = addButton({id: 'search', x: '100%', dx: -MARGIN - 3 * fontSize,
				y: 2 * fontSize, 'text-anchor': 'end'}, 'Search', () => {
	if (sought)
		search('');
	else
		openField();
});
const caseButton = addButton({id: 'fold', x: '100%', dx: -MARGIN, y: 2 * fontSize,
			      'text-anchor': 'end', 'aria-label': 'Ignore case'}, 'ic', foldCase);
const matchedText = addText({id: 'matched', x: '100%', dx: -MARGIN,
			     y: details.getAttribute('y'), 'text-anchor': 'end',
			     role: 'status'}, '');

/* --- search ---------------------------------------------------------------------------------- */

let sought = '';
let foldsCase = false;
let field = null;

/* What is no regular expression is searched for as it stands. */
function expression(words) {
	const flags = foldsCase ? 'i' : '';

	try {
		return new RegExp(words, flags);
	} catch (error) {
		return new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
	}
}

/* Marks boxes; the percent of the width that any of them takes, those within others not again. */
function mark(pattern) {
	let percent = 0, counted = 0;

	for (let i = 0; i < nr; i++) {
		const matches = pattern !== null && pattern.test(nameOf(i));

		if (boxes[i].classList.contains('match') !== matches)
			boxes[i].classList.toggle('match', matches);
		if (matches && i >= counted) {
			percent += width[i];
			counted = end[i];
		}
	}
	return percent;
}

function search(words) {
	sought = words;
	const percent = mark(words ? expression(words) : null);

	matchedText.textContent = words ? 'Matched: ' + percent.toFixed(1) + '%' : '';
	searchButton.textContent = words ? 'Reset search' : 'Search';
	keepState();
}

function foldCase() {
	foldsCase = !foldsCase;
	showFolding();
	if (sought)
		search(sought);
}

function showFolding() {
	caseButton.classList.toggle('off', !foldsCase);
	caseButton.setAttribute('aria-pressed', foldsCase);
}

/* An ordinary text field over the picture. */
function openField() {
	const holder = document.createElementNS(SVG, 'foreignObject');
	const input = document.createElementNS(HTML, 'input');
	let pause = 0;

	if (field) {
		field.firstChild.focus();
		return;
	}
	holder.setAttribute('x', Math.max(framesWidth() - 18 * fontSize, MARGIN));
	holder.setAttribute('y', 0.7 * fontSize);
	holder.setAttribute('width', 18 * fontSize);
	holder.setAttribute('height', 2.2 * fontSize);
	input.setAttribute('type', 'text');
	input.setAttribute('aria-label', 'Search: regular expression');
	input.setAttribute('placeholder', 'regular expression');
	input.setAttribute('style', 'box-sizing:border-box;width:100%;font:' + fontSize +
			   'px ' + style.fontFamily.replace(/"/g, "'"));
	input.value = sought;
	input.addEventListener('input', () => {
		clearTimeout(pause);
		pause = setTimeout(() => search(input.value), SEARCH_PAUSE_MS);
	});
	input.addEventListener('keydown', (event) => {
		event.stopPropagation();
		if (event.key !== 'Enter' && event.key !== 'Escape')
			return;
		clearTimeout(pause);
		search(event.key === 'Enter' ? input.value : '');
		closeField();
	});
	holder.appendChild(input);
	picture.appendChild(holder);
	field = holder;
	input.focus();
	input.select();
}

function closeField() {
	if (field)
		field.remove();
	field = null;
	boxes[focused].focus();
}

/* --- keyboard -------------------------------------------------------------------------------- */

let focused = 0;

/* Only the box in question is something to a screen reader: there may be 100,000. */
function focusBox(i) {
	boxes[focused].setAttribute('tabindex', '-1');
	focused = i;
	describe(i);
	boxes[i].focus();
}

function describe(i) {
	boxes[i].setAttribute('tabindex', '0');
	boxes[i].setAttribute('role', 'treeitem');
	boxes[i].setAttribute('aria-level', depth[i] + 1);
	boxes[i].setAttribute('aria-label', titleOf(i).split('\n').join(', '));
}

function widestChild(i) {
	let widest = -1;

	for (let child = i + 1; child < end[i]; child = end[child])
		if (isShown[child] && (widest < 0 || width[child] > width[widest]))
			widest = child;
	return widest;
}

/* The next one in the same row, to the left (-1) or to the right (1). */
function neighbour(i, step) {
	let at = i + step;

	while (at >= 0 && at < nr && !(isShown[at] && depth[at] === depth[i]))
		at += step;
	return at < nr ? at : -1;
}

function boxInDirection(key) {
	switch (key) {
	case 'ArrowUp':
		return growsDown ? parents[focused] : widestChild(focused);
	case 'ArrowDown':
		return growsDown ? widestChild(focused) : parents[focused];
	case 'ArrowLeft':
		return neighbour(focused, -1);
	case 'ArrowRight':
		return neighbour(focused, 1);
	case 'Home':
		return zoomed;
	default:
		return -1;
	}
}

function pressInFrames(event) {
	if (event.key === 'Enter' || event.key === ' ') {
		zoom(focused);
		event.preventDefault();
		return;
	}
	if (!event.key.startsWith('Arrow') && event.key !== 'Home')
		return;
	const next = boxInDirection(event.key);

	if (next >= 0)
		focusBox(next);
	event.preventDefault();
}

function reset() {
	if (sought)
		search('');
	else
		zoom(0);
}

function press(event) {
	const letter = event.ctrlKey || event.metaKey ? event.key.toLowerCase() : '';

	if (letter === 'f' || event.key === 'F3') {
		event.preventDefault();
		openField();
	} else if (letter === 'i') {
		event.preventDefault();
		foldCase();
	} else if (event.key === 'Escape') {
		reset();
	} else if (frames.contains(event.target) && !event.ctrlKey && !event.metaKey) {
		pressInFrames(event);
	}
}

/* --- the state in the address ---------------------------------------------------------------- */

let keepsState = false;

function keepState() {
	const state = new URLSearchParams(location.search);

	if (!keepsState)
		return;
	['x', 'y', 's'].forEach((key) => state.delete(key));
	if (zoomed) {
		state.set('x', left[zoomed]);
		state.set('y', top[zoomed]);
	}
	if (sought)
		state.set('s', sought);
	const words = state.toString();

	try {
		history.replaceState(null, '', words ? '?' + words : location.pathname);
	} catch (error) {
		try {
			history.replaceState(null, '', '#' + words);
		} catch (never) {
			keepsState = false;
		}
	}
}

/* The box in this row that x is in, or nearest to: other data moves boxes a little. */
function boxAt(x, y) {
	let best = 0, away = Infinity;

	for (let i = 0; i < nr; i++) {
		if (top[i] !== y)
			continue;
		const distance = Math.abs(left[i] - x);

		if (distance < away) {
			best = i;
			away = distance;
		}
	}
	return best;
}

function restoreState() {
	const words = location.hash.includes('=') ? location.hash.slice(1) : location.search;
	const state = new URLSearchParams(words);

	if (state.get('x') !== null && state.get('y') !== null)
		zoomed = boxAt(parseFloat(state.get('x')), parseFloat(state.get('y')));
	if (state.get('s'))
		search(state.get('s'));
}

/* --- all of it ------------------------------------------------------------------------------- */

function boxOf(event) {
	return event.target.flameNumber === undefined ? -1 : event.target.flameNumber;
}

function start() {
	readBoxes();
	picture.removeAttribute('viewBox');
	picture.setAttribute('width', '100%');
	frames.setAttribute('width', framesWidth());
	frames.setAttribute('role', 'tree');
	frames.setAttribute('aria-label', 'Flame graph: arrow keys move, Enter zooms');
	describe(0);
	showFolding();
	restoreState();
	layOut();
	keepsState = true;
	frames.addEventListener('click', (event) => {
		if (boxOf(event) >= 0)
			zoom(boxOf(event));
	});
	frames.addEventListener('mouseover', (event) => tell(boxOf(event)));
	frames.addEventListener('mouseout', () => tell(-1));
	frames.addEventListener('focusin', (event) => tell(boxOf(event)));
	document.addEventListener('keydown', press);
	window.addEventListener('resize', fit);
}

if (nr)
	start();
})();
