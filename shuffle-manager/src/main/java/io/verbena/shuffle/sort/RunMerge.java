package io.verbena.shuffle.sort;

import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Merges sorted runs. Of records with equal keys, those of an earlier run come first.
 *
 * <p>Threads: confined to the one that reads.
 */
final class RunMerge extends AbstractIterator<Tuple2<Object, Object>> {
    private final PriorityQueue<Head> heads;

    RunMerge(Comparator<Object> keys, List<Iterator<Tuple2<Object, Object>>> runs) {
        heads = new PriorityQueue<>(
                runs.size(),
                Comparator.<Head, Object>comparing(head -> head.record._1(), keys)
                        .thenComparingInt(head -> head.index));
        for (Iterator<Tuple2<Object, Object>> run : runs) {
            if (run.hasNext()) {
                heads.add(new Head(run, heads.size()));
            }
        }
    }

    @Override
    public boolean hasNext() {
        return !heads.isEmpty();
    }

    @Override
    public Tuple2<Object, Object> next() {
        Head head = heads.poll();
        if (head == null) {
            throw new NoSuchElementException("no more sorted records");
        }
        Tuple2<Object, Object> record = head.record;
        if (head.run.hasNext()) {
            head.record = head.run.next();
            heads.add(head);
        }
        return record;
    }

    /** The next record of a run. */
    private static final class Head {
        private final Iterator<Tuple2<Object, Object>> run;
        private final int index;
        private Tuple2<Object, Object> record;

        Head(Iterator<Tuple2<Object, Object>> run, int index) {
            this.run = run;
            this.index = index;
            this.record = run.next();
        }
    }
}
