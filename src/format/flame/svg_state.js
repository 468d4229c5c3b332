/*
 * The state is kept in the address, like flamegraph.pl: ?x=&y=&s= (box, search). If that is
 * forbidden (a file opened from disk in some browsers, a frame of another page), it is kept after #
 * instead.
 */

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

/* Returns the box in row y at or nearest to x: with other data, boxes move a little. */
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
