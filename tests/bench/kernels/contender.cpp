// How peers are checked, and what interrupts this process (contender.h).
#include "tests/bench/kernels/contender.h"

#include <sys/resource.h>

#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

long Contender::interruptions() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

Result<void> Contender::check(const Layer& layer) {
  auto values = output();
  if (!values) return std::move(values).error();
  const std::string wrong = wrong_answer(*values, layer);
  if (wrong.empty()) return {};
  return Error{ErrorCode::WrongAnswer, wrong, {}};
}

}  // namespace fettle::bench
