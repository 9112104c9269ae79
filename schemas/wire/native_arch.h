// The architecture that this program was compiled for, as the schemas spell it.
#pragma once

namespace fettle {

constexpr const char* native_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "armv7";
#endif
}

}  // namespace fettle
