/*
 * Fits a step to the series of each function: least squares with a mean for each place in the cycle.
 *
 * By the theorem of Frisch, Waugh and Lovell that is done for all moments at once: the means are taken from the series
 * and from each step beforehand, which is the same for all functions of a service, and what is left are sums of
 * products.
 *
 * Only a function's own time counts, not that of its callees: the callers of a slower function grow too.
 */
#include "view/diff/growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/diff/difference.h"

#define LEAST_FREEDOM 5	  /* degrees of freedom of the error, after the fit */
#define SIDES	      2	  /* a cycle divided by this is the least length before and after a step */
#define FAR	      3.0 /* standard deviations from the usual: further ones are moved there */
#define MAD_OF_SIGMA  0.6745 /* median of the absolute deviations, of a normal error of 1 */
#define LEAST_STEP    0.5    /* sum of squares of a step that can be told from the cycle */
#define LEAST_SERVICE 100.0  /* samples of a service in a period that is used */
#define LEAST_SAMPLES 30.0   /* of a function in a period: fewer have no normal logarithm */
#define MOST_SIMILAR  0.9    /* correlation of neighbouring periods */
#define UNSEEN	      7.0    /* what a fit hides of it, in degrees of freedom */

/* A moment at which functions of a service may have changed. */
struct step {
	size_t at;	/* index of the first used period after it */
	double squares; /* sum of the squares of rest */
	double *rest;	/* by used period: the step without the means of the cycle */
};

struct service {
	size_t *periods; /* the used ones, in order */
	size_t nr_periods;
	double *totals; /* by period */
	double freedom;
	struct step *steps;
	size_t nr_steps;
};

/* The best fit of a function. */
struct fit {
	size_t row, step;
	double slope, error; /* of the logarithm */
	double whole_slope;  /* with outliers: a true step is not too small because of them */
	double t, freedom;
	double similarity; /* correlation of what the fit leaves in neighbouring periods */
};

struct finder {
	const struct growth_table *table;
	struct service *services;
	struct fit *fits;
	size_t nr, capacity;
	double *series, *means; /* of one function */
	double *sorted;		/* to find medians */
	double *whole;		/* the series with its outliers */
	size_t *nr_means;
	double similarity; /* of all fits, on average */
};

size_t growth_least_periods(size_t cycle)
{
	return cycle + LEAST_FREEDOM + 1 > 2 * cycle ? cycle + LEAST_FREEDOM + 1 : 2 * cycle;
}

/* --- the cycle -------------------------------------------------------------------------------- */

/* A load without a cycle has one place. */
static size_t nr_places(const struct finder *finder)
{
	return finder->table->cycle ? finder->table->cycle : 1;
}

/* Where in the cycle used period i is. */
static size_t place_of(const struct finder *finder, const struct service *service, size_t i)
{
	const size_t cycle = finder->table->cycle;

	return cycle ? service->periods[i] % cycle : 0;
}

/* Subtracts from each used period the mean of those at its place in the cycle. */
static void take_means(struct finder *finder, const struct service *service, double *values)
{
	size_t i;

	memset(finder->means, 0, nr_places(finder) * sizeof(*finder->means));
	memset(finder->nr_means, 0, nr_places(finder) * sizeof(*finder->nr_means));
	for (i = 0; i < service->nr_periods; i++) {
		finder->means[place_of(finder, service, i)] += values[i];
		finder->nr_means[place_of(finder, service, i)]++;
	}
	for (i = 0; i < service->nr_periods; i++)
		values[i] -= finder->means[place_of(finder, service, i)] /
			     (double)finder->nr_means[place_of(finder, service, i)];
}

static size_t places_in_cycle(const struct finder *finder, const struct service *service)
{
	size_t nr = 0, i;

	memset(finder->nr_means, 0, nr_places(finder) * sizeof(*finder->nr_means));
	for (i = 0; i < service->nr_periods; i++)
		nr += !finder->nr_means[place_of(finder, service, i)]++;
	return nr;
}

static double product(const double *a, const double *b, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += a[i] * b[i];
	return sum;
}

/* --- services --------------------------------------------------------------------------------- */

static int make_steps(struct finder *finder, struct service *service)
{
	size_t nr = service->nr_periods, at, i;
	const size_t side = (finder->table->cycle + SIDES - 1) / SIDES;

	service->steps = calloc(nr + 1, sizeof(*service->steps));
	if (!service->steps)
		return -ENOMEM;
	for (at = side; at + side <= nr; at++) {
		struct step *step = &service->steps[service->nr_steps];

		step->at = at;
		step->rest = calloc(nr, sizeof(*step->rest));
		if (!step->rest)
			return -ENOMEM;
		for (i = at; i < nr; i++)
			step->rest[i] = 1;
		take_means(finder, service, step->rest);
		step->squares = product(step->rest, step->rest, nr);
		if (step->squares >= LEAST_STEP) {
			service->nr_steps++;
		} else {
			free(step->rest);
			step->rest = NULL;
		}
	}
	return 0;
}

