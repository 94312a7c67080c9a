# tsim. `make run` and `make test` do everything on a fresh Debian machine; `make help` lists the rest.
SHELL := /bin/bash
ifeq ($(origin CC),default)
CC := gcc
endif
Q := $(if $(V),,@)
# Recipes at a time in the makes that build: as many as there are processors, unless this make was started with a -j of its own.
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
VARIANT ?= release
BUILD := build/$(VARIANT)
PREFIX ?= /usr/local
PACKAGES := libgsl-dev libyaml-dev libsqlite3-dev libjansson-dev zlib1g-dev libexpat1-dev libprotobuf-c-dev protobuf-c-compiler libmicrohttpd-dev check pkg-config
LIBS := gsl yaml-0.1 sqlite3 jansson zlib expat libprotobuf-c

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes \
  -Wno-missing-field-initializers -Wold-style-definition -Wcast-qual -Wwrite-strings -Wundef -Wvla
OPT := -O2
SANITIZE_release :=
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fsanitize-coverage-ignorelist=tests/fuzz/unwatched.txt
SANITIZE_tsan := -fsanitize=thread
SANITIZE_cov := --coverage -fprofile-update=atomic
OPT_asan := -O1
OPT_fuzz := -O2
OPT_tsan := -O1
OPT_debug := -O0
OPT_cov := -O0
# Where a simulation spends its time: optimized as a whole, into one object that program, tests and library are linked with.
# Reading files of others and writing is built as fast as can be.
HOT := engine step campaign model partition
COLD := import report cli serve library
ifeq ($(VARIANT)$(CC),releasegcc)
HOT_CFLAGS := -O3 -flto
COLD_CFLAGS := -O1
endif
CFLAGS ?= $(or $(OPT_$(VARIANT)),$(OPT)) $(if $(filter release,$(VARIANT)),-g1,-g)
# Objects are of the program and of the shared library alike, which shows only what tsim.h declares.
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -fno-common -fPIC -fvisibility=hidden
ALL_CFLAGS = $(STD) $(WARNINGS) $(if $(DEV),-Werror) $(CFLAGS) $(SANITIZE_$(VARIANT)) -Isim -isystem $(GENERATED) \
  $(LIB_CFLAGS)
# Where the source tree is, and where the program gets installed: known to the catalogue and to tests, so that what a compiler
# cache holds of the other objects serves every copy of the tree.
PLACES = -DTSIM_SOURCE_TREE='"$(CURDIR)"' -DTSIM_PREFIX='"$(PREFIX)"'
# Asked once, when first needed: by then set-up is over.
ask = $(eval $1 := $$(shell pkg-config $2 2>/dev/null))$($1)
LIB_CFLAGS = $(call ask,LIB_CFLAGS,--cflags $(LIBS))
LIB_LIBS = $(call ask,LIB_LIBS,--libs $(LIBS))
CHECK_CFLAGS = $(call ask,CHECK_CFLAGS,--cflags check)
CHECK_LIBS = $(call ask,CHECK_LIBS,--libs check)
ALL_LIBS = $(LIB_LIBS) -lm

# The texts of pages become a part of the program.
PAGE_TEXTS := $(wildcard sim/report/page/*.html sim/report/page/*.css sim/report/page/*/*.js)
# protoc-c makes these of a .proto file; their names are seen as those of a library.
GENERATED := $(BUILD)/generated

# A room of sim/ may have folders of its own.
SOURCES := $(wildcard sim/*/*.c sim/*/*/*.c)
HEADERS := $(wildcard sim/*/*.h sim/*/*/*.h)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/sim/report/page_assets.o $(GENERATED)/chakra.pb-c.o
MAIN_OBJECT := $(BUILD)/sim/cli/main.o
# The linker gets one object of all the hot ones, first, and the others.
HOT_OBJECTS := $(if $(HOT_CFLAGS),$(filter $(HOT:%=$(BUILD)/sim/%/%),$(OBJECTS)))
linked = $(if $(HOT_OBJECTS),$(BUILD)/hot.o) $(filter-out $(HOT_OBJECTS),$1)
LIB_OBJECTS := $(call linked,$(filter-out $(MAIN_OBJECT),$(OBJECTS)))
CATALOGUE_OBJECT := $(BUILD)/sim/config/catalogue.o

