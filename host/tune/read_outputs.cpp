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
  const wire::MeasureOptionsT& options = *request.options;
  const Error old{ErrorCode::Unsupported,
                  "the board's agent is too old to send what a program computed"};
  if (wire::FailureT* failure = outcome->body.AsFailure()) {
    // An older one that sends one output at a time takes the others for bytes that are not there.
    const bool several = options.read_offset + options.read_bytes >
                         request.program->buffers[options.read_buffer]->bytes;
    if (several && failure->error->code == ErrorCode::Malformed) return old;
    return from_wire(*failure->error);
  }
  wire::MeasurementT* measurement = outcome->body.AsMeasurement();
  if (measurement->read.size() == options.read_bytes) return std::move(measurement->read);
  return old;
}

// As many bytes as all of them have, one behind the other.
Result<Bytes> read_all(Runner& runner, StopSignal& stop, wire::MeasureRequestT& request,
                       const std::vector<std::uint32_t>& buffers) {
  std::uint64_t left = 0;
  for (const std::uint32_t b : buffers) left += request.program->buffers[b]->bytes;
  Bytes all;
  std::uint64_t begin = 0;  // of the buffer that is read
  for (const std::uint32_t b : buffers) {
    const std::uint64_t end = begin + request.program->buffers[b]->bytes;
    while (all.size() < end) {
      request.options->read_buffer = b;
      request.options->read_offset = all.size() - begin;
      request.options->read_bytes =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, limits::kPieceBytes));
      auto piece = read_piece(runner, stop, request);
      if (!piece) return piece;
      all.insert(all.end(), piece->begin(), piece->end());
      left -= piece->size();
    }
    begin = end;
  }
  return all;
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
  std::vector<std::uint32_t> buffers;
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b]->role == wire::BufferRole::Output) buffers.push_back(b);
  }
  const auto all = read_all(runner, stop, request, buffers);
  if (!all) return all.error();
  std::vector<Bytes> outputs;
  auto at = all->begin();
  for (const std::uint32_t b : buffers) {
    const auto end = at + static_cast<std::ptrdiff_t>(program.buffers[b]->bytes);
    outputs.emplace_back(at, end);
    at = end;
  }
  return outputs;
}

}  // namespace fettle::tune
