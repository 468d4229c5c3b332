# The only makefile of Stook.
#
#   make              build/stook, with the system's shared libraries
#   make static       build/static/stook, which needs no libraries on the profiled host
#   make check        tests that need no root; check-live: tests that need it
#   make check-hostile   attacks by other users of a host on a profiler that runs as root
#   make check-browser   pages and pictures, in Chromium
#   make fuzz         the fuzzers, in build/fuzz
#   make bench        stook compared with other profilers, as root
#   make format lint  clang-format in place; layer rules, clang-tidy, shellcheck, mandoc, codespell
#   make install      PREFIX=/usr/local, DESTDIR=; STATIC=1 installs what `make static` makes
#   make deb rpm image   packages, in build/deb, build/rpm and build/image; see tools/package
#   make bless        accept the current output of the golden tests
#
#   V=1 shows the commands. DEV=1 turns warnings into errors. SAN=address,undefined builds with
#   sanitizers, in a separate directory.

PREFIX  ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
PKGCONF ?= pkg-config
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
VERSION := 0.1

short_name = sed -e 's/^x86_64.*/x86/' -e 's/^aarch64.*/arm64/'
ARCH := $(shell $(CC) -dumpmachine | $(short_name))
HOST := $(shell uname -m | $(short_name))

# Cross builds have their own directory.
B := build$(if $(filter-out $(HOST),$(ARCH)),/$(ARCH))$(if $(SAN),/san)$(if $(STATIC),/static)

ifeq ($(V),)
  Q := @
  say = @printf '  %-7s %s\n' '$(1)' '$(2)';
endif

# --- flags ---------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
ifneq ($(DEV),)
  WARN += -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	  -Wpointer-arith -Wcast-align -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wnull-dereference \
	  -Wimplicit-fallthrough -Wdouble-promotion
endif

# Flags that make memory errors harder to exploit: stook runs as root and reads files of other users. Each flag
# is tested, since compilers and architectures differ; the user's flags come later and take precedence. Sanitizers
# detect more than _FORTIFY_SOURCE does. tools/check-hardening checks the result.
takes = $(shell printf '\043include <stdio.h>\nint x;\n' | \
	  $(CC) $(CFLAGS) $(1) -Werror -x c - -S -o /dev/null 2>/dev/null && echo '$(1)')
first_taken = $(firstword $(foreach flag,$(1),$(call takes,$(flag))))

CFLAGS    ?= -O2 -g
HARDENING := -fPIE $(foreach flag,-fstack-protector-strong -fstack-clash-protection -fcf-protection \
	     -mbranch-protection=standard,$(call takes,$(flag)))
FORTIFY   := $(if $(SAN),,$(call first_taken,-D_FORTIFY_SOURCE=3 -D_FORTIFY_SOURCE=2))

LIBS     := libbpf libdw libelf libevent liblzma libseccomp zlib
CPPFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSTOOK_VERSION='"$(VERSION)"' \
	    -Isrc -I. -I$(B) -isystem /usr/include/libiberty $(if $(STATIC),-DSTOOK_STATIC)
# libpfm4 knows the events of CPU models. It is loaded when needed, and linked into the static program if it can be;
# without its headers, or without libpfm.a, stook is built without these names.
LIBPFM := $(shell printf '\043include <perfmon/pfmlib_perf_event.h>\nint main(void) { return pfm_initialize(); }\n' | \
	  $(CC) $(CFLAGS) -x c - -o /dev/null $(if $(STATIC),-static -lpfm,-S) 2>/dev/null && echo -lpfm)
CPPFLAGS += $(if $(LIBPFM),-DSTOOK_LIBPFM)
override CFLAGS := $(HARDENING) $(if $(FORTIFY),-U_FORTIFY_SOURCE $(FORTIFY)) $(CFLAGS) -std=gnu11 \
	    -fno-strict-aliasing $(WARN) \
	    $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
LDLIBS   := $(shell $(PKGCONF) $(if $(STATIC),--static) --libs $(LIBS)) -liberty -lpthread -lm \
	    $(if $(STATIC),$(LIBPFM)) -Wl,--as-needed $(shell $(PKGCONF) $(if $(STATIC),--static) --libs sqlite3)
override LDFLAGS := $(if $(STATIC),-static-pie,-pie) -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code \
	    $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))

BPF_CFLAGS := -target bpf -D__TARGET_ARCH_$(ARCH) -mcpu=v2 -O2 -g -Wall -Wno-unused-function \
	      -Wno-compare-distinct-pointer-types $(if $(DEV),-Werror) -I. -Ibpf

# Files with instructions from Linux 5.12, which the loader removes on older kernels.
BPF_CFLAGS_claim := -mcpu=v3
BPF_CFLAGS_lock := -mcpu=v3
BPF_CFLAGS_tally_extremes := -mcpu=v3

# --- program -------------------------------------------------------------------------------------

