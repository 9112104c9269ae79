// A main() around the function, files for its arguments, and limits (c_function.h).
#include "host/kernel_reference/c_function.h"

#include <charconv>
#include <cstdlib>

#include "host/process/child_process.h"
#include "host/process/run_program.h"
#include "host/space/own_kernel/kernel_space.h"

namespace fettle::kernel_reference {
namespace {

using space::KernelArgument;

constexpr std::chrono::minutes kCompileLimit{2}, kRunLimit{20};
constexpr std::uint64_t kMemory = std::uint64_t{16} << 30;

std::string compiler() {
  if (const char* named = std::getenv("CC")) return process::find_program(named);
  for (const char* name : {"cc", "gcc", "clang"}) {
    if (std::string found = process::find_program(name); !found.empty()) return found;
  }
  return "";
}

// The last word of what a compiler or the function said, for one line.
std::string last_line(const std::string& said) {
  std::size_t end = said.size();
  while (end > 0 && said[end - 1] == '\n') --end;
  const std::size_t begin = said.rfind('\n', end > 0 ? end - 1 : 0);
  return said.substr(begin == std::string::npos || begin >= end ? 0 : begin + 1,
                     end - (begin == std::string::npos || begin >= end ? 0 : begin + 1));
}

// The line of a compiler's output that says "error:".
std::string first_error(const std::string& said) {
  const std::size_t error = said.find("error:");
  if (error == std::string::npos) return last_line(said);
  const std::size_t begin = said.rfind('\n', error), end = said.find('\n', error);
  const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
  return said.substr(from, end == std::string::npos ? end : end - from);
}

// Reads all inputs from standard input, writes all outputs to the file of the first argument.
Result<std::string> main_of(const space::OwnKernel& kernel) {
  const space::KernelValues constants = space::constants_of(kernel);
  std::string body, call, write;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (argument.role == ir::Role::Scratch && !argument.value) continue;
    const std::string name = "fettle_argument" + std::to_string(i);
    call += (call.empty() ? "" : ", ") + name;
    if (argument.value) {
      const auto value = space::scalar_of(argument, constants);
      if (!value) {
        return Error(value.error())
            .in("finding the value of " + argument.name + " for the reference");
      }
      char text[64];  // with a point, whatever the locale
      const auto end =
          std::to_chars(text, text + sizeof text, *value, std::chars_format::general, 17).ptr;
      body += std::string("  ") + space::c_type(argument.type.scalar) + " " + name + " = " +
              std::string(text, end) + ";\n";
      continue;
    }
    const auto elements = space::elements_of(argument, constants);
    if (!elements) return elements.error();
    const std::string bytes = std::to_string(*elements * argument.type.bytes()) + "ull";
    body += "  void* " + name + " = calloc(1, " + bytes + ");\n  if (!" + name + ") return 101;\n";
    if (argument.role == ir::Role::Input) {
      body += "  if (fread(" + name + ", 1, " + bytes + ", stdin) != " + bytes + ") return 102;\n";
    } else {
      write += "  if (fwrite(" + name + ", 1, " + bytes + ", fettle_out) != " + bytes +
               ") return 103;\n";
    }
  }
  return "#include <stdio.h>\n#include <stdlib.h>\n" +
         space::text_with_defines(kernel.reference.source, kernel.constants) +
         "\n#line 1 \"(the call of " + kernel.reference.entry + ")\"\n" +
         "int main(int fettle_count, char** fettle_words) {\n"
         "  if (fettle_count != 2) return 104;\n" +
         body + "  " + kernel.reference.entry + "(" + call +
         ");\n  FILE* fettle_out = fopen(fettle_words[1], \"wb\");\n"
         "  if (!fettle_out) return 105;\n" +
         write + "  return fclose(fettle_out) ? 106 : 0;\n}\n";
}

Error in_reference(const space::OwnKernel& kernel, ErrorCode code, const std::string& what) {
  return {code, "the reference " + kernel.reference.source.file + ": " + what};
}

Result<void> compile(const space::OwnKernel& kernel, const process::ScratchFolder& scratch,
                     const std::stop_token& stop) {
  const std::string cc = compiler();
  if (cc.empty()) {
    return in_reference(kernel, ErrorCode::NotFound,
                        "there is no C compiler here (cc, gcc or clang; CC names another)");
  }
  auto source = main_of(kernel);
  if (!source) return std::move(source).error();
  if (!process::write_file(scratch.file("reference.c"), *source)) {
    return in_reference(kernel, ErrorCode::Io, "no temporary file can be written");
  }
  process::RunPlan plan;
  plan.argv = {cc,   "-O2", "-w", "-o", scratch.file("reference"), scratch.file("reference.c"),
               "-lm"};
  plan.limit = kCompileLimit;
  plan.stop = stop;
  const auto ran = process::run_program(plan);
  if (!ran) return ran.error();
  if (ran->status != 0) {
    return in_reference(kernel, ErrorCode::InvalidArgument,
                        "it does not compile: " + first_error(ran->said));
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<std::uint8_t>>> run_c_function(
    const space::OwnKernel& kernel, const std::vector<std::vector<std::uint8_t>>& inputs,
    const std::stop_token& stop) {
  const process::ScratchFolder scratch;
  if (!scratch.there()) return Error{ErrorCode::Io, "no folder for temporary files can be made"};
  if (auto compiled = compile(kernel, scratch, stop); !compiled) return std::move(compiled).error();
  std::string all;
  for (const auto& input : inputs) all.append(input.begin(), input.end());
  if (!process::write_file(scratch.file("inputs"), all)) {
    return in_reference(kernel, ErrorCode::DiskFull, "its inputs cannot be written");
  }
  process::RunPlan plan;
  plan.argv = {scratch.file("reference"), scratch.file("outputs")};
  plan.input = scratch.file("inputs");
  plan.limit = kRunLimit;
  plan.memory_bytes = kMemory;
  plan.stop = stop;
  const auto ran = process::run_program(plan);
  if (!ran && ran.error().code == ErrorCode::Timeout) {
    return in_reference(kernel, ErrorCode::Timeout, "it did not end within 20 minutes");
  }
  if (!ran) return ran.error();
  if (ran->status != 0) {
    const std::string said = last_line(ran->said);
    return in_reference(kernel, ErrorCode::Crash,
                        "it ended with " + process::describe_wait_status(ran->status) +
                            (said.empty() ? "" : ", and said: " + said));
  }
  std::vector<std::vector<std::uint8_t>> outputs;
  const std::string bytes = process::read_file(scratch.file("outputs"));
  std::size_t at = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.role != ir::Role::Output) continue;
    const auto elements = space::elements_of(argument, space::constants_of(kernel));
    if (!elements) return elements.error();
    const auto size = std::size_t(*elements) * std::size_t(argument.type.bytes());
    if (bytes.size() < at + size) {
      return in_reference(kernel, ErrorCode::Io, "its outputs could not be read");
    }
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data()) + at;
    outputs.emplace_back(from, from + size);
    at += size;
  }
  return outputs;
}

}  // namespace fettle::kernel_reference
