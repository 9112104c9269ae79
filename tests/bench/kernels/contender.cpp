// How peers are checked (contender.h).
#include "tests/bench/kernels/contender.h"

#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

Result<void> Contender::check(const Layer& layer) {
  auto values = output();
  if (!values) return std::move(values).error();
  const std::string wrong = wrong_answer(*values, layer);
  if (wrong.empty()) return {};
  return Error{ErrorCode::WrongAnswer, wrong, {}};
}

}  // namespace fettle::bench
