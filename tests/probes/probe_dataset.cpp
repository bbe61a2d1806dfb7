// probe_labels: rows whose labels are told, so that the loss and gradient of probe_lin are known exactly, and a batch
// may hold nothing that counts, or a label that no class has.

#include <span>
#include <string>
#include <vector>

#include "stc/plain/dataset.hpp"

namespace stc::probe {

class Labels {
 public:
  struct Params {
    std::vector<int64_t> labels = {1};
    int64_t block_size = 16;
    template <class V>
    static void describe(V& v) {
      v("labels", &Params::labels, "every label of row i is entry i modulo their number");
      v("block_size", &Params::block_size, "labels of a row", 1, 1 << 20);
    }
  };

  struct Stream {
    const Params* params;
    void get(std::span<const int64_t> indices, Rows& out) const {
      for (const int64_t index : indices) {
        const int64_t label = params->labels[static_cast<size_t>(index) % params->labels.size()];
        const std::vector<int64_t> ids(static_cast<size_t>(params->block_size), 1), labels(ids.size(), label);
        out.put(0, std::span<const int64_t>(ids));
        out.put(1, std::span<const int64_t>(labels));
        out.commit();
      }
    }
  };

  explicit Labels(const Params& params) : params_(params) {}
  std::vector<Split> splits() const { return {{"train", 1000, 0}}; }
  std::vector<Field> fields() const {
    return {Field::ready<int64_t>("input_ids", {params_.block_size}),
            Field::ready<int64_t>("labels", {params_.block_size})};
  }
  std::string fingerprint() const { return "labels"; }
  Stream open(std::string_view, uint32_t, uint32_t) const { return {&params_}; }

 private:
  Params params_;
};

}  // namespace stc::probe

STC_DATASET_PLUGIN(stc::probe::Labels, "probe_labels", "1.0.0", "rows whose labels are told")
