# The front door. Meson does the building; see CONTRIBUTING.md.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

# On a terminal, ninja shows its progress in one line.
all: $(BUILD)/build.ninja
	@if [ -t 1 ]; then ninja -C $(BUILD); else ninja -C $(BUILD) --quiet | { grep -v '^ninja: no work to do' || true; }; fi
	@[ $(MAKELEVEL) != 0 ] || printf '%s\n' 'Built $(BUILD)/spoor. Next:' \
		'  $(BUILD)/spoor run -- COMMAND    track a command' \
		'  make demo                    track an example job, and write its page' \
		'  sudo make install            install into $(PREFIX)'

$(BUILD)/build.ninja:
	@tools/deps --check build
	@echo 'configuring $(BUILD)'
	@meson setup $(BUILD) --prefix $(abspath $(PREFIX)) -Dtests=false >/dev/null || \
		{ cat $(BUILD)/meson-logs/meson-log.txt >&2; rm -rf $(BUILD); exit 1; }
	@sed -n 's/^.*WARNING: report page: /report page: /p' $(BUILD)/meson-logs/meson-log.txt >&2

# The same with the programs of the tests.
.PHONY: all-tests
all-tests:
	@tools/deps build page test
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@[ -d $(BUILD)/tests ] || meson configure $(BUILD) -Dtests=true
	@$(MAKE) --no-print-directory all

deps:
	@tools/deps build page

demo:
	@tools/deps build page
	@$(MAKE) --no-print-directory all
	@examples/demo $(BUILD)/spoor

test:
	@tools/deps build page test
	@tools/run-tests

# Everything, with every build, as every user: for releases and for changes to how we measure.
test-full:
	@tools/deps build page test full
	@tools/run-tests --full

# With real components: programs, schedulers; Metaflow if METAFLOW_SOURCE names a checkout of its source, which Debian does
# not have. Those that are missing are skipped.
integration:
	@tools/deps build page test integration r
	@tools/run-tests integration

lint:
	@tools/deps build page test lint
	@tools/lint

bench:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/bench/run.py $(BUILD)/spoor

# The same of real jobs, and what these lose. TRACKERS='before=old/spoor after=build/spoor' compares.
TRACKERS ?= now=$(BUILD)/spoor
bench-jobs:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/bench/jobs.py $(TRACKERS)

# Every parser under libFuzzer, FUZZ_SECONDS (60) each; FUZZ_TARGETS='toml csv' runs some of them.
.PHONY: fuzz
fuzz: build-fuzz/build.ninja
	@ninja -C build-fuzz --quiet tests/fuzz/fuzz | { grep -v '^ninja: no work to do' || true; }
	@/usr/bin/python3 tests/fuzz/run.py build-fuzz/tests/fuzz/fuzz

build-fuzz/build.ninja:
	@tools/deps build page test fuzz
	@CC=clang meson setup build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
		-Dc_args="['-fsanitize=fuzzer-no-link', '-fsanitize=float-cast-overflow']" >/dev/null || \
		{ cat build-fuzz/meson-logs/meson-log.txt >&2; rm -rf build-fuzz; exit 1; }

# Long runs of what the tests try for a moment: every call of the programs fails in turn, and uploads
# while the network is away. Writes docs/RELIABILITY.md.
torture:
	@$(MAKE) --no-print-directory all-tests
	@tools/run-tests --build asan
	@/usr/bin/python3 tests/torture/failures.py --sanitized build-asan --write $(BUILD)
	@/usr/bin/python3 tests/torture/upload.py $(BUILD)/spoor

# SIGKILL at random moments, alone and beside busy loops. As root, to see cgroups too.
.PHONY: kills
kills:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/torture/kills.py --write $(BUILD)/spoor

# A million samples and a million processes; 10,000 starts from Python. Does anything grow?
.PHONY: soak
soak:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/torture/soak.py --write $(BUILD)/spoor

# Jobs and machines at their limits. As root.
.PHONY: load
load:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/torture/load.py --write $(BUILD)/spoor

# Reports against the truth: jobs that know what they use, with every set of sources.
truth:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/truth/truth.py --full $(BUILD)/spoor

# The programs of `make integration` that are installed, as a table. As root.
truth-software:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/truth/software.py $(BUILD)/spoor

