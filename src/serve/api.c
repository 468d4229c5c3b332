/*
 * Each answer is a function below, and a row in the table at the end. Parameters are those of `stook query`: from, to,
 * where, by, value; times are written as there.
 */
#include "serve/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strings.h"
#include "base/text.h"
#include "format/format.h"
#include "format/page/assets.h"
#include "format/page/html.h"
#include "format/text/json.h"
#include "profile/sort.h"
#include "serve/question.h"
#include "store/where.h"
#include "view/categories.h"
#include "view/diff/comparison.h"
#include "view/diff/growth.h"

#define JSON "application/json"
#define HTML "text/html; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"

#define NS_PER_MINUTE (60 * NS_PER_SEC)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)

/* A request with all that it needs. */
struct asking {
	const struct api *api;
	const struct http_request *request;
	struct http_response *response;
	FILE *body;
	struct store *store;
	uint64_t from_ns, to_ns;
	struct store_where *where;
	struct question_labels by;
	struct categories *categories;
	struct profile *profile;
	struct error error;
	int status; /* of the answer if there is an error */
};

static void asking_clear(struct asking *asking)
{
	store_close(asking->store);
	store_where_free(asking->where);
	question_labels_clear(&asking->by);
	categories_free(asking->categories);
	profile_free(asking->profile);
}

static const char *get(const struct asking *asking, const char *name)
{
	return http_request_get(asking->request, name);
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Nothing of the body has been written. Returns 0: the answer is the error. */
static int refuse(struct asking *asking, int err)
{
	const struct error *error = &asking->error;

	asking->response->status = asking->status    ? asking->status
				   : err == -ENODATA ? 404
				   : err == -EINVAL  ? 400
						     : 500;
	asking->response->type = JSON;
	(void)fputs("{\"error\": ", asking->body);
	json_write_string(asking->body, error->text);
	(void)fputs(", \"hint\": ", asking->body);
	json_write_string(asking->body, *error->hint ? error->hint : NULL);
	(void)fputs("}\n", asking->body);
	return 0;
}

static int bad(struct asking *asking, const char *name, const char *wanted)
{
	return error_set(&asking->error, -EINVAL, "bad value '%.100s' for '%s': %s",
			 get(asking, name), name, wanted);
}

/* --- parameters ------------------------------------------------------------------------------- */

static int open_store(struct asking *asking)
{
	const struct api *api = asking->api;
	int err = store_open_reader(api->path, api->open, api->context, &asking->store,
				    &asking->error);

	asking->status = err ? 503 : 0;
	return err;
}

/* The range of two parameters; *ret stays if they are missing. */
static int take_range(struct asking *asking, const char *from, const char *to, uint64_t ret[2])
{
	const uint64_t now_ns = asking->api->wall_ns;
	const char *from_text = get(asking, from), *to_text = get(asking, to);
	uint64_t ns;

	if (to_text && moment_parse(to_text, now_ns, &ns) < 0)
		return bad(asking, to, MOMENT_WANTED);
	if (!from_text && !to_text)
		return 0;
	if (moment_parse_range(from_text ? from_text : "-1h", to_text ? to_text : "now", now_ns,
			       &ret[0], &ret[1]) < 0)
		return bad(asking, from, MOMENT_WANTED);
	if (ret[0] < ret[1])
		return 0;
	return error_set(&asking->error, -EINVAL, "'%s' is not before '%s'", from, to);
}

/* A number; *ret stays if it is missing. */
static int take_number(struct asking *asking, const char *name, uint64_t most, uint64_t *ret)
{
	const char *text = get(asking, name);
	char wanted[64];

	if (!text || number_parse(text, most, ret) == 0)
		return 0;
	(void)snprintf(wanted, sizeof(wanted), "a number up to %" PRIu64, most);
	return bad(asking, name, wanted);
}

static int take_categories(struct asking *asking)
{
	const char *name = get(asking, "categories");
	int err = name ? categories_built_in(name, &asking->categories, &asking->error) : 0;

	return err == -ENOENT ? bad(asking, "categories", "kernel or waits") : err;
}

/* The parameters that all have in common; and opens the store. by: NULL: comm. */
static int take_all(struct asking *asking, uint64_t from_ns, const char *by)
{
	const char *where = get(asking, "where"), *labels = get(asking, "by");
	uint64_t range[2] = {from_ns, asking->api->wall_ns};
	int err = take_range(asking, "from", "to", range);

	asking->from_ns = range[0];
	asking->to_ns = range[1];
	if (!err && where) {
		asking->where = store_where_parse(where, &asking->error);
		err = asking->where ? 0 : -EINVAL;
	}
	if (!err)
		err = question_labels_parse(&asking->by, labels ? labels : by, &asking->error);
	if (!err)
		err = take_categories(asking);
	return err ? err : open_store(asking);
}

static uint64_t hour_ago(const struct api *api)
{
	return api->wall_ns - NS_PER_HOUR;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The answer may have no samples. */
static int ask_any(struct asking *asking, struct store_query *query, struct profile **ret,
		   struct store_answer *ret_answer)
{
	query->where = asking->where;
	query->value = get(asking, "value");
	return question_ask(asking->store, query, &asking->by, ret, ret_answer, &asking->error);
}

static int ask(struct asking *asking, struct store_query *query, struct profile **ret,
	       struct store_answer *ret_answer)
{
	char range[QUESTION_RANGE_BYTES];
	int err = ask_any(asking, query, ret, ret_answer);

	if (err || profile_nr_samples(*ret))
		return err;
	return error_set(&asking->error, -ENODATA, "no samples from %s",
			 question_range(range, query->from_ns, query->to_ns));
}

/* The format that is wanted, and the head for it. NULL: unknown. */
static const struct format *take_format(struct asking *asking, const char *usual)
{
	static const struct {
		const char *name, *type;
	} types[] = {
		{"html", HTML},	      {"svg", "image/svg+xml"},
		{"json", JSON},	      {"csv", "text/csv; charset=utf-8"},
		{"speedscope", JSON}, {"pprof", "application/octet-stream"},
	};
	const char *name = get(asking, "format");
	const struct format *format = format_by_name(name ? name : usual);
	struct http_response *response = asking->response;
	const char *extension;
	size_t i;

	if (!format) {
		(void)bad(asking, "format", format_names());
		return NULL;
	}
	response->type = TEXT;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, format->name))
			response->type = types[i].type;
	/* What a browser would run as a page of ours is saved, and pictures with scripts are, too. */
	extension = format->extensions;
	(void)snprintf(response->file, sizeof(response->file), "stook%.*s",
		       (int)strcspn(extension, ","), extension);
	response->status = 200;
	return format;
}

