// ir::Module → wire::Program of an OpenCL device (program.h).
#include "host/backend/opencl_c/program.h"

#include "host/backend/gpu_program.h"
#include "host/backend/opencl_c/accesses.h"
#include "host/backend/opencl_c/source_writer.h"

namespace fettle::backend::opencl_c {

Result<wire::ProgramT> make_program(const ir::Module& module, const space::GpuTarget& target) {
  Result<std::string> source = make_source(module, target);
  if (!source) return std::move(source).error();
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::OpenClSource;
  image->bytes.assign(source->begin(), source->end());
  image->build_options = "-cl-std=CL1.2";
  wire::ProgramT program = gpu_module_program(module, std::move(image));
  program.target = "OpenCL C 1.2";
  for (std::size_t i = 0; i < module.launches.size(); ++i) {
    const ir::Function& function = module.functions[std::size_t(module.launches[i].function)];
    for (std::size_t a = 0; a < function.params.size(); ++a) {
      if (!reads_texels(function, a)) continue;
      const bool halves = function.params[a]->type.scalar == ir::Scalar::Float16;
      wire::Arg& arg = program.launches[i]->args[a];
      arg = wire::Arg(halves ? wire::ArgKind::TexelsFloat16 : wire::ArgKind::TexelsFloat32,
                      arg.buffer(), arg.offset(), 0, 0);
    }
  }
  return program;
}

}  // namespace fettle::backend::opencl_c
