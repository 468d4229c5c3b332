import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** Threads that wait: for queues, locks, timers and a socket. */
public class Waiting {
	static final BlockingQueue<Integer> there = new ArrayBlockingQueue<>(1), back = new ArrayBlockingQueue<>(1);
	static final Object lock = new Object();

	interface Step {
		void run() throws Exception;
	}

	static void repeat(String name, Step step) {
		Thread thread = new Thread(() -> {
			try {
				while (true)
					step.run();
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, name);
		thread.start();
	}

	static void hold() throws Exception {
		synchronized (lock) {
			Thread.sleep(2);
		}
	}

	public static void main(String[] arguments) throws Exception {
		ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		Socket client = new Socket(listener.getInetAddress(), listener.getLocalPort());
		Socket server = listener.accept();
		InputStream question = server.getInputStream(), answer = client.getInputStream();
		OutputStream asks = client.getOutputStream(), answers = server.getOutputStream();

		repeat("asker", () -> {
			there.put(1);
			back.take();
		});
		repeat("answerer", () -> back.put(there.take()));
		repeat("holder", Waiting::hold);
		repeat("locker", Waiting::hold);
		repeat("sleeper", () -> Thread.sleep(5));
		repeat("client", () -> {
			asks.write(1);
			answer.read();
		});
		repeat("server", () -> answers.write(question.read()));
	}
}
