// Handing out guarded buffers (opencl_memory.h).
#include "runtime/opencl/opencl_memory.h"

#include <algorithm>

#include "runtime/guard.h"

namespace fettle::runtime {

// One cl_mem: a guard, the data, a guard.
struct OpenClBuffer::Block {
  const OpenClQueue* queue;
  cl_mem memory = nullptr;
  std::uint64_t front = 0;  // bytes before the data, the last kGuardBytes of them a guard
  std::uint64_t bytes = 0, total = 0;
  std::uint32_t alignment = 1;
  std::uint8_t guard = 0;                  // each of its bytes
  std::shared_ptr<const Bytes> only_read;  // what it must hold; null: anything
  cl_mem images[2] = {};  // over it, once they were asked for: of float32, of float16

  ~Block() {
    for (cl_mem image : images) {
      if (image) queue->driver.call().ReleaseMemObject(image);
    }
    if (memory) queue->driver.call().ReleaseMemObject(memory);
  }
  Result<void> read(std::uint64_t from, std::span<std::uint8_t> to) const {
    return queue->driver.check(
        queue->driver.call().EnqueueReadBuffer(queue->queue, memory, CL_TRUE, from, to.size(),
                                               to.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  }
  Result<void> write(ByteView from) const {
    return queue->driver.check(
        queue->driver.call().EnqueueWriteBuffer(queue->queue, memory, CL_TRUE, front, from.size(),
                                                from.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  }
  Result<void> set(std::uint64_t from, std::uint64_t count, std::uint8_t value) const {
    return queue->driver.check(
        queue->driver.call().EnqueueFillBuffer(queue->queue, memory, &value, 1, from, count, 0,
                                               nullptr, nullptr),
        "clEnqueueFillBuffer");
  }
  Result<void> write_guards() const {
    if (auto done = set(front - kGuardBytes, kGuardBytes, guard); !done) return done;
    return set(front + bytes, kGuardBytes, guard);
  }
};

OpenClBuffer::~OpenClBuffer() {
  for (cl_mem argument : arguments_) {
    block_->queue->driver.call().ReleaseMemObject(argument);
  }
}

std::uint64_t OpenClBuffer::bytes() const { return block_->bytes; }
bool OpenClBuffer::read_only() const { return block_->only_read != nullptr; }

Result<cl_mem> OpenClBuffer::argument(std::uint64_t offset) {
  const cl_buffer_region region{static_cast<std::size_t>(block_->front + offset),
                                static_cast<std::size_t>(block_->bytes - offset)};
  cl_int result = CL_SUCCESS;
  const OpenClDriver& driver = block_->queue->driver;
  cl_mem made = driver.call().CreateSubBuffer(block_->memory, CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
  if (auto done = driver.check(result, "clCreateSubBuffer"); !done) {
    return std::move(done).error().in("passing a buffer from byte " + std::to_string(offset));
  }
  arguments_.push_back(made);
  return made;
}

Result<OpenClTexels> OpenClBuffer::texels(bool halves, std::uint64_t offset, std::uint64_t most) {
  const std::uint64_t texel = halves ? 8 : 16, width = (block_->front + block_->bytes) / texel;
  if (width > most) {
    return Error{ErrorCode::OutOfResources,
                 "a buffer of " + std::to_string(width) +
                     " texels with what stands before it, an image over one has at most " +
                     std::to_string(most) + " here"};
  }
  cl_mem& image = block_->images[halves];
  if (!image) {
    const cl_image_format format{CL_RGBA, cl_channel_type(halves ? CL_HALF_FLOAT : CL_FLOAT)};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.image_width = static_cast<std::size_t>(width);
    desc.buffer = block_->memory;
    cl_int result = CL_SUCCESS;
    const OpenClDriver& driver = block_->queue->driver;
    cl_mem made = driver.call().CreateImage(block_->queue->context, CL_MEM_READ_ONLY, &format,
                                            &desc, nullptr, &result);
    if (auto done = driver.check(result, "clCreateImage"); !done) return std::move(done).error();
    image = made;
  }
  return OpenClTexels{image, static_cast<cl_int>((block_->front + offset) / texel)};
}

Result<void> OpenClBuffer::download(std::span<std::uint8_t> to) const {
  return block_->read(block_->front, to);
}

Result<std::string> OpenClBuffer::damage() const {
  Bytes seen(kGuardBytes);
  for (const bool behind : {true, false}) {
    const auto from = behind ? block_->front + block_->bytes : block_->front - kGuardBytes;
    if (auto done = block_->read(from, seen); !done) return std::move(done).error();
    if (auto found = guard_damage(seen, block_->guard, behind); !found.empty()) return found;
  }
  if (!block_->only_read) return std::string();
  seen.resize(block_->bytes);
  if (auto done = download(seen); !done) return std::move(done).error();
  return input_damage(seen, *block_->only_read, 0);
}

// What fails here fails again at the next call that can say so.
void OpenClBuffer::mend() {
  (void)!block_->write_guards();
  if (block_->only_read) (void)!block_->write(*block_->only_read);
}

Result<void> OpenClBuffer::set(std::uint8_t byte) {
  return block_->set(block_->front, block_->bytes, byte);
}

struct OpenClMemory::Filled {
  wire::FillT fill;
  std::shared_ptr<OpenClBuffer::Block> block;
};

OpenClMemory::OpenClMemory(const OpenClQueue& queue, std::uint64_t alignment,
                           std::uint64_t kept_bytes)
    : queue_(queue), alignment_(alignment), kept_bytes_(kept_bytes) {}
OpenClMemory::~OpenClMemory() = default;

Result<std::shared_ptr<OpenClBuffer::Block>> OpenClMemory::allocate(const wire::BufferT& buffer) {
  auto block = std::make_shared<OpenClBuffer::Block>();
  block->queue = &queue_;
  block->bytes = buffer.bytes;
  block->guard = guard_byte(buffer.role);
  // Where the memory itself begins is the driver's secret: as a page does, it is hoped.
  block->alignment =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(buffer.alignment, alignment_));
  block->front = (kGuardBytes + block->alignment - 1) / block->alignment * block->alignment;
  block->total = block->front + buffer.bytes + kGuardBytes;
  cl_int result = CL_SUCCESS;
  block->memory = queue_.driver.call().CreateBuffer(queue_.context, CL_MEM_READ_WRITE, block->total,
                                                    nullptr, &result);
  if (auto made = queue_.driver.check(result, "clCreateBuffer"); !made) {
    block->memory = nullptr;
    // Kept for later programs only; this one needs it now.
    if (spares_.empty() || made.error().code != ErrorCode::OutOfMemory) {
      return std::move(made).error();
    }
    spares_.clear();
    spare_bytes_ = 0;
    return allocate(buffer);
  }
  if (auto set = block->write_guards(); !set) return std::move(set).error();
  return block;
}

// What is in use is never dropped; the longest unused goes first.
Result<std::shared_ptr<OpenClBuffer::Block>> OpenClMemory::filled(const wire::BufferT& buffer,
                                                                  const BlobLookup& blobs) {
  const wire::FillT fill = buffer.fill ? *buffer.fill : wire::FillT();
  for (auto at = filled_.begin(); at != filled_.end(); ++at) {
    if (at->block->bytes == buffer.bytes && at->block->alignment >= buffer.alignment &&
        same_fill(at->fill, fill)) {
      filled_.splice(filled_.begin(), filled_, at);
      return at->block;
    }
  }
  auto bytes = std::make_shared<Bytes>(buffer.bytes);
  if (auto made = fill_buffer(fill, blobs, *bytes); !made) return std::move(made).error();
  for (auto at = filled_.end();
       at != filled_.begin() && filled_bytes_ + buffer.bytes > kept_bytes_;) {
    --at;
    if (at->block.use_count() > 1) continue;
    filled_bytes_ -= at->block->bytes;
    at = filled_.erase(at);
  }
  auto block = allocate(buffer);
  if (!block) return std::move(block).error();
  if (auto done = (*block)->write(*bytes); !done) return std::move(done).error();
  (*block)->only_read = std::move(bytes);
  filled_bytes_ += buffer.bytes;
  filled_.push_front({fill, *block});
  return *block;
}

Result<std::unique_ptr<BufferMemory>> OpenClMemory::take(const wire::BufferT& buffer,
                                                         const BlobLookup& blobs) {
  using Taken = std::unique_ptr<BufferMemory>;
  if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant) {
    auto block = filled(buffer, blobs);
    if (!block) return std::move(block).error();
    return Taken(new OpenClBuffer(std::move(*block)));
  }
  std::shared_ptr<OpenClBuffer::Block> block;
  for (auto at = spares_.begin(); at != spares_.end(); ++at) {
    if ((*at)->bytes != buffer.bytes || (*at)->alignment < buffer.alignment) continue;
    block = std::move(*at);
    spare_bytes_ -= block->total;
    spares_.erase(at);
    break;
  }
  if (!block) {
    auto made = allocate(buffer);
    if (!made) return std::move(made).error();
    block = std::move(*made);
  }
  if (buffer.role == wire::BufferRole::Scratch && buffer.fill) {
    Bytes bytes(buffer.bytes);
    if (auto made = fill_buffer(*buffer.fill, blobs, bytes); !made) return std::move(made).error();
    if (auto done = block->write(bytes); !done) return std::move(done).error();
  } else {
    // Nothing of an earlier program may pass for this one's work.
    auto set = block->set(block->front, block->bytes, unwritten_byte(buffer));
    if (!set) return std::move(set).error();
  }
  return Taken(new OpenClBuffer(std::move(block)));
}

void OpenClMemory::give_back(std::unique_ptr<BufferMemory> memory) {
  auto block = static_cast<OpenClBuffer&>(*memory).block_;
  memory.reset();
  if (block->only_read) return;
  spare_bytes_ += block->total;
  spares_.push_front(std::move(block));
  while (spare_bytes_ > kept_bytes_) {
    spare_bytes_ -= spares_.back()->total;
    spares_.pop_back();
  }
}

}  // namespace fettle::runtime
