// What a shared library of this project exports. Everything is compiled hidden; KEROLOX_API marks
// what the public headers declare and a source file defines. In a static library it means nothing,
// so that a program's own shared libraries do not export our names.
#pragma once

#if defined(KEROLOX_SHARED)
#define KEROLOX_API __attribute__((visibility("default")))
#else
#define KEROLOX_API
#endif
