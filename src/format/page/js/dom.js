/* Helpers for the DOM. Texts become text nodes, never markup. */
"use strict";

function byId(id) {
	return document.getElementById(id);
}

/* properties of the element; names with a dash are attributes. */
function element(tag, properties = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (name.includes("-") || name === "role" || name === "colspan") made.setAttribute(name, value);
		else made[name] = value;
	}
	made.append(...children);
	return made;
}

function fillSelect(select, options, chosen) {
	select.replaceChildren(
		...options.map(([value, text]) => element("option", { value, textContent: text })),
	);
	select.value = chosen;
}

/* Announces text to screen readers. */
function say(text) {
	byId("live").textContent = text;
}

async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = element("textarea", { value: text, className: "unseen" });
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	showNote(`Copied: ${text}`);
}

/* Shows a line that disappears by itself. */
function showNote(text) {
	const note = byId("note");
	note.textContent = text;
	note.hidden = false;
	clearTimeout(showNote.timer);
	showNote.timer = setTimeout(() => (note.hidden = true), 2500);
	say(text);
}
