// PyTorch as a peer: cuDNN and cuBLAS on a CUDA device, oneDNN on a CPU. Its kernels run in a
// Python that the user names, which is told what to do (torch_peer.py).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/bench/asked_process.h"
#include "tests/bench/kernels/kernel_side.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

enum class TorchDevice { Cuda, Cpu };

class TorchProcess {
 public:
  // cores: it runs on them, on a CPU with a thread each; empty: on any, with one thread.
  // Unsupported: that Python has no PyTorch, or PyTorch sees no such device.
  static Result<std::unique_ptr<TorchProcess>> start(const std::string& python, TorchDevice device,
                                                     const std::vector<int>& cores);

  const std::string& version() const { return version_; }  // "PyTorch 2.15.0, cuDNN 9.15.1"
  // One question, one answer. Unsupported: what PyTorch says no to, in its words.
  Result<nlohmann::json> ask(const nlohmann::json& question);
  long interruptions() const { return process_->interruptions(); }  // AskedProcess's
  std::string file(const std::string& name) const { return process_->file(name); }

 private:
  TorchProcess() = default;

  std::unique_ptr<AskedProcess> process_;
  std::string python_, version_;
};

// The ways in which PyTorch computes the layer, each a peer "torch_…"; one that says why, where it
// does not. Good until the next call: the process holds one layer. Process and layer outlive them.
std::vector<NamedPeer> make_torch_peers(TorchProcess& process, const Layer& layer);

}  // namespace fettle::bench
