package io.verbena.transport.verbs.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class HelloTest {
    private final UUID token = UUID.randomUUID();

    @Test
    void shouldAcceptItsOwnHelloWithPadding() {
        byte[] padded = Arrays.copyOf(Hello.request(token), 56);
        assertThat(Hello.check(ByteBuffer.wrap(padded), token)).isNull();
    }

    @Test
    void shouldRefuseAnotherToken() {
        assertThat(Hello.check(ByteBuffer.wrap(Hello.request(UUID.randomUUID())), token))
                .isEqualTo(Hello.Refusal.TOKEN);
    }

    @Test
    void shouldRefuseWhatIsDamagedShortOrSomebodyElses() {
        byte[] good = Hello.request(token);
        for (int i = 0; i < good.length; i++) {
            byte[] damaged = good.clone();
            damaged[i] ^= 1;
            assertThat(Hello.check(ByteBuffer.wrap(damaged), token))
                    .isEqualTo(i < 8 ? Hello.Refusal.VERSION : Hello.Refusal.TOKEN);
        }
        assertThat(Hello.check(ByteBuffer.wrap(good, 0, good.length - 1), token))
                .isEqualTo(Hello.Refusal.VERSION);
        assertThat(Hello.check(ByteBuffer.allocate(0), token)).isEqualTo(Hello.Refusal.VERSION);
    }

    @Test
    void shouldReadTheAnswerOfTheRightOwnerOnly() {
        ByteBuffer answer = ByteBuffer.wrap(Hello.answer(token, 30_000));
        assertThat(Hello.leaseTimeoutMs(answer, token)).isEqualTo(30_000);
        assertThat(Hello.leaseTimeoutMs(answer, UUID.randomUUID())).isEqualTo(-1);
        assertThat(Hello.leaseTimeoutMs(ByteBuffer.wrap(Hello.request(token)), token))
                .isEqualTo(-1);
    }

    @Test
    void shouldSayWhyItWasRefused() {
        for (Hello.Refusal why : Hello.Refusal.values()) {
            assertThat(Hello.refusalOf(ByteBuffer.wrap(Hello.refusal(why)))).endsWith(why.toString());
        }
        assertThat(Hello.refusalOf(ByteBuffer.allocate(0))).contains("nobody");
    }
}
