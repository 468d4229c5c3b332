/*
 * Computes changes between two values, and if they exceed noise, for boxes that exist only in the
 * page. The rules are those of view/diff/difference.c, which explains them.
 */
"use strict";

const CHANGE = { none: 0, more: 1, less: 2, added: 3, gone: 4 };

const LN_ROOT_2PI = 0.91893853320467274;
const EXACT_VARIANCE = 400; /* above it, the normal approximation is good enough */
const PLAINLY_CHANCE = 2; /* sigma below which the exact tail cannot reach 3 */
const NEGLIGIBLE = 1e-9;

/* Stirling's series; smaller arguments than 8 by the recurrence. */
function lnGamma(x) {
	let shift = 0;
	for (; x < 8; x++) shift += Math.log(x);
	const square = 1 / (x * x);
	const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x;
	return (x - 0.5) * Math.log(x) - x + LN_ROOT_2PI + series - shift;
}

function lnChoose(n, k) {
	return lnGamma(n + 1) - lnGamma(k + 1) - lnGamma(n - k + 1);
}

function sigmaOfTail(lnTail) {
	let z = 3;
	for (let i = 0; i < 12; i++) {
		const lnMills = Math.log(4 / (3 * z + Math.sqrt(z * z + 8)));
		const square = 2 * (lnMills - LN_ROOT_2PI - lnTail);
		z = square > 0.25 ? Math.sqrt(square) : 0.5;
	}
	return z;
}

/* A scale.dispersion above 1 means that samples come in bursts. */
class Difference {
	constructor(scale) {
		this.scale = scale;
		this.beforeSamples = scale.before_all / scale.before_sample;
		this.afterSamples = scale.after_all / scale.after_sample;
		this.beforeTime = scale.before / scale.before_sample;
		this.afterTime = scale.after / scale.after_sample;
	}

	draw(n, got, isBefore) {
		const { by_time } = this.scale;
		const all = isBefore ? this.beforeSamples : this.afterSamples;
		const rest = isBefore ? this.afterSamples : this.beforeSamples;
		const time = isBefore ? this.beforeTime : this.afterTime;
		const chance = by_time ? time / (this.beforeTime + this.afterTime) : all / (all + rest);
		let variance = n * chance * (1 - chance);
		if (!by_time && all + rest > 1) variance *= (all + rest - n) / (all + rest - 1);
		return { by_time, n, got, all, rest, chance, expected: n * chance, variance };
	}

	static stepDown(draw, got) {
		const other = draw.n - got + 1;
		if (draw.by_time) return ((got / other) * (1 - draw.chance)) / draw.chance;
		return ((got / other) * (draw.rest - other + 1)) / (draw.all - got + 1);
	}

	static lnTail(draw) {
		const { n, got, chance, all, rest } = draw;
		let sum = 1;
		let term = 1;
		for (let k = got; k >= 1 && term > NEGLIGIBLE * sum; k--) {
			const factor = Difference.stepDown(draw, k);
			if (factor <= 0) break;
			term *= factor;
			sum += term;
		}
		const lnChance = draw.by_time
			? lnChoose(n, got) + got * Math.log(chance) + (n - got) * Math.log1p(-chance)
			: lnChoose(all, got) + lnChoose(rest, n - got) - lnChoose(all + rest, n);
		return lnChance + Math.log(sum);
	}

	static drawSigma(draw) {
		if (draw.variance <= 0) return 0;
		const normal = (draw.expected - draw.got) / Math.sqrt(draw.variance);
		if (normal < PLAINLY_CHANCE || draw.variance > EXACT_VARIANCE) return normal;
		return sigmaOfTail(Difference.lnTail(draw));
	}

	sigma(before, after) {
		let draw = this.draw(before + after, before, true);
		if (before + after <= 0 || draw.chance <= 0 || draw.chance >= 1) return 0;
		if (before > draw.expected) draw = this.draw(before + after, after, false);
		return Difference.drawSigma(draw) / Math.sqrt(this.scale.dispersion);
	}

	variance(samples, all, sample, divisor) {
		if (divisor <= 0) return 0;
		if (this.scale.by_time) return (samples + 0.5) * (sample / divisor) ** 2;
		const share = (samples + 0.5) / (all + 1);
		return share > 1 ? 0 : (share * (1 - share)) / all;
	}

	/*
	 * Returns, for two counts: shares or rates, their change, its error, and the kind of
	 * change.
	 */
	of(before, after) {
		const { scale } = this;
		const beforeSamples = before / scale.before_sample;
		const afterSamples = after / scale.after_sample;
		const result = {
			before: scale.before > 0 ? before / scale.before : 0,
			after: scale.after > 0 ? after / scale.after : 0,
			sigma: this.sigma(beforeSamples, afterSamples),
		};
		result.change = result.after - result.before;
		result.error = Math.sqrt(
			scale.dispersion *
				(this.variance(beforeSamples, this.beforeSamples, scale.before_sample, scale.before) +
					this.variance(afterSamples, this.afterSamples, scale.after_sample, scale.after)),
		);
		result.kind = this.kindOf(result);
		return result;
	}

	/*
	 * Returns the largest change of any node except the root, noise included: the scale of
	 * colours.
	 */
	mostChange(tree) {
		const { before, after } = this.scale;
		let most = 0;
		for (let i = 1; i < tree.nr; i++)
			most = Math.max(most, Math.abs(tree.total[i] / (after || 1) - tree.otherTotal[i] / (before || 1)));
		return most;
	}

	kindOf({ sigma, change, before, after }) {
		if (sigma < this.scale.least_sigma || change === 0) return CHANGE.none;
		if (before === 0) return CHANGE.added;
		if (after === 0) return CHANGE.gone;
		return change > 0 ? CHANGE.more : CHANGE.less;
	}
}
