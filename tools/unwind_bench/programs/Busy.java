import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Threads that build trees, sort and count: compiled, interpreted and the collector's frames. */
public class Busy {
	final String name;
	final Busy left, right;

	Busy(int depth, int seed) {
		name = depth == 0 ? String.format("item %05d", seed * 7919 % 20000) : null;
		left = depth == 0 ? null : new Busy(depth - 1, seed * 2);
		right = depth == 0 ? null : new Busy(depth - 1, seed * 2 + 1);
	}

	void visit(List<String> found) {
		if (name != null) {
			found.add(name);
			return;
		}
		left.visit(found);
		right.visit(found);
	}

	static int round(int seed) {
		List<String> names = new ArrayList<>();
		Map<String, Integer> count = new HashMap<>();
		new Busy(9, seed).visit(names);
		for (String name : names)
			count.merge(name.toUpperCase(), 1, Integer::sum);
		Collections.sort(names);
		return count.size() + names.size();
	}

	public static void main(String[] arguments) {
		for (int i = 0; i < 2; i++) {
			int first = i;
			new Thread(() -> {
				for (int seed = first;; seed += round(seed) & 1)
					;
			}).start();
		}
	}
}
