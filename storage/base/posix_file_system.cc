#include "kerolox/base/file_system.h"
