// ExpectedOutputs (expected_outputs.h).
#include "host/tune/expected_outputs.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <new>

#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "schemas/wire/content_hash.h"

namespace fettle::tune {

Expected expected_from(std::vector<space::ExpectedTensor> tensors) {
  Expected expected;
  for (space::ExpectedTensor& tensor : tensors) {
    Expected::Output output;
    output.check.dtype = space::wire_type(tensor.type.scalar);
    output.check.blob = std::make_unique<wire::Hash>(content_hash(tensor.bytes));
    output.check.absolute = tensor.tolerance.absolute;
    output.check.relative = tensor.tolerance.relative;
    output.bytes = std::move(tensor.bytes);
    expected.outputs.push_back(std::move(output));
  }
  return expected;
}

Result<Expected> evaluate_expected(const space::Workload& workload,
                                   const std::stop_token& stop) try {
  auto tensors = space::evaluate(workload.dag(), stop);
  if (!tensors) return std::move(tensors).error();
  return expected_from(std::move(*tensors));
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::OutOfMemory, "this machine has too little memory for the reference"};
}

ExpectedOutputs::ExpectedOutputs(std::vector<space::Workload> workloads, ExpectedFunction compute,
                                 std::vector<std::uint32_t> cores)
    : workloads_(std::move(workloads)),
      compute_(std::move(compute)),
      results_(workloads_.size()),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this, cores = std::move(cores)](const std::stop_token& stop) { run(stop, cores); }) {
}

ExpectedOutputs::~ExpectedOutputs() {
  thread_.request_stop();
  thread_.join();
  if (event_ >= 0) close(event_);
}

void ExpectedOutputs::clear_ready() {
  std::uint64_t count;
  while (read(event_, &count, sizeof count) > 0) {
  }
}

void ExpectedOutputs::wait(std::chrono::milliseconds longest) {
  pollfd event{event_, POLLIN, 0};
  ::poll(&event, 1, static_cast<int>(longest.count()));
  clear_ready();
}

void ExpectedOutputs::run(const std::stop_token& stop, const std::vector<std::uint32_t>& cores) {
  if (!cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::uint32_t core : cores) CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  for (std::size_t task = 0; task < workloads_.size() && !stop.stop_requested(); ++task) {
    results_[task].emplace(compute_(workloads_[task], stop));
    done_.store(task + 1, std::memory_order_release);
    const std::uint64_t one = 1;
    // Full or absent: the loop looks at done_ on its own as well, only later.
    [[maybe_unused]] const auto written = write(event_, &one, sizeof one);
  }
}

}  // namespace fettle::tune
