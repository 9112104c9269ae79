// A VTA device in a real worker, and requests of hand-made candidates for it.
#pragma once

#include "agent/worker/worker_start.h"
#include "tests/support/vta_candidates.h"
#include "tests/support/worker_station.h"

namespace fettle::test {

class VtaStation : public WorkerStation {
 public:
  explicit VtaStation(const wire::DeviceInfoT& device)
      : WorkerStation(
            [device](std::uint32_t, int socket, int status) {
              return agent::start_worker(device, "", socket, status);
            },
            {device}),
        answer(put(vta_candidate_answer())) {
    const wire::ProgramT program = vta_candidate_program(kGood);
    for (const std::size_t constant : {2, 3}) {
      const ByteView blob = vta_candidate_blob(*program.buffers[constant]->fill->blob);
      put(Bytes(blob.begin(), blob.end()));
    }
  }
  wire::MeasureRequestT request(wire::ProgramT program) const {
    wire::MeasureRequestT out;
    out.program = std::make_unique<wire::ProgramT>(std::move(program));
    out.options = std::make_unique<wire::MeasureOptionsT>();
    out.options->timeout_ms = 60'000;  // a sanitizer's simulator is slow
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->buffer = 1;
    expected->dtype = wire::ScalarType::Int8;
    expected->blob = std::make_unique<wire::Hash>(answer);
    out.expected.push_back(std::move(expected));
    return out;
  }
  wire::OutcomeT outcome(wire::ProgramT program) {
    return wait_for(submit(request(std::move(program))));
  }
  wire::Hash answer;
};

}  // namespace fettle::test
