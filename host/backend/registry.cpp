// The back ends that there are, one row each.
#include "host/backend/backend.h"
#include "host/backend/calibration.h"
#include "host/backend/cpu_llvm/backend.h"
#include "host/backend/cpu_llvm/calibration.h"

namespace fettle::backend {
namespace {

struct Row {
  const char* name;
  const Backend& (*backend)();
  Result<std::vector<CalibrationProgram>> (*calibration)(const space::Target&);  // null: none
};

constexpr Row kRows[] = {
    {"cpu_llvm", cpu_llvm::cpu_backend, cpu_llvm::cpu_calibration},
};

}  // namespace

const Backend* find_backend(const std::string& name) {
  for (const Row& row : kRows) {
    if (name == row.name) return &row.backend();
  }
  return nullptr;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Result<std::unique_ptr<const Task>> open_task(space::ComputeDag dag, const space::Target& target) {
  if (const Backend* backend = find_backend(target.backend)) {
    return backend->open(std::move(dag), target);
  }
  return Error{ErrorCode::Unsupported, "no back end \"" + target.backend + "\" in this build"};
}

Result<std::vector<CalibrationProgram>> calibration_programs(const space::Target& target) {
  for (const Row& row : kRows) {
    if (target.backend == row.name && row.calibration != nullptr) return row.calibration(target);
  }
  return Error{ErrorCode::Unsupported,
               "back end \"" + target.backend + "\" has no calibration programs"};
}

}  // namespace fettle::backend
