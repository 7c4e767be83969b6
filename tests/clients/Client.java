import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A bot in Java with java.net.http.WebSocket: {@code java Client.java URL PLAN}.
 *
 * <p>PLAN has one character per tick: L, R, U, D, or . to stay. Prints the number of messages, the
 * last tick and the close code as JSON. The JDK has no JSON parser, so a pattern finds the tick.
 */
class Client implements WebSocket.Listener {
    private static final Pattern TICK = Pattern.compile("\"tick\":\\s*(\\d+)");

    private final String plan;
    private final StringBuilder frame = new StringBuilder();
    private final CompletableFuture<Integer> closed = new CompletableFuture<>();
    private int ticks;
    private int lastTick;

    Client(String plan) {
        this.plan = plan;
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(args[1]);
        HttpClient.newHttpClient().newWebSocketBuilder().buildAsync(URI.create(args[0]), client).get();
        int code = client.closed.get();
        System.out.printf("{\"ticks\": %d, \"lastTick\": %d, \"code\": %d}%n", client.ticks, client.lastTick, code);
        System.exit(0);
    }

    @Override
    public void onOpen(WebSocket socket) {
        socket.sendText("{\"type\": \"REGISTER\", \"teamName\": \"java.net.http\"}", true);
        socket.request(1);
    }

    /** A frame may arrive in parts. */
    @Override
    public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean isLast) {
        frame.append(part);
        if (isLast) {
            answer(socket, frame.toString());
            frame.setLength(0);
        }
        socket.request(1);
        return null;
    }

    private void answer(WebSocket socket, String state) {
        Matcher matcher = TICK.matcher(state);
        if (!matcher.find() || !state.contains("\"lastTickErrors\":[]")) {
            closed.completeExceptionally(new IllegalStateException(state));
            return;
        }
        ticks += 1;
        lastTick = Integer.parseInt(matcher.group(1));
        String move = switch (plan.charAt(lastTick - 1)) {
            case 'L' -> "{\"type\": \"MOVE_LEFT\"}";
            case 'R' -> "{\"type\": \"MOVE_RIGHT\"}";
            case 'U' -> "{\"type\": \"MOVE_UP\"}";
            case 'D' -> "{\"type\": \"MOVE_DOWN\"}";
            default -> "";
        };
        socket.sendText("{\"type\": \"COMMAND\", \"tick\": " + lastTick + ", \"actions\": [" + move + "]}", true);
    }

    @Override
    public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
        closed.complete(code);
        return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable error) {
        closed.completeExceptionally(error);
    }
}
