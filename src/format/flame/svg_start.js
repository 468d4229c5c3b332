/* The last of the picture's scripts: starts it, now that everything is defined. */

function boxOf(event) {
	return event.target.flameNumber === undefined ? -1 : event.target.flameNumber;
}

/* If a picture is higher than the window, scrolls to the root at its bottom. */
function showRoot() {
	if (!growsDown && picture === document.documentElement)
		window.scrollTo(0, picture.getBoundingClientRect().height);
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
	frames.addEventListener('mouseover', (event) => showDetails(boxOf(event)));
	frames.addEventListener('mouseout', () => showDetails(-1));
/* Not on frames: in Chromium an element with a focus listener becomes focusable. */
	document.addEventListener('focusin', (event) => {
		if (frames.contains(event.target))
			showDetails(boxOf(event));
	});
	document.addEventListener('keydown', press);
	/*
	 * Not only for the window: a scroll bar that appears later makes the picture narrower, too.
	 */
	new ResizeObserver(fit).observe(picture);
	showRoot();
}

if (nr)
	start();
