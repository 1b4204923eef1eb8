// A real SAML 2.0 identity provider (npm samlify, whose signatures are xml-crypto's) as the hub's upstream, with a simple login page.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import samlify from 'samlify';
import { parseForms, random } from './harness.mjs';

// The hub's messages are well-formed; their schema is checked by spid-sp-test (saml-peers.test.mjs).
samlify.setSchemaValidator({ validate: async () => 'ok' });

const { namespace } = samlify.Constants;
export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
export const PASSWORD = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport';
export const REFEDS_MFA = 'https://refeds.org/profile/mfa';
/** Attributes by their names of the LDAP profile (SAML V2.0 X.500/LDAP Attribute Profile). */
const ATTRIBUTES = { name: 'urn:oid:2.16.840.1.113730.3.1.241', given_name: 'urn:oid:2.5.4.42', family_name: 'urn:oid:2.5.4.4', email: 'urn:oid:0.9.2342.19200300.100.1.3' };
const PERSONS = {
  jane: { name: 'Jane Doe', given_name: 'Jane', family_name: 'Doe', email: 'jane@example.org' },
  guy: { name: 'Guy & <Guest>', given_name: 'Guy', family_name: 'Gu\u00e9st', email: 'guy@example.org' },
};

/** Creates a key of RSA with a certificate of its own: { key, certificate } as PEM. */
export function selfSigned(name, days = 30) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-saml-'));
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key', '-out', 'crt', '-subj', `/CN=${name}`, '-days', String(days)], { cwd: folder, stdio: 'pipe' });
    return { key: readFileSync(path.join(folder, 'key'), 'utf8'), certificate: readFileSync(path.join(folder, 'crt'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const escapeHtml = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.codePointAt(0)};`);
/** The page by which a browser posts a message (SAML V2.0 Bindings, 3.5.4). */
const postPage = (action, fields) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Real SAML provider</title></head><body>
<form method="post" action="${escapeHtml(action)}">${Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`).join('')}
<button>Continue</button></form><script>document.forms[0].submit()</script></body></html>`;
const LOGIN_PAGE = (hidden) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Real SAML provider</title></head><body><main><h1>Real SAML provider</h1>
<form method="post" action="/login"><input type="hidden" name="request" value="${hidden}"><label>Login <input name="login" value="jane"></label>
<label>Password <input name="password" type="password"></label><label>Class, if not the requested one <input name="class"></label><button>Sign in</button></form></main></body></html>`;

/** Returns the metadata of an identity provider that does not run. */
export const describeIdp = (entityId, { certificate }) => `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
<ds:X509Data><ds:X509Certificate>${certificate.replace(/-----[^-]+-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example.org/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>`;

/** Posts the message of a page, as its script does, and further such pages. Returns another page, or the redirect to `stopAt`. */
export async function continueSaml(browser, page, stopAt) {
  const isMessage = (form) => form.fields.some(([name]) => name === 'SAMLRequest' || name === 'SAMLResponse');
  let next = page;
  for (let posts = 0; !next.stopped && posts < 5 && parseForms(next.html, next.url).some(isMessage); posts += 1) {
    next = await browser.submit(next, { pick: isMessage, stopAt });
  }
  return next;
}

/** Returns the hub's metadata for a connector. */
export async function hubMetadata(hub, connector) {
  const response = await fetch(`${hub.base}/connectors/${connector}/saml/metadata`);
  assert.equal(response.status, 200);
  return response.text();
}
/** Returns the first certificate of that metadata for this use, in base64. */
export const hubCertificate = async (hub, connector, use = 'signing') =>
  (await hubMetadata(hub, connector)).match(new RegExp(`<md:KeyDescriptor use="${use}">.*?<ds:X509Certificate>([^<]+)<`))[1];

/** Returns the message of a query or a form as XML. */
export const readMessage = (text, deflated) => (deflated ? inflateRawSync(Buffer.from(text, 'base64')) : Buffer.from(text, 'base64')).toString();
/** Returns an unsigned message as parameter of a redirect. */
export const deflate = (xml) => deflateRawSync(xml).toString('base64');

/**
 * Listens on `port` of loopback with entity ID `http://HOST:{port}/metadata`, where its metadata is.
 * isEncrypted: it encrypts assertions to the hub's key · signs: 'assertion', 'response' or 'both' · scope: a `shibmd:Scope` of its metadata ·
 * edit: changes the XML of a response before it is signed.
 * `trust(metadata)` takes the hub's metadata; without it every request is refused. `requests` has the XML of each AuthnRequest, `logouts` what
 * arrived at its logout address. `rotate()` signs with another key from then on.
 */
