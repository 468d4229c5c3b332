/* The last of the picture's scripts: all is there, and begins. */

function boxOf(event) {
	return event.target.flameNumber === undefined ? -1 : event.target.flameNumber;
}

/* A picture that is higher than the window is opened where its flames stand on the ground. */
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
	frames.addEventListener('mouseover', (event) => tell(boxOf(event)));
	frames.addEventListener('mouseout', () => tell(-1));
	/* Not the frames' own: an element that listens for the focus can have it in Chromium. */
	document.addEventListener('focusin', (event) => {
		if (frames.contains(event.target))
			tell(boxOf(event));
	});
	document.addEventListener('keydown', press);
	/* Not only the window's: a scroll bar that comes later makes a picture narrower, too. */
	new ResizeObserver(fit).observe(picture);
	showRoot();
}

if (nr)
	start();
