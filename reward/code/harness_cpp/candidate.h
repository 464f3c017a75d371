// The program's side: calls functions of the program with arguments that come as data, and answers with their
// values.
namespace sluice_harness {

template <class R, class... A>
struct Signature {};

// What a parameter of type A is read into, and how that is handed over.
template <class A>
struct Argument {
  using Type = std::remove_cv_t<std::remove_reference_t<A>>;
  static constexpr bool kKnown = kIsData<Type>;
  static constexpr bool kChanges =
      std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;
  static std::string Name() { return Data<Type>::Name(); }
  static A&& Pass(Type& value) { return static_cast<A&&>(value); }
};
template <class T>
constexpr bool kIsElement = std::is_arithmetic_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>;
template <class T>
using ElementsOf = std::conditional_t<std::is_same_v<std::remove_cv_t<T>, char>, std::string,
                                      std::vector<std::remove_cv_t<T>>>;
// A pointer is to the first of a list's members, or of a string's.
template <class T>
struct PointerArgument {
  using Type = ElementsOf<T>;
  static constexpr bool kKnown = kIsElement<T> && kIsData<Type>;
  static constexpr bool kChanges = !std::is_const_v<T>;
  static std::string Name() {
    return std::is_same_v<Type, std::string> ? Data<Type>::Name() : Data<std::remove_cv_t<T>>::Name() + "*";
  }
  static T* Pass(Type& value) { return value.data(); }
};
template <class T>
struct Argument<T*> : PointerArgument<T> {};
template <class T>
struct Argument<T* const> : PointerArgument<T> {};
template <>
struct Argument<std::string_view> {
  using Type = std::string;
  static constexpr bool kKnown = true, kChanges = false;
  static std::string Name() { return Data<Type>::Name(); }
  static std::string_view Pass(Type& value) { return value; }
};
template <>
struct Argument<const std::string_view&> : Argument<std::string_view> {};

template <class T>
const char* Spelled() {
  return __PRETTY_FUNCTION__;
}
// A type as the compiler writes it.
template <class T>
std::string TypeText() {
  std::string text = Spelled<T>();
  std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.size() - begin - 1);
}

inline void WriteText(Writer& out, std::string_view text) { out.String('u', text); }

// ("unfit", why)
inline Writer UnfitAnswer(const std::string& why) {
  Writer out;
  out.Open('(', 2);
  WriteText(out, "unfit");
  out.String('s', why);
  return out;
}

// ("raise", [class], (), text)
inline Writer RaiseAnswer(std::string_view name, std::string_view text) {
  Writer out;
  out.Open('(', 4);
  WriteText(out, "raise");
  out.Open('[', 1);
  WriteText(out, name);
  out.Open('(', 0);
  out.String('s', text);
  return out;
}

// ("value", false, value, false, arguments afterwards or null), begun.
inline Writer ValueAnswer() {
  Writer out;
  out.Open('(', 5);
  WriteText(out, "value");
  out.Code('F');
  return out;
}

template <class T>
constexpr bool IsResult() {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  return kIsData<Plain> || std::is_void_v<T> || std::is_same_v<Plain, const char*> ||
         std::is_same_v<Plain, char*> || std::is_same_v<Plain, std::string_view>;
}

template <class T>
void WriteResult(Writer& out, const T& value) {
  if constexpr (kIsData<T>) {
    Data<T>::Write(out, value, false);
  } else if constexpr (std::is_pointer_v<T>) {
    if (value == nullptr) return out.Code('N');
    out.String('s', value);
  } else {
    out.String('s', value);
  }
}

// Calls of one function of the program.
template <class F, class R, class... A>
class Caller {
 public:
  using Kept = std::tuple<typename Argument<A>::Type...>;

