// BM25 with parameters by field, as Lucene wants it: a class of one's own.
//
// SimilarityByField.class is what this compiles to:
//     javac --release 11 -g:none -cp lucene-core.jar SimilarityByField.java

import java.util.Map;
import org.apache.lucene.search.similarities.PerFieldSimilarityWrapper;
import org.apache.lucene.search.similarities.Similarity;

public final class SimilarityByField extends PerFieldSimilarityWrapper {
    private final Similarity usual;
    private final Map<String, Similarity> byField;

    public SimilarityByField(Similarity usual, Map<String, Similarity> byField) {
        this.usual = usual;
        this.byField = byField;
    }

    @Override
    public Similarity get(String field) {
        return byField.getOrDefault(field, usual);
    }
}
