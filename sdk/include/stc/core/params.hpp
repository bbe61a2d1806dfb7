/// \file
/// A plugin's parameters, declared once: the host checks, fills, prints and documents them from the
/// declaration, and the plugin reads them through it.
///
///   struct Params {
///     std::string path = "metrics.csv";     // a default-constructed Params holds the defaults
///     std::optional<int64_t> every;         // std::nullopt: null is allowed, and the default
///     double lr = 0.1;
///     template <class V> static void describe(V& v) {
///       v("every", &Params::every, "write every n-th record", 1, 1000000)   // inclusive bounds
///        ("lr", &Params::lr, "rate", stc::above(0.0));
///       v.path("path", &Params::path, "file to write");
///     }
///   };
///
/// Member types: bool, int64_t, double, std::string, std::optional of those, and std::vector of
/// int64_t, double or std::string.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "stc/abi/core.h"
#include "stc/core/host.hpp"
#include "stc/core/number.hpp"

namespace stc {

/// Limits of a number, or of each element of a list. STC_PARAM_HAS_MIN, _MIN_EXCLUSIVE ...
struct Bound {
  uint32_t flags = 0;
  double min = 0;
  double max = 0;
};

constexpr Bound at_least(double lo) { return {STC_PARAM_HAS_MIN, lo, 0}; }
constexpr Bound above(double lo) { return {STC_PARAM_HAS_MIN | STC_PARAM_MIN_EXCLUSIVE, lo, 0}; }
constexpr Bound at_most(double hi) { return {STC_PARAM_HAS_MAX, 0, hi}; }
constexpr Bound below(double hi) { return {STC_PARAM_HAS_MAX | STC_PARAM_MAX_EXCLUSIVE, 0, hi}; }
/// [lo, hi]
constexpr Bound range(double lo, double hi) { return {STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX, lo, hi}; }
/// [lo, hi)
constexpr Bound half_open(double lo, double hi) {
  return {STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX | STC_PARAM_MAX_EXCLUSIVE, lo, hi};
}
/// (lo, hi)
constexpr Bound between(double lo, double hi) {
  return {STC_PARAM_HAS_MIN | STC_PARAM_MIN_EXCLUSIVE | STC_PARAM_HAS_MAX | STC_PARAM_MAX_EXCLUSIVE, lo, hi};
}

/// Version of the plugin that brought the parameter.
struct Since {
  const char* version;
};
constexpr Since since(const char* version) { return {version}; }
/// What to use instead.
struct Deprecated {
  const char* instead;
};
constexpr Deprecated deprecated(const char* instead) { return {instead}; }
/// Redacted wherever a configuration is shown.
struct Secret {};
inline constexpr Secret secret{};

namespace detail {

template <class T>
struct ParamType;  // no definition: not a type that a parameter can have
template <>
struct ParamType<bool> {
  static constexpr int32_t kType = STC_PARAM_BOOL;
  static constexpr const char* kWord = "bool";
  static bool take(const Config&, const Value& value, bool& out) {
    return value.is_bool() && (out = value.as_bool(), true);
  }
};
template <>
struct ParamType<int64_t> {
  static constexpr int32_t kType = STC_PARAM_INT;
  static constexpr const char* kWord = "int";
  static bool take(const Config&, const Value& value, int64_t& out) {
    return value.is_int() && (out = value.as_int(), true);
  }
};
template <>
struct ParamType<double> {
  static constexpr int32_t kType = STC_PARAM_FLOAT;
  static constexpr const char* kWord = "float";
  static bool take(const Config&, const Value& value, double& out) {
    return value.is_number() && (out = value.as_double(), true);
  }
};
template <>
struct ParamType<std::string> {
  static constexpr int32_t kType = STC_PARAM_STRING;
  static constexpr const char* kWord = "string";
  static bool take(const Config&, const Value& value, std::string& out) {
    return value.is_string() && (out = value.as_string(), true);
  }
};
template <class T>
struct ParamType<std::optional<T>> {
  static constexpr int32_t kType = ParamType<T>::kType;
  static constexpr const char* kWord = ParamType<T>::kWord;
  static bool take(const Config& section, const Value& value, std::optional<T>& out) {
    if (value.is_null()) {
      out.reset();
      return true;
    }
    return ParamType<T>::take(section, value, out.emplace());
  }
};
template <class T>
struct ParamType<std::vector<T>> {
  static constexpr int32_t kType = std::is_same_v<T, int64_t>  ? STC_PARAM_INT_LIST
                                   : std::is_same_v<T, double> ? STC_PARAM_FLOAT_LIST
                                                               : STC_PARAM_STRING_LIST;
  static constexpr const char* kWord = std::is_same_v<T, int64_t>  ? "list of int"
                                       : std::is_same_v<T, double> ? "list of float"
                                                                   : "list of string";
  static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, std::string>,
                "a list parameter holds int64_t, double or std::string");
  static bool take(const Config& section, const Value& value, std::vector<T>& out) {
    if (!value.is_list()) {
      return false;
    }
    const Config list = section.child(value);
    out.assign(list.size(), T{});
    for (uint64_t i = 0; i < out.size(); ++i) {
      if (!ParamType<T>::take(list, list.at(i).second, out[i])) {
        return false;
      }
    }
    return true;
  }
};

template <class T>
concept ParamMember = requires {
  ParamType<T>::kType;
};

/// A declaration on its way into an stc_param or a check.
struct ParamSpec {
  const char* name = nullptr;
  const char* doc = nullptr;
  int32_t type = 0;
  uint32_t flags = 0;
  double min = 0;
  double max = 0;
  std::vector<const char*> choices;
  const char* since = nullptr;
  const char* deprecated = nullptr;

