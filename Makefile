# The two commands: `make demo` and `make test`. Each does all set-up it needs and is quick when nothing changed.
BUILD := build
JOBS ?= $(shell nproc)

.PHONY: help everything setup configure build check test soak demo format clean
help:
	@sed -n 's/^#: //p' Makefile
#: make demo    set up, build, then train a small model from scratch on this machine (a minute or two after the build)
#: make check   set up, build, then run the unit tests and guards (some minutes)
#: make test    set up, build, then run every test that a commit must pass
#: make soak    the long forms of the tests, by hand (hours)
#: make build   set up and build; binaries are in build/bin
#: make setup   install Debian packages and LibTorch
#: make format  rewrite the sources with clang-format
setup:
	@deploy/setup/install.sh
configure: setup
	@cmake --preset release >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }; rm -f $(BUILD).log
build: configure
	@cmake --build $(BUILD) -j $(JOBS) --target sluice sluice-coordinator sluice-rollout sluice-reward sluice-learner
everything: configure
	@cmake --build $(BUILD) -j $(JOBS)
check test soak: everything
	@tests/run.sh $(BUILD) $@
demo: build
	@$(BUILD)/bin/sluice demo $(DEMO_ARGS)
format:
	@git ls-files '*.h' '*.cc' | xargs clang-format -i
clean:
	rm -rf $(BUILD)
