/*
 * Light or dark: what the system says, until somebody chooses. Runs first of all, so that the page is
 * never seen in the wrong one.
 */
"use strict";

const systemDark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null; /* "light", "dark"; null: the system's */

function isDark() {
	return chosenTheme ? chosenTheme === "dark" : systemDark.matches;
}

function applyTheme() {
	document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

function chooseTheme(theme) {
	chosenTheme = theme;
	applyTheme();
}

applyTheme();
