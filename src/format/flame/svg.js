/*
 * The script of a flame graph's picture: zoom, search, keyboard, and texts that fit their boxes.
 * This file, svg_search.js, svg_keys.js, svg_state.js and svg_start.js are concatenated into one
 * function (see assets.S), so that two pictures in one page do not share names.
 *
 * Boxes are in pre-order, callers first: the boxes above a box are the deeper ones that follow it.
 * Positions are read from the picture once; afterwards only changes are written to it.
 */
const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const MARGIN = 10; /* on both sides of the boxes */
const EDGE = 3; /* between the edge of a box and its text */
const SEARCH_PAUSE_MS = 120;

const script = document.currentScript;
const picture = script && script.parentNode ? script.parentNode : document.documentElement;
const frames = picture.querySelector('#frames');
const details = picture.querySelector('#details');
/* Not the computed style: Firefox has none while the frame around the picture has no size. */
const fontFamily = picture.getAttribute('font-family');
const fontSize = parseFloat(picture.getAttribute('font-size'));

/* --- the boxes ------------------------------------------------------------------------------- */

const boxes = Array.from(frames.querySelectorAll('rect'));
const nr = boxes.length;
const left = new Float64Array(nr); /* percent, as originally drawn; likewise width */
const width = new Float64Array(nr);
const top = new Float64Array(nr);
const depth = new Uint32Array(nr);
const end = new Uint32Array(nr); /* the first following box that is not above this one */
const parents = new Int32Array(nr);
const texts = new Array(nr);
const names = new Array(nr);
const row = parseFloat(frames.dataset.row);
let growsDown = false;
let baseline = 0; /* of a text, below the upper edge of its box */

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
	measure.font = fontSize + 'px ' + fontFamily;

function characterWidth(character) {
	let known = characterWidths.get(character);

	if (known === undefined) {
		known = measure ? measure.measureText(character).width : fontSize * 0.59;
		characterWidths.set(character, known);
	}
	return known;
}

/* Returns the part of the name that fits; '' if almost nothing does. */
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

/* leftNow and widthNow are in percent. */
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
	fitTitle();
}

function zoom(i) {
	if (i === zoomed)
		return;
	zoomed = i;
	layOut();
	keepState();
}

/* Called when the picture's width has changed: boxes adapt by themselves, texts do not. */
function fit() {
	const pixels = framesWidth();

	if (pixels === parseFloat(frames.getAttribute('width')))
		return;
	frames.setAttribute('width', pixels);
	for (let i = 0; i < nr; i++)
		if (isShown[i])
			writeText(i, parseFloat(boxes[i].getAttribute('x')),
				  parseFloat(boxes[i].getAttribute('width')), pixels);
	fitTitle();
}

/* --- the title ------------------------------------------------------------------------------- */

const title = picture.querySelector('#title');
const fullTitle = title.textContent;
const titleSize = parseFloat(title.getAttribute('font-size'));

function widthOf(words) {
	return Array.from(words).reduce((sum, character) => sum + characterWidth(character), 0);
}

/* Places the title between the buttons: centred if there is room, else smaller and truncated. */
function fitTitle() {
	const all = framesWidth() + 2 * MARGIN;
	const from = MARGIN + (zoomed ? widthOf(resetButton.textContent) + MARGIN : 0);
	const to = all - 2 * MARGIN - 3 * fontSize - widthOf(searchButton.textContent);
	const wanted = widthOf(fullTitle) / fontSize;
	const inMiddle = 2 * Math.min(all / 2 - from, to - all / 2);
	const size = Math.max(Math.min(titleSize, fontSize), Math.min(titleSize, (to - from) / wanted));
	const shown = cut(fullTitle, (to - from) * fontSize / size);

	title.setAttribute('font-size', size);
	title.setAttribute('x', wanted * size <= inMiddle ? '50%' : (from + to) / 2);
	if (title.textContent !== shown)
		title.textContent = shown;
}

/* --- details --------------------------------------------------------------------------------- */

function showDetails(i) {
	details.textContent = i < 0 ? ' '
		: details.dataset.name + ' ' + titleOf(i).split('\n').join(', ');
}
