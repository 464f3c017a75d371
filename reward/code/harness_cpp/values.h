// Values of C++ as messages: the encoding of typed_value.h, read into and written from the types that data
// has. Stands before the program, so that none of the program's macros reach it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice_harness {

// A value that the type it is meant for cannot hold.
struct Unfit {
  std::string what;
};

class Writer {
 public:
  std::string bytes;
  void Code(char code) { bytes.push_back(code); }
  void Size(std::size_t size) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(size >> (8 * i) & 0xff));
  }
  void Open(char code, std::size_t size) {
    Code(code);
    Size(size);
  }
  void String(char code, std::string_view text) {
    Open(code, text.size());
    bytes.append(text.data(), text.size());
  }
  void Real(double value) {
    Code('g');
    char raw[8];
    std::memcpy(raw, &value, 8);
    bytes.append(raw, 8);
  }
  void Integer(bool negative, unsigned long long magnitude) {
    if (magnitude < 0x80000000ull) {
      Code('i');
      return Size(static_cast<std::size_t>(negative ? 0 - magnitude : magnitude));
    }
    std::string digits;
    for (; magnitude != 0; magnitude >>= 15) {
      digits.push_back(static_cast<char>(magnitude & 0xff));
      digits.push_back(static_cast<char>(magnitude >> 8 & 0x7f));
    }
    std::size_t count = digits.size() / 2;
    Open('l', negative ? 0 - count : count);
    bytes += digits;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  char Peek() const { return rest_.empty() ? '0' : rest_[0]; }
  bool IsString() const { return Peek() == 'u' || Peek() == 's'; }
  bool IsSequence() const { return Peek() == '[' || Peek() == '(' || Peek() == '<' || Peek() == '>'; }
  bool IsInteger() const { return Peek() == 'i' || Peek() == 'l'; }
  bool IsBool() const { return Peek() == 'T' || Peek() == 'F'; }
  void Skip() { (void)Take(1); }
  std::size_t Open() {
    Skip();
    return Size();
  }
  std::string_view String() {
    std::size_t size = Open();
    return Take(size);
  }
  double Real() {
    Skip();
    double value;
    std::memcpy(&value, Take(8).data(), 8);
    return value;
  }
  // Whether it is below 0; its magnitude.
  std::pair<bool, unsigned __int128> Integer() {
    char code = Peek();
    std::int32_t number = static_cast<std::int32_t>(static_cast<std::uint32_t>(Open()));
    bool negative = number < 0;
    std::uint32_t size =
        negative ? 0 - static_cast<std::uint32_t>(number) : static_cast<std::uint32_t>(number);
    if (code == 'i') return {negative, size};
    std::string_view digits = Take(std::size_t{size} * 2);
    if (size > 8) throw Unfit{"an integer beyond 64 bits"};
    unsigned __int128 magnitude = 0;
    for (std::uint32_t i = size; i-- > 0;) {
      unsigned digit = static_cast<unsigned char>(digits[2 * i]) |
                       static_cast<unsigned>(static_cast<unsigned char>(digits[2 * i + 1])) << 8;
      magnitude = magnitude << 15 | digit;
    }
    return {negative, magnitude};
  }
  void SkipValue() {
    if (IsSequence()) {
      for (std::size_t left = Open(); left > 0; --left) SkipValue();
    } else if (IsInteger()) {
      (void)Integer();
    } else if (IsString()) {
      (void)String();
    } else if (Peek() == 'g') {
      (void)Real();
    } else if (Peek() == '{') {
      for (Skip(); Peek() != '0'; SkipValue()) SkipValue();
      Skip();
    } else {
      Skip();
    }
  }
  const char* Kind() const {
    if (IsString()) return "a string";
    if (IsSequence()) return "a list";
    if (IsInteger()) return "an integer";
    if (IsBool()) return "a boolean";
    return Peek() == 'N' ? "null" : Peek() == 'g' ? "a real number" : Peek() == '{' ? "an object" : "no data";
  }
  [[noreturn]] void Refuse(const std::string& type) const {
    throw Unfit{std::string(Kind()) + ", not " + type};
  }

 private:
  std::size_t Size() {
    std::string_view raw = Take(4);
    std::size_t size = 0;
    for (int i = 3; i >= 0; --i)
      size = size << 8 | static_cast<unsigned char>(raw[static_cast<std::size_t>(i)]);
    return size;
  }
  std::string_view Take(std::size_t size) {
    if (size > rest_.size()) throw Unfit{"a message that ends too early"};
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
};

// How a type of C++ is data: kKnown, Name(), Read(reader), Write(writer, value, hashed). `hashed`: where
// Python wants what it can hash.
template <class T, class = void>
struct Data {
  static constexpr bool kKnown = false;
};

template <class T>
constexpr bool kIsData = Data<T>::kKnown;

template <>
struct Data<bool> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "bool"; }
  static bool Read(Reader& in) {
    if (in.IsBool()) {
      bool value = in.Peek() == 'T';
      in.Skip();
      return value;
    }
    if (!in.IsInteger()) in.Refuse(Name());
    auto number = in.Integer();
    if (number.first || number.second > 1) throw Unfit{"an integer other than 0 and 1, not bool"};
    return number.second == 1;
  }
  static void Write(Writer& out, bool value, bool) { out.Code(value ? 'T' : 'F'); }
};

