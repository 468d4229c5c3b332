/* Of each kind of trouble the last one is told, with how much there was of it. */
#include "cmd/run/naming_notes.h"

#include "cmd/complain.h"

void naming_notes_tell(const struct symbolizer *symbolizer)
{
	struct symbolizer_result result;

	symbolizer_summarize(symbolizer, &result);
	if (result.kernel_error.code)
		complain_error(&result.kernel_error);
	if (result.nr_tables_failed)
		complain("names could not be read %zu times: files that make no sense, or maps too "
			 "large for --symbol-bytes",
			 result.nr_tables_failed);
	if (result.lines_error.code)
		complain_error(&result.lines_error);
	if (result.nr_split_lost)
		complain("%zu units of code have their inlined calls in .dwo files that are not "
			 "there (.dwp files are not read)",
			 result.nr_split_lost);
	if (result.debuginfod_trouble)
		complain("not all debug files were asked of debuginfod: %s",
			 result.debuginfod_trouble);
}
