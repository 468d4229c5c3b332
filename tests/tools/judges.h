/*
 * Unwinds a stopped thread with other unwinders: elfutils' libdwfl in process, like eu-stack, and
 * gdb as a command.
 *
 * Both report if a frame's pc was interrupted or is a return address. The lists follow the
 * convention of a record (bpf/wire.h): interrupted code in outer frames is stored as pc + 1.
 */
#ifndef STOOK_TESTS_TOOLS_JUDGES_H
#define STOOK_TESTS_TOOLS_JUDGES_H

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/wire.h"

struct frame_list {
	uint64_t frames[WIRE_MAX_USER_FRAMES];
	size_t nr;
	bool is_whole;		     /* ended normally, not with an error */
	char end[160];		     /* in the unwinder's words */
	bool is_after_signal_return; /* while libdwfl walks */
};

/* --- libdwfl ------------------------------------------------------------------------------- */

#define MAX_DWFLS 48

/* libdwfl's data of a process, cached between stops. */
struct dwfl_of_process {
	pid_t pid;
	Dwfl *dwfl;
};

static inline int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			       const char *file, const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

static inline Dwfl *dwfl_open(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl && (dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
		     dwfl_linux_proc_attach(dwfl, pid, true))) {
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

/* Returns the cached Dwfl, or a new one in the oldest one's slot, with the current modules. */
static inline Dwfl *dwfl_of(pid_t pid)
{
	static struct dwfl_of_process known[MAX_DWFLS];
	static size_t hand;
	size_t i;

	for (i = 0; i < MAX_DWFLS; i++) {
		if (known[i].pid != pid || !known[i].dwfl)
			continue;
		dwfl_report_begin(known[i].dwfl);
		if (dwfl_linux_proc_report(known[i].dwfl, pid) == 0 &&
		    dwfl_report_end(known[i].dwfl, NULL, NULL) == 0)
			return known[i].dwfl;
		break;
	}
	if (i == MAX_DWFLS)
		i = hand++ % MAX_DWFLS;
	dwfl_end(known[i].dwfl);
	known[i] = (struct dwfl_of_process){pid, dwfl_open(pid)};
	return known[i].dwfl;
}

/*
 * libdwfl reports `activation` for the code that a signal interrupted, and also for the frame
 * before it, the signal trampoline. The handler returns to the trampoline normally, so that frame's
 * pc is an ordinary return address.
 */
static inline int take_dwfl_frame(Dwfl_Frame *frame, void *argument)
{
	struct frame_list *list = argument;
	Dwarf_Addr pc;
	bool is_exact;

	if (!dwfl_frame_pc(frame, &pc, &is_exact))
		return -1;
	if (list->nr == WIRE_MAX_USER_FRAMES)
		return DWARF_CB_ABORT;
	list->frames[list->nr] = pc + (list->nr && is_exact && list->is_after_signal_return);
	list->is_after_signal_return = list->nr && is_exact;
	list->nr++;
	return DWARF_CB_OK;
}

static inline void judge_by_dwfl(pid_t pid, pid_t tid, struct frame_list *ret)
{
	Dwfl *dwfl = dwfl_of(pid);
	int err = -1;

	*ret = (struct frame_list){0};
	if (dwfl)
		err = dwfl_getthread_frames(dwfl, tid, take_dwfl_frame, ret);
	ret->is_whole = err == 0 || err == DWARF_CB_ABORT;
	snprintf(ret->end, sizeof(ret->end), "%s", ret->is_whole ? "whole" : dwfl_errmsg(-1));
}

/* --- gdb ----------------------------------------------------------------------------------- */

static const char gdb_script[] =
	"import gdb\n"
	"for thread in gdb.selected_inferior().threads():\n"
	"    if thread.ptid[1] == %d: thread.switch()\n"
	"frame, nr, exact, reason = gdb.newest_frame(), 0, True, 0\n"
	"try:\n"
	"    while frame is not None and nr < 512:\n"
	"        if frame.type() != gdb.INLINE_FRAME:\n"
	"            print('frame %%#x' %% (frame.pc() + (1 if exact and nr else 0)))\n"
	"            nr, exact = nr + 1, frame.type() == gdb.SIGTRAMP_FRAME\n"
	"        reason = frame.unwind_stop_reason()\n"
	"        frame = frame.older()\n"
	"    print('end ' + gdb.frame_stop_reason_string(reason))\n"
	"except gdb.error as error:\n"
	"    print('end ' + str(error))\n";

static inline void read_gdb_output(FILE *output, struct frame_list *ret)
{
	char line[512];

	while (fgets(line, sizeof(line), output)) {
		if (!strncmp(line, "frame 0x", 8) && ret->nr < WIRE_MAX_USER_FRAMES)
			ret->frames[ret->nr++] = strtoull(line + 8, NULL, 16);
		if (!strncmp(line, "end ", 4))
			snprintf(ret->end, sizeof(ret->end), "%.*s", (int)strcspn(line + 4, "\n"),
				 line + 4);
	}
	ret->is_whole = !strcmp(ret->end, "no reason") || !strcmp(ret->end, "outermost");
}

/* The process must be stopped by a signal and not traced. */
static inline void judge_by_gdb(pid_t pid, pid_t tid, struct frame_list *ret)
{
	char path[] = "/tmp/stook-gdb-XXXXXX.py", command[400];
	int fd = mkstemps(path, 3);
	FILE *output;

	*ret = (struct frame_list){.end = "gdb could not be run"};
	if (fd < 0)
		return;
	(void)dprintf(fd, gdb_script, tid);
	(void)close(fd);
	snprintf(command, sizeof(command),
		 "timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' "
		 "-iex 'set backtrace past-main on' -iex 'set backtrace past-entry on' "
		 "-p %d -ex 'source %s' "
		 "2>/dev/null </dev/null",
		 pid, path);
	output = popen(command, "re");
	if (output) {
		read_gdb_output(output, ret);
		(void)pclose(output);
	}
	(void)unlink(path);
}

#endif
