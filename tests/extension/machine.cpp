// The stack machine (machine.h).
#include "tests/extension/machine.h"

#include <time.h>

#include <cstdlib>
#include <cstring>

#include "tests/extension/arithmetic.h"
#include "tests/extension/instruction.h"

namespace fettle::extension {
namespace {

using wire::ScalarType;

struct Function {
  FunctionHeader header;
  std::vector<std::uint64_t> locals;
  std::vector<Instruction> code;
};

class Image final : public runtime::LoadedImage {
 public:
  const void* entry(std::uint32_t index) const override { return &functions[index]; }
  runtime::AddressRange code() const override { return {}; }
  std::vector<Function> functions;
};

Error bad(const std::string& what) { return {ErrorCode::LoadError, "stack machine: " + what}; }

template <typename T>
bool take(ByteView& from, std::size_t count, std::vector<T>& out) {
  if (count > from.size() / sizeof(T)) return false;
  out.resize(count);
  std::memcpy(out.data(), from.data(), count * sizeof(T));
  from = from.subspan(count * sizeof(T));
  return true;
}

Result<void> check(const Function& f) {
  const FunctionHeader& h = f.header;
  if (h.arguments + h.locals > kMostSlots || h.variables > kMostSlots || h.scalars > h.variables) {
    return bad("too many slots");
  }
  for (const Instruction& each : f.code) {
    const bool jumps = each.op == Op::Jump || each.op == Op::JumpIfZero;
    const bool buffers = each.op == Op::Load || each.op == Op::Store;
    const bool variables = each.op == Op::PushVar || each.op == Op::SetVar;
    if (each.op > Op::Return || each.type > ScalarType::MAX || each.zero != 0 ||
        (jumps && (each.value < 0 || each.value >= h.instructions)) ||
        (buffers && each.slot >= h.arguments + h.locals) ||
        (variables && each.slot >= h.variables)) {
      return bad("an instruction that it does not have");
    }
  }
  if (f.code.empty() || f.code.back().op != Op::Return) return bad("a function without end");
  return {};
}

struct Buffer {
  std::uint8_t* data;
  std::uintptr_t begin, end;  // of what belongs to it
};

// A function with its buffers.
class Launch {
 public:
  Launch(const Function& function, std::vector<Buffer> buffers, std::vector<Value> scalars,
         std::uint32_t stack)
      : function_(function),
        buffers_(std::move(buffers)),
        variables_(std::move(scalars)),
        stack_(stack) {
    variables_.resize(function.header.variables);
    for (const std::uint64_t bytes : function.locals) {
      auto& local = locals_.emplace_back(bytes);
      const auto begin = reinterpret_cast<std::uintptr_t>(local.data());
      buffers_.push_back({local.data(), begin, begin + bytes});
    }
  }

  void run() {
    top_ = 0;
    for (std::size_t at = 0;; ++at) {
      const Instruction& now = function_.code[at];
      switch (now.op) {
        case Op::PushInt:
          push({now.value});
          break;
        case Op::PushReal:
          push(of_bits(static_cast<std::uint64_t>(now.value), ScalarType::Float64));
          break;
        case Op::PushVar:
          push(variables_[now.slot]);
          break;
        case Op::SetVar:
          variables_[now.slot] = pop();
          break;
        case Op::Load:
          push(load(now, pop().i));
          break;
        case Op::Store: {
          const Value value = pop();
          store(now, pop().i, value);
          break;
        }
        case Op::Unary:
          push(unary(static_cast<ir::UnaryOp>(now.slot), now.type, pop()));
          break;
        case Op::Binary: {
          const Value b = pop();
          push(binary(static_cast<ir::BinaryOp>(now.slot), now.type, pop(), b));
          break;
        }
        case Op::Select: {
          const Value no = pop(), yes = pop();
          push(pop().i ? yes : no);
          break;
        }
        case Op::Cast:
          push(cast(pop(), static_cast<ScalarType>(now.slot), now.type));
          break;
        case Op::Reinterpret:
          push(of_bits(bits_of(pop(), static_cast<ScalarType>(now.slot)), now.type));
          break;
        case Op::Jump:
          at = static_cast<std::size_t>(now.value) - 1;
          break;
        case Op::JumpIfZero:
          if (pop().i == 0) at = static_cast<std::size_t>(now.value) - 1;
          break;
        case Op::Return:
          return;
      }
    }
  }

