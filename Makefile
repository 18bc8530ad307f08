# Tempo in C.
#
#   make run          everything from a bare Debian 12: packages, build, then the main example   (ARGS="--seed 1")
#   make test         packages, build, C unit tests, core specs under Lua 5.4 and all others under LuaJIT too, layers; on all processors
#   make              the module for Lua 5.4 and for LuaJIT, libtempo.a, libtempo.so
#   make c-examples   hosts in C (examples/c) in build/examples/c, with the texts of the programs they load
#   make deps         Debian packages, asked of apt-get only where one is missing
#   make test-gpu     what belongs to devices, on the tests' own libcuda and on pocl; needs NVRTC, not a GPU   (make gpu-emulator builds build/gpu/libcuda.so.1)
#   make test-cuda    specs of devices on CUDA against the processor, on a machine with a card (or TEMPO_CUDA); make bench-cuda takes times there;
#   make gpu-static   registers, spills, threads at once and widths of accesses of the examples' kernels, for cards that need not be here  (ARGS="--write" puts the table into docs/gpu.md)
#   make gpu-bundle   what such a machine needs, if it has neither Lua nor isl nor a network: build/tempo-gpu.tar.gz
#   make test-long    the same, with the tests that have the tag #long
#   make spec         specs only, in the caller's environment        (LUA=luajit SPEC=spec/x_spec.lua ARGS="--filter=x")
#   make amalgam      each folder of src as one unit, no name twice (.ci/amalgam.lua); an example runs on what is linked from them
#   make size         lines and bytes of src, by folder
#   make tuning       the constants that trade one cost for another, with what was measured (src/base/tuning.def)
#   make layers       fails on an #include that points up (.ci/layers.lua)
#   make lint         luacheck, and the bounds that a machine holds: format, columns, bytes, lines a file, circles (.ci/lint.lua)
#   make format       formats all C (.clang-format)
#   make check-hard   address and undefined-behaviour sanitizers: own build, specs under Lua 5.4, C unit tests
#   make valgrind     short runs of the examples under valgrind
#   make fuzz         random programs, every tier against the reference        (SECONDS=60 ARGS="--from 1000")
#   make fuzz-parsers  libFuzzer on what reads texts and files, each parser SECONDS long: graph, plan, state, npy, npz, json, gguf, safetensors, index, tokenizer; findings in build/fuzz (SECONDS=60 PARSERS="graph npz")
#   make bench        every bench/*.lua; make bench-compile, bench-memory, ...: one of them
#   make docs         writes docs/reference, lua/tempo/meta and the outputs shown in README.md and the tutorial (.ci/docs.lua)
#   make env          prints the exports with which a script runs from this tree:  eval "$(make -s env)"
#   make install      the module for LUA_INCDIR into INST_LIBDIR, lua/tempo into INST_LUADIR (what LuaRocks calls)
#   make install-c    the header and the libraries for hosts in C into PREFIX
#   make test-export  an exported training loop under gcc, clang, -m32, aarch64 and wasm32, as far as they are here: the same weights (.ci/test_export.lua)
#   make windows      tempo for Windows by mingw-w64 in build/windows, run under wine where that is (.ci/windows.sh)
#   make arm64        tempo for 64-bit ARM (NEON) by a cross compiler in build/arm64, run under qemu (.ci/arm64.sh)
#   make rock-test    `luarocks make` for both Luas into a scratch tree, specs and an example from there; what other Luas are told
#   make clean
#
# Sources are found, not listed: src/<folder>/*.c. V=1 prints the commands.

B       := build
CC      ?= cc
AR      ?= ar
CFLAGS  ?= -O2 -g
LIBFLAG ?= -shared
LUA     ?= lua5.4
NPROC   := $(shell nproc 2>/dev/null || echo 1)
Q       := $(if $(V),,@)

