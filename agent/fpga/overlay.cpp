// A flattened device tree (Devicetree Specification 0.4, chapter 5), as an overlay has it
// (fpga_manager.h).
#include "agent/fpga/fpga_manager.h"

namespace fettle::agent {
namespace {

enum Token : std::uint32_t { kBeginNode = 1, kEndNode = 2, kProperty = 3, kEnd = 9 };
constexpr std::uint32_t kMagic = 0xd00dfeed, kVersion = 17, kLastCompatible = 16;
constexpr std::uint32_t kHeaderBytes = 40, kReservationBytes = 16;

void add(Bytes& to, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to.push_back(static_cast<std::uint8_t>(word >> shift));
}

// With its NUL.
void add(Bytes& to, const std::string& text) {
  to.insert(to.end(), text.begin(), text.end());
  to.push_back(0);
}

void pad(Bytes& to) { to.resize((to.size() + 3) / 4 * 4); }

class Tree {
 public:
  void begin(const std::string& name) {
    add(structure_, kBeginNode);
    add(structure_, name);
    pad(structure_);
  }
  void end() { add(structure_, kEndNode); }
  void property(const std::string& name, const std::string& value) {
    add(structure_, kProperty);
    add(structure_, static_cast<std::uint32_t>(value.size() + 1));
    add(structure_, static_cast<std::uint32_t>(strings_.size()));
    add(strings_, name);
    add(structure_, value);
    pad(structure_);
  }
  Bytes flattened() {
    add(structure_, kEnd);
    const auto structure = static_cast<std::uint32_t>(structure_.size());
    const auto strings = static_cast<std::uint32_t>(strings_.size());
    const std::uint32_t structure_at = kHeaderBytes + kReservationBytes;
    Bytes out;
    for (const std::uint32_t word :
         {kMagic, structure_at + structure + strings, structure_at, structure_at + structure,
          kHeaderBytes, kVersion, kLastCompatible, 0u, strings, structure}) {
      add(out, word);
    }
    out.resize(structure_at);  // no reservations: one of zeros ends them
    out.insert(out.end(), structure_.begin(), structure_.end());
    out.insert(out.end(), strings_.begin(), strings_.end());
    return out;
  }

 private:
  Bytes structure_, strings_;
};

}  // namespace

Bytes firmware_overlay(const std::string& target, const std::string& file) {
  Tree tree;
  tree.begin("");
  tree.begin("fragment@0");
  tree.property("target-path", target);
  tree.begin("__overlay__");
  tree.property("firmware-name", file);
  tree.end();
  tree.end();
  tree.end();
  return tree.flattened();
}

}  // namespace fettle::agent
