// Kernels that only the fused pass uses: blocked attention that never holds a (T,T) matrix, and steps that
// overwrite their input. Included by kernels_body.hpp, once per instruction set.
//
// Legend as in kernels.hpp; D' and T' are D and T padded to 16 with zeros.

#if defined(__AVX512F__)
#define STC_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define STC_VECTOR_BYTES 32
#else
#define STC_VECTOR_BYTES 16
#endif
typedef float Vec __attribute__((vector_size(STC_VECTOR_BYTES)));
typedef float LooseVec __attribute__((vector_size(STC_VECTOR_BYTES), aligned(4), may_alias));
constexpr int64_t kWidth = STC_VECTOR_BYTES / 4;
constexpr int kTileVecs = STC_VECTOR_BYTES == 64 ? 4 : 2;

/// C (+)= A B of M rows and N vectors; A by strides (row, col), B and C dense in their columns.
template <int M, int N>
void product_tile(const float* a, int64_t row, int64_t col, const float* b, int64_t ldb, int64_t inner, float* c,
                  int64_t ldc, bool add) {
  Vec sum[M][N];
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) sum[i][j] = add ? Vec(*(const LooseVec*)(c + i * ldc + j * kWidth)) : Vec{};
  }
  for (int64_t k = 0; k < inner; ++k) {
    Vec right[N];
    for (int j = 0; j < N; ++j) right[j] = *(const LooseVec*)(b + k * ldb + j * kWidth);
    for (int i = 0; i < M; ++i) {
      const float left = a[i * row + k * col];
      for (int j = 0; j < N; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) *(LooseVec*)(c + i * ldc + j * kWidth) = sum[i][j];
  }
}

/// Rows of a tile of N vectors: enough sums under way to hide the time of a multiplication, few enough for the
/// registers.
template <int N>
constexpr int tile_rows() {
  if (N == 4) return 6;
  if (N == 2) return STC_VECTOR_BYTES == 64 ? 8 : 6;
  return STC_VECTOR_BYTES == 64 ? 16 : 8;
}

/// The last rows, fewer than a tile.
template <int M, int N>
void product_rest(const float* a, int64_t row, int64_t col, int64_t rows, const float* b, int64_t ldb, int64_t inner,
                  float* c, int64_t ldc, bool add) {
  if constexpr (M > 0) {
    if (rows < M) return product_rest<M - 1, N>(a, row, col, rows, b, ldb, inner, c, ldc, add);
    product_tile<M, N>(a, row, col, b, ldb, inner, c, ldc, add);
  }
}

template <int N>
void product_panel(const float* a, int64_t row, int64_t col, int64_t rows, const float* b, int64_t ldb, int64_t inner,
                   float* c, int64_t ldc, bool add) {
  constexpr int kTileRows = tile_rows<N>();
  int64_t i = 0;
  for (; i + kTileRows <= rows; i += kTileRows) {
    product_tile<kTileRows, N>(a + i * row, row, col, b, ldb, inner, c + i * ldc, ldc, add);
  }
  product_rest<kTileRows - 1, N>(a + i * row, row, col, rows - i, b, ldb, inner, c + i * ldc, ldc, add);
}

/// C (rows, cols) (+)= A (rows, inner) B (inner, cols). cols is a multiple of 16.
void small_product(const float* a, int64_t row, int64_t col, int64_t rows, const float* b, int64_t ldb, int64_t inner,
                   float* c, int64_t ldc, int64_t cols, bool add) {
  int64_t j = 0;
  if constexpr (kTileVecs > 2) {
    for (; j + kTileVecs * kWidth <= cols; j += kTileVecs * kWidth) {
      product_panel<kTileVecs>(a, row, col, rows, b + j, ldb, inner, c + j, ldc, add);
    }
  }
  for (; j + 2 * kWidth <= cols; j += 2 * kWidth)
    product_panel<2>(a, row, col, rows, b + j, ldb, inner, c + j, ldc, add);
  for (; j < cols; j += kWidth) product_panel<1>(a, row, col, rows, b + j, ldb, inner, c + j, ldc, add);
}

STC_INLINE void zero(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0.0F;
}

#include "gemm/transpose_body.hpp"

/// (T, D') -> (D, T'), the columns beyond T zero.
STC_INLINE void transpose_heads(const float* from, int64_t T, int64_t D, int64_t from_stride, float* to,
                                int64_t to_stride) {
  for (int64_t t = 0; t < to_stride; t += kWidth) {
    for (int64_t d = 0; d < D; d += kWidth) {
      Vec rows[kWidth];
      for (int i = 0; i < kWidth; ++i) {
        rows[i] = t + i < T ? Vec(*(const LooseVec*)(from + (t + i) * from_stride + d)) : Vec{};
      }
      transpose<kWidth / 2>(rows);
      for (int i = 0; i < kWidth && d + i < D; ++i) *(LooseVec*)(to + (d + i) * to_stride + t) = rows[i];
    }
  }
}