/* Labels that are not asked for by name are kept for other programs. */
static unsigned labels_for(const struct asking *asking, const struct format *format)
{
	const unsigned all = LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CGROUP | LABEL_SET;

	return get(asking, "by")		? asking->by.labels
	       : format && format->keeps_labels ? all
						: LABEL_COMM;
}

static int write_profile(struct asking *asking, struct format_options *options)
{
	const char *name = get(asking, "format");
	const struct format *format = NULL;
	int err;

	options->categories = asking->categories;
	if (!name || !strcmp(name, "page")) {
		options->labels = labels_for(asking, NULL);
		asking->response->status = 200;
		asking->response->type = JSON;
		return html_write_model(asking->profile, options, asking->body);
	}
	format = take_format(asking, "json");
	if (!format)
		return refuse(asking, -EINVAL);
	options->labels = labels_for(asking, format);
	err = format->write(asking->profile, options, asking->body);
	return err;
}

/* /api/profile */
static int answer_profile(struct asking *asking)
{
	const char *name = get(asking, "format");
	const struct format *format = name ? format_by_name(name) : NULL;
	struct format_options options = {.lines = get(asking, "lines") != NULL};
	struct store_query query = {.all_labels =
					    format && format->keeps_labels && !get(asking, "by")};
	struct store_answer answer;
	int err = take_all(asking, hour_ago(asking->api), "comm");

	query.from_ns = asking->from_ns;
	query.to_ns = asking->to_ns;
	/* The page shows that there is nothing. */
	if (!err)
		err = format ? ask(asking, &query, &asking->profile, &answer)
			     : ask_any(asking, &query, &asking->profile, &answer);
	if (!err && profile_nr_samples(asking->profile))
		err = question_labels_check(&asking->by, asking->profile, &asking->error);
	return err ? refuse(asking, err) : write_profile(asking, &options);
}

