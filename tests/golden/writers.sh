#!/bin/sh
# Renews the goldens of the writers, which tests/unit/test_writers.c compares among the unit tests.
[ "${BLESS:-}" ] || exit 0
test=build/san/tests/unit/test_writers
make -s SAN=address,undefined "$test" >&2 && exec "$test"
