/* Keyboard: moves between boxes, shortcuts, and descriptions for screen readers. */

/* --- keyboard -------------------------------------------------------------------------------- */

let focused = 0;

/* Only the focused box is exposed to screen readers: there may be 100,000 boxes. */
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

/*
 * Returns the next box in the same row, to the left (-1) or to the right (1); -1 if there is none.
 */
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
