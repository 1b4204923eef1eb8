// A real OpenID Provider (npm oidc-provider) as the hub's upstream, with a simple login page.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

const PERSONS = {
  angela: {
    given_name: 'Angela Claire Louise', family_name: 'DUBOIS', birthdate: '1962-08-24', gender: 'female',
    birthplace: '75107', birthcountry: '99100', email: 'angela@example.org', preferred_username: 'Angie',
  },
  stranger: {
    given_name: 'Personne', family_name: 'INCONNUE', birthdate: '1970-01-01', gender: 'female', birthplace: '75101', birthcountry: '99100',
  },
};
// Two people with equal birth data whose names differ in one vowel sign.
for (const [login, name] of [['karan', 'करन'], ['kiran', 'किरन']]) {
  PERSONS[login] = { given_name: name, family_name: 'शर्मा', birthdate: '1990-05-17', gender: 'male', birthplace: '75107', birthcountry: '99100' };
}
/** Accounts of an ordinary identity provider, with standard claims (OpenID Connect Core 1.0, 5.1 and 5.4). */
const ORDINARY_PERSONS = {
  jane: {
    name: 'Jane Marie Doe', given_name: 'Jane', middle_name: 'Marie', family_name: 'Doe', nickname: 'JD', preferred_username: 'jane',
    profile: 'https://people.example/jane', picture: 'https://people.example/jane.png', website: 'https://jane.example/',
    gender: 'female', birthdate: '1980', zoneinfo: 'Europe/Paris', locale: 'en-GB', updated_at: 1_700_000_000,
    email: 'jane@people.example', email_verified: true, address: { formatted: '1 Main Street\nOldtown', country: 'FR' },
    phone_number: '+33 1 23 45 67 89', phone_number_verified: false, groups: ['editors', 'staff'],
  },
  guest: { given_name: 'Guy', family_name: 'Guest', preferred_username: 'guest', email: 'guest@people.example', groups: ['visitors'] },
  // Claims of the wrong types.
  odd: { name: ['Odd'], picture: 'javascript:alert(1)', updated_at: 'yesterday', email: 'odd@people.example', email_verified: 'true' },
  bare: {},
};
const STANDARD = {
  openid: ['sub', 'auth_time'],
  profile: [
    'name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture', 'website', 'gender',
    'birthdate', 'zoneinfo', 'locale', 'updated_at',
  ],
  email: ['email', 'email_verified'], address: ['address'], phone: ['phone_number', 'phone_number_verified'], groups: ['groups'],
};
const PIVOT = ['given_name', 'family_name', 'birthdate', 'gender', 'birthplace', 'birthcountry'];

async function privateKeys() {
  return Promise.all(['ES256', 'RS256'].map(async (alg) => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    return { ...await exportJWK(privateKey), alg, use: 'sig', kid: `idp-${alg}` };
  }));
}

/**
 * Listens on `port` of loopback as issuer `http://localhost:{port}`.
 * userinfoAlg: undefined for JSON, or `ES256` for a signed answer. amr: the methods the ID token states.
 * ordinary: an identity provider with the standard claims instead of a pivot identity, which states no level.
 * agent: each person's claims of a scope `agent`, by login.
 * subjectOf: the `sub` of a login.
 * firewall: receives the form of each token request first, and may answer it with { status, type, body } instead of the provider.
 * client: further metadata of the client (an undefined member removes the default). features: further features of the provider.
 * configuration: further configuration of the provider. mutualTls: { port, key, cert, ca } of a second server, which asks for client certificates.
 * The returned `answers` are the requests to the token and userinfo endpoints, with their responses.
 */
