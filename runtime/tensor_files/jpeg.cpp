// The one file that knows libjpeg's headers (jpeg.h).
#include "runtime/tensor_files/jpeg.h"
#include "schemas/wire/bounded_read.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <iterator>

#include <jerror.h>
#include <jpeglib.h>

namespace fettle {
namespace {

// A block of 64 pixels has at least a bit in some scan. Where one of three components is four times
// as fine as the others in height and another in width, 1024 pixels are nine blocks.
constexpr std::uint64_t kMostPixelsOfAByte = 1024;
// Each goes over the whole picture, however short it is. Encoders write about ten.
constexpr int kMostScans = 100;
// Of a progressive picture all coefficients are kept, of 2 bytes each; the rest is small.
constexpr long kMostMemory = long{kMostImagePixels} * 3 * 2 + (long{64} << 20);

// What the library is given. It ends a call that fails by a jump to `failed`.
struct Reader {
  ~Reader() { jpeg_destroy_decompress(&library); }

  jpeg_decompress_struct library{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf failed;
  char why[JMSG_LENGTH_MAX] = "";
};

Reader& reader_of(j_common_ptr library) { return *static_cast<Reader*>(library->client_data); }

[[noreturn]] void stop(j_common_ptr library) {
  library->err->format_message(library, reader_of(library).why);
  std::longjmp(reader_of(library).failed, 1);
}

// Whole pictures have these: bytes between markers, a later JFIF, a scan header that leaves unused
// fields at 0, Adobe's marker with another number.
constexpr int kHarmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR, JWRN_NOT_SEQUENTIAL,
                             JWRN_ADOBE_XFORM};

// A warning is of damage, behind which pixels are made up, but for those.
void on_message(j_common_ptr library, int level) {
  if (level >= 0) return;
  const int code = library->err->msg_code;
  if (std::find(std::begin(kHarmless), std::end(kHarmless), code) == std::end(kHarmless)) {
    stop(library);
  }
}

// The library says nothing of a component that no scan had: its pixels would be grey.
bool misses_a_scan(const jpeg_decompress_struct& library) {
  for (int i = 0; i < library.num_components; ++i) {
    if (library.comp_info[i].quant_table == nullptr)
      return true;  // a component's first scan sets it
    if (library.coef_bits != nullptr && library.coef_bits[i][0] < 0) return true;  // progressive
  }
  return false;
}

void on_progress(j_common_ptr library) {
  if (reinterpret_cast<j_decompress_ptr>(library)->input_scan_number <= kMostScans) return;
  Reader& reader = reader_of(library);
  std::snprintf(reader.why, sizeof reader.why, "it has more than %d scans", kMostScans);
  std::longjmp(reader.failed, 1);
}

// False: the library failed, `why` says it. The jump passes over `calls`, which must therefore own
// nothing.
template <typename Calls>
bool succeeds(Reader& reader, const Calls& calls) {
  if (setjmp(reader.failed) != 0) return false;
  calls();
  return true;
}

}  // namespace

bool is_jpeg(const std::string& contents) { return contents.starts_with("\xff\xd8"); }

Result<Image> decode_jpeg(const std::string& contents) {
  Reader reader;
  jpeg_decompress_struct& library = reader.library;
  library.err = jpeg_std_error(&reader.errors);
  library.client_data = &reader;
  reader.errors.error_exit = stop;
  reader.errors.emit_message = on_message;
  reader.progress.progress_monitor = on_progress;
  const auto* const from = reinterpret_cast<const unsigned char*>(contents.data());
  const auto read_header = [&] {
    jpeg_create_decompress(&library);
    library.progress = &reader.progress;
    library.mem->max_memory_to_use = kMostMemory;
    jpeg_mem_src(&library, from, contents.size());
    jpeg_read_header(&library, TRUE);
  };
  if (!succeeds(reader, read_header)) return no_image(reader.why);
  if (library.num_components == 4) return Error{ErrorCode::Unsupported, "a JPEG in CMYK"};
  if (library.arith_code) return Error{ErrorCode::Unsupported, "a JPEG in arithmetic coding"};
  Image image{static_cast<int>(library.image_height), static_cast<int>(library.image_width), {}};
  auto sized = check_size(image.height, image.width, contents.size(), kMostPixelsOfAByte);
  if (!sized) return std::move(sized).error();
  const auto start = [&] {
    library.out_color_space = JCS_RGB;
    library.do_block_smoothing = FALSE;  // nor is anything made up where scans are missing
    jpeg_start_decompress(&library);
  };
  if (!succeeds(reader, start)) return no_image(reader.why);
  if (misses_a_scan(library)) return no_image("a component has no scan");
  const std::size_t row_bytes = std::size_t{3} * library.output_width;
  image.pixels.resize(row_bytes * library.output_height);
  std::uint8_t* const pixels = image.pixels.data();
  const auto read_rows = [&] {
    while (library.output_scanline < library.output_height) {
      JSAMPROW row = pixels + row_bytes * library.output_scanline;
      jpeg_read_scanlines(&library, &row, 1);
    }
    jpeg_finish_decompress(&library);
  };
  if (!succeeds(reader, read_rows)) return no_image(reader.why);
  return image;
}

}  // namespace fettle
