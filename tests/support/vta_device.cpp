// Programs on the simulator (vta_device.h).
#include "tests/support/vta_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "schemas/fill/fill.h"

namespace fettle::testing {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 28, kPage = 4096;

[[noreturn]] void mistake(const std::string& what) {
  std::fprintf(stderr, "no program for VTA: %s\n", what.c_str());
  std::abort();
}

}  // namespace

VtaMemory::VtaMemory(const vta::Design& design, const wire::ProgramT& program)
    : design_(design), program_(program) {
  std::uint64_t end = 0;
  for (const auto& buffer : program.buffers) {
    places_.push_back(end);
    end += (buffer->bytes + kPage - 1) / kPage * kPage + kPage;
  }
  image_.assign(end, 0xa5);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    if (buffer.role == wire::BufferRole::Output) continue;
    const auto filled = fill_buffer(*buffer.fill, {}, {image_.data() + places_[i], buffer.bytes});
    if (!filled) mistake(filled.error().text());
  }
  if (program.images.size() != 1 || program.launches.size() != 1) mistake("it has one launch");
  auto stream = vta::words_of(program.images[0]->bytes);
  if (!stream) mistake(stream.error().text());
  words = std::move(*stream);
  for (const wire::Relocation& each : program.launches[0]->relocations) {
    const auto set = vta::set_dram_address(design, words.at(each.instruction()),
                                           kBase + places_.at(each.buffer()) + each.offset());
    if (!set) mistake(set.error().text());
  }
}

std::vector<vta::Region> VtaMemory::regions() const {
  std::vector<vta::Region> regions;
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program_.buffers[i];
    const bool writable = buffer.role == wire::BufferRole::Output;
    const ByteView contents{image_.data() + places_[i], buffer.bytes};
    regions.push_back({buffer.name, kBase + places_[i], buffer.bytes, writable,
                       writable ? ByteView() : contents});
  }
  return regions;
}

Result<vta::StreamFacts> VtaMemory::verify() const {
  return vta::verify(design_, words, regions());
}

Result<void> VtaMemory::check_determined() const {
  return vta::check_determined(design_, words, regions());
}

Result<vta::SimulatedRun> VtaMemory::run() {
  auto simulator = vta::Simulator::create(design_);
  if (!simulator) return std::move(simulator).error();
  const Bytes stream = vta::bytes_of(words);
  const std::size_t at = image_.size();
  image_.insert(image_.end(), stream.begin(), stream.end());
  vta::DramImage dram(kBase, image_);
  auto run = simulator->run(dram, kBase + at, static_cast<std::uint32_t>(words.size()));
  image_.resize(at);
  return run;
}

std::size_t VtaMemory::index_of(const std::string& name) const {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    if (program_.buffers[i]->name == name) return i;
  }
  mistake("it has no buffer " + name);
}

ByteView VtaMemory::buffer(const std::string& name) const {
  const std::size_t i = index_of(name);
  return {image_.data() + places_[i], program_.buffers[i]->bytes};
}

}  // namespace fettle::testing