export async function startIdp({ port, clientId, clientSecret, redirectUris, userinfoAlg, amr = ['pwd'], ordinary = false, agent, client = {}, subjectOf = (id) => `idp-${id}`, features = {}, firewall, configuration = {}, mutualTls }) {
  const issuer = `http://localhost:${port}`;
  const metadata = {
    client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris, grant_types: ['authorization_code'],
    response_types: ['code'], token_endpoint_auth_method: 'client_secret_post', require_auth_time: true,
    id_token_signed_response_alg: 'ES256', ...(userinfoAlg && { userinfo_signed_response_alg: userinfoAlg }), ...client,
  };
  const persons = ordinary ? ORDINARY_PERSONS : PERSONS;
  const claims = ordinary ? STANDARD : {
    openid: ['sub', 'acr', 'amr', 'auth_time'], identite_pivot: PIVOT, email: ['email'], preferred_username: ['preferred_username'],
    ...(agent && { agent: [...new Set(Object.values(agent).flatMap(Object.keys))] }),
  };
  const encryption = { alg: ['RSA-OAEP', 'RSA-OAEP-256', 'ECDH-ES'], enc: ['A128CBC-HS256', 'A256GCM'] };
  const provider = new Provider(issuer, {
    jwks: { keys: await privateKeys() },
    cookies: { keys: ['only-for-tests'] },
    clients: [Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined))],
    // The provider's default fetch forbids loopback, where the hub of a test publishes its keys.
    fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
    scopes: Object.keys(claims),
    claims,
    acrValues: ordinary ? [] : ['eidas1', 'eidas2', 'eidas3'],
    clientAuthMethods: [
      'client_secret_post', 'client_secret_basic', 'private_key_jwt', ...(features.mTLS ? ['tls_client_auth', 'self_signed_tls_client_auth'] : []),
    ],
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256', 'RS256'], userinfoSigningAlgValues: ['ES256', 'RS256'], clientAuthSigningAlgValues: ['ES256', 'RS256'],
      idTokenEncryptionAlgValues: encryption.alg, idTokenEncryptionEncValues: encryption.enc,
      userinfoEncryptionAlgValues: encryption.alg, userinfoEncryptionEncValues: encryption.enc,
      ...(features.jwtResponseModes && { authorizationEncryptionAlgValues: encryption.alg, authorizationEncryptionEncValues: encryption.enc }),
    },
    features: {
      devInteractions: { enabled: false }, jwtUserinfo: { enabled: true }, claimsParameter: { enabled: true }, encryption: { enabled: true }, ...features,
    },
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => persons[id] && { accountId: id, claims: () => ({ sub: subjectOf(id), ...persons[id], ...agent?.[id] }) },
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope(Object.keys(claims).join(' '));
      await grant.save();
      return grant;
    },
    ...configuration,
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 600, Session: 600, Grant: 600 },
  });
  const faults = [];
  for (const event of ['server_error', 'grant.error', 'userinfo.error']) provider.on(event, (_, error) => {
    // The hub's probes redeem a code that was never issued; one that was issued is consumed or expired.
    if (!/ not found$/.test(error.error_detail ?? '')) faults.push(error);
  });
  const answers = [];
  provider.use(async (ctx, next) => {
    await next();
    if (['/token', '/me'].includes(ctx.path)) {
      answers.push({ path: ctx.path, status: ctx.status, authorization: ctx.get('authorization'), dpop: ctx.get('dpop'), certificate: ctx.socket.getPeerX509Certificate?.()?.subject, traceparent: ctx.get('traceparent'), form: ctx.oidc?.body, type: ctx.response.type, body: ctx.body });
    }
  });

  /** Returns the level that the hub requests. */
  const requestedLevel = async (request, response) => (await provider.interactionDetails(request, response)).params.acr_values?.split(' ')[0] ?? 'eidas1';

  const answer = provider.callback();
  const server = createServer(async (request, response) => {
    if (firewall && request.method === 'POST' && request.url === '/token') {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      request.body = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
      const refusal = firewall(request.body);
      if (refusal) {
        response.writeHead(refusal.status, { 'content-type': refusal.type ?? 'text/html' });
        return response.end(refusal.body ?? '');
      }
    }
    if (!request.url.startsWith('/interaction/')) return answer(request, response);
    try {
      if (request.method === 'GET') {
        await provider.interactionDetails(request, response);
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
        return response.end(LOGIN_PAGE);
      }
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const result = form.get('login') === 'abort'
        ? { error: 'access_denied', error_description: 'the user <b>went</b> away' }
        : { login: { accountId: form.get('login'), ...(!ordinary && { acr: form.get('acr') || await requestedLevel(request, response), amr: form.get('amr')?.split(' ') ?? amr }), remember: false } };
      return await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    } catch (error) {
      faults.push(error);
      response.writeHead(500, { 'content-type': 'text/plain' });
      return response.end(String(error));
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const servers = [server];
  if (mutualTls) {
    const { port: tlsPort, ...tls } = mutualTls;
    const second = createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, answer);
    await new Promise((resolve, reject) => { second.once('error', reject).listen(tlsPort, '127.0.0.1', resolve); });
    servers.push(second);
  }
  const stop = (one) => new Promise((done) => { one.close(done); one.closeAllConnections(); });
  return { issuer, faults, answers, close: () => Promise.all(servers.map(stop)) };
}

const LOGIN_PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Real provider</title></head><body>
<main><h1>Real provider</h1><form method="post"><label>Login <input name="login" value="angela"></label>
<label>Password <input name="password" type="password"></label>
<label>Level, if not the requested one <input name="acr"></label><button>Sign in</button></form></main></body></html>`;
