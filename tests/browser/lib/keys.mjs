// Key events for the DevTools Protocol and for WebDriver, from readable names: "a", "Enter", "Control+f",
// "Shift+ArrowLeft".

const modifierBits = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

// Windows key codes: pages may still use keyCode.
const named = {
	Backspace: 8, Tab: 9, Enter: 13, Escape: 27, Space: 32, PageUp: 33, PageDown: 34, End: 35,
	Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Insert: 45, Delete: 46,
	F1: 112, F2: 113, F3: 114, F4: 115, F5: 116, F6: 117, F7: 118, F8: 119, F9: 120, F10: 121,
	F11: 122, F12: 123,
};
const texts = { Enter: "\r", Space: " " };

export function modifierMask(names) {
	return names.reduce((mask, name) => {
		if (!(name in modifierBits))
			throw new Error(`unknown modifier '${name}'`);
		return mask | modifierBits[name];
	}, 0);
}

function codeOf(character) {
	if (/^[a-z]$/i.test(character))
		return `Key${character.toUpperCase()}`;
	return /^[0-9]$/.test(character) ? `Digit${character}` : "";
}

function namesOf(chord) {
	const parts = chord === "+" ? ["+"] : chord.replace(/\+\+$/, "+plus").split("+");
	const name = parts.pop().replace(/^plus$/, "+");
	return { name, parts };
}

// A key sends its text, unless Control, Alt or Meta makes it a command.
export function keyEvent(chord) {
	const { name, parts } = namesOf(chord);
	const modifiers = modifierMask(parts);
	const isCommand = (modifiers & ~modifierBits.Shift) !== 0;
	if (name in named) {
		const text = isCommand ? undefined : texts[name];
		const key = name === "Space" ? " " : name;
		return { key, code: name, windowsVirtualKeyCode: named[name], modifiers, text };
	}
	if ([...name].length !== 1)
		throw new Error(`unknown key '${name}'`);
	return {
		key: name,
		code: codeOf(name),
		windowsVirtualKeyCode: /^[a-z0-9]$/i.test(name) ? name.toUpperCase().charCodeAt(0) : 0,
		modifiers,
		text: isCommand ? undefined : name,
	};
}

// Private characters of WebDriver; other keys are their own.
const characters = {
	Backspace: 0xe003, Tab: 0xe004, Enter: 0xe007, Shift: 0xe008, Control: 0xe009, Alt: 0xe00a, Escape: 0xe00c,
	PageUp: 0xe00e, PageDown: 0xe00f, End: 0xe010, Home: 0xe011, ArrowLeft: 0xe012, ArrowUp: 0xe013, ArrowRight: 0xe014,
	ArrowDown: 0xe015, Insert: 0xe016, Delete: 0xe017, Meta: 0xe03d, Space: 0x20,
};

function characterOf(name) {
	if (/^F\d+$/.test(name))
		return String.fromCharCode(0xe030 + Number(name.slice(1)));
	if (!(name in characters) && [...name].length !== 1)
		throw new Error(`unknown key '${name}'`);
	return name in characters ? String.fromCharCode(characters[name]) : name;
}

// Returns the characters that WebDriver has for the keys: the modifiers, and the key.
export function keyCharacters(chord) {
	const { name, parts } = namesOf(chord);
	return { modifiers: parts.map(characterOf), key: characterOf(name) };
}
