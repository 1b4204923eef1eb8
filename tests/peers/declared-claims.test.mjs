// Declared claims and level names between real peers: npm oidc-provider as the identity provider, npm openid-client as the service
// provider (docs/declared-claims.md, docs/levels.md).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { Browser, IDP_CLIENT, IDP_SECRET, answerConsent, chooseProvider, freePorts, oidcConnector, random, signIn, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

const REFEDS = 'https://refeds.org/profile/mfa';
const CLAIMS = ['siret', 'organizational_unit', 'groups', 'staff', 'work_address'];
const list = (names) => names.map((name) => `"${name}"`).join(', ');
const GROUPS = Array.from({ length: 200 }, (_, number) => `group-of-number-${number}`);
const ADDRESS = { formatted: '1 Main Street\nOldtown', street_address: '1 Main Street', locality: 'Oldtown', country: 'FR' };
/** What the identity provider says of two people, the second with values of other types. */
const AGENT = {
  angela: { siret: '12345678901234', department: 'Finance', groups: GROUPS, staff: true, address: ADDRESS },
  stranger: { siret: 12345678901234, department: ['Finance'], groups: 'all', staff: 'yes', address: '1 Main Street' },
};
const DECLARED = `
[claims.siret]
type = "string"
label = { en = "Establishment number" }
max_bytes = 16
personal = false
[claims.organizational_unit]
type = "string"
label = { en = "Department" }
[claims.groups]
type = "string_array"
label = { en = "Groups" }
max_bytes = 16384
[claims.staff]
type = "boolean"
label = { en = "Staff member" }
[claims.work_address]
type = "object"
label = { en = "Work address" }
[level_names.eidas1-mfa]
level = "eidas1"
multi_factor = true
[level_names."${REFEDS}"]
level = "eidas1"
multi_factor = true
`;

let hub, idp, sp, other, client, otherClient;
before(async () => {
  const [port, privatePort, idpPort] = await freePorts(3);
  idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, agent: AGENT,
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
  });
  const service = (id, extra = '') => {
    const redirectUri = `http://localhost:${port}/sp/${id}/callback`;
    return { id, secret: random(32), redirectUri, redirectUris: [redirectUri], scopes: ['openid', 'agent'], extra: `rules = "openid"\n${extra}` };
  };
  sp = service('agency', `level_names = ["eidas1-mfa", "${REFEDS}"]`);
  other = service('other');
  // `eidas1-2fa` proves multi-factor authentication without a word of the methods.
  const connector = oidcConnector(idp.issuer, 'scopes = ["openid", "identite_pivot", "agent"]')
    .replace(/^acr = .*$/m, 'acr = { eidas1 = ["eidas1", "eidas1-2fa"], names = { eidas1-mfa = ["eidas1-2fa"] } }')
    .replace('[kind.oidc]', '[mapping]\norganizational_unit = { from = "department" }\nwork_address = { from = "address" }\n[kind.oidc]');
  hub = await startHub('hub-declared', {
    port, privatePort, register: '', settings: `identity_source = "provider"\nsubject = "provider"\n${DECLARED}`,
    files: { 'scopes.toml': `[scopes]\nopenid = ["sub"]\n[openid]\nopenid = ["sub"]\nagent = [${list(CLAIMS)}]\n` },
    sps: [sp, other], connectors: { real: connector },
  });
  const discover = ({ id, secret }) => oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), id, undefined, oidc.ClientSecretPost(secret),
    { execute: [oidc.allowInsecureRequests] },
  );
  [client, otherClient] = [await discover(sp), await discover(other)];
});
after(async () => { await hub?.stop(); await idp?.close(); });

const urlOf = (more, by = client, { redirectUri } = sp) =>
  oidc.buildAuthorizationUrl(by, { redirect_uri: redirectUri, scope: 'openid agent', ...more }).href;

async function logIn(more = {}, { login, acr, amr, by = client, at = sp } = {}) {
  const redirect = new URL(await signIn(new Browser(), urlOf(more, by, at), { login, acr, amr, stopAt: at.redirectUri }));
  return oidc.authorizationCodeGrant(by, redirect, { idTokenExpected: true });
}

async function userinfo(login) {
  const tokens = await logIn({}, { login });
  return oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
}