/// The parts of a task's scratch.
struct AttentionScratch {
  float *k, *dk, *dv, *k_transposed, *v_transposed, *q, *d_out, *dq, *p, *dp;
  int64_t D, T;   // padded
  int64_t block;  // queries worked on at a time

  AttentionScratch(const AttentionCall& call, float* at)
      : D((call.shape.head_dim + 15) / 16 * 16),
        T((call.shape.time + 15) / 16 * 16),
        block(call.shape.time > 64 ? 64 : 16) {
    auto take = [&at](int64_t n) {
      float* part = at;
      at += n;
      return part;
    };
    k = take(T * D);
    dk = take(T * D);
    dv = take(T * D);
    k_transposed = take(call.shape.head_dim * T);
    v_transposed = take(call.shape.head_dim * T);
    q = take(block * D);
    d_out = take(block * D);
    dq = take(block * D);
    p = take(block * T);
    dp = take(block * T);
  }
};

/// One task's place: row b, key head h of the batch.
struct AttentionPlace {
  int64_t b, h;
  const float* qkv;  // first position of the row
  const bool* keys;  // (T) or null
};

STC_INLINE AttentionPlace place_of(const AttentionCall& call, int64_t task) {
  const int64_t K = call.shape.kv_heads;
  const int64_t b = task / K;
  const int64_t T = call.shape.time;
  return {b, task % K, call.qkv + b * T * call.shape.qkv_dim(), call.mask == nullptr ? nullptr : call.mask + b * T};
}

/// Rotated keys into k (T,D').
template <bool kBf16>
STC_INLINE void pack_keys(const AttentionCall& call, const AttentionPlace& at, const AttentionScratch& s) {
  const int64_t D = call.shape.head_dim;
  for (int64_t t = 0; t < call.shape.time; ++t) {
    const float* row = at.qkv + t * call.shape.qkv_dim() + (call.shape.heads() + at.h) * D;
    rotate<kBf16>(row, call.cos + t * (D / 2), call.sin + t * (D / 2), s.k + t * s.D, D / 2);
    zero(s.k + t * s.D + D, s.D - D);
  }
}

/// to = factor * from, rounded.
template <bool kBf16>
STC_INLINE void copy_row(const float* from, float factor, float* to, int64_t n) {
  int64_t i = 0;
  if constexpr (!kBf16) {
    for (; i + kWidth <= n; i += kWidth) *(LooseVec*)(to + i) = *(const LooseVec*)(from + i) * factor;
  }
  for (; i < n; ++i) to[i] = rounded<kBf16>(from[i] * factor);
}

template <bool kBf16>
STC_INLINE void pack_values(const AttentionCall& call, const AttentionPlace& at, float* to, int64_t stride) {
  const int64_t D = call.shape.head_dim;
  for (int64_t t = 0; t < call.shape.time; ++t) {
    const float* row = at.qkv + t * call.shape.qkv_dim() + (call.shape.heads() + call.shape.kv_heads + at.h) * D;
    copy_row<kBf16>(row, 1.0F, to + t * stride, D);
    zero(to + t * stride + D, stride - D);
  }
}

template <bool kBf16>
STC_INLINE void pack_queries(const AttentionCall& call, const AttentionPlace& at, int64_t head, int64_t begin,
                             int64_t end, const AttentionScratch& s) {
  const int64_t D = call.shape.head_dim;
  for (int64_t t = begin; t < end; ++t) {
    float* to = s.q + (t - begin) * s.D;
    rotate<kBf16>(at.qkv + t * call.shape.qkv_dim() + head * D, call.cos + t * (D / 2), call.sin + t * (D / 2), to,
                  D / 2);
    zero(to + D, s.D - D);
  }
}

#include "kernels_softmax_body.hpp"

template <bool kBf16>
void attention(const AttentionCall& call, float* out, float* scratch, int64_t task) {
  const AttentionScratch s(call, scratch);
  const AttentionPlace at = place_of(call, task);
  const int64_t T = call.shape.time;
  const int64_t D = call.shape.head_dim;
  pack_keys<kBf16>(call, at, s);
  transpose_heads(s.k, T, D, s.D, s.k_transposed, s.T);
  float* v = s.k;  // the keys are in k_transposed
  pack_values<kBf16>(call, at, v, s.D);
  for (int64_t g = 0; g < call.shape.group; ++g) {
    const int64_t head = at.h * call.shape.group + g;
    for (int64_t begin = 0; begin < T; begin += s.block) {
      const int64_t end = begin + s.block < T ? begin + s.block : T;
      const int64_t width = (end + 15) / 16 * 16;
      pack_queries<kBf16>(call, at, head, begin, end, s);
      small_product(s.q, s.D, 1, end - begin, s.k_transposed, s.T, D, s.p, s.T, width, false);
      float factors[64];
      softmax<kBf16>(call, at.keys, {begin, end, width, (at.b * call.shape.heads() + head) * T, s.T}, s.p, factors);
      small_product(s.p, s.T, 1, end - begin, v, s.D, end, s.dq, s.D, s.D, false);
      for (int64_t t = begin; t < end; ++t) {
        float* to = out + (at.b * T + t) * call.shape.model_dim() + head * D;
        copy_row<kBf16>(s.dq + (t - begin) * s.D, factors[t - begin], to, D);
      }
    }
  }
}