# A skeleton is made of linked BPF objects; its header has its name.
SKELETONS    := sampler counter tallier switches kernel_ask
sampler_BPF  := sample ratio offcpu lock stack probe fetch record claim unwind walk follow hotplug
counter_BPF  := count probe follow
tallier_BPF  := tally fetch tally_operands tally_extremes tally_rows tally_calls probe claim follow
switches_BPF := sched follow
kernel_ask_BPF := kernel_ask
SKELETON_HEADERS := $(SKELETONS:%=$(B)/skel/%.skel.h)

SOURCES := $(sort $(shell find src -name '*.c'))
OBJECTS := $(SOURCES:src/%.c=$(B)/%.o)
ASSETS  := $(sort $(shell find src -name '*.S'))
OBJECTS += $(ASSETS:src/%.S=$(B)/%.o)
MAIN    := $(B)/cmd/main.o
LIBRARY := $(B)/libstook.a

UNIT_TESTS := $(patsubst tests/%.c,$(B)/tests/%.o,$(sort $(wildcard tests/unit/*.c)))
PROGRAMS   := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/live/programs/*.c)))
TOOLS      := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/tools/*.c)))
FUZZERS    := $(patsubst tests/%.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
VM_PROGRAMS := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/vm/programs/*.c)))

.PHONY: all static check check-live check-hostile check-browser unit programs fuzz \
	bench install deb rpm image format lint layers bless clean
.DELETE_ON_ERROR:

all: layers $(B)/stook

static:
	$(Q)+$(MAKE) --no-print-directory STATIC=1 all

$(B)/stook: $(MAIN) $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(filter-out $(MAIN),$(OBJECTS))
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(B)/%.o: src/%.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Assembly that includes whole files. The compiler does not report these dependencies, so they are listed.
$(B)/%.o: src/%.S
	$(call say,AS,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(HARDENING) -MMD -MP -c -o $@ $<

$(B)/format/page/assets.o $(B)/fuzz/format/page/assets.o: \
	$(wildcard src/format/page/*.* src/format/page/js/*.js src/format/flame/*.js src/serve/page/*.*)

# Skeletons must exist before the files that include them are compiled for the first time.
$(patsubst src/%.c,$(B)/%.o,$(wildcard src/kernel/*.c src/collect/*.c)): | $(SKELETON_HEADERS)

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(BPF_CFLAGS_$*) -MMD -MP -c -o $@ $<

# A jump in these counts is a question for the review. .text has the functions shared by the sections.
count_instructions = readelf -SW $@ | \
	sed -n 's/^ *\[ *[0-9]*\] \([^ ]*\) *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .* AX .*/\2 \1/p' | \
	while read -r bytes section; do \
		printf '  %-7s %s: %d instructions\n' '' "$$section" $$((0x$$bytes / 8)); done

define skeleton_rule
$(B)/bpf/$(1).linked.o: $$($(1)_BPF:%=$(B)/bpf/%.bpf.o)
	$$(call say,LINK,$$@)$$(BPFTOOL) gen object $$@ $$^
	$$(Q)$$(count_instructions)
$(B)/skel/$(1).skel.h: $(B)/bpf/$(1).linked.o
	$$(call say,SKEL,$$@)mkdir -p $$(@D) && $$(BPFTOOL) gen skeleton $$< name $(1)_bpf > $$@
endef
$(foreach s,$(SKELETONS),$(eval $(call skeleton_rule,$(s))))

# --- tests ---------------------------------------------------------------------------------------

# All unit tests are one program. Allocation is wrapped, so that a test can make the n-th one fail.
TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

$(B)/tests/unit_tests: $(UNIT_TESTS) $(LIBRARY)
	$(call say,LINK,$@)$(CC) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/tests/unit/%.o: tests/unit/%.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -c -o $@ $<

# Loads for the live tests: ordinary programs with frame pointers, so that every unwinder agrees.
$(B)/tests/live/programs/%: tests/live/programs/%.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) -std=gnu11 -O1 -g -fno-omit-frame-pointer \
		-mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE $(WARN) \
		-MMD -MP $(if $(STATIC),-static) -o $@ $< -pthread -lm

# Some of its processes hang: they must not map a library in which somebody may attach probes.
$(B)/tests/live/programs/silent_files: STATIC := 1

# Loads for the walk by unwind tables: without frame pointers, as in distributions.
$(B)/tests/live/programs/unwind_%: tests/live/programs/unwind_%.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -D_GNU_SOURCE \
		$(WARN) -MMD -MP -o $@ $< -pthread

# Programs for the virtual machines: without frame pointers, regardless of the compiler's default.
$(B)/tests/vm/programs/%: tests/vm/programs/%.c $(LIBRARY)
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(CFLAGS) -fomit-frame-pointer \
		-fno-optimize-sibling-calls -MMD -MP $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Programs that measure or print a part of stook. `differential` compares with elfutils.
$(B)/tests/tools/differential: LDLIBS += -ldw -lm
$(B)/tests/tools/simulate: CPPFLAGS += -Itests
$(B)/tests/tools/simulate: LDFLAGS += -Wl,--wrap=clock_gettime,--wrap=worker_call_twice,--wrap=worker_want \
	-Wl,--wrap=worker_wait_for_looks
$(B)/tests/tools/%: tests/tools/%.c $(LIBRARY)
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP $(LDFLAGS) \
		-o $@ $(filter-out %.h,$^) $(LDLIBS)

# Fuzzers are built by clang. The fuzzed code is compiled again, with its sanitizers, below build/fuzz.
FUZZ_CFLAGS  := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing $(WARN) \
		-fno-sanitize-recover=undefined
FUZZ_FOLDERS := base elf event format probe/expression probe/find proc profile serve store sym view worker
FUZZ_OBJECTS := $(patsubst src/%.c,$(B)/fuzz/%.o,$(filter $(FUZZ_FOLDERS:%=src/%/%),$(SOURCES)))
FUZZ_OBJECTS += $(patsubst src/%.S,$(B)/fuzz/%.o,$(filter $(FUZZ_FOLDERS:%=src/%/%),$(ASSETS)))
FUZZ_LIBRARY := $(B)/fuzz/libstook.a

$(B)/fuzz/%.o: src/%.c
	$(call say,CC,$<)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) \
		-fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(B)/fuzz/%.o: src/%.S
	$(call say,AS,$<)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_LIBRARY): $(FUZZ_OBJECTS)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_LIBRARY)
	$(call say,CC,$<)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -Itests $(FUZZ_CFLAGS) \
		-fsanitize=fuzzer,address,undefined -MMD -MP -o $@ $< $(FUZZ_LIBRARY) $(LDLIBS)

