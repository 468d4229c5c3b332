/* Looks at one file or process; the caller sees to it that this may block. */
#include "proc/look.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * An overlayfs can show anything under the path of a file. So a file in one is only accepted if the user who could have
 * arranged it is the one in the file's identity, and is known: all unknown users have the same number. This is checked before
 * and after the look: a process can go to another user namespace meanwhile, but not back. err: of the look; a file may
 * also be missing because it is another user's. Of a process that has exited since, nothing is to be found out.
 */
static int check_arranger(const struct file_look *look, const struct file_looked *looked, int err)
{
	const bool was_there = looked->root.uid == look->id.arranger;
	uid_t uid;

	if ((err < 0 && err != -ENOENT) || (err == 0 && !looked->found.is_overlaid))
		return err;
	uid = root_uid_of(look->pid);
	if (was_there && uid == look->id.arranger && uid != (uid_t)-1)
		return err;
	if (err == 0)
		(void)close(looked->found.handle);
	return was_there && uid == (uid_t)-1 ? -ENOENT : -EXDEV;
}

/*
 * The process' root, if its files are searched there: not if the process has gone to another user namespace since the
 * file was mapped. What its user has mounted there may not answer, and that would be taken for the file's device.
 */
static int searched_root(const struct file_look *look, const struct file_looked *looked)
{
	return looked->root.uid == look->id.arranger ? looked->root_fd : -1;
}

/*
 * Opens a file through a process. The content of such a file is trusted as a file of the process' root, so that root
 * must be known: if a container's file were taken for one below our root, it would be read with the host's trust. If
 * the process has exited or may not be inspected, the file is tried below our own root, identified by device and
 * inode.
 */
static int find_mapped(const struct file_look *look, struct file_looked *looked)
{
	int err, root;

	looked->root_err = root_identify(look->pid, &looked->root, &looked->root_fd);
	if (looked->root_err == 0) {
		root = searched_root(look, looked);
		err = file_find_mapped(&look->id, look->path, look->pid, root, look->start,
				       look->end, &looked->found);
		if (err < 0 && root < 0) /* it may be there */
			err = -ENOENT;
		return check_arranger(look, looked, err);
	}
	err = file_find_again(&look->id, -1, look->path, &looked->found);
	return err < 0 && looked->root_err == -EACCES ? -EACCES : err;
}

void look_at_file(const struct file_look *look, struct file_looked *ret)
{
	*ret = (struct file_looked){.root_fd = -1, .root_err = -ENOENT};
	if (look->pid)
		ret->err = find_mapped(look, ret);
	else if (look->id.inode)
		ret->err = file_find_again(&look->id, look->root_fd, look->path, &ret->found);
	else
		ret->err = file_find_any(look->root_fd, look->path, &ret->found);
	if (ret->err < 0)
		ret->found.handle = -1;
	else
		ret->is_of_root = file_is_of_root(ret->found.handle, look->path);
}

/* A memfd that is not an ELF file, or that we may not open, has the code of a JIT compiler. */
static bool is_memory(int32_t pid, const struct maps_entry *entry)
{
	struct found_file found;

	if (!file_is_memfd(entry->path))
		return false;
	if (file_find_mapped(&entry->id, entry->path, pid, -1, entry->start, entry->end, &found) <
	    0)
		return true;
	(void)close(found.handle);
	return !found.is_elf;
}

int look_at_maps(int32_t pid,
		 int (*add)(void *context, const struct maps_entry *entry, bool is_memory),
		 void *context, struct maps_looked *ret)
{
	struct maps_entry entry;
	struct maps maps;
	int err = 0;

	*ret = (struct maps_looked){.began_ns = clock_now_ns(), .arranger = root_uid_of(pid)};
	if (maps_open(&maps, pid) == -EACCES)
		ret->err = -EACCES;
	while (maps.file && err >= 0 && maps_next(&maps, &entry))
		if (entry.executable &&
		    !(entry.start >> 63)) { /* [vsyscall] belongs to the kernel */
			entry.id.arranger = ret->arranger;
			err = add(context, &entry, is_memory(pid, &entry));
		}
	ret->is_cut = maps.is_cut;
	process_name_read(pid, ret->name);
	maps_close(&maps);
	ret->ended_ns = clock_now_ns();
	return err < 0 ? err : 0;
}

void look_at_process(int32_t pid, struct process_looked *ret)
{
	struct process_looked looked = {.root_uid = root_uid_of(pid)};

	looked.err = process_start_read(pid, &looked.start_boot_ns);
	if (looked.err == 0)
		looked.err = process_status_read(pid, &looked.status);
	*ret = looked;
}
