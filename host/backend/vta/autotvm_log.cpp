// Lines of AutoTVM's logs (autotvm_log.h).
#include "host/backend/vta/autotvm_log.h"
#include "schemas/wire/bounded_read.h"

#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

namespace fettle::vta::host {
namespace {

using Json = nlohmann::json;

Error no_trial(const std::string& why) { return {ErrorCode::InvalidArgument, why, {}}; }

// ["TENSOR", [sizes], "int8"], six sizes.
std::vector<std::int64_t> tensor(const Json& json) {
  if (json.at(0) != "TENSOR" || json.at(2) != "int8" || json.at(1).size() != 6) return {};
  return json.at(1).get<std::vector<std::int64_t>>();
}

// The inner sizes of splits in two, and options, by name.
std::map<std::string, std::int64_t> knobs_of(const Json& entity) {
  std::map<std::string, std::int64_t> knobs;
  for (const Json& each : entity) {
    const Json& value = each.at(2);
    knobs[each.at(0).get<std::string>()] =
        (value.is_array() ? value.at(1) : value).get<std::int64_t>();
  }
  return knobs;
}

SpatialAxis axis(std::int64_t source, std::int64_t window, std::int64_t step, std::int64_t before,
                 std::int64_t behind) {
  SpatialAxis axis;
  axis.source = source;
  axis.window = window;
  axis.step = step;
  axis.before = before;
  axis.extent = step > 0 ? (source + before + behind - window) / step + 1 : 0;
  return axis;
}

// Throws a std::exception where it has another form.
Result<AutotvmTrial> parse(const Json& json) {
  const bool older = json.contains("i");  // 0.1
  const Json& input = json.at(older ? "i" : "input");
  const std::string task = input.at(1).get<std::string>();
  if (task != "conv2d_packed.vta" && task != "topi_nn_conv2d") {
    return no_trial("of the task " + task + ": only those of conv2d_packed.vta are read");
  }
  const Json& arguments = input.at(2);
  if (arguments.size() < 7 || !arguments.at(5).is_string() || arguments.at(5) != "NCHW1n16c") {
    return no_trial("of no convolution in the layout NCHW1n16c");
  }
  const Json& result = json.at(older ? "r" : "result");
  const auto seconds =
      result.at(1) == 0 ? result.at(0).get<std::vector<double>>() : std::vector<double>();
  if (seconds.empty()) return no_trial("of a trial that failed");
  const auto data = tensor(arguments.at(0)), weights = tensor(arguments.at(1));
  const auto strides = arguments.at(2).get<std::vector<std::int64_t>>();
  auto pads = arguments.at(3).get<std::vector<std::int64_t>>();
  if (pads.size() == 2) pads = {pads[0], pads[1], pads[0], pads[1]};
  if (data.empty() || weights.empty() || strides.size() != 2 || pads.size() != 4 ||
      data[1] != weights[1]) {
    return no_trial("of no convolution of int8");
  }
  for (const Json& dilation : arguments.at(4)) {
    if (dilation != 1) return Error{ErrorCode::Unsupported, "of a dilated convolution", {}};
  }
  const auto knob = knobs_of(older ? input.at(5).at("e") : json.at("config").at("entity"));
  AutotvmTrial trial;
  trial.batch = data[0];
  trial.rows = axis(data[2], weights[2], strides[0], pads[0], pads[2]);
  trial.columns = axis(data[3], weights[3], strides[1], pads[1], pads[3]);
  trial.in_blocks = data[1];
  trial.out_blocks = weights[0];
  trial.seconds =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  // tile_b is declared there, but nothing is done with it. Columns are the innermost loop over
  // tiles, so that tiles with the same weights follow one another.
  trial.tiling = {knob.at("tile_h"),
                  knob.at("tile_w"),
                  knob.at("tile_ci"),
                  knob.at("tile_co"),
                  knob.at("oc_nthread"),
                  knob.at("h_nthread"),
                  false,
                  1};
  return trial;
}

bool same(const SpatialAxis& there, const SpatialAxis& here) {
  return there.extent == here.extent && there.step == here.step && there.window == here.window &&
         there.before == here.before && there.source == here.source && here.dilation == 1;
}

}  // namespace

Result<AutotvmTrial> parse_autotvm_trial(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return no_trial("no JSON object");
  try {
    return parse(json);
  } catch (const std::exception&) {
    return no_trial("not of the form of AutoTVM's logs");
  }
}

bool is_convolution_of(const AutotvmTrial& trial, const Product& product) {
  std::int64_t outer = 1;
  for (const SpatialAxis& each : product.outer) outer *= each.extent;
  return trial.batch == outer && same(trial.rows, product.rows) &&
         same(trial.columns, product.columns) && trial.in_blocks == product.in.extent &&
         trial.out_blocks == product.out.extent;
}

Result<AutotvmLog> read_autotvm_log(std::istream& in) {
  AutotvmLog log;
  BoundedLines lines(in, "the log");
  for (std::string line;;) {
    const auto more = lines.next(line);
    if (!more) return more.error();
    if (!*more) return log;
    const std::size_t number = lines.number();
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto trial = parse_autotvm_trial(line);
    if (trial) {
      log.trials.emplace_back(number, std::move(*trial));
    } else {
      log.skipped.emplace_back(number, trial.error().message);
    }
  }
}

}  // namespace fettle::vta::host
