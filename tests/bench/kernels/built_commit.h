// Of which commit this program is.
#pragma once

namespace fettle::bench {

// "1a2b3c4d5e6f", or the same and ", with changes": of the sources when they were built.
const char* built_commit();

}  // namespace fettle::bench
