// What libFuzzer would do with the corpus of the repository, for builds without it: every input, then so many
// mutations of each, always the same ones. REPLAY FOLDER MUTATIONS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::string> Corpus(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

void Try(const std::string& input) {
  // An exact copy on the heap, so that reading past it is seen.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  std::string Mutate(std::string input) {
    for (size_t times = 1 + Below(4); times > 0; --times) MutateOnce(input);
    return input;
  }

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void MutateOnce(std::string& input) {
    const size_t at = Below(input.size() + 1), length = Below(input.size() - at + 1);
    switch (Below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, input.substr(at, length));
        break;
      case 4: {
        const std::string& other = corpus_[Below(corpus_.size())];
        const size_t from = Below(other.size() + 1);
        input.insert(at, other.substr(from, Below(other.size() - from + 1)));
        break;
      }
      default:
        static constexpr const char* kWords[] = {
            "\xff\xff\xff\x7f", "\xff\xff\xff\xff", "```", "\"", "[", "{", "\n", "0", "e9", "]", "}"};
        input.insert(at, kWords[Below(std::size(kWords))]);
    }
    if (input.size() > 1 << 14) input.resize(1 << 14);
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER MUTATIONS\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = Corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no input\n", argv[1]);
    return 2;
  }
  Mutator mutator(corpus);
  for (const std::string& input : corpus) Try(input);
  for (const std::string& input : corpus) {
    for (int i = std::atoi(argv[2]); i > 0; --i) Try(mutator.Mutate(input));
  }
  std::printf("%zu inputs, %zu mutations\n", corpus.size(),
              corpus.size() * static_cast<size_t>(std::atoi(argv[2])));
  return 0;
}
