// Hand-made streams (vta_candidates.h).
#include "tests/support/vta_candidates.h"

#include <cassert>
#include <cstdlib>

#include "schemas/fill/fill.h"
#include "schemas/wire/content_hash.h"

namespace fettle::test {

using namespace vta;

namespace {

enum : std::uint32_t { kInput, kOutput, kUops, kIdentity };  // buffers

constexpr std::uint16_t kRows = kVtaElements / kVtaGrain;  // elements of 16 bytes

const Design& pynq() {
  static const Design design = *find_design("pynq");
  return design;
}

// Entry 0 of each memory: loops go on from there.
const Bytes& uops() {
  static const Bytes bytes(4, 0);
  return bytes;
}
const Bytes& identity() {
  static const Bytes bytes = [] {
    Bytes made(256, 0);
    for (std::size_t i = 0; i < 16; ++i) made[17 * i] = 1;
    return made;
  }();
  return bytes;
}

Transfer rows(Memory memory, std::uint16_t count) { return {memory, 0, 0, 1, count, count}; }
// Over the first `count` rows of ACC, and of INP or ACC.
Loops over(std::uint16_t count) {
  return {.uop_end = 1, .iter_out = 1, .iter_in = count, .dst_factor_in = 1, .src_factor_in = 1};
}

std::vector<Instruction> counting(std::uint16_t count) {
  std::vector<Instruction> stream = vta_good_stream();
  stream[kLoadInput].body = Load{rows(Memory::Input, count)};
  stream[kReset].body = Gemm{over(count), true};
  stream[kMultiply].body = Gemm{over(count)};
  stream[kMultiplyAgain].body = Alu{over(count), AluOp::Add, true, 1};
  stream[kStore].body = Store{rows(Memory::Output, count)};
  return stream;
}

std::vector<Instruction> slow() {
  std::vector<Instruction> stream = vta_good_stream();
  const Loops million{.uop_end = 1, .iter_out = 1024, .iter_in = 1024};
  stream.insert(stream.begin() + kReset, {{}, Gemm{million, true}});
  return stream;
}

std::vector<Instruction> storing_behind() {
  std::vector<Instruction> stream = vta_good_stream();
  std::get<Gemm>(stream[kReset].body).iter_in = kRows + 1;
  std::get<Store>(stream[kStore].body).x_size = kRows + 1;
  return stream;
}

// Relocations of a stream like kGood's: the first LOAD INP is from `input`.
std::vector<wire::Relocation> relocations_of(const std::vector<Instruction>& stream,
                                             std::uint32_t input) {
  std::vector<wire::Relocation> out;
  for (std::uint32_t i = 0; i < stream.size(); ++i) {
    const Transfer* transfer = std::get_if<Load>(&stream[i].body);
    if (!transfer) transfer = std::get_if<Store>(&stream[i].body);
    if (!transfer || transfer->x_size == 0) continue;
    constexpr std::uint32_t buffers[kMemories] = {kUops, kIdentity, kInput, kInput, kOutput};
    const auto memory = static_cast<std::size_t>(transfer->memory);
    out.emplace_back(i, transfer->memory == Memory::Input ? input : buffers[memory], 0);
  }
  return out;
}

wire::FillT input_fill() {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25;
  fill.high = 1;
  fill.stream = 1;
  return fill;
}

void add_buffer(wire::ProgramT& program, const char* name, std::uint64_t bytes,
                wire::BufferRole role) {
  program.buffers.push_back(std::make_unique<wire::BufferT>());
  wire::BufferT& buffer = *program.buffers.back();
  buffer.name = name;
  buffer.bytes = bytes;
  buffer.role = role;
  if (role == wire::BufferRole::Input) buffer.fill = std::make_unique<wire::FillT>(input_fill());
  if (role != wire::BufferRole::Constant) return;
  buffer.fill = std::make_unique<wire::FillT>();
  buffer.fill->kind = wire::FillKind::Blob;
  buffer.fill->blob = std::make_unique<wire::Hash>(
      content_hash(program.buffers.size() - 1 == kUops ? uops() : identity()));
}

wire::ProgramT without_image() {
  wire::ProgramT program;
  program.target = "vta";
  using wire::BufferRole;
  add_buffer(program, "data", kVtaElements * 4, BufferRole::Input);
  add_buffer(program, "result", kVtaElements * 4, BufferRole::Output);
  add_buffer(program, "uops", uops().size(), BufferRole::Constant);
  add_buffer(program, "weights", identity().size(), BufferRole::Constant);
  program.images.push_back(std::make_unique<wire::ImageT>());
  program.images[0]->kind = wire::ImageKind::VtaStream;
  program.images[0]->configuration = configuration_of(pynq());
  program.launches.push_back(std::make_unique<wire::LaunchT>());
  return program;
}

void append(wire::ImageT& image, const char* name, const std::vector<Instruction>& stream) {
  const Encoding encoding(pynq());
  std::vector<Word> words;
  for (const Instruction& each : stream) words.push_back(*encoding.encode(each));
  image.entries.push_back(std::make_unique<wire::EntryPointT>());
  image.entries.back()->name = name;
  image.entries.back()->offset = image.bytes.size();
  const Bytes bytes = bytes_of(words);
  image.bytes.insert(image.bytes.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::vector<Instruction> vta_good_stream() {
  return {
      {{}, Load{rows(Memory::Uop, 1)}},
      {{}, Load{rows(Memory::Input, kRows)}},
      {{.push_next = true}, Load{rows(Memory::Weight, 1)}},
      {{}, Gemm{over(kRows), true}},
      {{.pop_prev = true}, Gemm{over(kRows)}},
      {{.push_next = true}, Gemm{over(kRows)}},
      {{.pop_prev = true, .push_prev = true}, Store{rows(Memory::Output, kRows)}},
      {{.pop_next = true}, Load{{Memory::Uop}}},
      {{}, Finish{}},
  };
}

wire::ProgramT vta_program_of(const std::vector<Instruction>& stream) {
  wire::ProgramT program = without_image();
  append(*program.images[0], "stream", stream);
  program.launches[0]->relocations = relocations_of(stream, kInput);
  return program;
}

wire::ProgramT vta_candidate_program(CandidateKind kind, std::uint32_t extent) {
  const struct {
    CandidateKind kind;
    std::uint32_t extent;
    const char* name;
    std::vector<Instruction> stream;
  } entries[] = {{kGood, kVtaElements, "good", vta_good_stream()},
                 {kSlow, kVtaElements, "slow", slow()},
                 {kWriteBehind, kVtaElements, "write_behind", storing_behind()},
                 {kCount, kVtaElements, "count", counting(kRows)},
                 {kCount, kVtaGrain, "count_some", counting(1)}};
  wire::ProgramT program = without_image();
  bool found = false;
  for (std::uint32_t i = 0; i < std::size(entries); ++i) {
    append(*program.images[0], entries[i].name, entries[i].stream);
    if (entries[i].kind != kind || entries[i].extent != extent) continue;
    found = true;
    program.launches[0]->entry = i;
    program.launches[0]->relocations =
        relocations_of(entries[i].stream, kind == kCount ? kOutput : kInput);
  }
  if (!found) std::abort();  // the test's mistake
  return program;
}

Bytes vta_candidate_answer() {
  Bytes bytes(kVtaElements * 4);
  const auto filled = fill_bytes(input_fill(), bytes);
  assert(filled);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(2 * byte);
  return bytes;
}

double vta_counted(const std::uint8_t* bytes) {
  for (int i = 1; i < 4; ++i) {
    if (bytes[i] != bytes[0]) return -1;
  }
  return static_cast<std::uint8_t>(bytes[0] + 1);  // from 0xff on
}

ByteView vta_candidate_blob(const wire::Hash& hash) {
  for (const Bytes* blob : {&uops(), &identity()}) {
    if (to_hex(content_hash(*blob)) == to_hex(hash)) return *blob;
  }
  return {};
}

}  // namespace fettle::test