template <>
struct Data<char> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "char"; }
  static char Read(Reader& in) {
    if (!in.IsString()) in.Refuse(Name());
    std::string_view text = in.String();
    if (text.size() != 1) throw Unfit{"a string of " + std::to_string(text.size()) + " bytes, not char"};
    return text[0];
  }
  static void Write(Writer& out, char value, bool) { out.String('s', std::string_view(&value, 1)); }
};

template <class T>
const char* IntegerName() {
  constexpr bool is_signed = std::is_signed_v<T>;
  if (std::is_same_v<T, long long> || std::is_same_v<T, unsigned long long>)
    return is_signed ? "long long" : "unsigned long long";
  switch (sizeof(T)) {
    case 1:
      return is_signed ? "signed char" : "unsigned char";
    case 2:
      return is_signed ? "short" : "unsigned short";
    case 4:
      return is_signed ? "int" : "unsigned int";
    default:
      return is_signed ? "long" : "unsigned long";
  }
}

template <class T>
constexpr bool kIsInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
    !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

template <class T>
struct Data<T, std::enable_if_t<kIsInteger<T>>> {
  static constexpr bool kKnown = true;
  static std::string Name() { return IntegerName<T>(); }
  static T Read(Reader& in) {
    if (in.IsBool()) return Data<bool>::Read(in) ? 1 : 0;
    if (in.Peek() == 'g') return FromReal(in);
    if (!in.IsInteger()) in.Refuse(Name());
    auto number = in.Integer();
    return Fitting(number.first, number.second);
  }
  // A key of an object of JSON, which is text.
  static T ReadKey(std::string_view text) {
    bool negative = !text.empty() && text[0] == '-';
    std::string_view digits = text.substr(negative ? 1 : 0);
    unsigned __int128 magnitude = 0;
    if (digits.empty() || digits.size() > 20)
      throw Unfit{"the key \"" + std::string(text) + "\", not " + Name()};
    for (char c : digits) {
      if (c < '0' || c > '9') throw Unfit{"the key \"" + std::string(text) + "\", not " + Name()};
      magnitude = magnitude * 10 + static_cast<unsigned>(c - '0');
    }
    return Fitting(negative, magnitude);
  }
  static void Write(Writer& out, T value, bool) {
    bool negative = value < T(0);
    unsigned long long bits = static_cast<unsigned long long>(value);
    out.Integer(negative, negative ? 0 - bits : bits);
  }

 private:
  static T Fitting(bool negative, unsigned __int128 magnitude) {
    unsigned __int128 largest = static_cast<unsigned __int128>(static_cast<T>(~T(0)));
    if (std::is_signed_v<T>)
      largest = (static_cast<unsigned __int128>(1) << (8 * sizeof(T) - 1)) - (negative ? 0 : 1);
    bool below = negative && !std::is_signed_v<T> && magnitude > 0;
    if (below || magnitude > largest) throw Unfit{std::string("an integer beyond ") + Name()};
    unsigned long long bits = static_cast<unsigned long long>(magnitude);
    return static_cast<T>(negative ? 0 - bits : bits);
  }
  static T FromReal(Reader& in) {
    double value = in.Real();
    double whole = static_cast<double>(static_cast<long long>(value > -9e18 && value < 9e18 ? value : 0));
    if (whole != value) throw Unfit{"a real number, not " + Name()};
    return Fitting(value < 0, static_cast<unsigned __int128>(value < 0 ? -value : value));
  }
};

