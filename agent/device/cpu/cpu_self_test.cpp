// The CPU's self-test: machine code of this architecture that stores 1.0f.
#include "agent/device/cpu/cpu_device.h"
#include "schemas/wire/native_arch.h"

namespace fettle::agent {

SelfTestProgram cpu_self_test(const wire::DeviceInfoT&) {
  // *(float*)args[0] = 1.0f; return
#if defined(__x86_64__)
  static const std::uint8_t code[] = {0x48, 0x8b, 0x07,                    // mov rax, [rdi]
                                      0xc7, 0x00, 0x00, 0x00, 0x80, 0x3f,  // mov dword [rax], 1.0f
                                      0xc3};                               // ret
#elif defined(__aarch64__)
  static const std::uint8_t code[] = {0x00, 0x00, 0x40, 0xf9,   // ldr x0, [x0]
                                      0x01, 0xf0, 0xa7, 0x52,   // mov w1, #0x3f800000
                                      0x01, 0x00, 0x00, 0xb9,   // str w1, [x0]
                                      0xc0, 0x03, 0x5f, 0xd6};  // ret
#else
  static const std::uint8_t code[] = {0x00, 0x00, 0x90, 0xe5,   // ldr r0, [r0]
                                      0xfe, 0x15, 0xa0, 0xe3,   // mov r1, #0x3f800000
                                      0x00, 0x10, 0x80, 0xe5,   // str r1, [r0]
                                      0x1e, 0xff, 0x2f, 0xe1};  // bx lr
#endif
  SelfTestProgram out;
  out.answer = {1.0f};
  wire::ProgramT& program = out.program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::CpuImage;
  image->bytes.assign(std::begin(code), std::end(code));
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = native_arch();
  image->cpu->text_bytes = image->cpu->memory_bytes = sizeof code;
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = "store_one";
  image->entries.push_back(std::move(entry));
  program.images.push_back(std::move(image));
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = "out";
  buffer->bytes = 4;
  buffer->role = wire::BufferRole::Output;
  program.buffers.push_back(std::move(buffer));
  auto launch = std::make_unique<wire::LaunchT>();
  launch->args.push_back(wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0));
  program.launches.push_back(std::move(launch));
  return out;
}

}  // namespace fettle::agent
