#!/bin/sh
# Renews the golden picture, which tests/unit/test_svg.c compares among the unit tests.
[ "${BLESS:-}" ] || exit 0
test=build/san/tests/unit/test_svg
make -s SAN=address,undefined "$test" >&2 && exec "$test"