static void free_profile(struct profile **profile)
{
	profile_free(*profile);
}

/* /api/diff */
static int answer_diff(struct asking *asking)
{
	cleanup(free_profile) struct profile *before = NULL;
	char names[2][QUESTION_RANGE_BYTES];
	struct comparison_style style = {.by_time = get(asking, "by_time") != NULL};
	struct format_options options = {.comparison = &style};
	struct store_answer answers[2];
	struct store_query query;
	uint64_t range[2];
	int err = take_all(asking, hour_ago(asking->api), "comm");

	range[0] = asking->from_ns - (asking->to_ns - asking->from_ns);
	range[1] = asking->from_ns;
	if (!err)
		err = take_range(asking, "before_from", "before_to", range);
	query = (struct store_query){
		.from_ns = range[0],
		.to_ns = range[1],
		.step_ns = (range[1] - range[0]) / QUESTION_DIFF_SLICES,
	};
	if (!err)
		err = ask(asking, &query, &before, &answers[0]);
	query = (struct store_query){
		.from_ns = asking->from_ns,
		.to_ns = asking->to_ns,
		.step_ns = (asking->to_ns - asking->from_ns) / QUESTION_DIFF_SLICES,
	};
	if (!err)
		err = ask(asking, &query, &asking->profile, &answers[1]);
	if (!err)
		err = question_compare(asking->profile, before, &asking->error);
	if (err)
		return refuse(asking, err);
	style.before_name = question_range(names[0], answers[0].from_ns, answers[0].to_ns);
	style.after_name = question_range(names[1], answers[1].from_ns, answers[1].to_ns);
	style.before_seconds = (double)answers[0].measured_ns / NS_PER_SEC;
	style.after_seconds = (double)answers[1].measured_ns / NS_PER_SEC;
	return write_profile(asking, &options);
}

/* /api/regressions */
static int answer_regressions(struct asking *asking)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	struct format_options options = {.sheet = &sheet};
	const struct format *format = take_format(asking, "json");
	struct growth_style style = {.labels = LABEL_COMM};
	struct question_periods periods;
	struct store_query query = {0};
	struct store_answer answer;
	int err = format ? 0 : -EINVAL;

	if (!err && !format->is_table)
		err = bad(asking, "format", "report, md, csv or json");
	if (!err)
		err = take_all(asking, 0, "comm");
	if (!err)
		err = question_find_periods(&periods, asking->store, asking->to_ns, &asking->error);
	if (!err) {
		query = (struct store_query){.from_ns = periods.from_ns,
					     .to_ns = periods.to_ns,
					     .step_ns = periods.length_ns};
		style.cycle = periods.cycle;
		style.since_ns = asking->from_ns;
		style.labels = asking->by.labels;
		err = ask(asking, &query, &asking->profile, &answer);
	}
	*asking->response->file = '\0';
	if (err)
		return refuse(asking, err);
	err = growth_sheet_fill(&sheet, asking->profile, &style);
	return err ? err : format->write(asking->profile, &options, asking->body);
}

/* --- series ----------------------------------------------------------------------------------- */

#define SERIES_POINTS 720 /* at most about as many */
#define SERIES_TOP    12
#define SERIES_MAX    64

/* Amounts over time by a label's texts, or by the category of the stack. */
struct series {
	struct asking *asking;
	const char *key; /* NULL: all are one */
	uint64_t from_ns, step_ns;
	size_t nr_points;
	struct strings *names;
	uint32_t *name_of; /* of each sample */
	uint64_t *totals;  /* by name */
	uint32_t *order;   /* names, the largest first */
	size_t nr_names, nr_shown;
	uint64_t *amounts; /* of the shown ones, then of the rest: row * nr_points + point */
	/* For how long: of what begins before the first point, then of each point. */
	uint64_t *measured_ns;
};

