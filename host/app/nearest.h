// "Did you mean": the word that a mistyped one is nearest to.
#pragma once

#include <string>
#include <vector>

namespace fettle::app {

// Of `known`, with at most two letters wrong, missing, too many or exchanged with the next one, and
// fewer than half of them; "" where none is, or several are as near (one that begins with `word` is
// nearer than one that does not).
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace fettle::app