template <class T>
struct Data<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr bool kKnown = true;
  static std::string Name() { return sizeof(T) == 4 ? "float" : sizeof(T) == 8 ? "double" : "long double"; }
  static T Read(Reader& in) {
    if (in.Peek() == 'g') return static_cast<T>(in.Real());
    if (!in.IsInteger()) in.Refuse(Name());
    auto number = in.Integer();
    T value = static_cast<T>(number.second);
    return number.first ? -value : value;
  }
  static T ReadKey(std::string_view text) {
    std::string copy(text);
    char* end = nullptr;
    double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != 0) throw Unfit{"the key \"" + copy + "\", not " + Name()};
    return static_cast<T>(value);
  }
  static void Write(Writer& out, T value, bool) { out.Real(static_cast<double>(value)); }
};

template <>
struct Data<std::string> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "std::string"; }
  static std::string Read(Reader& in) {
    if (!in.IsString()) in.Refuse(Name());
    return std::string(in.String());
  }
  static void Write(Writer& out, const std::string& value, bool) { out.String('s', value); }
};

template <class T>
struct Data<std::optional<T>, std::enable_if_t<kIsData<T>>> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "std::optional<" + Data<T>::Name() + ">"; }
  static std::optional<T> Read(Reader& in) {
    if (in.Peek() != 'N') return Data<T>::Read(in);
    in.Skip();
    return std::nullopt;
  }
  static void Write(Writer& out, const std::optional<T>& value, bool hashed) {
    if (!value) return out.Code('N');
    Data<T>::Write(out, *value, hashed);
  }
};

// Containers of T that a list of the data is.
template <class C, class T>
struct SequenceData {
  static constexpr bool kKnown = true;
  static C Read(Reader& in) {
    if (!in.IsSequence()) in.Refuse(Data<C>::Name());
    C out;
    for (std::size_t left = in.Open(); left > 0; --left) out.insert(out.end(), Data<T>::Read(in));
    return out;
  }
  static void Write(Writer& out, const C& value, bool hashed) {
    std::size_t size = 0;
    for (auto it = value.begin(); it != value.end(); ++it) ++size;
    out.Open(hashed ? '(' : '[', size);
    for (auto&& item : value) Data<T>::Write(out, item, hashed);
  }
};

#define SLUICE_SEQUENCE(container)                                                              \
  template <class T>                                                                            \
  struct Data<container<T>, std::enable_if_t<kIsData<T>>> : SequenceData<container<T>, T> {     \
    static std::string Name() { return std::string(#container) + "<" + Data<T>::Name() + ">"; } \
  };
SLUICE_SEQUENCE(std::vector)
SLUICE_SEQUENCE(std::deque)
SLUICE_SEQUENCE(std::list)
SLUICE_SEQUENCE(std::set)
SLUICE_SEQUENCE(std::multiset)
SLUICE_SEQUENCE(std::unordered_multiset)
#undef SLUICE_SEQUENCE

template <class T>
struct Data<std::unordered_set<T>, std::enable_if_t<kIsData<T>>> : SequenceData<std::unordered_set<T>, T> {
  static std::string Name() { return "std::unordered_set<" + Data<T>::Name() + ">"; }
  static void Write(Writer& out, const std::unordered_set<T>& value, bool hashed) {
    out.Open(hashed ? '>' : '<', value.size());
    for (const T& item : value) Data<T>::Write(out, item, true);
  }
};

template <class T, std::size_t N>
struct Data<std::array<T, N>, std::enable_if_t<kIsData<T>>> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "std::array<" + Data<T>::Name() + "," + std::to_string(N) + ">"; }
  static std::array<T, N> Read(Reader& in) {
    if (!in.IsSequence()) in.Refuse(Name());
    std::size_t size = in.Open();
    if (size != N) throw Unfit{"a list of " + std::to_string(size) + ", not " + Name()};
    std::array<T, N> out{};
    for (T& item : out) item = Data<T>::Read(in);
    return out;
  }
  static void Write(Writer& out, const std::array<T, N>& value, bool hashed) {
    out.Open(hashed ? '(' : '[', N);
    for (const T& item : value) Data<T>::Write(out, item, hashed);
  }
};