static void series_clear(struct series *series)
{
	strings_free(series->names);
	free(series->name_of);
	free(series->totals);
	free(series->order);
	free(series->amounts);
	free(series->measured_ns);
}

/*
 * A step for a range: as long as a kind of block, or several of them. A block is never cut, so the step is at least as
 * long as the longest one; epochs may be a little longer than 10 s.
 */
static uint64_t choose_step(uint64_t range_ns, uint64_t longest_ns)
{
	static const uint64_t steps[] = {
		10 * NS_PER_SEC,    NS_PER_MINUTE,     2 * NS_PER_MINUTE, 5 * NS_PER_MINUTE,
		10 * NS_PER_MINUTE, NS_PER_HOUR,       2 * NS_PER_HOUR,	  6 * NS_PER_HOUR,
		24 * NS_PER_HOUR,   168 * NS_PER_HOUR,
	};
	size_t i;

	for (i = 0; i + 1 < ARRAY_SIZE(steps); i++)
		if (range_ns / steps[i] <= SERIES_POINTS && longest_ns <= steps[i] + steps[i] / 4)
			break;
	return steps[i];
}

/* A text of a label of a sample; number: for one that is a number. */
static const char *text_of(const struct series *series, uint32_t sample,
			   char number[LABEL_NUMBER_BYTES])
{
	const struct profile *profile = series->asking->profile;
	const struct sample_labels *labels = &profile_sample(profile, sample)->labels;
	struct set_label set[LABEL_SET_MAX];
	const size_t nr = profile_label_set(profile, labels->set, set);
	const char *text = profile_label_text(profile, labels, set, nr, series->key, number);

	return text ? text : "";
}

/* Finds the name of each sample. 0 or -ENOMEM. */
static int name_samples(struct series *series)
{
	const struct asking *asking = series->asking;
	const size_t nr = profile_nr_samples(asking->profile);
	cleanup_free uint32_t *category_of = NULL;
	cleanup_free uint64_t *counts = NULL;
	const char *text;
	char number[LABEL_NUMBER_BYTES];
	uint32_t i;
	int64_t name;

	series->names = strings_new();
	series->name_of = calloc(nr + 1, sizeof(*series->name_of));
	if (!series->names || !series->name_of ||
	    (asking->categories &&
	     categories_count(asking->categories, asking->profile, &category_of, &counts) < 0))
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		text = category_of   ? categories_name(asking->categories, category_of[i])
		       : series->key ? text_of(series, i, number)
				     : "";
		name = strings_add(series->names, text);
		if (name < 0)
			return (int)name;
		series->name_of[i] = (uint32_t)name;
	}
	series->nr_names = strings_nr(series->names);
	return 0;
}

static int compare_totals(const void *a, const void *b, void *context)
{
	const struct series *series = context;
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	if (series->totals[left] != series->totals[right])
		return series->totals[left] < series->totals[right] ? 1 : -1;
	return left < right ? -1 : left > right;
}

/* False: the sample is of a block that begins before the first point. */
static bool find_point(const struct series *series, const struct sample *sample, size_t *ret)
{
	const struct time_slice slice =
		profile_slice(series->asking->profile, sample->labels.slice);

	if (!sample->labels.slice || slice.start_ns < series->from_ns)
		return false;
	*ret = (slice.start_ns - series->from_ns) / series->step_ns;
	return *ret < series->nr_points;
}

/* Sums up by name, and by name and point for the largest ones. 0 or -ENOMEM. */
static int sum_series(struct series *series, size_t most)
{
	const struct profile *profile = series->asking->profile;
	cleanup_free uint32_t *row_of = NULL;
	size_t point;
	uint32_t i;

	series->totals = calloc(series->nr_names, sizeof(*series->totals));
	for (i = 0; series->totals && i < profile_nr_samples(profile); i++)
		if (find_point(series, profile_sample(profile, i), &point))
			series->totals[series->name_of[i]] += profile_sample(profile, i)->count;
	series->order =
		series->totals ? sort_numbers(series->nr_names, compare_totals, series) : NULL;
	row_of = calloc(series->nr_names, sizeof(*row_of));
	if (!series->order || !row_of)
		return -ENOMEM;
	while (series->nr_shown < series->nr_names && series->nr_shown < most &&
	       series->totals[series->order[series->nr_shown]])
		series->nr_shown++;
	for (i = 0; i < series->nr_names; i++)
		row_of[series->order[i]] = i < series->nr_shown ? i : (uint32_t)series->nr_shown;
	series->amounts = calloc((series->nr_shown + 1) * series->nr_points, sizeof(uint64_t));
	if (!series->amounts)
		return -ENOMEM;
	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (!find_point(series, sample, &point))
			continue;
		series->amounts[row_of[series->name_of[i]] * series->nr_points + point] +=
			sample->count;
	}
	return 0;
}

