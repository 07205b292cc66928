package io.verbena.memory;

class PlainBackingTest extends SegmentBackingContractTest {
    @Override
    protected SegmentBacking open() {
        return new PlainBacking();
    }

    @Override
    protected void cleanUp() {}
}
