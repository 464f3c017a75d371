constexpr long Loop(long from) {
  long sum = 0;
  for (long i = from; i < from + 2000000; i++) sum += i ^ (i >> 3);
  return sum;
}
template <long N>
struct Step {
  static constexpr long value = Loop(N) + Step<N - 1>::value;
};
template <>
struct Step<0> {
  static constexpr long value = 0;
};
static_assert(Step<800>::value > 0);
int main() {}
