# The ARMv7 agent (Pynq-Z1/Z2, any Cortex-A with NEON): static, small, hard float.
set(FETTLE_AGENT_ARCH armv7)
set(fettle_triple arm-linux-gnueabihf)
# -Wno-psabi: notes about a change in GCC 7 that concern nobody here.
# -mfpu=neon is VFPv3: it has no fused multiply-add, as the Cortex-A9 has none.
set(fettle_machine_flags "-march=armv7-a -mfpu=neon -mfloat-abi=hard -Wno-psabi")
set(fettle_emulator qemu-arm-static qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/agent.cmake)
