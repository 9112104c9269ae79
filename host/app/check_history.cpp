// JSON lines of times (check_history.h).
#include "host/app/check_history.h"

#include <sys/stat.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <tuple>

#include "host/fleet/keys.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::app {
namespace {

std::optional<CheckTime> time_of(const std::string& line) {
  const auto read = nlohmann::json::parse(line, nullptr, false);
  if (!read.is_object()) return std::nullopt;
  const auto text = [&](const char* name) {
    const auto found = read.find(name);
    return found != read.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [&](const char* name) {
    const auto found = read.find(name);
    return found != read.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  CheckTime time;
  time.board = text("board");
  time.kernel = text("kernel");
  time.ns = number("ns");
  const double device = number("device"), unix_s = number("unix_s");
  if (time.board.empty() || time.kernel.empty() || !(time.ns > 0) || !std::isfinite(time.ns) ||
      !(device >= 0 && device < 1024) || !(unix_s >= 0 && unix_s < 1e12)) {
    return std::nullopt;
  }
  time.device = static_cast<std::uint32_t>(device);
  time.unix_s = static_cast<std::int64_t>(unix_s);
  return time;
}

}  // namespace

Result<CheckHistory> CheckHistory::read(const std::filesystem::path& file) {
  CheckHistory history;
  const auto text = read_whole(file.string(), kMostTextBytes);
  if (!text && text.error().code == ErrorCode::NotFound) return history;
  if (!text) return text.error();
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    if (auto time = time_of(line)) {
      history.all_.push_back(std::move(*time));
    } else {
      ++history.bad_lines_;
    }
  }
  return history;
}

std::vector<double> CheckHistory::times(const std::string& board, std::uint32_t device,
                                        const std::string& kernel) const {
  std::vector<double> out;
  for (const CheckTime& time : all_) {
    if (time.board == board && time.device == device && time.kernel == kernel)
      out.push_back(time.ns);
  }
  return out;
}

void CheckHistory::add(CheckTime time) { all_.push_back(std::move(time)); }

Result<void> CheckHistory::write(const std::filesystem::path& file) const {
  // The newest of each, and of all together.
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::size_t> kept;
  std::vector<const CheckTime*> lines;
  for (auto time = all_.rbegin(); time != all_.rend() && lines.size() < kMost; ++time) {
    if (++kept[{time->board, time->device, time->kernel}] <= kKept) lines.push_back(&*time);
  }
  std::string text;
  for (auto time = lines.rbegin(); time != lines.rend(); ++time) {
    const nlohmann::ordered_json line = {{"unix_s", (*time)->unix_s},
                                         {"board", (*time)->board},
                                         {"device", (*time)->device},
                                         {"kernel", (*time)->kernel},
                                         {"ns", (*time)->ns}};
    text += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::error_code failed;  // told by the writing
  if (const auto folder = file.parent_path(); !folder.empty()) {
    std::filesystem::create_directories(folder.parent_path(), failed);
    ::mkdir(folder.c_str(), 0700);
  }
  return fleet::write_file_atomically(file, text, 0600);
}

}  // namespace fettle::app
