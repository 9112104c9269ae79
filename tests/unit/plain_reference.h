// Operators as plain nested loops over the inputs: an oracle that shares no code
// with the DAG, its evaluator or the compiler.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "host/space/operators/operator_call.h"
#include "tests/unit/plain_fill.h"
#include "tests/unit/plain_tensor.h"
#include "tests/unit/plain_volume.h"

namespace fettle::testing {

// A tail step that is a function of the value alone; the value itself where it is not.
inline double plain_function(const std::string& step, double x) {
  if (step == "relu") return std::max(x, 0.0);
  if (step == "relu6") return std::min(std::max(x, 0.0), 6.0);
  if (step == "sigmoid") return 1 / (1 + std::exp(-x));
  if (step == "swish") return x / (1 + std::exp(-x));
  if (step == "hard_swish") return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
  if (step == "gelu") return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  if (step == "tanh") return std::tanh(x);
  if (step.starts_with("shift_right ")) {
    const double by = std::exp2(std::stoi(step.substr(12)));
    return std::floor((x + by / 2) / by);
  }
  if (step.starts_with("leaky_relu ")) return x < 0 ? x * std::stof(step.substr(11)) : x;
  if (step.starts_with("clip ")) {
    double low = 0, high = 0;
    std::istringstream(step.substr(5)) >> low >> high;
    return std::min(std::max(x, low), high);
  }
  return x;
}

inline std::vector<double> plain_bias(const space::OperatorCall& w, std::int64_t channels) {
  if (!w.has("dtype") || w.word("dtype") != "int8") {
    const auto values = uniform(std::size_t(channels), 3, 1);
    return {values.begin(), values.end()};
  }
  const auto values =
      uniform_ints(std::size_t(channels), 3, magnitude(w, 3), wire::ScalarType::Int32);
  return {values.begin(), values.end()};
}

// The largest factor of a tail that multiplies: 1, or what brings the sums to int8.
inline double factor_magnitude(const space::OperatorCall& w) {
  for (const space::Stage& stage : w.dag().stages) {
    if (stage.name == "factor") return stage.fill.high;
  }
  return 1;
}

// The fused tail, applied to the outputs of an operator. channel_of: the channel of
// an output element.
template <typename ChannelOf>
void plain_tail(const space::OperatorCall& w, std::vector<double>& out, std::int64_t channels,
                ChannelOf channel_of) {
  const auto bias = plain_bias(w, channels);
  const auto residual = operand(w, out.size(), 4, 1);
  const auto factor = uniform(std::size_t(channels), 7, factor_magnitude(w));
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const std::string& step : w.tail()) {
      if (step == "bias") out[i] += bias[channel_of(i)];
      if (step == "multiply") out[i] *= factor[channel_of(i)];
      if (step == "requantize") {
        const float product =
            static_cast<float>(out[i]) * static_cast<float>(factor[channel_of(i)]);
        out[i] = std::clamp(std::nearbyint(product), -65536.f, 65536.f);
      }
      if (step == "add") out[i] += residual[i];
      out[i] = plain_function(step, out[i]);
    }
  }
}

// conv2d (NHWC) and dense, which is a convolution over one pixel.
inline std::vector<double> plain_convolution(const space::OperatorCall& w) {
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
  const auto in = operand(w, std::size_t(s.n * s.h * s.w * s.ci), 1, 1);
  const auto weight = operand(w, std::size_t(s.kh * s.kw * s.ci * s.co), 2,
                              1 / std::sqrt(double(s.kh * s.kw * s.ci)));
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
              const double* row = &weight[std::size_t(((kh * s.kw + kw) * s.ci + c) * s.co)];
              for (std::int64_t o = 0; o < s.co; ++o) sums[std::size_t(o)] += pixel * row[o];
            }
          }
        for (std::int64_t o = 0; o < s.co; ++o) {
          const std::size_t at = std::size_t(((n * oh + y) * ow + x) * s.co + o);
          out[at] = sums[std::size_t(o)];
        }
      }
  plain_tail(w, out, s.co, [&](std::size_t i) { return i % std::size_t(s.co); });
  return out;
}

// conv2d in NCHW or with groups, one output at a time.
inline std::vector<double> plain_grouped(const space::OperatorCall& w) {
  const bool nchw = w.word("layout") == "NCHW";
  const auto k = w.pair("kernel"), st = w.pair("stride"), p = w.pair("pad"), d = w.pair("dilation");
  const std::int64_t n = w.integer("batch"), h = w.integer("height"), wd = w.integer("width"),
                     groups = w.integer("groups"), all_in = w.integer("in_channels"),
                     all_out = w.integer("out_channels"), ci = all_in / groups,
                     co = all_out / groups;
  const std::int64_t oh = (h + 2 * p[0] - (k[0] - 1) * d[0] - 1) / st[0] + 1;
  const std::int64_t ow = (wd + 2 * p[1] - (k[1] - 1) * d[1] - 1) / st[1] + 1;
  const auto in = operand(w, std::size_t(n * h * wd * all_in), 1, 1);
  const auto weight = operand(w, std::size_t(k[0] * k[1] * ci * all_out), 2,
                              1 / std::sqrt(double(k[0] * k[1] * ci)));
  const auto place = [&](std::int64_t i, std::int64_t y, std::int64_t x, std::int64_t c,
                         std::int64_t ys, std::int64_t xs, std::int64_t cs) {
    return std::size_t(nchw ? ((i * cs + c) * ys + y) * xs + x : ((i * ys + y) * xs + x) * cs + c);
  };
  std::vector<double> out(std::size_t(n * oh * ow * all_out));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x)
        for (std::int64_t o = 0; o < all_out; ++o) {
          double sum = 0;
          for (std::int64_t kh = 0; kh < k[0]; ++kh)
            for (std::int64_t kw = 0; kw < k[1]; ++kw)
              for (std::int64_t c = 0; c < ci; ++c) {
                const std::int64_t iy = y * st[0] + kh * d[0] - p[0],
                                   ix = x * st[1] + kw * d[1] - p[1];
                if (iy < 0 || iy >= h || ix < 0 || ix >= wd) continue;
                const std::int64_t tap = nchw ? ((o * ci + c) * k[0] + kh) * k[1] + kw
                                              : ((kh * k[1] + kw) * ci + c) * all_out + o;
                sum += double(in[place(i, iy, ix, o / co * ci + c, h, wd, all_in)]) *
                       weight[std::size_t(tap)];
              }
          out[place(i, y, x, o, oh, ow, all_out)] = sum;
        }
  plain_tail(w, out, all_out, [&](std::size_t i) {
    return nchw ? i / std::size_t(oh * ow) % std::size_t(all_out) : i % std::size_t(all_out);
  });
  return out;
}

