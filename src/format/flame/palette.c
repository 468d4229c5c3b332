/*
 * A palette is a list of rules, of which the first match counts. A rule matches the kind of the
 * frame and the start, a part or the end of its name, and leads to a hue, which is a range of
 * colours. Suffixes of names (_[k], _[j], _[i]) give the kind, in stacks folded by --annotate or by
 * other tools.
 */
#include "format/flame/palette.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

/* --- hues ------------------------------------------------------------------------------------ */

enum hue {
	HUE_NONE,
	HUE_HOT,
	HUE_MEM,
	HUE_IO,
	HUE_RED,
	HUE_GREEN,
	HUE_BLUE,
	HUE_AQUA,
	HUE_YELLOW,
	HUE_PURPLE,
	HUE_ORANGE,
	HUE_FLAME,
	HUE_SKY,
	HUE_STRAW,
	HUE_LEAF,
	HUE_STONE,
	HUE_MIST,
	HUE_ROSE,
	HUE_IRIS,
	HUE_PLUM,
};

/*
 * Red, green, blue: start of the range, its length, and the part of the variate that selects a
 * value in it.
 */
struct hue_range {
	uint8_t from[3], span[3], part[3];
};

static const struct hue_range hues[] = {
	[HUE_NONE] = {{160, 160, 160}, {0, 0, 0}, {0, 0, 0}},
	[HUE_HOT] = {{205, 0, 0}, {50, 230, 55}, {2, 0, 1}},
	[HUE_MEM] = {{0, 190, 0}, {0, 50, 210}, {0, 1, 0}},
	[HUE_IO] = {{80, 80, 190}, {60, 60, 55}, {0, 0, 1}},
	[HUE_RED] = {{200, 50, 50}, {55, 80, 80}, {0, 0, 0}},
	[HUE_GREEN] = {{50, 200, 50}, {60, 55, 60}, {0, 0, 0}},
	[HUE_BLUE] = {{80, 80, 205}, {60, 60, 50}, {0, 0, 0}},
	[HUE_AQUA] = {{50, 165, 165}, {60, 55, 55}, {0, 0, 0}},
	[HUE_YELLOW] = {{175, 175, 50}, {55, 55, 20}, {0, 0, 0}},
	[HUE_PURPLE] = {{190, 80, 190}, {65, 60, 65}, {0, 0, 0}},
	[HUE_ORANGE] = {{190, 90, 0}, {65, 65, 0}, {0, 0, 0}},
	[HUE_FLAME] = {{238, 118, 62}, {16, 72, 30}, {1, 0, 2}},
	[HUE_SKY] = {{112, 160, 214}, {44, 34, 30}, {0, 0, 1}},
	[HUE_STRAW] = {{236, 212, 96}, {16, 24, 44}, {1, 0, 2}},
	[HUE_LEAF] = {{116, 190, 104}, {50, 30, 46}, {0, 1, 2}},
	[HUE_STONE] = {{198, 200, 206}, {14, 14, 14}, {0, 0, 0}},
	[HUE_MIST] = {{226, 226, 226}, {10, 10, 10}, {0, 0, 0}},
	[HUE_ROSE] = {{232, 108, 108}, {16, 30, 30}, {0, 1, 1}},
	[HUE_IRIS] = {{150, 144, 228}, {24, 24, 20}, {1, 1, 0}},
	[HUE_PLUM] = {{206, 132, 212}, {24, 24, 24}, {0, 1, 2}},
};

static uint8_t in_range(const struct hue_range *range, size_t channel, struct variate variate)
{
	unsigned far = variate.parts[range->part[channel]];

	return (uint8_t)(range->from[channel] + range->span[channel] * far / 256);
}

static struct color hue_color(enum hue hue, struct variate variate)
{
	const struct hue_range *range = &hues[hue];

	return (struct color){in_range(range, 0, variate), in_range(range, 1, variate),
			      in_range(range, 2, variate)};
}

/* --- palettes -------------------------------------------------------------------------------- */

#define ANY_KIND NR_WORD_KINDS

struct palette_rule {
	enum word_kind kind;		  /* ANY_KIND: any */
	const char *begin, *within, *end; /* of the name; NULL: any */
	enum hue hue;
};

