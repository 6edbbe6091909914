import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Scan;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.HTTPRequest;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.apache.iceberg.rest.RESTResponse;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Iceberg's reference of a REST catalog over SQLite; ends when its standard input does. */
public final class RestServer {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("uri", "jdbc:sqlite:" + args[0]);
    properties.put("jdbc.schema-version", "V1");
    properties.put("warehouse", args[1]);
    for (int at = 2; at < args.length; at++) {
      String[] given = args[at].split("=", 2);
      properties.put(given[0], given[1]);
    }
    Catalog catalog = CatalogUtil.buildIcebergCatalog("reference", properties, new Configuration());
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new Planning(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(context);
    server.start();
    System.out.println("PORT " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    while (System.in.read() >= 0) {}
    server.stop();
    System.exit(0);
  }

  /** Plans scans of tables in namespaces with "planned" in their names; "async" and "paged" too. */
  private static final class Planning extends RESTCatalogAdapter {
    private final ThreadLocal<String> path = ThreadLocal.withInitial(() -> "");

    Planning(Catalog catalog) {
      super(catalog);
      setPlanningBehavior(
          new PlanningBehavior() {
            @Override
            public int numberFileScanTasksPerPlanTask() {
              return path.get().contains("paged") ? 1 : 100;
            }

            @Override
            public boolean shouldPlanTableScanAsync(Scan<?, FileScanTask, ?> scan) {
              return path.get().contains("async");
            }
          });
    }

    @Override
    protected <T extends RESTResponse> T execute(
        HTTPRequest request,
        Class<T> responseType,
        Consumer<ErrorResponse> errorHandler,
        Consumer<Map<String, String>> responseHeaders) {
      path.set(request.path());
      T response = super.execute(request, responseType, errorHandler, responseHeaders);
      if (!(response instanceof LoadTableResponse) || !request.path().contains("planned")) {
        return response;
      }
      LoadTableResponse loaded = (LoadTableResponse) response;
      return castResponse(
          responseType,
          LoadTableResponse.builder()
              .withTableMetadata(loaded.tableMetadata())
              .addAllConfig(loaded.config())
              .addConfig("scan-planning-mode", "server")
              .addAllCredentials(loaded.credentials())
              .build());
    }
  }
}
