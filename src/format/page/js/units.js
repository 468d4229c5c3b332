/* Formats numbers for people. */
"use strict";

const wholeNumber = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const SCALES = new Map(Object.entries({
	nanoseconds: [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]],
	microseconds: [[1, "\u00b5s"], [1e3, "ms"], [1e6, "s"]],
	milliseconds: [[1, "ms"], [1e3, "s"]],
	seconds: [[1, "s"]],
	bytes: [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]],
}));

/* Spellings of units; view/amount.c explains why the kilobyte is not included. */
const UNIT_NAMES = {
	nanoseconds: ["nanosecond", "ns"],
	microseconds: ["microsecond", "us", "\u00b5s", "\u03bcs"],
	milliseconds: ["millisecond", "ms"],
	seconds: ["second", "s"],
	bytes: ["byte", "B"],
};
for (const [unit, names] of Object.entries(UNIT_NAMES))
	for (const name of names) SCALES.set(name, SCALES.get(unit));

/* "12,345", "1.23 ms", "4.5 MiB" */
function formatAmount(amount, unit) {
	const scales = SCALES.get(unit);
	if (!scales) return wholeNumber.format(amount);
	let [factor, name] = scales[0];
	for (const scale of scales) if (Math.abs(amount) >= scale[0]) [factor, name] = scale;
	const number = amount / factor;
	const digits = factor === 1 || Math.abs(number) >= 1000 ? 0 : Math.abs(number) >= 100 ? 1 : 2;
	return `${number.toFixed(digits)} ${name}`;
}

/* Adds the name of the unit or type to plain numbers: "12,345 samples". */
function formatWithName(amount, value) {
	if (SCALES.has(value.unit)) return formatAmount(amount, value.unit);
	const many = value.unit && value.unit !== "count" ? value.unit : value.type;
	const name = amount === 1 && many.endsWith("s") ? many.slice(0, -1) : many;
	return `${formatAmount(amount, value.unit)} ${name}`;
}

/* Adds what a sum is of: "9.97 s of cpu", "7 hours, the sum of wall". */
function formatTotal(amount, value) {
	const text = formatWithName(amount, value);
	if (!value.unit || value.unit === "count" || value.unit === value.type) return text;
	const isAmount = SCALES.has(value.unit) || value.unit === "samples";
	return isAmount ? `${text} of ${value.type}` : `${text}, the sum of ${value.type}`;
}

function formatPercent(part, of) {
	if (!of) return "0 %";
	const percent = (100 * part) / of;
	const digits = percent >= 99.95 || percent === 0 ? 0 : percent >= 0.1 ? 1 : 2;
	return percent && percent < 0.005 ? "<0.01 %" : `${percent.toFixed(digits)} %`;
}

/* Three digits, as profile/ratio.c. */
function formatRatio(ratio) {
	if (Number.isNaN(ratio)) return "too few samples";
	if (ratio >= 1000) return wholeNumber.format(ratio);
	return ratio.toFixed(ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

function formatSeconds(ns) {
	const seconds = ns / 1e9;
	if (seconds && seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
	if (seconds < 120) return `${+seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
	const rounded = Math.round(seconds);
	const minutes = Math.floor(rounded / 60);
	return minutes < 120
		? `${minutes} min ${rounded % 60} s`
		: `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/* Changes of shares are shown in percentage points, changes of rates in amounts per second. */
function formatChange(difference, byTime, unit) {
	const sign = difference.change > 0 ? "+" : difference.change < 0 ? "\u2212" : "";
	if (byTime) {
		return (
			`${sign}${formatRate(Math.abs(difference.change), unit)}` +
			` \u00b1 ${formatRate(difference.error, unit)}`
		);
	}
	return (
		`${sign}${Math.abs(100 * difference.change).toFixed(2)}` +
		` \u00b1 ${(100 * difference.error).toFixed(2)} %`
	);
}

function formatRate(rate, unit) {
	return SCALES.has(unit) ? `${formatAmount(rate, unit)}/s` : `${rate.toFixed(rate < 10 ? 2 : 1)}/s`;
}