export async function startSamlIdp({ port, host = 'localhost', isEncrypted = false, signs = 'assertion', wantsSignedRequests = true, edit = (xml) => xml, persons = PERSONS, subjectOf = (login) => `saml-${login}` }) {
  const base = `http://${host}:${port}`;
  const entityId = `${base}/metadata`;
  let keys = [selfSigned('idp')];
  let sp;
  const build = (signing = keys[0]) => samlify.IdentityProvider({
    entityID: entityId, privateKey: signing.key, signingCert: keys.map(({ certificate }) => certificate), isAssertionEncrypted: isEncrypted,
    wantAuthnRequestsSigned: wantsSignedRequests, wantLogoutRequestSigned: true, wantLogoutResponseSigned: true,
    requestSignatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', nameIDFormat: [PERSISTENT],
    dataEncryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#aes128-gcm', keyEncryptionAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
    singleSignOnService: ['redirect', 'post'].map((binding) => ({ Binding: namespace.binding[binding], Location: `${base}/sso` })),
    singleLogoutService: [{ Binding: namespace.binding.redirect, Location: `${base}/slo` }],
    loginResponseTemplate: { context: samlify.SamlLib.defaultLoginResponseTemplate.context, attributes: Object.entries(ATTRIBUTES).map(([claim, name]) => ({ name, nameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:uri', valueTag: claim, valueXsiType: 'xs:string' })) },
  });
  let idp = build();
  const [pending, sessions, requests, logouts, answers, faults] = [new Map(), new Map(), [], [], [], []];

  async function loginResponse(request, login, requestedClass) {
    const person = persons[login];
    const [now, index] = [new Date(), `_s${random(12)}`];
    const later = new Date(now.getTime() + 300_000).toISOString();
    const wanted = request.xml.match(/<(?:\w+:)?AuthnContextClassRef[^>]*>([^<]+)</)?.[1];
    const acs = sp.entityMeta.getAssertionConsumerService('post');
    const values = {
      ID: `_${random(20)}`, AssertionID: `_${random(20)}`, Destination: acs, Audience: sp.entityMeta.getEntityID(), EntityID: sp.entityMeta.getEntityID(), SubjectRecipient: acs,
      Issuer: entityId, IssueInstant: now.toISOString(), StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success', ConditionsNotBefore: now.toISOString(),
      ConditionsNotOnOrAfter: later, SubjectConfirmationDataNotOnOrAfter: later, NameIDFormat: PERSISTENT, NameID: subjectOf(login), InResponseTo: request.id,
      ...Object.fromEntries(Object.keys(ATTRIBUTES).map((claim) => [`attr${claim.split('_').map((part) => part[0].toUpperCase() + part.slice(1)).join('')}`, person[claim]])),
    };
    const statement = `<saml:AuthnStatement AuthnInstant="${now.toISOString()}" SessionIndex="${index}"><saml:AuthnContext><saml:AuthnContextClassRef>${requestedClass || wanted || PASSWORD}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`;
    sessions.set(subjectOf(login), index);
    const { context } = await idp.createLoginResponse(sp, { extract: { request: { id: request.id } } }, 'post', {}, {
      customTagReplacement: (template) => ({ id: values.ID, context: edit(samlify.SamlLib.replaceTagsByValue(template.replace('{AuthnStatement}', statement), values)) }),
      encryptThenSign: isEncrypted && signs !== 'assertion',
    });
    answers.push(context);
    return postPage(acs, { SAMLResponse: context, ...(request.relayState && { RelayState: request.relayState }) });
  }

  async function handle(request) {
    const url = new URL(request.url, base);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    if (url.pathname === '/metadata') return { type: 'application/samlmetadata+xml', body: metadata() };
    if (url.pathname === '/login') {
      const one = pending.get(form.get('request'));
      return { body: await loginResponse(one, form.get('login'), form.get('class')) };
    }
    const isPost = request.method === 'POST';
    const fields = isPost ? form : url.searchParams;
    // The signature is over the escaped query, as it arrived.
    const octetString = url.search.slice(1).split('&').filter((pair) => /^(SAMLRequest|SAMLResponse|RelayState|SigAlg)=/.test(pair)).join('&');
    const message = { query: Object.fromEntries(fields), body: Object.fromEntries(fields), octetString };
    const binding = isPost ? 'post' : 'redirect';
    if (url.pathname === '/sso') {
      const { extract, samlContent } = await idp.parseLoginRequest(sp, binding, message);
      requests.push(samlContent);
      const ticket = random(12);
      pending.set(ticket, { id: extract.request.id, xml: samlContent, relayState: fields.get('RelayState') });
      return { body: LOGIN_PAGE(ticket) };
    }
    if (url.pathname === '/slo' && fields.has('SAMLRequest')) {
      const parsed = await idp.parseLogoutRequest(sp, binding, message);
      logouts.push({ request: parsed.samlContent });
      sessions.delete(parsed.extract.nameID);
      return { location: idp.createLogoutResponse(sp, parsed, 'redirect', fields.get('RelayState') ?? '').context };
    }
    if (url.pathname === '/slo') {
      const parsed = await idp.parseLogoutResponse(sp, binding, message);
      logouts.push({ response: parsed.samlContent });
      return { body: '<!doctype html><title>Signed out</title><h1>Signed out</h1>' };
    }
    return { status: 404, body: 'not found' };
  }

  /** Its metadata, which names all its keys. */
  const metadata = () => idp.getMetadata();
  const server = createServer((request, response) => {
    handle(request).then(({ status = 200, type = 'text/html; charset=utf-8', body = '', location }) => {
      response.writeHead(location ? 302 : status, { 'content-type': type, ...(location && { location }) }).end(body);
    }, (error) => { faults.push(error); response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error.stack)); });
  });
  await new Promise((resolve, reject) => { server.once('error', reject).listen(port, '127.0.0.1', resolve); });
  return {
    entityId, base, requests, logouts, answers, faults, sessions, metadata,
    get certificate() { return keys[0].certificate; },
    trust(xml) {
      sp = samlify.ServiceProvider({ metadata: xml, wantMessageSigned: signs !== 'assertion', wantLogoutRequestSigned: true, wantLogoutResponseSigned: true });
      if (signs === 'response') sp.entityMeta.isWantAssertionsSigned = () => false;
    },
    /** Publishes a second key. The new key signs after `switchKey()`. */
    publishNextKey() { keys.push(selfSigned('idp-next')); idp = build(); },
    switchKey() { keys.reverse(); idp = build(); },
    /** The address by which it asks the hub to end a person's sessions. */
    logoutUrl(login) {
      const [nameId, index] = [subjectOf(login), sessions.get(subjectOf(login))];
      assert.ok(index, `${login} has no session`);
      return idp.createLogoutRequest(sp, 'redirect', { logoutNameID: nameId, sessionIndex: index }, random(12)).context;
    },
    close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }),
  };
}
