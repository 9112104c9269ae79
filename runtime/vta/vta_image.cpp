// Reading images of streams (vta_image.h).
#include "runtime/vta/vta_image.h"

#include <string>

namespace fettle::runtime {

Result<std::unique_ptr<LoadedImage>> VtaImage::load(const vta::Design& design,
                                                    const wire::ImageT& image, ByteView bytes) {
  if (auto same = vta::check_configuration(design, image.configuration); !same) {
    return std::move(same).error();
  }
  auto words = vta::words_of(bytes);
  if (!words) return std::move(words).error();
  std::unique_ptr<VtaImage> out(new VtaImage);
  out->words_ = std::move(*words);
  // Ascending and at whole instructions, as check_program knows; of a blob it does not know the
  // end.
  for (std::size_t i = 0; i < image.entries.size(); ++i) {
    const std::uint64_t begin = image.entries[i]->offset / vta::kWordBytes;
    const std::uint64_t end = i + 1 < image.entries.size()
                                  ? image.entries[i + 1]->offset / vta::kWordBytes
                                  : out->words_.size();
    if (begin >= end || end > out->words_.size()) {
      return Error{ErrorCode::Malformed, "entry '" + image.entries[i]->name +
                                             "' begins at instruction " + std::to_string(begin) +
                                             ", the image has " +
                                             std::to_string(out->words_.size())};
    }
    out->streams_.push_back(
        VtaStream(out->words_)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
  return std::unique_ptr<LoadedImage>(std::move(out));
}

}  // namespace fettle::runtime