  static Writer Call(std::string_view name, Reader& in) {
    std::size_t count = in.Open();
    Writer answer = UnfitAnswer(std::string(name) + " takes " + std::to_string(sizeof...(A)) +
                                " arguments, and the test has " + std::to_string(count));
    CallAny(count, in, answer, std::index_sequence_for<A...>());
    return answer;
  }

 private:
  template <std::size_t I>
  using At = std::tuple_element_t<I, std::tuple<A...>>;

  // With the first arguments alone, where the others have defaults.
  template <std::size_t... I>
  static void CallAny(std::size_t count, Reader& in, Writer& answer, std::index_sequence<I...>) {
    ((count == I ? CallFirst(in, answer, std::make_index_sequence<I>()) : void()), ...);
    if (count == sizeof...(A)) CallFirst(in, answer, std::index_sequence_for<A...>());
  }

  template <std::size_t... I>
  static void CallFirst(Reader& in, Writer& answer, std::index_sequence<I...>) {
    if constexpr (std::is_invocable_v<F, At<I>...>) {
      using Values = std::tuple<typename Argument<At<I>>::Type...>;
      Values values{ReadArgument<I>(in)...};
      answer = ValueAnswer();
      if constexpr (std::is_void_v<R>) {
        F()(Argument<At<I>>::Pass(std::get<I>(values))...);
        WriteFirstChanged<I...>(answer, values);
      } else {
        WriteResult<std::remove_cv_t<std::remove_reference_t<R>>>(
            answer, F()(Argument<At<I>>::Pass(std::get<I>(values))...));
      }
      answer.Code('F');
      if (!(Argument<At<I>>::kChanges || ... || false)) return answer.Code('N');
      answer.Open('[', sizeof...(I));
      (Data<typename Argument<At<I>>::Type>::Write(answer, std::get<I>(values), false), ...);
    }
  }

  template <std::size_t I>
  static auto ReadArgument(Reader& in) {
    try {
      return Data<typename Argument<At<I>>::Type>::Read(in);
    } catch (const Unfit& unfit) {
      throw Unfit{"argument " + std::to_string(I + 1) + " is " + unfit.what};
    }
  }

  // What a function without a result gives back: its first argument that it can change.
  template <std::size_t... I, class Values>
  static void WriteFirstChanged(Writer& out, const Values& values) {
    bool written = false;
    ((Argument<At<I>>::kChanges && !written
          ? (Data<typename Argument<At<I>>::Type>::Write(out, std::get<I>(values), false),
             void(written = true))
          : void()),
     ...);
    if (!written) out.Code('N');
  }
};

template <class F, class Parameters, std::size_t... I>
constexpr bool TakesFirst(std::index_sequence<I...>) {
  return std::is_invocable_v<F, std::tuple_element_t<I, Parameters>...>;
}

struct Entry {
  std::string_view name;
  Writer (*call)(std::string_view name, Reader& arguments);
  Writer (*describe)(std::string_view name);
  Entry* next;
};
inline Entry* entries = nullptr;

// Why functions of this signature cannot be called with data; empty: they can.
template <class R, class... A>
std::string Strange(std::string_view name) {
  std::string out;
  int place = 0;
  ((++place, out.empty() && !Argument<A>::kKnown
                 ? void(out = "parameter " + std::to_string(place) + " of " + std::string(name) + " is " +
                              TypeText<A>() + ", which no data of a test is")
                 : void()),
   ...);
  if (out.empty() && !IsResult<R>())
    out = "the result of " + std::string(name) + " is " + TypeText<R>() + ", which is no data";
  return out;
}

template <class F, class R, class... A>
Writer CallEntry(std::string_view name, Reader& arguments) {
  if constexpr ((Argument<A>::kKnown && ... && IsResult<R>())) {
    return Caller<F, R, A...>::Call(name, arguments);
  } else {
    return UnfitAnswer(Strange<R, A...>(name));
  }
}

