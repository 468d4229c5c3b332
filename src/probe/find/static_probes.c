/* A file has some dozens; they are read from its notes once for each pattern. */
#include "probe/find/static_probes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image/usdt_notes.h"
#include "probe/find/twins.h"

static bool fits(const struct pattern *pattern, const struct usdt_note *note)
{
	return (!pattern->provider || matcher_fits(pattern->provider, note->provider)) &&
	       (!pattern->name || matcher_fits(pattern->name, note->name));
}

static bool is_left_out(const struct user_file *file, const struct usdt_note *note)
{
	size_t i;

	for (i = 0; i < file->exclusions.nr; i++)
		if (exclusion_is_about(file->exclusions.patterns[i], PATTERN_USDT, false) &&
		    fits(file->exclusions.patterns[i], note))
			return true;
	return false;
}

static int add(struct user_file *file, const struct usdt_note *note, uint32_t file_number,
	       struct probe_list *list, struct twins *twins)
{
	struct probe probe = {.kind = PROBE_USDT,
			      .is_go = file->is_go,
			      .file = file_number,
			      .semaphore = note->semaphore,
			      .arguments = note->arguments};
	cleanup_free char *name = NULL;
	const char *why;
	int64_t number;

	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	why = note->is_astray ? "its semaphore is not in the file"
			      : user_file_why_not_inside(file, note->vaddr);
	if (why)
		return probe_list_refuse(list, name, why);
	if (user_file_offset(file, note->vaddr, &probe.offset) < 0)
		return -ERANGE;
	probe.name = name;
	number = probe_list_add(list, &probe);
	return number < 0 ? (int)number : twins_add(twins, (uint32_t)number, note->vaddr, NULL);
}

static int add_all(struct user_file *file, const struct usdt_notes *notes,
		   const struct pattern *pattern, struct probe_list *list, size_t *ret_nr)
{
	struct twins twins = {0};
	int64_t number = 0;
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < notes->nr && !err; i++) {
		if (!fits(pattern, &notes->notes[i]))
			continue;
		if (!nr++)
			number = user_file_list(file, list);
		if (number < 0)
			err = (int)number;
		else if (!is_left_out(file, &notes->notes[i]))
			err = add(file, &notes->notes[i], (uint32_t)number, list, &twins);
	}
	if (!err)
		err = twins_tell_apart(&twins, list, "+");
	twins_clear(&twins);
	*ret_nr = nr;
	return err;
}

int static_probes_add(struct user_file *file, const struct pattern *pattern,
		      struct probe_list *list, size_t *ret_nr, struct error *error)
{
	struct usdt_notes notes = {0};
	struct error why = {0};
	int err;

	err = usdt_notes_read(&notes, &file->image, &why);
	if (err < 0)
		return error_set(error, err, "cannot read the static probes of '%s': %s",
				 file->from.path, why.text);
	err = add_all(file, &notes, pattern, list, ret_nr);
	usdt_notes_clear(&notes);
	if (err < 0)
		return error_set(error, err, "cannot list the static probes of '%s': %s",
				 file->from.path, strerror(-err));
	return 0;
}
