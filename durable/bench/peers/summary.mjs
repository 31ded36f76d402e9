// summary.mjs FILE [JSON]: prints the medians, least and most of the figures that the programs wrote to FILE, and
// writes them to JSON as `./dev bench --json` does.
import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";

const figures = {
  lateness: { p50_ms: "ms, p50", p99_ms: "ms, p99", max_ms: "ms, max" },
  reader: {
    first_p99_ms: "ms, p99, first fifth",
    last_p99_ms: "ms, p99, last fifth",
    dead_rows: "dead rows",
    megabytes: "MB",
  },
  finished: { bytes_per_job: "bytes a job" },
  throughput: {
    puts_per_s: "puts/s",
    fires_per_s: "fires/s",
    both_per_s: "jobs/s",
    overlapped_per_s: "jobs/s, overlapped",
  },
};
const titles = {
  lateness: "Lateness in milliseconds: from the due time to the begin of the handler",
  reader: "The same while another session reads an old state of the database",
  finished: "Tables and indexes that finished jobs leave after autovacuum",
  throughput: "A second: put, run, first put and then run, and put while others run",
};

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));

// The summary shows settings other than `tuned` as implementations of their own.
const nameOf = ({ impl, settings_name: name }) => (!name || name === "tuned" ? impl : `${impl}-${name}`);

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const results = [];
for (const [workload, units] of Object.entries(figures))
  for (const impl of new Set(lines.map(nameOf))) {
    const runs = lines.filter((line) => line.workload === workload && nameOf(line) === impl);
    if (runs.length === 0) continue;
    const ran = Math.min(...runs.map((run) => run.ran / run.jobs));
    for (const [name, unit] of Object.entries(units)) {
      const values = runs.map((run) => run[name]);
      const spread = { min: Math.min(...values), max: Math.max(...values) };
      const about = { workload: "durable", impl, n: runs[0].jobs };
      results.push({ ...about, value: median(values), unit, runs: runs.length, ...spread, ran, group: workload });
    }
  }

const short = (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toString());

for (const [workload, units] of Object.entries(figures)) {
  const columns = Object.values(units);
  console.log(`\n${titles[workload]}\n`);
  console.log("".padEnd(26) + columns.map((unit) => unit.padStart(26)).join("") + "       ran");
  for (const impl of new Set(results.map((each) => each.impl))) {
    const row = results.filter((each) => each.impl === impl && each.group === workload);
    if (row.length === 0) continue;
    const least = workload !== "throughput" && row[0].ran < 1 ? ">= " : "";
    const text = ({ value, min, max }) => `${least}${short(value)} (${short(min)}-${short(max)})`;
    const cells = row.map((each) => text(each).padStart(26));
    console.log(impl.padEnd(26) + cells.join("") + `${Math.floor(100 * row[0].ran)} %`.padStart(10));
  }
}
console.log("\nMedians, with least and most. Where not all ran in time, the others count as late until the end: >=.\n");
const settings = new Map(lines.map((line) => [nameOf(line), `${line.version ?? ""} ${JSON.stringify(line.settings)}`]));
for (const [name, text] of settings) console.log(`${name}: ${text.trim()}`);

if (process.argv[3]) {
  const machine = {
    cpu: os.cpus()[0].model,
    cores: os.cpus().length,
    memory_mb: Math.floor(os.totalmem() / 2 ** 20),
    system: `${os.type()} ${os.release()}`,
    versions: Object.fromEntries(lines.map((line) => [nameOf(line), line.version])),
    settings: Object.fromEntries(lines.map((line) => [nameOf(line), line.settings])),
  };
  const rows = results.map(({ group, ...each }) => JSON.stringify(each)).join(",\n");
  writeFileSync(process.argv[3], `{"machine":${JSON.stringify(machine)},\n"results":[\n${rows}\n]}\n`);
}
