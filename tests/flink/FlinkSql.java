import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Runs the statements of a file, one a line, in a Flink of this process; rows go to the output. */
public class FlinkSql {
  public static void main(String[] args) throws Exception {
    Configuration settings = new Configuration();
    settings.setString("restart-strategy.type", "none");
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.createLocalEnvironment(1, settings);
    env.enableCheckpointing(500);
    StreamTableEnvironment sql =
        StreamTableEnvironment.create(
            env, EnvironmentSettings.newInstance().inStreamingMode().build());
    for (String statement : Files.readAllLines(Path.of(args[0]))) {
      TableResult result = sql.executeSql(statement);
      if (!statement.startsWith("SELECT")) {
        result.await();
        continue;
      }
      System.out.println("SELECT");
      try (CloseableIterator<Row> rows = result.collect()) {
        while (rows.hasNext()) {
          Row row = rows.next();
          System.out.println("ROW " + row.getField(0) + " " + row.getField(1));
        }
      }
    }
  }
}
