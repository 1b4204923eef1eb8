// What befalls the cast. Each is over when the cast is whole again: two misfortunes at once are another test.
import { setTimeout as sleep } from 'node:timers/promises';

/** A server that dies, or is cut off, takes with it what it acknowledged since its replicas last heard of it: docs/redis.md. */
const ASYNCHRONOUS = 2000;
/** Not played unless it is asked for. */
export const OPTIONAL = 'failover at once';
/** An answer that left the server before is on its way to the browser for a moment. */
const ON_ITS_WAY = 500;
/** If this run did not cause a failover, the Sentinels had not reached the primary for a while before it. */
const UNNOTICED = 10_000;

/**
 * Who is the primary, seen by the Sentinels. `isComing(loss)` is said before a misfortune that moves it, and what that one may
 * lose; `isOver()` after it.
 * `moved()` is called with each change.
 */
export function followPrimary(store, moved) {
  const [hits, unforeseen] = [[], []];
  let [coming, current, count, going] = [null, 0, 0, true];
  (async () => {
    for (; going; await sleep(100)) {
      const now = await store.primary();
      if (!now || now === current) continue;
      if (current) {
        count += 1;
        if (coming) coming.switched = Date.now();
        else unforeseen.push({ at: Date.now() });
        moved();
      }
      current = now;
    }
  })();
  const windows = () => [
    ...hits.filter(({ loss }) => loss === 'newest').map(({ at }) => [at - ASYNCHRONOUS, at + ON_ITS_WAY]),
    ...hits.filter(({ loss }) => loss === 'meanwhile').map(({ at, switched = Infinity }) => [at, switched + ON_ITS_WAY]),
    ...unforeseen.map(({ at }) => [at - UNNOTICED, at]),
  ];
  return {
    isComing(loss) { coming = { at: Date.now(), loss }; hits.push(coming); },
    isOver() { coming = null; },
    /** A word given in such a moment; or a login, which takes many, that spans one. */
    mayHaveLost: ({ what, from, at }) => windows().some(([begin, end]) => (what === 'login lost' ? from <= end && at >= begin : from >= begin && from <= end)),
    count: () => count,
    unforeseen: () => unforeseen.length,
    summary: () => [...hits, ...unforeseen].map(({ at, switched, loss }) => `${new Date(at).toISOString()}${loss ? ` loses ${loss}` : ''}${switched ? ` +${switched - at} ms` : ''}`).join(', '),
    stop() { going = false; },
  };
}

export function misfortunesOf({ hubs, store }, failovers) {
  let turn = 0;
  // As many misfortunes of a hub in a round as there are hubs would else always befall the same ones.
  const next = () => hubs[(turn + Math.floor(turn++ / hubs.length)) % hubs.length];
  async function again(hub) {
    hub.start();
    await hub.ready();
  }
  /** The primary is put aside by `harm`, which returns a function that restores it once another server has replaced it. */
  async function replaced(loss, harm) {
    const old = await store.primary();
    failovers.isComing(loss);
    const restore = await harm(old, store.servers.get(old));
    await store.moved(old);
    await restore?.();
    await store.settled();
    failovers.isOver();
  }
  async function held(actor, milliseconds) {
    actor.hold();
    await sleep(milliseconds);
    actor.release();
    await store.settled();
  }
  const primary = async () => store.servers.get(await store.primary());

  return {
    async restart() {
      const hub = next();
      const how = await hub.end('SIGTERM');
      if (how !== 0) throw new Error(`${hub.name} ended with ${how} on SIGTERM`);
      await again(hub);
    },
    async kill() {
      const hub = next();
      await hub.end('SIGKILL');
      await sleep(500);
      await again(hub);
    },
    failover: () => replaced('', (old) => store.failover(old)),
    // What docs/redis.md warns of: two primaries for a moment. To be asked for by --only.
    'failover at once': () => replaced('meanwhile', (old) => store.failover(old, false)),
    async upgrade() {
      const hub = next();
      await hub.end('SIGTERM');
      hub.upgrade();
      await again(hub);
    },
    // Shorter than the Sentinels take notice of.
    stall: async () => held(await primary(), 1000),
    'primary killed': () => replaced('newest', async (_, server) => {
      await server.end('SIGKILL');
      return () => server.start();
    }),
    'network stall': async () => held((await primary()).way, 1000),
    'network parted': () => replaced('newest', async (_, { way }) => {
      way.hold();
      // It lives, and thinks that it is the primary: it comes back as soon as there is another one.
      return () => way.release();
    }),
  };
}
