// How the library speaks: through the caller's callback, and in no other way.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kerolox {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// Called from any thread of the store, several at once. Must not block for long, must not call back
// into the store. The text is borrowed for the call. An empty function means silence.
using LogCallback = std::function<void(Severity, std::string_view text)>;

}  // namespace kerolox
