// Any bytes as manifest.json, as a pointer and as run.json: an error, or names that stay inside of the folder. A JSON
// object is also tried with its own hash made right, which the fuzzer would not find.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "host/checkpoint/hash.hpp"
#include "host/checkpoint/layout.hpp"
#include "host/checkpoint/manifest.hpp"

namespace {

using namespace stc::host;

/// One file, whatever its name. What would write ends the program.
class OneFile final : public FileSystem {
 public:
  explicit OneFile(const std::string& text) : text_(text) {}
  FileView map(const std::string&) override {
    FileView view;
    view.data = reinterpret_cast<const uint8_t*>(text_.data());
    view.bytes = text_.size();
    return view;
  }
  std::optional<EntryKind> kind(const std::string&) override { return EntryKind::kFile; }
  std::unique_ptr<OutputFile> create(const std::string&) override { std::abort(); }
  void make_directory(const std::string&) override { std::abort(); }
  void sync_directory(const std::string&) override { std::abort(); }
  void rename(const std::string&, const std::string&) override { std::abort(); }
  bool exchange(const std::string&, const std::string&) override { std::abort(); }
  void remove_file(const std::string&) override { std::abort(); }
  void remove_directory(const std::string&) override { std::abort(); }
  std::vector<DirectoryEntry> list(const std::string&) override { std::abort(); }
  int64_t modified_s(const std::string&) override { return 0; }
  LockAttempt try_lock(const std::string&) override { std::abort(); }

 private:
  const std::string& text_;
};

void read(const std::string& text) {
  OneFile files(text);
  try {
    const Manifest manifest = read_manifest(files, "folder");
    if (!is_run_id(manifest.run_id)) std::abort();
    for (const auto& [name, digest] : manifest.files) {
      if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) std::abort();
    }
  } catch (const CheckpointError&) {
  }
  const Pointer pointer = read_pointer(files, "folder", kLatestFile);
  if (pointer.present && !pointer.step && pointer.problem.empty()) std::abort();
  const std::optional<std::string> run_id = read_run_file(files, "folder");
  if (run_id && !is_run_id(*run_id)) std::abort();
}

std::string with_own_hash(nlohmann::ordered_json value) {
  value.erase("manifest_xxh3_128");
  const std::string body = value.dump(2);
  value["manifest_xxh3_128"] = xxh3_128_hex(body.data(), body.size());
  return value.dump(2) + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read(text);
  const auto value = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return 0;
  try {
    read(with_own_hash(value));
  } catch (const nlohmann::json::type_error&) {
    // Text that is no UTF-8 cannot be written again.
  }
  return 0;
}
