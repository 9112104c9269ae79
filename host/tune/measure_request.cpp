// Outputs and what is expected of them, paired in their order (measure_request.h).
#include "host/tune/measure_request.h"

#include <memory>
#include <utility>

namespace fettle::tune {

Result<wire::MeasureRequestT> measure_request(wire::BuildOutputT& output, const Expected& expected,
                                              const wire::MeasureOptionsT& options,
                                              const std::string& title) {
  wire::MeasureRequestT request;
  request.program = std::move(output.program);
  request.options = std::make_unique<wire::MeasureOptionsT>(options);
  std::size_t next = 0;
  for (std::size_t i = 0; i < request.program->buffers.size(); ++i) {
    if (request.program->buffers[i]->role != wire::BufferRole::Output) continue;
    if (next == expected.outputs.size()) break;
    request.expected.push_back(
        std::make_unique<wire::ExpectedOutputT>(expected.outputs[next++].check));
    request.expected.back()->buffer = static_cast<std::uint32_t>(i);
    if (output.facts) request.expected.back()->absolute *= output.facts->error_growth;
  }
  if (next == 0 || next != expected.outputs.size()) {
    return Error{ErrorCode::Internal,
                 "the program's outputs are not those of the workload " + title};
  }
  return request;
}

}  // namespace fettle::tune
