#include "host/app/check_report.hpp"

#include <unistd.h>

namespace stc::host {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

CheckReport::~CheckReport() {
  if (fd_ >= 0) ::close(fd_);
}

void CheckReport::begin(const std::string& step) { send('s', step); }
void CheckReport::refuse(const std::string& rendered) { send('e', rendered); }
void CheckReport::done() { send('d', {}); }

void CheckReport::send(char kind, const std::string& text) {
  if (fd_ < 0) return;
  const std::string line = kind + escape(text) + "\n";
  const char* data = line.data();
  size_t left = line.size();
  while (left > 0) {
    const ssize_t n = ::write(fd_, data, left);
    if (n <= 0) return;
    data += n;
    left -= static_cast<size_t>(n);
  }
}

void take_report_line(const std::string& line, CheckOutcome& outcome) {
  if (line.empty()) return;
  const std::string text = unescape(line.substr(1));
  if (line[0] == 's') outcome.last_step = text;
  if (line[0] == 'e') outcome.error = text;
  if (line[0] == 'd') outcome.done = true;
}

}  // namespace stc::host
