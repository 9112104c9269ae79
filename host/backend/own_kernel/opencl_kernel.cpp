// Images of OpenCL C (opencl_kernel.h).
#include "host/backend/own_kernel/opencl_kernel.h"

namespace fettle::backend {
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
  Result<std::string> listing(const wire::ImageT&) const override { return std::string(); }
};

}  // namespace

Result<std::unique_ptr<const Task>> open_opencl_kernel(space::OwnKernel kernel,
                                                       const space::Target& target) {
  return open_kernel_task(std::move(kernel), target, std::make_unique<OpenClKernelCompiler>());
}

}  // namespace fettle::backend
