#!/bin/sh
# Renews the goldens of unit tests: the texts of the writers, and the picture.
[ "${BLESS:-}" ] || exit 0
tests=build/san/tests/unit_tests
make -s SAN=address,undefined "$tests" >&2 && exec "$tests" test_writers test_svg
