# tsim. `make run` and `make test` do everything on a fresh Debian machine; `make help` lists the rest.
SHELL := /bin/bash
CC ?= gcc
VARIANT ?= release
BUILD := build/$(VARIANT)
PREFIX ?= /usr/local
PACKAGES := libgsl-dev libyaml-dev libsqlite3-dev libjansson-dev check pkg-config
LIBS := gsl yaml-0.1 sqlite3 jansson

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes \
  -Wold-style-definition -Wcast-qual -Wwrite-strings -Wundef -Wvla
OPT := -O2
SANITIZE_release :=
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_cov := --coverage
OPT_asan := -O1
OPT_cov := -O0
CFLAGS ?= $(or $(OPT_$(VARIANT)),$(OPT)) -g
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -fno-common
ALL_CFLAGS = $(STD) $(WARNINGS) $(if $(DEV),-Werror) $(CFLAGS) $(SANITIZE_$(VARIANT)) -Isim \
  -DTSIM_SOURCE_TREE='"$(CURDIR)"' -DTSIM_PREFIX='"$(PREFIX)"' $(shell pkg-config --cflags $(LIBS) 2>/dev/null)
ALL_LIBS = $(shell pkg-config --libs $(LIBS) 2>/dev/null) -lm

SOURCES := $(wildcard sim/*/*.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
MAIN_OBJECT := $(BUILD)/sim/cli/main.o
LIB_OBJECTS := $(filter-out $(MAIN_OBJECT),$(OBJECTS))

.PHONY: all
all: build/tsim

# ---- set-up: installs what is missing, and says what it does ----
.PHONY: setup
setup:
	@tools/setup.sh $(PACKAGES)

build/tsim: $(BUILD)/tsim
	@cp -f $< $@.new && mv -f $@.new $@

$(BUILD)/tsim: $(OBJECTS)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJECTS:.o=.d)
