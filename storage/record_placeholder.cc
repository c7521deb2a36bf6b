#include "kerolox/storage/record.h"
