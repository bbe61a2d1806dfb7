// Any bytes as a run file: a ConfigError with a place, or a tree within the stated limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/config/document.hpp"
#include "host/config/raw_config.hpp"

namespace {

template <class Read>
void read(Read&& read_text, const std::string& text) {
  using namespace stc::host;
  try {
    const NodePtr root = read_text(text, "fuzz");
    if (!root) return;
    std::vector<Warning> warnings;
    if (root->kind == Node::Kind::kMap) fold_document(*root, warnings);
  } catch (const ConfigError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read(stc::host::read_yaml, text);
  read(stc::host::read_json, text);
  return 0;
}
