/* The formats that profiles are written in and read from: one row each in a table. */
#ifndef STOOK_FORMAT_FORMAT_H
#define STOOK_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"

struct categories;
struct comparison_style;
struct flame_style;
struct report_style;
struct sheet;

/* Options of all formats; each format uses the ones that apply to it. */
struct format_options {
	unsigned labels; /* enum label bits: samples are distinguished by them */
	bool delimited;	 /* a frame "-" between user and kernel parts where both exist */
	bool annotate;	 /* mark frames: _[k] kernel, _[i] inlined, _[j] JIT-compiled */
	bool lines;	 /* show source lines after names, where known */
	bool no_user;	 /* user stacks were not requested: they are not "missed" */
	bool no_kernel;	 /* kernel stacks were not requested */
	unsigned width;	 /* columns of the terminal; 0: no terminal */
	bool ascii;	 /* the terminal cannot show UTF-8 */
	bool color;	 /* colours are possible and wanted */
	bool has_root;	 /* folded stacks begin with the event: [cycles] */
	const struct flame_style *flame;	   /* NULL: default style */
	const struct report_style *report;	   /* NULL: default style */
	const struct categories *categories;	   /* NULL: none */
	const struct comparison_style *comparison; /* for a difference; NULL: no difference */
	const struct sheet *sheet; /* to show instead of the profile's report; NULL: none */
};

/* Properties of an input that are not in the file; each format uses the ones that apply to it. */
struct format_read_options {
	const struct format *format; /* NULL: detect by content, then by name */
	bool no_comm;	      /* folded stacks begin with a function, not with a thread name */
	uint64_t spare_bytes; /* available memory; 0: the kernel is asked */
};

/* Limit of profile_add_sample(). Lines with deeper stacks are skipped. */
#define FORMAT_MAX_FRAMES UINT16_MAX

/* Findings while reading a file; each format sets the ones it knows. */
struct format_notes {
	unsigned labels;	  /* enum label bits that the samples have */
	bool annotated;		  /* names have the marks of --annotate */
	bool delimited;		  /* user and kernel stacks are separated as by --delimited */
	size_t nr_events;	  /* number of sampled events, of which one is shown; or 0 */
	uint64_t dropped_labels;  /* without name or value, or too many for one sample */
	uint64_t dropped_samples; /* with a negative value */
	uint64_t dropped_events;  /* samples of events beyond PROFILE_MAX_VALUES */
	uint64_t bad_lines;	  /* lines of text that were skipped */
	uint64_t first_bad_line;  /* counted from 1 */
	uint64_t deep_lines;	  /* lines skipped because of too many frames */
	uint64_t first_deep_line;
	bool may_lack_comms; /* most lines are single words: maybe functions instead of threads */
};

struct format {
	const char *name;
	const char *extensions; /* of files: ".pb.gz, .pprof" */
	bool is_binary;		/* not for terminals */
	bool keeps_labels;	/* all labels are kept, for other programs */
	bool is_table;		/* can show a sheet */
	bool has_one_value;	/* of several events, each is written in turn */
	/* Returns 0, -ENOMEM, or the stream's errno. */
	int (*write)(const struct profile *profile, const struct format_options *options,
		     FILE *out);
	/* True if a file with these first bytes has this format. NULL: a format without reader. */
	bool (*is_it)(const char *head, size_t nr);
	/*
	 * Reads into a new profile, from a stream or from all bytes of a file. 0 or a negative
	 * errno.
	 */
	int (*read)(FILE *in, const struct format_read_options *options, struct profile *profile,
		    struct format_notes *notes, struct error *error);
	int (*parse)(const void *bytes, size_t nr, struct profile *profile,
		     struct format_notes *notes, struct error *error);
};

/* Returns NULL if there is no such format. */
const struct format *format_by_name(const char *name);
const struct format *format_by_path(const char *path);

const struct format *format_by_head(const char *head, size_t nr); /* by a file's first bytes */

/*
 * Reads a file into a new profile; gzip is inflated. The path is used in messages, and its
 * extension decides the format if the content does not. Returns 0 or a negative errno, with a
 * reason such as "it is empty"; the hint says what to do with known files that are not profiles.
 */
int format_read(FILE *in, const char *path, const struct format_read_options *options,
		struct profile *profile, struct format_notes *notes, struct error *error);

/* Returns the start of the path's extension if it is a format's; else NULL. */
const char *format_extension(const char *path);

/* Return "folded, report, …", for messages: all names, or all extensions. */
const char *format_names(void);
const char *format_extensions(void);

/* Lists the names of the formats that can be read. */
#define FORMAT_NAMES_BYTES 128
const char *format_read_names(char names[FORMAT_NAMES_BYTES]);

#endif
