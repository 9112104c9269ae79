// Requests of networks (board_run.h).
#include "host/network/board_run.h"

#include <algorithm>

#include "host/tune/one_trial.h"
#include "host/tune/read_outputs.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/content_hash.h"

namespace fettle::network {
namespace {

// With the inputs' bytes, which travel along. Blobs are offered.
wire::ProgramT program_of(tune::Runner& runner, const wire::NetworkT& network,
                          const BlobLookup& blobs, const std::vector<Bytes>& inputs) {
  wire::ProgramT program(*network.program);
  const auto offer = [&](const wire::Hash& hash) {
    const ByteView bytes = blobs(hash);
    runner.offer_blob(hash, Bytes(bytes.begin(), bytes.end()));
  };
  for (const auto& image : program.images) {
    if (image->bytes.empty() && image->blob) offer(*image->blob);
  }
  for (const auto& buffer : program.buffers) {
    if (buffer->fill && buffer->fill->blob) offer(*buffer->fill->blob);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wire::FillT& fill = *program.buffers[network.inputs[i]->buffer]->fill;
    fill.kind = wire::FillKind::Blob;
    fill.blob = std::make_unique<wire::Hash>(content_hash(inputs[i]));
    runner.offer_blob(*fill.blob, inputs[i]);
  }
  return program;
}

// Sums over the launches of each layer.
std::vector<double> by_layer(const wire::NetworkT& network, const std::vector<double>& launches) {
  std::vector<double> out;
  if (launches.empty()) return out;  // the device cannot tell
  std::size_t at = 0;
  for (const auto& layer : network.layers) {
    double sum = 0;
    for (std::uint32_t l = 0; l < layer->run_launches && at < launches.size(); ++l) {
      sum += launches[at++];
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace

Result<BoardRun> run_on_board(tune::Runner& runner, tune::StopSignal& stop,
                              const wire::NetworkT& network, const BlobLookup& blobs,
                              const std::vector<Bytes>& inputs, const BoardRunOptions& options) {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>(program_of(runner, network, blobs, inputs));
  request.options = std::make_unique<wire::MeasureOptionsT>();
  wire::MeasureOptionsT& how = *request.options;
  how.number = 1;
  how.repeat = how.min_samples = options.runs;
  how.relative_interval = 0;
  // Or a long series would end early.
  how.retakes = std::max(how.retakes, options.runs);
  if (runner.device().emulated) {
    // Its times are no board's: worth no more tries, and no reason to refuse what they answer.
    how.retakes = options.runs;
    how.min_samples = 1;
  }
  how.warmup_runs = 2;
  how.threads = options.threads;
  how.timeout_ms = options.timeout_ms;
  how.check = false;
  how.launch_ticks = options.layers;
  std::vector<tune::Measured> others;
  auto outcome = tune::run_undisturbed(runner, runner.board().id, stop, request, others);
  if (!outcome) return std::move(outcome).error();
  if (wire::FailureT* failure = outcome->body.AsFailure()) return from_wire(*failure->error);
  BoardRun run;
  run.measurement = *outcome->body.AsMeasurement();
  run.nanoseconds_per_tick =
      ticks_to_nanoseconds(1, run.measurement.clock, run.measurement.ticks_per_second).value_or(0);
  for (const wire::Sample& sample : run.measurement.samples) {
    run.ticks.push_back(static_cast<double>(sample.ticks()) / sample.runs());
  }
  run.layer_ticks = by_layer(network, run.measurement.launch_ticks);
  if (outcome->times) run.load_ns = outcome->times->load_ns;
  return run;
}

Result<std::vector<Bytes>> outputs_on_board(tune::Runner& runner, tune::StopSignal& stop,
                                            const wire::NetworkT& network, const BlobLookup& blobs,
                                            const std::vector<Bytes>& inputs,
                                            std::uint32_t threads) {
  const wire::ProgramT program = program_of(runner, network, blobs, inputs);
  auto buffers = tune::read_outputs(runner, stop, program, static_cast<int>(threads));
  if (!buffers) return buffers;
  std::vector<Bytes> outputs;
  for (const auto& output : network.outputs) {
    const auto before =
        std::count_if(program.buffers.begin(), program.buffers.begin() + output->buffer,
                      [](const auto& buffer) { return buffer->role == wire::BufferRole::Output; });
    outputs.push_back((*buffers)[static_cast<std::size_t>(before)]);
  }
  return outputs;
}

}  // namespace fettle::network
