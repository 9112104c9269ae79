// The parent's half of the protocol (network_contender.h).
#include "tests/bench/networks/network_contender.h"

#include <signal.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

Error nonsense(const std::string& said) {
  return Error{ErrorCode::Malformed, "it says '" + said.substr(0, 80) + "'", {}};
}

}  // namespace

Result<std::unique_ptr<NetworkContender>> NetworkContender::start(
    const std::string& name, const std::vector<std::string>& argv, const std::vector<int>& cores) {
  auto process = AskedProcess::start(name, argv, cores);
  if (!process) return std::move(process).error();
  std::unique_ptr<NetworkContender> out(new NetworkContender(std::move(*process)));
  auto line = out->process_->greeting("gives up");
  if (!line) return std::move(line).error();
  const std::string word = "ready ";
  const Json told = line->starts_with(word) ? Json::parse(line->substr(word.size()), nullptr, false)
                                            : Json(Json::value_t::discarded);
  if (!told.is_object()) return nonsense(*line);
  const auto version = told.find("version"), load = told.find("load_ms");
  if (version != told.end() && version->is_string()) out->version_ = *version;
  if (load != told.end() && load->is_number()) out->load_ms_ = *load;
  out->stop();
  return out;
}

void NetworkContender::wake() const { ::kill(process_->pid(), SIGCONT); }
void NetworkContender::stop() const { ::kill(process_->pid(), SIGSTOP); }

Result<std::vector<double>> NetworkContender::run(unsigned times) {
  auto line = process_->ask("run " + std::to_string(times));
  if (!line) return std::move(line).error();
  std::istringstream words(*line);
  std::vector<double> nanoseconds;
  for (double one; words >> one;) {
    if (!(one > 0)) return nonsense(*line);
    nanoseconds.push_back(one);
  }
  if (!words.eof() || nanoseconds.size() != times) return nonsense(*line);
  return nanoseconds;
}

Result<std::vector<float>> NetworkContender::output() {
  const std::string file = process_->file("output");
  auto line = process_->ask("output " + file);
  if (!line) return std::move(line).error();
  if (*line != "ok") return nonsense(*line);
  const std::string bytes = process::read_file(file);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace fettle::bench
