// From CUDA C++ or PTX to images (kernel_compiler.h).
#include "host/backend/cuda_ptx/kernel_compiler.h"

#include "host/backend/cuda_ptx/nvrtc.h"
#include "host/backend/cuda_ptx/program.h"

namespace fettle::backend::cuda_ptx {
namespace {

class CudaKernelCompiler final : public KernelCompiler {
 public:
  explicit CudaKernelCompiler(const space::GpuTarget& target) : target_(target) {}

  Result<wire::ImageT> compile(const space::OwnKernel& kernel, const space::KernelPoint& point,
                               const std::vector<std::string>& entries) const override {
    const auto ptx = ptx_of(kernel, point, entries);
    if (!ptx) return ptx.error();
    std::vector<BlockOf> blocks;
    for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
      const auto [x, y, z] = point.launches[i].threads;
      for (std::size_t e = 0; e < entries.size(); ++e) {
        if (kernel.launches[i].entry == entries[e]) blocks.push_back({ptx->names[e], x * y * z});
      }
    }
    auto image = image_of_ptx(ptx->text, blocks, target_, Spills::Allowed);
    if (!image) return image;
    for (const std::string& name : ptx->names) {
      image->entries.push_back(std::make_unique<wire::EntryPointT>());
      image->entries.back()->name = name;
    }
    return image;
  }

  Result<std::string> listing(const space::OwnKernel& kernel, const space::KernelPoint& point,
                              const std::vector<std::string>& entries) const override {
    const auto ptx = ptx_of(kernel, point, entries);
    if (!ptx) return ptx.error();
    const bool own = kernel.language == space::KernelLanguage::Ptx;
    return (own ? "" : "--- PTX\n" + ptx->text) + "--- ptxas\n" + ptxas_text(ptx->text, target_);
  }

 private:
  Result<Ptx> ptx_of(const space::OwnKernel& kernel, const space::KernelPoint& point,
                     const std::vector<std::string>& entries) const {
    const std::string text = space::text_with_defines(kernel.source, point.defines);
    if (kernel.language == space::KernelLanguage::Ptx) return Ptx{text, entries};
    return compile_cuda(text, kernel.source.file, kernel.options, entries, target_);
  }

  space::GpuTarget target_;
};

}  // namespace

std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::GpuTarget& target) {
  if (language != space::KernelLanguage::CudaC && language != space::KernelLanguage::Ptx) {
    return nullptr;
  }
  return std::make_unique<CudaKernelCompiler>(target);
}

}  // namespace fettle::backend::cuda_ptx
