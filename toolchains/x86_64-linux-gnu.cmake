# The x86-64 agent: static, small, runs on any x86-64 Linux.
set(FETTLE_AGENT_ARCH x86_64)
set(fettle_triple x86_64-linux-gnu)
set(fettle_machine_flags "")
include(${CMAKE_CURRENT_LIST_DIR}/agent.cmake)
