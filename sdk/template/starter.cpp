/// \file
/// A sink that appends one line to a file for every n-th training step.
#include <cstdint>
#include <fstream>
#include <string>

#include "stc/plain/sink.hpp"

namespace starter {

class Starter {
 public:
  /// Keys of the section that selects the plugin. The values here are the defaults; the host checks the
  /// user's file against describe and shows it in `stc-host plugins describe starter`.
  struct Params {
    std::string path = "loss.txt";
    int64_t every = 1;

    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "file to append to, relative to the run's folder");
      v("every", &Params::every, "write every n-th step", 1, 1000000);
    }
  };

  Starter(const Params& params, stc::Host host) : params_(params), host_(host) {}

  void open(const stc::RunInfo& run) {
    const bool absolute = params_.path.starts_with('/');
    path_ = absolute ? params_.path : std::string(run.run_dir()) + "/" + params_.path;
    out_.open(path_, run.resumed() ? std::ios::app : std::ios::trunc);
    if (!out_) {
      // Throwing is how a plugin fails; the host adds the plugin, the step and the place in the file.
      throw stc::Fault::config("path", path_ + ": cannot be opened for writing");
    }
  }

  void event(const stc::EventView& event) {
    if (event.name() != "train_step") {
      return;
    }
    const auto step = event.find("step");
    const auto loss = event.find("loss");
    if (step && loss && step->as_int() % params_.every == 0) {
      out_ << step->as_int() << " " << loss->as_double() << "\n";
    }
  }

  void flush() {
    if (!out_.flush()) {
      throw stc::Fault(STC_ERROR_IO, path_ + ": cannot be written");
    }
  }

  void close() { host_.debug("wrote " + path_); }

 private:
  Params params_;
  stc::Host host_;
  std::string path_;
  std::ofstream out_;
};

}  // namespace starter

STC_SINK_PLUGIN(starter::Starter, "starter", "0.1.0", "the loss of every n-th step in a text file")