static void write_amounts(const struct series *series, size_t row, FILE *out)
{
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < series->nr_points; i++)
		(void)fprintf(out, "%s%" PRIu64, i ? "," : "",
			      series->amounts[row * series->nr_points + i]);
	(void)putc(']', out);
}

static void write_series(const struct series *series, FILE *out)
{
	const struct profile *profile = series->asking->profile;
	size_t i;

	(void)fprintf(out, "{\"from\": %.3f, \"step\": %.3f, \"points\": %zu, \"value\": ",
		      (double)series->from_ns / 1e9, (double)series->step_ns / 1e9,
		      series->nr_points);
	json_write_string(out, profile_value_name(profile, 0));
	(void)fputs(", \"unit\": ", out);
	json_write_string(out, profile_value_unit(profile, 0));
	(void)fputs(",\n\"covered\": [", out);
	for (i = 0; i < series->nr_points; i++)
		(void)fprintf(out, "%s%d", i ? "," : "", series->measured_ns[i + 1] > 0);
	(void)fputs("],\n\"measured\": [", out);
	for (i = 0; i < series->nr_points; i++)
		(void)fprintf(out, "%s%.9g", i ? "," : "",
			      (double)series->measured_ns[i + 1] / 1e9);
	(void)fputs("],\n\"series\": [", out);
	for (i = 0; i < series->nr_shown; i++) {
		(void)fputs(i ? ",\n{\"name\": " : "\n{\"name\": ", out);
		json_write_string(out, strings_get(series->names, series->order[i]));
		(void)fprintf(out, ", \"total\": %" PRIu64 ", \"amounts\": ",
			      series->totals[series->order[i]]);
		write_amounts(series, i, out);
		(void)putc('}', out);
	}
	(void)fputs("],\n\"rest\": ", out);
	write_amounts(series, series->nr_shown, out);
	(void)fputs("}\n", out);
}

/*
 * Asks with a longer step until no block is longer. The question begins one point early: a block that reaches into the
 * first point belongs to the one before.
 */
static int ask_series(struct series *series, bool with_stacks)
{
	struct asking *asking = series->asking;
	const uint64_t range_ns = asking->to_ns - asking->from_ns;
	struct store_answer answer = {0};
	struct store_query query;
	uint64_t step_ns;
	int err = 0;

	while (!err && (step_ns = choose_step(range_ns, answer.longest_ns)) > series->step_ns) {
		series->step_ns = step_ns;
		series->from_ns = asking->from_ns - asking->from_ns % step_ns;
		if (!series->from_ns) /* 1970 */
			series->from_ns = step_ns;
		series->nr_points =
			asking->to_ns > series->from_ns
				? (asking->to_ns - series->from_ns + step_ns - 1) / step_ns
				: 1;
		free(series->measured_ns);
		series->measured_ns = calloc(series->nr_points + 1, sizeof(uint64_t));
		if (!series->measured_ns)
			return -ENOMEM;
		query = (struct store_query){
			.from_ns = series->from_ns - step_ns,
			.to_ns = asking->to_ns,
			.no_stacks = !with_stacks,
			.step_ns = step_ns,
			.slices_measured_ns = series->measured_ns,
			.nr_slices = series->nr_points + 1,
			.most_ns = step_ns,
		};
		profile_free(asking->profile);
		asking->profile = NULL;
		err = ask_any(asking, &query, &asking->profile, &answer);
	}
	return err;
}

