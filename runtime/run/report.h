// What fettle-run tells: as text for people, or as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/run/tensors.h"
#include "runtime/run/timing.h"

namespace fettle::run {

struct Layer {
  std::string title;
  std::vector<std::string> nodes;
  double operations = 0, expected_ns = 0;  // as wire::NetworkLayer has them
  wire::ScheduleOrigin origin = wire::ScheduleOrigin::Untuned;
  LayerTime time;
};

struct Report {
  std::string network;
  std::string device;     // its key and board; "": this machine itself
  bool emulated = false;  // times are an emulator's, no board's
  std::uint32_t threads = 1;
  double load_ms = 0;                     // reading the file, packing its weights
  std::optional<double> first_result_ms;  // from the program's start, with its inputs and one run
  Timing timing;
  std::vector<Layer> layers;   // empty: not asked for
  std::vector<Class> classes;  // empty: not asked for
  runtime::NetworkMemoryFigures memory;
  std::uint64_t peak_bytes = 0;  // of this process; 0: unknown
  double peak_gflops = 0;        // of the device on those threads; 0: unknown
};

// `times`: of each of the network's layers.
std::vector<Layer> layers_of(const wire::NetworkT& network, const std::vector<LayerTime>& times);

// Of all layers that are timed in `unit` together.
double sum_of(const Report& report, const std::string& unit);

std::string text_of(const Report& report);
std::string json_of(const Report& report);

}  // namespace fettle::run
