// What the options of `fettle tune` mean for its measurements, and how records keep them.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "host/app/tuning_session.h"
#include "host/model/task_list.h"
#include "schemas/wire/codec.h"

namespace fettle::app {

// Of MeasureOptions: 0 where weights stay in the caches. --weights cold: Unsupported of what is no
// CPU, InvalidArgument where nothing says how large a network's weights are.
Result<std::uint64_t> cold_weights(const TuneCommand& command, const model::TaskList& list,
                                   const wire::DeviceInfoT& device);

// Without weights_bytes.
wire::MeasureOptionsT measure_options(const TuneCommand& command);

// As a session's record has them.
nlohmann::json options_json(const TuneCommand& command);

}  // namespace fettle::app
