// Any bytes as a program's stream and relocations, on the agent's way: what the wire's check and
// the loader pass must run to its end on the simulated accelerator, and change nothing but its
// output.
#include <algorithm>
#include <cstdlib>

#include "runtime/loaded_program.h"
#include "runtime/vta/simulated_accelerator.h"
#include "runtime/vta/vta_executor.h"
#include "runtime/vta/vta_image.h"
#include "runtime/vta/vta_memory.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/vta_candidates.h"

using namespace fettle;

namespace {

constexpr std::size_t kRelocationBytes = 4;  // instruction, buffer, offset of two bytes

// More would take long: the loader looks at each of them.
bool is_short(const vta::Encoding& encoding, std::span<const vta::Word> words) {
  std::uint64_t steps = 0;
  for (const vta::Word& word : words) {
    const auto instruction = encoding.decode(word);
    if (!instruction) continue;
    if (const auto* gemm = std::get_if<vta::Gemm>(&instruction->body)) steps += gemm->steps();
    if (const auto* alu = std::get_if<vta::Alu>(&instruction->body)) steps += alu->steps();
  }
  return steps <= 20'000;
}

Bytes copy_of(const runtime::BufferMemory& buffer) {
  return {buffer.data().begin(), buffer.data().end()};
}

}  // namespace

// A byte that counts relocations, they, and instructions.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vta::Design design = *vta::find_design("pynq");
  static const auto accelerator = *runtime::make_simulated_accelerator(design, 1 << 20);
  if (size < 1 || size < 1 + data[0] * kRelocationBytes) return 0;
  wire::ProgramT program = test::vta_program_of(test::vta_good_stream());
  auto& relocations = program.launches[0]->relocations;
  relocations.clear();
  const std::uint8_t* at = data + 1;
  for (std::uint8_t i = 0; i < data[0]; ++i, at += kRelocationBytes) {
    relocations.emplace_back(at[0], at[1], at[2] + 256u * at[3]);
  }
  wire::ImageT& image = *program.images[0];
  image.bytes.assign(at, data + size);
  if (!decode_program(encode(program))) return 0;
  const auto words = vta::words_of(image.bytes);
  if (!words) std::abort();
  if (!is_short(vta::Encoding(design), *words)) return 0;

  runtime::Arena arena(accelerator->memory());
  runtime::VtaMemory memory(arena);
  runtime::VtaLoader loader(design);
  runtime::VtaExecutor executor(*accelerator, arena);
  const runtime::Kind kinds[] = {{wire::ImageKind::VtaStream, loader, executor}};
  auto loaded = runtime::LoadedProgram::load(program, memory, kinds, test::vta_candidate_blob);
  if (!loaded) {
    if (loaded.error().message.empty()) std::abort();
    return 0;
  }
  std::vector<Bytes> before;
  for (const auto& buffer : loaded->buffers()) before.push_back(copy_of(*buffer));
  if (!loaded->run(2)) std::abort();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const runtime::BufferMemory& buffer = *loaded->buffers()[i];
    if (*buffer.damage() != "") std::abort();
    if (buffer.read_only() && copy_of(buffer) != before[i]) std::abort();
  }
  return 0;
}

// The hand-made candidates.
std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds;
  for (const bool counts : {false, true}) {
    std::vector<vta::Instruction> stream = test::vta_good_stream();
    const wire::ProgramT program = counts ? test::vta_candidate_program(kCount, test::kVtaGrain)
                                          : test::vta_program_of(stream);
    const wire::ImageT& image = *program.images[0];
    const auto& relocations = program.launches[0]->relocations;
    Bytes seed = {static_cast<std::uint8_t>(relocations.size())};
    for (const wire::Relocation& each : relocations) {
      for (const std::uint64_t byte :
           {std::uint64_t{each.instruction()}, std::uint64_t{each.buffer()}, each.offset() & 255,
            each.offset() >> 8}) {
        seed.push_back(static_cast<std::uint8_t>(byte));
      }
    }
    const std::uint64_t begin = image.entries[program.launches[0]->entry]->offset;
    seed.insert(seed.end(), image.bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                image.bytes.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}
