// graphile-worker. `manual` has the settings with which its manual measures it (worker.graphile.org/docs/performance).
// `tuned` also has a larger local queue, and a shorter pollInterval: a put announces its jobs (LISTEN and NOTIFY), but
// the worker finds jobs that are due later only when it polls, or at the next announcement. The interval could be
// shorter still.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { countOf, dueDate, measure, versionOf } from "./measure.mjs";

measure((address) => {
  let pool, utils, runner, preset;
  return {
    impl: "graphile-worker",
    version: versionOf("graphile-worker"),
    batch: 2000,
    settings: {
      default: { concurrentJobs: 1, maxPoolSize: 10, pollInterval: 2000 },
      manual: { concurrentJobs: 24, maxPoolSize: 25, pollInterval: 2000, localQueue: 500, completeJobBatchDelay: 0 },
      tuned: { concurrentJobs: 24, maxPoolSize: 25, pollInterval: 100, localQueue: 2000, completeJobBatchDelay: 0 },
    },
    async prepare({ localQueue, ...settings }) {
      pool = new pg.Pool({ connectionString: address, max: settings.maxPoolSize });
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {})); // graphile warns about pools without this
      await pool.query("drop schema if exists graphile_worker cascade");
      const worker = { ...settings, failJobBatchDelay: settings.completeJobBatchDelay };
      if (localQueue) worker.localQueue = { size: localQueue };
      preset = { worker };
      const quiet = new Logger(() => (level, text) => level === "error" && console.error(text));
      utils = await makeWorkerUtils({ pgPool: pool, preset, logger: quiet });
      await utils.migrate();
      await Promise.all(Array.from({ length: settings.maxPoolSize }, () => pool.query("select pg_sleep(0.01)")));
      this.logger = quiet;
    },
    put: (jobs) =>
      utils.addJobs(jobs.map(({ due }) => ({ identifier: "job", payload: { due }, runAt: dueDate(due) }))),
    async start(fire) {
      const taskList = { job: ({ due }) => fire(due) };
      runner = await run({ pgPool: pool, preset, logger: this.logger, noHandleSignals: true, taskList, crontab: "" });
    },
    left: async () => countOf(await pool.query("select count(*) from graphile_worker._private_jobs")),
    async stop() {
      await runner.stop();
      await utils.release();
      await pool.end();
    },
  };
});
