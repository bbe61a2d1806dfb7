#include "host/train/stage_streams.hpp"

#include <algorithm>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

namespace stc::host {
namespace {

/// `waiter` does nothing more before all that `done` has now is done.
void wait_for(const c10::Stream& waiter, const c10::Stream& done) {
  c10::Event event(done.device_type());
  event.record(done);
  event.block(waiter);
}

std::string name_fault(const std::vector<std::string>& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    for (size_t j = i + 1; j < stages.size(); ++j) {
      const std::string& shorter = stages[i].size() <= stages[j].size() ? stages[i] : stages[j];
      const std::string& longer = stages[i].size() <= stages[j].size() ? stages[j] : stages[i];
      if (shorter == longer) return "stage " + shorter + " is named twice";
      if (longer.rfind(shorter + ".", 0) == 0) return "stage " + longer + " lies within stage " + shorter;
    }
  }
  return {};
}

std::string refusal(const c10::Device& device, const std::vector<std::string>& stages, bool compiled) {
  if (compiled) return "compile is enabled";
  if (!device.is_cuda()) return "device " + c10::DeviceTypeName(device.type(), /*lower_case=*/true) + " has no streams";
  if (stages.size() < 2) return "the model names fewer than two stages";
  return name_fault(stages);
}

}  // namespace

StageStreams::StageStreams(const c10::Device& device, const std::vector<std::string>& stages, int64_t max_streams,
                           bool compiled) {
  report_.reason = refusal(device, stages, compiled);
  if (!report_.reason.empty()) return;
  try {
    take_streams(device, stages, max_streams);
  } catch (const c10::Error& error) {
    report_.reason = std::string("set-up failed: ") + error.what_without_backtrace();
    return;
  }
  report_.enabled = true;
  report_.streams = static_cast<int64_t>(streams_.size());
  report_.stages = static_cast<int64_t>(stages.size());
}

void StageStreams::take_streams(const c10::Device& device, const std::vector<std::string>& stages,
                                int64_t max_streams) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  const size_t count = std::min(static_cast<size_t>(max_streams), stages.size());
  for (size_t i = 0; i < count; ++i) streams_.push_back(guard.getStreamFromGlobalPool(device));
  for (size_t i = 0; i < stages.size(); ++i) stream_of_[stages[i]] = i % count;
}

void StageStreams::begin(const std::string& stage) {
  const auto found = stream_of_.find(stage);
  if (found == stream_of_.end()) return;
  const c10::Stream& stream = streams_[found->second];
  const c10::impl::VirtualGuardImpl guard(stream.device_type());
  const c10::Stream before = guard.getStream(stream.device());
  if (before != stream) wait_for(stream, before);
  guard.exchangeStream(stream);
  entered_.push_back({stage, before});
}

void StageStreams::end(const std::string& stage) {
  if (entered_.empty() || entered_.back().stage != stage) return;
  const c10::Stream before = entered_.back().before;
  entered_.pop_back();
  const c10::impl::VirtualGuardImpl guard(before.device_type());
  const c10::Stream stream = guard.exchangeStream(before);
  if (before != stream) wait_for(before, stream);
}

}  // namespace stc::host
