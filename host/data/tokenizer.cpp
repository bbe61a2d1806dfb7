#include "host/data/tokenizer.hpp"

#include <algorithm>
#include <utility>

namespace stc::host {
namespace {

Value declared_keys(const LoadedPlugin& plugin, const Value& section) {
  Value keys = Value::object();
  for (const Param& param : plugin.declaration.params) {
    const auto it = section.find(param.name);
    if (it != section.end()) keys[param.name] = *it;
  }
  return keys;
}

}  // namespace

Tokenizer::Tokenizer(InstanceSpec spec) : Instance(std::move(spec)), keys_(declared_keys(plugin(), values())) {
  call("create", [&] { return api<stc_tokenizer_api>().create(host(), Instance::section(), &raw_); });
}

Tokenizer::~Tokenizer() {
  try {
    call("destroy", [&] { api<stc_tokenizer_api>().destroy(raw_); });
  } catch (const PluginError&) {  // the instance is gone either way
  }
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& out) const {
  const auto& table = api<stc_tokenizer_api>();
  const size_t before = out.size();
  uint64_t room = text.size();  // one id a byte is nearly always enough
  for (;;) {
    uint64_t count = 0;
    out.resize(before + room);
    call("encode", [&] { return table.encode(raw_, text.data(), text.size(), out.data() + before, room, &count); });
    out.resize(before + std::min(count, room));
    if (count <= room) return;
    room = count;
  }
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  const auto& table = api<stc_tokenizer_api>();
  std::string text;
  uint64_t room = ids.size() * 4;
  for (;;) {
    uint64_t size = 0;
    text.resize(room);
    call("decode", [&] { return table.decode(raw_, ids.data(), ids.size(), text.data(), room, &size); });
    text.resize(std::min(size, room));
    if (size <= room) return text;
    room = size;
  }
}

uint64_t Tokenizer::size() const {
  return call("size", [&] { return api<stc_tokenizer_api>().size(raw_); });
}

bool Tokenizer::has_safe_cut() const { return api<stc_tokenizer_api>().safe_cut != nullptr; }

uint64_t Tokenizer::safe_cut(std::string_view text) const {
  return call("safe_cut", [&] { return api<stc_tokenizer_api>().safe_cut(raw_, text.data(), text.size()); });
}

}  // namespace stc::host
