// Building, running and reading a reference kernel (device_reference.h).
#include "host/app/device_reference.h"

#include "host/kernel_reference/kernel_reference.h"
#include "host/space/own_kernel/kernel_space.h"
#include "host/tune/one_trial.h"
#include "host/tune/read_outputs.h"

namespace fettle::app {
namespace {

Result<wire::ProgramT> build(const space::Workload& workload, const space::Target& target,
                             tune::Builder& builder, tune::StopSignal& stop) {
  const auto task = backend::open_task(workload, target);
  if (!task) return task.error();
  wire::BuildRequestT request;
  request.id = tune::number_of_its_own();
  request.workload = workload.canonical();
  request.target = target.canonical();
  request.configuration = (*task)->space().to_json((*task)->space().at(0));
  const std::uint64_t id = request.id;
  builder.submit(std::move(request));
  while (!stop.requested()) {
    auto built = builder.poll(std::chrono::milliseconds(100));
    if (!built) return std::move(built).error();
    for (tune::Built& one : *built) {
      if (one.id != id) continue;
      if (const auto* failure = one.result.body.AsFailure()) return from_wire(*failure->error);
      return std::move(*one.result.body.AsBuildOutput()->program);
    }
  }
  return Error{ErrorCode::Canceled, "interrupted"};
}

}  // namespace

Result<void> add_device_reference(const space::Workload& workload, const backend::Task& opened,
                                  const space::Target& target, tune::Builder& builder,
                                  tune::Runner& runner, tune::StopSignal& stop,
                                  MeasuredReferences& references) {
  const space::OwnKernel* kernel = workload.kernel();
  if (!kernel || kernel->reference.kind != space::KernelReference::Kind::Kernel) return {};
  const auto in_reference = [&](Error error) {
    error.message = "the reference " + kernel->reference.source.file + ": " + error.message;
    return error;
  };
  std::mt19937_64 rng(0);
  const space::SearchSpace& space = opened.space();
  auto stated = space::Workload::of(space::reference_kernel(*kernel, space, space.random(rng)));
  if (!stated) return std::move(stated).error();
  auto program = build(*stated, target, builder, stop);
  if (!program) return in_reference(std::move(program).error());
  auto outputs = tune::read_outputs(runner, stop, *program, target.threads());
  if (!outputs) return in_reference(std::move(outputs).error());
  auto tensors = kernel_reference::judged(*kernel, std::move(*outputs));
  if (!tensors) return std::move(tensors).error();
  references.emplace(workload.canonical(), tune::expected_from(std::move(*tensors)));
  return {};
}

}  // namespace fettle::app
