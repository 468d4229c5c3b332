#!/bin/sh
# Makes seeds for fuzz_process_context: tests/fuzz/seeds_context.sh FOLDER
#
# Resources, and process contexts that contain one, with the attributes that are read and others.
set -eu
folder=${1:?usage: tests/fuzz/seeds_context.sh FOLDER}
mkdir -p "$folder"

# field NUMBER: stdin as the contents of a field of bytes, shorter than 128
field() {
	contents=$(od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')
	# shellcheck disable=SC2059 # the bytes are the format
	printf "\\$(printf %03o $(($1 << 3 | 2)))\\$(printf %03o $((${#contents} / 4)))"
	/usr/bin/printf "$contents"
}

attribute() { # attribute KEY TEXT
	{
		printf %s "$1" | field 1
		printf %s "$2" | field 1 | field 2
	} | field "${number:-1}"
}

resource() {
	attribute service.name shop
	attribute service.version 1.2
	attribute k8s.pod.name shop-0
}

resource >"$folder/resource"
{
	resource
	printf '\020\003' # attributes that were dropped
} >"$folder/dropped"
{
	resource | field 1
	number=2 attribute deployment.environment.name test
} >"$folder/context"
{
	printf service.name | field 1
	printf '\030\007' | field 2
} | field 1 >"$folder/number"
for name in service.namespace service.instance.id k8s.namespace.name k8s.container.name host.name; do
	attribute $name "$name" >"$folder/$name"
done