.PHONY: all
all:
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim

# ---- set-up: installs what is missing, and says what it does ----
.PHONY: setup
setup:
	@tools/setup.sh $(PACKAGES)

# Which compiler and which flags a build folder's objects are of; other ones make every object anew. Not those that change no
# object (warnings).
FLAGS := $(BUILD)/flags
$(FLAGS): FORCE
	@mkdir -p $(@D)
	@echo "$$($(CC) --version | head -n 1)" $(filter-out $(WARNINGS) -Werror,$(ALL_CFLAGS)) $(CURDIR) $(HOT): $(HOT_CFLAGS) $(COLD): $(COLD_CFLAGS) >$@.$$$$ && \
	  if cmp -s $@.$$$$ $@; then rm -f $@.$$$$; else mv -f $@.$$$$ $@; fi
.PHONY: FORCE
FORCE:

# The program of the variant that is built now, even if another was built since.
build/tsim: $(BUILD)/tsim FORCE
	@cmp -s $< $@ || { cp -f $< $@.new && mv -f $@.new $@; }

$(BUILD)/tsim: $(MAIN_OBJECT) $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LIBS)

$(BUILD)/hot.o: $(HOT_OBJECTS)
	@echo "join  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(HOT_CFLAGS)=2 -flinker-output=nolto-rel -r -o $@ $^

$(BUILD)/%.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	@echo "cc    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.S $(PAGE_TEXTS)
	@mkdir -p $(@D)
	@echo "as    $<"
	$(Q)$(CC) -c -o $@ $<

$(GENERATED)/chakra.pb-c.c $(GENERATED)/chakra.pb-c.h &: sim/import/traces/chakra.proto
	@mkdir -p $(@D)
	@echo "proto $<"
	$(Q)protoc-c --proto_path=sim/import/traces --c_out=$(GENERATED) chakra.proto
$(GENERATED)/chakra.pb-c.o: $(GENERATED)/chakra.pb-c.c $(FLAGS)
	@echo "cc    $<"
	$(Q)$(CC) $(filter-out $(WARNINGS),$(ALL_CFLAGS)) -c -o $@ $<
$(BUILD)/sim/import/traces/chakra_file.o: $(GENERATED)/chakra.pb-c.h

$(HOT_OBJECTS): private ALL_CFLAGS += $(HOT_CFLAGS)
$(filter $(COLD:%=$(BUILD)/sim/%/%),$(OBJECTS)): private ALL_CFLAGS += $(COLD_CFLAGS)
$(CATALOGUE_OBJECT): private ALL_CFLAGS += $(PLACES)

-include $(OBJECTS:.o=.d)

# ---- running and testing ----
.PHONY: run test check bench lint format clean install uninstall deb help
run: setup
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim
	build/tsim run scenarios/llama70b.yaml

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
PROPERTY_TESTS := $(patsubst tests/property/%.c,$(BUILD)/tests/property/%,$(wildcard tests/property/test_*.c))
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))

$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(SUPPORT_OBJECTS) $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(CHECK_LIBS) $(ALL_LIBS)
$(BUILD)/tests/property/test_%: $(BUILD)/tests/property/test_%.o $(SUPPORT_OBJECTS) $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(CHECK_LIBS) $(ALL_LIBS)
# Fuzz targets: with replay.c a test of their corpus, with libFuzzer what `make fuzz` runs.
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/replay_%)
$(BUILD)/tests/fuzz/replay_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LIBS)
$(BUILD)/tests/fuzz/libfuzzer_%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(ALL_LIBS)
# Sets the time of commands beside a loop of its own, and puts load on the server; they know nothing of the simulator.
MEASURES := $(BUILD)/tests/bench/measure $(BUILD)/tests/bench/bench_serve
$(MEASURES): %: %.o
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ -lm
$(BUILD)/tests/%.o: tests/%.c $(FLAGS)
	@mkdir -p $(@D)
	@echo "cc    $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(PLACES) -Itests $(CHECK_CFLAGS) -MMD -MP -c -o $@ $<
