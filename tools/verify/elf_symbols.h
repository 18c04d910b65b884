// SPDX-License-Identifier: Apache-2.0
//
// The dynamic symbols of a library file, read without loading it.
#ifndef FERRY_TOOLS_VERIFY_ELF_SYMBOLS_H
#define FERRY_TOOLS_VERIFY_ELF_SYMBOLS_H

#include <string>
#include <vector>

namespace ferry::verify {

struct DynamicSymbols {
  std::vector<std::string> defined;    ///< those that others can see
  std::vector<std::string> undefined;  ///< without the weak ones
};

/// Fails where the file has no table of dynamic symbols of this machine's form.
DynamicSymbols dynamic_symbols(const std::string& path);

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_ELF_SYMBOLS_H