static const struct palette_rule java_rules[] = {
	{WORD_RUN_TIME, NULL, NULL, NULL, HUE_GREEN}, {WORD_INLINED, NULL, NULL, NULL, HUE_AQUA},
	{ANY_KIND, "java/", NULL, NULL, HUE_GREEN},   {ANY_KIND, "Ljava/", NULL, NULL, HUE_GREEN},
	{ANY_KIND, "javax/", NULL, NULL, HUE_GREEN},  {ANY_KIND, "jdk/", NULL, NULL, HUE_GREEN},
	{ANY_KIND, "net/", NULL, NULL, HUE_GREEN},    {ANY_KIND, "org/", NULL, NULL, HUE_GREEN},
	{ANY_KIND, "Lorg/", NULL, NULL, HUE_GREEN},   {ANY_KIND, "com/", NULL, NULL, HUE_GREEN},
	{ANY_KIND, "Lcom/", NULL, NULL, HUE_GREEN},   {ANY_KIND, "io/", NULL, NULL, HUE_GREEN},
	{ANY_KIND, "sun/", NULL, NULL, HUE_GREEN},    {ANY_KIND, NULL, ":::", NULL, HUE_GREEN},
	{ANY_KIND, NULL, "::", NULL, HUE_YELLOW},     {WORD_KERNEL, NULL, NULL, NULL, HUE_ORANGE},
};

static const struct palette_rule perl_rules[] = {
	{ANY_KIND, NULL, "::", NULL, HUE_YELLOW},
	{ANY_KIND, NULL, "Perl", NULL, HUE_GREEN},
	{ANY_KIND, NULL, ".pl", NULL, HUE_GREEN},
	{WORD_KERNEL, NULL, NULL, NULL, HUE_ORANGE},
};

static const struct palette_rule js_rules[] = {
	{WORD_RUN_TIME, NULL, "/", NULL, HUE_GREEN}, {WORD_RUN_TIME, NULL, NULL, NULL, HUE_AQUA},
	{ANY_KIND, NULL, "::", NULL, HUE_YELLOW},    {ANY_KIND, NULL, ".js", NULL, HUE_GREEN},
	{ANY_KIND, NULL, ":", NULL, HUE_AQUA},	     {WORD_KERNEL, NULL, NULL, NULL, HUE_ORANGE},
};

static const struct palette_rule chain_rules[] = {
	{ANY_KIND, NULL, NULL, "_[w]", HUE_AQUA},
};

