// tap: marks named values so that passes keep them.
#include "exec/exec.h"

#include <string.h>

size_t prog_tap(prog *p, const char *name) {
    const size_t n = strlen(name);
    const bool prefix = n > 0 && name[n - 1] == '*';
    size_t found = 0;
    for (size_t v = 1; v < p->value_count; v++) {
        const char *have = p->values[v].name;
        if (!have || (prefix ? strncmp(have, name, n - 1) : strcmp(have, name)) != 0) continue;
        p->values[v].tapped = true;
        found++;
    }
    return found;
}