 private:
  void push(Value value) {
    if (top_ == stack_.size()) std::abort();
    stack_[top_++] = value;
  }
  Value pop() {
    if (top_ == 0) std::abort();
    return stack_[--top_];
  }
  std::uint8_t* at(const Instruction& now, std::int64_t index) {
    const Buffer& buffer = buffers_[now.slot];
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(now.type));
    const std::uintptr_t place =
        reinterpret_cast<std::uintptr_t>(buffer.data) + static_cast<std::uintptr_t>(index * bytes);
    if (place < buffer.begin || place + bytes_of(now.type) > buffer.end) std::abort();
    return reinterpret_cast<std::uint8_t*>(place);
  }
  Value load(const Instruction& now, std::int64_t index) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at(now, index), bytes_of(now.type));
    return of_bits(bits, now.type);
  }
  void store(const Instruction& now, std::int64_t index, Value value) {
    const std::uint64_t bits = bits_of(value, now.type);
    std::memcpy(at(now, index), &bits, bytes_of(now.type));
  }

  const Function& function_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<std::uint8_t>> locals_;
  std::vector<Value> variables_, stack_;
  std::size_t top_ = 0;
};

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class Series final : public runtime::LaunchSeries {
 public:
  explicit Series(std::uint32_t stack) : stack_(stack) {}

  Result<void> add(const wire::LaunchT& launch, const runtime::LoadedImage& image,
                   std::span<const std::unique_ptr<runtime::BufferMemory>> buffers) override {
    const auto& function = *static_cast<const Function*>(image.entry(launch.entry));
    std::vector<Buffer> args;
    std::vector<Value> scalars;
    for (const wire::Arg& arg : launch.args) {
      if (arg.kind() == wire::ArgKind::Int64) {
        scalars.push_back({arg.int_value()});
        continue;
      }
      if (arg.kind() != wire::ArgKind::Buffer || arg.offset() != 0) {
        return bad("its arguments are whole buffers and 64-bit numbers");
      }
      const runtime::BufferMemory& memory = *buffers[arg.buffer()];
      args.push_back({memory.data().data(), memory.reserved().begin, memory.reserved().end});
    }
    if (args.size() != function.header.arguments || scalars.size() != function.header.scalars) {
      return bad("another number of arguments");
    }
    launches_.push_back(
        std::make_unique<Launch>(function, std::move(args), std::move(scalars), stack_));
    return {};
  }

  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
    const std::uint64_t begin = now_ns();
    for (std::uint32_t i = 0; i < times; ++i) {
      for (std::size_t each = 0; each < launches_.size(); ++each) {
        const std::uint64_t before = launch_ticks.empty() ? 0 : now_ns();
        launches_[each]->run();
        if (!launch_ticks.empty()) launch_ticks[each] += now_ns() - before;
      }
    }
    return now_ns() - begin;
  }

 private:
  std::uint32_t stack_;
  std::vector<std::unique_ptr<Launch>> launches_;
};

}  // namespace

Result<std::unique_ptr<runtime::LoadedImage>> MachineLoader::load(const wire::ImageT& image,
                                                                  ByteView bytes) {
  auto loaded = std::make_unique<Image>();
  for (const auto& entry : image.entries) {
    if (entry->offset > bytes.size() || entry->offset % 8 != 0) return bad("an entry out of range");
    ByteView rest = bytes.subspan(entry->offset);
    Function function;
    std::vector<FunctionHeader> header;
    if (!take(rest, 1, header)) return bad("an image that is cut short");
    function.header = header[0];
    if (!take(rest, header[0].locals, function.locals) ||
        !take(rest, header[0].instructions, function.code)) {
      return bad("an image that is cut short");
    }
    if (auto sound = check(function); !sound) return std::move(sound).error();
    loaded->functions.push_back(std::move(function));
  }
  return std::unique_ptr<runtime::LoadedImage>(std::move(loaded));
}

std::unique_ptr<runtime::LaunchSeries> MachineExecutor::make_series() {
  return std::make_unique<Series>(stack_);
}

}  // namespace fettle::extension
