import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** Threads that sort, fill maps, format text and call through interfaces and lambdas. */
public class Busy
{
	interface Shape
	{
		double area();
	}

	record Circle(double radius) implements Shape
	{
		public double area()
		{
			return Math.PI * radius * radius;
		}
	}

	record Box(double width, double height) implements Shape
	{
		public double area()
		{
			return width * height;
		}
	}

	static List<Shape> shapes(int seed)
	{
		List<Shape> all = new ArrayList<>();
		for (int i = 0; i < 2000; i++)
			all.add((i + seed) % 3 == 0 ? new Circle(i % 17)
						    : new Box(i % 23, seed % 7));
		return all;
	}

	static double sum(List<Shape> all, ToDoubleFunction<Shape> weigh)
	{
		double sum = 0;
		for (Shape shape : all)
			sum += weigh.applyAsDouble(shape);
		return sum;
	}

	static int count(List<Shape> all)
	{
		Map<String, Integer> counts = new HashMap<>();
		for (Shape shape : all)
			counts.merge("area " + (long)shape.area() % 97, 1, Integer::sum);
		return new TreeMap<>(counts).firstEntry().getValue();
	}

	static double turn(int seed)
	{
		List<Shape> all = shapes(seed);
		all.sort((a, b) -> Double.compare(a.area(), b.area()));
		return sum(all, shape -> Math.sqrt(shape.area())) + count(all);
	}

	static volatile double result;

	public static void main(String[] arguments)
	{
		for (int number = 0; number < 3; number++) {
			int first = number;
			new Thread(() -> {
				for (int seed = first;; seed++)
					result = turn(seed);
			}, "worker " + number).start();
		}
	}
}
