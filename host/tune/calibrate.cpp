// Calibration (calibrate.h).
#include "host/tune/calibrate.h"

#include <algorithm>

#include "host/tune/one_trial.h"

namespace fettle::tune {
namespace {

std::string figure_name(const backend::CalibrationProgram& program) {
  const std::string threads = program.threads > 1 ? "_all" : "_core";
  switch (program.ceiling) {
    case backend::Ceiling::Arithmetic:
      return "arithmetic_gflops" + threads;
    case backend::Ceiling::IntegerArithmetic:
      return "integer_gops" + threads;
    case backend::Ceiling::LaunchOverhead:
      return "launch_ns" + threads;
    case backend::Ceiling::Bandwidth:
      break;
  }
  const std::string level =
      program.cache_level ? "l" + std::to_string(program.cache_level) : std::string("memory");
  return level + "_gbytes_per_s" + threads;
}

// Nanoseconds of one run in the fastest sample; 0: none.
double fastest(const wire::MeasurementT& measurement) {
  double best = 0;
  if (measurement.ticks_per_second <= 0) return 0;
  for (const wire::Sample& sample : measurement.samples) {
    if (sample.runs() == 0) continue;
    const double time =
        static_cast<double>(sample.ticks()) / sample.runs() / measurement.ticks_per_second * 1e9;
    if (best == 0 || time < best) best = time;
  }
  return best;
}

bool failed_as(const wire::OutcomeT& outcome, ErrorCode code) {
  const wire::FailureT* failure = outcome.body.AsFailure();
  return failure && failure->error && failure->error->code == code;
}

}  // namespace

Result<CalibrationFigures> calibrate(Runner& runner, const std::string& board_id, StopSignal& stop,
                                     std::vector<backend::CalibrationProgram> programs,
                                     std::vector<Measured>& others) {
  CalibrationFigures result;
  for (backend::CalibrationProgram& program : programs) {
    wire::MeasureRequestT request;
    request.program = std::make_unique<wire::ProgramT>(std::move(program.program));
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->threads = static_cast<std::uint32_t>(program.threads);
    request.options->check = false;
    // Many short samples: on a busy machine some fall between the disturbances.
    request.options->min_repeat_ms = 2;
    request.options->repeat = 40;
    request.options->relative_interval = 0;
    request.options->retakes = 200;
    auto outcome = run_undisturbed(runner, board_id, stop, request, others);
    if (!outcome) return std::move(outcome.error()).in("calibrating the board");
    const wire::MeasurementT* measurement = outcome->body.AsMeasurement();
    const double nanoseconds = measurement ? fastest(*measurement) : 0;
    if (nanoseconds <= 0) {
      const wire::FailureT* failure = outcome->body.AsFailure();
      result.problems.push_back(program.name + ": " +
                                (failure && failure->error
                                     ? from_wire(*failure->error).text()
                                     : "the device's clock does not count time"));
      if (failed_as(*outcome, ErrorCode::DeviceLost)) return result;  // nobody to ask the rest
      continue;
    }
    double& figure = result.figures[figure_name(program)];
    switch (program.ceiling) {
      case backend::Ceiling::Arithmetic:
      case backend::Ceiling::IntegerArithmetic:
        figure = std::max(figure, program.operations / nanoseconds);
        break;
      case backend::Ceiling::Bandwidth:
        figure = std::max(figure, program.bytes / nanoseconds);
        break;
      case backend::Ceiling::LaunchOverhead:
        figure = nanoseconds;
        break;
    }
  }
  return result;
}

std::map<std::string, double> best_of(std::map<std::string, double> a,
                                      const std::map<std::string, double>& b) {
  for (const auto& [name, value] : b) {
    const auto [place, fresh] = a.emplace(name, value);
    if (fresh) continue;
    const bool smaller_is_better = name.starts_with("launch_ns");
    place->second =
        smaller_is_better ? std::min(place->second, value) : std::max(place->second, value);
  }
  return a;
}

Roofline roofline_of(const std::map<std::string, double>& figures, int threads) {
  const std::string suffix = threads > 1 ? "_all" : "_core";
  Roofline roofline;
  for (const auto& [name, value] : figures) {
    if (!name.ends_with(suffix)) continue;
    if (name.starts_with("arithmetic_gflops")) roofline.operations_per_second = value * 1e9;
    if (name.starts_with("integer_gops")) roofline.integer_operations_per_second = value * 1e9;
    // Only the first level bounds every program; a slower one would condemn programs
    // whose data fits above it.
    if (name.starts_with("l1_gbytes_per_s")) roofline.bytes_per_second = value * 1e9;
    if (name.starts_with("memory_")) roofline.main_memory_bytes_per_second = value * 1e9;
  }
  return roofline;
}

}  // namespace fettle::tune
