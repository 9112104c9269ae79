// VTA devices for the suite, whoever plays their core.
#pragma once

#include "agent/device/vta/vta_device.h"
#include "tests/conformance/device_conformance.h"
#include "tests/support/vta_candidates.h"

namespace fettle::agent {

inline constexpr WorkerRow kVtaWorker = {wire::DeviceKind::Vta, open_vta, vta_sandbox};

// Its outputs are copied out; it computes with bytes, and with 16 of them at a time.
inline ConformingKind vta_kind(const char* name, const char* core, std::string (*missing)(),
                               const std::string& helper = "") {
  return {.name = name,
          .kind = wire::DeviceKind::Vta,
          .computes = true,
          .missing = missing,
          .program = test::vta_candidate_program,
          .answer = test::vta_candidate_answer,
          .worker = &kVtaWorker,
          .settings = {{kVtaCore, core}, {kVtaHelper, helper}},
          .elements = test::kVtaElements,
          .grain = test::kVtaGrain,
          .counted = test::vta_counted,
          .blob = test::vta_candidate_blob,
          .verifies = true};
}

}  // namespace fettle::agent
