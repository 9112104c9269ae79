# CUDA's headers, for every build that has CUDA devices: the host's, workers' and so agents'. Sets
# FETTLE_CUDA_INCLUDE, the folder with cuda.h, or says what is missing. Places are those of CUDA's
# programs (host/backend/cuda_ptx/toolkits.h): what CUDA_HOME names, or without it the usual place;
# then what `./dev setup cuda` has put into FETTLE_CACHE or ~/.cache/fettle, the newest first.
if(DEFINED ENV{CUDA_HOME})
  set(places $ENV{CUDA_HOME}/include)
else()
  set(places /usr/local/cuda/include /usr/include)
endif()
if(DEFINED ENV{FETTLE_CACHE})
  file(GLOB toolkits $ENV{FETTLE_CACHE}/cuda/*/complete)
else()
  file(GLOB toolkits $ENV{HOME}/.cache/fettle/cuda/*/complete)
endif()
list(SORT toolkits COMPARE NATURAL ORDER DESCENDING)
list(TRANSFORM toolkits REPLACE "/complete$" "/include")
# A folder that is gone is looked for again.
if(NOT EXISTS "${FETTLE_CUDA_INCLUDE}/cuda.h")
  unset(FETTLE_CUDA_INCLUDE CACHE)
endif()
find_path(FETTLE_CUDA_INCLUDE cuda.h PATHS ${places} ${toolkits}
  NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT FETTLE_CUDA_INCLUDE)
  message(STATUS "Without CUDA devices: no cuda.h here; ./dev setup cuda brings it (or CUDA_HOME names a toolkit)")
endif()