# A plain `make` uses every core; `make -jN` is respected, and `make clean all` stays in order.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(NPROC)
endif
ifneq (,$(filter clean,$(MAKECMDGOALS)))
.NOTPARALLEL:
endif
MAKEFLAGS += --no-print-directory

# ---- flags ----------------------------------------------------------------------------------------------------------
WARN    := -Wall -Wextra -Wno-unused-parameter
CORE    := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -ffp-contract=off $(WARN) -Isrc -Iinclude -I.
# Kernels need no errno. Never -ffast-math, nor contraction: what may be fused is written so (kernels/prelude/math.h).
# gcc 12 takes vectors that a loop fills by halves for not written.
KERNEL  := -O3 -fno-math-errno -fno-trapping-math -Wno-maybe-uninitialized
# Asked anew by each make, so that `make run` sees the packages that `make deps` has just brought.
pc       = $(shell pkg-config $(1) 2>/dev/null)
ISL_CFLAGS  := $(if $(ISL_INCDIR),-I$(ISL_INCDIR),$(call pc,--cflags isl gmp zlib))
ISL_LIBS    := $(or $(if $(ISL_LIBDIR),-L$(ISL_LIBDIR) -lisl -lgmp -lz),$(call pc,--libs isl gmp zlib),-lisl -lgmp -lz)
LUA54_CFLAGS := $(call pc,--cflags lua5.4)
LUA51_CFLAGS := $(call pc,--cflags luajit)
# OpenBLAS is opened at run time, CUDA too: neither is linked.
LIBS    := $(ISL_LIBS) -lm -ldl -lpthread

