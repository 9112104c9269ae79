# Compiler cache and a fast linker where they are installed. The presets read this
# through CMAKE_PROJECT_TOP_LEVEL_INCLUDES; a plain `cmake -S .` works without it.
find_program(FETTLE_CCACHE ccache)
if(FETTLE_CCACHE)
  # Without these words ccache caches nothing that uses a precompiled header; with the
  # folder left out of the hash, a second work tree or a fresh clone finds what the
  # first one compiled.
  set(fettle_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FETTLE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${fettle_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${fettle_launcher})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# g++ collects its garbage at every doubling of 128 MB: up to a tenth of its time, to keep a file of
# 1.3 GB at 1 GB. Not on a board that has no more.
cmake_host_system_information(RESULT fettle_memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(fettle_memory_mib GREATER 4000)
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
endif()

# Agents keep the linker of their cross toolchain: small and rarely linked.
if(NOT FETTLE_AGENT_ONLY)
  find_program(FETTLE_MOLD mold)
  find_program(FETTLE_LLD NAMES ld.lld)
  if(FETTLE_MOLD)
    add_link_options(-fuse-ld=mold)
  elseif(FETTLE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
