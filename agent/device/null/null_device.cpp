// The null device (null_device.h).
#include "agent/device/null/null_device.h"

#include <time.h>
#include <algorithm>

#include "schemas/fill/fill.h"

namespace fettle::agent {
namespace {

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class NullDevice final : public Device {
 public:
  explicit NullDevice(wire::DeviceInfoT info) : info_(std::move(info)) {}
  const wire::DeviceInfoT& info() const override { return info_; }

  Result<std::uint64_t> prepare(const wire::ProgramT& program, const PrepareOptions&,
                                const BlobLookup& blobs) override {
    reset();
    std::uint64_t total = 0;
    for (const auto& buffer : program.buffers) total += buffer->bytes;
    if (total > info_.memory_limit_bytes) {
      return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total) +
                                               " bytes, the limit is " +
                                               std::to_string(info_.memory_limit_bytes)};
    }
    for (const auto& buffer : program.buffers) {
      Bytes bytes(buffer->bytes, unwritten_byte(wire::ScalarType::Float32));
      if (buffer->fill && buffer->role != wire::BufferRole::Output) {
        if (auto filled = fill_buffer(*buffer->fill, blobs, bytes); !filled) {
          return std::move(filled).error();
        }
      }
      buffers_.push_back(std::move(bytes));
      outputs_.push_back(buffer->role == wire::BufferRole::Output);
    }
    prepared_ = true;
    return std::uint64_t{0};
  }

  Result<Sample> run(std::uint32_t times, bool) override {
    if (!prepared_) return Error{ErrorCode::InvalidArgument, "run before prepare"};
    const std::uint64_t start = now_ns();
    for (std::uint32_t i = 0; i < times; ++i) set_outputs(0);
    return Sample{std::max<std::uint64_t>(now_ns() - start, 1), info_.clock, info_.clock_hz};
  }

  Result<void> poison_outputs() override {
    if (!prepared_) return Error{ErrorCode::InvalidArgument, "poison before prepare"};
    set_outputs(unwritten_byte(wire::ScalarType::Float32));
    return {};
  }

  Result<ByteView> read(std::uint32_t buffer) override {
    if (buffer >= buffers_.size()) return Error{ErrorCode::InvalidArgument, "no such buffer"};
    return ByteView(buffers_[buffer]);
  }
  std::uint8_t unwritten_byte(wire::ScalarType) const override { return 0xff; }
  Result<void> check_surroundings() override { return {}; }
  void reset() override {
    buffers_.clear();
    outputs_.clear();
    prepared_ = false;
  }

 private:
  void set_outputs(std::uint8_t byte) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (outputs_[b]) std::fill(buffers_[b].begin(), buffers_[b].end(), byte);
    }
  }

  wire::DeviceInfoT info_;
  std::vector<Bytes> buffers_;
  std::vector<bool> outputs_;
  bool prepared_ = false;
};

}  // namespace

wire::DeviceInfoT describe_null(const DeviceConfig& config, const SystemRoot&) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::Null;
  info.name = "null";
  info.clock = wire::ClockDomain::Nanoseconds;
  info.clock_hz = 1e9;
  info.memory_limit_bytes =
      config.memory_limit_bytes ? config.memory_limit_bytes : std::uint64_t{256} << 20;
  info.emulated = config.emulated;
  return info;
}

Result<std::unique_ptr<Device>> open_null(const wire::DeviceInfoT& info) {
  return std::unique_ptr<Device>(new NullDevice(info));
}

SandboxPolicy null_sandbox(const wire::DeviceInfoT& info) {
  return {.extra_memory_bytes = info.memory_limit_bytes};
}

SelfTestProgram null_self_test(const wire::DeviceInfoT&) {
  SelfTestProgram out;
  out.answer = {0.0f};  // as all that it makes
  // It loads no image: any will do.
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Xclbin;
  image->bytes = {0};
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = "nothing";
  out.program.images.push_back(std::move(image));
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = "out";
  buffer->bytes = 4;
  buffer->role = wire::BufferRole::Output;
  out.program.buffers.push_back(std::move(buffer));
  out.program.launches.push_back(std::make_unique<wire::LaunchT>());
  return out;
}

}  // namespace fettle::agent
