// Optimizer muon: orthogonalised momentum for the matrices of linear layers, AdamW for everything else.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <stc/core/shape.hpp>
#include <stc/stable/inner_optimizer.hpp>
#include <stc/stable/ops.hpp>

#include "matrix_update.hpp"
#include "routing.hpp"

namespace stc::muon {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Fault(STC_ERROR_INVALID_ARGUMENT, "parameter " + name + ": " + what);
}

}  // namespace

class Muon {
 public:
  struct Params {
    double muon_momentum = 0.95;
    int64_t muon_ns_steps = 5;
    double muon_norm_eps = 1e-8;
    bool muon_plus = false;
    // of AdamW, which is created from the same section
    std::vector<double> betas = {0.9, 0.95};
    double eps = 1e-8;
    std::optional<bool> fused;
    template <class V>
    static void describe(V& v) {
      v("muon_momentum", &Params::muon_momentum, "decay rate of the momentum", stc::half_open(0.0, 1.0));
      v("muon_ns_steps", &Params::muon_ns_steps, "Newton-Schulz steps", 1, 100);
      v("muon_norm_eps", &Params::muon_norm_eps, "added to the sums of squares of muon_plus", stc::above(0.0));
      v("muon_plus", &Params::muon_plus, "normalise the update by rows, then by columns");
      v("betas", &Params::betas, "of AdamW: decay rates of the moments", stc::half_open(0.0, 1.0));
      v("eps", &Params::eps, "of AdamW: added to the root of the second moment", stc::above(0.0));
      v("fused", &Params::fused, "of AdamW: one vectorised, multi-threaded pass");
    }
  };

  Muon(const Params& params, stc::Host host, stc::Config section)
      : host_(host), adamw_(host, "adamw", section), update_(host) {
    settings_.momentum = params.muon_momentum;
    settings_.ns_steps = params.muon_ns_steps;
    settings_.norm_eps = params.muon_norm_eps;
    settings_.plus = params.muon_plus;
  }

