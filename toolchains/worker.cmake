# Worker programs that load a vendor's libraries on the board: dynamic, for a glibc of 2.27 or
# newer (JetPack 4, old RK3399 images), with the C++ library inside. FETTLE_AGENT_ARCH is x86_64,
# aarch64 or armv7; FETTLE_ZIG the zig compiler (toolchains/zig.sh), whose C library can be any version.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${FETTLE_AGENT_ARCH})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FETTLE_AGENT_ARCH FETTLE_ZIG)

set(target ${FETTLE_AGENT_ARCH}-linux-gnu.2.27)
set(machine_flags "")
if(FETTLE_AGENT_ARCH STREQUAL armv7)
  set(target arm-linux-gnueabihf.2.27)
  set(machine_flags "-mcpu=cortex_a9") # with NEON, as the agent
endif()
foreach(pair "C:cc" "CXX:c++")
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 language)
  list(GET pair 1 program)
  set(CMAKE_${language}_COMPILER ${FETTLE_ZIG} ${program})
  set(CMAKE_${language}_COMPILER_TARGET ${target})
  # No sanitizers of zig's own choice. Small already when CMake tries the compiler: zig builds its
  # C++ library at the first link, for a minute and a half, and another one for other optimisation.
  set(CMAKE_${language}_FLAGS_INIT
    "${machine_flags} -Os -fno-sanitize=all -ffunction-sections -fdata-sections")
endforeach()
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections -s")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# Headers of the agents' libraries; this program links none of them.
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
