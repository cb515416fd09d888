# make             install what is missing, build the program, with its CUDA part where there is a GPU. CUDA=1: also without one, for
#                  CUDA_ARCH=80 (and what is newer, translated when it starts), 90a (H100, H200), 100 (B200), 120 (RTX 50) or every one of these
# make demo        install what is missing, build, let flite speak 100 sentences, begin a voice with the base, play what it says; then every
#                  step on a corpus of its own: a voice from nothing (DEMO_MINUTES=M; 0: no more than the first sound), what a recogniser hears
# make test        install what is missing, build, run the tests; make test-costs: what each of the last run took, in seconds
# make test-long   those that take long: random kills, ranks, documents as printed, every program under the sanitizers; MYXTTS_LONG=1 for
#                  more kills and damaged bytes; make fuzz: a minute for each parser
# make test-gpu    the CUDA part, where there is a GPU
# make test-aarch64  the tests for 64-bit ARM, cross-compiled and emulated, in a Debian of their own; AARCH64_ROOT=DIR keeps it
# make voice       a voice from text alone: flite speaks the lines of VOICE_DATA=DIR, a network learns them (VOICE_MINUTES=M) and speaks the
#                  sentences of VOICE_TEXT=FILE, a recogniser judges; all of it in VOICE_OUT=DIR; tools/voice.sh explains the rest
# make base        a base that voices of a few minutes begin with: flite's voices, or BASE_DATA=DIR,DIR,... become one file, BASE_OUT=FILE;
#                  tools/base.sh explains the rest
# make bench       ours beside the peers (Python packages in a virtual environment); make bench-doctor: 300 simulated machines
# make tidy        clang-tidy with the checks of .clang-tidy
# make install     program, C library, header, pkg-config file, manual page, completions: PREFIX=/usr/local, DESTDIR= for packagers;
#                  make uninstall takes them away again
# make wheel       all of it as a wheel, build/wheel/myxtts-*.whl: pip installs program and Python package, without a compiler
# make deb         the same as a Debian package, build/deb/myxtts_*.deb, with `serve` as a service
# make dist        a bundle for machines where nothing can be installed
#                  (with the CUDA part, for every GPU from sm_80 on, where there is nvcc; wheel and deb with CUDA=1)
# make VARIANT=asan|ubsan|tsan|debug ...   the same in build/VARIANT
#
# What would be installed is said first, and asked on a terminal; NO_DEPS=1 installs nothing. Every core builds, unless -j says otherwise;
# WERROR=1 ends at the first warning, as `make test` does.

