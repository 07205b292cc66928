/**
 * A virtual machine with two RDMA hosts in software, for tests and benchmarks on machines without an RDMA NIC.
 *
 * <p>{@link io.verbena.guest.Guest} boots it from outside; {@link io.verbena.guest.GuestHost} is for code that runs inside.
 */
package io.verbena.guest;
