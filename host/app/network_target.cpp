// Targets of networks, from records or from a profile (network_target.h).
#include "host/app/network_target.h"
#include "host/app/record_database.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/backend/backend.h"
#include "host/fleet/pool.h"
#include "host/records/queries.h"
#include "host/space/profile.h"

namespace fettle::app {
namespace {

// That does only parts of a network.
bool is_accelerator(const space::Target& target) {
  const backend::Backend* backend = backend::find_backend(target.backend());
  return backend && backend->accelerates();
}

// Tasks of the network that are tuned, by device key and target.
using Tuned = std::map<std::pair<std::string, std::string>, int>;

Result<Tuned> tuned_in(const records::Database& database, const NetworkTargetOptions& options,
                       const model::TaskList& tasks) {
  records::Filter filter;
  filter.device_key = fleet::key_of_pool(options.device);
  auto summaries = records::summaries(database, filter);
  if (!summaries) return std::move(summaries).error();
  std::set<std::string> wanted;
  for (const space::Task& task : tasks.tasks) wanted.insert(task.workload.canonical());
  Tuned tuned;
  for (const records::TaskSummary& task : *summaries) {
    if (!task.best_nanoseconds) continue;
    const auto target = space::Target::parse(task.target);
    if (!target || is_accelerator(*target)) continue;
    if (options.threads > 0 && target->threads() != options.threads) continue;
    tuned[{task.device_key, task.target}] += wanted.contains(task.workload) ? 1 : 0;
  }
  return tuned;
}

Error only_parts(const std::string& key) {
  return {ErrorCode::InvalidArgument,
          key + " does only parts of a network: name it with --accelerator"};
}

// Whether the device's records are of an accelerator.
bool accelerates_in(const records::Database& database, const std::string& device) {
  records::Filter filter;
  filter.device_key = fleet::key_of_pool(device);
  const auto summaries = records::summaries(database, filter);
  if (!summaries) return false;
  return std::any_of(summaries->begin(), summaries->end(), [](const records::TaskSummary& task) {
    const auto target = space::Target::parse(task.target);
    return target && is_accelerator(*target);
  });
}

// What the device says of itself, which must be there.
Result<space::Target> target_of(const NetworkTargetOptions& options, const std::string& key,
                                std::span<const backend::HardwareValue> hardware,
                                const tune::StopSignal& stop) {
  auto connection = Connection::open(connection_options(options, key, options.threads, stop));
  if (!connection) return std::move(connection).error();
  return backend::target_for(connection->runner().device(), hardware);
}

Result<NetworkTarget> of_device(const NetworkTargetOptions& options, const tune::StopSignal& stop) {
  const std::string key = options.device.empty() ? "local" : options.device;
  const backend::HardwareValue threads{"threads", std::max(options.threads, 1)};
  auto target = target_of(options, key, std::span(&threads, options.threads > 0 ? 1 : 0), stop);
  if (!target) return std::move(target).error();
  if (is_accelerator(*target)) return only_parts(key);
  if (options.threads > 0 && target->threads() != options.threads) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("--threads {}: only a CPU's launches are shared by threads, and {} is "
                             "no CPU",
                             options.threads, key)};
  }
  return NetworkTarget{network::Schedules(std::move(*target)), key};
}

Result<NetworkTarget> from_records(const NetworkTargetOptions& options,
                                   const model::TaskList& tasks, const tune::StopSignal& stop) {
  auto database = open_to_read(options.db);
  if (!database) return std::move(database).error();
  auto tuned = tuned_in(*database, options, tasks);
  if (!tuned) return std::move(tuned).error();
  const std::string threads =
      options.threads > 0 ? fmt::format(" with {} threads", options.threads) : "";
  if (tuned->empty() && !options.accelerator.empty()) return of_device(options, stop);
  if (tuned->empty() && !options.device.empty() && accelerates_in(*database, options.device)) {
    return only_parts(options.device);
  }
  if (tuned->empty()) {
    return Error{ErrorCode::NotFound,
                 fmt::format("{} has no measured trial{}{}{}", records::shown_database(options.db),
                             options.device.empty() ? "" : " of " + options.device, threads,
                             options.threads > 0
                                 ? fmt::format("; `fettle tune --hardware threads={}` makes some",
                                               options.threads)
                                 : "")};
  }
  std::set<std::string> keys;
  for (const auto& [which, count] : *tuned) keys.insert(which.first);
  if (keys.size() > 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} has records of several devices; name one with --device: {}",
                             records::shown_database(options.db), fmt::join(keys, ", "))};
  }
  const auto most =
      std::max_element(tuned->begin(), tuned->end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  auto target = space::Target::parse(most->first.second);
  if (!target) return std::move(target).error();
  auto schedules = network::Schedules::of(*database, *target, most->first.first);
  if (!schedules) return std::move(schedules).error();
  return NetworkTarget{std::move(*schedules), most->first.first};
}

Result<NetworkTarget> of_profile(const NetworkTargetOptions& options) {
  const auto& profiles = space::profiles();
  const auto profile =
      std::find_if(profiles.begin(), profiles.end(),
                   [&](const space::Profile& one) { return one.name == options.profile; });
  if (profile == profiles.end()) {
    return Error{ErrorCode::InvalidArgument, "no target profile '" + options.profile + "'"};
  }
  const backend::HardwareValue threads{"threads", std::max(options.threads, 1)};
  auto target = backend::target_for(space::device_of(*profile), std::span(&threads, 1));
  if (!target) return std::move(target).error();
  return NetworkTarget{network::Schedules(std::move(*target)), {}};
}

}  // namespace

ConnectionOptions connection_options(const NetworkTargetOptions& options,
                                     const std::string& device_key, int threads,
                                     const tune::StopSignal& stop) {
  ConnectionOptions where;
  where.broker = options.broker;
  where.broker_key = options.broker_key;
  where.device_key = device_key;
  where.name = "build";
  where.local_threads = threads;
  where.stop = &stop;
  return where;
}

Result<network::Schedules> accelerator_schedules(const NetworkTargetOptions& options,
                                                 const tune::StopSignal& stop) {
  const std::string& key = options.accelerator;
  auto target = target_of(options, key, {}, stop);
  if (!target) return std::move(target).error();
  if (!is_accelerator(*target)) {
    return Error{ErrorCode::InvalidArgument,
                 key +
                     " is no accelerator that works beside a CPU; --device is for those that "
                     "compute whole networks"};
  }
  if (options.db.empty()) return network::Schedules(std::move(*target));
  auto database = open_to_read(options.db);
  if (!database) return std::move(database).error();
  return network::Schedules::of(*database, std::move(*target), key);
}

Result<NetworkTarget> network_target(const NetworkTargetOptions& options,
                                     const model::TaskList& tasks, const tune::StopSignal& stop) {
  if (!options.db.empty()) return from_records(options, tasks, stop);
  if (!options.profile.empty()) return of_profile(options);
  return of_device(options, stop);
}

}  // namespace fettle::app
