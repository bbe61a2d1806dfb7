/// \file
/// stc-kernels NAME: runs one kernel a fixed number of times on fixed data, so that its instructions can be counted.
/// Without NAME: prints the names. The instruction set is the best that the processor (or the counting tool) offers.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gemm/gemm.hpp"
#include "gemm/kernels.hpp"
#include "kernels.hpp"

namespace {

using namespace stc::reference_transformer;

constexpr int64_t kRows = 64, kWidth = 96, kVocab = 512, kTime = 48;

std::vector<float> values(int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  uint32_t state = 1;
  for (float& value : out) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / static_cast<float>(1U << 23) - 1.0F;
  }
  return out;
}

void product() {
  std::vector<float> a = values(kRows * kWidth), b = values(kWidth * kVocab), c(kRows * kVocab);
  stc::gemm::multiply_with(stc::gemm::kernels(), {{a.data(), kWidth, 1}, {b.data(), 1, kWidth}, c.data(), kVocab, kRows, kVocab, kWidth},
                           1, stc::gemm::Parallel{});
}

/// One row of four query heads over two key heads.
void attend(bool backward) {
  AttentionCall call;
  call.shape = {1, kTime, 2, 2, 24};
  const std::vector<float> qkv = values(kTime * call.shape.qkv_dim()), angles = values(kTime * 12);
  std::vector<float> stats(static_cast<size_t>(2 * kTime * call.shape.heads()));
  std::vector<float> out(static_cast<size_t>(kTime * call.shape.model_dim()));
  std::vector<float> gradient(qkv.size()), scratch(static_cast<size_t>(call.scratch()) + 16);
  call.qkv = qkv.data();
  call.cos = call.sin = angles.data();
  call.stats = stats.data();
  call.scale = 0.2F;
  for (int64_t task = 0; task < 2; ++task) {
    cpu_kernels().fp32.attention(call, out.data(), scratch.data(), task);
    if (backward) cpu_kernels().fp32.attention_backward(call, out.data(), gradient.data(), scratch.data(), task);
  }
}

void norm() {
  const std::vector<float> x = values(kRows * kWidth), weight = values(kWidth);
  std::vector<float> sum(x.size()), normed(x.size()), rstd(kRows);
  cpu_kernels().fp32.add_rms_norm(x.data(), x.data(), weight.data(), sum.data(), normed.data(), rstd.data(), kWidth, Dropout{},
                                  Dropout{}, 0, kRows);
}

void swiglu() {
  std::vector<float> gate_up = values(kRows * 2 * kWidth), act(kRows * kWidth);
  cpu_kernels().fp32.swiglu(gate_up.data(), act.data(), kWidth, 0, kRows);
  cpu_kernels().fp32.swiglu_backward_in_place(gate_up.data(), act.data(), kWidth, 0, kRows);
}

void cross_entropy() {
  std::vector<float> logits = values(kRows * kVocab);
  const std::vector<int64_t> labels(kRows, 7);
  std::vector<double> losses(kRows);
  cpu_kernels().fp32.cross_entropy(logits.data(), labels.data(), losses.data(), kVocab, true, 0, kRows);
}

struct Work {
  const char* name;
  std::function<void()> run;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Work> all = {{"product", product},
                                 {"attention", [] { attend(false); }},
                                 {"attention_backward", [] { attend(true); }},
                                 {"norm", norm},
                                 {"swiglu", swiglu},
                                 {"cross_entropy", cross_entropy}};
  for (const Work& work : all) {
    if (argc < 2) {
      std::puts(work.name);
    } else if (std::strcmp(argv[1], work.name) == 0) {
      for (int i = 0; i < 50; ++i) work.run();
      return 0;
    }
  }
  if (argc < 2) return 0;
  std::fprintf(stderr, "stc-kernels: no kernel %s\n", argv[1]);
  return 2;
}
