/* Search: its buttons and field, and the share of the width that matches. */

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

/* Invalid regular expressions are searched literally. */
function expression(words) {
	const flags = foldsCase ? 'i' : '';

	try {
		return new RegExp(words, flags);
	} catch (error) {
		return new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
	}
}

/* Marks matching boxes; returns their total width in percent, without nested matches. */
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
	fitTitle();
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

/* Opens an ordinary text field over the picture. */
function openField() {
	const holder = document.createElementNS(SVG, 'foreignObject');
	const input = document.createElementNS(HTML, 'input');
	let pause = 0;

	if (field) {
		field.firstChild.focus();
		return;
	}
	holder.setAttribute('x', Math.max(framesWidth() - 18 * fontSize, MARGIN));
	holder.setAttribute('y', Math.max(0, -picture.getBoundingClientRect().top) + 0.7 * fontSize);
	holder.setAttribute('width', 18 * fontSize);
	holder.setAttribute('height', 2.2 * fontSize);
	input.setAttribute('type', 'text');
	input.setAttribute('aria-label', 'Search: regular expression');
	input.setAttribute('placeholder', 'regular expression');
	input.setAttribute('style', 'box-sizing:border-box;width:100%;font:' + fontSize +
			   'px ' + fontFamily.replace(/"/g, "'"));
	input.value = sought;
	input.addEventListener('input', () => {
		clearTimeout(pause);
		pause = setTimeout(() => search(input.value), SEARCH_PAUSE_MS);
	});
	input.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' && event.key !== 'Escape')
			return;
		event.stopPropagation();
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
