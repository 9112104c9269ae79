// OwnKernel: a kernel that a user wrote, with knobs: what is compiled and launched for a
// configuration, and what its outputs must be. Holds the sources' text, so that a build worker
// or a record needs no file. What people write is a TOML beside the source
// (host/model/kernel_file.h has its form); as JSON it is a task's key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/ir/module.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// By the ends of their files' names: .cl, .cu, .ptx, .c.
enum class KernelLanguage : std::uint8_t { OpenClC, CudaC, Ptx, C };
const char* name_of(KernelLanguage language);  // "OpenCL C"
// Of a file's name. Nothing: no kernel's.
std::optional<KernelLanguage> kernel_language(const std::string& file);

struct KernelSource {
  std::string file;  // its name, for messages of compilers
  std::string text;  // with what it includes by "…"
};

// Values and sizes are expressions (kernel_space.h).
struct KernelArgument {
  std::string name;
  ir::DataType type;
  std::optional<std::string> value;  // of a scalar; else it is an array:
  std::vector<std::string> shape;
  ir::Role role = ir::Role::Input;  // Input, Output or Scratch
  ir::Fill fill;                    // of an Input
};

struct KernelLaunch {
  std::string entry;                   // function of the source
  std::vector<std::size_t> arguments;  // places in OwnKernel::arguments
  // A GPU's: up to three axes; shared memory that is the last argument, "0" for none.
  std::vector<std::string> blocks, threads;
  std::string shared_bytes = "0";
  // A CPU's: iterations that are shared out among threads; "" where it is called once.
  std::string parallel;
};

// What the outputs must be.
struct KernelReference {
  enum class Kind : std::uint8_t { Function, Workload, Arrays, Kernel };
  Kind kind = Kind::Function;
  // Function: C; Workload: JSON (host/space/workload.h); Kernel: in the kernel's own language.
  KernelSource source;
  std::string entry;  // Function and Kernel: takes all arguments but scratch, in their order
  std::vector<std::string> blocks, threads;  // of a Kernel, by the constants
  struct Array {
    std::string file, hash;  // an .npy of an output, and the hash of its contents
  };
  std::vector<Array> arrays;  // Arrays: one for each output
  std::optional<Tolerance> tolerance;
};

struct OwnKernel {
  struct Number {
    std::string name;
    std::int64_t value;
  };
  struct Knob {
    std::string name;
    std::vector<std::int64_t> values;
  };
  std::string title;
  KernelLanguage language{};
  KernelSource source;
  std::string options;            // of the compiler
  std::vector<Number> constants;  // known to expressions and sources, as the knobs are
  std::vector<Knob> knobs;
  std::vector<std::string> constraints;
  std::vector<KernelArgument> arguments;
  std::vector<KernelLaunch> launches;
  KernelReference reference;
  std::string operations = "0";  // of one run, nominal: an expression of the constants
};

// A mistake in a kernel's JSON, and where it is: "/arguments/1/shape".
struct KernelMistake {
  std::string where, what;
};

// All that does not depend on a device is checked. On a mistake: nothing, and `mistake`.
std::optional<OwnKernel> own_kernel_of(const nlohmann::json& json, KernelMistake& mistake);
// What own_kernel_of reads back to the same kernel.
nlohmann::json json_of(const OwnKernel& kernel);

}  // namespace fettle::space
