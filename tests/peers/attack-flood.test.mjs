// Attack: one network begins logins whose pages are never fetched, as small as can be and as large as can be, until the capacity for logins
// is nearly used up. Bounds: the network's share of the capacity, and that every user from another network is admitted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePorts, oidcConnector, random, sendRawRequest, startHub } from './harness.mjs';

/** The capacity in logins and bytes: small, so that the flood is short. The limits are proportional to it. */
const LOGINS = 2000;
const BYTES = 8_000_000;

let hub, sp;
before(async () => {
  const [port, privatePort, idp] = await freePorts(3);
  sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/callback` };
  hub = await startHub('hub-attack-flood', {
    port, privatePort,
    sps: [{ ...sp, redirectUris: [sp.redirectUri] }],
    connectors: { real: oidcConnector(`http://127.0.0.1:${idp}`) },
    publicListener: 'trusted_proxies = ["127.0.0.1/32"]\nclient_address_header = "x-forwarded-for"',
    limits: `logins = ${LOGINS}\nlogin_bytes = ${BYTES}`,
    settings: '[quotas]\nrequests_per_network = 0',
  });
});
after(() => hub?.stop());

const small = () => new URLSearchParams({
  response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid', acr_values: 'eidas1', state: random(32), nonce: random(32),
});
/** An authorization request with all parameters at their maximum length. */
const maximal = () => {
  const asked = small();
  const claims = { id_token: Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`claim_${n}`, null])) };
  for (const [name, value] of Object.entries({
    state: 's'.repeat(1024), nonce: 'n'.repeat(1024), login_hint: 'h'.repeat(1024), claims: JSON.stringify(claims),
    ui_locales: Array.from({ length: 100 }, () => 'fr').join(' '), code_challenge: 'c'.repeat(43), code_challenge_method: 'S256',
  })) asked.set(name, value);
  return asked;
};
const begin = (asked, from) => sendRawRequest(`${hub.issuer}/authorize?${asked}`, { headers: { 'x-forwarded-for': from } });
const metric = async (pattern) => Number((await (await fetch(`${hub.privateBase}/metrics`)).text()).match(pattern)?.[1] ?? 0);
const held = () => metric(/^passerelle_store_pool_records\{pool="logins"\} (\d+)$/m);

/** Begins logins from addresses of one network until `enough` are refused in a row. Returns how many were admitted. */
async function flood(network, request, enough = 200) {
  let [admitted, refused] = [0, 0];
  for (let n = 0; refused < enough && admitted < LOGINS * 2; n += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, k) => begin(request(), `${network}.${(n + k) % 250}`)));
    for (const { status, text } of answers) {
      if (status === 303) admitted += 1;
      else {
        assert.equal(status, 429, text.slice(0, 500));
        assert.ok(text.includes('Y500330'), text.slice(0, 2000));
        refused += 1;
      }
    }
  }
  return admitted;
}

test('floods of unread logins, small and maximal, take their networks\' share and shut out no newcomer', async () => {
  const first = await flood('203.0.113', small);
  console.log(`# one network, small requests: ${first} of ${LOGINS} places`);
  assert.ok(first > LOGINS / 2 && first <= LOGINS * 0.9 + 20, `${first} of ${LOGINS}`);
  const more = [];
  for (let n = 0; n < 8; n += 1) more.push(await flood(`198.18.${n}`, n % 2 ? maximal : small));
  const taken = await held();
  console.log(`# eight networks more, every other one with maximal requests: ${more.join(', ')}; ${taken} of ${LOGINS} places taken`);
  assert.ok(taken < LOGINS, `${taken}`);
  // The flood goes on while newcomers of other networks arrive.
  let admitted = 0;
  for (let n = 0; n < 20; n += 1) {
    const [newcomer] = await Promise.all([begin(small(), `192.0.${n}.7`), begin(small(), '203.0.113.9'), begin(maximal(), '198.18.1.9')]);
    if (newcomer.status === 303) admitted += 1;
  }
  console.log(`# newcomers of 20 other networks: ${admitted} admitted`);
  assert.equal(admitted, 20);
  assert.ok(!hub.log().includes('203.0.113'), 'an address is in the log');
});
