// fettle quantize: a float32 network as int8, by samples, and what that loses.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/cpu_evaluator.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/sample_files.h"
#include "host/app/task_source.h"
#include "host/app/text.h"
#include "host/model/onnx/export.h"
#include "host/model/onnx/import.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/passes/quantization_loss.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/records/table.h"
#include "runtime/run/run_options.h"

namespace fettle::app {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct QuantizeCommand {
  TaskSource source;
  std::vector<std::string> samples;
  ImageRule image;
  std::string path;
  model::QuantizeOptions options;
  bool json = false;
};

// One line on a terminal, drawn over itself: what is done, and the time left.
class Progress final : public Screen {
 public:
  Progress() { set_screen(this); }
  ~Progress() override {
    set_screen(nullptr);
    hide();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(std::string what, std::size_t all) {
    what_ = std::move(what), all_ = all, done_ = 0;
    start_ = Clock::now();
    show();
  }
  void reach(std::size_t done, std::size_t all) {
    done_ = done, all_ = all;
    show();
  }
  void step() { reach(done_ + 1, all_); }
  void hide() override {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  void show() const {
    if (!terminal_ || all_ == 0) return;
    std::string left;
    if (done_ > 0 && done_ < all_) {
      const std::chrono::duration<double> spent = Clock::now() - start_;
      left = ", " + duration_text(spent * double(all_ - done_) / double(done_)) + " left";
    }
    fmt::print(stderr, "\r\033[K{} {}/{}{}", what_, done_, all_, left);
    std::fflush(stderr);
  }

  const bool terminal_ = is_redrawable(STDERR_FILENO);
  std::string what_;
  Clock::time_point start_;
  std::size_t done_ = 0, all_ = 0;
};

Result<model::Graph> float_network(const QuantizeCommand& command) {
  const std::string& path = command.source.what;
  if (!model::is_onnx_file(path)) {
    return Error{ErrorCode::InvalidArgument,
                 path + " is no ONNX file (.onnx); `fettle zoo` writes some"};
  }
  auto graph = model::import_onnx(path, command.source.onnx);
  if (!graph) return graph;
  for (const model::Node& node : graph->nodes) {
    if (!model::is_quantized_operator(node.op)) continue;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is quantised already: {} is made by {}", path,
                             graph->values[node.outputs.front()].name, node.op)};
  }
  if (auto folded = model::fold_batch_norms(*graph); !folded) return std::move(folded).error();
  // Before minutes are spent.
  if (auto writable = model::check_onnx_exportable(*graph); !writable) {
    return std::move(writable).error().in("looking at " + path);
  }
  return graph;
}

Result<void> check_output(const QuantizeCommand& command) {
  if (command.path == "-") {
    return Error{ErrorCode::InvalidArgument, "-o wants a file: standard output has the figures"};
  }
  std::error_code none;
  if (std::filesystem::equivalent(command.path, command.source.what, none)) {
    return Error{ErrorCode::InvalidArgument, "-o names the model itself, " + command.path};
  }
  for (const std::string& sample : command.samples) {
    if (!std::filesystem::equivalent(command.path, sample, none)) continue;
    return Error{ErrorCode::InvalidArgument, "-o names a sample itself, " + command.path};
  }
  if (auto may = check_may_replace(command.path, true); !may) return may;
  const auto folder = std::filesystem::path(command.path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, none)) {
    return Error{ErrorCode::NotFound, "there is no folder " + folder.string()};
  }
  return {};
}

// By code for this CPU; by the reference where that cannot be had. Each sample is a step.
Result<model::Evaluator> evaluator(const model::Graph& graph, const std::string& what,
                                   const std::stop_token& stop, Progress& progress) {
  progress.begin("compiling " + what, 0);
  auto made = cpu_evaluator(graph, stop, [&](const network::BuildProgress& built) {
    progress.reach(built.done, built.all);
  });
  if (!made) {
    const ErrorCode code = made.error().code;
    if (code != ErrorCode::Unsupported && code != ErrorCode::BuildError) return made;
    warn("the reference computes " + what + ", slowly: " + made.error().text());
    made = model::by_reference(graph, stop);
  }
  return model::Evaluator([evaluate = std::move(*made), &progress](const model::Sample& sample) {
    auto values = evaluate(sample);
    progress.step();
    return values;
  });
}

