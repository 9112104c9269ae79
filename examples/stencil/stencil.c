// One step of heat in a plane, for CPUs: each inner element of `to` is a mix of the element of
// `from` and its four neighbours; the border keeps its values.
//
// Rows are shared out in strips of STRIP among the device's threads (begin and end are strips);
// within a strip, columns are done in pieces of PIECE, so that a piece's rows stay in the first
// cache. HEIGHT, WIDTH and the knobs are #defines that fettle puts in front: see stencil.toml.
static void rows(const float* restrict from, float* restrict to, int first, int last, int left,
                 int right) {
  for (int y = first; y < last; ++y) {
    const float* row = from + y * WIDTH;
#pragma clang loop vectorize_width(LANES) interleave_count(INTERLEAVE)
    for (int x = left; x < right; ++x) {
      to[y * WIDTH + x] =
          0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] + row[x - WIDTH] + row[x + WIDTH]);
    }
  }
}

void stencil(const float* restrict from, float* restrict to, int begin, int end) {
  for (int strip = begin; strip < end; ++strip) {
    const int top = strip * STRIP, bottom = top + STRIP;
    const int first = top == 0 ? 1 : top, last = bottom == HEIGHT ? HEIGHT - 1 : bottom;
    for (int x = 0; x < WIDTH; x += PIECE) {
      const int left = x == 0 ? 1 : x, right = x + PIECE == WIDTH ? WIDTH - 1 : x + PIECE;
      rows(from, to, first, last, left, right);
    }
    for (int y = top; y < bottom; ++y) {
      to[y * WIDTH] = from[y * WIDTH];
      to[y * WIDTH + WIDTH - 1] = from[y * WIDTH + WIDTH - 1];
    }
    for (int x = 0; x < WIDTH; ++x) {
      if (top == 0) to[x] = from[x];
      if (bottom == HEIGHT) to[(HEIGHT - 1) * WIDTH + x] = from[(HEIGHT - 1) * WIDTH + x];
    }
  }
}
