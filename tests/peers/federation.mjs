// A small federation for one test file: the hub, a real identity provider, and service providers.
import * as oidc from 'openid-client';
import { IDP_CLIENT, IDP_SECRET, freePorts, oidcConnector, random, sha256, startHub, tomlString } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

export const SCOPE = 'openid given_name family_name birthdate gender birthplace birthcountry email preferred_username';

/** The levels of each platform. */
const LEVELS = { standard: ['eidas1'], high: ['eidas2', 'eidas3'] };

/**
 * Starts a hub, an identity provider and service providers. Returns { hub, idp, sps, sp, other, …, stop }.
 *
 * A service provider is { id, secret, redirectUri, postLogoutUri }. On standard there are `sp` and `other`; `more` adds others on
 * both platforms, as { name: { secret, scopes, extra } }, `extra` being further lines of the file. The result has each of them
 * by its name, and all of them in `sps`.
 *
 * amr: the methods that the identity provider states. settings, files: as for `configure`. firewall, features: as for `startIdp`.
 * client: as for `startIdp`, or a function of the hub's port. idpOptions: further options of `startIdp`. connectorSecret: the line
 * of the connector's client secret, if it is not the default. connector: further lines of the connector's file. backChannel: the
 * identity provider informs the hub of logouts.
 */
export async function startFederation(name, more = {}, { platform = 'standard', amr, settings = '', publicListener = '', files: moreFiles = {}, firewall, client = {}, features, connector = '', connectorSecret, idpOptions = {}, backChannel = false } = {}) {
  const [port, privatePort, idpPort] = await freePorts(3);
  const provider = (id) => ({ id, secret: random(32), redirectUri: `http://localhost:${port}/sp/${id}/callback`, postLogoutUri: `http://localhost:${port}/sp/${id}/out` });
  const files = platform === 'standard' ? { alpha: {}, beta: {}, ...more } : more;
  const sps = Object.fromEntries(Object.entries(files).map(([id, own]) => [id, { ...provider(id), ...own }]));
  const idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256', amr, firewall,
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
    client: {
      post_logout_redirect_uris: [`http://localhost:${port}/api/v2/session/end/real`],
      ...(backChannel && { backchannel_logout_uri: `http://localhost:${port}/api/v2/backchannel-logout/real`, backchannel_logout_session_required: true }),
      ...(typeof client === 'function' ? client(port) : client),
    },
    features: backChannel ? { ...features, backchannelLogout: { enabled: true } } : features,
    // The identity provider's logout tokens have the account id as `sub`.
    ...(backChannel && { subjectOf: (id) => id }),
    ...idpOptions,
  });
  const scopes = [...SCOPE.split(' '), 'profile', 'birth', 'identite_pivot'];
  try {
    const hub = await startHub(name, {
      port, privatePort, platform, settings, publicListener, files: moreFiles,
      sps: Object.values(sps).map((s) => ({ scopes, ...s, redirectUris: [s.redirectUri], postLogoutUris: [s.postLogoutUri] })),
      connectors: { real: oidcConnector(idp.issuer, `userinfo_signed_response_alg = "ES256"\n${connector}${backChannel ? '\nbackchannel_logout = true' : ''}`, { levels: LEVELS[platform], secret: connectorSecret }) },
    });
    return { ...sps, hub, idp, sps, sp: sps.alpha, other: sps.beta, stop: async () => { await hub.stop(); await idp.close(); } };
  } catch (error) {
    await idp.close();
    throw error;
  }
}

/** The lines of a service provider's file that encrypt its responses. The keys are tables, so these lines end the file. */
export const responseEncryption = (alg, keys) => [
  `id_token_encrypted_response_alg = ${tomlString(alg)}`,
  `userinfo_encrypted_response_alg = ${tomlString(alg)}`,
  ...(typeof keys === 'string'
    ? [`jwks_uri = ${tomlString(keys)}`, 'insecure_http = true', 'internal_hosts = ["localhost", "127.0.0.1"]']
    : keys.flatMap((key) => ['[[jwks.keys]]', ...Object.entries(key).map(([name, value]) => `${name} = ${tomlString(value)}`)])),
].join('\n');

/** The files of data providers, from { id: further lines }. They share a secret. Without further lines the responses are JSON. */
export const DATA_PROVIDER_SECRET = random(32);
export const dataProviderFiles = (files) => Object.fromEntries(Object.entries(files).map(([id, extra]) => [`data-providers/${id}.toml`, `client_id = ${tomlString(id)}
name = { en = ${tomlString(id)} }
scopes = ["openid", "family_name", "birthdate"]
secrets = [{ sha256 = ${tomlString(sha256(DATA_PROVIDER_SECRET).toString('hex'))} }]
${extra}
`]));

/** The lines of a data provider's file that encrypt its responses. The keys are tables, so these lines end the file. */
export const introspectionEncryption = (alg, keys) => [
  `introspection_encrypted_response_alg = ${tomlString(alg)}`,
  ...keys.flatMap((key) => ['[[jwks.keys]]', ...Object.entries(key).map(([name, value]) => `${name} = ${tomlString(value)}`)]),
].join('\n');

/** Returns an openid-client configuration of the service provider, by discovery. */
export const discoverHub = (hub, sp, authentication = oidc.ClientSecretPost(sp.secret)) => oidc.discovery(
  new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, { id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'ES256' },
  authentication, { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
);

/** Returns an authorization request of openid-client: { url, state, nonce, verifier }. */
export async function buildAuthorizationRequest(client, sp, more = {}) {
  const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: sp.redirectUri, scope: SCOPE, acr_values: 'eidas1', state, nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...more,
  });
  return { url: url.href, state, nonce, verifier };
}

/** Posts a form to the token endpoint. `fields` replace those of a correct request. */
export async function redeemCode(hub, sp, fields) {
  const form = { grant_type: 'authorization_code', client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri, ...fields };
  const present = Object.entries(form).filter(([, value]) => value !== undefined);
  const response = await fetch(`${hub.issuer}/token`, { method: 'POST', body: new URLSearchParams(present) });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export const fetchUserinfo = (hub, token) => fetch(`${hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
