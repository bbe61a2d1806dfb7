// Bodies of the CPU kernels. Included once per instruction set by kernels_<isa>.cpp, which defines
// STC_KERNELS_ISA; the loops are written so that the compiler vectorizes them without relaxed
// arithmetic: sums run over kLanes independent lanes, in the same order on every instruction set.
// Only built-in types are used, so that no shared inline function is emitted with a special
// instruction set. Template argument kBf16: values are rounded to bf16 where autocast would hold them
// in bf16 (kernels.hpp); without it the arithmetic is untouched.
#include "kernels.hpp"

namespace stc::reference_transformer::STC_KERNELS_ISA {
namespace {

constexpr int64_t kLanes = 16;
constexpr float kEpsilon = 1e-5F;
constexpr int64_t kIgnored = -100;

template <int kValue>
struct BlockSize {
  static constexpr int kSize = kValue;
};

#include "kernels_math_body.hpp"

void gather(const float* table, const int64_t* ids, float* out, int64_t C, Dropout dropout, int64_t begin,
            int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* from = table + ids[i] * C;
    float* to = out + i * C;
    if (!dropout.active()) {
      for (int64_t c = 0; c < C; ++c) to[c] = from[c];
    } else {
      for (int64_t c = 0; c < C; ++c) to[c] = from[c] * dropout.factor(static_cast<uint64_t>(i * C + c));
    }
  }
}

void scatter_add(float* table_grad, const int64_t* ids, const float* grad, int64_t N, int64_t C, Dropout dropout,
                 int64_t begin, int64_t end) {
  for (int64_t i = 0; i < N; ++i) {
    float* to = table_grad + ids[i] * C;
    const float* from = grad + i * C;
    if (!dropout.active()) {
      for (int64_t c = begin; c < end; ++c) to[c] += from[c];
    } else {
      for (int64_t c = begin; c < end; ++c) to[c] += from[c] * dropout.factor(static_cast<uint64_t>(i * C + c));
    }
  }
}

/// x times both masks.
template <bool kBf16>
STC_INLINE float masked(float x, Dropout mask1, Dropout mask2, int64_t element) {
  const auto e = static_cast<uint64_t>(element);
  const float factor1 = mask1.active() ? mask1.factor(e) : 1.0F;
  const float factor2 = mask2.active() ? mask2.factor(e) : 1.0F;
  return kBf16 ? to_bf16(to_bf16(x * factor1) * factor2) : x * (factor1 * factor2);
}

template <bool kBf16>
void add_rms_norm(const float* x, const float* branch, const float* weight, float* sum, float* normed, float* rstd,
                  int64_t C, Dropout mask1, Dropout mask2, int64_t begin, int64_t end) {
  const bool dropped = mask1.active() || mask2.active();
  for (int64_t i = begin; i < end; ++i) {
    const float* row = x + i * C;
    if (branch != nullptr) {
      const float* add = branch + i * C;
      float* to = sum + i * C;
      if (dropped) {
        for (int64_t c = 0; c < C; ++c) {
          to[c] = row[c] + masked<kBf16>(rounded<kBf16>(add[c]), mask1, mask2, i * C + c);
        }
      } else {
        for (int64_t c = 0; c < C; ++c) to[c] = row[c] + rounded<kBf16>(add[c]);
      }
      row = to;
    }
    float lanes[kLanes] = {};
    int64_t c = 0;
    for (; c + kLanes <= C; c += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += row[c + l] * row[c + l];
    }
    for (int64_t l = 0; c < C; ++c, ++l) lanes[l] += row[c] * row[c];
    const float inverse = 1.0F / square_root(sum_lanes(lanes) / static_cast<float>(C) + kEpsilon);
    rstd[i] = inverse;
    float* out = normed + i * C;
    for (c = 0; c < C; ++c) out[c] = rounded<kBf16>(row[c] * inverse * weight[c]);
  }
}

template <bool kBf16>
void add_rms_norm_backward(const float* d_normed, const float* d_sum, const float* sum, const float* weight,
                           const float* rstd, float* dx, float* d_branch, float* d_weight, int64_t C, Dropout mask1,
                           Dropout mask2, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* g = d_normed + i * C;
    const float* row = sum + i * C;
    float* to = dx + i * C;
    float lanes[kLanes] = {};
    int64_t c = 0;
    for (; c + kLanes <= C; c += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += rounded<kBf16>(g[c + l]) * weight[c + l] * row[c + l];
    }
    for (int64_t l = 0; c < C; ++c, ++l) lanes[l] += rounded<kBf16>(g[c]) * weight[c] * row[c];
    const float r = rstd[i];
    const float mean = sum_lanes(lanes) / static_cast<float>(C) * r * r * r;
    for (c = 0; c < C; ++c) d_weight[c] += rounded<kBf16>(g[c]) * row[c] * r;
    if (d_sum != nullptr) {
      const float* direct = d_sum + i * C;
      for (c = 0; c < C; ++c) to[c] = direct[c] + (rounded<kBf16>(g[c]) * weight[c] * r - row[c] * mean);
    } else {
      for (c = 0; c < C; ++c) to[c] = rounded<kBf16>(g[c]) * weight[c] * r - row[c] * mean;
    }
    if (d_branch != nullptr) {
      float* out = d_branch + i * C;
      if (mask1.active() || mask2.active()) {
        for (c = 0; c < C; ++c) out[c] = masked<kBf16>(rounded<kBf16>(to[c]), mask2, mask1, i * C + c);
      } else {
        for (c = 0; c < C; ++c) out[c] = rounded<kBf16>(to[c]);
      }
    }
  }
}

