// Checks that revoked tokens stay revoked and redeemed codes stay redeemed. It sends each revoked token directly to every hub, at
// once and again later, so that failovers may happen in between, and sends redeemed codes again after each failover.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const SECOND = 1000;
/** Less than the lifetimes of tokens (60 s) and codes (30 s): the hub rejects older ones anyway. */
const TOKEN_LIFETIME_MS = 57 * SECOND;
const CODE_LIFETIME_MS = 26 * SECOND;
const MAX_CODES_PER_FAILOVER = 100;

export function startRevocationMonitor({ hubs, base, sp, reportViolation }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const { host } = new URL(base);
  const counts = { revokedTokens: 0, immediateChecks: 0, laterChecks: 0, resentCodes: 0 };
  const pending = new Set();
  let redeemedCodes = [];
  let ending = false;

  /** Sends a request directly to a hub, with the public host name. Returns the status, 0 without a response. */
  const requestStatus = (hub, path, { body, ...headers }) => new Promise((resolve) => {
    const options = { agent, host: '127.0.0.1', port: hub.port, path: `/api/v2${path}`, method: body ? 'POST' : 'GET', headers: { ...headers, host } };
    const sent = request(options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode)).once('error', () => resolve(0));
    });
    sent.setTimeout(5 * SECOND, () => sent.destroy()).once('error', () => resolve(0));
    sent.end(body);
  });

  /** Repeats a request until the hub accepts or rejects it. Returns the status, 0 if it does neither before `deadline`. */
  async function requestDecision(hub, path, options, deadline) {
    while (Date.now() < deadline) {
      const status = hub.child ? await requestStatus(hub, path, options) : 0;
      if ([200, 400, 401].includes(status)) return status;
      await sleep(200);
    }
    return 0;
  }

  /** Sends a revoked token to userinfo at each hub, and counts the responses in `counts[counter]`. */
  const checkToken = ({ token, issuedAt, at }, counter, deadline) => Promise.all(hubs.map(async (hub) => {
    const sentAt = Date.now();
    const status = await requestDecision(hub, '/userinfo', { authorization: `Bearer ${token}` }, Math.min(deadline, issuedAt + TOKEN_LIFETIME_MS));
    if (status) counts[counter] += 1;
    if (status === 200) reportViolation({ what: 'token accepted after its revocation', why: `${hub.name}, sent ${sentAt - at} ms later`, from: at, at: Date.now() });
  }));

  const runInBackground = (task) => {
    const done = task().finally(() => pending.delete(done));
    pending.add(done);
  };

  const monitor = {
    counts,
    addRevokedToken(revocation) {
      counts.revokedTokens += 1;
      runInBackground(async () => {
        await checkToken(revocation, 'immediateChecks', revocation.at + 3 * SECOND);
        // The delays differ, so that failovers happen during some of them. At the end of the run no delay is needed.
        for (const until = revocation.at + (10 + (revocation.at % 10)) * SECOND; Date.now() < until && !ending;) await sleep(SECOND / 2);
        await checkToken(revocation, 'laterChecks', revocation.issuedAt + TOKEN_LIFETIME_MS);
      });
    },
    addRedeemedCode(redemption) {
      redeemedCodes.push(redemption);
      if (redeemedCodes.length > 4000) redeemedCodes = redeemedCodes.slice(2000);
    },
    /** Sends codes again that were redeemed before a failover. */
    resendCodes() {
      const codes = redeemedCodes.filter(({ at }) => Date.now() < at + CODE_LIFETIME_MS).slice(-MAX_CODES_PER_FAILOVER);
      redeemedCodes = [];
      const fields = { client_id: sp.id, client_secret: sp.secret, grant_type: 'authorization_code', redirect_uri: sp.redirectUri };
      for (const [index, { code, token, at }] of codes.entries()) {
        runInBackground(async () => {
          const body = new URLSearchParams({ ...fields, code }).toString();
          const options = { body, 'content-type': 'application/x-www-form-urlencoded' };
          const status = await requestDecision(hubs[index % hubs.length], '/token', options, at + CODE_LIFETIME_MS);
          if (!status) return;
          counts.resentCodes += 1;
          if (status === 200) reportViolation({ what: 'code redeemed again after a failover', from: at, at: Date.now() });
          // A second use of a code revokes the tokens of the first use (RFC 6749 §4.1.2).
          else monitor.addRevokedToken({ token, issuedAt: at, at: Date.now() });
        });
      }
    },
    /** Waits until all checks are complete. */
    async end() {
      ending = true;
      while (pending.size) await Promise.all(pending);
      agent.destroy();
    },
  };
  return monitor;
}
