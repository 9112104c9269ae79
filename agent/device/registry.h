// The kinds of device this agent can drive: one visible table in registry.cpp.
#pragma once

#include <span>
#include <variant>

#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/device/worker_row.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

// Workers that need a vendor's shared libraries, which a static program cannot load, are
// programs of their own, embedded in the agent. Each has a table of WorkerRows itself.
enum class WorkerProgram : std::uint8_t {
  Gpu  // fettle-worker-gpu
};

struct DeviceRow {
  wire::DeviceKind kind;
  const char* name;  // of --device-kind
  // Facts without touching the device: the supervisor's Hello needs them. What only the
  // driver knows, the worker adds when it is ready (take_facts).
  wire::DeviceInfoT (*describe)(const DeviceConfig&, const SystemRoot&);
  // Its workers: forked from the nursery with this row, or that program, executed.
  std::variant<WorkerRow, WorkerProgram> worker;
  SelfTestProgram (*self_test)(const wire::DeviceInfoT&);
  // Options of its devices beside those of every kind.
  std::span<const DeviceOption> options;
};

// Completes what `describe` said by what a worker saw: facts of the device. What it is called,
// how it is reached and what it may hold stay the supervisor's. False, and nothing taken: the
// worker speaks of another device.
bool take_facts(wire::DeviceInfoT& described, const wire::DeviceInfoT& seen);

// All rows, those of this build first.
std::span<const DeviceRow> device_rows();
const DeviceRow* find_device_row(wire::DeviceKind kind);
// The row of an agent that brings its own device: one more, or in the place of its kind's; before
// anything else is asked.
void add_device_row(const DeviceRow& row);

}  // namespace fettle::agent