unit: $(B)/tests/unit_tests
programs: $(PROGRAMS) $(TOOLS)
fuzz: $(FUZZERS)

check: all $(B)/tests/tools/print_options
	$(Q)+$(MAKE) --no-print-directory SAN=address,undefined unit
	$(Q)tests/run unit

check-live: all programs
	$(Q)tests/run live

check-hostile: all programs
	$(Q)tests/run hostile

check-browser: all
	$(Q)tests/run browser

bench: all programs
	$(Q)tools/bench

bless: all $(B)/tests/tools/print_options
	$(Q)tests/run bless

# --- the rest ------------------------------------------------------------------------------------

layers:
	$(Q)tools/layers

lint: layers $(SKELETON_HEADERS)
	$(Q)tools/lint

format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

# Where each shell looks for its completion script.
COMPLETION_bash := bash-completion/completions/stook
COMPLETION_zsh  := zsh/site-functions/_stook
COMPLETION_fish := fish/vendor_completions.d/stook.fish

# A cross-built program cannot be run to print them.
COMPLETIONS := $(if $(filter $(ARCH),$(HOST)),bash zsh fish)

$(B)/completion/%: $(B)/stook
	$(Q)mkdir -p $(@D) && $< completion $* >$@

# Symbols and debug information are two thirds of the program. They are installed as a separate file, in the
# directory beside a program where gdb, perf, elfutils and stook itself look for it.
$(B)/install/stook.debug: $(B)/stook
	$(call say,DEBUG,$@)mkdir -p $(@D) && $(OBJCOPY) --only-keep-debug $< $@ && chmod 644 $@

$(B)/install/stook: $(B)/stook $(B)/install/stook.debug
	$(call say,STRIP,$@)$(OBJCOPY) --strip-all --add-gnu-debuglink=$(B)/install/stook.debug $< $@

# NOSTRIP=1 installs the whole program instead, for package builders, which have tools that strip it.
PROGRAM := $(if $(NOSTRIP),$(B)/stook,$(B)/install/stook)

install: all $(PROGRAM) $(COMPLETIONS:%=$(B)/completion/%)
	install -Dm755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/stook
	$(if $(NOSTRIP),,install -Dm644 $(B)/install/stook.debug $(DESTDIR)$(PREFIX)/bin/.debug/stook.debug)
	$(foreach s,$(COMPLETIONS),install -Dm644 $(B)/completion/$(s) \
		$(DESTDIR)$(PREFIX)/share/$(COMPLETION_$(s)) &&) true
	install -d $(DESTDIR)$(UNITDIR)
	sed -e 's|/usr/local/bin|$(PREFIX)/bin|' -e 's|/etc/stook|$(SYSCONFDIR)/stook|' systemd/stook-agent.service \
		>$(DESTDIR)$(UNITDIR)/stook-agent.service
	chmod 644 $(DESTDIR)$(UNITDIR)/stook-agent.service
	test -e $(DESTDIR)$(SYSCONFDIR)/stook/agent.conf || \
		install -Dm644 packaging/agent.conf $(DESTDIR)$(SYSCONFDIR)/stook/agent.conf
	for page in docs/*.1; do \
		install -Dm644 $$page $(DESTDIR)$(PREFIX)/share/man/man1/$${page##*/} || exit; done

deb rpm image:
	$(Q)tools/package $@

clean:
	$(Q)rm -rf build

-include $(OBJECTS:.o=.d) $(UNIT_TESTS:.o=.d) $(PROGRAMS:=.d) $(VM_PROGRAMS:=.d) $(TOOLS:=.d) \
	$(FUZZERS:=.d) $(FUZZ_OBJECTS:.o=.d) $(wildcard $(B)/bpf/*.d)
