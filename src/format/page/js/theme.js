/*
 * Light or dark theme: the system's, unless the user chooses one. Runs before everything else, so
 * that the page is never painted in the wrong theme.
 */
"use strict";

const systemDark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null; /* "light" or "dark"; null: the system's theme */

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
