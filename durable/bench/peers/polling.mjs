// A solution without a library: a table of jobs, and a loop that looks every second for those that are due. The
// transaction that runs a job also deletes it, so the job runs again if the process dies.
import pg from "pg";
import { countOf, dueDate, measure } from "./measure.mjs";

const tables = `
  drop schema if exists polling cascade;
  create schema polling;
  create table polling.job (
    kind text collate "C" not null,
    key text collate "C" not null,
    payload bytea not null,
    due timestamptz not null,
    primary key (kind, key)
  );
  create index on polling.job (kind, due)`;

const put = `
  insert into polling.job (kind, key, payload, due)
  select 'job', key, '', coalesce(due, clock_timestamp()) from unnest($1::text[], $2::timestamptz[]) as new (key, due)`;

const take = `
  delete from polling.job where (kind, key) in (
    select kind, key from polling.job
    where kind = 'job' and due <= clock_timestamp() order by due limit $1 for update skip locked)
  returning key, due`;

measure((address) => {
  let writer, reader, settings, stopped, loop;
  let keys = 0;

  // Runs a batch of due jobs, and resolves to whether there may be more.
  async function runSome(fire) {
    await reader.query("begin");
    const { rows } = await reader.query({ name: "take", text: take, values: [settings.batch] });
    for (const { due } of rows) fire(due.getTime());
    await reader.query("commit");
    return rows.length === settings.batch;
  }

  async function run(fire) {
    for (let next = Date.now(); !stopped; next += settings.interval) {
      while (await runSome(fire));
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next + settings.interval - Date.now())));
    }
  }

  return {
    impl: "polling",
    version: "",
    batch: 2000,
    settings: { tuned: { interval: 1000, batch: 1000 } },
    async prepare(chosen) {
      settings = chosen;
      stopped = false;
      writer = new pg.Client(address);
      reader = new pg.Client(address);
      await Promise.all([writer.connect(), reader.connect()]);
      await writer.query(tables);
    },
    put: (jobs) =>
      writer.query({
        name: "put",
        text: put,
        values: [jobs.map(() => String(++keys)), jobs.map(({ due }) => dueDate(due))],
      }),
    async start(fire) {
      loop = run(fire);
    },
    left: async () => countOf(await writer.query("select count(*) from polling.job")),
    async stop() {
      stopped = true;
      await loop;
      await Promise.all([writer.end(), reader.end()]);
    },
  };
});
