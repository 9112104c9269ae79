// The suite on the devices that every agent has.
#include "tests/conformance/device_conformance.h"
#include "tests/support/agent_candidates.h"

namespace fettle::agent {
namespace {

wire::ProgramT candidate(CandidateKind kind, std::uint32_t extent) {
  return test::candidate_program(kind, extent);
}

const char* missing() {
  return test::have_candidates() ? nullptr : "no candidates for this architecture";
}

const ConformingKind kKinds[] = {
    {wire::DeviceKind::Cpu, true, candidate, test::candidate_answer, wire::ImageKind::Ptx, missing},
    {wire::DeviceKind::Null, false, candidate, test::candidate_answer, wire::ImageKind::Ptx,
     missing}};

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(kKinds), [](const auto& info) {
  return std::string(wire::EnumNameDeviceKind(info.param.kind));
});

}  // namespace
}  // namespace fettle::agent