test('declared claims reach the service provider with their types', async () => {
  const { sub, ...claims } = await userinfo('angela');
  assert.ok(sub);
  assert.deepEqual(claims, { siret: '12345678901234', organizational_unit: 'Finance', groups: GROUPS, staff: true, work_address: ADDRESS });
  const { claims_supported: supported } = client.serverMetadata();
  assert.ok(CLAIMS.every((claim) => supported.includes(claim)));
});

test('values of other types are left out and counted, and the login goes on', async () => {
  const { sub, ...claims } = await userinfo('stranger');
  assert.ok(sub);
  // One value of a list is read as a list.
  assert.deepEqual(claims, { groups: ['all'] });
  const metrics = await (await fetch(`${hub.privateBase}/metrics`)).text();
  for (const claim of CLAIMS.filter((claim) => claim !== 'groups')) assert.match(metrics, new RegExp(`passerelle_claims_dropped_total\\{claim="${claim}",connector="real",[^}]*\\} 1`));
});

test('the answer is the first requested name that was met, else the level', async () => {
  assert.deepEqual(client.serverMetadata().acr_values_supported, ['eidas1', 'eidas1-mfa', REFEDS]);
  const mfa = { acr: 'eidas1', amr: 'pwd otp' }, password = { acr: 'eidas1', amr: 'pwd' };
  for (const [asked, proven, answered] of [
    ['eidas1-mfa', mfa, 'eidas1-mfa'],
    ['eidas1-mfa', password, 'eidas1'],
    [`${REFEDS} eidas1-mfa`, mfa, REFEDS],
    [`${REFEDS} eidas1-mfa`, { acr: 'eidas1-2fa' }, 'eidas1-mfa'],
    ['eidas1 eidas1-mfa', mfa, 'eidas1'],
    [`urn:unlisted ${REFEDS}`, mfa, REFEDS],
    ['urn:unlisted', mfa, 'eidas1'],
  ]) {
    assert.equal((await logIn({ acr_values: asked }, proven)).claims().acr, answered, `${asked} ${JSON.stringify(proven)}`);
  }
});

test('the identity provider is asked for its own value of a requested name', async () => {
  // Without a level in the form it proves the first that it is asked for.
  assert.equal((await logIn({ acr_values: 'eidas1-mfa' })).claims().acr, 'eidas1-mfa');
  assert.equal((await logIn({ acr_values: 'eidas1 eidas1-mfa' })).claims().acr, 'eidas1');
});

test('an essential name that was not met fails the login', async () => {
  const claims = (values) => JSON.stringify({ id_token: { acr: { essential: true, values } } });
  // `prompt=login`, for the identity provider would answer the second choice from its session.
  const more = { claims: claims(['eidas1-mfa']), prompt: 'login' };
  const browser = new Browser();
  const upstream = await chooseProvider(browser, await browser.open(urlOf(more)), 'real', sp.redirectUri);
  const page = await browser.submit(upstream, { values: { login: 'angela', acr: 'eidas1', amr: 'pwd' }, stopAt: sp.redirectUri });
  assert.ok(!page.stopped, 'nothing reaches the service provider');
  assert.match(page.html, /Y100320/);
  // Back at the choice, the user can prove more.
  const again = await chooseProvider(browser, page, 'real', sp.redirectUri);
  const proven = await browser.submit(again, { values: { login: 'angela', acr: 'eidas1', amr: 'pwd otp' }, stopAt: sp.redirectUri });
  const back = proven.stopped ? proven : await answerConsent(browser, proven, 'yes', sp.redirectUri);
  const tokens = await oidc.authorizationCodeGrant(client, new URL(back.url), { idTokenExpected: true });
  assert.equal(tokens.claims().acr, 'eidas1-mfa');
  // A value outside of the list is never answered.
  assert.equal((await logIn({ acr_values: 'eidas1', claims: claims([REFEDS]) }, { acr: 'eidas1', amr: 'pwd otp' })).claims().acr, REFEDS);
});

test('a service provider that lists no name gets the level, whatever it asks for', async () => {
  const answer = await logIn({ acr_values: `eidas1-mfa ${REFEDS}` }, { acr: 'eidas1-2fa', amr: 'pwd otp', by: otherClient, at: other });
  assert.equal(answer.claims().acr, 'eidas1');
});
