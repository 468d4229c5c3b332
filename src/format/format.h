/* The formats that a profile can be written in, and read from: a row each in one table. */
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

/* What the user may ask of any of them; each takes what concerns it. */
struct format_options {
	unsigned labels; /* enum label bits: which samples are told apart by */
	bool delimited;	 /* a frame "-" between user and kernel parts where both exist */
	bool annotate;	 /* _[k] behind kernel frames, _[i] inlined ones, _[j] run-time code */
	bool lines;	 /* source lines behind names, where they are known */
	bool no_user;	 /* user stacks were not asked for: none is "missed" */
	bool no_kernel;	 /* likewise */
	unsigned width;	 /* columns of the terminal; 0: none */
	bool ascii;	 /* it does not show UTF-8 */
	bool color;	 /* it shows colours, and they are wanted */
	const struct flame_style *flame;	   /* NULL: as it is by default */
	const struct report_style *report;	   /* likewise */
	const struct categories *categories;	   /* NULL: none */
	const struct comparison_style *comparison; /* of a difference; NULL: it is none */
};

/* What a file does not tell of itself; each format takes what concerns it. */
struct format_read_options {
	const struct format *format; /* NULL: by content, else by name */
	bool no_comm; /* folded stacks begin with a function, not with a thread's name */
};

/* A line with a stack of more frames is passed over: profile_add_sample() takes no more. */
#define FORMAT_MAX_FRAMES UINT16_MAX

/* What was in a file besides the profile; each format sets what it knows. */
struct format_notes {
	unsigned labels;	  /* enum label bits that its samples had */
	bool annotated;		  /* names were marked with their kinds, as --annotate does */
	bool delimited;		  /* user and kernel stacks were told apart, as --delimited does */
	size_t nr_events;	  /* that were sampled side by side, of which one is shown; or 0 */
	uint64_t dropped_labels;  /* without a name or a value, or too many of one sample */
	uint64_t dropped_samples; /* below 0, or of more events than a profile has values */
	uint64_t bad_lines;	  /* of text, that were passed over */
	uint64_t first_bad_line;  /* counted from 1 */
	uint64_t deep_lines;	  /* likewise, with too many frames */
	uint64_t first_deep_line;
	bool may_lack_comms; /* most of it is words that stand alone: maybe functions, not threads */
};

struct format {
	const char *name;
	const char *extensions; /* of its files: ".pb.gz, .pprof" */
	bool is_binary;		/* nothing to show on a terminal */
	bool keeps_labels;	/* other programs read from it what samples are labelled with */
	/* 0, -ENOMEM, or the stream's errno. */
	int (*write)(const struct profile *profile, const struct format_options *options,
		     FILE *out);
	/* True if so many first bytes of a file are of this format. NULL: such files are written only. */
	bool (*is_it)(const char *head, size_t nr);
	/* Into a new profile: from a stream, or from all bytes of a file. 0 or a negative errno. */
	int (*read)(FILE *in, const struct format_read_options *options, struct profile *profile,
		    struct format_notes *notes, struct error *error);
	int (*parse)(const void *bytes, size_t nr, struct profile *profile,
		     struct format_notes *notes, struct error *error);
};

/* NULL if there is no such format. */
const struct format *format_by_name(const char *name);
const struct format *format_by_path(const char *path);

const struct format *format_by_head(const char *head, size_t nr); /* by a file's first bytes */

/*
 * Reads a file into a new profile, compressed by gzip or not. The path is for messages, and tells the
 * format where the content does not. 0 or a negative errno with the reason: "it is empty"; the hint says
 * what to do about a file that is known to be something else.
 */
int format_read(FILE *in, const char *path, const struct format_read_options *options,
		struct profile *profile, struct format_notes *notes, struct error *error);

/* Where in the path its format's extension begins; NULL if it has none. */
const char *format_extension(const char *path);

/* "folded, report, …", for messages: all names, or all extensions. */
const char *format_names(void);
const char *format_extensions(void);

/* The names of those that can be read. */
#define FORMAT_NAMES_BYTES 128
const char *format_read_names(char names[FORMAT_NAMES_BYTES]);

#endif
