// The registers of our core, and those of the stock ones (core_registers.h).
#include "fpga/qemu/core_registers.h"

#include <array>

namespace fettle::vta {
namespace {

class FettleRegisters final : public CoreRegisters {
 public:
  explicit FettleRegisters(const Design& design) : identity_(design.identity()) {}

  std::uint32_t read(std::uint32_t offset) override {
    if (offset >= kIdentity && offset < kIdentity + sizeof identity_) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&identity_) + (offset - kIdentity);
      return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 |
             std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
    }
    switch (offset) {
      case kControl:
        return (running_ || stopping_ ? 1u : 0u) | (done_ ? 2u : 0u);
      case kCyclesLow:
        kept_high_ = static_cast<std::uint32_t>(cycles_ >> 32);
        return static_cast<std::uint32_t>(cycles_);
      case kCount:
        return count_;
      case kAddress:
        return address_;
      case kCyclesHigh:
        return kept_high_;
      case kErrors:
        return errors_;
      case kInterrupt:
        return interrupt_;
      case kIdentification:
        return 0x46544c31;
      default:
        return is_base(offset) ? bases_[(offset - kBases) / 4] : 0;
    }
  }

  Asked write(std::uint32_t offset, std::uint32_t value) override {
    switch (offset) {
      case kControl:
        if (value & 2) {
          running_ = false;
          return Asked::Stop;
        }
        if (!(value & 1) || running_) return Asked::Nothing;
        running_ = true;
        done_ = false;
        errors_ = 0;
        cycles_ = 0;
        return Asked::Start;
      case kCount:
        count_ = value;
        break;
      case kAddress:
        address_ = value;
        break;
      case kInterrupt:
        interrupt_ = value & 1;
        break;
      default:
        if (is_base(offset)) bases_[(offset - kBases) / 4] = value;
    }
    return Asked::Nothing;
  }

  Stream stream() const override {
    return {address_, count_ & 0x0fffffff, bases_ == std::array<std::uint32_t, 5>{}};
  }
  void begun() override {}
  void finished(std::uint64_t cycles) override {
    running_ = false;
    done_ = true;
    cycles_ = cycles;
  }
  void failed(std::uint32_t errors) override { errors_ |= errors; }
  void set_stopping(bool stopping) override { stopping_ = stopping; }

 private:
  enum : std::uint32_t {
    kControl = 0x00,
    kCyclesLow = 0x04,
    kCount = 0x08,
    kAddress = 0x0c,
    kBases = 0x10,
    kCyclesHigh = 0x24,
    kErrors = 0x28,
    kInterrupt = 0x2c,
    kIdentification = 0x3c,
    kIdentity = 0x40,
  };
  bool is_base(std::uint32_t offset) const {
    return offset >= kBases && offset < kBases + 4 * bases_.size();
  }

  wire::Hash identity_;
  bool running_ = false, stopping_ = false, done_ = false;
  std::uint32_t count_ = 0, address_ = 0, errors_ = 0, interrupt_ = 0, kept_high_ = 0;
  std::uint64_t cycles_ = 0;  // 0 while a stream runs
  std::array<std::uint32_t, 5> bases_ = {};
};

// Four HLS cores with a page each. The stream runs once fetch was started and the others are set to
// start again and again; without that they would do one instruction each, which is not played.
class StockRegisters final : public CoreRegisters {
 public:
  std::uint32_t read(std::uint32_t offset) override {
    const std::uint32_t page = offset / kPage, at = offset % kPage;
    if (page >= kPages) return 0;
    if (at == kControl) {
      if (page != kFetch) return repeats_[page] ? kStartBit | kRepeatBit : kIdleBit;
      const std::uint32_t value =
          (running_ || waiting_ ? kStartBit : kIdleBit) | (fetched_ ? kDoneBit | kReadyBit : 0u);
      fetched_ = false;
      return value;
    }
    if (page == kCompute && at == kDone) return done_ ? 1 : 0;
    if (page == kCompute && at == kDoneValid) {
      const bool valid = done_valid_;
      done_valid_ = false;
      return valid ? 1 : 0;
    }
    const std::uint32_t* value = stored(page, at);
    return value ? *value : 0;
  }

  Asked write(std::uint32_t offset, std::uint32_t value) override {
    const std::uint32_t page = offset / kPage, at = offset % kPage;
    if (page >= kPages) return Asked::Nothing;
    if (at != kControl) {
      if (std::uint32_t* to = stored(page, at)) *to = value;
      return Asked::Nothing;
    }
    repeats_[page] = (value & kRepeatBit) != 0;
    if (page == kFetch && (value & kStartBit) && !running_) waiting_ = true;
    if (!waiting_ || !repeats_[kLoad] || !repeats_[kCompute] || !repeats_[kStore]) {
      return Asked::Nothing;
    }
    waiting_ = false;
    running_ = true;
    return Asked::Start;
  }

  Stream stream() const override {
    const auto at = [&](std::uint32_t page, std::uint32_t offset) {
      return stored_[page][offset / 8 - 2];
    };
    const bool zero = at(kLoad, 0x10) == 0 && at(kLoad, 0x18) == 0 && at(kCompute, 0x20) == 0 &&
                      at(kCompute, 0x28) == 0 && at(kStore, 0x10) == 0;
    return {at(kFetch, 0x18), at(kFetch, 0x10), zero};
  }
  void begun() override { done_ = false; }
  void finished(std::uint64_t) override {
    running_ = false;
    done_ = done_valid_ = fetched_ = true;
  }
  void failed(std::uint32_t) override {}  // it tells nobody
  void set_stopping(bool) override {}

 private:
  enum : std::uint32_t { kFetch, kLoad, kCompute, kStore, kPages, kPage = 0x1000 };
  enum : std::uint32_t { kControl = 0x00, kDone = 0x18, kDoneValid = 0x1c };
  enum : std::uint32_t {
    kStartBit = 0x01,
    kDoneBit = 0x02,
    kIdleBit = 0x04,
    kReadyBit = 0x08,
    kRepeatBit = 0x80,
  };
  // Arguments are 8 bytes apart from 0x10 on, the last one at 0x28.
  std::uint32_t* stored(std::uint32_t page, std::uint32_t at) {
    return at >= 0x10 && at <= 0x28 && at % 8 == 0 ? &stored_[page][at / 8 - 2] : nullptr;
  }

  bool waiting_ = false;  // for the others
  bool running_ = false, done_ = false, done_valid_ = false, fetched_ = false;
  std::array<bool, kPages> repeats_ = {};
  std::array<std::array<std::uint32_t, 4>, kPages> stored_ = {};
};

}  // namespace

std::unique_ptr<CoreRegisters> make_core_registers(const Design& design) {
  if (design.core == Core::Fettle) return std::make_unique<FettleRegisters>(design);
  return std::make_unique<StockRegisters>();
}

}  // namespace fettle::vta
