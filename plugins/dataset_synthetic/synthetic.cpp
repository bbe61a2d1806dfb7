#include <string>
#include <vector>

#include "stc/plain/dataset.hpp"
#include "tokens.hpp"

namespace stc::synthetic {

/// Random tokens that need no file; the samples of Speedtronic 2.0.0, bit for bit.
class Synthetic {
 public:
  struct Params {
    int64_t num_tokens = 100000;
    int64_t block_size = 128;
    int64_t vocab_size = 512;
    int64_t seed = 1234;
    template <class V>
    static void describe(V& v) {
      v("num_tokens", &Params::num_tokens, "number of SAMPLES, not of tokens (historic name)", at_least(1));
      v("block_size", &Params::block_size, "tokens of a sample's input", 1, 1 << 24);
      v("vocab_size", &Params::vocab_size, "tokens are in [0, vocab_size)", 1, (1 << 28) - 1);
      v("seed", &Params::seed, "sample i is drawn from seed + i");
    }
  };

  /// Reads samples; holds nothing that changes, so any number of threads may use it.
  struct Samples {
    const Params* params;
    void get(std::span<const int64_t> indices, Rows& out) const {
      for (const int64_t index : indices) {
        if (index < 0 || index >= params->num_tokens) {
          throw Fault(STC_ERROR_INVALID_ARGUMENT,
                      "synthetic: sample " + std::to_string(index) + " of " + std::to_string(params->num_tokens));
        }
      }
      const auto block = static_cast<uint64_t>(params->block_size);
      thread_local std::vector<int64_t> tokens;
      tokens.resize(indices.size() * (block + 1));
      draw_tokens(static_cast<uint64_t>(params->seed), indices, static_cast<uint32_t>(params->vocab_size), block + 1,
                  tokens.data());
      for (size_t row = 0; row < indices.size(); ++row) {
        const std::span<const int64_t> sample(tokens.data() + row * (block + 1), block + 1);
        out.put(0, sample.first(block));
        out.put(1, sample.last(block));
        out.commit();
      }
    }
  };

  explicit Synthetic(const Params& params) : params_(params) {}

  std::vector<Split> splits() const { return {{"train", params_.num_tokens, 0}}; }

  std::vector<Field> fields() const {
    return {Field::ready<int64_t>("input_ids", {params_.block_size}),
            Field::ready<int64_t>("labels", {params_.block_size})};
  }

  std::string fingerprint() const {
    return "mt19937 samples=" + std::to_string(params_.num_tokens) + " block=" + std::to_string(params_.block_size) +
           " vocab=" + std::to_string(params_.vocab_size) + " seed=" + std::to_string(params_.seed);
  }

  Samples open(std::string_view split, uint32_t, uint32_t) const {
    if (split != "train") {
      throw Fault(STC_ERROR_NOT_FOUND, "synthetic: no split " + std::string(split) + ", it has train");
    }
    return {&params_};
  }

 private:
  Params params_;
};

}  // namespace stc::synthetic

using stc::synthetic::Synthetic;
STC_DATASET_PLUGIN(Synthetic, "synthetic", "1.0.0", "random tokens, for tests and first runs")
