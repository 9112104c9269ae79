# The static libraries of the agent as one target, fettle_static_zmq: libzmq with
# CURVE from libsodium, cppzmq's and FlatBuffers' headers. The toolchain files and
# `./dev agents` set FETTLE_AGENT_DEPS to the prefix of toolchains/agent_deps.sh.
foreach(library zmq sodium)
  find_library(FETTLE_STATIC_${library} NAMES lib${library}.a
    PATHS ${FETTLE_AGENT_DEPS}/lib NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(NOT FETTLE_STATIC_${library})
    message(FATAL_ERROR "no static lib${library} in '${FETTLE_AGENT_DEPS}': "
      "run toolchains/agent_deps.sh ${FETTLE_AGENT_ARCH}, or build through ./dev agents")
  endif()
endforeach()

find_package(Threads REQUIRED)
add_library(fettle_static_zmq INTERFACE)
target_include_directories(fettle_static_zmq SYSTEM INTERFACE ${FETTLE_AGENT_DEPS}/include)
target_compile_definitions(fettle_static_zmq INTERFACE ZMQ_STATIC SODIUM_STATIC=1)
target_link_libraries(fettle_static_zmq INTERFACE
  ${FETTLE_STATIC_zmq} ${FETTLE_STATIC_sodium} Threads::Threads)
