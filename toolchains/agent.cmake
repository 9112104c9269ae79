# What the agent's three toolchain files share. They set fettle_triple,
# fettle_machine_flags and, where the programs cannot run here, fettle_emulator.
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${fettle_triple}")

# g++-aarch64-linux-gnu names its program without a version, g++-12-… with one.
foreach(pair "C:gcc" "CXX:g++")
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 language)
  list(GET pair 1 program)
  set(names ${fettle_triple}-${program})
  foreach(version 14 13 12)
    list(APPEND names ${fettle_triple}-${program}-${version})
  endforeach()
  find_program(FETTLE_${language}_COMPILER NAMES ${names})
  if(NOT FETTLE_${language}_COMPILER)
    message(FATAL_ERROR "no ${fettle_triple}-${program} found: run ./dev setup (package g++-${fettle_triple})")
  endif()
  set(CMAKE_${language}_COMPILER ${FETTLE_${language}_COMPILER})
  set(CMAKE_${language}_FLAGS_INIT "${fettle_machine_flags} -ffunction-sections -fdata-sections")
endforeach()

# Static, so that a board needs one file; unused sections dropped, symbols stripped.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -Wl,--gc-sections -Wl,-s")

# The program lies at the top of its build folder: build/agents/<arch>/fettle-agent.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# Libraries and headers come from the prefix that toolchains/agent_deps.sh built
# (`./dev agents` names it); programs such as flatc come from the host.
if(NOT FETTLE_AGENT_DEPS)
  if(DEFINED ENV{FETTLE_CACHE})
    set(fettle_cache $ENV{FETTLE_CACHE})
  else()
    set(fettle_cache $ENV{HOME}/.cache/fettle)
  endif()
  set(FETTLE_AGENT_DEPS ${fettle_cache}/deps/${FETTLE_AGENT_ARCH}/current)
endif()
list(APPEND CMAKE_FIND_ROOT_PATH ${FETTLE_AGENT_DEPS})
list(APPEND CMAKE_PREFIX_PATH ${FETTLE_AGENT_DEPS})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FETTLE_AGENT_DEPS)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# `ctest` then runs the agent's tests on any machine.
if(fettle_emulator)
  find_program(FETTLE_QEMU NAMES ${fettle_emulator})
  if(FETTLE_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${FETTLE_QEMU})
  endif()
endif()