# A make that this one calls is given its share of the cores.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
# `make clean all` means one after the other.
ifneq ($(and $(filter clean,$(MAKECMDGOALS)),$(filter-out clean,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

VARIANT ?= release
ifeq ($(VARIANT),release)
OUT := build
else
OUT := build/$(VARIANT)
endif

CC ?= gcc
CXX ?= g++
NVCC := $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
# The compute capability of the GPU of this machine, 90; nothing where there is none.
GPU := $(if $(wildcard /dev/nvidia0 /dev/dxg),$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .))
CUDA ?= $(if $(GPU)$(filter dist cuda test-gpu,$(MAKECMDGOALS)),1,0)

PKGS := espeak-ng sndfile soxr libebur128 yaml-0.1 libxxhash libpng icu-i18n icu-uc jansson libmicrohttpd
WARN := -Wall -Wextra -Wshadow -Wvla -Wpointer-arith -Wcast-qual -Wno-unused-parameter -Wno-format-truncation
WARN += $(if $(filter 1,$(WERROR)),-Werror)
CFLAGS.release := -O2
CFLAGS.debug := -O0 -g3
CFLAGS.asan := -O1 -g -fsanitize=address -fno-omit-frame-pointer
CFLAGS.ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
CFLAGS.tsan := -O1 -g -fsanitize=thread
ifeq ($(CFLAGS.$(VARIANT)),)
$(error unknown VARIANT '$(VARIANT)': use release, debug, asan, ubsan or tsan)
endif
# $(PKGCONFIG) is expanded only when something is compiled, so that `make deps` works on a bare machine.
PKGCONFIG = $(eval PKGCONFIG := $$(shell pkg-config --cflags $(PKGS)))$(PKGCONFIG)
PKGLIBS = $(eval PKGLIBS := $$(shell pkg-config --libs $(PKGS)))$(PKGLIBS)
# Everything can go into a shared library, which shows the names of src/lib/myxtts.h alone.
SHARED_FLAGS = -fPIC $(if $(filter $(OUT)/obj/src/%,$@),-fvisibility=hidden)
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS.$(VARIANT)) $(SHARED_FLAGS) -D_GNU_SOURCE -Isrc $(if $(filter $(OUT)/obj/tests/%,$@),-Itests) $(PKGCONFIG) $(CFLAGS) -pthread
ALL_CXXFLAGS = -std=c++17 -Wall -Wextra $(filter -Werror,$(WARN)) $(CFLAGS.$(VARIANT)) $(SHARED_FLAGS) -Isrc $(CXXFLAGS) -pthread
LIBS = $(PKGLIBS) -lcld2 -lm -ldl -pthread

SRC := $(filter-out src/main.c,$(shell find src -name '*.c' | sort))
SHIM := $(shell find src -name '*.cc' | sort)
CU := $(shell find src -name '*.cu' | sort)

# A unit is one object. Most sources are one unit of the same name; some are compiled several times, and
# their units are called NAME.VARIANT or NAME.VARIANT.VARIANT: NAME.c with the flags of every variant.
# src/base/variant.h says what the sources see of it.
INSTRUCTIONS := plain $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),avx2 avx512)
FLAGS.plain := -DINSTRUCTIONS=plain -DREGISTER_BYTES=16
FLAGS.avx2 := -DINSTRUCTIONS=avx2 -DREGISTER_BYTES=32 -mavx2
FLAGS.avx512 := -DINSTRUCTIONS=avx512 -DREGISTER_BYTES=64 -mavx2 -mavx512f -mavx512dq -mavx512vl
FLAGS.f32 := -DREAL=float
FLAGS.f64 := -DREAL=double
# The vector loops: square roots without errno, so that the optimiser's loop is a vector loop; fused
# multiply-add where there is one.
FLAGS.vector := -fno-math-errno -fno-trapping-math
FLAGS.sound_host := -fno-math-errno -fno-trapping-math
FLAGS.spectral_host := $(FLAGS.sound_host)
FLAGS.vector.avx2 := -mfma
FLAGS.vector.avx512 := -mfma -mavx512bw -mprefer-vector-width=512
FLAGS.product.avx2 := $(FLAGS.vector.avx2)
FLAGS.product.avx512 := $(FLAGS.vector.avx512)

UNITS.vector := $(foreach i,$(INSTRUCTIONS),$(foreach s,vector product,src/ops/host/$s.$i.f32 src/ops/host/$s.$i.f64))
UNITS.kernels := $(foreach i,$(INSTRUCTIONS),src/audio/mel_kernel.$i src/audio/pitch_kernel.$i)
UNITS.kernels += $(foreach i,$(filter-out avx512,$(INSTRUCTIONS)),src/audio/griffin_lim_kernel.$i)
UNITS.host := $(foreach s,$(filter src/ops/host/%_host.c,$(SRC)),$(s:.c=).f32 $(s:.c=).f64)
UNITS.many := $(UNITS.vector) $(UNITS.kernels) $(UNITS.host)
UNITS.once := $(filter-out $(foreach u,$(UNITS.many),$(basename $(basename $u)) $(basename $u)),$(SRC:.c=))
UNITS := $(sort $(UNITS.once) $(UNITS.many))
unit_source = $(firstword $(subst ., ,$1)).c
unit_variants = $(wordlist 2,3,$(subst ., ,$1))
unit_flags = $(strip $(foreach v,$(call unit_variants,$1),$(FLAGS.$v) $(FLAGS.$(notdir $(firstword $(subst ., ,$1))).$v)) \
    $(FLAGS.$(notdir $(firstword $(subst ., ,$1)))))

