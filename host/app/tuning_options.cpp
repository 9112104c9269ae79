// What a session's options mean (tuning_options.h).
#include "host/app/tuning_options.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "schemas/wire/clock_domain.h"

namespace fettle::app {

Result<std::uint64_t> cold_weights(const TuneCommand& command, const model::TaskList& list,
                                   const wire::DeviceInfoT& device) {
  const bool cpu = device.kind == wire::DeviceKind::Cpu;
  if (command.weights == "warm") return std::uint64_t{0};
  if (command.weights == "auto") {
    // What counts instructions has no caches.
    const bool time = clock_facts(device.clock).has_rate;
    return cpu && time ? list.weights_bytes : std::uint64_t{0};
  }
  if (!cpu) {
    return Error{
        ErrorCode::Unsupported, "--weights cold: only a CPU keeps so many copies of them", {}};
  }
  if (list.weights_bytes == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "--weights cold: " + list.name +
                     " does not say how large a network's weights are; an ONNX file with "
                     "weights does",
                 {}};
  }
  return list.weights_bytes;
}

wire::MeasureOptionsT measure_options(const TuneCommand& command) {
  wire::MeasureOptionsT options = tune::default_measuring();
  options.number = command.number;
  options.repeat = command.repeat;
  options.min_samples = std::min(options.min_samples, command.repeat);
  options.min_repeat_ms = command.min_repeat_ms;
  options.timeout_ms = static_cast<std::uint32_t>(command.timeout_s * 1000 + 0.5);
  options.cooldown_ms = command.cooldown_ms;
  options.flush_cache = command.flush_cache;
  return options;
}

nlohmann::json options_json(const TuneCommand& command) {
  return {{"what", command.tasks.what},
          {"trials", command.trials},
          {"searcher", command.searcher},
          {"scheduler", command.scheduler},
          {"deterministic", command.deterministic},
          {"transfer", command.transfer},
          {"prior", command.prior},
          {"first", command.first},
          {"resume", command.resume},
          {"early_stopping", command.early_stopping},
          {"finalists", command.finalists},
          {"number", command.number},
          {"repeat", command.repeat},
          {"min_repeat_ms", command.min_repeat_ms},
          {"timeout_s", command.timeout_s},
          {"cooldown_ms", command.cooldown_ms},
          {"flush_cache", command.flush_cache},
          {"weights", command.weights},
          {"hardware", command.hardware},
          {"builders", command.builders},
          {"build_on", command.build_on}};
}

}  // namespace fettle::app
