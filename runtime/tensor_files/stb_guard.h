// Pictures that stb reads or writes beyond its own memory for: refused before it sees them.
#pragma once

#include <string>

namespace fettle {

// Why this PNG or JPEG must not be handed to stb_image 2.27; null: it may be.
// - A PNG whose first IDAT chunk is empty: memcpy is called with a null pointer.
// - A JPEG with a Huffman table of more than 256 codes: written past the table's end.
const char* stb_trips_over(const std::string& picture);

}  // namespace fettle