comma := ,
OBJ := $(UNITS:%=$(OUT)/obj/%.o) $(SHIM:%.cc=$(OUT)/obj/%.o)
# tests/ has the folders of src/; the programs stand side by side.
TEST_SOURCES := $(sort $(wildcard tests/*/test_*.c))
TEST_SOURCES := $(filter-out tests/gpu/%,$(TEST_SOURCES))
TESTS := $(patsubst %.c,$(OUT)/tests/%,$(notdir $(TEST_SOURCES)))
PRELOADS := $(patsubst tests/support/%_preload.c,$(OUT)/tests/%.so,$(wildcard tests/support/*_preload.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH := $(patsubst bench/%.c,$(OUT)/bench/%,$(wildcard bench/*.c))
# What several of them share: linked where it is used.
TESTS_SUPPORT := $(patsubst %.c,$(OUT)/obj/%.o,$(filter-out %_preload.c,$(wildcard tests/support/*.c)))
BENCH_SUPPORT := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard bench/support/*.c))

.PHONY: all built units cuda deps wheel deb dist install uninstall demo voice base test test-costs test-long test-gpu test-aarch64 bench bench-doctor fuzz format tidy clean help programs .FORCE
.SECONDARY:

all:
	@tools/deps.sh build
	@$(MAKE) --no-print-directory built

# As `all`, with nothing installed; what other targets need.
built: $(OUT)/myxtts $(OUT)/libmyxtts.so cuda

programs: built $(TESTS) $(PRELOADS) $(BENCH)

$(OUT)/myxtts: $(OUT)/obj/src/main.o $(OUT)/libmyxtts.a
	$(CXX) $(CFLAGS.$(VARIANT)) -o $@ $< $(OUT)/libmyxtts.a $(LDFLAGS) $(LIBS)
	@echo "built $@ ($(VARIANT))"

$(OUT)/libmyxtts.a: $(OBJ)
	@rm -f $@
	$(AR) rcs $@ $(OBJ)

# The C library (src/lib/myxtts.h): its own objects and what they need of the others. The link beside it is what a program that was
# linked with it looks for.
LIB_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard src/lib/*.c))
$(OUT)/libmyxtts.so: $(LIB_OBJ) $(OUT)/libmyxtts.a src/lib/libmyxtts.map
	$(CXX) $(CFLAGS.$(VARIANT)) -shared -Wl,--as-needed -Wl,-soname,libmyxtts.so.1 -Wl,--version-script,src/lib/libmyxtts.map \
	    $(if $(filter release debug,$(VARIANT)),-Wl$(comma)--no-undefined) -o $@ $(LIB_OBJ) $(OUT)/libmyxtts.a $(LDFLAGS) $(LIBS)
	@ln -sf libmyxtts.so $@.1
	@echo "built $@ ($(VARIANT))"

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The git revision, for --version: written anew only when it has changed, so that nothing else is built again. Git does not tell root that
# of somebody else's checkout (sudo make install): what was built stays as it is.
$(OUT)/revision: .FORCE
	@mkdir -p $(@D)
	@if git describe --always --dirty --exclude '*' 2>/dev/null >$@.new || [ ! -f $@ ]; then \
	    cmp -s $@.new $@ && rm $@.new || mv $@.new $@; else rm $@.new; fi

$(OUT)/obj/src/cmd/cmd_version.o: src/cmd/cmd_version.c $(OUT)/revision
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMYXTTS_REVISION='"'$$(cat $(OUT)/revision)'"' -MMD -MP -c -o $@ $<

# The pages in the browser are part of the program.
$(OUT)/obj/src/serve/page_files.o: $(wildcard src/page/*)
# So are the sentences to read aloud.
$(OUT)/obj/src/serve/record/sentences.o: $(wildcard src/serve/sentences/*)
# And what tells the network of it.
$(OUT)/obj/src/serve/announce.o: src/serve/avahi.service

.FORCE:

define UNIT_RULE
$(OUT)/obj/$1.o: $(call unit_source,$1)
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $(call unit_flags,$1) -MMD -MP -c -o $$@ $$<
endef
$(foreach u,$(UNITS.many),$(eval $(call UNIT_RULE,$u)))

# UNIT SOURCE [FLAGS], a line each: for scripts that compile the sources themselves.
units:
	@: $(foreach u,$(UNITS),$(info $(strip $u $(call unit_source,$u) $(call unit_flags,$u))))$(foreach s,$(SHIM),$(info $(s:.cc=) $s))

$(OUT)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<

ifeq ($(NVCC),)
cuda:
	@echo "CUDA part: not built, nvcc was not found; the program runs on the CPU"
else ifneq ($(CUDA),1)
cuda:
	@echo "CUDA part: not built, there is no GPU here; make CUDA=1 builds it for other machines"
else
# That of the GPU here; of A100 (also RTX 30 and 40) where there is none, which newer ones translate when they start.
CUDA_ARCH ?= $(if $(filter wheel deb dist,$(MAKECMDGOALS)),every,$(if $(GPU),$(GPU:90=90a),80))
GENCODE.80 := -gencode arch=compute_80,code=[sm_80$(comma)compute_80]
# A100, H100 and H200, B200, RTX 50; what comes after them translates the last one.
GENCODE.every := -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_100,code=sm_100 \
    -gencode arch=compute_120,code=sm_120 -gencode arch=compute_90,code=compute_90
GENCODE := $(or $(GENCODE.$(CUDA_ARCH)),-gencode arch=compute_$(CUDA_ARCH)$(comma)code=sm_$(CUDA_ARCH))
# Built again when it is for other GPUs.
$(OUT)/cuda_arch: .FORCE
	@mkdir -p $(@D)
	@echo '$(GENCODE)' | cmp -s - $@ || echo '$(GENCODE)' >$@

cuda: $(OUT)/libmyxtts_cuda.so
	@echo "CUDA part: built $< with $(NVCC)"

$(OUT)/libmyxtts_cuda.so: $(CU:%.cu=$(OUT)/obj/%.cu.o)
	@mkdir -p $(@D)
	$(NVCC) -Xcompiler -fPIC -shared -o $@ $^

$(OUT)/obj/%.cu.o: %.cu $(OUT)/cuda_arch
	@mkdir -p $(@D)
	$(NVCC) -O3 -std=c++17 $(GENCODE) --compress-mode=size -Isrc -Xcompiler -fPIC -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
endif

# What the program says of itself, as files for man and the shells.
$(OUT)/share/myxtts.1: $(OUT)/myxtts
	@mkdir -p $(@D)
	$(OUT)/myxtts manual >$@

$(OUT)/share/completion.%: $(OUT)/myxtts
	@mkdir -p $(@D)
	$(OUT)/myxtts completion $* >$@

FOR_SHELLS := $(OUT)/share/myxtts.1 $(OUT)/share/completion.bash $(OUT)/share/completion.zsh $(OUT)/share/completion.fish

PREFIX ?= /usr/local
INSTALLER = PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' tools/install.sh
install: built $(FOR_SHELLS)
	@$(INSTALLER) $(OUT)

uninstall:
	@$(INSTALLER) --remove

# For other machines: tools/pack.
wheel deb dist:
	@tools/deps.sh pack
	@$(MAKE) --no-print-directory CUDA=$(CUDA) CUDA_ARCH=$(CUDA_ARCH) built $(FOR_SHELLS)
	@tools/pack/bundle.sh $(OUT) $(if $(filter dist,$@),$(OUT)/dist/myxtts --whole,$(OUT)/bundle) $(if $(filter 1,$(CUDA)),$(if $(NVCC),--cuda))
	@tools/pack/$@.sh $(OUT)

# Tests, tools for tests, fuzz targets and benchmarks: one C file each, linked with what they share and
# everything but main.c.
$(OUT)/obj/tests/support.a: $(TESTS_SUPPORT)
	@rm -f $@
	$(AR) rcs $@ $^

$(OUT)/obj/bench/support.a: $(BENCH_SUPPORT)
	@rm -f $@
	$(AR) rcs $@ $^

$(foreach t,$(TEST_SOURCES),$(eval $(OUT)/tests/$(basename $(notdir $t)): $(OUT)/obj/$(basename $t).o))
$(TESTS): $(OUT)/obj/tests/support.a $(OUT)/libmyxtts.a
	@mkdir -p $(@D)
	$(CXX) $(CFLAGS.$(VARIANT)) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -lcmocka $(LIBS)

$(OUT)/tests/%.so: tests/support/%_preload.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -D_GNU_SOURCE -shared -fPIC -o $@ $< -ldl

$(OUT)/bench/%: $(OUT)/obj/bench/%.o $(OUT)/obj/bench/support.a $(OUT)/obj/tests/support.a $(OUT)/libmyxtts.a
	@mkdir -p $(@D)
	$(CXX) $(CFLAGS.$(VARIANT)) -o $@ $^ $(LDFLAGS) $(LIBS)

# It goes to machines where none of the libraries are.
$(OUT)/bench/serve: LIBS = -lm -pthread

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)

deps:
	@tools/deps.sh

# Something to hear comes first: what it does not need is installed and built after it. DEMO_MINUTES=0: no more than that.
demo:
	@tools/deps.sh sound
	@$(MAKE) --no-print-directory $(OUT)/myxtts
	@tools/demo.sh "$(OUT)" first
ifneq ($(DEMO_MINUTES),0)
	@tools/deps.sh
	@$(MAKE) --no-print-directory built $(OUT)/bench/voice
	@tools/demo.sh "$(OUT)"
endif

# Variables given to make reach tools/voice.sh through the environment.
voice: deps
	@$(MAKE) --no-print-directory built $(OUT)/bench/voice
	@VOICE_BUILD=$(OUT) tools/voice.sh

base: deps
	@$(MAKE) --no-print-directory built
	@BASE_BUILD=$(OUT) tools/base.sh

test:
	@tools/deps.sh tests
	@$(MAKE) --no-print-directory WERROR=1 programs
	@tools/run_tests.sh

test-costs:
	@cat $(OUT)/test-costs

test-long:
	@tools/deps.sh tests
	@$(MAKE) --no-print-directory WERROR=1 programs
	@tools/run_tests.sh --long

fuzz:
	@tools/deps.sh tests
	@tools/run_fuzz.sh

bench: deps
	@$(MAKE) --no-print-directory programs
	@rc=0; for b in bench/prepare bench/loader bench/pipeline_model bench/train_step $(OUT)/bench/fix_configs; do $$b || rc=1; done; exit $$rc

# The doctor on 300 simulated machines: half an hour, on a machine that is otherwise idle.
bench-doctor: deps
	@$(MAKE) --no-print-directory built $(OUT)/bench/doctor
	@$(OUT)/bench/doctor --jobs 2

test-aarch64:
	@tools/test_aarch64.sh $(AARCH64_ROOT)

# Needs a GPU (sm_80 or newer); without one it says so and is skipped.
test-gpu: cuda
	@tests/gpu/build.sh
	@for t in build/test_gpu build/test_ops_gpu; do [ -x $$t ] || continue; $$t; rc=$$?; [ $$rc = 0 ] || [ $$rc = 77 ] || exit $$rc; done
	@tests/gpu/sanitize.sh
	@if [ -x $(OUT)/myxtts ]; then tests/gpu/train_gpu.sh $(OUT)/myxtts tests/data/ljspeech; else echo "SKIPPED: training on the GPU (no $(OUT)/myxtts)"; fi

tidy:
	@tools/tidy.sh

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cc' '*.cu')

clean:
	rm -rf build
