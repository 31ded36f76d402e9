// Shared by all peers: the arguments, both workloads, and the line of JSON that each prints.
//
// A peer is an object:
//   impl, version    what it is
//   settings         {default: {...}, tuned: {...}}, and others by name; `prepare` gets the chosen ones
//   batch            how many jobs to put in one call: the number with which it is quickest
//   prepare(settings)  makes an empty queue, and warms the connections
//   put(jobs)        adds jobs by one call of its batch API; a job is {due}: milliseconds since 1970, or undefined
//                    for at once
//   start(fire)      starts the worker, whose handler only calls fire(due)
//   left()           how many jobs in the database have not ended
//   stop()           stops the worker and closes the connections
//
// Times are those of CLOCK_REALTIME in whole milliseconds, rounded down, as Date.now() returns them. So a lateness may
// be up to 1 ms too small.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const usage = `usage: PEER.mjs ADDRESS lateness|reader|throughput [OPTION...]
  --settings NAME           default or tuned (tuned), or another that the peer has
  --set NAME=NUMBER         changes one of the settings
  lateness, reader: --rate JOBS_PER_SECOND (1000)  --seconds S (20), for so long jobs are put  --ahead S (10), due then
  throughput: --jobs N (20000)  --batch B, jobs by one call (the peer's best)
  --patience S              (10) ends the run so long after it should have been over`;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

export function dueDate(due) {
  return due === undefined ? undefined : new Date(due);
}

export function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
}

export function countOf(result) {
  return Number(result.rows[0].count);
}

function parse() {
  const number = (value) => ({ type: "string", default: value });
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      settings: { type: "string", default: "tuned" },
      set: { type: "string", multiple: true, default: [] },
      rate: number("1000"),
      seconds: number("20"),
      ahead: number("10"),
      jobs: number("20000"),
      batch: number("0"),
      patience: number("10"),
    },
  });
  const [address, workload] = positionals;
  if (positionals.length !== 2 || !["lateness", "reader", "throughput"].includes(workload)) throw new Error(usage);
  const options = { address, workload, settings: values.settings, set: values.set };
  for (const name of ["rate", "seconds", "ahead", "jobs", "batch", "patience"]) {
    options[name] = Number(values[name]);
    if (!(options[name] >= 0)) throw new Error(`--${name} takes a number\n${usage}`);
  }
  return options;
}

function chosenSettings(peer, options) {
  if (!peer.settings[options.settings]) throw new Error(`no settings ${options.settings}\n${usage}`);
  const settings = { ...peer.settings[options.settings] };
  for (const each of options.set) {
    const [name, value] = each.split("=");
    settings[name] = Number(value);
  }
  return settings;
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

// Puts a batch every 100 ms. The jobs of a batch come due evenly over 100 ms.
async function putAtPace(peer, options) {
  const size = Math.round(options.rate / 10);
  const begin = Date.now();
  let slowest = 0;
  for (let batch = 0; batch < options.seconds * 10; ++batch) {
    const at = begin + 100 * batch;
    await sleep(at - Date.now());
    const jobs = Array.from({ length: size }, (_, i) => ({
      due: Math.ceil(at + 1000 * options.ahead + (100 * i) / size),
    }));
    const before = Date.now();
    await peer.put(jobs);
    slowest = Math.max(slowest, Date.now() - before);
  }
  return slowest;
}

async function lateness(peer, options) {
  const late = [];
  const waiting = new Map(); // due times with the number of jobs that have not fired
  await peer.start((due) => {
    late.push(Date.now() - due);
    waiting.set(due, waiting.get(due) - 1);
  });
  const put = peer.put;
  peer.put = (jobs) => {
    for (const { due } of jobs) waiting.set(due, (waiting.get(due) ?? 0) + 1);
    return put(jobs);
  };
  const slowestPut = await putAtPace(peer, options);
  const jobs = Math.round(options.rate / 10) * options.seconds * 10;
  const end = Date.now() + 1000 * (options.ahead + options.patience);
  while (late.length < jobs && Date.now() < end) await sleep(10);
  // A job that has not run by now counts with its lateness so far.
  const ran = late.length;
  for (const [due, count] of waiting) for (let i = 0; i < count; ++i) late.push(Date.now() - due);
  const p99 = (some) => quantile(some.sort((a, b) => a - b), 0.99);
  const fifth = Math.floor(late.length / 5);
  const ends = { first_p99_ms: p99(late.slice(0, fifth)), last_p99_ms: p99(late.slice(-fifth)) };
  late.sort((a, b) => a - b);
  return {
    jobs,
    ran,
    ...ends,
    p50_ms: quantile(late, 0.5),
    p99_ms: quantile(late, 0.99),
    max_ms: late.at(-1),
    slowest_put_ms: slowestPut,
  };
}

async function putAll(peer, options) {
  for (let i = 0; i < options.jobs; i += options.batch)
    await peer.put(Array.from({ length: Math.min(options.batch, options.jobs - i) }, () => ({})));
}

// Waits until all jobs are done, or patience has ended. Resolves to how many are done.
async function runAll(peer, options, ran) {
  const end = performance.now() + 1000 * options.patience;
  while (ran() < options.jobs && performance.now() < end) await sleep(2);
  let left;
  while ((left = await peer.left()) > 0 && performance.now() < end) await sleep(2);
  return options.jobs - left;
}

async function throughput(peer, options, settings) {
  const perSecond = (count, ms) => Math.round((1000 * count) / ms);
  let ran = 0;
  const fire = () => ++ran;

  // First put all jobs, then run all.
  let begin = performance.now();
  await putAll(peer, options);
  const puts = performance.now() - begin;
  begin = performance.now();
  await peer.start(fire);
  const done = await runAll(peer, options, () => ran);
  const fires = performance.now() - begin;
  await peer.stop();

  // Put jobs while the worker runs.
  await peer.prepare(settings);
  ran = 0;
  await peer.start(fire);
  await sleep(1000);
  begin = performance.now();
  await putAll(peer, options);
  const doneOverlapped = await runAll(peer, options, () => ran);
  const overlapped = performance.now() - begin;

  return {
    jobs: options.jobs,
    batch: options.batch,
    ran: Math.min(done, doneOverlapped),
    puts_per_s: perSecond(options.jobs, puts),
    fires_per_s: perSecond(done, fires),
    both_per_s: done === options.jobs ? perSecond(done, puts + fires) : perSecond(done, fires),
    overlapped_per_s: perSecond(doneOverlapped, overlapped),
  };
}

export async function measure(makePeer) {
  try {
    const options = parse();
    const peer = makePeer(options.address);
    const settings = chosenSettings(peer, options);
    options.batch ||= peer.batch;
    await peer.prepare(settings);
    const figures = await (options.workload === "throughput" ? throughput : lateness)(peer, options, settings);
    const about = { impl: peer.impl, version: peer.version, workload: options.workload };
    console.log(JSON.stringify({ ...about, settings_name: options.settings, settings, ...figures }));
    process.exit(0); // the frameworks wait for seconds for their workers to end
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
