# find_package(fettle): fettle::rt, the static library of this machine or of the board that is compiled
# for, and fettle::rt_shared, the shared one of this machine where it is installed.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(_fettle_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_fettle_arch ${CMAKE_SYSTEM_PROCESSOR})
if(_fettle_arch MATCHES "^arm(v7.*)?$")
  set(_fettle_arch armv7)
endif()
set(_fettle_archive ${_fettle_prefix}/lib/fettle/agents/${_fettle_arch}/libfettle_rt.a)
if(NOT EXISTS ${_fettle_archive} AND NOT CMAKE_CROSSCOMPILING)
  set(_fettle_archive ${_fettle_prefix}/lib/libfettle_rt.a)
endif()
if(NOT EXISTS ${_fettle_archive})
  set(fettle_FOUND FALSE)
  set(fettle_NOT_FOUND_MESSAGE "there is no libfettle_rt.a for ${_fettle_arch} in ${_fettle_prefix}")
  return()
endif()
if(NOT TARGET fettle::rt)
  add_library(fettle::rt STATIC IMPORTED)
  set_target_properties(fettle::rt PROPERTIES IMPORTED_LOCATION ${_fettle_archive}
    IMPORTED_LINK_INTERFACE_LANGUAGES C INTERFACE_INCLUDE_DIRECTORIES ${_fettle_prefix}/include
    INTERFACE_LINK_LIBRARIES "stdc++;m;Threads::Threads")
endif()
if(NOT TARGET fettle::rt_shared AND NOT CMAKE_CROSSCOMPILING AND EXISTS ${_fettle_prefix}/lib/libfettle_rt.so)
  add_library(fettle::rt_shared SHARED IMPORTED)
  set_target_properties(fettle::rt_shared PROPERTIES IMPORTED_LOCATION ${_fettle_prefix}/lib/libfettle_rt.so
    INTERFACE_INCLUDE_DIRECTORIES ${_fettle_prefix}/include)
endif()
