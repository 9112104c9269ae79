// Outputs, piece by piece (read_outputs.h).
#include "host/tune/read_outputs.h"

#include <algorithm>

#include "host/tune/one_trial.h"
#include "schemas/wire/limits.h"

namespace fettle::tune {
namespace {

// A reference may take its time.
constexpr std::uint32_t kTimeoutMs = 120'000;

Result<Bytes> read_piece(Runner& runner, StopSignal& stop, wire::MeasureRequestT& request) {
  std::vector<Measured> others;  // no trial is under way
  auto outcome = run_undisturbed(runner, runner.board().id, stop, request, others);
  if (!outcome) return std::move(outcome).error();
  if (wire::FailureT* failure = outcome->body.AsFailure()) return from_wire(*failure->error);
  wire::MeasurementT* measurement = outcome->body.AsMeasurement();
  if (measurement->read.size() == request.options->read_bytes) return std::move(measurement->read);
  return Error{ErrorCode::Unsupported,
               "the board's agent is too old to send what a kernel computed"};
}

}  // namespace

Result<std::vector<Bytes>> read_outputs(Runner& runner, StopSignal& stop,
                                        const wire::ProgramT& program, int threads) {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>(program);
  request.options = std::make_unique<wire::MeasureOptionsT>();
  wire::MeasureOptionsT& options = *request.options;
  options.number = options.repeat = options.min_samples = 1;
  options.warmup_runs = 0;
  options.timeout_ms = kTimeoutMs;
  options.threads = static_cast<std::uint32_t>(threads);
  options.check = false;
  std::vector<Bytes> outputs;
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b]->role != wire::BufferRole::Output) continue;
    Bytes& output = outputs.emplace_back();
    while (output.size() < program.buffers[b]->bytes) {
      options.read_buffer = b;
      options.read_offset = output.size();
      options.read_bytes = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(program.buffers[b]->bytes - output.size(), limits::kPieceBytes));
      auto piece = read_piece(runner, stop, request);
      if (!piece) return std::move(piece).error();
      output.insert(output.end(), piece->begin(), piece->end());
    }
  }
  return outputs;
}

}  // namespace fettle::tune
