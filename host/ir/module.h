// A lowered program: what a back end turns into a wire::Program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/stmt.h"

namespace fettle::ir {

// After lowering: body holds no Unrolled, Vectorized or Parallel loops, indices
// are flat. It is executed for each value of `parallel` in [begin, end) of a call.
struct Function {
  std::string name;
  std::vector<Buffer> params;  // Global buffers, in argument order; params do not alias
  std::vector<bool> written;   // per param: does the function store to it
  Var parallel;                // int32; never null
  std::int64_t extent = 1;     // of `parallel`
  Var thread;                  // int32, index of the calling thread; null when unused
  // A GPU's: params that are only read, by fours, may be read through images of at most so many
  // fours (texels); 0: none is.
  std::int64_t texels = 0;
  Stmt body;
};

enum class Role : std::uint8_t { Input, Output, Constant, Scratch };  // as wire::BufferRole
// Initial contents; as wire::FillKind without Blob. Scratch and Output: Zero is not applied to
// Output.
struct Fill {
  enum class Kind : std::uint8_t { Zero, UniformReal, UniformInt } kind = Kind::Zero;
  double low = 0, high = 0;
  std::uint64_t stream = 0;
};

struct ProgramBuffer {
  Buffer buffer;
  Role role;
  Fill fill;
};

struct Launch {
  int function = 0;
  std::vector<int> buffers;  // index into Module::buffers, one per param
  bool prepare = false;      // runs once when loaded (packing of constants), untimed
};

struct Module {
  std::vector<ProgramBuffer> buffers;
  std::vector<Function> functions;
  std::vector<Launch> launches;
};

}  // namespace fettle::ir