// How few of the arguments a call may have.
template <class F, class... A, std::size_t... I>
std::size_t LeastArguments(std::index_sequence<I...>) {
  std::size_t least = sizeof...(A);
  ((least = std::min<std::size_t>(
        least, TakesFirst<F, std::tuple<A...>>(std::make_index_sequence<I>()) ? I : least)),
   ...);
  return least;
}

template <class T>
std::string ResultName() {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_void_v<T>)
    return "void";
  else if constexpr (kIsData<Plain>)
    return Data<Plain>::Name();
  else
    return Data<std::string>::Name();
}

// ("signature", result, fewest arguments, [[parameter, whether a call may change it], ...])
template <class F, class R, class... A>
Writer DescribeEntry(std::string_view name) {
  if constexpr ((Argument<A>::kKnown && ... && IsResult<R>())) {
    Writer out;
    out.Open('(', 4);
    WriteText(out, "signature");
    WriteText(out, ResultName<R>());
    out.Integer(false, LeastArguments<F, A...>(std::index_sequence_for<A...>()));
    out.Open('[', sizeof...(A));
    ((out.Open('[', 2), WriteText(out, Argument<A>::Name()), out.Code(Argument<A>::kChanges ? 'T' : 'F')),
     ...);
    return out;
  } else {
    return UnfitAnswer(Strange<R, A...>(name));
  }
}

template <class F, class R, class... A>
Entry MakeEntry(std::string_view name, Signature<R, A...>) {
  return {name, &CallEntry<F, R, A...>, &DescribeEntry<F, R, A...>, nullptr};
}

// The nearest class of <stdexcept> and <new>.
inline const char* ExceptionName(const std::exception& error) {
#define SLUICE_EXCEPTION(name) \
  if (dynamic_cast<const name*>(&error) != nullptr) return #name;
  SLUICE_EXCEPTION(std::bad_alloc)
  SLUICE_EXCEPTION(std::invalid_argument)
  SLUICE_EXCEPTION(std::domain_error)
  SLUICE_EXCEPTION(std::length_error)
  SLUICE_EXCEPTION(std::out_of_range)
  SLUICE_EXCEPTION(std::logic_error)
  SLUICE_EXCEPTION(std::range_error)
  SLUICE_EXCEPTION(std::overflow_error)
  SLUICE_EXCEPTION(std::underflow_error)
  SLUICE_EXCEPTION(std::runtime_error)
#undef SLUICE_EXCEPTION
  return "std::exception";
}

inline Writer Answered(std::string_view request, std::string_view name, Reader& arguments) {
  try {
    for (Entry* entry = entries; entry != nullptr; entry = entry->next) {
      if (entry->name == name)
        return request == "call" ? entry->call(name, arguments) : entry->describe(name);
    }
    return UnfitAnswer("no function " + std::string(name));
  } catch (const Unfit& unfit) {
    return UnfitAnswer(std::string(name) + ": " + unfit.what);
  } catch (const std::exception& error) {
    return RaiseAnswer(ExceptionName(error), error.what());
  } catch (...) {
    return RaiseAnswer("an exception", "of a type that is no std::exception");
  }
}

// Requests are ("call", name, arguments) and ("describe", name, null).
[[noreturn]] inline void Serve() {
  while (true) {
    std::string message = Receive();
    Reader in(message);
    in.Open();
    std::string request(in.String()), name(in.String());
    Send(Answered(request, name, in));
  }
}

}  // namespace sluice_harness

// Of the functions of one name the one with as many parameters, else the only one.
template <class R, class... A>
sluice_harness::Signature<R, A...> sluice_signature(R (*)(A...), long);
template <class R, class C, class... A>
sluice_harness::Signature<R, A...> sluice_signature(R (C::*)(A...), long);
template <class R, class C, class... A>
sluice_harness::Signature<R, A...> sluice_signature(R (C::*)(A...) const, long);

void sluice_harness_enter();
int main() {
  sluice_harness_enter();
  sluice_harness::Serve();
}
#define main sluice_candidate_main
