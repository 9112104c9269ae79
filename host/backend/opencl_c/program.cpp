// ir::Module → wire::Program of an OpenCL device (program.h).
#include "host/backend/opencl_c/program.h"

#include "host/backend/gpu_program.h"
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
  return program;
}

}  // namespace fettle::backend::opencl_c
