// SPDX-License-Identifier: Apache-2.0
// Private to export*.c.
#ifndef FRONTEND_EXPORT_INTERNAL_H
#define FRONTEND_EXPORT_INTERNAL_H

#include "hlo/hlo.h"

// The attributes of i as a generic operation's dictionary: entries separated by ", ", without braces. `first` is
// cleared when something was written.
void export_attrs(strbuf *out, const hlo_instr *i, bool *first);
// Starts the next entry: ", " if needed, then "name = ".
void export_key(strbuf *out, bool *first, const char *name);
void export_string(strbuf *out, strv s);  // quoted and escaped

#endif
