/**
 * A Java agent for JVMs that run Spark's own test suites: {@link io.verbena.suites.agent.SuiteAgent} gives every SparkConf the settings
 * of the test, however the suite makes it, and counts whose shuffles were registered. For tests only.
 */
package io.verbena.suites.agent;
