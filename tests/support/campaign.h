// Seeds of random tests: fixed, unless a campaign asks for others.
//
// KEROLOX_TEST_SEED moves every seed, KEROLOX_TEST_ROUNDS multiplies how many are tried.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace kerolox {

inline std::uint64_t campaign_number(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::uint64_t campaign_seed(std::uint64_t seed) {
  return seed + 1'000'003 * campaign_number("KEROLOX_TEST_SEED", 0);
}
inline std::uint64_t campaign_rounds(std::uint64_t rounds) {
  return rounds * campaign_number("KEROLOX_TEST_ROUNDS", 1);
}

}  // namespace kerolox
