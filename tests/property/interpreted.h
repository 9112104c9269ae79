// What property tests of lowering share: a module interpreted beside the reference, and how
// many cases of which seed are drawn.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/ir/interpreter.h"
#include "host/space/reference.h"
#include "host/space/wire_types.h"
#include "tests/support/compare.h"

namespace fettle::property {

// Empty: the module computes what is expected. NaN where nothing was written.
inline std::string difference(const ir::Module& module, const space::ExpectedTensor& expected,
                              int threads) {
  std::vector<std::vector<std::uint8_t>> buffers;
  std::size_t output = 0;
  for (std::size_t i = 0; i < module.buffers.size(); ++i) {
    const ir::ProgramBuffer& b = module.buffers[i];
    if (b.role == ir::Role::Output) output = i;
    if (b.role == ir::Role::Input || b.role == ir::Role::Constant) {
      auto bytes = space::filled(b.buffer, b.fill);
      if (!bytes) return bytes.error().text();
      buffers.push_back(std::move(*bytes));
    } else {
      buffers.emplace_back(b.buffer->elements() * b.buffer->type.bytes(),
                           0xFF);  // NaN
    }
  }
  if (auto problem = ir::interpret(module, buffers, threads)) return *problem;
  const auto type = space::wire_type(expected.type.scalar);
  const auto actual = testing::as_numbers(buffers[output], type),
             wanted = testing::as_numbers(expected.bytes, type);
  if (actual.size() != wanted.size()) return "size of the output";
  const auto [absolute, relative] = expected.tolerance;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::fabs(actual[i] - wanted[i]) <= absolute + relative * std::fabs(wanted[i]))) {
      return "element " + std::to_string(i) + ": " + std::to_string(actual[i]) + ", expected " +
             std::to_string(wanted[i]);
    }
  }
  return "";
}

// FETTLE_PROPERTY_SEED repeats one run; FETTLE_PROPERTY_TIMES=3 draws three times as many
// configurations in each test, FETTLE_PROPERTY_COUNT so many.
inline std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : fallback;
}

}  // namespace fettle::property
