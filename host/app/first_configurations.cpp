// Logs of AutoTVM's as a beginning (first_configurations.h).
#include "host/app/first_configurations.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "host/app/message.h"
#include "host/backend/vta/autotvm_log.h"
#include "host/backend/vta/design_target.h"

namespace fettle::app {
namespace {

constexpr std::size_t kMost = 10;  // of a task

// Equal reasons are one warning.
void warn_of(const std::string& path,
             const std::vector<std::pair<std::size_t, std::string>>& skipped) {
  std::map<std::string, std::vector<std::size_t>> lines;
  for (const auto& [line, why] : skipped) lines[why].push_back(line);
  for (const auto& [why, of] : lines) {
    const std::string more = of.size() > 1 ? fmt::format(" and {} more", of.size() - 1) : "";
    warn(fmt::format("{}: line {}{} skipped: {}", path, of.front(), more, why));
  }
}

}  // namespace

Result<std::vector<std::vector<space::Configuration>>> first_configurations(
    const std::string& path, const std::vector<space::Task>& tasks,
    const std::vector<std::unique_ptr<const backend::Task>>& opened, const space::Target& target) {
  if (target.backend() != vta::host::kBackend) {
    return Error{ErrorCode::Unsupported,
                 "--first reads logs of AutoTVM's for the VTA accelerator: this device is another",
                 {}};
  }
  const auto design = vta::host::DesignTarget::parse(target);
  if (!design) return design.error();
  std::ifstream in(path);
  if (!in) return Error{ErrorCode::NotFound, "cannot read " + path, {}};
  auto read = vta::host::read_autotvm_log(in);
  if (!read) return std::move(read).error().in("reading " + path);
  vta::host::AutotvmLog& log = *read;
  std::stable_sort(log.trials.begin(), log.trials.end(), [](const auto& a, const auto& b) {
    return a.second.seconds < b.second.seconds;
  });
  std::vector<Result<vta::host::Product>> products;
  for (const space::Task& task : tasks) {
    products.push_back(vta::host::product_of(task.workload.dag(), design->design));
  }
  std::vector<std::vector<space::Configuration>> first(tasks.size());
  for (const auto& [line, trial] : log.trials) {
    bool of_a_task = false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (!products[i] || !vta::host::is_convolution_of(trial, *products[i])) continue;
      of_a_task = true;
      auto configuration = vta::host::configuration_of(opened[i]->space(), trial.tiling);
      if (!configuration) {
        log.skipped.emplace_back(line, configuration.error().message);
      } else if (first[i].size() < kMost &&
                 std::find(first[i].begin(), first[i].end(), *configuration) == first[i].end()) {
        first[i].push_back(std::move(*configuration));
      }
    }
    if (!of_a_task) log.skipped.emplace_back(line, "of a convolution that is none of these tasks");
  }
  warn_of(path, log.skipped);
  std::size_t count = 0, of_tasks = 0;
  for (const auto& each : first) {
    count += each.size();
    of_tasks += !each.empty();
  }
  note(fmt::format("{}: {} configurations of {} tasks are tried first", path, count, of_tasks));
  return first;
}

}  // namespace fettle::app
