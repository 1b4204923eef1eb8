// Measures the CPU that the hub needs for a whole login through a SAML identity provider, beside one through an OpenID Provider, in turns.
//
//   HUB_BIN=PROGRAM node tests/peers/measure-saml.mjs [LOGINS]     a round has LOGINS of each kind; PROGRAM is the `dist` build
//
// Nothing is asserted: read the figures. Both providers sign by RSA with 2,048 bits, and the hub by RSA with 3,072 bits.
import { readdirSync, readFileSync } from 'node:fs';
import { IDP_CLIENT, IDP_SECRET, freePorts, oidcConnector, tomlString } from './harness.mjs';
import { startIdp } from './real-idp.mjs';
import { allowLoopback, startHubForIdp } from './recipes.mjs';
import { PASSWORD, continueSaml, hubMetadata, startSamlIdp } from './saml-idp.mjs';

const ROUNDS = 5;
const logins = Number(process.argv[2] ?? 200);
const [port, privatePort, oidcPort, samlPort, encryptedPort] = await freePorts(5);
const oidc = await startIdp({
  port: oidcPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, ordinary: true, redirectUris: [`http://localhost:${port}/api/v2/callback/oidc`],
  client: { id_token_signed_response_alg: 'RS256' },
});
const providers = { saml: await startSamlIdp({ port: samlPort }), 'saml-encrypted': await startSamlIdp({ port: encryptedPort, isEncrypted: true }) };
const samlConnector = (name) => allowLoopback(`name = { en = "University", fr = "Universit\u00e9" }
levels = { lowest = "eidas1", highest = "eidas1" }
acr = { eidas1 = [${tomlString(PASSWORD)}] }
[kind.saml]
entity_id = ${tomlString(providers[name].entityId)}
metadata_file = "${name}.xml"
`);
const hub = await startHubForIdp('hub-measure-saml', {
  ports: [port, privatePort],
  connectors: {
    oidc: oidcConnector(oidc.issuer, 'scopes = ["openid", "profile", "email"]\nid_token_signed_response_alg = "RS256"').replace(/^acr = .*$/m, 'assumed_level = "eidas1"'),
    ...Object.fromEntries(Object.keys(providers).map((name) => [name, samlConnector(name)])),
  },
  files: { 'idp.secret': IDP_SECRET, ...Object.fromEntries(Object.entries(providers).map(([name, idp]) => [`${name}.xml`, idp.metadata()])) },
});
for (const [name, idp] of Object.entries(providers)) idp.trust(await hubMetadata(hub, name));

/** Fills in the login page, of either provider. */
const authenticate = async (browser, page, stopAt) =>
  continueSaml(browser, await browser.submit(page, { values: { login: 'jane', password: 'any' }, stopAt }), stopAt);
/** CPU time of all threads of the hub, in milliseconds. */
function hubCpu() {
  const threads = readdirSync(`/proc/${hub.pid}/task`).map((thread) => readFileSync(`/proc/${hub.pid}/task/${thread}/schedstat`, 'utf8'));
  return threads.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e6;
}
async function measure(connector, count) {
  const begin = hubCpu();
  for (let n = 0; n < count; n += 1) await hub.signIn(connector, authenticate);
  return (hubCpu() - begin) / count;
}

try {
  const figures = Object.fromEntries(['oidc', ...Object.keys(providers)].map((connector) => [connector, []]));
  for (const connector of Object.keys(figures)) await measure(connector, 20);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const connector of Object.keys(figures)) figures[connector].push(await measure(connector, logins));
  }
  const median = (values) => values.toSorted((a, b) => a - b)[ROUNDS >> 1];
  for (const [connector, values] of Object.entries(figures)) {
    const ratio = (median(values) / median(figures.oidc)).toFixed(2);
    console.log(`${connector}: ${median(values).toFixed(3)} ms of CPU a login (${values.map((value) => value.toFixed(3)).join(', ')}), ${ratio} of oidc`);
  }
} finally {
  await hub.stop();
  for (const idp of [oidc, ...Object.values(providers)]) await idp.close();
}