template <bool kBf16>
STC_INLINE void unpack_key_gradients(const AttentionCall& call, const AttentionPlace& at, const AttentionScratch& s,
                                     float* d_qkv) {
  const int64_t D = call.shape.head_dim;
  for (int64_t t = 0; t < call.shape.time; ++t) {
    float* row = d_qkv + (at.b * call.shape.time + t) * call.shape.qkv_dim() + (call.shape.heads() + at.h) * D;
    rotate_back<kBf16>(s.dk + t * s.D, call.cos + t * (D / 2), call.sin + t * (D / 2), row, D / 2);
    float* to = row + call.shape.kv_heads * D;
    copy_row<kBf16>(s.dv + t * s.D, 1.0F, to, D);
  }
}

/// d_qkv may be qkv: each task reads its own columns before it writes them.
template <bool kBf16>
void attention_backward(const AttentionCall& call, const float* d_out, float* d_qkv, float* scratch, int64_t task) {
  const AttentionScratch s(call, scratch);
  const AttentionPlace at = place_of(call, task);
  const int64_t T = call.shape.time;
  const int64_t D = call.shape.head_dim;
  pack_values<kBf16>(call, at, s.dv, s.D);
  transpose_heads(s.dv, T, D, s.D, s.v_transposed, s.T);
  pack_keys<kBf16>(call, at, s);
  transpose_heads(s.k, T, D, s.D, s.k_transposed, s.T);
  zero(s.dk, T * s.D);
  zero(s.dv, T * s.D);
  for (int64_t g = 0; g < call.shape.group; ++g) {
    const int64_t head = at.h * call.shape.group + g;
    for (int64_t begin = 0; begin < T; begin += s.block) {
      const int64_t end = begin + s.block < T ? begin + s.block : T;
      const int64_t rows = end - begin;
      const int64_t width = (end + 15) / 16 * 16;
      pack_queries<kBf16>(call, at, head, begin, end, s);
      for (int64_t t = begin; t < end; ++t) {
        const float* from = d_out + (at.b * T + t) * call.shape.model_dim() + head * D;
        float* to = s.d_out + (t - begin) * s.D;
        copy_row<kBf16>(from, 1.0F, to, D);
        zero(to + D, s.D - D);
      }
      small_product(s.q, s.D, 1, rows, s.k_transposed, s.T, D, s.p, s.T, width, false);
      small_product(s.d_out, s.D, 1, rows, s.v_transposed, s.T, D, s.dp, s.T, width, false);
      softmax_backward<kBf16>(call, at.keys, {begin, end, width, (at.b * call.shape.heads() + head) * T, s.T}, s.p,
                              s.dp);
      small_product(s.p, 1, s.T, end, s.d_out, s.D, rows, s.dv, s.D, s.D, true);
      small_product(s.dp, 1, s.T, end, s.q, s.D, rows, s.dk, s.D, s.D, true);
      small_product(s.dp, s.T, 1, rows, s.k, s.D, end, s.dq, s.D, s.D, false);
      for (int64_t t = begin; t < end; ++t) {
        rotate_back<kBf16>(s.dq + (t - begin) * s.D, call.cos + t * (D / 2), call.sin + t * (D / 2),
                           d_qkv + (at.b * T + t) * call.shape.qkv_dim() + head * D, D / 2);
      }
    }
  }
  unpack_key_gradients<kBf16>(call, at, s, d_qkv);
}

template <bool kBf16>
void apply_norm(const float* x, const float* rstd, const float* weight, float* normed, int64_t C, int64_t begin,
                int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* row = x + i * C;
    float* to = normed + i * C;
    for (int64_t c = 0; c < C; ++c) to[c] = rounded<kBf16>(row[c] * rstd[i] * weight[c]);
  }
}

template <bool kBf16>
void swiglu_backward_in_place(float* gate_up, float* act, int64_t F, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    float* gate = gate_up + i * 2 * F;
    float* up = gate + F;
    float* g = act + i * F;
#pragma GCC ivdep
    for (int64_t f = 0; f < F; ++f) {
      const float d = rounded<kBf16>(g[f]);
      const float x = rounded<kBf16>(gate[f]);
      const float u = rounded<kBf16>(up[f]);
      const float s = sigmoid(x);
      const float silu = rounded<kBf16>(x * s);
      g[f] = rounded<kBf16>(silu * u);
      up[f] = rounded<kBf16>(d * silu);
      gate[f] = rounded<kBf16>(rounded<kBf16>(d * u) * s * (1.0F + x * (1.0F - s)));
    }
  }
}
