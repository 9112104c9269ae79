# The AArch64 agent (RK3399, Jetson, any Armv8-A Linux): static, small.
set(FETTLE_AGENT_ARCH aarch64)
set(fettle_triple aarch64-linux-gnu)
# Out-of-line atomics look up the CPU at start; the agent has no use for LSE.
set(fettle_machine_flags "-march=armv8-a -mno-outline-atomics")
set(fettle_emulator qemu-aarch64-static qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/agent.cmake)
