# Thin front of CMake; see CONTRIBUTING.md.
BUILD ?= build

.PHONY: all
all:
	@cmake -S . -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) -j $$(nproc)
