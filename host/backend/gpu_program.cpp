// Launches of a GPU's programs (gpu_program.h).
#include "host/backend/gpu_program.h"

#include <cctype>

#include "host/backend/module_program.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend {
namespace {

using Extents = std::array<std::int64_t, 3>;

std::unique_ptr<wire::Dim3> dim(const Extents& of) {
  return std::make_unique<wire::Dim3>(static_cast<std::uint32_t>(of[0]),
                                      static_cast<std::uint32_t>(of[1]),
                                      static_cast<std::uint32_t>(of[2]));
}

const ir::Function& launched(const ir::Module& module, const ir::Launch& launch) {
  return module.functions[static_cast<std::size_t>(launch.function)];
}

}  // namespace

std::string kernel_name(const ir::Function& function) {
  std::string name = "fettle_" + function.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

wire::ProgramT gpu_module_program(const ir::Module& module, std::unique_ptr<wire::ImageT> image) {
  wire::ProgramT program = module_program(module);
  for (const ir::Function& function : module.functions) {
    image->entries.push_back(std::make_unique<wire::EntryPointT>());
    image->entries.back()->name = kernel_name(function);
  }
  program.images.push_back(std::move(image));
  for (std::size_t i = 0; i < module.launches.size(); ++i) {
    const lower::LaunchShape shape = lower::launch_shape(launched(module, module.launches[i]));
    program.launches[i]->grid = dim(shape.grid);
    program.launches[i]->block = dim(shape.block);
  }
  return program;
}

std::string launches_text(const ir::Module& module) {
  const auto dims = [](const Extents& d) {
    return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
  };
  std::string text;
  for (const ir::Launch& launch : module.launches) {
    const ir::Function& function = launched(module, launch);
    const lower::LaunchShape shape = lower::launch_shape(function);
    text += function.name + ": " + dims(shape.grid) + " blocks of " + dims(shape.block) +
            " threads, " + std::to_string(shape.shared_bytes) + " bytes shared" +
            (launch.prepare ? ", once when loaded\n" : "\n");
  }
  return text;
}

}  // namespace fettle::backend