-include $(wildcard $(BUILD)/tests/*/*.d)
.SECONDARY:

# The tests of the normal tier. Recursion, because set-up must be over before pkg-config is asked for anything.
test: setup
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim $(BUILD)/libtsim.so.$(API) unit-programs
	@tests/run.sh "$(BUILD)" build/tsim

.PHONY: unit-programs
unit-programs: $(UNIT_TESTS) $(PROPERTY_TESTS) $(FUZZ_REPLAYS) $(MEASURES)

# Everything that takes longer: more random cases, packages, large searches of the docs, sanitizers, the second compiler, static analysis.
check: test
	@tools/setup.sh chromium nodejs npm
	@tests/run.sh "$(BUILD)" build/tsim long
	@TSIM_BROWSER=needed tests/browser/run.sh build/tsim
	@tests/reference_docs.sh build/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) docs-site
	@NODE_PATH=build/browser/node_modules node tests/browser/site.js "$$(command -v chromium)" "$(CURDIR)/build/site/html"
	@tests/bench/limits.sh "$(BUILD)" build/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=asan DEV=1 build/asan/tsim unit-programs
	@TSIM_TEST_SLOWNESS=5 tests/run.sh build/asan build/asan/tsim code
	@tests/docs.sh build/asan/tsim all
	@printf '%s\n' 1 2 | TSIM_CASES=5000 xargs -P 2 -I{} env TSIM_SEED={} build/asan/tests/property/test_catalogue_random
	@$(MAKE) --no-print-directory $(PARALLEL) CC=clang VARIANT=clang DEV=1 build/clang/tsim unit-programs
	@tests/run.sh build/clang build/clang/tsim code
	@$(MAKE) --no-print-directory $(PARALLEL) check-faults check-determinism check-cluster
	@$(MAKE) --no-print-directory $(PARALLEL) lint

# Fuzzing with libFuzzer (clang), FUZZ_S seconds each target; what it finds is left in build/fuzz/found.
.PHONY: fuzz fuzz-programs
FUZZ_S ?= 600
fuzz-programs: $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/libfuzzer_%)
fuzz: setup
	@tools/setup.sh clang libclang-rt-14-dev
	@$(MAKE) --no-print-directory $(PARALLEL) CC=clang VARIANT=fuzz fuzz-programs
	@tests/fuzz/run.sh build/fuzz $(FUZZ_S)

# Calls of the system, of malloc and of SQLite that fail under each command: FAULTS=stacks takes each way to get to a call,
# FAULTS=all every single call (a quarter of an hour). And a hundred sweeps that are killed.
.PHONY: check-faults
FAULTS ?= stacks
check-faults: setup
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim
	@tests/faults/run.sh build/tsim $(FAULTS)
	@tests/faults/situations.sh build/tsim 100

# The same bytes from gcc and clang, from -O0 and -O2, with and without sanitizers, from any number of threads and shards; and
# no data races where threads are.
.PHONY: check-determinism
check-determinism: setup
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=debug build/debug/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=asan DEV=1 build/asan/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) CC=clang VARIANT=clang DEV=1 build/clang/tsim
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=tsan build/tsan/tsim
	@TSAN_OPTIONS=halt_on_error=1 tests/determinism.sh build/tsim build/debug/tsim build/asan/tsim build/clang/tsim build/tsan/tsim

# Do the tests see a changed operator or constant in sim/? MUTANTS of them, drawn by a seed (0: all), of the files or folders
# MUTATED (none: of all).
.PHONY: mutate
MUTANTS ?= 100
MUTATION_SEED ?= 1
MUTATED ?=
mutate: setup
	tests/mutation/mutate.py --sample $(MUTANTS) --seed $(MUTATION_SEED) $(MUTATED)

# Which branches the tests take; below 95 % in the folders whose mistakes would go unnoticed it fails.
.PHONY: coverage
coverage: setup
	@$(MAKE) --no-print-directory $(PARALLEL) VARIANT=cov build/cov/tsim unit-programs
	@find build/cov -name '*.gcda' -delete
	@TSIM_TEST_SLOWNESS=10 tests/run.sh build/cov build/cov/tsim
	@tests/reference_docs.sh build/cov/tsim
	@tests/coverage/branches.py build/cov --least 95 base config cost engine

# Sweeps under a real Slurm and a real Open MPI on this machine.
.PHONY: check-cluster
check-cluster: setup
	@tools/setup.sh slurm-wlm munge openmpi-bin
	@$(MAKE) --no-print-directory $(PARALLEL) build/tsim
	@tests/cluster/run.sh $(CURDIR)/build/tsim

FORMATTED = $(SOURCES) $(HEADERS) $(filter %.js,$(PAGE_TEXTS)) $(wildcard tests/*/*.[ch] tests/browser/*.js tools/site/*.js)
lint:
	clang-format --dry-run -Werror $(FORMATTED)
	# arrayIndexOutOfBoundsCond: cppcheck does not see that a failed TSIM_ASSERT does not return
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --suppress=missingIncludeSystem --suppress=arrayIndexOutOfBoundsCond \
	  --error-exitcode=1 -Isim sim
	tests/messages.py

format:
	$(Q)clang-format -i $(FORMATTED)

BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/*.c))
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(SUPPORT_OBJECTS) $(LIB_OBJECTS)
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(CHECK_LIBS) $(ALL_LIBS)
bench: build/tsim $(BENCHES)
	@tests/bench/run.sh "$(BUILD)" build/tsim

# After a change of the physics: the summaries kept in tests/golden are rewritten; read their difference.
.PHONY: golden
golden: build/tsim
	tests/golden/run.sh build/tsim --update

# After a change of hardware/: the tables of docs/hardware.md.
.PHONY: docs-hardware
docs-hardware: build/tsim
	tools/hardware_tables.sh build/tsim --write

# After a change of the physics or of scenarios/textbook: docs/textbook.md.
.PHONY: docs-textbook
docs-textbook: build/tsim
	build/tsim textbook --markdown >docs/textbook.md.new && mv docs/textbook.md.new docs/textbook.md

# After a change of the schema tables: docs/reference.md.
.PHONY: docs-reference
docs-reference: build/tsim
	build/tsim help --format reference >docs/reference.md

# The site of the documentation, in build/site/html.
.PHONY: docs-site
docs-site:
	@tools/setup.sh mkdocs
	tools/site/build.sh build/site

# After a change of reports: the pictures in docs/pictures (needs Chromium, node and npm).
.PHONY: docs-pictures
docs-pictures: build/tsim
	tools/pictures.sh build/tsim

# After a change of the physics: the residuals that intervals are taken from, and docs/accuracy.md. A source that got worse
# by more than half a point is refused; with WORSE=1 it is taken (say why in CHANGELOG.md).
.PHONY: residuals docs-accuracy
residuals: build/tsim
	tools/residuals.sh build/tsim $(if $(WORSE),--write-worse,--write)
docs-accuracy: residuals
	python3 tools/transfer.py build/tsim hardware/calibration
	tools/accuracy_docs.sh --write
	python3 tools/published/plans.py build/tsim --write
	python3 tools/published/nanotron.py build/tsim --write

# The installed program knows PREFIX and no source tree. DESTDIR is put before every path (packages).
INSTALLED := $(BUILD)/installed
# The prefix that the catalogue's object knows: another one makes it, program and library anew.
$(INSTALLED)/prefix: FORCE
	@mkdir -p $(@D)
	@echo "$(PREFIX)" | cmp -s - $@ || echo "$(PREFIX)" >$@
$(INSTALLED)/catalogue.o: $(CATALOGUE_OBJECT) $(INSTALLED)/prefix
	$(Q)$(CC) $(ALL_CFLAGS) $(filter-out -DTSIM_SOURCE_TREE=%,$(PLACES)) -DTSIM_SOURCE_TREE='""' -c -o $@ sim/config/catalogue.c
$(INSTALLED)/tsim: $(INSTALLED)/catalogue.o $(MAIN_OBJECT) $(filter-out $(CATALOGUE_OBJECT),$(LIB_OBJECTS))
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LIBS)
# One object, in which only what tsim.h declares can be seen from outside: an archive and a shared library. The library has the
# commands, but for the server.
LIBRARY_PARTS = $(filter-out $(BUILD)/sim/serve/% %/cmd_serve.o,$(LIB_OBJECTS))
API := $(shell sed -n 's/^.define TSIM_API_VERSION \([0-9]*\).*/\1/p' sim/library/tsim.h)
$(INSTALLED)/libtsim.o: $(INSTALLED)/catalogue.o $(filter-out $(CATALOGUE_OBJECT),$(LIBRARY_PARTS))
$(BUILD)/libtsim.o: $(LIBRARY_PARTS)
$(INSTALLED)/libtsim.o $(BUILD)/libtsim.o:
	$(Q)$(LD) -r -o $@ $^
	$(Q)objcopy --wildcard --keep-global-symbol='tsim_job_*' $@
%/libtsim.a: %/libtsim.o
	$(Q)rm -f $@ && $(AR) rcs $@ $<
%/libtsim.so.$(API): %/libtsim.o
	@echo "link  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs -o $@ $< $(ALL_LIBS)

TO := $(DESTDIR)$(PREFIX)
install: $(INSTALLED)/tsim $(INSTALLED)/libtsim.a $(INSTALLED)/libtsim.so.$(API)
	@tools/install.sh $(INSTALLED) "$(TO)" "$(PREFIX)"
uninstall:
	@tools/install.sh --remove "$(TO)"

# build/tsim_VERSION_ARCHITECTURE.deb, with PREFIX /usr.
deb:
	@tools/deb.sh "$(MAKE)"

clean:
	rm -rf build

help:
	@echo "make run      install what is missing, build, run scenarios/llama70b.yaml"
	@echo "make test     the same set-up, then every test of the normal tier, two or more at a time (TSIM_TEST_JOBS=N)"
	@echo "make check    and more random cases, packages, sanitizers, clang, static analysis (needs clang, cppcheck)"
	@echo "make mutate   whether the tests see changed operators and constants (MUTANTS=100, 0: all; MUTATED=sim/step)"
	@echo "make coverage the share of branches that the tests take, per folder"
	@echo "make fuzz     libFuzzer on every reader, FUZZ_S=600 seconds each (needs clang, libclang-rt-14-dev)"
	@echo "make check-faults   failing memory, disks and databases, kills (FAULTS=all for every single call)"
	@echo "make check-determinism  the same bytes from other compilers, optimizations, sanitizers, threads and shards"
	@echo "make check-cluster  sweeps under a real Slurm and Open MPI on this machine (installs them)"
	@echo "make docs-hardware  the tables of docs/hardware.md, after a change of hardware/"
	@echo "make docs-textbook  docs/textbook.md, after a change of the physics"
	@echo "make docs-accuracy  residuals of published runs and docs/accuracy.md, after a change of the physics"
	@echo "make docs-reference  docs/reference.md, after a change of the schema tables"
	@echo "make docs-pictures  docs/pictures, after a change of reports (needs Chromium, node, npm)"
	@echo "make bench    benchmarks, and what users wait for beside its limits;  make format;  make clean"
	@echo "make install PREFIX=...  program, libraries, catalogue, manual pages (make uninstall);  make deb  a Debian package"
	@echo "V=1 shows the commands; DEV=1 makes warnings errors; VARIANT=asan|cov|clang builds beside build/release"
