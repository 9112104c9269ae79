// References of DAGs and of kernels (expected.h).
#include "host/app/expected.h"

#include <new>

#include "host/kernel_reference/kernel_reference.h"

namespace fettle::app {
namespace {

Result<tune::Expected> of_kernel(const space::OwnKernel& kernel, const std::string& folder,
                                 const std::stop_token& stop) try {
  auto tensors = kernel_reference::evaluate(kernel, folder, stop);
  if (!tensors) return std::move(tensors).error();
  return tune::expected_from(std::move(*tensors));
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::OutOfMemory, "this machine has too little memory for the reference"};
}

}  // namespace

tune::ExpectedFunction expected_by_references(const std::string& folder,
                                              MeasuredReferences measured) {
  return
      [folder, measured = std::move(measured)](
          const space::Workload& workload, const std::stop_token& stop) -> Result<tune::Expected> {
        if (const auto found = measured.find(workload.canonical()); found != measured.end()) {
          return found->second;
        }
        const space::OwnKernel* kernel = workload.kernel();
        return kernel ? of_kernel(*kernel, folder, stop) : tune::evaluate_expected(workload, stop);
      };
}

}  // namespace fettle::app
