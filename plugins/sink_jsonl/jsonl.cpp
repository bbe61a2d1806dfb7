// Events as lines of JSON.

#include <optional>
#include <string>

#include "json_line.hpp"
#include "stc/plain/line_file.hpp"
#include "stc/plain/sink.hpp"

namespace stc::jsonl {
namespace {

struct Jsonl {
  struct Params {
    std::optional<std::string> path;
    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "file to append to; null: events.jsonl in run.output_dir");
    }
  };

  Jsonl(const Params& params, stc::Host host) : params_(params), host_(host) {}

  void open(const stc::RunInfo& run) {
    const std::string path =
        params_.path ? host_.path_resolve(*params_.path) : std::string(run.run_dir()) + "/events.jsonl";
    const std::string torn = stc::unfinished_line(path);
    if (!torn.empty() && torn.back() != '}') {
      stc::cut_end(path, torn.size());
      host_.warning(path + ": removed an unfinished last line of " + std::to_string(torn.size()) + " bytes");
    }
    file_ = stc::LineFile(path);
    if (!torn.empty() && torn.back() == '}') {
      file_.write("\n");
    }
  }
  void event(const stc::EventView& event) { file_.write(json_line(event)); }
  void close() {
    file_.sync();
    file_.close();
  }

 private:
  Params params_;
  stc::Host host_;
  stc::LineFile file_;
};

}  // namespace

STC_SINK_PLUGIN(Jsonl, "jsonl", "1.0.0", "every event as one line of strict JSON")

}  // namespace stc::jsonl
