// oneDNN as a peer: one primitive with its tail as post-operations. Exceptions of
// the library end here.
#pragma once

#include <memory>
#include <string>

#include "tests/bench/kernels/contender.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

enum class OneDnnKind {
  Any,       // the library chooses all layouts; source and weights are in them beforehand
  Winograd,  // the same with its Winograd algorithm
  Plain      // source and destination as the workload has them; weights still as it likes
};

// Where its tensors lie, and what it needs besides.
enum class OneDnnMemory {
  Own,       // as the library allocates
  HugePages  // as ours, in guarded buffers: whole huge pages, where the system has some
};

// A residual is added in place (the sum post-operation): what the library is
// fastest at, and one tensor less to read than ours. Unsupported: it has no such
// implementation, or none but the reference that it checks its others by. The layer must
// outlive the peer.
Result<std::unique_ptr<Contender>> make_onednn_peer(const Layer& layer, OneDnnKind kind,
                                                    OneDnnMemory memory);
// "onednn", "onednn_winograd", "onednn_plain"; with "_huge_pages" behind it.
std::string onednn_peer_name(OneDnnKind kind, OneDnnMemory memory);

std::string onednn_version();          // "2.6.3"
std::string onednn_instruction_set();  // "avx512_core_vnni": the most it will use here

}  // namespace fettle::bench
