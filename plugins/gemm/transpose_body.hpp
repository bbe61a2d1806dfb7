// Transposing in registers. Included where Vec, of kWidth floats, is the vector of an instruction set, and STC_INLINE
// inlines; needs <utility>.

/// Exchanges the off-diagonal blocks of kStep lanes between two rows that lie kStep apart.
template <int kStep, std::size_t... kLane>
STC_INLINE void exchange(Vec& a, Vec& b, std::index_sequence<kLane...>) {
  const Vec upper = __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane - kStep + kWidth : kLane)...);
  const Vec lower = __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane + kWidth : kLane + kStep)...);
  a = upper;
  b = lower;
}

template <int kStep>
STC_INLINE void transpose(Vec (&rows)[kWidth]) {
  for (int i = 0; i < kWidth; ++i) {
    if ((i & kStep) == 0) exchange<kStep>(rows[i], rows[i + kStep], std::make_index_sequence<kWidth>());
  }
  if constexpr (kStep > 1) transpose<kStep / 2>(rows);
}
