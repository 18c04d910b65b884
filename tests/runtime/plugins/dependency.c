/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that a test plugin needs and that its loader does not find.
 */
__attribute__((visibility("default"))) int acme_dependency(void) { return 0; }