  std::vector<const char*> route(const std::vector<stable::BoundParameter>& parameters) const {
    std::vector<const char*> names;
    for (const auto& parameter : parameters) names.push_back(is_muon(host_, parameter) ? "muon" : "adamw");
    return names;
  }

  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
    groups_ = groups;
    std::vector<stable::BoundParameter> rest;
    for (uint32_t i = 0; i < parameters.size(); ++i) {
      if (is_muon(host_, parameters[i])) {
        matrices_.push_back(make_matrix(parameters[i]));
        matrix_index_.push_back(i);
      } else {
        rest.push_back(parameters[i]);
        rest_index_.push_back(i);
      }
    }
    count_ = static_cast<uint32_t>(parameters.size());
    rest_gradients_.resize(rest.size());
    adamw_.bind(rest, groups);
  }

  void step(const Step& step, const stable::Gradients& gradients) {
    if (gradients.size() != count_) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, "step: got " + std::to_string(gradients.size()) +
                                                  " gradients, expected " + std::to_string(count_));
    }
    // The number of updates did not grow: the device skipped the last one.
    if (last_step_ && *last_step_ == step.step) {
      for (Matrix* matrix : last_on_device_) --matrix->updates;
    }
    std::vector<Work> works = collect(gradients);
    for (size_t i = 0; i < rest_index_.size(); ++i) rest_gradients_[i] = gradients.raw(rest_index_[i]);
    adamw_.step(step, rest_gradients_.data(), static_cast<uint32_t>(rest_gradients_.size()));
    last_step_ = step.step;
    last_on_device_.clear();
    for (const Work& work : works) {
      if (!work.matrix->on_host) last_on_device_.push_back(work.matrix);
    }
    while (!works.empty()) {
      const auto other = std::stable_partition(works.begin(), works.end(), [&](const Work& work) {
        return work.matrix->same_kind(*works.front().matrix);
      });
      update_.step(settings_, groups_, step, std::vector<Work>(works.begin(), other));
      works.erase(works.begin(), other);
    }
  }

  void save(stable::StateWriter& writer) const {
    for (const Matrix& matrix : matrices_) {
      writer.tensor(matrix.name + "/momentum_buffer", matrix.momentum);
      writer.number((matrix.name + "/step").c_str(), matrix.updates);
    }
    adamw_.save(writer);
  }

  void load(stable::StateReader& reader) {
    std::vector<int64_t> updates;
    std::vector<stable::Tensor> momenta;
    for (const Matrix& matrix : matrices_) {
      const auto found = reader.number<int64_t>((matrix.name + "/step").c_str());
      if (!found || *found < 0) {
        throw Fault(STC_ERROR_INVALID_ARGUMENT,
                    "state " + matrix.name + "/step: is " + (found ? "negative" : "missing"));
      }
      updates.push_back(*found);
      momenta.push_back(find_momentum(reader, matrix));
    }
    adamw_.load(reader);
    const stable::NoGradGuard no_grad;
    for (size_t i = 0; i < matrices_.size(); ++i) {
      matrices_[i].updates = updates[i];
      stable::copy_(matrices_[i].momentum, momenta[i]);
    }
    last_step_.reset();
  }

  void reset() {
    adamw_.reset();
    const stable::NoGradGuard no_grad;
    for (Matrix& matrix : matrices_) {
      stable::zero_(matrix.momentum);
      matrix.updates = 0;
    }
    last_step_.reset();
  }
  void set_mode(int32_t mode) { adamw_.set_mode(mode); }
  void set_group(uint32_t index, const Group& group) {
    adamw_.set_group(index, group);
    groups_.at(index) = group;
  }
  void set_cautious(bool enabled) {
    settings_.cautious = enabled;
    if (!adamw_.set_cautious(enabled)) throw Fault(STC_ERROR_UNSUPPORTED, "optimizer adamw cannot be cautious by itself");
  }

 private:
  Matrix make_matrix(const stable::BoundParameter& parameter) const {
    const stc_tensor_info info = stable::tensor_info(host_, parameter.tensor.get());
    Matrix matrix;
    matrix.name = parameter.name;
    matrix.tensor = parameter.tensor;
    matrix.group = parameter.group;
    matrix.dtype = info.dtype;
    matrix.rows = info.sizes[0];
    matrix.cols = info.sizes[1];
    matrix.on_host = info.device_type == STC_DEVICE_CPU;
    matrix.plain = matrix.on_host && info.dtype == STC_DTYPE_FLOAT32 && info.is_contiguous != 0;
    matrix.device_type = info.device_type;
    matrix.device_index = info.device_index;
    const stable::NoGradGuard no_grad;
    const int32_t state_type = info.dtype == STC_DTYPE_FLOAT64 ? STC_DTYPE_FLOAT64 : STC_DTYPE_FLOAT32;
    matrix.momentum = matrix.plain
                          ? stable::Tensor::zeros({matrix.rows, matrix.cols})
                          : stable::to(stable::zeros_like(stable::detach(parameter.tensor)), state_type);
    return matrix;
  }

  std::vector<Work> collect(const stable::Gradients& gradients) {
    const stable::NoGradGuard no_grad;
    std::vector<Work> works;
    for (size_t i = 0; i < matrices_.size(); ++i) {
      const uint32_t index = matrix_index_[i];
      if (!gradients.has(index)) continue;
      Matrix& matrix = matrices_[i];
      const stc_tensor_info info = gradient_info(gradients.raw(index), matrix);
      stable::Tensor gradient = gradients[index];
      if (info.is_contiguous == 0) gradient = stable::clone(stable::reshape(gradient, {matrix.numel()}));
      const auto* data = matrix.plain ? gradient.data<float>() : nullptr;
      if (!matrix.plain) gradient = stable::reshape(gradient, {matrix.rows, matrix.cols});
      works.push_back({&matrix, std::move(gradient), data});
    }
    return works;
  }

  stc_tensor_info gradient_info(stc_tensor tensor, const Matrix& matrix) const {
    stc_tensor_info info{};
    try {
      info = stable::tensor_info(host_, tensor);
    } catch (const Fault& fault) {
      refuse(matrix.name, std::string("gradient: ") + fault.what());
    }
    if (info.dtype != matrix.dtype) {
      refuse(matrix.name, std::string("gradient has dtype ") + dtype_name(info.dtype) + ", expected " + dtype_name(matrix.dtype));
    }
    if (info.ndim != 2 || info.sizes[0] != matrix.rows || info.sizes[1] != matrix.cols) {
      refuse(matrix.name, "gradient has shape " + shape_text(info.sizes, static_cast<size_t>(info.ndim)) +
                              ", expected " + shape_text(std::vector<int64_t>{matrix.rows, matrix.cols}));
    }
    if (info.device_type != matrix.device_type || info.device_index != matrix.device_index) {
      refuse(matrix.name, "gradient is on another device than the parameter");
    }
    return info;
  }

  stable::Tensor find_momentum(stable::StateReader& reader, const Matrix& matrix) const {
    const std::string name = matrix.name + "/momentum_buffer";
    stable::Tensor found;
    if (!reader.tensor(name, found)) throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": is missing");
    const std::vector<int64_t> sizes(found.sizes().begin(), found.sizes().end());
    if (sizes != std::vector<int64_t>{matrix.rows, matrix.cols}) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, "state " + name + ": got shape " + shape_text(sizes) + ", expected " +
                                                  shape_text(std::vector<int64_t>{matrix.rows, matrix.cols}));
    }
    return found;
  }

  Host host_;
  Settings settings_;
  stable::InnerOptimizer adamw_;
  MatrixUpdate update_;
  std::vector<Group> groups_;
  std::vector<Matrix> matrices_;
  std::vector<uint32_t> matrix_index_;  // of each matrix among all parameters
  std::vector<uint32_t> rest_index_;    // of each of AdamW's
  std::vector<stc_tensor> rest_gradients_;
  uint32_t count_ = 0;
  std::optional<uint64_t> last_step_;
  std::vector<Matrix*> last_on_device_;
};

}  // namespace stc::muon

STC_OPTIMIZER_PLUGIN(stc::muon::Muon, "muon", "1.0.0",
                     "orthogonalised momentum for matrices of linear layers, AdamW for the rest")
