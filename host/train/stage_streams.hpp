/// \file
/// Out-of-order backprop: stages of a model on streams of their own, so that autograd may run their
/// backward side by side. Autograd runs a node of the graph on the stream that its forward ran on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace stc::host {

/// As in the event ooo_backprop.
struct StageReport {
  bool enabled = false;
  std::string reason;  // why not
  int64_t streams = 0;
  int64_t stages = 0;
};

/// Untested on a device; what decides whether it is used is tested. [train-thread]
class StageStreams {
 public:
  /// Takes up to `max_streams` streams of the device; stage i uses stream i modulo their number.
  /// A device without streams, fewer than two stages, doubled or nested stage names ("h.0" and
  /// "h.0.mlp"), or `compiled` leave it disabled, with the reason.
  StageStreams(const c10::Device& device, const std::vector<std::string>& stages, int64_t max_streams, bool compiled);
  const StageReport& report() const { return report_; }

  /// The stage's stream waits for the current one and becomes current. An unknown name has no effect.
  void begin(const std::string& stage);
  /// The stream from before waits for the stage's and is current again.
  void end(const std::string& stage);

 private:
  void take_streams(const c10::Device& device, const std::vector<std::string>& stages, int64_t max_streams);

  StageReport report_;
  std::vector<c10::Stream> streams_;
  std::map<std::string, size_t> stream_of_;
  struct Entered {
    std::string stage;
    c10::Stream before;
  };
  std::vector<Entered> entered_;
};

}  // namespace stc::host
