# XRT's library, for tests alone: the agent's worker loads the one that it finds on the board. Sets
# FETTLE_XRT_INCLUDE, FETTLE_XRT_COREUTIL, FETTLE_XRT_HWEMU and FETTLE_XRT_HWEMU_STATIC, and FETTLE_XRT
# where they are of the version that tests/support/xrt_shim.cpp is for.
find_path(FETTLE_XRT_INCLUDE xrt.h PATH_SUFFIXES xrt)
find_library(FETTLE_XRT_COREUTIL xrt_coreutil)
find_library(FETTLE_XRT_HWEMU xrt_hwemu)
find_library(FETTLE_XRT_HWEMU_STATIC libxrt_hwemu.a)
set(FETTLE_XRT "")
if(FETTLE_XRT_INCLUDE AND FETTLE_XRT_COREUTIL AND FETTLE_XRT_HWEMU_STATIC)
  file(STRINGS ${FETTLE_XRT_INCLUDE}/version.h FETTLE_XRT REGEX "xrt_build_version.. = .2[.]13[.]")
endif()
# A sanitizer's own library would have to be in the one that XRT loads.
if(FETTLE_SANITIZER)
  set(FETTLE_XRT "")
elseif(NOT FETTLE_XRT)
  message(STATUS "No tests of XRT devices: no libxrt-dev of 2.13 here; ./dev setup brings it")
endif()
