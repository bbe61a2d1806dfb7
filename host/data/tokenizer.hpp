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
  uint64_t size() const;
  /// Length of the prefix after which the stream may be cut; 0 when the plugin cannot say and the
  /// whole document must be collected.
  bool has_safe_cut() const;
  uint64_t safe_cut(std::string_view text) const;

 private:
  stc_tokenizer* raw_ = nullptr;
};

}  // namespace stc::host
