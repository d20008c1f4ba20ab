import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * Does through JDBC what DBeaver, DataGrip and Metabase do, and prints one line for each step: its name and what came.
 *
 * <p>Arguments are option sets, each as name=value&name=value; URL is the address, PASSWORD the password.
 */
public final class Ask {
  private interface Step {
    String run() throws Exception;
  }

  private static int failures = 0;

  public static void main(String[] sets) throws Exception {
    for (String set : sets) {
      System.out.println("options " + set);
      Properties options = new Properties();
      options.setProperty("user", "somebody");
      options.setProperty("password", System.getenv("PASSWORD"));
      for (String option : set.split("&")) {
        if (option.contains("=")) {
          options.setProperty(option.substring(0, option.indexOf('=')), option.substring(option.indexOf('=') + 1));
        }
      }
      try (Connection connection = DriverManager.getConnection(System.getenv("URL"), options)) {
        ask(connection);
      }
      Properties wrong = new Properties();
      wrong.putAll(options);
      wrong.setProperty("password", "wrong");
      step(
          "wrong password",
          () -> {
            try (Connection connection = DriverManager.getConnection(System.getenv("URL"), wrong)) {
              return rows(connection.createStatement().executeQuery("SELECT 1"));
            } catch (SQLException error) {
              return messages(error);
            }
          });
    }
    System.out.println("failures " + failures);
    System.exit(failures);
  }

  private static void ask(Connection connection) throws Exception {
    DatabaseMetaData about = connection.getMetaData();
    step("product", () -> about.getDatabaseProductName() + " " + about.getDriverVersion());
    step("version", about::getDatabaseProductVersion);
    step("valid", () -> "" + connection.isValid(10));
    step("catalog", () -> connection.getCatalog() + " " + connection.getSchema());
    try (Statement statement = connection.createStatement()) {
      step("one", () -> rows(statement.executeQuery("SELECT 1")));
      step(
          "types",
          () ->
              rows(
                  statement.executeQuery(
                      "SELECT toInt64(-5) AS i, 18446744073709551615 AS u, 1.5 AS f, 'ä' AS s, toDate('2024-02-29') AS d,"
                          + " toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC') AS t, [1, 2] AS a, map('k', 'v') AS m,"
                          + " CAST(NULL AS Nullable(String)) AS n, toLowCardinality('l') AS l, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS g,"
                          + " toDecimal64(1.25, 2) AS c, true AS b, (1, 'x') AS p")));
      step("many", () -> "" + count(statement.executeQuery("SELECT number, toString(number) FROM numbers(200000)")));
      step("none", () -> rows(statement.executeQuery("SELECT name, duration_ns FROM transactions WHERE 0")));
      step("own tables", () -> rows(statement.executeQuery("SELECT count() > 0 FROM transactions")));
      step("error", () -> failure(() -> rows(statement.executeQuery("SELECT * FROM nothing_of_that_name"))));
      step("syntax", () -> failure(() -> rows(statement.executeQuery("SELECT FROM WHERE"))));
      step("refused", () -> failure(() -> rows(statement.executeQuery("SELECT * FROM url('http://127.0.0.1:1/')"))));
      step("after", () -> rows(statement.executeQuery("SELECT 2")));
      step("show tables", () -> "" + count(statement.executeQuery("SHOW TABLES")));
      step("show databases", () -> rows(statement.executeQuery("SHOW DATABASES")));
    }
    try (Statement statement = connection.createStatement()) {
      statement.setMaxRows(3);
      statement.setQueryTimeout(20);
      step("at most", () -> "" + count(statement.executeQuery("SELECT number FROM numbers(10)")));
    }
    try (PreparedStatement prepared =
        connection.prepareStatement(
            "SELECT number, concat('<', ?) AS quoted FROM numbers(5) WHERE number > ? AND number != ?")) {
      prepared.setString(1, "it's \\ ü ?");
      prepared.setLong(2, 2);
      prepared.setInt(3, 3);
      step("prepared", () -> rows(prepared.executeQuery()));
    }
    step("catalogs", () -> rows(about.getCatalogs()));
    step("schemas", () -> rows(about.getSchemas()));
    step("schemas like", () -> rows(about.getSchemas(null, "%")));
    step("table types", () -> "" + count(about.getTableTypes()));
    step("tables", () -> column(about.getTables(null, null, "%", null), "TABLE_NAME"));
    step("tables of", () -> column(about.getTables(null, "walltime", "transactions", null), "TABLE_NAME"));
    step(
        "tables and views",
        () -> column(about.getTables("", "walltime", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"));
    step("columns", () -> column(about.getColumns(null, "walltime", "transactions", "%"), "COLUMN_NAME"));
    step("all columns", () -> "" + count(about.getColumns(null, null, "%", "%")));
    step("type info", () -> "" + count(about.getTypeInfo()));
    step("functions", () -> "" + count(about.getFunctions(null, null, "%")));
    step("primary keys", () -> "" + count(about.getPrimaryKeys(null, "walltime", "transactions")));
    step("indexes", () -> "" + count(about.getIndexInfo(null, "walltime", "transactions", false, false)));
    step("procedures", () -> "" + count(about.getProcedures(null, null, "%")));
    step("imported keys", () -> "" + count(about.getImportedKeys(null, "walltime", "transactions")));
    step("keywords", () -> about.getSQLKeywords().isEmpty() ? "none" : "some");
    step("numeric functions", () -> about.getNumericFunctions().isEmpty() ? "none" : "some");
  }

  private static void step(String name, Step step) {
    try {
      System.out.println(name + ": " + step.run());
    } catch (Exception error) {
      failures++;
      System.out.println(name + " FAILED: " + messages(error));
    }
  }

  private static String failure(Step step) throws Exception {
    try {
      return "no error, but " + step.run();
    } catch (SQLException error) {
      return error.getErrorCode() + " " + messages(error);
    }
  }

  private static String messages(Throwable error) {
    List<String> said = new ArrayList<>();
    for (Throwable each = error; each != null; each = each.getCause()) {
      said.add(each.getClass().getSimpleName() + " " + String.valueOf(each.getMessage()).replaceAll("\\s+", " "));
    }
    return String.join(" <- ", said);
  }

  private static int count(ResultSet result) throws SQLException {
    try (result) {
      int rows = 0;
      while (result.next()) {
        rows++;
      }
      return rows;
    }
  }

  private static String column(ResultSet result, String name) throws SQLException {
    try (result) {
      List<String> values = new ArrayList<>();
      while (result.next()) {
        values.add(result.getString(name));
      }
      return String.join(" ", values);
    }
  }

  private static String rows(ResultSet result) throws SQLException {
    try (result) {
      ResultSetMetaData about = result.getMetaData();
      StringBuilder text = new StringBuilder();
      for (int at = 1; at <= about.getColumnCount(); at++) {
        text.append(at > 1 ? "," : "").append(about.getColumnLabel(at)).append(' ').append(about.getColumnTypeName(at));
      }
      while (result.next()) {
        text.append(" | ");
        for (int at = 1; at <= about.getColumnCount(); at++) {
          text.append(at > 1 ? "," : "").append(result.getString(at));
        }
      }
      return text.toString();
    }
  }
}
