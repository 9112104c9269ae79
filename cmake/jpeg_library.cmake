# libjpeg-turbo, which reads JPEG pictures, as one target, fettle_jpeg: for boards the static one of
# toolchains/agent_deps.sh, else the system's. Where it is missing there is no such target.
if(FETTLE_AGENT_ONLY)
  find_path(FETTLE_JPEG_INCLUDE jpeglib.h
    PATHS ${FETTLE_AGENT_DEPS}/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  find_library(FETTLE_JPEG_LIBRARY libjpeg.a
    PATHS ${FETTLE_AGENT_DEPS}/lib NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
else()
  find_path(FETTLE_JPEG_INCLUDE jpeglib.h)
  find_library(FETTLE_JPEG_LIBRARY jpeg)
endif()
if(FETTLE_JPEG_INCLUDE AND FETTLE_JPEG_LIBRARY)
  add_library(fettle_jpeg INTERFACE)
  target_include_directories(fettle_jpeg SYSTEM INTERFACE ${FETTLE_JPEG_INCLUDE})
  target_link_libraries(fettle_jpeg INTERFACE ${FETTLE_JPEG_LIBRARY})
endif()
