// Writes functions of the stack machine and puts them into an image.
#pragma once

#include <string>
#include <vector>

#include "schemas/program_generated.h"
#include "tests/extension/instruction.h"

namespace fettle::extension {

class CodeWriter {
 public:
  void emit(Op op, wire::ScalarType type = wire::ScalarType::Int64, std::size_t slot = 0,
            std::int64_t value = 0);
  // Before any other variable: the launch's next number.
  std::uint16_t new_scalar() { return ++scalars_, new_variable(); }
  std::uint16_t new_variable() { return static_cast<std::uint16_t>(variables_++); }
  // Its place after the arguments.
  std::uint16_t new_local(std::uint64_t bytes);
  std::size_t here() const { return code_.size(); }
  void jump_to(std::size_t instruction, std::size_t target);  // of a jump that stands there
  const std::vector<Instruction>& code() const { return code_; }
  // The most values that lie on the stack at once: what Return finds there is nothing.
  std::size_t most_slots() const;

  // for variable in [0, …): the count lies on the stack. Returns what end_loop wants.
  struct Loop {
    std::uint16_t variable, end;
    std::size_t top, exit;
  };
  Loop begin_loop();
  void end_loop(const Loop& loop);

  // Appends the function, with a Return, and an entry of that name.
  void append_to(wire::ImageT& image, const std::string& name, std::uint32_t arguments);

 private:
  std::vector<Instruction> code_;
  std::vector<std::uint64_t> locals_;
  std::uint32_t variables_ = 0, scalars_ = 0;
};

// One line an instruction, for people.
std::string listing(const std::vector<Instruction>& code);

}  // namespace fettle::extension
