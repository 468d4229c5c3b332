/* Prints "ready", then runs a little compiled code for the given number of seconds. */
public class JavaLoad {
	static double work(int nr) {
		double sum = 0;
		for (int i = 1; i < nr; i++)
			sum += Math.sqrt(i) / (i + 1);
		return sum;
	}

	public static void main(String[] arguments) throws InterruptedException {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
		double sum = 0;

		System.out.println("ready");
		while (System.nanoTime() < end) {
			sum += work(20000);
			Thread.sleep(1);
		}
		System.out.println(sum);
	}
}
