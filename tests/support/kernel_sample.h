// A small kernel of a user's with its TOML and reference, in a folder of its own.
#pragma once

#include <fstream>
#include <string>

#include "tests/support/running_program.h"

namespace fettle::testing {

inline constexpr const char* kSampleToml = R"toml(title = "twice 1024"
operations = "N"
constraints = [
  "THREADS * EACH <= N",
  "EACH != 3",
]

[constants]
N = 1024

[knobs]
EACH = [1, 2, 3, 4]
THREADS = [16, 64]

[[argument]]
name = "from"
type = "float32"
shape = ["N"]

[[argument]]
name = "to"
type = "float32"
shape = ["N"]
role = "output"

[[argument]]
name = "factor"
type = "float32"
value = 2.0

[launch]
entry = "twice"
blocks = ["N / (THREADS * EACH)"]
threads = ["THREADS"]

[reference]
file = "twice_reference.c"
function = "plainly"
)toml";

inline constexpr const char* kSampleOpenCl = R"(
__kernel void twice(__global const float* from, __global float* to, float factor) {
  for (int i = 0; i < EACH; ++i) {
    const int at = get_global_id(0) * EACH + i;
    to[at] = factor * from[at];
  }
}
)";

inline constexpr const char* kSampleReference =
    "void plainly(const float* from, float* to, float factor) {\n"
    "  for (int i = 0; i < N; ++i) to[i] = factor * from[i];\n}\n";

class KernelSample {
 public:
  KernelSample() {
    write("twice.cl", kSampleOpenCl);
    write("twice.toml", kSampleToml);
    write("twice_reference.c", kSampleReference);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.file(name)) << text;
  }
  // The TOML with a piece of it replaced.
  void change(const std::string& from, const std::string& to) const {
    std::string text = kSampleToml;
    const auto at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
    write("twice.toml", text);
  }
  std::string file(const std::string& name = "twice.cl") const { return folder.file(name); }

  ScratchFolder folder;
};

}  // namespace fettle::testing