/// fn(j, size) over [0, half) in blocks of 16, then 8, then 1: `size` is a constant, so that a block is vectors.
template <class Fn>
STC_INLINE void in_blocks(int64_t half, Fn&& fn) {
  int64_t j = 0;
  for (; j + 16 <= half; j += 16) fn(j, BlockSize<16>{});
  for (; j + 8 <= half; j += 8) fn(j, BlockSize<8>{});
  for (; j < half; ++j) fn(j, BlockSize<1>{});
}

/// kSize floats as one vector, in memory at any address.
template <int kSize>
struct Packed {
  typedef float Values __attribute__((vector_size(4 * kSize)));
  typedef float InMemory __attribute__((vector_size(4 * kSize), aligned(4), may_alias));
};

/// By the angles of cos and sin, or back by them. out may be x.
template <bool kBf16, bool kBack>
STC_INLINE void rotate_by(const float* x, const float* cos, const float* sin, float* out, int64_t half) {
  in_blocks(
      half, [=](int64_t j, auto block) __attribute__((always_inline)) {
        constexpr int kSize = decltype(block)::kSize;
        if constexpr (!kBf16 && kSize > 1) {
          using Values = typename Packed<kSize>::Values;
          using InMemory = typename Packed<kSize>::InMemory;
          const Values a = *(const InMemory*)(x + j), b = *(const InMemory*)(x + j + half);
          const Values c = *(const InMemory*)(cos + j), s = *(const InMemory*)(sin + j);
          *(InMemory*)(out + j) = kBack ? a * c + b * s : a * c - b * s;
          *(InMemory*)(out + j + half) = kBack ? b * c - a * s : b * c + a * s;
          return;
        }
        float low[kSize], high[kSize];
        for (int i = 0; i < kSize; ++i) {
          const float a = rounded<kBf16>(x[j + i]);
          const float b = rounded<kBf16>(x[j + half + i]);
          const float c = rounded<kBf16>(cos[j + i]);
          const float s = rounded<kBf16>(sin[j + i]);
          const float ac = rounded<kBf16>(a * c), bs = rounded<kBf16>(b * s);
          const float bc = rounded<kBf16>(b * c), as = rounded<kBf16>(a * s);
          low[i] = rounded<kBf16>(kBack ? ac + bs : ac - bs);
          high[i] = rounded<kBf16>(kBack ? bc - as : bc + as);
        }
        for (int i = 0; i < kSize; ++i) {
          out[j + i] = low[i];
          out[j + half + i] = high[i];
        }
      });
}

template <bool kBf16>
STC_INLINE void rotate(const float* x, const float* cos, const float* sin, float* out, int64_t half) {
  rotate_by<kBf16, false>(x, cos, sin, out, half);
}

/// The gradient of rotate. out may be g.
template <bool kBf16>
STC_INLINE void rotate_back(const float* g, const float* cos, const float* sin, float* out, int64_t half) {
  rotate_by<kBf16, true>(g, cos, sin, out, half);
}

template <bool kBf16>
void split_heads(const float* qkv, const float* cos, const float* sin, float* q, float* k, float* v, HeadShape shape,
                 int64_t begin, int64_t end) {
  const int64_t D = shape.head_dim;
  const int64_t T = shape.time;
  const int64_t H = shape.heads();
  const int64_t K = shape.kv_heads;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t b = i / T;
    const int64_t t = i % T;
    const float* row = qkv + i * shape.qkv_dim();
    const float* c = cos + t * (D / 2);
    const float* s = sin + t * (D / 2);
    for (int64_t h = 0; h < H; ++h) rotate<kBf16>(row + h * D, c, s, q + ((b * H + h) * T + t) * D, D / 2);
    row += H * D;
    for (int64_t h = 0; h < K; ++h) rotate<kBf16>(row + h * D, c, s, k + ((b * K + h) * T + t) * D, D / 2);
    row += K * D;
    for (int64_t h = 0; h < K; ++h) {
      float* to = v + ((b * K + h) * T + t) * D;
      for (int64_t j = 0; j < D; ++j) to[j] = rounded<kBf16>(row[h * D + j]);
    }
  }
}

