// The kinds of device this agent can drive: one visible table in registry.cpp.
#pragma once

#include <memory>
#include <span>

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/platform/system_root.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {

// Its workers are forked from the nursery.
struct DeviceRow {
  wire::DeviceKind kind;
  const char* name;  // of --device-kind
  // Facts without touching the device: the supervisor's Hello needs them.
  wire::DeviceInfoT (*describe)(const DeviceConfig&, const SystemRoot&);
  // Opens the device; called in the worker, before its sandbox closes.
  Result<std::unique_ptr<Device>> (*open)(const wire::DeviceInfoT&);
  // What a worker may, beyond what it has mapped when the device is open.
  SandboxPolicy (*sandbox)(const wire::DeviceInfoT&);
  SelfTestProgram (*self_test)();
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
// One more row, of an agent that brings its own device; before anything else is asked.
void add_device_row(const DeviceRow& row);

}  // namespace fettle::agent