# Lines of src/ that the tests run, per file; at least 90 %.
.PHONY: coverage
coverage:
	@tools/deps build page test coverage
	@tools/coverage

# The source of each quantity with every set of privileges. As root.
.PHONY: privileges
privileges:
	@$(MAKE) --no-print-directory all-tests
	@/usr/bin/python3 tests/privileges/privileges.py --write $(BUILD)/spoor

# On a stock kernel with cgroup v2, in an emulated machine.
vm:
	@tools/deps vm
	@$(MAKE) --no-print-directory all-tests
	@tests/vm/run $(BUILD)/spoor

# What the commands of the documents print, and the recording of README.md, made anew. On a quiet machine.
.PHONY: update-docs
update-docs:
	@tools/deps build page docs
	@$(MAKE) --no-print-directory all
	@tools/run-docs --update $(BUILD)/spoor $$(grep -l '^```console' docs/*.md)
	@docs/images/record $(BUILD)/spoor

# The wheels of the Python packages, for pip install --no-index --find-links dist. They are built with the
# libraries of Debian 11, for this machine or for another one (ARCH=amd64, ARCH=arm64).
ARCH ?= $(shell dpkg --print-architecture)
wheel:
	@tools/deps build page cross
	@tools/cross-build $(ARCH) build-cross/$(ARCH)
	@tools/make-wheel build-cross/$(ARCH)/build dist

# The R package, built and checked as CRAN does.
.PHONY: r
r:
	@tools/deps build page r
	@$(MAKE) --no-print-directory all
	@rm -rf $(BUILD)/r
	@r/check $(BUILD)/spoor $(BUILD)/r

# The unit and replay tests on the other architecture, under qemu-user.
OTHER ?= $(if $(filter amd64,$(shell dpkg --print-architecture)),arm64,amd64)
.PHONY: cross
cross:
	@tools/deps build page cross
	@tools/cross-build $(OTHER) build-cross/$(OTHER)
	@tests/install/cross.py build-cross/$(OTHER)/build

# The program as one static file, with musl, and an archive of it with manual pages, completion and notices. It can
# load neither NVML nor libcurl.
.PHONY: static
static:
	@tools/deps build page static
	@mkdir -p build-static dist
	@tools/make-musl build-static/musl >build-static/cross-file
	@[ -e build-static/build/build.ninja ] || \
		meson setup build-static/build --cross-file build-static/cross-file --prefix / -Dtests=false >/dev/null
	@ninja -C build-static/build --quiet program
	@rm -rf build-static/root
	@meson install -C build-static/build --no-rebuild --quiet --strip --tags program --destdir $(abspath build-static/root)
	@cp build-static/root/bin/spoor dist/spoor-static
	@tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$$(git log -1 --format=%ct) \
		-C build-static/root -cf - bin share | gzip -9n >dist/spoor-static.tar.gz
	@echo dist/spoor-static; echo dist/spoor-static.tar.gz

# The source archive, which builds without npm; and the Debian packages, built from it.
.PHONY: dist
dist: all
	@tools/make-dist $(BUILD)/web/report/report.html dist

.PHONY: deb
deb: all
	@tools/deps build page deb
	@tools/make-deb "$$(tools/make-dist $(BUILD)/web/report/report.html dist)" dist/deb

# Installs the Debian packages and the wheels in a fresh Debian, and uses them; runs the static program alone; builds and
# installs as two users. As root.
.PHONY: test-install
test-install: deb static wheel
	@tools/deps install
	@tests/install/deb dist/deb $(BUILD)/debian-root.tar
	@tests/install/wheel dist bullseye bookworm trixie
	@tests/install/static dist/spoor-static dist/spoor-static.tar.gz
	@tests/install/source dist/spoor-*.*.tar.gz
	@tests/install/pip

# As root, nothing in the folder of the build changes its owner.
install:
	@tools/install $(BUILD) $(abspath $(PREFIX)) $(DESTDIR)

.PHONY: uninstall
uninstall:
	@cd $(BUILD) && DESTDIR=$(DESTDIR) meson --internal uninstall >/dev/null

format:
	@tools/deps page lint
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i
	@web/report/install-packages --tests
	@npm --prefix web/report run --silent format

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-coverage build-cross build-fuzz build-static

.PHONY: all deps demo test test-full integration lint bench bench-jobs torture truth truth-software vm wheel install format clean