// Products by constant weights, and those of them whose weights are int8 now.
std::pair<int, int> products(const model::Graph& graph) {
  int all = 0, quantized = 0;
  std::set<model::ValueId> dequantized;
  for (const model::Node& node : graph.nodes) {
    if (node.op == "DequantizeLinear") dequantized.insert(node.outputs.front());
    if (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") continue;
    ++all;
    quantized += dequantized.contains(node.inputs[1]) && dequantized.contains(node.inputs[0]);
  }
  return {all, quantized};
}

std::string decibels(double value) {
  if (std::isnan(value)) return "-";
  return std::isinf(value) ? (value > 0 ? "exact" : "lost") : fmt::format("{:.1f}", value);
}
json number(double value) { return std::isfinite(value) ? json(value) : json(); }

void tell(const QuantizeCommand& command, const model::QuantizationLoss& loss) {
  if (command.json) {
    for (const model::QuantizedValue& value : loss.values) {
      print_json_line({{"event", "value"},
                       {"value", value.name},
                       {"operators", value.operators},
                       {"scale", value.scale},
                       {"sqnr_db", number(value.all.sqnr_db())},
                       {"rounding_sqnr_db", number(value.rounding.sqnr_db())},
                       {"weights_sqnr_db", number(value.weights.sqnr_db())},
                       {"saturated", value.saturated_share()}});
    }
    for (const model::OutputNoise& output : loss.outputs) {
      print_json_line({{"event", "output"},
                       {"output", output.name},
                       {"sqnr_db", number(output.all.sqnr_db())}});
    }
    return;
  }
  using records::Align;
  records::Table table({{"layer"},
                        {"operators"},
                        {"scale", Align::Right},
                        {"SQNR dB", Align::Right},
                        {"rounding", Align::Right},
                        {"weights", Align::Right},
                        {"saturated", Align::Right}});
  for (const model::QuantizedValue& value : loss.values) {
    table.row({records::clip(value.name, 40), value.operators.empty() ? "input" : value.operators,
               fmt::format("{:.4g}", value.scale), decibels(value.all.sqnr_db()),
               decibels(value.rounding.sqnr_db()), decibels(value.weights.sqnr_db()),
               fmt::format("{:.2f} %", 100 * value.saturated_share())});
  }
  table.rule();
  for (const model::OutputNoise& output : loss.outputs) {
    table.row({records::clip(output.name, 40), "output", "", decibels(output.all.sqnr_db())});
  }
  table.print(std::cout);
  std::cout.flush();
}

Result<void> quantize(const QuantizeCommand& command) {
  const auto start = Clock::now();
  if (auto right = check_output(command); !right) return right;
  auto graph = float_network(command);
  if (!graph) return std::move(graph).error();
  const model::Observed whole = model::observe(*graph, command.options);
  if (whole.values.empty()) {
    return Error{ErrorCode::Unsupported,
                 command.source.what +
                     " has nothing that can be quantised, such as a float32 "
                     "convolution or product by constant weights"};
  }
  const auto samples = read_samples(*graph, command.samples, command.image);
  if (!samples) return samples.error();
  Interrupt interrupt;
  std::stop_source source;
  const StopOnInterrupt watch(interrupt, source);
  Progress progress;
  const auto of_whole = evaluator(whole.graph, "the float32 network", source.get_token(), progress);
  if (!of_whole) return of_whole.error();
  progress.begin("samples measured", samples->size());
  const auto largest = model::largest_magnitudes(whole.graph, *samples, *of_whole);
  if (!largest) return largest.error();
  const auto quantized = model::quantize(*graph, *largest, command.options);
  if (!quantized) return quantized.error();
  model::Graph named = *quantized;
  model::keep_output_names(named, *graph);
  if (auto done = model::export_onnx(named, command.path); !done) return done;
  const auto [all, by_int8] = products(*quantized);
  progress.hide();
  note(fmt::format("{}: {} of {} convolutions and products by int8 weights, {} values in int8",
                   command.path, by_int8, all, whole.values.size()));
  const auto observed = model::observe_quantized(*quantized);
  if (!observed) return observed.error();
  const auto of_quantized =
      evaluator(observed->graph, "the quantised network", source.get_token(), progress);
  if (!of_quantized) return of_quantized.error();
  progress.begin("samples compared, by both networks", 2 * samples->size());
  const auto loss = model::quantization_loss(whole, *observed, *samples, *of_whole, *of_quantized);
  if (!loss) return loss.error();
  progress.hide();
  tell(command, *loss);
  const std::chrono::duration<double> spent = Clock::now() - start;
  if (command.json) {
    print_json_line({{"event", "summary"},
                     {"file", command.path},
                     {"samples", samples->size()},
                     {"products", all},
                     {"int8_products", by_int8},
                     {"seconds", spent.count()}});
  }
  return {};
}

}  // namespace

void add_quantize_command(CLI::App& app, int& status) {
  auto* quantize_command = app.add_subcommand(
      "quantize", "Makes a float32 network one of int8, by samples, and tells what that loses");
  auto command = std::make_shared<QuantizeCommand>();
  add_onnx_options(*quantize_command, command->source);
  quantize_command->add_option("MODEL", command->source.what, "An ONNX file (.onnx)")->required();
  quantize_command
      ->add_option("--samples", command->samples,
                   "What the network is given in its use, some tens: a .npy, a .npz or an image "
                   "each, as `fettle run` takes them; of several inputs INPUT=FILE, or an .npz")
      ->required()
      ->type_name("FILE");
  run::add_image_options(*quantize_command, command->image);
  quantize_command->add_flag(
      "--power-of-two", command->options.power_of_two,
      "Scales that are powers of two, as accelerators with shifts take them");
  quantize_command->add_option("-o,--output", command->path, "The file: QDQ, ONNX")->required();
  quantize_command->add_flag("--json", command->json, "JSON lines of the report");
  quantize_command->footer(
      "The report compares the two networks over the samples, by SQNR: 10 log10(sum x^2 / sum (x - "
      "q)^2), in dB; a bit is worth 6. SQNR: of a layer's values, with what all layers before it "
      "lost. Rounding: by its own scale alone. Weights: of its weights. Saturated: values beyond "
      "what int8 reaches by the scale.");
  quantize_command->callback([command, &status] {
    const auto done = quantize(*command);
    status = done                                       ? kFine
             : done.error().code == ErrorCode::Canceled ? kInterrupted
                                                        : fail(done.error());
  });
}

}  // namespace fettle::app
