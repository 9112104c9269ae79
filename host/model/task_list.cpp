// Reading task lists (task_list.h).
#include "host/model/task_list.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "host/space/workload.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::model {

namespace {

using nlohmann::json;

constexpr const char* kNetworks =
#include "host/model/workloads.inc"
    ;

json& networks() {
  static json all = json::parse(kNetworks);
  return all;
}

// Appends the entries of one list. Fields of the list, not of the workload, are
// taken off first: weight, and what tutorials published.
Result<void> append(TaskList& list, const json& entries, const std::string& where) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    json entry = entries[i];
    const std::string place = where + ", entry " + std::to_string(i + 1);
    if (!entry.is_object()) {
      return Error{ErrorCode::InvalidArgument,
                   place + ": must be an object with a field \"op\" or \"stages\""};
    }
    double weight = 1;
    if (auto it = entry.find("weight"); it != entry.end()) {
      if (!it->is_number() || !(it->get<double>() > 0)) {
        return Error{ErrorCode::InvalidArgument,
                     place + ": field \"weight\" is " + it->dump() + "; it must be above 0"};
      }
      weight = *it;
    }
    entry.erase("weight");
    entry.erase("published_tuned_gops");
    auto workload = space::Workload::parse(entry);
    if (!workload) {
      if (workload.error().code != ErrorCode::Unsupported) {
        return Error{workload.error().code, place + ": " + workload.error().message};
      }
      const char* field = entry.contains("stages") ? "title" : "op";
      const bool named = entry.contains(field) && entry[field].is_string();
      const std::string name = named ? entry[field].get<std::string>() : "?";
      list.skipped.push_back({name + " (" + place + ")", workload.error().message});
      continue;
    }
    const auto same = std::find_if(list.tasks.begin(), list.tasks.end(),
                                   [&](const space::Task& t) { return t.workload == *workload; });
    if (same != list.tasks.end()) {
      same->weight += weight;
    } else {
      list.tasks.push_back({std::move(*workload), weight});
    }
  }
  return {};
}

}  // namespace

void add_network(const std::string& name, const std::string& workloads) {
  networks()[name] = json::parse(workloads);
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const auto& [name, list] : networks().items()) {
    if (!list.is_array()) continue;
    if (const auto tasks = load_network(name); tasks && !tasks->tasks.empty())
      names.push_back(name);
  }
  return names;
}

Result<TaskList> load_network(const std::string& name) {
  const auto it = networks().find(name);
  if (it == networks().end() || !it->is_array()) {
    std::string known;
    for (const std::string& n : network_names()) known += (known.empty() ? "" : ", ") + n;
    return Error{ErrorCode::NotFound,
                 "no network \"" + name + "\"; there are: " + known +
                     "; or name a JSON file of workloads, or an ONNX file (.onnx); `fettle zoo` "
                     "lists the networks that it writes as such, as in `fettle zoo resnet-50`"};
  }
  TaskList list{name, {}, {}};
  auto done = append(list, *it, name);
  if (!done) return std::move(done).error();
  return list;
}

double published_gops(const std::string& network, const space::Workload& workload) {
  const auto list = networks().find(network);
  if (list == networks().end() || !list->is_array()) return 0;
  for (json entry : *list) {
    const double published = entry.value("published_tuned_gops", 0.0);
    entry.erase("weight");
    entry.erase("published_tuned_gops");
    const auto parsed = space::Workload::parse(entry);
    if (published > 0 && parsed && *parsed == workload) return published;
  }
  return 0;
}

Result<TaskList> load_workload_file(const std::string& path) {
  auto text = read_whole(path, kMostTextBytes);
  if (!text) return std::move(text).error().in("reading the workload file");
  json all;
  try {
    all = json::parse(*text);
  } catch (const json::out_of_range&) {
    return Error{ErrorCode::InvalidArgument, path + ": a number is too large"};
  } catch (const json::parse_error& error) {
    const auto at = std::min(error.byte, text->size());
    const auto lines = std::count(text->begin(), text->begin() + std::ptrdiff_t(at), '\n');
    return Error{ErrorCode::InvalidArgument, path + " is not JSON: a mistake in line " +
                                                 std::to_string(lines + 1) +
                                                 "; an ONNX model's name ends in .onnx"};
  }
  if (!(all.is_array() || all.is_object())) {
    return Error{
        ErrorCode::InvalidArgument,
        path +
            " is not JSON of the form [{\"op\": …}, …], {\"name\": [{\"op\": …}, …]} or, for an "
            "operator of one's own, {\"stages\": …}; an ONNX model's name ends in .onnx"};
  }
  TaskList list{path, {}, {}};
  const bool one = all.is_object() && (all.contains("op") || all.contains("stages"));
  if (all.is_array() || one) {
    auto done = append(list, one ? json::array({all}) : all, path);
    if (!done) return std::move(done).error();
    return list;
  }
  for (const auto& [name, entries] : all.items()) {
    if (entries.is_string() && name.starts_with("_")) continue;  // a remark
    if (!entries.is_array()) {
      return Error{ErrorCode::InvalidArgument,
                   path + ": \"" + name + "\" must be a list of workloads"};
    }
    auto done = append(list, entries, path + " " + name);
    if (!done) return std::move(done).error();
  }
  return list;
}

}  // namespace fettle::model
