// Texts that PostgreSQL cannot hold, so that none is lost or cut: it takes valid UTF-8 without NUL
// only, and what boards and users say may be any bytes.
#pragma once

#include <string>
#include <string_view>

namespace fettle::records {

// As it is, but for bytes that are no valid UTF-8 and NUL: each becomes two characters that no
// text uses (Unicode's noncharacters U+FDD0 + the byte's high half, U+FDE0 + its low one; the bytes
// of a noncharacter that is there become so, too). Different texts stay different.
std::string to_postgres_text(std::string_view bytes);

// What to_postgres_text() was given.
std::string from_postgres_text(std::string_view text);

}  // namespace fettle::records
