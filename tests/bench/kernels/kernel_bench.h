// `fettle-bench kernels`: the best record of each layer of a network beside oneDNN
// (and OpenBLAS for dense layers), on an OpenCL device beside CLBlast, or on a CUDA device beside
// PyTorch's cuDNN and cuBLAS, rebuilt and run in this process in turns: the same threads on the
// same cores, each with its own tensors warm in the caches. PyTorch has a process of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct KernelBenchOptions {
  std::string db = "fettle.db";
  std::string network = "resnet-18";  // a network's name or a .json file of workloads
  std::string device = "local";       // device key of the records
  std::vector<std::string> layers;    // only those whose title holds one of these; empty: all
  std::optional<unsigned> threads;    // of both; 0: one per core; none: as most records have
  unsigned rounds = 15;
  double sample_ms = 5;
  std::string torch;  // a Python that has PyTorch, another peer; "": none. Needed on CUDA
  bool why = false;   // also where the time of ours goes (time_split.h)
  bool json = false;
};

// Prints a line per layer and a summary, which tells the command line, the database, the commit and
// the machine. A layer without a record, or whose program is wrong, is named and counted as
// missing. NotFound in the end when one of those is a convolution or was asked for by its title,
// or when nothing could be compared at all.
Result<void> run_kernel_bench(const KernelBenchOptions& options);

}  // namespace fettle::bench