// depthwise_conv2d, max_pool2d, avg_pool2d and global_avg_pool2d, NHWC or NCHW.
inline std::vector<double> plain_window(const space::OperatorCall& w) {
  const bool nchw = w.word("layout") == "NCHW", depthwise = w.op() == "depthwise_conv2d",
             max = w.op() == "max_pool2d", global = w.op() == "global_avg_pool2d";
  const std::int64_t n = w.integer("batch"), h = w.integer("height"), wd = w.integer("width"),
                     c = w.integer("channels");
  using Pair = std::array<std::int64_t, 2>;
  const Pair kernel = global ? Pair{h, wd} : w.pair("kernel"),
             stride = global ? Pair{1, 1} : w.pair("stride"),
             pad = global ? Pair{0, 0} : w.pair("pad"),
             dilation = depthwise ? w.pair("dilation") : Pair{1, 1};
  const std::int64_t oh = (h + 2 * pad[0] - (kernel[0] - 1) * dilation[0] - 1) / stride[0] + 1;
  const std::int64_t ow = (wd + 2 * pad[1] - (kernel[1] - 1) * dilation[1] - 1) / stride[1] + 1;
  const auto taps = double(kernel[0] * kernel[1]);
  const auto in =
      operand(w, std::size_t(n * h * wd * c), 1, depthwise || max ? 1 : std::sqrt(taps));
  const auto weight = operand(w, std::size_t(kernel[0] * kernel[1] * c), 2, 1 / std::sqrt(taps));
  const auto place = [&](std::int64_t i, std::int64_t y, std::int64_t x, std::int64_t ch,
                         std::int64_t ys, std::int64_t xs) {
    return std::size_t(nchw ? ((i * c + ch) * ys + y) * xs + x : ((i * ys + y) * xs + x) * c + ch);
  };
  std::vector<double> out(std::size_t(n * oh * ow * c));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x)
        for (std::int64_t ch = 0; ch < c; ++ch) {
          double value = max ? -1e30 : 0, count = 0;
          for (std::int64_t kh = 0; kh < kernel[0]; ++kh)
            for (std::int64_t kw = 0; kw < kernel[1]; ++kw) {
              const std::int64_t iy = y * stride[0] + kh * dilation[0] - pad[0],
                                 ix = x * stride[1] + kw * dilation[1] - pad[1];
              if (iy < 0 || iy >= h || ix < 0 || ix >= wd) continue;
              const double pixel = in[place(i, iy, ix, ch, h, wd)];
              const std::int64_t tap = kh * kernel[1] + kw;
              count += 1;
              if (depthwise) {
                value +=
                    pixel *
                    weight[std::size_t(nchw ? ch * kernel[0] * kernel[1] + tap : tap * c + ch)];
              } else {
                value = max ? std::max(value, pixel) : value + pixel;
              }
            }
          if (w.op() == "avg_pool2d" && w.integer("count_include_pad") == 1) count = taps;
          out[place(i, y, x, ch, oh, ow)] = depthwise || max ? value : plain_mean(w, value, count);
        }
  plain_tail(w, out, c, [&](std::size_t i) {
    return nchw ? i / std::size_t(oh * ow) % std::size_t(c) : i % std::size_t(c);
  });
  return out;
}

inline std::vector<double> plain_reference(const space::OperatorCall& w) {
  if (w.op() == "conv2d" && (w.word("layout") == "NCHW" || w.integer("groups") > 1))
    return plain_grouped(w);
  if (w.op() == "conv2d" || w.op() == "dense") return plain_convolution(w);
  if (w.op().ends_with("pool2d") || w.op() == "depthwise_conv2d") return plain_window(w);
  const bool volume = w.op() == "conv3d", transposed = w.op() == "conv2d_transpose";
  std::vector<double> out = volume       ? plain_conv3d(w)
                            : transposed ? plain_conv2d_transpose(w)
                                         : plain_tensor(w);
  const std::int64_t last = volume || transposed ? w.integer("out_channels") : plain_last_extent(w);
  plain_tail(w, out, last, [&](std::size_t i) { return i % std::size_t(last); });
  return out;
}

}  // namespace fettle::testing
