// Bodies of the kernels of blocked attention; included by kernels_body.hpp once per instruction set. See kernels.hpp.

template <bool kBf16>
void block_softmax(float* scores, BlockShape block, const bool* mask, Dropout dropout, float* logsumexp) {
  constexpr float kHidden = -3.0e38F;
  for (int64_t i = 0; i < block.rows; ++i) {
    float* row = scores + i * block.stride;
    const int64_t visible = block.first + i + 1;
    if (mask != nullptr) {
      for (int64_t j = 0; j < visible; ++j) row[j] = mask[j] ? row[j] : kHidden;
    }
    const float top = max_of(row, visible);
    if (top == kHidden) {
      for (int64_t j = 0; j < block.keys; ++j) row[j] = 0.0F;
      logsumexp[i] = -__builtin_inff();
      continue;
    }
    float total = exp_sum(row, row, visible, 1.0F, top);
    if (mask != nullptr) {
      total = 0.0F;
      for (int64_t j = 0; j < visible; ++j) {
        row[j] = mask[j] ? row[j] : 0.0F;
        total += row[j];
      }
    }
    logsumexp[i] = top + static_cast<float>(__builtin_log(static_cast<double>(total)));
    const float inverse = 1.0F / total;
    if (dropout.active()) {
      const uint64_t element = (block.element_row + static_cast<uint64_t>(i)) * static_cast<uint64_t>(block.time);
      for (int64_t j = 0; j < visible; ++j) {
        row[j] = rounded<kBf16>(row[j] * inverse * dropout.factor(element + static_cast<uint64_t>(j)));
      }
    } else {
      for (int64_t j = 0; j < visible; ++j) row[j] *= inverse;
    }
    for (int64_t j = visible; j < block.keys; ++j) row[j] = 0.0F;
  }
}

template <bool kBf16>
void block_softmax_backward(float* scores, float* gradient, BlockShape block, const bool* mask, Dropout dropout,
                            const float* logsumexp, float scale) {
  for (int64_t i = 0; i < block.rows; ++i) {
    float* p = scores + i * block.stride;
    float* g = gradient + i * block.stride;
    const int64_t visible = block.first + i + 1;
    const float shift = logsumexp[i];
    if (shift == -__builtin_inff()) {
      for (int64_t j = 0; j < block.keys; ++j) p[j] = g[j] = 0.0F;
      continue;
    }
    exp_sum(p, p, visible, 1.0F, shift);
    if (mask != nullptr) {
      for (int64_t j = 0; j < visible; ++j) p[j] = mask[j] ? p[j] : 0.0F;
    }
    const uint64_t element = (block.element_row + static_cast<uint64_t>(i)) * static_cast<uint64_t>(block.time);
    if (dropout.active()) {
      for (int64_t j = 0; j < visible; ++j) g[j] *= dropout.factor(element + static_cast<uint64_t>(j));
    }
    float lanes[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= visible; j += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += g[j + l] * p[j + l];
    }
    for (int64_t l = 0; j < visible; ++j, ++l) lanes[l] += g[j] * p[j];
    const float dot = sum_lanes(lanes);
    if (dropout.active()) {
      for (j = 0; j < visible; ++j) {
        g[j] = rounded<kBf16>(scale * p[j] * (g[j] - dot));
        p[j] = rounded<kBf16>(p[j] * dropout.factor(element + static_cast<uint64_t>(j)));
      }
    } else {
      for (j = 0; j < visible; ++j) g[j] = scale * p[j] * (g[j] - dot);
    }
    for (j = visible; j < block.keys; ++j) p[j] = g[j] = 0.0F;
  }
}

template <bool kBf16>
void apply_norm(const float* sum, const float* rstd, const float* weight, float* normed, int64_t C, int64_t begin,
                int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float* row = sum + i * C;
    float* to = normed + i * C;
    const float inverse = rstd[i];
    for (int64_t c = 0; c < C; ++c) to[c] = rounded<kBf16>(row[c] * inverse * weight[c]);
  }
}
