#include "host/data/tokenizer.hpp"

#include <algorithm>
#include <utility>

namespace stc::host {
namespace {

Value declared_keys(const InstanceSpec& spec) {
  Value keys = Value::object();
  for (const Param& param : spec.plugin->declaration.params) {
    const auto it = spec.section.find(param.name);
    if (it != spec.section.end()) keys[param.name] = *it;
  }
  return keys;
}

}  // namespace

Tokenizer::Tokenizer(InstanceSpec spec) : Instance(spec), keys_(declared_keys(spec)) {
  check(api<stc_tokenizer_api>().create(host(), section(), &raw_), "create");
}

Tokenizer::~Tokenizer() { api<stc_tokenizer_api>().destroy(raw_); }

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& out) const {
  const auto& table = api<stc_tokenizer_api>();
  const size_t before = out.size();
  uint64_t room = text.size();  // one id a byte is nearly always enough
  for (;;) {
    uint64_t count = 0;
    out.resize(before + room);
    check(table.encode(raw_, text.data(), text.size(), out.data() + before, room, &count), "encode");
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
    check(table.decode(raw_, ids.data(), ids.size(), text.data(), room, &size), "decode");
    text.resize(std::min(size, room));
    if (size <= room) return text;
    room = size;
  }
}

uint64_t Tokenizer::size() const { return api<stc_tokenizer_api>().size(raw_); }

bool Tokenizer::has_safe_cut() const { return api<stc_tokenizer_api>().safe_cut != nullptr; }

uint64_t Tokenizer::safe_cut(std::string_view text) const {
  const uint64_t cut = api<stc_tokenizer_api>().safe_cut(raw_, text.data(), text.size());
  return std::min<uint64_t>(cut, text.size());
}

}  // namespace stc::host
