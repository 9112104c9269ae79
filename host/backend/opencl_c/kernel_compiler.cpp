// Images of OpenCL C (kernel_compiler.h).
#include "host/backend/opencl_c/kernel_compiler.h"

namespace fettle::backend::opencl_c {
namespace {

class OpenClKernelCompiler final : public KernelCompiler {
 public:
  Result<wire::ImageT> compile(const space::OwnKernel& kernel, const space::KernelPoint& point,
                               const std::vector<std::string>& entries) const override {
    wire::ImageT image;
    image.kind = wire::ImageKind::OpenClSource;
    const std::string text = space::text_with_defines(kernel.source, point.defines);
    image.bytes.assign(text.begin(), text.end());
    image.build_options = kernel.options;
    for (const std::string& name : entries) {
      image.entries.push_back(std::make_unique<wire::EntryPointT>());
      image.entries.back()->name = name;
    }
    return image;
  }
  Result<std::string> listing(const space::OwnKernel&, const space::KernelPoint&,
                              const std::vector<std::string>&) const override {
    return std::string();  // the source is all that leaves this machine
  }
};

}  // namespace

std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::GpuTarget&) {
  if (language != space::KernelLanguage::OpenClC) return nullptr;
  return std::make_unique<OpenClKernelCompiler>();
}

}  // namespace fettle::backend::opencl_c
