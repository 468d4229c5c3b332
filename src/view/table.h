/*
 * The results of commands, independent of file formats.
 *
 * A sheet is a sequence of blocks: named figures, lines of text, lists of notes, and tables.
 * Commands and views fill a sheet; format/text renders any sheet as text, Markdown, CSV or JSON
 * (format/text/sheet_write.h). A new kind of table needs its columns and a function that makes a
 * row:
 *
 *	static const struct column columns[] = {
 *		{"name", "FUNC", .flags = COLUMN_NAME},
 *		{"count", "COUNT", UNIT_COUNT},
 *	};
 *	struct table table = {"rows", columns, ARRAY_SIZE(columns), nr, read_row, context};
 *
 *	sheet_add_table(&sheet, MEDIA_ALL, &table);
 *
 * Cells are typed, and renderers format them: people get "23.4%", "1,234" and "5.200" under
 * "SUM(ms)", programs the plain number. A tree is also a table: one of its columns has COLUMN_TREE,
 * and rows have levels.
 *
 * A table does not store its rows. The renderer requests one row at a time, possibly several times
 * (first for widths, then for text), so a table of a million rows needs no memory.
 */
#ifndef STOOK_VIEW_TABLE_H
#define STOOK_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The media in which a block or a column appears, as bits. */
enum media {
	MEDIA_TEXT = 1,
	MEDIA_MARKDOWN = 2,
	MEDIA_CSV = 4,
	MEDIA_JSON = 8,
	MEDIA_PEOPLE = MEDIA_TEXT | MEDIA_MARKDOWN,
	MEDIA_PROGRAMS = MEDIA_CSV | MEDIA_JSON,
	MEDIA_ALL = MEDIA_PEOPLE | MEDIA_PROGRAMS,
};

/* --- cells ----------------------------------------------------------------------------------- */

/* A range of a histogram, both ends included. INT64_MIN and INT64_MAX: no end. */
struct histogram_range {
	int64_t from, to;
};

struct histogram {
	const struct histogram_range *ranges;
	const uint64_t *counts; /* one per range */
	size_t nr;
	const char *title; /* unit or name of the values, for people: "usecs" */
};

enum cell_kind {
	CELL_NONE, /* unknown or not applicable: null in JSON, empty elsewhere */
	CELL_TEXT, /* never NULL, see cell_text() */
	CELL_COUNT,
	CELL_INTEGER,
	CELL_REAL,
	CELL_BOOL,
	CELL_PATH, /* several texts: a call path, callers first */
	CELL_HISTOGRAM,
};

struct cell {
	enum cell_kind kind;
	union {
		const char *text;
		uint64_t count;
		int64_t integer;
		double real;
		bool truth;
		struct {
			const char *const *texts;
			size_t nr;
			bool is_cut; /* its beginning is left out */
		} path;
		const struct histogram *histogram;
	};
	double error; /* of CELL_REAL: one standard deviation, limits the digits shown; 0: exact */
};

static inline struct cell cell_text(const char *text)
{
	return (struct cell){.kind = text ? CELL_TEXT : CELL_NONE, .text = text};
}

static inline struct cell cell_count(uint64_t count)
{
	return (struct cell){.kind = CELL_COUNT, .count = count};
}

static inline struct cell cell_integer(int64_t integer)
{
	return (struct cell){.kind = CELL_INTEGER, .integer = integer};
}

static inline struct cell cell_real(double real)
{
	return (struct cell){.kind = CELL_REAL, .real = real};
}

static inline struct cell cell_bool(bool truth)
{
	return (struct cell){.kind = CELL_BOOL, .truth = truth};
}

/* --- tables ---------------------------------------------------------------------------------- */

/* The unit of a number. Programs get the plain number whatever the unit. */
enum unit {
	UNIT_NONE,	  /* without commas: a PID, a rate */
	UNIT_COUNT,	  /* "1,234" */
	UNIT_PERCENT,	  /* "23.4%"; with COLUMN_SIGNED points: "+1.55" */
	UNIT_NANOSECONDS, /* in ns, us, ms or s, the same in the whole column: "SUM(us)" */
};

enum column_flags {
	COLUMN_NAME = 1,   /* text from a target: code span in Markdown; middle cut if too wide */
	COLUMN_MAIN = 2,   /* gets the width that the other columns leave */
	COLUMN_NUMBER = 4, /* its texts are numbers: right-aligned */
	COLUMN_SIGNED = 8, /* "+1.55" */
	COLUMN_ERROR = 16, /* "± 0.24" after the number */
	COLUMN_HEAT = 32,  /* with colours: large percentages red, smaller ones green */
	COLUMN_TREE = 64,  /* preceded by guides that show the row's level */
	COLUMN_OPTIONAL = 128, /* hidden from people if all its cells are empty */
	COLUMN_VERBATIM = 256, /* the user typed its name: dots and capitals stay unchanged */
	/* With never_cut: a cell wider than least_width shifts the rest of its line only. */
	COLUMN_OVERFLOWS = 512,
	COLUMN_SETS_UNIT = 1024, /* its largest value sets the unit of all UNIT_NANOSECONDS */
	COLUMN_HISTOGRAM = 2048, /* its cells are CELL_HISTOGRAM; text has one histogram per row */
	COLUMN_ROOMY = 4096,	 /* left out of text narrower than 80 columns */
};

