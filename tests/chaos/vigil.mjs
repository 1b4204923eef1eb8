// What was acknowledged as gone stays gone: each hub is asked itself, at once and again when a failover may have come between,
// and codes that were redeemed are offered again after each failover.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const SECOND = 1000;
/** A token lives for 60 seconds, a code for 30: what is asked later says nothing. */
const TOKEN_LIFE = 57 * SECOND;
const CODE_LIFE = 26 * SECOND;
const OFFERED = 100;

export function startVigil({ hubs, base, sp, wrong }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const { host } = new URL(base);
  const counts = { ended: 0, atOnce: 0, later: 0, offered: 0 };
  const waiting = new Set();
  let spent = [];
  let ending = false;

  /** Asks the hub itself, under the public name; 0 if there is no answer. */
  const ask = (hub, path, { body, ...headers }) => new Promise((resolve) => {
    const options = { agent, host: '127.0.0.1', port: hub.port, path: `/api/v2${path}`, method: body ? 'POST' : 'GET', headers: { ...headers, host } };
    const asked = request(options, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode)).once('error', () => resolve(0));
    });
    asked.setTimeout(5 * SECOND, () => asked.destroy()).once('error', () => resolve(0));
    asked.end(body);
  });

  /** Until it says yes or no, as long as that would mean anything; 0 for a hub that is down or can't tell. */
  async function fetchStatus(hub, path, what, before) {
    while (Date.now() < before) {
      const status = hub.child ? await ask(hub, path, what) : 0;
      if ([200, 400, 401].includes(status)) return status;
      await sleep(200);
    }
    return 0;
  }

  /** `round`: which of the counts an answer is. */
  const look = ({ token, bornAt, at }, round, before) => Promise.all(hubs.map(async (hub) => {
    const asked = Date.now();
    const status = await fetchStatus(hub, '/userinfo', { authorization: `Bearer ${token}` }, Math.min(before, bornAt + TOKEN_LIFE));
    if (status) counts[round] += 1;
    if (status === 200) wrong({ what: 'token alive after its end', why: `${hub.name}, asked ${asked - at} ms later`, from: at, at: Date.now() });
  }));

  const later = (task) => {
    const done = task().finally(() => waiting.delete(done));
    waiting.add(done);
  };

  const vigil = {
    counts,
    ended(one) {
      counts.ended += 1;
      later(async () => {
        await look(one, 'atOnce', one.at + 3 * SECOND);
        // Some sooner, some later, so that failovers come between; logins that wait for the end of the run need not wait longer.
        for (const until = one.at + (10 + (one.at % 10)) * SECOND; Date.now() < until && !ending;) await sleep(SECOND / 2);
        await look(one, 'later', one.bornAt + TOKEN_LIFE);
      });
    },
    spent(one) {
      spent.push(one);
      if (spent.length > 4000) spent = spent.slice(2000);
    },
    /** Codes that were redeemed before it, offered once more. */
    failedOver() {
      const offered = spent.filter(({ at }) => Date.now() < at + CODE_LIFE).slice(-OFFERED);
      spent = [];
      const fields = { client_id: sp.id, client_secret: sp.secret, grant_type: 'authorization_code', redirect_uri: sp.redirectUri };
      for (const [index, { code, token, at }] of offered.entries()) {
        later(async () => {
          const body = new URLSearchParams({ ...fields, code }).toString();
          const what = { body, 'content-type': 'application/x-www-form-urlencoded' };
          const status = await fetchStatus(hubs[index % hubs.length], '/token', what, at + CODE_LIFE);
          if (!status) return;
          counts.offered += 1;
          if (status === 200) wrong({ what: 'code redeemed again after a failover', from: at, at: Date.now() });
          // A second use of a code revokes the tokens of the first use.
          else vigil.ended({ token, bornAt: at, at: Date.now() });
        });
      }
    },
    /** All answers are in. */
    async end() {
      ending = true;
      while (waiting.size) await Promise.all(waiting);
      agent.destroy();
    },
  };
  return vigil;
}
