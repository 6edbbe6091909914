import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;

/** Writes what Debezium's embedded engine sends to a file, until the input ends. */
public class DebeziumFeed {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    try (var reader = Files.newBufferedReader(Path.of(args[0]))) {
      properties.load(reader);
    }
    ObjectMapper mapper = new ObjectMapper();
    var executor = Executors.newSingleThreadExecutor();
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(args[1])), true);
        DebeziumEngine<ChangeEvent<String, String>> engine =
            DebeziumEngine.create(Json.class)
                .using(properties)
                .using(
                    (success, message, error) -> {
                      if (!success) {
                        System.err.println(message + ": " + error);
                      }
                    })
                .notifying(
                    event -> {
                      Map<String, Object> line = new LinkedHashMap<>();
                      line.put("t", event.destination());
                      line.put("key", event.key());
                      line.put("value", event.value());
                      try {
                        out.println(mapper.writeValueAsString(line));
                      } catch (Exception error) {
                        throw new RuntimeException(error);
                      }
                    })
                .build()) {
      executor.execute(engine);
      while (System.in.read() >= 0) {}
    }
    executor.shutdownNow();
    System.exit(0);
  }
}
