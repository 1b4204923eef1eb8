// The service provider's endpoint for logout tokens. It fails one call in three, each session at most twice, and records the
// sessions whose logout token it accepted.
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, tomlString } from '../peers/harness.mjs';

const sidOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sid;

/** The logout tokens of a killed hub wait until their lease ends; then one or two failures delay them. */
const MAX_DELIVERY_MS = 90_000;

export async function startLogoutTokenReceiver() {
  const received = new Set();
  const expected = new Map();
  // A third failure would delay the next attempt beyond MAX_DELIVERY_MS: the hub triples its delay each time.
  const failures = new Map();
  const counts = { calls: 0, duplicates: 0 };
  const server = await startServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const sid = sidOf(new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token'));
    counts.calls += 1;
    const fails = counts.calls % 3 === 0 && (failures.get(sid) ?? 0) < 2;
    if (fails) failures.set(sid, (failures.get(sid) ?? 0) + 1);
    if (!fails && received.has(sid)) counts.duplicates += 1;
    if (!fails) received.add(sid);
    response.writeHead(fails ? 503 : 200).end();
  });
  return {
    counts,
    extra: `backchannel_logout_uri = ${tomlString(`http://127.0.0.1:${server.port}/backchannel-logout`)}\ninternal_hosts = ["127.0.0.1"]`,
    /** Expects a logout token for a session whose logout the hub has just acknowledged. */
    expect: ({ idToken, from, at }) => expected.set(sidOf(idToken), { from, at }),
    /** Waits for the expected logout tokens, and reports each session whose token does not arrive. */
    async end(reportViolation) {
      const missing = () => [...expected].filter(([sid]) => !received.has(sid));
      for (const until = Date.now() + MAX_DELIVERY_MS; missing().length && Date.now() < until;) await sleep(500);
      for (const [, { from, at }] of missing()) reportViolation({ what: 'logout token lost', from, at });
      counts.expected = expected.size;
    },
    close: server.close,
  };
}
