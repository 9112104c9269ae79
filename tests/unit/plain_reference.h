// conv2d and dense as plain nested loops over the inputs: an oracle that shares
// no code with the DAG, its evaluator or the compiler.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "host/space/workload.h"
#include "schemas/fill/fill.h"

namespace fettle::testing {

inline std::vector<float> uniform(std::size_t count, std::uint64_t stream, double scale) {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25 * scale;
  fill.high = scale;
  fill.stream = stream;
  std::vector<float> values(count);
  if (!fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(values.data()), count * 4}))
    values.clear();
  return values;
}

inline std::vector<double> plain_reference(const space::Workload& w) {
  struct {
    std::int64_t n, h, w, ci, co, kh, kw, sh, sw, ph, pw, dh, dw;
  } s{};
  if (w.op() == "conv2d") {
    const auto k = w.pair("kernel"), st = w.pair("stride"), p = w.pair("pad"),
               d = w.pair("dilation");
    s = {w.integer("batch"),
         w.integer("height"),
         w.integer("width"),
         w.integer("in_channels"),
         w.integer("out_channels"),
         k[0],
         k[1],
         st[0],
         st[1],
         p[0],
         p[1],
         d[0],
         d[1]};
  } else {
    s = {w.integer("batch"),
         1,
         1,
         w.integer("in_features"),
         w.integer("out_features"),
         1,
         1,
         1,
         1,
         0,
         0,
         1,
         1};
  }
  const std::int64_t oh = (s.h + 2 * s.ph - (s.kh - 1) * s.dh - 1) / s.sh + 1;
  const std::int64_t ow = (s.w + 2 * s.pw - (s.kw - 1) * s.dw - 1) / s.sw + 1;
  const auto in = uniform(std::size_t(s.n * s.h * s.w * s.ci), 1, 1);
  const auto weight =
      uniform(std::size_t(s.kh * s.kw * s.ci * s.co), 2, 1 / std::sqrt(double(s.kh * s.kw * s.ci)));
  const auto bias = uniform(std::size_t(s.co), 3, 1);
  const auto residual = uniform(std::size_t(s.n * oh * ow * s.co), 4, 1);
  std::vector<double> out(std::size_t(s.n * oh * ow * s.co));
  std::vector<double> sums(std::size_t(s.co));
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t kh = 0; kh < s.kh; ++kh)
          for (std::int64_t kw = 0; kw < s.kw; ++kw) {
            const std::int64_t iy = y * s.sh + kh * s.dh - s.ph, ix = x * s.sw + kw * s.dw - s.pw;
            if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
            for (std::int64_t c = 0; c < s.ci; ++c) {
              const double pixel = in[std::size_t(((n * s.h + iy) * s.w + ix) * s.ci + c)];
              const float* row = &weight[std::size_t(((kh * s.kw + kw) * s.ci + c) * s.co)];
              for (std::int64_t o = 0; o < s.co; ++o) sums[std::size_t(o)] += pixel * row[o];
            }
          }
        for (std::int64_t o = 0; o < s.co; ++o) {
          const std::size_t at = std::size_t(((n * oh + y) * ow + x) * s.co + o);
          double value = sums[std::size_t(o)];
          if (w.has_tail("bias")) value += bias[std::size_t(o)];
          if (w.has_tail("add")) value += residual[at];
          if (w.has_tail("relu") && value < 0) value = 0;
          out[at] = value;
        }
      }
  return out;
}

}  // namespace fettle::testing