  void apply(const Bound& bound) {
    flags |= bound.flags;
    min = (bound.flags & STC_PARAM_HAS_MIN) != 0 ? bound.min : min;
    max = (bound.flags & STC_PARAM_HAS_MAX) != 0 ? bound.max : max;
  }
  void apply(Since option) { since = option.version; }
  void apply(Deprecated option) { deprecated = option.instead; }
  void apply(Secret) { flags |= STC_PARAM_SECRET; }
  /// A bare number: the first is the minimum, the second the maximum.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void apply(Number limit) {
    const bool first = (flags & STC_PARAM_HAS_MIN) == 0;
    apply(first ? at_least(static_cast<double>(limit)) : at_most(static_cast<double>(limit)));
  }

  bool allows(double value) const {
    const bool above_min =
        (flags & STC_PARAM_HAS_MIN) == 0 || ((flags & STC_PARAM_MIN_EXCLUSIVE) != 0 ? value > min : value >= min);
    const bool below_max =
        (flags & STC_PARAM_HAS_MAX) == 0 || ((flags & STC_PARAM_MAX_EXCLUSIVE) != 0 ? value < max : value <= max);
    return above_min && below_max;
  }
  std::string allowed() const {
    const auto limit = [this](double value) {
      return type == STC_PARAM_INT || type == STC_PARAM_INT_LIST ? yaml_text(static_cast<int64_t>(value))
                                                                 : yaml_text(value);
    };
    std::string text;
    if ((flags & STC_PARAM_HAS_MIN) != 0) {
      text += ((flags & STC_PARAM_MIN_EXCLUSIVE) != 0 ? "> " : ">= ") + limit(min);
    }
    if ((flags & STC_PARAM_HAS_MAX) != 0) {
      text += (text.empty() ? "" : " and ");
      text += ((flags & STC_PARAM_MAX_EXCLUSIVE) != 0 ? "< " : "<= ") + limit(max);
    }
    return text;
  }
};

/// The verbs that describe() may use; Derived has take(spec, pointer to member).
template <class Derived>
class ParamVisitor {
 public:
  template <ParamMember Member, class Owner, class... Options>
  Derived& operator()(const char* name, Member Owner::*member, const char* doc, const Options&... options) {
    return declare(ParamType<Member>::kType, 0, {}, name, member, doc, options...);
  }
  /// One word of several.
  template <class Member, class Owner, class... Options>
  requires(ParamType<Member>::kType ==
           STC_PARAM_STRING) Derived& choice(const char* name, Member Owner::*member, const char* doc,
                                             std::initializer_list<const char*> values, const Options&... options) {
    return declare(STC_PARAM_ENUM, 0, values, name, member, doc, options...);
  }
  /// A file or folder; give it to Host::path_resolve before use.
  template <class Member, class Owner, class... Options>
  requires(ParamType<Member>::kType == STC_PARAM_STRING) Derived& path(const char* name, Member Owner::*member,
                                                                       const char* doc, const Options&... options) {
    return declare(STC_PARAM_PATH, 0, {}, name, member, doc, options...);
  }
  /// A value that the user must give.
  template <ParamMember Member, class Owner, class... Options>
  Derived& required(const char* name, Member Owner::*member, const char* doc, const Options&... options) {
    return declare(ParamType<Member>::kType, STC_PARAM_REQUIRED, {}, name, member, doc, options...);
  }
  template <class Member, class Owner, class... Options>
  requires(ParamType<Member>::kType == STC_PARAM_STRING) Derived& required_path(const char* name, Member Owner::*member,
                                                                                const char* doc,
                                                                                const Options&... options) {
    return declare(STC_PARAM_PATH, STC_PARAM_REQUIRED, {}, name, member, doc, options...);
  }
  /// A section of its own, read through stc::Config by the constructor.
  template <class... Options>
  Derived& object(const char* name, const char* doc, const Options&... options) {
    ParamSpec spec;
    spec.name = name;
    spec.doc = doc;
    spec.type = STC_PARAM_OBJECT;
    spec.flags = STC_PARAM_NULLABLE;
    (spec.apply(options), ...);
    self().take_object(spec);
    return self();
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  template <class Member, class Owner, class... Options>
  Derived& declare(int32_t type, uint32_t flags, std::initializer_list<const char*> choices, const char* name,
                   Member Owner::*member, const char* doc, const Options&... options) {
    ParamSpec spec;
    spec.name = name;
    spec.doc = doc;
    spec.type = type;
    spec.flags = flags;
    spec.choices = choices;
    (spec.apply(options), ...);
    self().take(spec, member);
    return self();
  }
};

template <class T>
std::optional<std::string> default_text(const T& value) {
  return yaml_text(value);
}
template <class T>
std::optional<std::string> default_text(const std::optional<T>& value) {
  return value ? default_text(*value) : std::nullopt;
}
template <class T>
std::optional<std::string> default_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    text += (text.size() > 1 ? ", " : "") + yaml_text(value);
  }
  return text + "]";
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Builds the static stc_param array. The pointers in it are owned by this object.
template <class Params>
class ParamDeclarations : public ParamVisitor<ParamDeclarations<Params>> {
 public:
  ParamDeclarations() { Params::describe(*this); }
  ParamDeclarations(const ParamDeclarations&) = delete;
  ParamDeclarations& operator=(const ParamDeclarations&) = delete;
  const std::vector<stc_param>& params() const { return params_; }

