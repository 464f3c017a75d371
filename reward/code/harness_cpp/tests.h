// The side of the row's asserts: what they call of the program is asked for over the channel, as data.
namespace sluice_harness {

[[noreturn]] inline void Finish(std::string_view how, std::string_view text) {
  Writer out;
  out.Open('(', 3);
  out.String('u', "end");
  out.String('u', how);
  out.String('s', text);
  Send(out);
  sluice_harness_exit(0);
}

[[noreturn]] inline void Fail(const char* text) { Finish("failed", text); }

// Throws what the program threw.
[[noreturn]] inline void Raise(std::string_view name, const std::string& text) {
#define SLUICE_EXCEPTION(kind) \
  if (name == #kind) throw kind(text);
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
  if (name == "std::bad_alloc") throw std::bad_alloc();
  throw std::runtime_error(std::string(name) + ": " + text);
}

template <class A>
void TakeBack(A& argument, Reader& in) {
  if constexpr (std::is_const_v<A>) {
    in.SkipValue();
  } else {
    argument = Data<A>::Read(in);
  }
}

// The program's function of that name; the arguments that are not const may change.
template <class R, class... A>
R Ask(std::string_view name, A&... arguments) {
  Writer out;
  out.Open('(', 3);
  out.String('u', "call");
  out.String('u', name);
  out.Open('[', sizeof...(A));
  (Data<std::remove_const_t<A>>::Write(out, arguments, false), ...);
  Send(out);
  std::string message = Receive();
  Reader in(message);
  try {
    in.Open();
    std::string_view kind = in.String();
    if (kind == "raise") {
      in.Open();
      std::string_view thrown = in.String();
      in.SkipValue();
      Raise(thrown, std::string(in.String()));
    }
    if (kind == "unfit") Finish("unfit", in.String());
    if (kind != "value") Finish("lost", "");
    in.SkipValue();
    std::optional<std::conditional_t<std::is_void_v<R>, bool, R>> value;
    if constexpr (std::is_void_v<R>) {
      in.SkipValue();
    } else {
      value = Data<R>::Read(in);
    }
    in.SkipValue();
    if (in.IsSequence() && in.Open() == sizeof...(A)) (TakeBack(arguments, in), ...);
    if constexpr (!std::is_void_v<R>) return *std::move(value);
  } catch (const Unfit& unfit) {
    Finish("unfit", std::string(name) + ": its value is " + unfit.what);
  }
}

void RunTest(std::size_t number);

}  // namespace sluice_harness

// The order is ("test", number).
int main() {
  std::string message = sluice_harness::Receive();
  sluice_harness::Reader in(message);
  in.Open();
  in.SkipValue();
  std::size_t number = static_cast<std::size_t>(in.Integer().second);
  try {
    sluice_harness::RunTest(number);
  } catch (const std::exception& error) {
    sluice_harness::Finish("raised", error.what());
  } catch (...) {
    sluice_harness::Finish("raised", "an exception");
  }
  sluice_harness::Finish("passed", "");
}

// Of asserts that the row's own headers bring along.
extern "C" void __assert_fail(const char* text, const char*, unsigned, const char*) noexcept(true) {
  sluice_harness::Fail(text);
}
