#include "host/profile/trace.hpp"

#include <pthread.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

/// A name as JSON text; control characters become spaces.
std::string quoted(const char* name) {
  std::string text = "\"";
  for (const char* c = name; *c != '\0'; ++c) {
    if (*c == '"' || *c == '\\') text.push_back('\\');
    text.push_back(static_cast<unsigned char>(*c) < 0x20 ? ' ' : *c);
  }
  return text + "\"";
}

}  // namespace

TraceRecorder::TraceRecorder(const std::string& path)
    : path_(path), start_(std::chrono::steady_clock::now()), file_(std::fopen(path.c_str(), "wbx")) {
  if (file_ == nullptr) {
    throw TrainError("--profile: cannot create " + path + ": " + std::strerror(errno));
  }
  std::fputs("[\n", file_);
}

TraceRecorder::~TraceRecorder() { close(); }

void TraceRecorder::close() {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  std::fputs("\n]\n", file_);
  std::fclose(file_);
  file_ = nullptr;
}

int TraceRecorder::thread_number() {
  const auto [entry, added] = threads_.emplace(std::this_thread::get_id(), static_cast<int>(threads_.size()) + 1);
  if (added) {
    std::array<char, 32> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    write(R"({"name":"thread_name","ph":"M","pid":1,"tid":)" + std::to_string(entry->second) + R"(,"args":{"name":)" +
          quoted(name.data()) + "}}");
  }
  return entry->second;
}

void TraceRecorder::write(const std::string& event) {
  if (count_++ > 0) std::fputs(",\n", file_);
  std::fwrite(event.data(), 1, event.size(), file_);
}

void TraceRecorder::add(const char* name, char phase) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr || count_ >= kMaxEvents) return;
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now - start_).count();
  const std::string thread = std::to_string(thread_number());
  std::string fraction = std::to_string(nanoseconds % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  write("{\"name\":" + quoted(name) + ",\"ph\":\"" + phase + "\",\"pid\":1,\"tid\":" + thread +
        ",\"ts\":" + std::to_string(nanoseconds / 1000) + "." + fraction + "}");
}

std::string free_trace_path(const std::string& folder) {
  const std::filesystem::path base(folder);
  std::filesystem::path path = base / "trace.json";
  for (int n = 2; std::filesystem::exists(path); ++n) {
    path = base / ("trace." + std::to_string(n) + ".json");
  }
  return path.string();
}

}  // namespace stc::host
