#!/bin/sh
# Makes seeds for fuzz_pprof: tests/fuzz/seeds_pprof.sh FOLDER
#
# Profiles as Go, perf_to_profile and Stook write them, in protobuf's text format; protoc encodes
# them.
set -eu
folder=${1:?usage: tests/fuzz/seeds_pprof.sh FOLDER}
mkdir -p "$folder"
schema=$(dirname "$0")/../replay

seed() { # seed NAME: the text is stdin
	protoc --proto_path="$schema" --encode=Profile profile.proto >"$folder/$1"
}

strings() { # strings TEXT…: the table, from number 1
	printf 'string_table: ""\n'
	for text; do
		printf 'string_table: "%s"\n' "$text"
	done
}

code() { # two mappings of one file, an inlined function, the kernel, a name without an address
	cat <<-'TEXT'
	mapping { id: 1 memory_start: 0x400000 memory_limit: 0x500000 filename: 1 build_id: 2 }
	mapping { id: 2 memory_start: 0x600000 memory_limit: 0x700000 file_offset: 0x200000 filename: 1 build_id: 2 }
	mapping { id: 3 memory_start: 0x8000000000000000 memory_limit: 0xffffffffffffffff filename: 3 }
	location { id: 1 mapping_id: 1 address: 0x401000 line { function_id: 1 line: 3 } line { function_id: 2 line: 9 } }
	location { id: 2 mapping_id: 2 address: 0x601000 line { function_id: 2 line: 7 } }
	location { id: 3 mapping_id: 3 address: 0xffffffff81000000 line { function_id: 3 } }
	location { id: 4 line { function_id: 4 } }
	function { id: 1 name: 4 system_name: 4 filename: 5 }
	function { id: 2 name: 6 system_name: 6 filename: 5 }
	function { id: 3 name: 7 }
	function { id: 4 name: 8 }
	TEXT
	strings /bin/app 0123456789abcdef '[kernel.kallsyms]' inner /src/a.c outer vfs_read \
		'[Missed User Stack]' "$@"
}

# String 9 is the caller's first string.
{
	code samples count cpu nanoseconds
	cat <<-'TEXT'
	sample_type { type: 9 unit: 10 } sample_type { type: 11 unit: 12 }
	sample { location_id: [1, 2] value: [5, 50] }
	sample { location_id: [3, 4] value: [1, 10] }
	period_type { type: 11 unit: 12 } period: 10 time_nanos: 1700000000000000000
	duration_nanos: 1000000000
	TEXT
} | seed cpu

{
	code alloc_objects count alloc_space bytes inuse_objects inuse_space space request
	cat <<-'TEXT'
	sample_type { type: 9 unit: 10 } sample_type { type: 11 unit: 12 }
	sample_type { type: 13 unit: 10 } sample_type { type: 14 unit: 12 }
	sample { location_id: [1, 2] value: [5, 5120, 0, 0] label { key: 12 num: 1024 num_unit: 12 } }
	sample { location_id: [2] value: [5, 5120, 1, 1024] label { key: 16 str: 14 } label { key: 16 str: 15 } }
	period_type { type: 15 unit: 12 } period: 524288 comment: [16, 15]
	TEXT
} | seed heap

{
	code samples count thread_comm comm cgroup pid tid cpu slice_start slice_end nanoseconds \
		user_stack_end truncated kernel_stack_end thread_name
	cat <<-'TEXT'
	sample_type { type: 9 unit: 10 } default_sample_type: 9
	sample {
	  location_id: [3, 2, 1] value: 7
	  label { key: 11 str: 1 } label { key: 13 str: 5 } label { key: 14 num: 5 num_unit: 14 }
	  label { key: 15 num: 6 num_unit: 15 } label { key: 16 num_unit: 16 }
	  label { key: 17 num: 100 num_unit: 19 } label { key: 18 num: 200 num_unit: 19 }
	  label { key: 20 str: 21 }
	}
	sample { location_id: [3, 4] value: 3 label { key: 12 str: 4 } label { key: 23 str: 6 } }
	sample { value: 2 label { key: 12 str: 4 } label { key: 12 str: 6 } label { key: 17 num: 300 num_unit: 19 } }
	sample { location_id: [4] value: -1 label { key: 14 str: 4 } }
	TEXT
} | seed labels

{
	code samples count cpu nanoseconds hits
	cat <<-'TEXT'
	sample_type { type: 9 unit: 10 } sample_type { type: 9 unit: 10 } sample_type { type: 13 }
	sample_type { type: 11 unit: 12 } sample_type { type: 11 unit: 10 } default_sample_type: 11
	sample { location_id: [1] value: [1, 2, 3, 4, 5] }
	period_type { type: 11 unit: 12 } period: 4
	TEXT
} | seed types
