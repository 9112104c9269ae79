// Board and DeviceInfo to JSON, table by table of schemas/device.fbs.
#include "host/records/facts_json.h"

#include "schemas/wire/content_hash.h"

namespace fettle::records {
namespace {

Json to_json(const wire::CpuFactsT& cpu) {
  Json caches = Json::array();
  for (const auto& cache : cpu.caches) {
    if (!cache) continue;
    caches.push_back({{"level", cache->level},
                      {"kind", cache->kind},
                      {"bytes", cache->bytes},
                      {"line_bytes", cache->line_bytes},
                      {"shared_by", cache->shared_by}});
  }
  return {
      {"arch", cpu.arch},         {"triple", cpu.triple},         {"cpu", cpu.cpu},
      {"features", cpu.features}, {"cores", cpu.cores},           {"vector_bits", cpu.vector_bits},
      {"max_khz", cpu.max_khz},   {"page_bytes", cpu.page_bytes}, {"caches", std::move(caches)}};
}

Json to_json(const wire::GpuFactsT& gpu) {
  return {{"vendor", gpu.vendor},
          {"api_version", gpu.api_version},
          {"driver_version", gpu.driver_version},
          {"compute_capability", gpu.compute_capability},
          {"compute_units", gpu.compute_units},
          {"max_threads_per_block", gpu.max_threads_per_block},
          {"shared_bytes_per_block", gpu.shared_bytes_per_block},
          {"registers_per_block", gpu.registers_per_block},
          {"warp_size", gpu.warp_size},
          {"global_memory_bytes", gpu.global_memory_bytes},
          {"extensions", gpu.extensions}};
}

Json to_json(const wire::FpgaFactsT& fpga) {
  Json json = {
      {"part", fpga.part}, {"configuration", fpga.configuration}, {"clock_khz", fpga.clock_khz}};
  if (fpga.bitstream) json["bitstream"] = to_hex(*fpga.bitstream);
  return json;
}

}  // namespace

Json to_json(const wire::BoardT& board) {
  return {{"id", board.id},         {"model", board.model},
          {"serial", board.serial}, {"hostname", board.hostname},
          {"kernel", board.kernel}, {"agent_version", board.agent_version}};
}

Json to_json(const wire::DeviceInfoT& device) {
  Json json = {{"key", device.key},
               {"index", device.index},
               {"kind", wire::EnumNameDeviceKind(device.kind)},
               {"name", device.name},
               {"clock", wire::EnumNameClockDomain(device.clock)},
               {"clock_hz", number_json(device.clock_hz)},
               {"memory_limit_bytes", device.memory_limit_bytes},
               {"sandbox", wire::EnumNameSandbox(device.sandbox)},
               {"queue_depth", device.queue_depth},
               {"emulated", device.emulated}};
  if (!device.profile.empty()) json["profile"] = device.profile;
  if (!device.aliases.empty()) json["aliases"] = device.aliases;
  if (device.cpu) json["cpu"] = to_json(*device.cpu);
  if (device.gpu) json["gpu"] = to_json(*device.gpu);
  if (device.fpga) json["fpga"] = to_json(*device.fpga);
  Json extra = Json::object();
  for (const auto& pair : device.extra) {
    if (pair) extra[pair->name] = pair->value;
  }
  if (!extra.empty()) json["extra"] = std::move(extra);
  return json;
}

}  // namespace fettle::records
