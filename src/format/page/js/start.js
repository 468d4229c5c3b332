/* The start of the page: reads the data that it contains. */
"use strict";

function fail(text) {
	byId("loading").classList.add("failed");
	byId("loading").textContent = text;
	byId("loading").setAttribute("role", "alert");
}

/* Resolves after the static page has been painted; the data are decoded only then. */
function afterPaint() {
	return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

async function main() {
	if (!window.DecompressionStream) {
		fail("This browser is too old to decompress the profile: it has no DecompressionStream. " +
			"Firefox 113, Chrome 80, Safari 16.4 or newer is needed.");
		return;
	}
	await afterPaint();
	try {
		const about = JSON.parse(byId("about").textContent);
		const app = new App(await readModel(about, byId("data").textContent));
		app.start();
		window.stook = app; /* for the console, and for tests */
		byId("loading").hidden = true;
		await afterPaint();
		performance.mark("graph painted");
	} catch (error) {
		fail(`The profile in this page cannot be read: ${error.message}`);
		throw error;
	}
}

addEventListener("DOMContentLoaded", main);
