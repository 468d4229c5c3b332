/*
 * Colours of frames: the hues of format/flame/palette.c, as in a picture of the same profile. Text
 * is readable on all of them: each theme's lightness gives a contrast of at least 4.5 with its
 * text, which tests/browser/html.mjs checks.
 */
"use strict";

const THEMES = {
	light: {
		text: [27, 29, 33],
		frame: 0.76, /* lightness */
		step: 0.022, /* between shades of one colour */
		saturation: 0.8,
		change: { pale: [0.85, 0.88], strong: [0.85, 0.64] }, /* saturation, lightness */
		match: [232, 120, 236],
		matchText: [27, 29, 33],
		faded: [226, 228, 232],
		fadedText: [84, 88, 97],
		line: [255, 255, 255],
		focus: [16, 60, 160],
		grey: [219, 221, 225],
	},
	dark: {
		text: [244, 245, 247],
		frame: 0.27,
		step: 0.016,
		saturation: 0.46,
		change: { pale: [0.35, 0.24], strong: [0.62, 0.36] },
		match: [150, 40, 160],
		matchText: [255, 255, 255],
		faded: [41, 44, 51],
		fadedText: [160, 166, 178],
		line: [24, 26, 31],
		focus: [150, 195, 255],
		grey: [58, 62, 70],
	},
};

/* Names as in a picture's legend; hue, and factor for the theme's saturation. */
const KIND_COLORS = {
	[KIND.label]: { name: "thread", hue: 220, saturation: 0.18 },
	[KIND.user]: { name: "user", hue: 26, saturation: 1.1 },
	[KIND.kernel]: { name: "kernel", hue: 211, saturation: 0.85 },
	[KIND.inlined]: { name: "inlined", hue: 49, saturation: 1 },
	[KIND.runTime]: { name: "JIT", hue: 111, saturation: 0.6 },
	[KIND.missed]: { name: "unreadable", hue: 0, saturation: 0 },
	[KIND.rest]: { name: "left out", hue: 0, saturation: 0 },
};

const SPINNING = { hue: 4, saturation: 1 };
const ASLEEP = { hue: 290, saturation: 0.8 };

/* The states of threads, of --wall and --off-cpu, and the kinds of locks. */
const STATE_COLORS = {
	__proto__: null, /* looked up by any text: "constructor" is none */
	"[running]": { hue: 4, saturation: 1 },
	"[runnable]": { hue: 60, saturation: 0.7 },
	"[sleeping]": { hue: 240, saturation: 0.8 },
	"[blocked]": { hue: 290, saturation: 0.8 },
	"[idle]": KIND_COLORS[KIND.label],
	"[stopped]": KIND_COLORS[KIND.label],
	"[futex]": { hue: 240, saturation: 0.8 },
	"[spinlock]": SPINNING,
	"[rwlock:R]": SPINNING,
	"[rwlock:W]": SPINNING,
	"[mutex]": ASLEEP,
	"[rwsem:R]": ASLEEP,
	"[rwsem:W]": ASLEEP,
	"[rt-mutex]": ASLEEP,
	"[rwlock-rt:R]": ASLEEP,
	"[rwlock-rt:W]": ASLEEP,
	"[pcpu-sem:R]": ASLEEP,
	"[pcpu-sem:W]": ASLEEP,
	"[semaphore]": ASLEEP,
};

const NR_SHADES = 5;
const NR_HUES = 18;
const CATEGORY_HUES = [24, 207, 120, 48, 283, 347, 177, 35, 76, 237, 316, 150]; /* palette_category() */
const MORE_HUE = 4;
const LESS_HUE = 212;
const RATIO_HUE = 46; /* of the whole's ratio */

