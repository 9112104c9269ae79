// Worker programs as bytes of this one (embedded_worker.h).
#include "agent/worker/embedded_worker.h"

#ifdef FETTLE_WORKER_GPU
// The file's bytes as they are: no compiler needs to read them. The names are global: places in
// AArch64's global offset table are the linker's by name, and two local ones would be one.
asm(R"(
  .section .rodata
  .global fettle_worker_gpu_begin, fettle_worker_gpu_end
  .hidden fettle_worker_gpu_begin, fettle_worker_gpu_end
  .balign 16
fettle_worker_gpu_begin:
  .incbin ")" FETTLE_WORKER_GPU R"("
fettle_worker_gpu_end:
  .byte 0
  .previous
)");
extern "C" {
[[gnu::visibility("hidden")]] extern const std::uint8_t fettle_worker_gpu_begin[];
[[gnu::visibility("hidden")]] extern const std::uint8_t fettle_worker_gpu_end[];
}
#endif

namespace fettle::agent {

ByteView embedded_worker_gpu() {
#ifdef FETTLE_WORKER_GPU
  return {fettle_worker_gpu_begin, fettle_worker_gpu_end};
#else
  return {};
#endif
}

}  // namespace fettle::agent
