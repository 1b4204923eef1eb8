// A hub with a wallet connector, and browsers at its wallet page, whose Digital Credentials API is scripted.
import { chromium } from 'playwright-core';
import { discoverHub, buildAuthorizationRequest } from './federation.mjs';
import { freePorts, random, startHub } from './harness.mjs';
import { CertificateAuthority, PidIssuer, connectorFile } from './wallet-issuer.mjs';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

export class WalletHub {
  /** Starts the hub with a connector `wallet` for these credentials, its issuer, and Chromium. settings: further lines of the connector's file. */
  static async start(name, credentials, settings) {
    const started = new WalletHub();
    try {
      await started.#start(name, credentials, settings);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  async #start(name, credentials, settings) {
    this.issuer = await PidIssuer.start();
    this.access = new CertificateAuthority('Access authority');
    const relyingParty = this.access.issue('Passerelle', '1.3.6.1.5.5.7.3.2');
    const [port, privatePort] = await freePorts(2);
    this.sp = { id: 'alpha', secret: random(32), redirectUri: `http://localhost:${port}/sp/alpha/callback` };
    this.hub = await startHub(name, {
      port, privatePort, connectors: { wallet: connectorFile('wallet', credentials, settings) },
      sps: [{ ...this.sp, redirectUris: [this.sp.redirectUri], scopes: ['openid', 'profile', 'birth'] }],
      files: {
        'wallet/access.pem': relyingParty.pem + this.access.pem, 'wallet/issuers.pem': this.issuer.authority.pem,
        'secrets/connectors/wallet/access.key': relyingParty.keyPem,
      },
    });
    this.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  }

  async stop() {
    await this.browser?.close();
    await this.hub?.stop();
    await this.issuer?.stop();
    this.access?.remove();
  }

  /**
   * Opens the wallet page of a login in a browser. options: of the browser's context. answer(compact, origin): what the browser's API returns
   * for a signed request, or null if its user closes the dialog; without it the browser has no API.
   */
  async openPage(options, answer) {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    if (!answer) await page.addInitScript('delete window.DigitalCredential');
    else {
      await page.exposeFunction('walletAnswer', answer);
      await page.addInitScript(() => {
        window.DigitalCredential = class {};
        navigator.credentials.get = async ({ digital }) => {
          const [{ protocol, data }] = digital.requests;
          const credential = await window.walletAnswer(data.request, location.origin);
          if (!credential) throw new DOMException('closed', 'NotAllowedError');
          return { protocol, data: credential };
        };
      });
    }
    const authorization = await buildAuthorizationRequest(await discoverHub(this.hub, this.sp), this.sp, { scope: 'openid profile birth' });
    await page.goto(authorization.url);
    await page.locator('form[action$="/provider"] button[value=wallet]').click();
    await page.locator('a.button.main').first().waitFor();
    return { context, page, asked: authorization };
  }
}
