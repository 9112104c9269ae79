// conv3d and conv2d_transpose as nested loops: what plain_reference.h leaves out.
// Without their tails.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "host/space/operators/operator_call.h"
#include "tests/unit/plain_fill.h"

namespace fettle::testing {

inline std::vector<double> plain_conv3d(const space::OperatorCall& w) {
  const auto k = w.list("kernel"), st = w.list("stride"), p = w.list("pad"), d = w.list("dilation");
  const std::int64_t n = w.integer("batch"), ci = w.integer("in_channels"),
                     co = w.integer("out_channels");
  const std::int64_t in_size[] = {w.integer("depth"), w.integer("height"), w.integer("width")};
  std::int64_t size[3];
  for (std::size_t i = 0; i < 3; ++i) {
    size[i] = (in_size[i] + 2 * p[i] - (k[i] - 1) * d[i] - 1) / st[i] + 1;
  }
  const std::int64_t taps = k[0] * k[1] * k[2];
  const auto in = operand(w, std::size_t(n * in_size[0] * in_size[1] * in_size[2] * ci), 1, 1);
  const auto weight = operand(w, std::size_t(taps * ci * co), 2, 1 / std::sqrt(double(taps * ci)));
  std::vector<double> out(std::size_t(n * size[0] * size[1] * size[2] * co));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t z = 0; z < size[0]; ++z)
      for (std::int64_t y = 0; y < size[1]; ++y)
        for (std::int64_t x = 0; x < size[2]; ++x)
          for (std::int64_t o = 0; o < co; ++o, ++at)
            for (std::int64_t tap = 0; tap < taps; ++tap) {
              const std::int64_t iz = z * st[0] + tap / (k[1] * k[2]) * d[0] - p[0],
                                 iy = y * st[1] + tap / k[2] % k[1] * d[1] - p[1],
                                 ix = x * st[2] + tap % k[2] * d[2] - p[2];
              if (iz < 0 || iz >= in_size[0] || iy < 0 || iy >= in_size[1] || ix < 0 ||
                  ix >= in_size[2])
                continue;
              for (std::int64_t c = 0; c < ci; ++c) {
                const auto pixel = std::size_t(
                    (((i * in_size[0] + iz) * in_size[1] + iy) * in_size[2] + ix) * ci + c);
                out[at] += double(in[pixel]) * weight[std::size_t((tap * ci + c) * co + o)];
              }
            }
  return out;
}

// Every input pixel is spread over the window that it reaches.
inline std::vector<double> plain_conv2d_transpose(const space::OperatorCall& w) {
  const auto k = w.pair("kernel"), st = w.pair("stride"), p = w.pair("pad"),
             more = w.pair("output_pad");
  const std::int64_t n = w.integer("batch"), h = w.integer("height"), wd = w.integer("width"),
                     ci = w.integer("in_channels"), co = w.integer("out_channels");
  const std::int64_t oh = (h - 1) * st[0] - 2 * p[0] + k[0] + more[0],
                     ow = (wd - 1) * st[1] - 2 * p[1] + k[1] + more[1];
  const std::int64_t taps = ((k[0] + st[0] - 1) / st[0]) * ((k[1] + st[1] - 1) / st[1]);
  const auto in = operand(w, std::size_t(n * h * wd * ci), 1, 1);
  const auto weight =
      operand(w, std::size_t(k[0] * k[1] * ci * co), 2, 1 / std::sqrt(double(taps * ci)));
  std::vector<double> out(std::size_t(n * oh * ow * co));
  std::size_t pixel = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y < h; ++y)
      for (std::int64_t x = 0; x < wd; ++x)
        for (std::int64_t c = 0; c < ci; ++c, ++pixel)
          for (std::int64_t kh = 0; kh < k[0]; ++kh)
            for (std::int64_t kw = 0; kw < k[1]; ++kw) {
              const std::int64_t oy = y * st[0] + kh - p[0], ox = x * st[1] + kw - p[1];
              if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
              for (std::int64_t o = 0; o < co; ++o) {
                out[std::size_t(((i * oh + oy) * ow + ox) * co + o)] +=
                    double(in[pixel]) * weight[std::size_t(((kh * k[1] + kw) * ci + c) * co + o)];
              }
            }
  return out;
}

}  // namespace fettle::testing
