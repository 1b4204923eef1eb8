// The service provider's endpoint for logout tokens: fails one call in three, each session at most twice, and remembers which sessions it was informed of.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve, text } from '../peers/harness.mjs';

const sidOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sid;

/** A hub that was killed leaves its tokens until their lease ends; then a failure or two delay them. */
const PATIENCE = 90_000;

export async function startReceiver() {
  const informed = new Set();
  const expected = new Map();
  // A third failure would put the next attempt beyond PATIENCE: the hub triples its delay each time.
  const failures = new Map();
  const counts = { calls: 0, again: 0 };
  const server = await serve(async (asked, response) => {
    const chunks = [];
    for await (const chunk of asked) chunks.push(chunk);
    const sid = sidOf(new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token'));
    counts.calls += 1;
    const fails = counts.calls % 3 === 0 && (failures.get(sid) ?? 0) < 2;
    if (fails) failures.set(sid, (failures.get(sid) ?? 0) + 1);
    if (!fails && informed.has(sid)) counts.again += 1;
    if (!fails) informed.add(sid);
    response.writeHead(fails ? 503 : 200).end();
  });
  return {
    counts,
    extra: `backchannel_logout_uri = ${text(`http://127.0.0.1:${server.port}/backchannel-logout`)}\ninternal_hosts = ["127.0.0.1"]`,
    /** This session was ended by a logout that was acknowledged just now. */
    expect: ({ idToken, from, at }) => expected.set(sidOf(idToken), { from, at }),
    /** Reports each session of which it is never informed. */
    async end(wrong) {
      const missing = () => [...expected].filter(([sid]) => !informed.has(sid));
      for (const until = Date.now() + PATIENCE; missing().length && Date.now() < until;) await sleep(500);
      for (const [, { from, at }] of missing()) wrong({ what: 'logout token lost', from, at });
      counts.expected = expected.size;
    },
    close: server.close,
  };
}
