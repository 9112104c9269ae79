// OpenCL programs in this process (opencl_run.h).
#include "tests/support/opencl_run.h"

#include "agent/device/opencl/opencl_device.h"
#include "agent/device/opencl/opencl_row.h"
#include "runtime/opencl/opencl_image.h"
#include "schemas/fill/fill.h"

namespace fettle::testing {

Result<OpenClRun> OpenClRun::open() {
  agent::DeviceConfig config;
  config.key = "opencl", config.kind = wire::DeviceKind::OpenCl;
  auto device = agent::open_opencl(agent::describe_opencl(config, agent::SystemRoot()));
  if (!device) return std::move(device).error();
  return OpenClRun(std::move(*device));
}

Result<std::vector<Bytes>> OpenClRun::run(const wire::ProgramT& program, const BlobLookup& blobs) {
  const BlobLookup no_blobs = [](const wire::Hash&) { return ByteView(); };
  agent::PrepareOptions options;
  options.threads = 1;
  if (auto ready = device_->prepare(program, options, blobs ? blobs : no_blobs); !ready) {
    return std::move(ready).error();
  }
  if (auto sample = device_->run(1, false); !sample) return std::move(sample).error();
  std::vector<Bytes> all;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    const auto bytes = device_->read(i);
    if (!bytes) return bytes.error();
    all.emplace_back(bytes->begin(), bytes->end());
  }
  if (auto clean = device_->check_surroundings(); !clean) return std::move(clean).error();
  device_->reset();
  return all;
}

Result<WatchedOpenCl> WatchedOpenCl::open(const std::string& library) {
  auto driver = runtime::OpenClDriver::load(library);
  if (!driver) return std::move(driver).error();
  WatchedOpenCl made(std::move(*driver));
  const auto& call = made.driver_->call();
  runtime::OpenClQueue& queue = made.queue_;
  cl_platform_id platform = nullptr;
  cl_int result = call.GetPlatformIDs(1, &platform, nullptr);
  if (result == CL_SUCCESS) {
    result = call.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &queue.device, nullptr);
  }
  if (result == CL_SUCCESS) {
    queue.context = call.CreateContext(nullptr, 1, &queue.device, nullptr, nullptr, &result);
  }
  if (result == CL_SUCCESS) {
    queue.queue = call.CreateCommandQueue(queue.context, queue.device, 0, &result);
  }
  if (auto done = made.driver_->check(result, "opening its device"); !done) {
    return std::move(done).error();
  }
  return made;
}

Result<std::vector<Bytes>> WatchedOpenCl::run(const wire::ProgramT& program) {
  const auto& call = driver_->call();
  std::vector<Bytes> all;
  std::vector<cl_mem> memory, images;
  cl_int result = CL_SUCCESS;
  const auto texels = [&](cl_mem buffer, bool halves, std::uint64_t bytes) {
    const cl_image_format format{CL_RGBA, cl_channel_type(halves ? CL_HALF_FLOAT : CL_FLOAT)};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.image_width = bytes / (halves ? 8 : 16);
    desc.buffer = buffer;
    return call.CreateImage(queue_.context, CL_MEM_READ_ONLY, &format, &desc, nullptr, &result);
  };
  for (const auto& buffer : program.buffers) {
    Bytes bytes(buffer->bytes, 0);
    if (buffer->role == wire::BufferRole::Output) bytes.assign(buffer->bytes, 0xFF);
    if (buffer->fill && buffer->fill->kind != wire::FillKind::Zero &&
        buffer->role != wire::BufferRole::Output) {
      if (auto filled = fill_bytes(*buffer->fill, bytes); !filled) {
        return std::move(filled).error();
      }
    }
    memory.push_back(call.CreateBuffer(queue_.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       bytes.size(), bytes.data(), &result));
    if (auto made = driver_->check(result, "clCreateBuffer"); !made) {
      return std::move(made).error();
    }
    all.push_back(std::move(bytes));
  }
  const wire::ImageT& image = *program.images[0];
  auto loaded = runtime::OpenClLoader(queue_).load(image, image.bytes);
  if (!loaded) return std::move(loaded).error();
  for (const auto& launch : program.launches) {
    const auto& entry = *static_cast<const runtime::OpenClEntry*>((*loaded)->entry(launch->entry));
    cl_kernel kernel = call.CreateKernel(entry.program, entry.name.c_str(), &result);
    if (auto made = driver_->check(result, "clCreateKernel"); !made) {
      return std::move(made).error();
    }
    cl_uint parameter = 0;
    for (const wire::Arg& arg : launch->args) {
      cl_mem each = memory[arg.buffer()];
      if (arg.kind() != wire::ArgKind::Buffer) {
        each = texels(each, arg.kind() == wire::ArgKind::TexelsFloat16,
                      program.buffers[arg.buffer()]->bytes);
        images.push_back(each);
      }
      call.SetKernelArg(kernel, parameter++, sizeof(cl_mem), &each);
      const cl_int begin = 0;
      if (arg.kind() != wire::ArgKind::Buffer) {
        call.SetKernelArg(kernel, parameter++, sizeof begin, &begin);
      }
    }
    const wire::Dim3 &grid = *launch->grid, &block = *launch->block;
    const std::size_t local[] = {block.x(), block.y(), block.z()},
                      global[] = {grid.x() * local[0], grid.y() * local[1], grid.z() * local[2]};
    result = call.EnqueueNDRangeKernel(queue_.queue, kernel, 3, nullptr, global, local, 0, nullptr,
                                       nullptr);
    if (result == CL_SUCCESS) result = call.Finish(queue_.queue);
    call.ReleaseKernel(kernel);
    if (auto ran = driver_->check(result, "clEnqueueNDRangeKernel"); !ran) {
      return std::move(ran).error();
    }
  }
  for (cl_mem image : images) call.ReleaseMemObject(image);
  for (std::size_t i = 0; i < all.size(); ++i) {
    call.EnqueueReadBuffer(queue_.queue, memory[i], CL_TRUE, 0, all[i].size(), all[i].data(), 0,
                           nullptr, nullptr);
    call.ReleaseMemObject(memory[i]);
  }
  return all;
}

}  // namespace fettle::testing
