/// \file
/// Adapter of tokenizer plugins. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/plugins/instance.hpp"
#include "stc/abi/tokenizer.h"

namespace stc::host {

class Tokenizer : public Instance {
 public:
  explicit Tokenizer(InstanceSpec spec);
  ~Tokenizer() override;
  /// Appends ids to `out`.
  void encode(std::string_view text, std::vector<int32_t>& out) const;
  std::string decode(const std::vector<int32_t>& ids) const;
  /// Ids are in [0, size).
  uint64_t size() const;
  /// False when the plugin cannot say where a stream may be cut: documents are then collected whole.
  bool has_safe_cut() const;
  /// Length of the longest prefix after which the stream may be cut without changing an id, as the plugin says it.
  uint64_t safe_cut(std::string_view text) const;
  /// The plugin's own keys, completed: part of the data's fingerprint.
  const Value& keys() const { return keys_; }

 private:
  stc_tokenizer* raw_ = nullptr;
  Value keys_;
};

}  // namespace stc::host
