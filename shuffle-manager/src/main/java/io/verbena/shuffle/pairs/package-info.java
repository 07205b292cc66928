/**
 * Records whose key or value is of a basic type, stored as they are: what a general serializer spends on a number, a text or an array
 * of bytes (class ids, reference tracking, a reset after every object) is most of what such a record costs.
 */
package io.verbena.shuffle.pairs;