function rgbOfHsl(hue, saturation, lightness) {
	const a = saturation * Math.min(lightness, 1 - lightness);
	return [0, 8, 4].map((n) => {
		const k = (n + hue / 30) % 12;
		return Math.round(255 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	});
}

function cssOfRgb(rgb) {
	return `rgb(${rgb.join(",")})`;
}

/* WCAG 2: relative luminance, and the contrast of two colours. */
function luminance(rgb) {
	const [r, g, b] = rgb.map((c) =>
		c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
	);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
	const a = luminance(one);
	const b = luminance(other);
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function hashOfText(text) {
	let hash = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	return (hash ^ (hash >>> 15)) >>> 0;
}

/*
 * Returns the categories in the tree, heaviest first, so that these get the most distinct colours.
 */
function heaviestCategories({ about, functions, trees: [tree], words }) {
	const weights = about.categories.map(() => 0);
	const ofNode = new Uint8Array(tree.nr);
	for (let i = 1; i < tree.nr; i++) {
		const number = words.function[tree.word[i]];
		ofNode[i] = (number && functions.category[number - 1]) || ofNode[tree.parent[i]];
		weights[ofNode[i]] += tree.selves.get(0)[i];
	}
	const seen = new Set(ofNode);
	const isOther = (i) => (i ? 0 : 1); /* "other" has no colour, and is last */
	return [...weights.keys()]
		.filter((i) => seen.has(i))
		.sort((a, b) => isOther(a) - isOther(b) || weights[b] - weights[a] || a - b);
}

class Palette {
	constructor(model) {
		this.model = model;
		this.modes = ["kind", "module"];
		if (model.about.categories) this.modes.unshift("category");
		if (model.about.difference) this.modes.unshift("difference");
		if (model.about.ratio) this.modes.unshift("ratio");
		this.categories = model.about.categories ? heaviestCategories(model) : [];
		this.use(this.modes[0], "light");
	}

	use(mode, theme) {
		this.mode = mode;
		this.theme = THEMES[theme];
		this.cache = [];
		this.text = cssOfRgb(this.theme.text);
	}

	shade(hue, saturation, hash) {
		const { frame, step, saturation: full } = this.theme;
		const shade = (hash % NR_SHADES) - (NR_SHADES - 1) / 2;
		return cssOfRgb(rgbOfHsl(hue, Math.min(1, full * saturation), frame + shade * step));
	}

	hueOfModule(module) {
		return ((hashOfText(this.model.modules[module]) % NR_HUES) * 360) / NR_HUES + 5;
	}

	ofWord(word) {
		return (this.cache[word] = this.cache[word] || this.makeOfWord(word));
	}

	makeOfWord(word) {
		const { words, functions, texts } = this.model;
		const kind = words.kind[word];
		const number = words.function[word] - 1;
		const text = texts[words.text[word]];
		const hash = hashOfText(text);
		const plain = (kind === KIND.user && STATE_COLORS[text]) || KIND_COLORS[kind];
		if (!word) return cssOfRgb(this.theme.grey);
		if (kind === KIND.rest || kind === KIND.missed) return cssOfRgb(this.theme.grey);
		if (number < 0 || ["kind", "difference", "ratio"].includes(this.mode))
			return this.shade(plain.hue, plain.saturation, hash);
		return this.shade(this.hueOfModule(functions.module[number]), 0.8, hash);
	}

	ofCategory(category, hash) {
		const rank = this.categories.indexOf(category);
		if (!category || rank < 0) return cssOfRgb(this.theme.grey);
		const saturation = rank < CATEGORY_HUES.length ? 0.85 : 0.4;
		return this.shade(CATEGORY_HUES[rank % CATEGORY_HUES.length], saturation, hash);
	}

	/* strength: 0 to 1, for changes that are not within noise. */
	ofChange(kind, strength) {
		if (kind === CHANGE.none) return cssOfRgb(this.theme.grey);
		const hue = kind === CHANGE.more || kind === CHANGE.added ? MORE_HUE : LESS_HUE;
		const { pale, strong } = this.theme.change;
		const between = (i) => pale[i] + (strong[i] - pale[i]) * strength;
		return cssOfRgb(rgbOfHsl(hue, between(0), between(1)));
	}

	/* deviation: from -1, much less than the whole, to 1; see Frames.deviation(). NaN: not known. */
	ofDeviation(deviation) {
		if (Number.isNaN(deviation)) return cssOfRgb(this.theme.grey);
		const { pale, strong } = this.theme.change;
		const strength = Math.abs(deviation);
		if (strength < 0.02) return cssOfRgb(rgbOfHsl(RATIO_HUE, pale[0], pale[1]));
		const between = (i) => pale[i] + (strong[i] - pale[i]) * strength;
		return cssOfRgb(rgbOfHsl(deviation > 0 ? MORE_HUE : LESS_HUE, between(0), between(1)));
	}

	ratioLegend() {
		const { ratio } = this.model.about;
		const steps = [
			["\u2264 ", -1], ["", -0.5], ["", 0], ["", 0.5], ["\u2265 ", 1],
		].map(([mark, step]) => {
			const number = formatRatio(ratio.whole * ratio.most ** step);
			return [`${mark}${number}${step ? "" : ", as all"}`, this.ofDeviation(step)];
		});
		if (ratio.least) steps.push(["too few samples", this.ofDeviation(NaN)]);
		return [[ratio.text, null], ...steps];
	}

	changeLegend(width) {
		const more = this.ofChange(CHANGE.more, 1);
		const less = this.ofChange(CHANGE.less, 1);
		return [
			["more, + new", more],
			["less, \u2212 gone", less],
			["within noise", this.ofChange(CHANGE.none, 0)],
			[`width: ${width === "both" ? "before plus after" : width}`, null],
		];
	}

	/* Returns the legend for the colours used: [text, colour] each; a remark has no colour. */
	legend(width) {
		if (this.mode === "difference") return this.changeLegend(width);
		if (this.mode === "ratio") return this.ratioLegend();
		if (this.mode === "category")
			return this.categories.map((i) => [this.model.about.categories[i], this.ofCategory(i, 2)]);
		if (this.mode === "module") return [];
		const { words, texts } = this.model;
		const there = new Set(words.kind.subarray(1));
		const kinds = Object.entries(KIND_COLORS)
			.filter(([kind]) => there.has(+kind) && +kind !== KIND.rest)
			.map(([kind, { name, hue, saturation }]) => [
				name,
				+kind === KIND.missed ? cssOfRgb(this.theme.grey) : this.shade(hue, saturation, 2),
			]);
		const names = new Set();
		for (let word = 1; word < words.kind.length; word++)
			if (words.kind[word] === KIND.user) names.add(texts[words.text[word]]);
		return kinds.concat(Object.entries(STATE_COLORS)
			.filter(([name]) => names.has(name))
			.map(([name, { hue, saturation }]) => [name, this.shade(hue, saturation, 2)]));
	}

	/* Returns all pairs of text and background that frames can have, for the contrast test. */
	pairs() {
		const { text, grey, match, matchText, faded, fadedText } = this.theme;
		const pairs = [[text, grey], [matchText, match], [fadedText, faded]];
		const rgb = (css) => css.match(/\d+/g).map(Number);
		for (let hash = 0; hash < NR_SHADES; hash++) {
			for (const { hue, saturation } of Object.values({ ...KIND_COLORS, ...STATE_COLORS }))
				pairs.push([text, rgb(this.shade(hue, saturation, hash))]);
			for (let hue = 0; hue < 360; hue += 5) pairs.push([text, rgb(this.shade(hue, 0.85, hash))]);
		}
		for (const kind of Object.values(CHANGE))
			for (let i = 0; i <= 10; i++) pairs.push([text, rgb(this.ofChange(kind, i / 10))]);
		for (let i = -10; i <= 10; i++) pairs.push([text, rgb(this.ofDeviation(i / 10))]);
		return pairs;
	}
}
