// Compiling a network's tasks (build_network.h).
#include "host/network/build_network.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "host/backend/backend.h"
#include "host/network/linker.h"
#include "host/network/program_facts.h"

namespace fettle::network {
namespace {

constexpr std::size_t kSpare = 12;  // schedules for those that cannot be built

// Two of its operands are one tensor.
bool reads_twice(const model::BoundPiece& piece) {
  const std::set<model::TensorId> once(piece.inputs.begin(), piece.inputs.end());
  return once.size() < piece.inputs.size();
}

// `no_texels`: schedules whose kernels read by texels count as those that cannot be built.
Result<std::vector<BuiltPiece>> compile_task(const space::Workload& workload,
                                             const Schedules& schedules, std::size_t most,
                                             bool no_texels) {
  auto task = backend::open_task(workload, schedules.target());
  if (!task) return std::move(task).error();
  std::vector<BuiltPiece> built;
  Error last{ErrorCode::BuildError, "no schedule"};
  for (Schedule& schedule : schedules.of(workload, **task, most + kSpare)) {
    if (built.size() == most) break;
    auto output = (*task)->build(schedule.configuration);
    if (!output) {
      last = std::move(output).error();
      continue;
    }
    if (no_texels && reads_texels(*output->program)) {
      last = {ErrorCode::BuildError, "every schedule reads by texels what is read twice"};
      continue;
    }
    std::string configuration = (*task)->space().to_json(schedule.configuration);
    built.push_back({std::shared_ptr<const wire::ProgramT>(std::move(output->program)),
                     std::move(schedule), std::move(configuration),
                     schedules.target().canonical()});
  }
  if (built.empty()) return last;
  return built;
}

std::string list_of(const std::vector<model::SkippedTask>& untuned) {
  std::string text;
  for (const model::SkippedTask& one : untuned) {
    text += (text.empty() ? "" : "; ") + one.title + ": " + one.reason;
  }
  return text;
}

}  // namespace

Result<Alternatives> compile_pieces(const model::Bindings& bindings, const PartSchedules& schedules,
                                    std::size_t most, unsigned threads, const std::stop_token& stop,
                                    const std::function<void(const BuildProgress&)>& progress) {
  if (!bindings.untuned.empty()) {
    return Error{ErrorCode::Unsupported,
                 "nodes that cannot be compiled: " + list_of(bindings.untuned)};
  }
  if (bindings.pieces.empty()) {
    return Error{ErrorCode::Unsupported, "the network computes nothing"};
  }
  // Who does a piece follows from its workload: channels are in blocks for the accelerator alone.
  std::map<std::string, std::size_t> task_of;  // by key
  std::vector<const model::BoundPiece*> tasks;
  std::vector<bool> no_texels;
  for (const model::BoundPiece& piece : bindings.pieces) {
    if (piece.accelerated && !schedules.accelerator) {
      return Error{ErrorCode::Internal, piece.workload.title() + " is for no accelerator"};
    }
    const auto [at, fresh] = task_of.emplace(piece.workload.canonical(), tasks.size());
    if (fresh) tasks.push_back(&piece), no_texels.push_back(false);
    if (reads_twice(piece)) no_texels[at->second] = true;
  }
  std::vector<Result<std::vector<BuiltPiece>>> built(tasks.size(),
                                                     Error{ErrorCode::Canceled, "interrupted"});
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  BuildProgress made{0, tasks.size()};
  const auto work = [&] {
    for (std::size_t t = next++; t < tasks.size() && !stop.stop_requested(); t = next++) {
      const Schedules& of = tasks[t]->accelerated ? *schedules.accelerator : schedules.rest;
      built[t] = compile_task(tasks[t]->workload, of, most, no_texels[t]);
      const std::lock_guard lock(mutex);
      ++made.done;
      if (progress) progress(made);
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::max(threads, 1u); ++i) others.emplace_back(work);
    work();
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (!built[t]) return std::move(built[t]).error().in(tasks[t]->workload.title());
  }
  Alternatives pieces;
  for (const model::BoundPiece& piece : bindings.pieces) {
    pieces.push_back(*built[task_of[piece.workload.canonical()]]);
  }
  return pieces;
}

Result<std::vector<BuiltPiece>> fastest_in_place(
    const model::Graph& graph, const model::Bindings& bindings, const Alternatives& alternatives,
    const space::Target& target, const LayerTimer& time_layers, const std::stop_token& stop) {
  std::size_t rounds = 0;
  for (const auto& list : alternatives) rounds = std::max(rounds, list.size());
  std::vector<BuiltPiece> best = first_of(alternatives);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<BuiltPiece> tried;
    for (const auto& list : alternatives) tried.push_back(list[round % list.size()]);
    auto linked = link(graph, bindings, tried, target, stop);
    if (!linked) return std::move(linked).error();
    auto times = time_layers(*linked);
    if (!times) return std::move(times).error();
    for (std::size_t p = 0; p < best.size(); ++p) {
      const double time = times->at(p);
      if (round == 0 || time < best[p].schedule.expected_ns) {
        best[p] = tried[p];
        best[p].schedule.expected_ns = time;
      }
    }
  }
  // The least of several times is too good to be true: what was chosen is timed once more.
  auto linked = link(graph, bindings, best, target, stop);
  if (!linked) return std::move(linked).error();
  auto times = time_layers(*linked);
  if (!times) return std::move(times).error();
  for (std::size_t p = 0; p < best.size(); ++p) best[p].schedule.expected_ns = times->at(p);
  return best;
}

std::vector<BuiltPiece> first_of(const Alternatives& alternatives) {
  std::vector<BuiltPiece> out;
  for (const auto& list : alternatives) out.push_back(list.front());
  return out;
}

}  // namespace fettle::network