# ---- what there is --------------------------------------------------------------------------------------------------
CORE_SRC   := $(filter-out src/lua/%,$(sort $(wildcard src/*/*.c src/*/*/*.c)))
KERNEL_SRC := $(sort $(wildcard kernels/cpu/*.c))
LUA_SRC    := $(sort $(wildcard src/lua/*.c))
FUZZ_SRC   := $(filter-out $(KERNEL_SRC),$(CORE_SRC))
CTEST_SRC  := $(sort $(wildcard spec/c/*_test.c))

CORE_OBJ   := $(patsubst %.c,$(B)/obj/core/%.o,$(sort $(CORE_SRC) $(KERNEL_SRC)))
lua_obj     = $(patsubst %.c,$(B)/obj/$(1)/%.o,$(LUA_SRC))
CTEST      := $(patsubst spec/c/%.c,$(B)/spec/c/%,$(CTEST_SRC))
CDEF       := $(if $(wildcard include/tempo.h),$(B)/tempo.cdef)

# LuaRocks says which Lua by its headers; every set of headers has a module of its own.
LUA_INCDIR ?= $(patsubst -I%,%,$(filter -I%,$(LUA54_CFLAGS)))
ROCK        = rock$(subst /,-,$(LUA_INCDIR))

.PHONY: arm64 windows windows-dll all amalgam c-examples deps run test test-long spec layers lint format size tuning check-hard valgrind gpu-emulator test-gpu test-cuda gpu-bundle gpu-static fuzz fuzz-parsers bench docs env rock rock-test test-export install install-c clean ctests
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/5.4/tempo.so $(B)/5.1/tempo.so $(B)/libtempo.a $(B)/libtempo-lua5.4.a $(B)/libtempo.so $(CDEF)
	@:

# ---- build ----------------------------------------------------------------------------------------------------------
# Texts that go into other people's files, as strings: the prelude, with the rows of scalar.def where they are included, what exported code calls besides, and
# environments. sed is wherever make is.
PRELUDE := $(foreach h,math half philox scalar fold dot index native,kernels/prelude/$(h).h)
PRELUDE_GPU := kernels/gpu/dialect.h $(filter-out %/native.h,$(PRELUDE)) $(filter-out %/dialect.h,$(sort $(wildcard kernels/gpu/*.h)))
QUOTE := sed -e 's/["\\]/\\&/g' -e 's/^.*$$/"&\\n"/'
$(B)/gen/prelude.inc: $(PRELUDE)
$(B)/gen/gpu.inc: $(PRELUDE_GPU)
$(B)/gen/prelude.inc $(B)/gen/gpu.inc: src/kern/scalar.def Makefile
	@mkdir -p $(@D)
	$(Q)cat $(filter-out %.def Makefile,$^) | sed -e '/#include "kern.scalar.def"/{r src/kern/scalar.def' -e 'd' -e '}' | $(QUOTE) > $@
$(B)/gen/export.inc: kernels/prelude/export.h Makefile
	@mkdir -p $(@D)
	$(Q)$(QUOTE) $< > $@
$(B)/gen/agent.inc: kernels/prelude/agent.txt Makefile
	@mkdir -p $(@D)
	$(Q)$(QUOTE) $< > $@
$(B)/gen/common.inc: kernels/env/common.h Makefile
	@mkdir -p $(@D)
	$(Q)$(QUOTE) $< > $@
ENVS := kernels/env/common.h $(filter-out %/common.h,$(sort $(wildcard kernels/env/*.h)))
$(B)/gen/envs.inc: $(ENVS) Makefile
	@mkdir -p $(@D)
	$(Q)(echo "#define TP_FN static inline"; for f in $(ENVS); do echo "#include \"$$f\""; done; echo "#undef TP_FN") > $@
	$(Q)for f in $(filter-out %/common.h,$(ENVS)); do echo "static const char $$(basename $$f .h)_text[] ="; $(QUOTE) $$f; echo ";"; done >> $@
$(B)/obj/core/src/kern/text.o $(B)/amalgam/kern.o $(B)/obj/core/src/base/env.o $(B)/amalgam/base.o: CORE += -I$(B)/gen
$(B)/obj/core/src/kern/text.o $(B)/amalgam/kern.o: $(B)/gen/prelude.inc $(B)/gen/gpu.inc $(B)/gen/export.inc $(B)/gen/agent.inc
$(B)/obj/core/src/base/env.o $(B)/amalgam/base.o: $(B)/gen/envs.inc $(B)/gen/common.inc

$(B)/obj/core/%.o: %.c Makefile
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $<")
	$(Q)$(CC) $(CFLAGS) $(CORE) $(if $(filter $<,$(KERNEL_SRC)),$(KERNEL)) $(ISL_CFLAGS) -MMD -MP -c $< -o $@

# $(1) the folder of objects, $(2) flags for its lua.h, $(3) where the module goes
define lua_module
$(B)/obj/$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	@$$(if $$(V),,echo "  CC   $$< ($(1))")
	$$(Q)$$(CC) $$(CFLAGS) $$(CORE) $(2) -MMD -MP -c $$< -o $$@

$(3)/tempo.so: $$(call lua_obj,$(1)) $$(CORE_OBJ)
	@mkdir -p $$(@D)
	@$$(if $$(V),,echo "  LINK $$@")
	$$(Q)$$(CC) $$(LIBFLAG) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
endef
$(eval $(call lua_module,lua5.4,$(LUA54_CFLAGS),$(B)/5.4))
$(eval $(call lua_module,luajit,$(LUA51_CFLAGS),$(B)/5.1))
$(eval $(call lua_module,$(ROCK),-I$(LUA_INCDIR),$(B)/$(ROCK)))

$(B)/libtempo.a: $(CORE_OBJ)
	@mkdir -p $(@D)
	@$(if $(V),,echo "  AR   $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# -z defs: here a function that nobody wrote is found at link time, which a Lua module cannot tell from one of Lua's.
$(B)/libtempo.so: $(CORE_OBJ)
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LINK $@")
	$(Q)$(CC) -shared -Wl,-z,defs -Wl,-soname,libtempo.so $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# ffi.cdef has no preprocessor. With TEMPO_CDEF defined the header may leave out what LuaJIT already knows.
$(B)/tempo.cdef: include/tempo.h include/tempo_env.h Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -E -P -DTEMPO_CDEF $< -o $@

$(B)/spec/c/%: spec/c/%.c $(B)/libtempo.a Makefile
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $<")
	$(Q)$(CC) $(CFLAGS) $(CORE) $(ISL_CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libtempo.a $(LIBS)

ctests: $(CTEST)

# ---- devices of the tests -------------------------------------------------------------------------------------------
# A libcuda of our own, under another name inside: NVRTC asks a library of that name for functions that only the driver has. TEMPO_CUDA=build/gpu/libcuda.so.1 runs a program on it. What it builds of kernels is kept in gpu/modules.
GPU  := $(B)/gpu
GPU_C = $(CC) -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -ffp-contract=off $(WARN) -Wno-format-truncation -shared -Wl,-soname,tempo-$(@F) -o $@ $(filter %.c,$^) -ldl -lpthread -lm
$(GPU)/libcuda.so.1: $(foreach f,watch blocks libcuda,spec/gpu/$(f).c) spec/gpu/own.h spec/gpu/emu.h Makefile
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LINK $@")
	$(Q)$(GPU_C)
$(GPU)/libcublas.so.13: spec/gpu/libcublas.c Makefile
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LINK $@")
	$(Q)$(GPU_C)
$(GPU)/%: spec/gpu/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
gpu-emulator: $(GPU)/libcuda.so.1 $(GPU)/libcublas.so.13 $(GPU)/ptx.lua $(GPU)/emu.h
	@:
test-gpu: all gpu-emulator
	@luajit .ci/busted.lua --cpath='$(B)/5.1/?.so' $(ARGS) $(or $(SPEC),spec/gpu)

test-cuda: all
	@$(IN_TREE) .ci/gpu/cuda.sh test
gpu-static: all gpu-emulator
	@LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;;" LUA_CPATH="$(B)/5.1/?.so;;" luajit .ci/gpu/static.lua $(ARGS)
gpu-bundle: all
	@.ci/gpu/bundle.sh $(B)

# Not optimised: what is looked for is found by the compiler's first half. Kernels stay units of their own.
UNITS   := $(sort $(foreach f,$(CORE_SRC) $(LUA_SRC),$(word 2,$(subst /, ,$(f)))))
AMALGAM := $(B)/amalgam
amalgam: $(AMALGAM)/5.4/tempo.so
	$(Q)LUA_PATH_5_4="lua/?.lua;lua/?/init.lua;;" LUA_CPATH_5_4="$(AMALGAM)/5.4/?.so;;" $(PRELOAD) lua5.4 examples/fibonacci.lua >/dev/null

$(AMALGAM)/names: .ci/amalgam.lua Makefile $(CORE_SRC) $(LUA_SRC) $(wildcard $(foreach e,h def,src/*/*.$(e) src/*/*/*.$(e)))
	@mkdir -p $(@D)
	$(Q)lua5.4 $< $(@D) > $@ && cat $@

$(AMALGAM)/%.o: $(AMALGAM)/names
	@$(if $(V),,echo "  CC   src/$* (amalgam)")
	$(Q)$(CC) $(filter-out -O%,$(CFLAGS)) -O0 $(CORE) $(ISL_CFLAGS) $(LUA54_CFLAGS) -c $(@:.o=.c) -o $@

$(AMALGAM)/5.4/tempo.so: $(UNITS:%=$(AMALGAM)/%.o) $(patsubst %.c,$(B)/obj/core/%.o,$(KERNEL_SRC))
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LINK $@")
	$(Q)$(CC) $(LIBFLAG) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# A host that embeds Lua links the module: the Lua binding as an archive, beside libtempo.a.
$(B)/libtempo-lua5.4.a: $(call lua_obj,lua5.4)
	@$(if $(V),,echo "  AR   $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

CEXAMPLE_TEXT := $(B)/examples/c/cartpole_train.sdg $(B)/examples/c/cartpole_play.sdg
$(CEXAMPLE_TEXT): $(B)/examples/c/cartpole_%.sdg: examples/c/cartpole.lua $(B)/5.4/tempo.so $(wildcard lua/tempo/*.lua lua/tempo/*/*.lua)
	@mkdir -p $(@D)
	@$(if $(V),,echo "  TEXT $@")
	$(Q)$(IN_TREE) $(PRELOAD) lua5.4 $< $* > $@

$(B)/examples/c/%: examples/c/%.c $(B)/libtempo.a $(B)/libtempo-lua5.4.a Makefile
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $<")
	$(Q)$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE $(WARN) -Iinclude $(LUA54_CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< \
	  $(if $(findstring lua.h,$(file <$<)),$(B)/libtempo-lua5.4.a $(B)/libtempo.a $(call pc,--libs lua5.4),$(B)/libtempo.a) $(LIBS)

CEXAMPLE := $(patsubst examples/c/%.c,$(B)/examples/c/%,$(sort $(wildcard examples/c/*.c)))
c-examples: $(CEXAMPLE) $(CEXAMPLE_TEXT)
	@:

-include $(CORE_OBJ:.o=.d) $(WINDOWS_OBJ:.o=.d) $(FUZZ_SRC:%.c=$(B)/fuzz/obj/%.d) $(foreach l,lua5.4 luajit $(ROCK),$(patsubst %.o,%.d,$(call lua_obj,$(l)))) $(CTEST:=.d) $(CEXAMPLE:=.d)

# ---- use ------------------------------------------------------------------------------------------------------------
# The module's and the libraries' places in this tree; 5.4 also reads LUA_PATH_5_4 first, so that is what is set.
IN_TREE = LUA_PATH_5_4="lua/?.lua;lua/?/init.lua;;" LUA_CPATH_5_4="$(B)/5.4/?.so;;"

deps:
	@.ci/deps.sh

run: deps
	@$(MAKE) all
	@$(IN_TREE) lua5.4 examples/reinforce_cartpole.lua $(ARGS)

test test-long: deps
	@$(MAKE) all ctests c-examples amalgam gpu-emulator
	@$(if $(filter test,$@),TEST_SHORT=1) .ci/test.sh $(B) lua5.4 luajit

spec: all c-examples
	@$(LUA) .ci/busted.lua --cpath='$(B)/'$$($(LUA) -e 'io.write(_VERSION:match "[%d.]+")')'/?.so' $(ARGS) $(or $(SPEC),spec)

size:
	@for d in src/*/; do find $$d -name '*.[ch]' -o -name '*.def' | xargs cat | wc -lc | sed "s|$$| $$d|"; done | \
	  awk '{ n += $$1; b += $$2; printf "%7d lines %9d bytes  %s\n", $$1, $$2, $$3 } END { printf "%7d lines %9d bytes  src\n", n, b }'

tuning:
	@lua5.4 .ci/tuning.lua

layers:
	@lua5.4 .ci/layers.lua

lint: all
	@luacheck --quiet bin/tempo $(wildcard lua spec examples bench .ci docs/source)
	@lua5.4 .ci/lint.lua $(B)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

# UBSan aborts, so that undefined behaviour fails a spec. Leaks are checked in C unit tests only: when Lua
# has closed the module, whatever its static data pointed to would count.
# HARD also runs the wrong programs and short examples with a full collection at every step into or out of the binding (TEMPO_GC).
HARD_PRELOAD = env ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(shell gcc -print-file-name=libasan.so):$(shell gcc -print-file-name=libubsan.so)
check-hard: deps
	@$(MAKE) B=$(B)/hard all ctests c-examples PRELOAD="$(HARD_PRELOAD)" KERNEL="-O1 -fno-math-errno -fno-trapping-math" \
	  CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -DTP_HARD"
	@HARD=1 TEST_SHORT=1 .ci/test.sh $(B)/hard lua5.4

valgrind: all c-examples
	@.ci/valgrind.sh $(B)

SECONDS ?= 30
fuzz: all
	@$(IN_TREE) lua5.4 spec/fuzz/fuzz.lua --seconds $(SECONDS) $(ARGS)

# Kernels are those of the usual build, without sanitizers: no parser calls one.
PARSERS ?= graph plan state npy npz json gguf safetensors index tokenizer
FUZZED  := -w -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined
FUZZ    := $(B)/fuzz
FUZZ_CC ?= clang
$(FUZZ)/obj/%.o: %.c | $(B)/gen/prelude.inc $(B)/gen/gpu.inc $(B)/gen/export.inc $(B)/gen/agent.inc $(B)/gen/envs.inc $(B)/gen/common.inc
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $< (fuzz)")
	$(Q)$(FUZZ_CC) $(FUZZED) -fsanitize=fuzzer-no-link,address,undefined $(CORE) -I$(B)/gen $(ISL_CFLAGS) -MMD -MP -c $< -o $@
$(FUZZ)/parsers: spec/fuzz/parsers.c $(FUZZ_SRC:%.c=$(FUZZ)/obj/%.o) $(KERNEL_SRC:%.c=$(B)/obj/core/%.o)
	$(Q)$(FUZZ_CC) $(FUZZED) -fsanitize=fuzzer,address,undefined $(CORE) $(ISL_CFLAGS) -o $@ $^ $(LIBS)
# Seeds: texts and files of the specs, and of the examples' hosts in C.
fuzz-parsers: c-examples $(FUZZ)/parsers
	@cd $(FUZZ) && mkdir -p $(foreach p,graph plan state npy npz json gguf safetensors index tokenizer,seeds/$(p) new/$(p))
	@for f in spec/*/*.sdg $(B)/examples/c/*.sdg; do cp $$f $(FUZZ)/seeds/graph/$$(echo $$f | tr / -); done
	@cp spec/plan/*.want $(FUZZ)/seeds/plan; cp spec/fixtures/npy/*.npy $(FUZZ)/seeds/npy; cp spec/fixtures/npy/*.npz $(FUZZ)/seeds/npz
	@cp spec/fixtures/weights/*.gguf $(FUZZ)/seeds/gguf; cp spec/fixtures/weights/*.safetensors spec/fixtures/weights/sharded/*.safetensors $(FUZZ)/seeds/safetensors
	@for p in json index; do cp spec/fixtures/weights/sharded/*.json $(FUZZ)/seeds/$$p; done
	@cp $(filter-out %/cases.json %/chats.json,$(wildcard spec/fixtures/tokenizers/*)) $(FUZZ)/seeds/tokenizer
	@FUZZ_PARSER=state FUZZ_SEED=$(FUZZ)/seeds/state/begun $(FUZZ)/parsers
	@set -e; for p in $(PARSERS); do echo "# $$p"; \
	  FUZZ_PARSER=$$p $(FUZZ)/parsers -max_total_time=$(SECONDS) -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -artifact_prefix=$(FUZZ)/$$p- $(ARGS) $(FUZZ)/new/$$p $(FUZZ)/seeds/$$p; done

# OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE choose slow kernels where a machine exports them: unset for all sides.
BENCH_ENV = env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(IN_TREE)
bench: all
	@echo "# OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are unset for all sides"
	@set -e; for f in $(sort $(wildcard bench/*.lua)); do echo "# $$f"; $(BENCH_ENV) lua5.4 $$f $(ARGS); done

# What one compilation costs and what its plan costs to run belong together, and all that the optimiser is asked. A bench that fails does not keep the next ones from running.
BENCH_compile = compile interpreter
BENCH_optimiser = optimiser scans ablation
BENCH_rl = rl sweep memory envs trace
bench-gpu: gpu-emulator
bench-%: all
	@echo "# OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are unset for all sides"
	@ok=0; for f in $(or $(BENCH_$*),$*); do echo "# bench/$$f.lua"; $(BENCH_ENV) lua5.4 bench/$$f.lua $(ARGS) || ok=1; done; exit $$ok

docs: all
	@$(IN_TREE) lua5.4 .ci/docs.lua

HERE_B = $(if $(filter /%,$(B)),,$(CURDIR)/)$(B)
env:
	@echo 'export LUA_PATH_5_4="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;" LUA_CPATH_5_4="$(HERE_B)/5.4/?.so;;"'
	@echo 'export LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;" LUA_CPATH="$(HERE_B)/5.1/?.so;;"'

# ---- LuaRocks -------------------------------------------------------------------------------------------------------
rock:
	@grep -qsE 'LUA_VERSION_NUM[[:space:]]+504' $(LUA_INCDIR)/lua.h || test -f $(LUA_INCDIR)/luajit.h || { \
	  echo "tempo needs the headers of Lua 5.4 or LuaJIT; LUA_INCDIR=$(LUA_INCDIR) has neither." >&2; \
	  echo "For LuaJIT on Debian: luarocks --lua-version 5.1 make LUA_INCDIR=/usr/include/luajit-2.1" >&2; exit 1; }
	@$(MAKE) $(B)/$(ROCK)/tempo.so

test-export: all
	@$(IN_TREE) lua5.4 .ci/test_export.lua

arm64: all
	@.ci/arm64.sh

# ---- Windows: what .ci/windows.sh calls with its compiler and libraries ----
windows: all
	@.ci/windows.sh
WINDOWS_OBJ := $(patsubst %.c,$(B)/windows/obj/%.o,$(CORE_SRC) $(KERNEL_SRC) $(LUA_SRC))
$(B)/windows/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(WINDOWS_CC) $(CFLAGS) $(filter-out -fPIC,$(CORE)) -D__USE_MINGW_ANSI_STDIO=1 $(if $(filter $<,$(KERNEL_SRC)),$(KERNEL)) -I$(B)/gen $(WINDOWS_FLAGS) -MMD -MP -c $< -o $@
$(B)/windows/tempo.dll: $(WINDOWS_OBJ)
	$(Q)$(WINDOWS_CC) -shared -static -s -o $@ $^ $(WINDOWS_LIBS)
windows-dll: $(B)/windows/tempo.dll

rock-test: all
	@.ci/rock.sh 5.4
	@.ci/rock.sh 5.1
	@.ci/rock.sh --refusals

PREFIX      ?= /usr/local
INST_LIBDIR ?= $(PREFIX)/lib/lua/5.4
INST_LUADIR ?= $(PREFIX)/share/lua/5.4
INST_BINDIR ?= $(PREFIX)/bin
install: rock
	install -D -m 755 $(B)/$(ROCK)/tempo.so "$(DESTDIR)$(INST_LIBDIR)/tempo.so"
	for f in $$(cd lua && find tempo -name '*.lua'); do install -D -m 644 "lua/$$f" "$(DESTDIR)$(INST_LUADIR)/$$f" || exit 1; done
	for f in $(notdir $(wildcard examples/rl/*.lua)); do install -D -m 644 "examples/rl/$$f" "$(DESTDIR)$(INST_LUADIR)/tempo/examples/$$f" || exit 1; done
	install -D -m 755 bin/tempo "$(DESTDIR)$(INST_BINDIR)/tempo"

install-c: all
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/include" include/tempo.h include/tempo_env.h
	install -D -m 755 $(B)/libtempo.so "$(DESTDIR)$(PREFIX)/lib/libtempo.so"
	install -m 644 $(B)/libtempo.a $(B)/libtempo-lua5.4.a "$(DESTDIR)$(PREFIX)/lib"

clean:
	rm -rf $(B)
