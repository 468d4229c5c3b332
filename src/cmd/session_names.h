/* Names for the profile of a session, with everything that only this host can tell. */
#ifndef STOOK_CMD_SESSION_NAMES_H
#define STOOK_CMD_SESSION_NAMES_H

#include <stdbool.h>

#include "base/error.h"
#include "cmd/naming_options.h"
#include "session/session.h"
#include "sym/kallsyms.h"
#include "sym/symbolizer.h"

struct session_names {
	struct session *session;
	struct symbolizer *symbolizer;
	struct kallsyms *kallsyms;
	bool java, is_quiet;
};

struct session_names_options {
	const struct naming_options *naming;
	bool java;	  /* ask JVMs for theirs */
	bool leave_files; /* what files have names for is named elsewhere */
	bool is_quiet;	  /* JVMs that refuse are not told of */
};

/* 0 or -ENOMEM. The session must outlive it. */
int session_names_init(struct session_names *names, struct session *session,
		       const struct session_names_options *options, struct error *error);
void session_names_clear(struct session_names *names);

/* Names what the profile has by now. 0 or -ENOMEM. */
int session_names_apply(struct session_names *names, struct error *error);

#endif