STC_INLINE void sum_copies(const float* from, int64_t stride, int64_t copies, float* to, int64_t D) {
  for (int64_t j = 0; j < D; ++j) to[j] = from[j];
  for (int64_t g = 1; g < copies; ++g) {
    for (int64_t j = 0; j < D; ++j) to[j] += from[g * stride + j];
  }
}

template <bool kBf16>
void split_heads_backward(const float* dq, HeadStrides q_strides, const float* dk, const float* dv,
                          HeadStrides kv_strides, const float* cos, const float* sin, float* d_qkv, HeadShape shape,
                          int64_t kv_copies, int64_t begin, int64_t end) {
  const int64_t D = shape.head_dim;
  const int64_t K = shape.kv_heads;
  const int64_t G = shape.group;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t b = i / shape.time;
    const int64_t t = i % shape.time;
    float* row = d_qkv + i * shape.qkv_dim();
    const float* c = cos + t * (D / 2);
    const float* s = sin + t * (D / 2);
    for (int64_t h = 0; h < K * G; ++h) {
      const float* from = dq + (b * K + h / G) * q_strides.batch + (h % G) * q_strides.group + t * q_strides.time;
      rotate_back<kBf16>(from, c, s, row + h * D, D / 2);
    }
    for (int64_t h = 0; h < K; ++h) {
      const int64_t offset = (b * K + h) * kv_strides.batch + t * kv_strides.time;
      float* to_k = row + (K * G + h) * D;
      sum_copies(dk + offset, kv_strides.group, kv_copies, to_k, D);
      rotate_back<kBf16>(to_k, c, s, to_k, D / 2);
      float* to_v = row + (K * G + K + h) * D;
      sum_copies(dv + offset, kv_strides.group, kv_copies, to_v, D);
      for (int64_t j = 0; kBf16 && j < D; ++j) to_v[j] = to_bf16(to_v[j]);
    }
  }
}

template <bool kBf16>
void merge_heads(const float* heads, HeadStrides strides, float* merged, HeadShape shape, int64_t begin, int64_t end) {
  const int64_t D = shape.head_dim;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t b = i / shape.time;
    const int64_t t = i % shape.time;
    float* to = merged + i * shape.model_dim();
    for (int64_t h = 0; h < shape.heads(); ++h) {
      const float* from = heads + (b * shape.kv_heads + h / shape.group) * strides.batch +
                          (h % shape.group) * strides.group + t * strides.time;
      for (int64_t j = 0; j < D; ++j) to[h * D + j] = rounded<kBf16>(from[j]);
    }
  }
}

template <bool kBf16>
void unmerge_heads(const float* merged, float* heads, HeadStrides strides, HeadShape shape, int64_t begin,
                   int64_t end) {
  const int64_t D = shape.head_dim;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t b = i / shape.time;
    const int64_t t = i % shape.time;
    const float* from = merged + i * shape.model_dim();
    for (int64_t h = 0; h < shape.heads(); ++h) {
      float* to = heads + (b * shape.kv_heads + h / shape.group) * strides.batch + (h % shape.group) * strides.group +
                  t * strides.time;
      for (int64_t j = 0; j < D; ++j) to[j] = rounded<kBf16>(from[h * D + j]);
    }
  }
}

template <bool kBf16>
void causal_softmax(float* scores, float* dropped, const bool* mask, float scale, HeadShape shape, Dropout dropout,
                    int64_t begin, int64_t end) {
  const int64_t T = shape.time;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t visible = r % T + 1;
    const bool* keys = mask == nullptr ? nullptr : mask + r / (T * shape.heads()) * T;
    float* row = scores + r * T;
    float* out = dropped + r * T;
    float shift = 0.0F;
    const float total = exponents(row, keys, visible, scale, shift);
    if (total == 0.0F) {
      for (int64_t j = 0; j < T; ++j) row[j] = out[j] = 0.0F;
      continue;
    }
    const float inverse = 1.0F / total;
    for (int64_t j = 0; j < visible; ++j) row[j] *= inverse;
    for (int64_t j = visible; j < T; ++j) row[j] = 0.0F;
    for (int64_t j = 0; j < T; ++j) {
      out[j] = rounded<kBf16>(row[j] * dropout.factor(static_cast<uint64_t>(r * T + j)));
    }
  }
}