  template <class Member, class Owner>
  void take(const ParamSpec& spec, Member Owner::*member) {
    stc_param& param = add(spec);
    if constexpr (is_optional<Member>) {
      param.flags |= STC_PARAM_NULLABLE;
    }
    if ((spec.flags & STC_PARAM_REQUIRED) == 0) {
      if (auto text = default_text(defaults_.*member)) {
        param.default_text = texts_.emplace_back(std::move(*text)).c_str();
      }
    }
  }
  void take_object(const ParamSpec& spec) { add(spec); }

 private:
  stc_param& add(const ParamSpec& spec) {
    stc_param param{};
    param.struct_size = STC_SIZE_TO_END(stc_param, deprecated);
    param.flags = spec.flags;
    param.name = spec.name;
    param.type = spec.type;
    param.min = spec.min;
    param.max = spec.max;
    param.doc = spec.doc;
    param.since = spec.since;
    param.deprecated = spec.deprecated;
    if (spec.type == STC_PARAM_ENUM) {
      auto& words = choices_.emplace_back(spec.choices);
      words.push_back(nullptr);
      param.enum_values = words.data();
    }
    params_.push_back(param);
    return params_.back();
  }

  Params defaults_{};
  std::deque<std::string> texts_;
  std::deque<std::vector<const char*>> choices_;
  std::vector<stc_param> params_;
};

/// Fills a Params from the section. A key that is absent keeps its default unless it is required.
template <class Params>
class ParamReader : public ParamVisitor<ParamReader<Params>> {
 public:
  ParamReader(const Config& section, Params& params) : section_(section), params_(params) { Params::describe(*this); }

  template <class Member, class Owner>
  void take(const ParamSpec& spec, Member Owner::*member) {
    Value value;
    if (!section_.find(spec.name, value)) {
      if ((spec.flags & STC_PARAM_REQUIRED) != 0) {
        throw Fault::config(spec.name, "is required");
      }
      return;
    }
    Member& target = params_.*member;
    if (!ParamType<Member>::take(section_, value, target)) {
      throw Fault::config(spec.name,
                          std::string("got ") + value.kind_name() + ", expected " + ParamType<Member>::kWord);
    }
    check(spec, target);
  }
  void take_object(const ParamSpec&) {}

 private:
  template <class T>
  static void check(const ParamSpec& spec, const T& value) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
      if (!spec.allows(static_cast<double>(value))) {
        throw Fault::config(spec.name, "got " + yaml_text(value) + ", expected " + spec.allowed());
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      check_word(spec, value);
    }
  }
  template <class T>
  static void check(const ParamSpec& spec, const std::optional<T>& value) {
    if (value) {
      check(spec, *value);
    }
  }
  template <class T>
  static void check(const ParamSpec& spec, const std::vector<T>& values) {
    for (const T& value : values) {
      check(spec, value);
    }
  }
  static void check_word(const ParamSpec& spec, const std::string& value) {
    std::string allowed;
    for (const char* choice : spec.choices) {
      if (value == choice) {
        return;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(choice);
    }
    if (!spec.choices.empty()) {
      throw Fault::config(spec.name, "got " + value + ", expected one of " + allowed);
    }
  }

  const Config& section_;
  Params& params_;
};

/// For plugins without parameters.
struct NoParams {
  template <class V>
  static void describe(V&) {}
};
template <class T>
struct ParamsOf {
  using type = NoParams;
};
template <class T>
requires requires { typename T::Params; }
struct ParamsOf<T> {
  using type = typename T::Params;
};

/// Never destroyed: the host may look at a declaration until the process ends.
template <class Params>
const std::vector<stc_param>& declared_params() {
  static const auto& declarations = *new ParamDeclarations<Params>();
  return declarations.params();
}

template <class Params>
Params read_params(const Host& host, const stc_config* config) {
  Params params{};
  const Config section(host, config);
  ParamReader<Params>(section, params);
  return params;
}

}  // namespace detail
}  // namespace stc
