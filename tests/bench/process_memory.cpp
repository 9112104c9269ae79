// /proc/PID/status of a family of processes.
#include "tests/bench/process_memory.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace fettle::bench {
namespace {

struct Status {
  ProcessMemory memory;
  pid_t parent = 0;
};

std::optional<Status> status_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  if (!file) return std::nullopt;
  Status status;
  status.memory.pid = pid;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon);
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    const std::string value = start == std::string::npos ? "" : line.substr(start);
    if (key == "Name") status.memory.name = value;
    if (key == "PPid") status.parent = std::atoi(value.c_str());
    if (key == "VmRSS")
      status.memory.resident_bytes = std::strtoull(value.c_str(), nullptr, 10) * 1024;
  }
  return status;
}

}  // namespace

std::vector<ProcessMemory> memory_of(pid_t root) {
  std::multimap<pid_t, Status> by_parent;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    if (const auto status = status_of(pid)) by_parent.emplace(status->parent, *status);
  }
  std::vector<ProcessMemory> family;
  if (const auto own = status_of(root)) family.push_back(own->memory);
  for (std::size_t i = 0; i < family.size(); ++i) {
    const auto [first, last] = by_parent.equal_range(family[i].pid);
    for (auto child = first; child != last; ++child) family.push_back(child->second.memory);
  }
  return family;
}

}  // namespace fettle::bench
