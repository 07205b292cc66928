/** Tests that call natives, run by io.verbena.verbs.TestLibrary inside the library's class loader. */
package io.verbena.verbs.inside;