struct column {
	const char *name;    /* for programs: "self.before" is nested in JSON, self_before in CSV */
	const char *heading; /* for people; NULL: hidden from them */
	enum unit unit;
	unsigned flags;		   /* enum column_flags */
	unsigned media;		   /* enum media, further restricted by name and heading; 0: all */
	unsigned decimals;	   /* of CELL_REAL, for people */
	unsigned precise;	   /* of CELL_REAL, for programs: digits after the point */
	bool significant;	   /* `precise` counts significant digits, as %g */
	unsigned least_width, gap; /* in columns of the terminal; gap: spaces before it, 0: 2 */
};

enum row_kind {
	ROW_PLAIN,
	ROW_REST,   /* the sum of several others, for people only; its first text ("… 204 more")
		       is ours, not a target's, and may extend to the end of the line */
	ROW_BLANK,  /* an empty line; in text only */
	ROW_HIDDEN, /* for programs only */
};

/* Colour of a row on a terminal. */
enum tone { TONE_NONE, TONE_MORE, TONE_LESS, TONE_NEW, TONE_GONE, TONE_DOUBTFUL };

#define TABLE_COLUMNS_MAX 48
#define ROW_SCRATCH_BYTES 512

struct row {
	struct cell cells[TABLE_COLUMNS_MAX]; /* by column; CELL_NONE until read_row() sets them */
	enum row_kind kind;
	enum tone tone;
	unsigned level; /* COLUMN_TREE: number of forks above */
	bool is_fork;	/* first row of a branch: "├" or "└" instead of "│" */
	bool has_more;	/* the fork above has further branches below */
	char scratch[ROW_SCRATCH_BYTES]; /* space for texts that read_row() makes */
};

struct table {
	const char *name; /* the member in JSON: "rows" */
	const struct column *columns;
	size_t nr_columns, nr_rows;
	/* Fills a row. Its texts are valid until the next call. */
	void (*read_row)(const void *context, size_t number, struct row *row);
	const void *context;
	bool never_cut; /* scripts read its text: never cut names, even if lines get too wide */
};

/* --- sheets ---------------------------------------------------------------------------------- */

/*
 * Words, headings and texts of columns without COLUMN_NAME are our own texts: they may contain "…",
 * "±" and "›", which become "..", "+-" and ">" on terminals without UTF-8.
 */

enum line_style {
	LINE_PLAIN,
	LINE_HEADING,
	LINE_BULLET,
	LINE_CODE,  /* a line of an indented code block in Markdown */
	LINE_ROOMY, /* left out of text narrower than 80 columns */
};

struct block;

struct sheet {
	struct block *blocks;
	size_t nr, cap;
	struct kept *kept; /* see sheet_keep() */
	size_t nr_kept, cap_kept;
	bool is_line; /* one of a stream: JSON is one object per line, CSV has headings only once */
	bool failed;  /* out of memory: adding becomes a no-op */
};

/* A zero-initialised sheet is empty. Blocks appear in the order in which they were added. */
void sheet_clear(struct sheet *sheet);

/* 0, or -ENOMEM if a block could not be added. */
int sheet_status(const struct sheet *sheet);

/*
 * Makes the sheet own the context: sheet_clear() calls clear(context). For data behind the rows of
 * tables. 0; on -ENOMEM, clear(context) was called at once.
 */
int sheet_keep(struct sheet *sheet, void *context, void (*clear)(void *context));

/*
 * Adds a value of the whole sheet. JSON: a member. CSV: a column before the others in each row.
 * Text: a line "heading  value", in Markdown a list item. Texts are copied, column names and
 * headings are not. Paths and histograms are not supported.
 */
void sheet_add_figure(struct sheet *sheet, unsigned media, const struct column *column,
		      struct cell cell);

/*
 * Begins a line for people; words and names are then added to it. Without any, the line is empty.
 */
void sheet_add_line(struct sheet *sheet, unsigned media, enum line_style style);
__attribute__((format(printf, 2, 3))) void sheet_add_words(struct sheet *sheet, const char *format,
							   ...);
/* A name from a target: a code span in Markdown; in text, cut if it takes half a line or more. */
void sheet_add_name(struct sheet *sheet, const char *name);

/*
 * Begin a named list, and add a text to it: an array in JSON, bullets in Markdown, lines in text.
 * Copied.
 */
void sheet_add_notes(struct sheet *sheet, unsigned media, const char *name);
void sheet_add_note(struct sheet *sheet, const char *text);

/* The table is copied; its columns and context must outlive the sheet. CSV: one table at most. */
void sheet_add_table(struct sheet *sheet, unsigned media, const struct table *table);

/*
 * Begins an interval's sheet: for people an empty line and with shows_time the local time of day;
 * for programs "time" and, in seconds_media, "seconds". Returns TABLE_COLUMNS_MAX columns for the
 * table to fill, owned by the sheet; NULL when out of memory.
 */
struct column *sheet_begin_interval(struct sheet *sheet, double time, double seconds,
				    unsigned seconds_media, bool shows_time);

/* --- for renderers --------------------------------------------------------------------------- */

enum block_kind { BLOCK_FIGURE, BLOCK_LINE, BLOCK_NOTES, BLOCK_TABLE };

/* A part of a line, or a note. */
struct span {
	char *text;
	bool is_name;
};

struct block {
	enum block_kind kind;
	unsigned media;
	struct column column;  /* BLOCK_FIGURE */
	struct cell cell;      /* BLOCK_FIGURE */
	enum line_style style; /* BLOCK_LINE */
	const char *name;      /* BLOCK_NOTES */
	struct span *spans;    /* BLOCK_LINE, BLOCK_NOTES */
	size_t nr_spans, cap_spans;
	struct table table; /* BLOCK_TABLE */
};

#endif
