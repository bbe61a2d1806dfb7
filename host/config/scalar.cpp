#include "host/config/scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace stc::host {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_digit_or_underscore(char c) { return is_digit(c) || c == '_'; }
bool is_hex(char c) { return is_digit_or_underscore(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Reads a word from left to right.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_any(std::string_view set) {
    if (rest_.empty() || set.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class Predicate>
  size_t take_while(Predicate predicate) {
    size_t n = 0;
    while (n < rest_.size() && predicate(rest_[n])) ++n;
    rest_.remove_prefix(n);
    return n;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

template <size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 9> kTrueWords{"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
constexpr std::array<std::string_view, 9> kFalseWords{"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNullWords{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kInfinityWords{".inf", ".Inf", ".INF"};
constexpr std::array<std::string_view, 3> kNanWords{".nan", ".NaN", ".NAN"};

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  return text;
}

bool is_decimal_integer(std::string_view digits) {
  if (digits.empty() || !is_digit(digits.front())) return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  return std::all_of(digits.begin(), digits.end(), is_digit_or_underscore);
}

bool is_based_integer(std::string_view digits) {
  if (digits.size() < 3 || digits[0] != '0') return false;
  std::string_view body = digits.substr(2);
  if (body.find_first_not_of('_') == std::string_view::npos) return false;
  if (digits[1] == 'x') return std::all_of(body.begin(), body.end(), is_hex);
  if (digits[1] != 'b') return false;
  return body.find_first_not_of("01_") == std::string_view::npos;
}

/// digits [. digits] [e [sign] digits], or . digits [e ...]; at least one of point and exponent.
bool is_decimal_float(std::string_view digits) {
  Cursor cursor(digits);
  bool leading = !digits.empty() && is_digit(digits.front());
  if (leading) cursor.take_while(is_digit_or_underscore);
  bool point = cursor.take('.');
  if (!leading) {
    if (!point || cursor.rest().empty() || !is_digit(cursor.rest().front())) return false;
  }
  if (point) cursor.take_while(is_digit_or_underscore);
  bool exponent = cursor.take_any("eE");
  if (exponent) {
    cursor.take_any("+-");
    if (cursor.take_while(is_digit) == 0) return false;
  }
  return cursor.done() && (point || exponent);
}

/// 1:30, 190:20:30.15: numbers to base 60 in YAML 1.1.
bool is_sexagesimal(std::string_view digits) {
  Cursor cursor(digits);
  if (digits.empty() || !is_digit(digits.front())) return false;
  cursor.take_while(is_digit_or_underscore);
  int groups = 0;
  while (cursor.take(':')) {
    std::string_view rest = cursor.rest();
    size_t n = cursor.take_while(is_digit);
    if (n == 0 || n > 2 || (n == 2 && rest.front() > '5')) return false;
    ++groups;
  }
  if (groups > 0 && cursor.take('.')) cursor.take_while(is_digit_or_underscore);
  return groups > 0 && cursor.done();
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

}  // namespace

PlainKind classify_plain(std::string_view text) {
  if (is_one_of(text, kNullWords)) return PlainKind::kNull;
  if (is_one_of(text, kTrueWords) || is_one_of(text, kFalseWords)) return PlainKind::kBool;
  std::string_view body = without_sign(text);
  if (is_decimal_integer(body) || is_based_integer(body)) return PlainKind::kInteger;
  if (is_decimal_float(body) || is_one_of(body, kInfinityWords) || is_one_of(text, kNanWords)) {
    return PlainKind::kFloat;
  }
  return PlainKind::kString;
}

std::optional<std::string> ambiguity(std::string_view text) {
  std::string_view body = without_sign(text);
  if (body.size() > 1 && body[0] == '0') {
    if (std::all_of(body.begin(), body.end(), is_digit_or_underscore)) {
      return "a leading zero means octal to some YAML readers and decimal to others";
    }
    if (body.size() > 2 && (body[1] == 'o' || body[1] == 'O') &&
        body.substr(2).find_first_not_of("01234567_") == std::string_view::npos) {
      return "0o is an octal number to some YAML readers and a string to others";
    }
  }
  if (is_sexagesimal(body)) {
    return "digits with colons are a number to base 60 to some YAML readers and a string to others";
  }
  return std::nullopt;
}

bool parse_bool(std::string_view text) { return is_one_of(text, kTrueWords); }

std::optional<Value> parse_integer(std::string_view text) {
  bool negative = !text.empty() && text.front() == '-';
  std::string digits = without_underscores(without_sign(text));
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    base = digits[1] == 'x' ? 16 : 2;
    digits.erase(0, 2);
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr uint64_t kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (negative) {
    if (magnitude > kMax + 1) return std::nullopt;
    return Value(static_cast<int64_t>(0 - magnitude));
  }
  if (magnitude > kMax) return Value(magnitude);
  return Value(static_cast<int64_t>(magnitude));
}

std::optional<double> parse_double(std::string_view text) {
  double sign = !text.empty() && text.front() == '-' ? -1.0 : 1.0;
  std::string_view body = without_sign(text);
  if (is_one_of(body, kInfinityWords)) return sign * std::numeric_limits<double>::infinity();
  if (is_one_of(body, kNanWords)) return std::numeric_limits<double>::quiet_NaN();
  if (is_based_integer(body)) {
    std::optional<Value> integer = parse_integer(body);
    if (!integer) return std::nullopt;
    return sign * integer->get<double>();
  }
  std::string digits = without_underscores(body);
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return sign * value;
}

std::string format_double(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  double magnitude = std::fabs(value);
  bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  std::array<char, 64> buffer{};
  auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  (void)error;  // 64 characters hold every double below 1e16 in fixed and every one in scientific
  std::string text(buffer.data(), end);
  size_t exponent = text.find('e');
  std::string mantissa = text.substr(0, exponent);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  return exponent == std::string::npos ? mantissa : mantissa + text.substr(exponent);
}

}  // namespace stc::host