/* /api/series */
static int answer_series(struct asking *asking)
{
	cleanup(series_clear) struct series series = {.asking = asking, .key = get(asking, "by")};
	const bool by_category = series.key && !strcmp(series.key, "category");
	uint64_t top = SERIES_TOP;
	int err;

	err = series.key && strchr(series.key, ',') ? bad(asking, "by", "one label, or category")
						    : 0;
	if (!err)
		err = take_number(asking, "top", SERIES_MAX, &top);
	if (!err)
		err = take_all(asking, hour_ago(asking->api), "");
	if (!err && by_category) {
		question_labels_clear(&asking->by);
		if (!asking->categories)
			err = categories_built_in("kernel", &asking->categories, &asking->error);
	} else {
		categories_free(asking->categories);
		asking->categories = NULL;
	}
	if (!err)
		err = ask_series(&series, by_category);
	if (err)
		return refuse(asking, err);
	err = name_samples(&series);
	if (!err)
		err = sum_series(&series, top);
	if (err)
		return err;
	asking->response->status = 200;
	asking->response->type = JSON;
	write_series(&series, asking->body);
	return 0;
}

/* --- what there is ---------------------------------------------------------------------------- */

static int read_extent(struct asking *asking, struct store_extent *ret)
{
	int err = open_store(asking);

	if (!err)
		err = store_extent(asking->store, ret, &asking->error);
	return err;
}

static struct health find_health(const struct asking *asking, const struct store_extent *extent,
				 int err)
{
	return health_of(asking->api->status, extent, err ? &asking->error : NULL,
			 asking->api->wall_ns, asking->api->now_ns);
}

/* /api/store */
static int answer_store(struct asking *asking)
{
	struct store_extent extent = {0};
	const struct health health = find_health(asking, &extent, read_extent(asking, &extent));
	/* Rounded inwards: a question for the last epoch must not touch the ones before and after. */
	const uint64_t from_ms = (extent.last_from_ns + NS_PER_MS - 1) / NS_PER_MS;
	const uint64_t to_ms = extent.last_to_ns / NS_PER_MS;
	FILE *out = asking->body;

	if (!asking->store)
		return refuse(asking, -EIO);
	asking->response->status = 200;
	asking->response->type = JSON;
	(void)fprintf(out,
		      "{\"version\": \"" STOOK_VERSION "\", \"now\": %.3f, \"from\": %.3f, "
		      "\"to\": %.3f, \"epoch\": {\"from\": %.3f, \"to\": %.3f}, ",
		      (double)asking->api->wall_ns / 1e9, (double)extent.from_ns / 1e9,
		      (double)extent.to_ns / 1e9, (double)from_ms / 1e3, (double)to_ms / 1e3);
	(void)fprintf(out,
		      "\"epochs\": %" PRIu64 ", \"minutes\": %" PRIu64 ", \"hours\": %" PRIu64
		      ", \"bytes\": %" PRIu64 ", \"agent\": %s, \"red\": ",
		      extent.nr_epochs, extent.nr_minutes, extent.nr_hours,
		      asking->api->store_bytes, asking->api->status ? "true" : "false");
	json_write_string(out, health.is_red ? health.why : NULL);
	(void)fputs("}\n", out);
	return 0;
}

/* /api/labels: what `stook query --list --json` prints. */
static int answer_labels(struct asking *asking)
{
	cleanup(sheet_clear) struct sheet sheet = {0};
	const struct format_options options = {.sheet = &sheet};
	struct store_query query;
	struct store_answer answer;
	struct store_extent extent;
	int err = take_all(asking, hour_ago(asking->api), "");

	query = (struct store_query){.from_ns = asking->from_ns,
				     .to_ns = asking->to_ns,
				     .all_labels = true,
				     .no_stacks = true};
	if (!err)
		err = store_extent(asking->store, &extent, &asking->error);
	if (!err)
		err = ask_any(asking, &query, &asking->profile, &answer);
	if (err)
		return refuse(asking, err);
	asking->response->status = 200;
	asking->response->type = JSON;
	err = question_list(&sheet, asking->profile, &answer, &extent, 0);
	return err ? err : format_by_name("json")->write(asking->profile, &options, asking->body);
}

/* --- for other programs ----------------------------------------------------------------------- */

