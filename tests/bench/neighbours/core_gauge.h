// How much of its core the calling thread gets, where another hardware thread (SMT) may take a
// part.
//
// Two small loops of integer instructions. In one all depend on each other: it takes as long beside
// a busy sibling as without. In the other none do: it takes all that the core can issue. What the
// second takes beside the first is a constant of the core, at any clock, and grows while a sibling
// is at work.
#pragma once

namespace fettle::bench {

// The second loop's time beside the first one's; the least of three turns of each, some 20 µs.
double core_gauge();

}  // namespace fettle::bench