template <bool kBf16>
void causal_softmax_backward(const float* probabilities, float* d_probabilities, float scale, HeadShape shape,
                             Dropout dropout, int64_t begin, int64_t end) {
  const int64_t T = shape.time;
  for (int64_t r = begin; r < end; ++r) {
    const float* p = probabilities + r * T;
    float* g = d_probabilities + r * T;
    for (int64_t j = 0; j < T; ++j) g[j] *= dropout.factor(static_cast<uint64_t>(r * T + j));
    const float inner = dot(g, p, T);
    for (int64_t j = 0; j < T; ++j) g[j] = rounded<kBf16>(scale * p[j] * (g[j] - inner));
  }
}

template <bool kBf16>
void apply_mask(const float* x, float* out, int64_t T, Dropout dropout, int64_t begin, int64_t end) {
  for (int64_t i = begin * T; i < end * T; ++i) {
    out[i] = rounded<kBf16>(x[i] * dropout.factor(static_cast<uint64_t>(i)));
  }
}

template <bool kBf16>
void swiglu(const float* gate_up, float* out, int64_t F, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* gate = gate_up + i * 2 * F;
    const float* up = gate + F;
    float* to = out + i * F;
    for (int64_t f = 0; f < F; ++f) {
      const float g = rounded<kBf16>(gate[f]);
      to[f] = rounded<kBf16>(rounded<kBf16>(g * sigmoid(g)) * rounded<kBf16>(up[f]));
    }
  }
}

template <bool kBf16>
void swiglu_backward(const float* d_out, const float* gate_up, float* d_gate_up, int64_t F, int64_t begin,
                     int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* g = d_out + i * F;
    const float* gate = gate_up + i * 2 * F;
    const float* up = gate + F;
    float* d_gate = d_gate_up + i * 2 * F;
    float* d_up = d_gate + F;
    for (int64_t f = 0; f < F; ++f) {
      const float d = rounded<kBf16>(g[f]);
      const float x = rounded<kBf16>(gate[f]);
      const float s = sigmoid(x);
      if (kBf16) {
        d_up[f] = to_bf16(d * to_bf16(x * s));
        d_gate[f] = to_bf16(to_bf16(d * to_bf16(up[f])) * s * (1.0F + x * (1.0F - s)));
      } else {
        d_up[f] = d * x * s;
        d_gate[f] = d * up[f] * s * (1.0F + x * (1.0F - s));
      }
    }
  }
}

template <bool kBf16>
void cross_entropy(float* logits, const int64_t* labels, double* losses, int64_t V, bool replace, int64_t begin,
                   int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    float* row = logits + i * V;
    const int64_t label = labels[i];
    if (label == kIgnored) {
      losses[i] = 0.0;
      for (int64_t j = 0; replace && j < V; ++j) row[j] = 0.0F;
      continue;
    }
    if (kBf16) round_bf16(row, row, 0, V);
    const float top = max_of(row, V);
    const float own = row[label];
    const float total = exp_sum(row, replace ? row : nullptr, V, 1.0F, top);
    losses[i] = __builtin_log(static_cast<double>(total)) + (static_cast<double>(top) - static_cast<double>(own));
    if (replace) {
      const float inverse = 1.0F / total;
      for (int64_t j = 0; j < V; ++j) row[j] *= inverse;
      row[label] -= 1.0F;
      if (kBf16) round_bf16(row, row, 0, V);
    }
  }
}

#include "fused/kernels_fused_body.hpp"

}  // namespace

template <bool kBf16>
constexpr Kernels make_kernels() {
  return {gather,
          scatter_add,
          add_rms_norm<kBf16>,
          add_rms_norm_backward<kBf16>,
          split_heads<kBf16>,
          split_heads_backward<kBf16>,
          merge_heads<kBf16>,
          unmerge_heads<kBf16>,
          causal_softmax<kBf16>,
          causal_softmax_backward<kBf16>,
          apply_mask<kBf16>,
          swiglu<kBf16>,
          swiglu_backward<kBf16>,
          cross_entropy<kBf16>,
          round_bf16,
          attention<kBf16>,
          attention_backward<kBf16>,
          apply_norm<kBf16>,
          swiglu_backward_in_place<kBf16>};
}

extern const KernelSet kKernels;
const KernelSet kKernels = {make_kernels<false>(), make_kernels<true>()};

}  // namespace stc::reference_transformer::STC_KERNELS_ISA
