#include "host_passes.hpp"

namespace stc::muon {

double momentum_pass(const float* gradient, float grad_factor, float mu, float* momentum, float* out, int64_t count) {
  const float rest = 1.0F - mu;
  double squares = 0.0;
  constexpr int64_t kRun = 1024;  // summed in fp32 by eight lanes, then in fp64
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const int64_t end = begin + kRun < count ? begin + kRun : count;
    float lanes[8] = {};
    for (int64_t i = begin; i < end; ++i) {
      const float g = gradient[i] * grad_factor;
      const float b = mu * momentum[i] + rest * g;
      const float q = g + mu * (b - g);
      momentum[i] = b;
      out[i] = q;
      lanes[i & 7] += q * q;
    }
    for (const float lane : lanes) squares += static_cast<double>(lane);
  }
  return squares;
}

void scale_pass(float* x, float factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] *= factor;
}

void apply_pass(float* w, const float* u, const float* gradient, float grad_factor, float decay, float step,
                bool cautious, int64_t count) {
  if (!cautious) {
    for (int64_t i = 0; i < count; ++i) w[i] = w[i] * decay - step * u[i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float next = w[i] * decay - step * u[i];
    const float d = w[i] - next;
    const float g = gradient[i] * grad_factor;
    const bool keep = (d > 0.0F && g > 0.0F) || (d < 0.0F && g < 0.0F);
    w[i] = keep ? next : w[i];
  }
}

}  // namespace stc::muon