static int prepare_service(struct finder *finder, uint32_t number)
{
	const struct growth_table *table = finder->table;
	struct service *service = &finder->services[number];
	size_t i;

	service->periods = calloc(table->nr_periods + 1, sizeof(*service->periods));
	if (!service->periods)
		return -ENOMEM;
	for (i = 0; i < table->nr_periods; i++)
		if (service->totals[i] >= LEAST_SERVICE)
			service->periods[service->nr_periods++] = i;
	service->freedom =
		(double)service->nr_periods - (double)places_in_cycle(finder, service) - 1;
	return service->freedom < LEAST_FREEDOM ? 0 : make_steps(finder, service);
}

static int prepare(struct finder *finder)
{
	const struct growth_table *table = finder->table;
	size_t row, i;
	int err = 0;

	finder->services = calloc(table->nr_services + 1, sizeof(*finder->services));
	finder->series = calloc(table->nr_periods + 1, sizeof(*finder->series));
	finder->sorted = calloc(table->nr_periods + 1, sizeof(*finder->sorted));
	finder->whole = calloc(table->nr_periods + 1, sizeof(*finder->whole));
	finder->means = calloc(table->cycle + 1, sizeof(*finder->means));
	finder->nr_means = calloc(table->cycle + 1, sizeof(*finder->nr_means));
	if (!finder->services || !finder->series || !finder->means || !finder->nr_means ||
	    !finder->sorted || !finder->whole)
		return -ENOMEM;
	for (i = 0; i < table->nr_services && !err; i++) {
		finder->services[i].totals = calloc(table->nr_periods + 1, sizeof(double));
		err = finder->services[i].totals ? 0 : -ENOMEM;
	}
	for (row = 0; row < table->nr_rows && !err; row++)
		for (i = 0; i < table->nr_periods; i++)
			finder->services[table->services[row]].totals[i] +=
				table->samples[row * table->nr_periods + i];
	for (i = 0; i < table->nr_services && !err; i++)
		err = prepare_service(finder, (uint32_t)i);
	return err;
}

/* --- outliers --------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return COMPARE(*first, *second);
}

static double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare_numbers);
	return nr ? (values[(nr - 1) / 2] + values[nr / 2]) / 2 : 0;
}

/* The median of the periods at the same place in the cycle. */
static double usual_at(struct finder *finder, const struct service *service, size_t place)
{
	size_t nr = 0, i;

	for (i = 0; i < service->nr_periods; i++)
		if (place_of(finder, service, i) == place)
			finder->sorted[nr++] = finder->series[i];
	return median(finder->sorted, nr);
}

/*
 * Subtracts what is usual, and moves values that are far from it: two bad days would look like a step. A function that
 * really grew is far on many days, so the deviation is large then.
 */
static void tame_outliers(struct finder *finder, const struct service *service)
{
	double far;
	size_t i;

	for (i = 0; i < nr_places(finder); i++)
		finder->means[i] = usual_at(finder, service, i);
	for (i = 0; i < service->nr_periods; i++) {
		finder->series[i] -= finder->means[place_of(finder, service, i)];
		finder->whole[i] = finder->series[i];
		finder->sorted[i] = fabs(finder->series[i]);
	}
	far = FAR / MAD_OF_SIGMA * median(finder->sorted, service->nr_periods);
	for (i = 0; i < service->nr_periods; i++)
		finder->series[i] = fmax(-far, fmin(far, finder->series[i]));
}

/* --- fits ------------------------------------------------------------------------------------- */

/* Fills finder->series; false if the function has too few samples. */
static bool read_series(struct finder *finder, const struct service *service, size_t row)
{
	const double *samples = finder->table->samples + row * finder->table->nr_periods;
	double sum = 0;
	size_t i;

	for (i = 0; i < service->nr_periods; i++)
		sum += samples[service->periods[i]];
	if (!service->nr_steps || sum < LEAST_SAMPLES * (double)service->nr_periods)
		return false;
	for (i = 0; i < service->nr_periods; i++) {
		double own = samples[service->periods[i]];

		finder->series[i] =
			log((own + 0.5) / (service->totals[service->periods[i]] - own + 0.5));
	}
	tame_outliers(finder, service);
	take_means(finder, service, finder->series);
	take_means(finder, service, finder->whole);
	return true;
}

/* Returns how similar what the fit leaves is in neighbouring periods. */
static double similarity_of(const struct finder *finder, const struct service *service,
			    const struct fit *fit)
{
	const struct step *step = &service->steps[fit->step];
	double sum = 0, squares = 0, last = 0;
	size_t i;

	for (i = 0; i < service->nr_periods; i++) {
		double rest = finder->series[i] - fit->slope * step->rest[i];

		squares += rest * rest;
		if (i && service->periods[i] == service->periods[i - 1] + 1)
			sum += rest * last;
		last = rest;
	}
	if (squares <= 0)
		return 0;
	/* Fits make neighbours look less similar: by so much in simulations. */
	return (sum / squares + 1 / service->freedom) * (1 + UNSEEN / service->freedom);
}

