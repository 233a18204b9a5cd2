# Thin front of CMake; see CONTRIBUTING.md.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all demo check check-release bench install fuzz format clean

all: # the command and the libraries
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build $(BUILD) -j $$(nproc) --target product

demo: # installs what is missing, builds, fetches a real model, searches a real text
	@tools/demo

check: # installs what is missing, builds and runs every test
	@tools/check

check-release: # the same with longer fuzzing, and under valgrind
	@tools/check --release

bench: all # a table of speeds; MODEL=folder or CONFIG=minilm
	@bench/run $(BUILD)/sabok

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD)

fuzz: # every fuzz target for SECONDS each
	@tools/fuzz $(or $(SECONDS),600)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.inc')

clean:
	@cmake -E rm -rf $(BUILD) build-check