#define PPROF_SECONDS	   30
#define PPROF_MOST_SECONDS (7 * 24 * 3600)

/* The last seconds of the store: the epochs that have at least half of the last one's length in them. */
static void choose_last(struct store_query *query, const struct store_extent *extent,
			uint64_t seconds)
{
	const uint64_t half_ns = (extent->last_to_ns - extent->last_from_ns) / 2;
	uint64_t length_ns = seconds * NS_PER_SEC;

	length_ns = length_ns > half_ns ? length_ns - half_ns : 1;
	query->to_ns = extent->last_to_ns;
	query->from_ns = query->to_ns > length_ns ? query->to_ns - length_ns : 0;
}

/*
 * /debug/pprof/profile?seconds=N: the last N seconds before the end of the last epoch. It has been sampled already, so
 * the answer is immediate.
 */
static int answer_pprof(struct asking *asking)
{
	const struct format_options options = {.labels = LABEL_COMM | LABEL_PID | LABEL_TID |
							 LABEL_CGROUP | LABEL_SET};
	uint64_t seconds = PPROF_SECONDS;
	struct store_extent extent = {0};
	struct store_query query = {.all_labels = true};
	struct store_answer answer;
	int err = take_number(asking, "seconds", PPROF_MOST_SECONDS, &seconds);

	if (!err && !seconds)
		err = bad(asking, "seconds", "at least 1");
	if (!err)
		err = take_all(asking, hour_ago(asking->api), "");
	if (!err)
		err = store_extent(asking->store, &extent, &asking->error);
	choose_last(&query, &extent, seconds);
	if (!err)
		err = ask(asking, &query, &asking->profile, &answer);
	if (err)
		return refuse(asking, err);
	asking->response->status = 200;
	asking->response->type = "application/octet-stream";
	(void)strcpy(asking->response->file, "profile.pb.gz");
	return format_by_name("pprof")->write(asking->profile, &options, asking->body);
}

/* /metrics; a store that cannot be read is a metric, too. */
static int answer_metrics(struct asking *asking)
{
	struct store_extent extent = {0};
	const struct health health = find_health(asking, &extent, read_extent(asking, &extent));

	asking->response->status = 200;
	asking->response->type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_write(asking->api->status, &extent, asking->api->store_bytes, &health,
		      asking->body);
	return 0;
}

/* /healthz */
static int answer_health(struct asking *asking)
{
	struct store_extent extent = {0};
	const struct health health = find_health(asking, &extent, read_extent(asking, &extent));

	asking->response->status = health.is_red ? 503 : 200;
	asking->response->type = TEXT;
	if (health.is_red)
		text_write(asking->body, health.why);
	else
		(void)fputs("ok", asking->body);
	(void)putc('\n', asking->body);
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static const char pprof_index[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>/debug/pprof/</title>"
	"<p>The last seconds of the whole host, as pprof: "
	"<a href=\"profile?seconds=30\">profile</a>; see also <a href=\"/\">the page</a>.</html>\n";

static const struct api_route routes[] = {
	{"/", HTML, .write = html_write_server, .is_public = true},
	{"/stook.js", "text/javascript; charset=utf-8", asset_serve_js, .is_public = true},
	{"/stook.css", "text/css; charset=utf-8", asset_serve_css, .is_public = true},
	{"/debug/pprof/", HTML, pprof_index, .is_public = true},
	{"/debug/pprof/profile", .answer = answer_pprof},
	{"/api/store", .answer = answer_store},
	{"/api/labels", .answer = answer_labels},
	{"/api/series", .answer = answer_series},
	{"/api/profile", .answer = answer_profile},
	{"/api/diff", .answer = answer_diff},
	{"/api/regressions", .answer = answer_regressions},
	{"/metrics", .answer = answer_metrics},
	{"/healthz", .answer = answer_health},
};

const struct api_route *api_find(const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(routes); i++)
		if (!strcmp(routes[i].path, path))
			return &routes[i];
	return NULL;
}

int api_answer(const struct api_route *route, const struct api *api,
	       const struct http_request *request, struct http_response *response, FILE *body)
{
	cleanup(asking_clear) struct asking asking = {api, request, response, body};

	return route->answer(&asking);
}
