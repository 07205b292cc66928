package io.verbena.registration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.Segment;
import io.verbena.memory.SegmentBacking;
import java.util.List;
import org.junit.jupiter.api.Test;

class SoftRegistrarTest {
    @Test
    void shouldCountWhatIsRegistered() throws Exception {
        try (SegmentBacking backing = Backings.choose(new BackingOptions("plain", null, null, "test", 4096))) {
            List<Segment> segments = List.of(backing.allocate(1, 4096), backing.allocate(2, 8192));
            SoftRegistrar registrar = new SoftRegistrar();
            List<MemoryRegion> regions = registrar.register(segments);
            assertThat(regions).extracting(MemoryRegion::segment).containsExactlyElementsOf(segments);
            assertThat(regions).extracting(MemoryRegion::rkey).doesNotHaveDuplicates();
            assertThat(registrar.register(List.of())).isEmpty();
            RegistrationStatistics full = registrar.statistics();
            assertThat(full.liveRegions()).isEqualTo(2);
            assertThat(full.registeredBytes()).isEqualTo(12288);
            assertThat(full.batches()).isEqualTo(1);
            assertThat(full.registrationTimeNs()).isPositive();
            registrar.deregister(regions.subList(0, 1));
            RegistrationStatistics half = registrar.statistics();
            assertThat(half.registrations()).isEqualTo(half.deregistrations() + half.liveRegions());
            assertThat(half.registeredBytes()).isEqualTo(8192);
            assertThatThrownBy(() -> registrar.deregister(regions.subList(0, 1)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is not live");
            registrar.deregister(regions.subList(1, 2));
            assertThat(registrar.statistics().liveRegions()).isZero();
            assertThat(registrar.statistics().registeredBytes()).isZero();
        }
    }
}
