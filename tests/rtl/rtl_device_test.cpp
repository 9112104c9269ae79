// The suite of every kind of device on the Verilated core.
#include "agent/device/vta/vta_core.h"
#include "runtime/vta/rtl_accelerator.h"
#include "tests/conformance/vta_kind.h"

namespace fettle::agent {
namespace {

// As fettle-agent-rtl does it, once.
std::string brought() {
  static const bool added = [] {
    add_vta_core({"rtl", "Verilated", true, runtime::make_rtl_accelerator});
    return true;
  }();
  return added ? "" : "not added";
}

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::Values(vta_kind("VtaRtl", "rtl", brought)),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::agent
