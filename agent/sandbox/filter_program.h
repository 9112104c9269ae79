// A seccomp-bpf program, written down as nested tests and installed on all threads.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fettle::agent {

class FilterProgram {
 public:
  // Answers `otherwise` to calls by another architecture's table, and to x32's.
  explicit FilterProgram(std::uint32_t otherwise);

  // SECCOMP_RET_…
  void answer(std::uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }

  // What `body` says, for the call of that number; it must end with an answer.
  template <typename Body>
  void on(std::uint32_t number, Body body) {
    jump(BPF_JEQ, number, body);
  }
  void on(std::uint32_t number, std::uint32_t action) {
    on(number, [&] { answer(action); });
  }

  // Inside such a body: what an inner one says where the call's argument (from 0) is like that. The
  // kernel passes 64 bits of each; `low` tests are of the lower 32, for those that are an int.
  template <typename Body>
  void where_low_is(int argument, std::uint32_t value, Body body) {
    load(argument, 0);
    jump(BPF_JEQ, value, body);
  }
  template <typename Body>
  void where_low_has(int argument, std::uint32_t any_of_bits, Body body) {
    load(argument, 0);
    jump(BPF_JSET, any_of_bits, body);
  }
  template <typename Body>
  void where_low_masked_is(int argument, std::uint32_t mask, std::uint32_t value, Body body) {
    load(argument, 0);
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    jump(BPF_JEQ, value, body);
  }
  template <typename Body>
  void where_at_least(int argument, std::uint64_t value, Body body) {
    const auto high = static_cast<std::uint32_t>(value >> 32);
    load(argument, 1);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, high, 3, 0));
    jump(BPF_JEQ, high, [&] {
      load(argument, 0);
      jump(BPF_JGE, static_cast<std::uint32_t>(value), body);
    });
  }
  template <typename Body>
  void where_below(int argument, std::uint64_t value, Body body) {
    const auto high = static_cast<std::uint32_t>(value >> 32);
    load(argument, 1);
    jump_unless(BPF_JGT, high, [&] {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 2));
      load(argument, 0);
      jump_unless(BPF_JGE, static_cast<std::uint32_t>(value), body);
    });
  }

  // "" or why it could not be.
  std::string install() const;

 private:
  void load(int argument, int word);
  template <typename Body>
  void jump(int test, std::uint32_t value, Body body) {
    const std::size_t at = code_.size();
    code_.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, 0, 0));
    body();
    code_[at].jf = distance_from(at);
  }
  template <typename Body>
  void jump_unless(int test, std::uint32_t value, Body body) {
    const std::size_t at = code_.size();
    code_.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, 0, 0));
    body();
    code_[at].jt = distance_from(at);
  }
  std::uint8_t distance_from(std::size_t at);

  std::vector<sock_filter> code_;
  bool too_long_ = false;  // a jump over more than 255 steps
};

}  // namespace fettle::agent
