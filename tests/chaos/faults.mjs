// The faults that the run injects. Each function returns when all participants are healthy again: faults never overlap.
import { setTimeout as sleep } from 'node:timers/promises';

/** A primary that is killed or disconnected loses at most the writes it acknowledged in this time before: docs/redis.md. */
const REPLICATION_LAG_MS = 2000;
/** The run injects this fault only if --only names it: it loses acknowledged writes. */
export const OPT_IN_FAULT = 'unprepared failover';
/** A browser receives a response up to this long after the server sent it. */
const RESPONSE_DELAY_MS = 500;
/** Before a failover that the run did not cause, the Sentinels may not have reached the primary for this long. */
const DETECTION_DELAY_MS = 10_000;

/**
 * Which writes Redis may lose in a failover, because it replicates asynchronously:
 * none; those that the primary acknowledged last before the fault; those that it acknowledged during the failover.
 */
const PermittedLoss = { NONE: 'none', RECENT: 'recent', DURING: 'during' };

/**
 * Follows the primary that the Sentinels name, and calls `onFailover()` after each change. A fault that replaces the primary
 * calls `begin(permittedLoss)` before and `end()` after it.
 */
export function followPrimary(store, onFailover) {
  const [injected, unexpected] = [[], []];
  let [ongoing, current, count, running] = [null, 0, 0, true];
  (async () => {
    for (; running; await sleep(100)) {
      const now = await store.primary();
      if (!now || now === current) continue;
      if (current) {
        count += 1;
        if (ongoing) ongoing.switchedAt = Date.now();
        else unexpected.push({ at: Date.now() });
        onFailover();
      }
      current = now;
    }
  })();
  const lossPeriods = () => [
    ...injected.filter(({ loss }) => loss === PermittedLoss.RECENT).map(({ at }) => [at - REPLICATION_LAG_MS, at + RESPONSE_DELAY_MS]),
    ...injected.filter(({ loss }) => loss === PermittedLoss.DURING).map(({ at, switchedAt = Infinity }) => [at, switchedAt + RESPONSE_DELAY_MS]),
    ...unexpected.map(({ at }) => [at - DETECTION_DELAY_MS, at]),
  ];
  return {
    begin(loss) { ongoing = { at: Date.now(), loss }; injected.push(ongoing); },
    end() { ongoing = null; },
    /**
     * Returns whether a loss that Redis permits explains the violation. An acknowledgement must fall into such a period; a login
     * consists of many writes, so it only has to overlap with one.
     */
    explains: ({ what, from, at }) => lossPeriods().some(([begin, end]) => (what === 'login lost' ? from <= end && at >= begin : from >= begin && from <= end)),
    count: () => count,
    countUnexpected: () => unexpected.length,
    summary: () => [...injected, ...unexpected].map(({ at, switchedAt, loss = PermittedLoss.NONE }) => {
      const permitted = loss === PermittedLoss.NONE ? '' : ` may lose ${loss} writes`;
      return `${new Date(at).toISOString()}${permitted}${switchedAt ? ` +${switchedAt - at} ms` : ''}`;
    }).join(', '),
    stop() { running = false; },
  };
}

/** Returns the faults by name. */
export function createFaults({ hubs, store }, failovers) {
  let turn = 0;
  // Shifts by one after each round of the hubs. Otherwise a fault would always hit the same hub if a round of faults had as many
  // faults of hubs as there are hubs.
  const nextHub = () => hubs[(turn + Math.floor(turn++ / hubs.length)) % hubs.length];
  async function startAgain(hub) {
    hub.start();
    await hub.waitUntilReady();
  }
  /**
   * Causes a failover by `disable`, which may return a function that restores the old primary after another server has replaced
   * it.
   */
  async function replacePrimary(permittedLoss, disable) {
    const old = await store.primary();
    failovers.begin(permittedLoss);
    const restore = await disable(old, store.servers.get(old));
    await store.waitUntilReplaced(old);
    await restore?.();
    await store.waitUntilReplicated();
    failovers.end();
  }
  async function suspend(process, milliseconds) {
    process.suspend();
    await sleep(milliseconds);
    process.resume();
    await store.waitUntilReplicated();
  }
  const primaryServer = async () => store.servers.get(await store.primary());

  return {
    async restart() {
      const hub = nextHub();
      const exit = await hub.stop('SIGTERM');
      if (exit !== 0) throw new Error(`${hub.name} ended with ${exit} on SIGTERM`);
      await startAgain(hub);
    },
    async kill() {
      const hub = nextHub();
      await hub.stop('SIGKILL');
      await sleep(500);
      await startAgain(hub);
    },
    failover: () => replacePrimary(PermittedLoss.NONE, (old) => store.failover(old)),
    // Two primaries accept writes for a moment: docs/redis.md.
    [OPT_IN_FAULT]: () => replacePrimary(PermittedLoss.DURING, (old) => store.failover(old, false)),
    async upgrade() {
      const hub = nextHub();
      await hub.stop('SIGTERM');
      hub.switchProgram();
      await startAgain(hub);
    },
    // Shorter than `down-after-milliseconds` of the Sentinels: causes no failover.
    stall: async () => suspend(await primaryServer(), 1000),
    'primary killed': () => replacePrimary(PermittedLoss.RECENT, async (_, server) => {
      await server.stop('SIGKILL');
      return () => server.start();
    }),
    'network stall': async () => suspend((await primaryServer()).proxy, 1000),
    'network partition': () => replacePrimary(PermittedLoss.RECENT, async (_, { proxy }) => {
      proxy.suspend();
      // The old primary still runs as a primary when it is reachable again.
      return () => proxy.resume();
    }),
  };
}