static int fit_row(struct finder *finder, size_t row)
{
	const struct service *service = &finder->services[finder->table->services[row]];
	struct fit best = {.row = row, .t = -HUGE_VAL, .freedom = service->freedom};
	double squares;
	size_t i;

	if (!read_series(finder, service, row))
		return 0;
	squares = product(finder->series, finder->series, service->nr_periods);
	for (i = 0; i < service->nr_steps; i++) {
		const struct step *step = &service->steps[i];
		double slope =
			product(step->rest, finder->series, service->nr_periods) / step->squares;
		double rest = fmax(squares - slope * slope * step->squares, 1e-12 * squares);
		double error = sqrt(rest / service->freedom / step->squares);

		if (error > 0 && slope / error > best.t) {
			best.step = i;
			best.slope = slope;
			best.error = error;
			best.t = slope / error;
		}
	}
	if (!isfinite(best.t))
		return 0;
	best.whole_slope =
		product(service->steps[best.step].rest, finder->whole, service->nr_periods) /
		service->steps[best.step].squares;
	best.similarity = similarity_of(finder, service, &best);
	finder->similarity += best.similarity;
	return ARRAY_ADD(finder->fits, finder->nr, finder->capacity, best);
}

/* --- results ---------------------------------------------------------------------------------- */

/*
 * The correlation of neighbouring periods of a function: its own is known badly, that of all together well, but large
 * functions vary with the load and small ones by chance.
 */
static double similarity_for(const struct finder *finder, const struct fit *fit)
{
	double similar = fmax(finder->similarity, (finder->similarity + fit->similarity) / 2);

	return fmin(fmax(similar, 0), MOST_SIMILAR);
}

static int add_growth(struct growths *growths, const struct finder *finder, const struct fit *fit)
{
	const struct growth_table *table = finder->table;
	const struct service *service = &finder->services[table->services[fit->row]];
	const size_t at = service->steps[fit->step].at;
	const double *samples = table->samples + fit->row * table->nr_periods;
	struct growth growth = {.row = (uint32_t)fit->row,
				.since = (uint32_t)service->periods[at],
				.factor = exp(fit->whole_slope)};
	const double similar = similarity_for(finder, fit);
	const double widening = sqrt((1 + similar) / (1 - similar));
	double sum = 0;
	size_t i;

	/* Similar periods are fewer observations, of a mean and of a variance (Bartlett 1935). */
	growth.sigma = difference_sigma_of_t(fmax(fit->t, 0) / widening,
					     fit->freedom * (1 - similar * similar) /
						     (1 + similar * similar));
	if (growth.sigma < growths->least_sigma)
		return 0;
	growth.error = growth.factor * fit->error * widening;
	for (i = at; i < service->nr_periods; i++)
		sum += samples[service->periods[i]];
	growth.more = sum / (double)(service->nr_periods - at) * (1 - 1 / growth.factor);
	return ARRAY_ADD(growths->rows, growths->nr, growths->capacity, growth);
}

static int compare_growths(const void *a, const void *b)
{
	const struct growth *first = a, *second = b;

	return COMPARE(second->more, first->more) ?: COMPARE(first->row, second->row);
}

static void finder_clear(struct finder *finder)
{
	size_t i, k;

	for (i = 0; finder->services && i < finder->table->nr_services; i++) {
		struct service *service = &finder->services[i];

		for (k = 0; k < service->nr_steps; k++)
			free(service->steps[k].rest);
		free(service->steps);
		free(service->totals);
		free(service->periods);
	}
	free(finder->services);
	free(finder->fits);
	free(finder->series);
	free(finder->sorted);
	free(finder->whole);
	free(finder->means);
	free(finder->nr_means);
}

int growths_find(struct growths *growths, const struct growth_table *table, double confidence)
{
	cleanup(finder_clear) struct finder finder = {.table = table};
	double chance = 1 - (confidence > 0 ? confidence : 95) / 100;
	int err = prepare(&finder);
	size_t i;

	*growths = (struct growths){0};
	for (i = 0; i < table->nr_rows && !err; i++)
		err = fit_row(&finder, i);
	if (err)
		return err;
	for (i = 0; i < finder.nr; i++)
		growths->nr_tests +=
			(double)finder.services[table->services[finder.fits[i].row]].nr_steps;
	growths->nr_tested = finder.nr;
	growths->nr_few = table->nr_rows - finder.nr;
	/* Only growth counts: one side of the distribution. */
	growths->least_sigma = difference_sigma_of_chance(2 * chance, growths->nr_tests);
	finder.similarity /= finder.nr ? (double)finder.nr : 1;
	for (i = 0; i < finder.nr && !err; i++)
		err = add_growth(growths, &finder, &finder.fits[i]);
	if (!err && growths->nr)
		qsort(growths->rows, growths->nr, sizeof(*growths->rows), compare_growths);
	return err;
}

void growths_clear(struct growths *growths)
{
	free(growths->rows);
	*growths = (struct growths){0};
}
