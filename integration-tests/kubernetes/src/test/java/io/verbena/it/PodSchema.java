package io.verbena.it;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.fabric8.kubernetes.api.model.Pod;
import io.kubernetes.client.openapi.models.V1Pod;
import java.io.IOException;

/**
 * Kubernetes' schema of a pod. Two sets of models are made from it: one knows which fields are required, the other reports where a
 * field is unknown or of the wrong type.
 */
final class PodSchema {
    private static final ObjectMapper YAML =
            new ObjectMapper(new YAMLFactory()).setAnnotationIntrospector(new WithoutAnySetters());

    private PodSchema() {}

    /** The models collect unknown fields; without that Jackson refuses them. */
    private static final class WithoutAnySetters extends JacksonAnnotationIntrospector {
        private static final long serialVersionUID = 1L;

        @Override
        public Boolean hasAnySetter(Annotated annotated) {
            return false;
        }
    }

    /**
     * Checks a document.
     *
     * @throws IOException naming the path to the first field that is unknown or of the wrong type
     * @throws IllegalArgumentException naming a required field that is missing
     */
    static void check(String yaml) throws IOException {
        YAML.readValue(yaml, Pod.class);
        JsonElement json = JsonParser.parseString(YAML.readTree(yaml).toString());
        V1Pod.validateJsonElement(json);
    }
}
