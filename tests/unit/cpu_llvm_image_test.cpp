// What an image is made of: no imports, nothing but relative relocations, no FMA where
// the CPU has none; and the runtime functions that it may hold.
#include <cstring>

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>
#include <limits>

#include "host/backend/cpu_llvm/calibration.h"
#include "host/backend/cpu_llvm/codegen.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/flatten.h"
#include "host/backend/cpu_llvm/link.h"
#include "host/backend/cpu_llvm/llvm_target.h"
#include "host/backend/cpu_llvm/object_writer.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/backend/cpu_llvm/runtime.h"
#include "host/backend/cpu_llvm/system_calls.h"
#include "host/lower/cpu/lowering.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/support/emulated_run.h"
#include "tests/support/native_run.h"
#include "tests/unit/cpu_llvm_cases.h"

namespace fettle::testing {
namespace {

namespace cpu = backend::cpu_llvm;

std::vector<space::CpuTarget> all_targets() {
  return {native_target(), aarch64_target(), armv7_target()};
}

const Case& find_case(const std::string& name) {
  static const std::vector<Case> cases = backend_cases();
  for (const Case& each : cases) {
    if (each.name == name) return each;
  }
  std::abort();
}

// LLVM assembly → object, linked with the runtime and flattened.
Result<wire::ImageT> image_of(const std::string& assembly, const space::CpuTarget& target) {
  auto machine = cpu::make_target_machine(target);
  if (!machine) return std::move(machine).error();
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(assembly, problem, context);
  if (module == nullptr) return Error{ErrorCode::Internal, problem.getMessage().str()};
  module->setTargetTriple((*machine)->getTargetTriple().str());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  auto object = cpu::write_object(*module, **machine);
  if (!object) return std::move(object).error();
  auto runtime = cpu::runtime_object(target);
  if (!runtime) return std::move(runtime).error();
  const std::span<const std::uint8_t> objects[] = {*object, **runtime};
  auto linked = cpu::link_shared_object(objects, target);
  if (!linked) return std::move(linked).error();
  const std::string entries[] = {"entry"};
  return cpu::flatten(*linked, target, entries);
}

TEST(Image, KernelsNeedNoRelocationAndNoData) {
  for (const space::CpuTarget& target : all_targets()) {
    for (const Case& each : backend_cases()) {
      Result<wire::ImageT> image = cpu::make_image(each.module, target);
      ASSERT_TRUE(image.ok()) << target.arch << " " << each.name << ": " << image.error().text();
      EXPECT_TRUE(image->cpu->relocations.empty()) << target.arch << " " << each.name;
      EXPECT_EQ(image->bytes.size(), image->cpu->text_bytes);
      EXPECT_LT(image->bytes.size(), 65536u) << "dynamic sections must not be in the image";
      ASSERT_EQ(image->entries.size(), each.module.functions.size());
      for (const auto& entry : image->entries) EXPECT_LT(entry->offset, image->cpu->text_bytes);
    }
  }
}

TEST(Image, AnImportIsABuildErrorThatNamesIt) {
  for (const space::CpuTarget& target : all_targets()) {
    Result<wire::ImageT> image = image_of(
        "declare float @cosf(float)\n"
        "define void @entry(ptr %a, i32 %b, i32 %e, i32 %t) nounwind {\n"
        "  %x = load float, ptr %a\n  %y = call float @cosf(float %x)\n  store float %y, ptr %a\n  "
        "ret void\n}",
        target);
    ASSERT_FALSE(image.ok()) << target.arch;
    EXPECT_EQ(image.error().code, ErrorCode::BuildError);
    EXPECT_NE(image.error().message.find("cosf"), std::string::npos) << image.error().message;
  }
}

TEST(Image, PointersInDataBecomeRelativeRelocations) {
  // entry stores *table[1] (which is 42) to the first buffer.
  const std::string assembly =
      "@a = internal global i32 41\n@b = internal global i32 42\n"
      "@table = hidden global [2 x ptr] [ptr @a, ptr @b]\n"
      "define void @entry(ptr %args, i32 %begin, i32 %end, i32 %thread) nounwind {\n"
      "  %to = load ptr, ptr %args\n"
      "  %slot = getelementptr [2 x ptr], ptr @table, i32 0, i32 1\n"
      "  %from = load volatile ptr, ptr %slot\n  %x = load i32, ptr %from\n"
      "  store i32 %x, ptr %to\n  ret void\n}";
  for (const space::CpuTarget& target : all_targets()) {
    SCOPED_TRACE(target.arch);
    Result<wire::ImageT> image = image_of(assembly, target);
    ASSERT_TRUE(image.ok()) << image.error().text();
    EXPECT_EQ(image->cpu->relocations.size(), 2u);
    EXPECT_EQ(image->cpu->data_offset % 65536, 0u);
    wire::ProgramT program;
    program.images.push_back(std::make_unique<wire::ImageT>(std::move(*image)));
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->bytes = 4;
    buffer->role = wire::BufferRole::Output;
    program.buffers.push_back(std::move(buffer));
    auto launch = std::make_unique<wire::LaunchT>();
    launch->args.emplace_back(wire::ArgKind::Buffer, 0, 0, 0, 0.0);
    program.launches.push_back(std::move(launch));
    if (target.arch != native_target().arch && !emulation_missing(target.arch).empty()) continue;
    Result<BufferBytes> out =
        target.arch == native_target().arch ? run_natively(program) : run_emulated(program);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[0], (std::vector<std::uint8_t>{42, 0, 0, 0}));
  }
}

// ARMv7 has no instruction for these.
TEST(Runtime, QuotientsAndRestsOfInt64) {
  const std::int64_t pairs[][2] = {{-7, 2},
                                   {7, -2},
                                   {(std::int64_t{1} << 40) + 3, 1000},
                                   {-(std::int64_t{1} << 62), 3},
                                   {std::numeric_limits<std::int64_t>::min(), 10},
                                   {5, std::int64_t{1} << 33}};
  std::string assembly, body;
  std::vector<std::int64_t> right;
  for (const auto& [a, b] : pairs) {
    const std::string i = std::to_string(right.size() / 2);
    assembly += "@a" + i + " = internal global i64 " + std::to_string(a) + "\n@b" + i +
                " = internal global i64 " + std::to_string(b) + "\n";
    body += "  %x" + i + " = load volatile i64, ptr @a" + i + "\n  %y" + i +
            " = load volatile i64, ptr @b" + i + "\n";
    for (const std::string op : {"sdiv", "srem"}) {
      const std::string place = std::to_string(right.size());
      body += "  %" + op + i + " = " + op + " i64 %x" + i + ", %y" + i + "\n  %to" + place +
              " = getelementptr i64, ptr %out, i32 " + place + "\n  store i64 %" + op + i +
              ", ptr %to" + place + "\n";
      right.push_back(op == "sdiv" ? a / b : a % b);
    }
  }
  assembly +=
      "define void @entry(ptr %args, i32 %begin, i32 %end, i32 %thread) nounwind {\n"
      "  %out = load ptr, ptr %args\n" +
      body + "  ret void\n}";
  for (const space::CpuTarget& target : all_targets()) {
    SCOPED_TRACE(target.arch);
    Result<wire::ImageT> image = image_of(assembly, target);
    ASSERT_TRUE(image.ok()) << image.error().text();
    wire::ProgramT program;
    program.images.push_back(std::make_unique<wire::ImageT>(std::move(*image)));
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->bytes = right.size() * sizeof(std::int64_t);
    buffer->role = wire::BufferRole::Output;
    program.buffers.push_back(std::move(buffer));
    auto launch = std::make_unique<wire::LaunchT>();
    launch->args.emplace_back(wire::ArgKind::Buffer, 0, 0, 0, 0.0);
    program.launches.push_back(std::move(launch));
    if (target.arch != native_target().arch && !emulation_missing(target.arch).empty()) continue;
    Result<BufferBytes> out =
        target.arch == native_target().arch ? run_natively(program) : run_emulated(program);
    ASSERT_TRUE(out.ok()) << out.error().text();
    std::vector<std::int64_t> made(right.size());
    ASSERT_EQ((*out)[0].size(), made.size() * sizeof made[0]);
    std::memcpy(made.data(), (*out)[0].data(), (*out)[0].size());
    EXPECT_EQ(made, right);
  }
}

// Calls memset, memcpy and both directions of memmove on one buffer of 200 bytes.
TEST(Runtime, MemoryFunctionsDoWhatTheirNamesSay) {
  for (const space::CpuTarget& target : all_targets()) {
    SCOPED_TRACE(target.arch);
    const std::string size = target.arch == "armv7" ? "i32" : "i64";
    const std::string assembly =
        "declare ptr @memset(ptr, i32, " + size + ")\ndeclare ptr @memcpy(ptr, ptr, " + size +
        ")\ndeclare ptr @memmove(ptr, ptr, " + size +
        ")\n"
        "define void @entry(ptr %args, i32 %begin, i32 %end, i32 %thread) nounwind {\n"
        "  %b = load ptr, ptr %args\n"
        "  %b10 = getelementptr i8, ptr %b, i32 10\n  %b50 = getelementptr i8, ptr %b, i32 50\n"
        "  %b55 = getelementptr i8, ptr %b, i32 55\n  %b100 = getelementptr i8, ptr %b, i32 100\n"
        "  call ptr @memset(ptr %b10, i32 7, " +
        size +
        " 35)\n"
        "  call ptr @memcpy(ptr %b100, ptr %b, " +
        size +
        " 47)\n"
        "  call ptr @memmove(ptr %b55, ptr %b50, " +
        size +
        " 90)\n"
        "  call ptr @memmove(ptr %b, ptr %b10, " +
        size +
        " 60)\n"
        "  ret void\n}";
    Result<wire::ImageT> image = image_of(assembly, target);
    ASSERT_TRUE(image.ok()) << image.error().text();
    wire::ProgramT program;
    program.images.push_back(std::make_unique<wire::ImageT>(std::move(*image)));
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->bytes = 200;
    buffer->fill = std::make_unique<wire::FillT>();
    buffer->fill->kind = wire::FillKind::UniformInt;
    buffer->fill->dtype = wire::ScalarType::UInt8;
    buffer->fill->high = 255;
    buffer->fill->stream = 5;
    program.buffers.push_back(std::move(buffer));
    auto launch = std::make_unique<wire::LaunchT>();
    launch->args.emplace_back(wire::ArgKind::Buffer, 0, 0, 0, 0.0);
    program.launches.push_back(std::move(launch));
    std::vector<std::uint8_t> expected = (*filled_buffers(program))[0];
    std::memset(&expected[10], 7, 35);
    std::memcpy(&expected[100], &expected[0], 47);
    std::memmove(&expected[55], &expected[50], 90);
    std::memmove(&expected[0], &expected[10], 60);
    if (target.arch != native_target().arch && !emulation_missing(target.arch).empty()) continue;
    Result<BufferBytes> out =
        target.arch == native_target().arch ? run_natively(program) : run_emulated(program);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ((*out)[0], expected);
  }
}

TEST(Profile, NoFusedMultiplyAddWhereTheCpuHasNone) {
  space::CpuTarget plain_x86 = native_target();
  plain_x86.fma = false;
  for (const space::CpuTarget& target : {armv7_target(), plain_x86}) {
    if (target.arch == "armv7" || native_target().arch == "x86_64") {
      Result<wire::ImageT> image = cpu::make_image(find_case("register_tile").module, target);
      ASSERT_TRUE(image.ok()) << image.error().text();
      Result<std::vector<cpu::Instruction>> code = cpu::disassemble(*image, target);
      ASSERT_TRUE(code.ok());
      const cpu::CodeCounts counts = cpu::count(*code, target.arch);
      EXPECT_EQ(counts.fused, 0) << target.arch;
      EXPECT_GT(counts.multiplies, 6) << target.arch;
    }
  }
}

// The scan must be able to fail: on CPUs with FMA it finds them.
TEST(Profile, TheScanSeesFusedMultiplyAdds) {
  space::CpuTarget a15 = armv7_target();
  a15.cpu = "cortex-a15";
  a15.fma = true;
  for (const space::CpuTarget& target : {a15, aarch64_target(), native_target()}) {
    if (!target.fma) continue;
    Result<wire::ImageT> image = cpu::make_image(find_case("register_tile").module, target);
    ASSERT_TRUE(image.ok()) << image.error().text();
    Result<std::vector<cpu::Instruction>> code = cpu::disassemble(*image, target);
    ASSERT_TRUE(code.ok());
    const cpu::CodeCounts counts = cpu::count(cpu::hottest_loop(*code, target.arch), target.arch);
    EXPECT_GE(counts.fused, 6) << target.arch << "\n" << cpu::to_text(*code);
    if (target.arch == "armv7") continue;  // the tile is larger than its 16 registers
    EXPECT_EQ(counts.stack_accesses, 0) << target.arch << "\n" << cpu::to_text(*code);
  }
}

// Constants between instructions are left out of the scan, instructions are not: a
// float like 0.390625 (0x3ec80000) decodes as a conditional multiply-add.
TEST(Profile, TheScanTellsInstructionsFromConstants) {
  const auto x = std::make_shared<const ir::BufferDecl>(ir::BufferDecl{"x", ir::kFloat32, {64}});
  const ir::Var task = ir::make_var("task");
  ir::Expr value = ir::load(x, {ir::ramp(ir::var_ref(task) * ir::int_imm(4), 1, 4)}, nullptr, 4);
  for (const double c : {0.390625, 2.25, -1.8984375}) {
    value = ir::mul_add(value, ir::float_imm(c, ir::kFloat32.with_lanes(4)), value);
  }
  ir::Module module;
  module.buffers.push_back({x, ir::Role::Output, {}});
  ir::Function function;
  function.name = "scale";
  function.params = {x}, function.written = {true}, function.parallel = task, function.extent = 16;
  function.body = ir::make_store(x, {ir::ramp(ir::var_ref(task) * ir::int_imm(4), 1, 4)}, value);
  module.functions.push_back(function);
  space::CpuTarget a15 = armv7_target();
  a15.cpu = "cortex-a15";
  a15.fma = true;
  for (const space::CpuTarget& target : {a15, aarch64_target()}) {
    const ir::Function* const functions[] = {&module.functions[0]};
    Result<cpu::Object> object = cpu::Compiler::make(target).value()->compile(functions);
    ASSERT_TRUE(object.ok()) << object.error().text();
    const std::span<const std::uint8_t> objects[] = {object->bytes};
    Result<std::vector<std::uint8_t>> linked = cpu::link_shared_object(objects, target);
    ASSERT_TRUE(linked.ok()) << linked.error().text();
    const std::string names[] = {"scale"};
    Result<wire::ImageT> image = cpu::flatten(*linked, target, names);
    ASSERT_TRUE(image.ok()) << image.error().text();
    std::uint64_t bytes = 0;
    for (const wire::CodeRange& range : image->cpu->code) bytes += range.end() - range.begin();
    Result<std::vector<cpu::Instruction>> code = cpu::disassemble(*image, target);
    ASSERT_TRUE(code.ok()) << code.error().text();
    for (const auto& each : *code) EXPECT_NE(each.mnemonic, "") << target.arch;
    EXPECT_EQ(cpu::count(*code, target.arch).fused, 3) << target.arch;
    // AArch64 keeps its constants in a section of their own.
    if (target.arch == "armv7") {
      EXPECT_LT(bytes, image->cpu->text_bytes);
    }
  }
}

// vfma.f32 q0, q1, q2 (A8.8.317) as the A9's profile must never see it.
TEST(Profile, AnFmaInAnArmImageIsFound) {
  const std::uint8_t vfma[] = {0x54, 0x0c, 0x02, 0xf2};
  Result<std::vector<cpu::Instruction>> code = cpu::disassemble(vfma, 0, armv7_target());
  ASSERT_TRUE(code.ok());
  ASSERT_EQ(code->size(), 1u);
  EXPECT_EQ((*code)[0].mnemonic, "vfma.f32");
  EXPECT_TRUE(cpu::is_fused("armv7", (*code)[0].mnemonic));
}

// vpdpbusd zmm1, zmm2, zmm3 and sdot v0.4s, v1.16b, v2.16b, by the architectures' manuals.
std::string kernel_with(const std::string& assembly) {
  return "define void @entry(ptr %args, i32 %begin, i32 %end, i32 %thread) nounwind {\n"
         "  call void asm sideeffect \"" +
         assembly + "\", \"~{memory}\"()\n  ret void\n}\n";
}

TEST(SystemCalls, AreFoundInMachineCode) {
  const std::vector<std::pair<space::CpuTarget, std::vector<std::string>>> cases = {
      {native_target(), {"syscall", "sysenter", "int $$0x80"}},
      {aarch64_target(), {"svc #0", "svc #1234"}},
      {armv7_target(), {"svc #0"}}};
  for (const auto& [target, calls] : cases) {
    for (const std::string& call : calls) {
      const auto image = image_of(kernel_with(call), target);
      ASSERT_TRUE(image.ok()) << image.error().text();
      const auto quiet = cpu::check_no_system_calls(*image, target);
      ASSERT_FALSE(quiet.ok()) << target.arch << ": " << call;
      EXPECT_EQ(quiet.error().code, ErrorCode::BuildError);
      EXPECT_NE(quiet.error().message.find(call.substr(0, 3)), std::string::npos)
          << quiet.error().text();
    }
  }
}

// Bytes of another instruction that look like one are none.
TEST(SystemCalls, ANumberIsNone) {
  const auto number = image_of(kernel_with("movl $$0x80cd050f, %eax"), native_target());
  ASSERT_TRUE(number.ok()) << number.error().text();
  EXPECT_TRUE(cpu::check_no_system_calls(*number, native_target()).ok());
}

TEST(Profile, DotProductsAreFound) {
  space::CpuTarget x86;
  x86.arch = "x86_64";
  const std::uint8_t vpdpbusd[] = {0x62, 0xf2, 0x6d, 0x48, 0x50, 0xcb};
  const std::uint8_t sdot[] = {0x20, 0x94, 0x82, 0x4e};
  const auto found = [](std::span<const std::uint8_t> bytes, const space::CpuTarget& target) {
    const auto code = cpu::disassemble(bytes, 0, target);
    return code.ok() && code->size() == 1 &&
           cpu::is_dot_product(target.arch, code->front().mnemonic);
  };
  EXPECT_TRUE(found(vpdpbusd, x86));
  EXPECT_TRUE(found(sdot, aarch64_target()));
  EXPECT_FALSE(cpu::is_dot_product("armv7", "smmla"));  // the upper half of a product of words
}

// The same sums for cores with the instruction and without: only the former's image has it,
// and a kernel made for them is refused for the others.
TEST(Profile, DotProductsOnlyWhereTheCpuHasThem) {
  const auto workload = space::Workload::parse(std::string(
      R"({"op":"conv2d","height":6,"width":6,"in_channels":8,"out_channels":16,"kernel":[3,3],"dtype":"int8"})"));
  ASSERT_TRUE(workload.ok());
  space::CpuTarget a76 = aarch64_target(), vnni, plain;
  a76.cpu = "cortex-a76", a76.features = {"+dotprod"};
  plain.arch = "x86_64", plain.cpu = "x86-64-v4";
  plain.vector_bits = 512, plain.vector_registers = 32, plain.fma = true;
  vnni = plain, vnni.features = {"+avx512vl", "+avx512vnni"};
  struct Pair {
    space::CpuTarget with, without;
  };
  for (const Pair& pair : {Pair{a76, aarch64_target()}, Pair{vnni, plain}}) {
    const auto dots = [&](const space::CpuTarget& target) {
      const auto task = space::open_cpu_space(workload->dag(), target);
      const auto module = lower::lower_configuration(*task, task->space().at(0));
      const auto image = cpu::make_image(*module, target);
      EXPECT_TRUE(image.ok());
      return cpu::count(*cpu::disassemble(*image, target), target.arch).dot_products;
    };
    EXPECT_GT(dots(pair.with), 0) << pair.with.arch;
    EXPECT_EQ(dots(pair.without), 0) << pair.without.arch;
    const auto task = space::open_cpu_space(workload->dag(), pair.with);
    const auto module = lower::lower_configuration(*task, task->space().at(0));
    EXPECT_FALSE(cpu::make_image(*module, pair.without).ok()) << pair.without.arch;
  }
}

// NEON, not the scalar VFP: a vector of four is one vmul or vmla.
TEST(Profile, TheA9UsesNeonForVectors) {
  const space::CpuTarget target = armv7_target();
  Result<wire::ImageT> image = cpu::make_image(find_case("register_tile").module, target);
  ASSERT_TRUE(image.ok()) << image.error().text();
  Result<std::vector<cpu::Instruction>> code = cpu::disassemble(*image, target);
  ASSERT_TRUE(code.ok());
  std::span<const cpu::Instruction> loop = cpu::hottest_loop(*code, target.arch);
  for (const cpu::Instruction& each : loop) {
    if (each.mnemonic.starts_with("vmul") || each.mnemonic.starts_with("vmla")) {
      EXPECT_TRUE(each.operands.starts_with("q")) << each.mnemonic << " " << each.operands;
    }
  }
  EXPECT_EQ(cpu::count(loop, target.arch).multiplies, 24) << cpu::to_text(loop);
}

TEST(Calibration, ProgramsBuildEverywhereAndKeepTheirChainsInRegisters) {
  std::vector<space::CpuTarget> targets = all_targets();
  targets.push_back(aarch64_target());
  targets.back().cpu = "cortex-a76", targets.back().features = {"+dotprod"};
  for (space::CpuTarget& target : targets) {
    target.threads = 2;
    Result<std::vector<backend::CalibrationProgram>> programs = cpu::cpu_calibration(target);
    ASSERT_TRUE(programs.ok()) << programs.error().text();
    const std::size_t arithmetic = target.sums_of_byte_products() ? 2 : 1;
    const bool first_cache = !target.caches.empty() && target.caches[0].level == 1;
    EXPECT_EQ(programs->size(), 2 * (arithmetic + 2 + target.caches.size() + first_cache));
    for (const backend::CalibrationProgram& each : *programs) {
      const bool integers = each.ceiling == backend::Ceiling::IntegerArithmetic;
      if (each.ceiling != backend::Ceiling::Arithmetic && !integers) continue;
      Result<std::vector<cpu::Instruction>> code =
          cpu::disassemble(*each.program.images[0], target);
      ASSERT_TRUE(code.ok());
      const cpu::CodeCounts loop = cpu::count(cpu::hottest_loop(*code, target.arch), target.arch);
      EXPECT_GE(integers ? loop.dot_products : loop.fused + loop.multiplies, 8) << target.arch;
      EXPECT_EQ(loop.loads + loop.stores, 0) << target.arch << "\n"
                                             << cpu::to_text(cpu::hottest_loop(*code, target.arch));
    }
  }
}

// The sums are in the outputs, so nothing of the reading was left out.
TEST(Calibration, BandwidthProgramsReadAllTheirBytes) {
  int added = 0;
  Result<std::vector<backend::CalibrationProgram>> programs = cpu::cpu_calibration(native_target());
  ASSERT_TRUE(programs.ok()) << programs.error().text();
  for (const backend::CalibrationProgram& each : *programs) {
    if (each.ceiling != backend::Ceiling::Bandwidth || each.cache_level != 1) continue;
    Result<BufferBytes> buffers = run_natively(each.program);
    ASSERT_TRUE(buffers.ok()) << buffers.error().text();
    if (each.name.starts_with("add in L1")) {
      added += each.threads == 1;
      for (std::size_t i = 0; i < (*buffers)[2].size(); i += 4) {
        float a = 0, b = 0, to = 0;
        std::memcpy(&a, &(*buffers)[0][i], 4), std::memcpy(&b, &(*buffers)[1][i], 4);
        std::memcpy(&to, &(*buffers)[2][i], 4);
        ASSERT_EQ(to, a + b) << i;
      }
      Result<std::vector<cpu::Instruction>> code =
          cpu::disassemble(*each.program.images[0], native_target());
      ASSERT_TRUE(code.ok());
      const cpu::CodeCounts loop =
          cpu::count(cpu::hottest_loop(*code, native_target().arch), native_target().arch);
      EXPECT_GE(loop.loads, 2 * loop.stores);
      EXPECT_GE(loop.stores, 4);
      continue;
    }
    double sum = 0, start = 0;
    for (std::size_t i = 0; i < (*buffers)[2].size(); i += 4) {
      float value = 0;
      std::memcpy(&value, &(*buffers)[2][i], 4), sum += value;
      std::memcpy(&value, &(*buffers)[1][i], 4), start += value;
    }
    EXPECT_NEAR((sum - start) / (0.5 * each.bytes / 4), 1.0, 1e-3) << each.name;
  }
  EXPECT_EQ(added, native_target().caches.empty() ? 0 : 1);
}

}  // namespace
}  // namespace fettle::testing
