// A user's kernel as a search space, and what a point of it compiles and launches.
//
// Expressions are integers' (dag_text/expression_parser.h: + - * / %, comparisons, && || !, min,
// max, select) of the kernel's constants and knobs; those of a launch, of scratch and of
// constraints also know the device's figures as device.NAME, such as device.threads_per_block.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/space/own_kernel/own_kernel.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// What names in expressions stand for.
using KernelValues = std::map<std::string, std::int64_t, std::less<>>;
KernelValues constants_of(const OwnKernel& kernel);

// InvalidArgument: says what is wrong and where, also of a division by 0.
Result<std::int64_t> evaluate_integer(const std::string& expression, const KernelValues& values);
Result<bool> evaluate_condition(const std::string& expression, const KernelValues& values);

// The identifiers in it, functions too.
std::vector<std::string> names_in(const std::string& expression);
inline constexpr const char* kDevicePrefix = "device.";

// Elements of an argument, 1 to 2^32.
Result<std::int64_t> elements_of(const KernelArgument& argument, const KernelValues& values);

// A scalar argument's value: a real is a literal, anything else in it is whole.
Result<double> scalar_of(const KernelArgument& argument, const KernelValues& values);

// What C calls the type of a scalar argument.
const char* c_type(ir::Scalar scalar);

// One configuration, all expressions evaluated.
struct KernelPoint {
  struct Buffer {  // one per argument; of scalars empty
    std::uint64_t bytes = 0;
  };
  struct Launch {
    std::array<std::int64_t, 3> blocks = {1, 1, 1}, threads = {1, 1, 1};
    std::int64_t shared_bytes = 0, parallel = 1;
  };
  std::vector<OwnKernel::Number> defines;  // constants, then knobs, in their order
  std::vector<Buffer> buffers;
  std::vector<double> scalars;  // one per argument; of arrays 0
  std::vector<Launch> launches;
};

class KernelSpace {
 public:
  // InvalidArgument: an expression is wrong, or no combination of values fulfils the constraints:
  // none of all, or of so many draws that hardly any can.
  static Result<KernelSpace> open(OwnKernel kernel, const Target& target);

  const OwnKernel& kernel() const { return kernel_; }
  const SearchSpace& space() const { return space_; }
  // BuildError: a size or a launch that no device can have: no block, more threads than 4096. What
  // its device cannot have, that says itself.
  Result<KernelPoint> point(const Configuration& configuration) const;

 private:
  KernelSpace(OwnKernel kernel, KernelValues fixed, SearchSpace space)
      : kernel_(std::move(kernel)), fixed_(std::move(fixed)), space_(std::move(space)) {}

  OwnKernel kernel_;
  KernelValues fixed_;  // constants and the device's figures
  SearchSpace space_;
};

// The kernel that is the reference of another (KernelReference::Kind::Kernel), with the knobs as
// they are in a configuration of that: a kernel of one configuration.
OwnKernel reference_kernel(const OwnKernel& kernel, const SearchSpace& space,
                           const Configuration& configuration);

// "#define NAME VALUE" lines, then the source under its own name and line numbers. PTX, which knows
// no #define, as it is.
std::string text_with_defines(const KernelSource& source,
                              const std::vector<OwnKernel::Number>& defines);

}  // namespace fettle::space
