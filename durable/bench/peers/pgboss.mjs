// pg-boss. With `tuned` it polls as often as it allows, fetches in batches, fetches again at once while they are full,
// and announces jobs that are due when they are put (LISTEN and NOTIFY). Supervision and schedules, which run every
// minute, are off with both settings.
import { PgBoss } from "pg-boss";
import pg from "pg";
import { countOf, dueDate, measure, versionOf } from "./measure.mjs";

measure((address) => {
  let pool, boss, settings;
  return {
    impl: "pg-boss",
    version: versionOf("pg-boss"),
    batch: 2000,
    settings: {
      default: { localConcurrency: 1, batchSize: 1, pollingIntervalSeconds: 2, burst: 0, notify: 0 },
      tuned: { localConcurrency: 4, batchSize: 1000, pollingIntervalSeconds: 0.5, burst: 1, notify: 1 },
    },
    async prepare(chosen) {
      settings = chosen;
      pool = new pg.Pool({ connectionString: address, max: 1 });
      pool.on("error", () => {});
      await pool.query("drop schema if exists pgboss cascade");
      boss = new PgBoss({
        connectionString: address,
        max: 10,
        supervise: false,
        schedule: false,
        useListenNotify: Boolean(settings.notify),
      });
      boss.on("error", (error) => console.error(error.message));
      boss.on("warning", (warning) => console.error(warning.message));
      await boss.start();
      await boss.createQueue("job", { notify: Boolean(settings.notify) });
    },
    put: (jobs) => boss.insert("job", jobs.map(({ due }) => ({ data: { due }, startAfter: dueDate(due) }))),
    async start(fire) {
      const options = {
        localConcurrency: settings.localConcurrency,
        batchSize: settings.batchSize,
        pollingIntervalSeconds: settings.pollingIntervalSeconds,
        notifyPollingIntervalSeconds: settings.pollingIntervalSeconds,
        burstWhenBatchFull: Boolean(settings.burst),
      };
      await boss.work("job", options, async (jobs) => {
        for (const job of jobs) fire(job.data.due);
      });
    },
    left: async () =>
      countOf(await pool.query("select count(*) from pgboss.job where name = 'job' and state < 'completed'")),
    async stop() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
});
