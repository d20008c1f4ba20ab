// Asks with @clickhouse/client of several versions what dashboards and scripts ask; fails when an answer is not as it should be.
import assert from "node:assert/strict";

const url = process.env.URL;
const password = process.env.PASSWORD;
let asked = 0;

async function step(name, work) {
  try {
    await work();
    asked++;
  } catch (error) {
    console.log(`${name} FAILED: ${error.stack ?? error}`);
    process.exitCode = 1;
  }
}

async function rows(client, question) {
  return (await client.query({ format: "JSONEachRow", ...question })).json();
}

async function ask(version, options) {
  const { createClient } = await import(`clickhouse-${version}`);
  const at = `${version} ${JSON.stringify(options)}`;
  const client = createClient({ url, username: "somebody", password, database: "walltime", ...options });
  await step(`${at} ping`, async () => {
    const answer = await client.ping();
    assert.equal(answer.success, true, String(answer.error));
  });
  await step(`${at} ping with a SELECT`, async () => {
    const answer = await client.ping({ select: true });
    assert.equal(answer.success, true, String(answer.error));
  });
  await step(`${at} rows`, async () =>
    assert.deepEqual(await rows(client, { query: "SELECT number AS n, 'x' AS s FROM numbers(2)" }), [
      { n: 0, s: "x" },
      { n: 1, s: "x" },
    ]));
  await step(`${at} parameters`, async () =>
    assert.deepEqual(
      await rows(client, {
        query: "SELECT {s:String} AS s, {n:UInt32} AS n, {a:Array(String)} AS a, {m:Map(String, String)} AS m",
        query_params: { s: "it's \\ ü", n: 7, a: ["a", "b'"], m: { k: "v", "k'": "w" } },
      }),
      [{ s: "it's \\ ü", n: 7, a: ["a", "b'"], m: { k: "v", "k'": "w" } }],
    ));
  await step(`${at} settings`, async () =>
    assert.deepEqual(
      await rows(client, {
        query: "SELECT toUInt64(1) AS n",
        clickhouse_settings: { output_format_json_quote_64bit_integers: 1, max_execution_time: 5 },
      }),
      [{ n: "1" }],
    ));
  await step(`${at} a stream`, async () => {
    const answer = await client.query({
      query: "SELECT number, toString(number) FROM numbers(200000)",
      format: "JSONCompactEachRow",
    });
    let seen = 0;
    for await (const part of answer.stream()) seen += part.length;
    assert.equal(seen, 200_000);
  });
  await step(`${at} JSON`, async () => {
    const answer = await (await client.query({ query: "SELECT 1 AS one", format: "JSON" })).json();
    assert.deepEqual([answer.data, answer.rows], [[{ one: 1 }], 1]);
  });
  await step(`${at} formats`, async () => {
    for (const format of ["CSVWithNames", "TabSeparatedWithNamesAndTypes", "JSONCompactEachRowWithNamesAndTypes"]) {
      assert.match(await (await client.query({ query: "SELECT 1 AS one", format })).text(), /one/);
    }
  });
  await step(`${at} Parquet`, async () => {
    const answer = await client.exec({ query: "SELECT 1 AS one FORMAT Parquet" });
    const parts = [];
    for await (const part of answer.stream) parts.push(part);
    assert.equal(Buffer.concat(parts).subarray(0, 4).toString(), "PAR1");
  });
  await step(`${at} query id and summary`, async () => {
    const answer = await client.command({ query: "SELECT 1 FORMAT Null", query_id: "mine" });
    assert.equal(answer.query_id, "mine");
  });
  await step(`${at} errors`, async () => {
    const wrong = { UNKNOWN_TABLE: "SELECT * FROM nothing", SYNTAX_ERROR: "SELECT (", ACCESS_DENIED: "DROP TABLE spans" };
    for (const [type, query] of Object.entries(wrong)) {
      await assert.rejects(rows(client, { query }), (error) => error.type === type && error.message.length > 10);
    }
  });
  await client.close();
  const stranger = createClient({ url, username: "somebody", password: "wrong", ...options });
  await step(`${at} wrong password`, async () =>
    assert.rejects(rows(stranger, { query: "SELECT 1" }), (error) => error.type === "AUTHENTICATION_FAILED"));
  await stranger.close();
}

for (const version of ["1.0", "1.11", "newest"]) {
  await ask(version, {});
  await ask(version, { compression: { response: true } });
}
console.log(`asked ${asked}`);
