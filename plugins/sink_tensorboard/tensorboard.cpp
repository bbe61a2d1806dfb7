// Scalars and sampled texts of a run as TensorBoard's event files.

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "record.hpp"
#include "stc/plain/line_file.hpp"
#include "stc/plain/sink.hpp"
#include "stc/plain/utf8.hpp"

namespace stc::tensorboard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kPromptCharacters = 40;  // of a prompt in its tag

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? std::string(name) : "localhost";
}

// The largest time in the names of a folder's event files; readers take files in the order of their
// names.
int64_t latest_file_s(const fs::path& folder) {
  int64_t latest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    int64_t time = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), time);
    latest = std::max(latest, time);
  }
  return latest;
}

std::string file_name(int64_t time_s) {
  std::string digits = std::to_string(time_s);
  digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
  return std::string(kPrefix) + digits + "." + host_name() + "." + std::to_string(::getpid()) + ".0";
}

std::optional<double> number_of(const Value& value) {
  if (value.is_bool()) {
    return value.as_bool() ? 1.0 : 0.0;
  }
  if (value.is_int()) {
    return static_cast<double>(value.as_int());
  }
  if (value.is_float()) {
    return value.as_double();
  }
  return std::nullopt;
}

std::string text_of(const stc::EventView& event, std::string_view field) {
  const std::optional<Value> value = event.find(field);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

// Markdown that shows a text as it is: a block of code.
std::string verbatim(std::string_view text) {
  std::string out = "    ";
  for (const char c : text) {
    out += c;
    if (c == '\n') {
      out += "    ";
    }
  }
  return out;
}

struct Tensorboard {
  struct Params {
    std::optional<std::string> path;
    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "folder of the event files; null: tensorboard in run.output_dir");
    }
  };

  Tensorboard(const Params& params, stc::Host host) : params_(params), host_(host) {}

  // A file of its own for each process. It begins after the last step of the part before, so that
  // what a killed process wrote beyond its last checkpoint is dropped by readers; a new run (step
  // 0) drops all of an earlier one.
  void open(const stc::RunInfo& run) {
    const fs::path folder =
        params_.path ? host_.path_resolve(*params_.path) : std::string(run.run_dir()) + "/tensorboard";
    const double now = now_s();
    const int64_t time = std::max(static_cast<int64_t>(now), latest_file_s(folder) + 1);
    file_ = stc::LineFile((folder / file_name(time)).string());
    file_.write(framed(version_event(now)));
    const auto first_step = run.resumed() ? static_cast<int64_t>(run.start_step()) + 1 : 0;
    file_.write(framed(start_event(now, first_step)));
  }

  void event(const stc::EventView& event) {
    const std::optional<Value> step = event.find("step");
    SummaryEvent record(event.unix_time_s(), step && step->is_int() ? step->as_int() : 0);
    if (event.name() == "train_step") {
      add_scalars(record, event, "train/");
    } else if (event.name() == "eval") {
      const std::string kind = text_of(event, "weights") == "ema" ? "eval_ema/" : "eval/";
      add_scalars(record, event, kind + text_of(event, "set") + "/");
    } else if (event.name() == "sample") {
      const std::string prompt = text_of(event, "prompt");
      record.add_text("sample/" + valid_utf8(prompt, kPromptCharacters),
                      verbatim(valid_utf8(prompt + text_of(event, "text"))));
    }
    if (!record.empty()) {
      file_.write(framed(record.message()));
    }
  }

  void close() {
    file_.sync();
    file_.close();
  }

 private:
  static void add_scalars(SummaryEvent& record, const stc::EventView& event, const std::string& prefix) {
    for (const auto& [name, value] : event) {
      const std::optional<double> number = number_of(value);
      if (number && name != "step" && name != "elapsed_s") {
        record.add_scalar(valid_utf8(prefix + std::string(name)), *number);
      }
    }
  }

  Params params_;
  stc::Host host_;
  stc::LineFile file_;
};

}  // namespace

STC_SINK_PLUGIN(Tensorboard, "tensorboard", "1.0.0", "scalars and sampled texts for TensorBoard")

}  // namespace stc::tensorboard