template <class... T>
struct Data<std::tuple<T...>, std::enable_if_t<(kIsData<T> && ...)>> {
  static constexpr bool kKnown = true;
  static std::string Name() {
    std::string out;
    ((out += (out.empty() ? "" : ",") + Data<T>::Name()), ...);
    return "std::tuple<" + out + ">";
  }
  static std::tuple<T...> Read(Reader& in) {
    if (!in.IsSequence()) in.Refuse(Name());
    std::size_t size = in.Open();
    if (size != sizeof...(T)) throw Unfit{"a list of " + std::to_string(size) + ", not " + Name()};
    return std::tuple<T...>{Data<T>::Read(in)...};
  }
  static void Write(Writer& out, const std::tuple<T...>& value, bool hashed) {
    out.Open('(', sizeof...(T));
    std::apply([&](const T&... items) { (Data<T>::Write(out, items, hashed), ...); }, value);
  }
};

template <class A, class B>
struct Data<std::pair<A, B>, std::enable_if_t<kIsData<A> && kIsData<B>>> {
  static constexpr bool kKnown = true;
  static std::string Name() { return "std::pair<" + Data<A>::Name() + "," + Data<B>::Name() + ">"; }
  static std::pair<A, B> Read(Reader& in) {
    if (!in.IsSequence()) in.Refuse(Name());
    std::size_t size = in.Open();
    if (size != 2) throw Unfit{"a list of " + std::to_string(size) + ", not " + Name()};
    A first = Data<A>::Read(in);
    return {std::move(first), Data<B>::Read(in)};
  }
  static void Write(Writer& out, const std::pair<A, B>& value, bool hashed) {
    out.Open('(', 2);
    Data<A>::Write(out, value.first, hashed);
    Data<B>::Write(out, value.second, hashed);
  }
};

// Maps: an object, whose keys are text, or a list of pairs.
template <class M>
struct MapData {
  static constexpr bool kKnown = true;
  using Key = typename M::key_type;
  using Value = typename M::mapped_type;
  static M Read(Reader& in) {
    M out;
    if (in.IsSequence()) {
      for (std::size_t left = in.Open(); left > 0; --left) out.insert(Data<std::pair<Key, Value>>::Read(in));
      return out;
    }
    if (in.Peek() != '{') in.Refuse(Data<M>::Name());
    in.Skip();
    while (in.Peek() != '0') {
      Key key = ReadKey(in);
      out.emplace(std::move(key), Data<Value>::Read(in));
    }
    in.Skip();
    return out;
  }
  static void Write(Writer& out, const M& value, bool) {
    out.Code('{');
    for (const auto& item : value) {
      Data<Key>::Write(out, item.first, true);
      Data<Value>::Write(out, item.second, false);
    }
    out.Code('0');
  }

 private:
  static Key ReadKey(Reader& in) {
    constexpr bool is_number = kIsInteger<Key> || std::is_floating_point_v<Key>;
    if constexpr (is_number) {
      if (in.IsString()) return Data<Key>::ReadKey(in.String());
    }
    return Data<Key>::Read(in);
  }
};

#define SLUICE_MAP(container)                                                                           \
  template <class K, class V>                                                                           \
  struct Data<container<K, V>, std::enable_if_t<kIsData<K> && kIsData<V>>> : MapData<container<K, V>> { \
    static std::string Name() {                                                                         \
      return std::string(#container) + "<" + Data<K>::Name() + "," + Data<V>::Name() + ">";             \
    }                                                                                                   \
  };
SLUICE_MAP(std::map)
SLUICE_MAP(std::unordered_map)
#undef SLUICE_MAP

}  // namespace sluice_harness
