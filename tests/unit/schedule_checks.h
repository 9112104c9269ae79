// Schedules by hand, lowered and interpreted beside the reference evaluator.
#pragma once

#include <cstring>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/ir/interpreter.h"
#include "host/ir/printer.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/reference.h"
#include "host/space/workload.h"

namespace fettle::lower {

using namespace space;

inline CpuTarget target() {
  return {"x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 2};
}

inline Workload workload_of(const nlohmann::json& fields) { return *Workload::parse(fields); }

using Change = std::function<void(ir::Module& module)>;

// The schedule's program computes what `dag` says. change: what is done to the program before.
inline void expect_equal(const Schedule& schedule, const ComputeDag& dag,
                         const Change& change = nullptr) {
  auto module = lower_schedule(schedule, target());
  ASSERT_TRUE(module) << module.error().text();
  if (change) change(*module);
  const auto expected = evaluate(dag);
  ASSERT_TRUE(expected);
  std::vector<std::vector<std::uint8_t>> buffers;
  std::size_t output = 0;
  for (std::size_t i = 0; i < module->buffers.size(); ++i) {
    const auto& b = module->buffers[i];
    if (b.role == ir::Role::Output) output = i;
    const bool given = b.role == ir::Role::Input || b.role == ir::Role::Constant;
    buffers.push_back(given
                          ? *filled(b.buffer, b.fill)
                          : std::vector<std::uint8_t>(std::size_t(b.buffer->elements()) * 4, 0xFF));
  }
  const auto problem = ir::interpret(*module, buffers, 2);
  ASSERT_FALSE(problem) << *problem << "\n" << ir::print(*module);
  if (!expected->front().type.is_float()) {
    ASSERT_EQ(buffers[output], expected->front().bytes) << ir::print(*module);
    return;
  }
  for (std::size_t i = 0; i < expected->front().bytes.size(); i += 4) {
    float actual, wanted;
    std::memcpy(&actual, &buffers[output][i], 4);
    std::memcpy(&wanted, &expected->front().bytes[i], 4);
    ASSERT_NEAR(actual, wanted, 1e-5) << "element " << i / 4 << "\n" << ir::print(*module);
  }
}

// Of a DAG scheduled by these steps.
inline void expect_right(const ComputeDag& dag, const std::vector<Step>& steps,
                         const Change& change = nullptr) {
  Schedule schedule(dag);
  for (const Step& step : steps) {
    const auto done = schedule.apply(step);
    ASSERT_TRUE(done) << const_cast<Result<void>&>(done).error().text();
  }
  EXPECT_EQ(schedule.steps().size(), steps.size());
  expect_equal(schedule, dag, change);
}

inline void expect_right(const Workload& workload, const std::vector<Step>& steps,
                         const Change& change = nullptr) {
  expect_right(workload.dag(), steps, change);
}

}  // namespace fettle::lower