/* First PALETTE_NR_STATES: of --wall and --off-cpu, and the kinds of locks: futexes, spinning, asleep. */
static const struct palette_rule kind_rules[] = {
	{WORD_USER, "[running]", NULL, NULL, HUE_ROSE},
	{WORD_USER, "[runnable]", NULL, NULL, HUE_YELLOW},
	{WORD_USER, "[sleeping]", NULL, NULL, HUE_IRIS},
	{WORD_USER, "[blocked]", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[idle]", NULL, NULL, HUE_STONE},
	{WORD_USER, "[stopped]", NULL, NULL, HUE_STONE},
	{WORD_USER, "[futex]", NULL, NULL, HUE_IRIS},
	{WORD_USER, "[spinlock]", NULL, NULL, HUE_ROSE},
	{WORD_USER, "[rwlock:", NULL, NULL, HUE_ROSE},
	{WORD_USER, "[mutex]", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[rwsem:", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[rt-mutex]", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[rwlock-rt:", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[pcpu-sem:", NULL, NULL, HUE_PLUM},
	{WORD_USER, "[semaphore]", NULL, NULL, HUE_PLUM},
	{WORD_KERNEL, NULL, NULL, NULL, HUE_SKY},
	{WORD_INLINED, NULL, NULL, NULL, HUE_STRAW},
	{WORD_RUN_TIME, NULL, NULL, NULL, HUE_LEAF},
	{WORD_LABEL, NULL, NULL, NULL, HUE_STONE},
	{WORD_MISSED, NULL, NULL, NULL, HUE_MIST},
};

struct palette {
	const char *name;
	const char *background;
	enum hue hue; /* if no rule matches */
	const struct palette_rule *rules;
	size_t nr_rules;
};

#define NO_RULES    NULL, 0
#define RULES(name) name, ARRAY_SIZE(name)

/* name, background, hue, rules */
#define PALETTES(X)                                      \
	X("kind", "white", HUE_FLAME, RULES(kind_rules)) \
	X("hot", "yellow", HUE_HOT, NO_RULES)            \
	X("mem", "green", HUE_MEM, NO_RULES)             \
	X("io", "blue", HUE_IO, NO_RULES)                \
	X("wakeup", "blue", HUE_AQUA, NO_RULES)          \
	X("chain", "blue", HUE_BLUE, RULES(chain_rules)) \
	X("java", "yellow", HUE_RED, RULES(java_rules))  \
	X("js", "yellow", HUE_RED, RULES(js_rules))      \
	X("perl", "yellow", HUE_RED, RULES(perl_rules))  \
	X("red", "grey", HUE_RED, NO_RULES)              \
	X("green", "grey", HUE_GREEN, NO_RULES)          \
	X("blue", "grey", HUE_BLUE, NO_RULES)            \
	X("aqua", "grey", HUE_AQUA, NO_RULES)            \
	X("yellow", "grey", HUE_YELLOW, NO_RULES)        \
	X("purple", "grey", HUE_PURPLE, NO_RULES)        \
	X("orange", "grey", HUE_ORANGE, NO_RULES)

static const struct palette palettes[] = {
#define X(...) {__VA_ARGS__},
	PALETTES(X)
#undef X
};

const struct palette *palette_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(palettes); i++)
		if (!strcmp(name, palettes[i].name))
			return &palettes[i];
	return NULL;
}

const char *palette_names(void)
{
#define X(name, ...) ", " name
	static const char list[] = PALETTES(X);
#undef X

	return list + strlen(", ");
}

const struct palette *palette_of_kinds(void)
{
	return &palettes[0];
}

static enum word_kind marked_kind(const char *name, enum word_kind kind)
{
	size_t nr = strlen(name);

	if (nr < 4 || name[nr - 4] != '_' || name[nr - 3] != '[' || name[nr - 1] != ']')
		return kind;
	switch (name[nr - 2]) {
	case 'k':
		return WORD_KERNEL;
	case 'i':
		return WORD_INLINED;
	case 'j':
		return WORD_RUN_TIME;
	default:
		return kind;
	}
}

static bool rule_fits(const struct palette_rule *rule, const char *name, enum word_kind kind)
{
	return (rule->kind == ANY_KIND || rule->kind == kind) &&
	       (!rule->begin || text_starts_with(name, rule->begin)) &&
	       (!rule->within || strstr(name, rule->within)) &&
	       (!rule->end || text_ends_with(name, strlen(name), rule->end));
}

struct color palette_color(const struct palette *palette, const char *name, enum word_kind kind,
			   struct variate variate)
{
	size_t i;

	if (!strcmp(name, "-") || !strcmp(name, "--")) /* separators between joined stacks */
		return hue_color(HUE_NONE, variate);
	kind = marked_kind(name, kind);
	for (i = 0; i < palette->nr_rules; i++)
		if (rule_fits(&palette->rules[i], name, kind))
			return hue_color(palette->rules[i].hue, variate);
	return hue_color(palette->hue, variate);
}

struct color palette_kind_color(enum word_kind kind)
{
	return palette_color(palette_of_kinds(), "", kind, (struct variate){{128, 128, 128}});
}

size_t palette_state(const char *name)
{
	size_t i;

	for (i = 0; i < PALETTE_NR_STATES; i++)
		if (text_starts_with(name, kind_rules[i].begin))
			break;
	return i;
}

struct color palette_state_color(size_t state)
{
	return hue_color(kind_rules[state].hue, (struct variate){{128, 128, 128}});
}

const char *palette_kind_name(enum word_kind kind)
{
	static const char *const names[NR_WORD_KINDS] = {
		[WORD_LABEL] = "thread",    [WORD_USER] = "user",    [WORD_KERNEL] = "kernel",
		[WORD_INLINED] = "inlined", [WORD_RUN_TIME] = "JIT", [WORD_MISSED] = "unreadable",
	};

	return names[kind];
}

/* --- variates -------------------------------------------------------------------------------- */

struct variate variate_by_number(uint64_t number)
{
	uint64_t mixed = hash_stable_u64(number + 1);

	return (struct variate){{(uint8_t)mixed, (uint8_t)(mixed >> 8), (uint8_t)(mixed >> 16)}};
}

struct variate variate_by_name(const char *name)
{
	return variate_by_number(hash_stable_bytes(name, strlen(name)));
}

/*
 * Weights bytes by position: the first byte counts most; from_back starts at the end of the name.
 */
static uint8_t likeness(const char *name, size_t nr, bool from_back)
{
	double sum = 0, all = 0, weight = 1;
	size_t i;

	for (i = 0; i < nr && i < 6; i++) {
		unsigned byte = (unsigned char)name[from_back ? nr - 1 - i : i];

		sum += weight * (byte % 16) / 15;
		all += weight;
		weight *= 0.7;
	}
	return all > 0 ? (uint8_t)(255 * (1 - sum / all)) : 0;
}

struct variate variate_by_likeness(const char *name)
{
	size_t nr = strlen(name);
	uint8_t front = likeness(name, nr, false), back = likeness(name, nr, true);

	return (struct variate){{front, back, back}};
}

/* --- differences and categories -------------------------------------------------------------- */

static uint8_t between(uint8_t from, uint8_t to, double far)
{
	return (uint8_t)(from + (to - from) * far + 0.5);
}

static struct color color_between(struct color from, struct color to, double far)
{
	far = far < 0 ? 0 : far > 1 ? 1 : far;
	return (struct color){between(from.red, to.red, far), between(from.green, to.green, far),
			      between(from.blue, to.blue, far)};
}

struct color palette_more(double strength)
{
	return color_between((struct color){255, 214, 206}, (struct color){232, 64, 48}, strength);
}

struct color palette_less(double strength)
{
	return color_between((struct color){210, 224, 255}, (struct color){72, 128, 240}, strength);
}

struct color palette_unchanged(void)
{
	return (struct color){222, 222, 222};
}

struct color palette_ratio(double deviation)
{
	static const struct color middle = {250, 236, 178};

	return deviation < 0 ? color_between(middle, palette_less(1), -deviation)
			     : color_between(middle, palette_more(1), deviation);
}

struct color palette_category(size_t rank)
{
	static const struct color colors[] = {
		{240, 150, 90},	 {120, 180, 235}, {130, 205, 130}, {235, 205, 90},
		{205, 155, 225}, {245, 150, 170}, {110, 205, 200}, {200, 175, 140},
		{170, 200, 90},	 {160, 165, 240}, {225, 130, 200}, {150, 190, 170},
	};

	static const struct color white = {255, 255, 255}, grey = {170, 170, 170};
	struct color color;
	size_t round;

	if (!rank)
		return (struct color){222, 222, 222};
	color = colors[(rank - 1) % ARRAY_SIZE(colors)];
	round = (rank - 1) / ARRAY_SIZE(colors);
	if (round) /* black text must be readable on all colours */
		return color_between(color, round % 2 ? white : grey, 0.5);
	return color;
}

/* --- backgrounds ----------------------------------------------------------------------------- */

static const struct named_background {
	const char *name;
	struct background background;
} backgrounds[] = {
	{"white", {{255, 255, 255}, {247, 246, 244}}},
	{"yellow", {{238, 238, 238}, {238, 238, 176}}},
	{"blue", {{238, 238, 238}, {224, 224, 255}}},
	{"green", {{238, 242, 238}, {224, 255, 224}}},
	{"grey", {{248, 248, 248}, {232, 232, 232}}},
};

int background_parse(const char *text, struct background *ret)
{
	unsigned long number;
	struct color color;
	char *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(backgrounds); i++) {
		if (strcmp(text, backgrounds[i].name) != 0)
			continue;
		*ret = backgrounds[i].background;
		return 0;
	}
	if (*text != '#' || strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
		return -EINVAL;
	number = strtoul(text + 1, &end, 16);
	color = (struct color){(uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
	*ret = (struct background){color, color};
	return 0;
}

struct background palette_background(const struct palette *palette)
{
	struct background background = backgrounds[0].background;

	(void)background_parse(palette->background, &background);
	return background;
}
