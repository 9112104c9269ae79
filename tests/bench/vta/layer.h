// The layers of a network on the VTA accelerator: what is compiled, its bound, its right answer.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/backend/backend.h"
#include "host/backend/vta/bound.h"
#include "host/space/workload.h"

namespace fettle::bench {

struct VtaLayer {
  std::string title;
  std::string missing;  // why the accelerator cannot compute it; else "", and then:
  space::Workload workload;
  std::unique_ptr<const backend::Task> task;
  vta::host::Bound bound;
  double multiply_adds = 0;   // 0: it has none
  double published_gops = 0;  // 0: none
};

// Those whose title holds one of `wanted`; all where there is none.
Result<std::vector<VtaLayer>> layers_of(const std::string& network,
                                        const std::vector<std::string>& wanted,
                                        const vta::Design& design);

// The reference's answers, worked out when they are first asked for. Thread-safe.
class Answers {
 public:
  explicit Answers(const std::vector<VtaLayer>& layers) : layers_(layers), kept_(layers.size()) {}

  struct Answer {
    std::string buffer;
    Bytes bytes;
  };
  Result<const Answer*> of(std::size_t layer);

 private:
  struct Kept {
    std::once_flag once;
    Result<Answer> answer{Answer{}};
  };
  const std::vector<VtaLayer>& layers_;
  std::vector<Kept> kept_;
};

}  // namespace fettle::bench
