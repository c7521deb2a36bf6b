// Numbers that a seed alone decides, the same on every machine (SplitMix64).
#pragma once

#include <cstdint>

namespace kerolox {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
  }

  // 0 <= result < bound; `bound` is small, so that the bias of the remainder does not matter.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(std::uint64_t times, std::uint64_t of) { return below(of) < times; }

 private:
  std::uint64_t state_;
};

}  // namespace kerolox
