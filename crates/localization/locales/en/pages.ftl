### What a person reads. Short sentences, no protocol words.
### One word for one thing: "service" (who asks), "account" (what you sign in with),
### "organisation" (who runs the account), "sign-in".

footer-label = Useful links
language-name = English
language-label = Language
language-go = Change the language

## Dates

month-1 = January
month-2 = February
month-3 = March
month-4 = April
month-5 = May
month-6 = June
month-7 = July
month-8 = August
month-9 = September
month-10 = October
month-11 = November
month-12 = December
date-day = { $day } { $month } { $year }
date-month = { $month } { $year } (day unknown)
date-year = { $year } (day and month unknown)
date-time = { $date } at { $time } (UTC)

## Choice of the account

choice-title = Choose an account
choice-title-service = Sign in to “{ $service }”
choice-lead = Choose the account that you want to use.
site-line = “{ $hub }” lets you sign in to services with an account that you already have.
choice-asks = “{ $service }” asks you to sign in.
level-eidas1 = Your usual account is enough.
level-eidas2 = This service asks for a stronger sign-in: two proofs, such as a password and your phone.
level-eidas3 = This service asks for the safest sign-in, such as an electronic identity card.
choice-accounts = Available accounts
choice-banner = Signing in with “{ $provider }” did not work.
choice-stopped = Signing in with “{ $provider }” was stopped.
choice-stopped-next = Nothing was sent to the service. Choose this account again, or another one.
choice-less-safe = Signing in with “{ $provider }” was not safe enough for this service.
choice-less-safe-next = Nothing was sent to the service. Choose another account, or this one again and sign in by a safer method, if it has one.
choice-not-me = You said that this was not you. Nothing was sent to the service.
choice-not-me-next = “{ $provider }” may still remember the other person: if that name appears again, sign out at “{ $provider }”, then come back.
choice-search = Search for an account by name
choice-search-go = Search
choice-found-none = No available account matches “{ $query }”.
choice-show-all = Show all accounts
choice-total = { $total } accounts are available. Search for yours by name.
choice-range = Accounts { $first } to { $last } of { $total }
choice-found = { $total ->
    [one] { $total } account found
   *[other] { $total } accounts found
}
choice-email = E-mail address
choice-email-use = Only the part after the @ is used, to find where you sign in. The address is not stored.
choice-email-go = Continue
choice-email-list = Choose from the list instead
choice-email-again = Enter an e-mail address instead
choice-email-malformed = Enter a whole e-mail address, such as name@example.org.
choice-email-found = Accounts for addresses at “{ $domain }”:
choice-email-unknown = No account is registered for addresses at “{ $domain }”. Choose one from the list.
choice-last-used = Last used
choice-forget = Don’t remember this account
choice-others = Other accounts
choice-see-category = { $category }: see all { $total } accounts
choice-letters = Accounts by first letter
choice-pages = Pages of the list
choice-previous = Previous accounts
choice-next = Next accounts
choice-none = No account is available at the moment.
choice-no-account = I have none of these accounts
choice-unavailable = Not available right now
choice-recent-trouble = Had a problem a moment ago
choice-unavailable-more = { $total ->
    [one] And { $total } more: search for its name to know why.
   *[other] And { $total } more: search for a name to know why.
}
choice-cancel = Cancel and go back to “{ $service }”
why-too-low = Sign-in not safe enough for this service
why-no-reauthentication = Cannot ask you to sign in again, which this service demands
why-not-for-service = Cannot be used for this service
why-in-trouble = Out of order at the moment
why-off = Closed at the moment
why-blocked = Suspended at the moment

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Sign in with “{ $provider }”
sign-in-username = User name
sign-in-password = Password
sign-in-show = Show the password
sign-in-hide = Hide the password
sign-in-forgotten = I forgot my password
sign-in-whose = Type the password that you use at “{ $provider }”, and no other. It is checked there, and kept nowhere here.
sign-in-go = Sign in
sign-in-other = Choose another account
sign-in-empty = Type your user name and your password.
sign-in-wrong = The user name or the password is wrong, or the account is locked for a while.
sign-in-last = You have one more try. If it is wrong too, you have to wait before the next one.
sign-in-wait = { $minutes ->
    [one] There were too many wrong tries. Wait one minute, then try again.
   *[other] There were too many wrong tries. Wait { $minutes } minutes, then try again.
}
sign-in-new-password = Set a new password
password-title = Your password
password-must-change = Your password is accepted, but you must change it.
password-sign-ins-left = Your password has expired. Change it now. Number of sign-ins left with it: { $count }.
password-expires = Your password expires soon. Change it in time. Days left: { $days }.
password-where = You can change it at “{ $provider }”.

## A code by mail

mail-page-title = Enter the code that we sent you by e-mail
mail-page-sent = We have sent a code to { $address }. It is valid for ten minutes.
mail-page-why = “{ $service }” asks for this code, in addition to your password.
mail-page-code = Code with six digits
mail-page-go = Continue
mail-page-wrong = That code is wrong. Tries left: { $count }.
mail-page-expired = This code is no longer valid. Ask for another one.
mail-page-missing = No e-mail after one minute? Look among the unwanted messages too, or ask for another code.
mail-page-resend = Send another code
mail-page-reload = Another code can be sent in a minute: load the page again
mail-page-unreadable = I cannot read this mailbox

## What is sent

inform-title = Your information for this service
inform-lead = “{ $service }” will receive:
inform-why = “{ $service }” asks for this information to know who you are. Nothing is sent before you continue.
inform-go = Continue to “{ $service }”
inform-cancel = Do not continue
consent-title = Do you agree to send this information?
consent-lead = “{ $service }” asks to receive:
consent-yes = Yes, I agree
consent-no = No, I refuse
consent-person = You are signing in as
consent-not-me = This is not me
consent-pseudonym = “{ $service }” will receive neither your name nor any other information. It will only get a number made for this service, to know you again next time.
consent-source-register = This information comes from the national register and from your account “{ $provider }”.
consent-source-provider = This information comes from your account “{ $provider }”.
consent-account = You are signed in with your account “{ $provider }”.
consent-offline = “{ $service }” can also receive it again later, when you are not there.
value-none = not given
value-code = code { $code }
country-99100 = France
claim-given-names = Given names
claim-family-name = Family name at birth
claim-birthdate = Date of birth
claim-gender = Gender
claim-birthplace = Place of birth
claim-birthcountry = Country of birth
claim-preferred-username = Name in use
claim-email = E-mail address
claim-name = Full name
claim-middle-name = Middle name
claim-nickname = Nickname
claim-profile = Profile page
claim-picture = Picture
claim-website = Website
claim-zoneinfo = Time zone
claim-locale = Language
claim-updated-at = Last change of the profile
claim-email-verified = E-mail address verified
claim-phone-number = Telephone number
claim-phone-number-verified = Telephone number verified
claim-address = Postal address
value-yes = Yes
value-no = No
gender-female = female
gender-male = male
gender-unspecified = unspecified

## Errors: what happened

error-bad-request = The service’s request is not correct.
error-not-found = This page does not exist.
error-method = This page cannot be used in this way.
error-timeout = The request took too long to arrive.
error-too-large = The request is too large.
error-unknown-host = This is not the right address.
error-internal = Something went wrong on our side.
error-unavailable = Our service is not available for a short moment.
error-busy = Too many people are signing in right now.
error-network-limited = Too many sign-ins were begun from your network within a minute.
error-service-limited = The service has begun too many sign-ins within a minute.
error-register = The national register could not confirm your identity.
error-register-unavailable = The national register does not answer.
error-identity-incomplete = Your account lacks a piece of information that is needed.
error-identity-malformed = A piece of information in your account cannot be read.
error-idp-unavailable = This account cannot be used.
error-idp-trouble = The organisation that runs this account has a technical problem.
error-hub-clock = The clock of this sign-in site is wrong, so you cannot sign in right now. Its operator has to correct it.
error-idp-busy = Too many people are using this account right now.
error-idp-denied = The sign-in was stopped before its end.
error-password-change = Your password is right, but you have to change it before you can sign in here.
error-account-disabled = Your password is right, but this account is closed or has expired. Please contact the organisation that runs this account.
error-account-hours = Your password is right, but this account cannot be used at this time of day. Try again later, or contact the organisation that runs this account.
error-account-not-permitted = Your password is right, but this account is not allowed to sign in here. Please contact the organisation that runs this account.
error-account-refused = Your password was not checked, because this account cannot be used: it may be locked or closed. Please contact the organisation that runs this account.
error-assurance = The sign-in is not safe enough for this service.
error-login-unknown = This sign-in does not exist, or no longer exists.
error-login-other-browser = This sign-in was begun in another browser, or this one has lost its cookies.
error-idp-answer = The answer of the organisation that runs this account cannot be used.
error-login-order = You went on in another tab.
error-login-done = This sign-in is already finished.
error-login-expired = This sign-in took too long.
error-login-too-many = This sign-in was closed: too many were open.
error-repeated-cookie = Your browser sent a cookie of this site twice. For safety, nothing was done.
error-idp-blocked = Signing in with this account is suspended at the moment.
error-idp-blocked-for-service = Signing in to this service with this account is suspended at the moment.
error-idp-reauthentication = This service demands that you sign in again, and this account cannot show that you did.
error-redirect-withdrawn = The service has changed its address during your sign-in. Nothing was sent to it.
error-scope-withdrawn = The service may no longer receive this information.
error-gate = This account cannot be used for this service.
error-login-interrupted = The sign-in was interrupted.
error-cancelled = You cancelled the sign-in.
error-refused = You refused to send your information.
error-login-required = You need to sign in to continue.
error-consent-required = Your agreement is needed to continue.
error-mail-address = This sign-in needs a code by e-mail, and your account has no e-mail address.
error-mail-address-unusable = This sign-in needs a code by e-mail, and we cannot send mail to the e-mail address of your account.
error-mail-unreadable = You need the code that we send by e-mail to sign in with this account.
error-mail-code-wrong = Too many wrong codes were entered.
error-mail-limited = Too many codes were sent or entered for this account. Try again later.
error-mail-unavailable = We cannot send you a code by e-mail right now.
error-csrf = For safety, this form was not accepted.

## Errors: who can fix it, and what to do next

responsible-user = Nothing is lost: you can start again.
responsible-user-other = You can sign in with another account, or go back to the service.
responsible-register = The details of your account may differ from those in the register, for example your names or your date of birth. Ask the organisation that runs your account to check them, or use another account.
register-correction = If the register itself is wrong, it is corrected here:
responsible-identity = Ask the organisation that runs your account to complete or correct it, or use another account.
responsible-mailbox = If this mailbox is no longer yours, ask for help: the old address can be removed.
responsible-cookies = Allow cookies for this site. Then go back to the service’s site and sign in again, without changing browser.
responsible-repeated-cookie = Open a private window of your browser, go to the service’s site and sign in there. To use a normal window again, delete the cookies of this site in the settings of your browser.
responsible-newer-tab = Continue in the tab or window that you opened last. You can close this one.
responsible-connection = Your internet connection may be slow. Check it, then try again.
responsible-user-continue = Nothing is lost: you can continue.
responsible-other-tab = What you did here belongs to an earlier step. Nothing is lost: continue here, or in the other tab.
responsible-finished = You finished it here or in another tab. You can close this page. To sign in again, start from the service.
retry-later = Nothing is lost. Try again in a few minutes.
retry-wait = { $seconds ->
    [one] Nothing is lost. You can try again in { $seconds } second.
   *[other] Nothing is lost. You can try again in { $seconds } seconds.
}
retry-auto = This page then tries again automatically.
retry-auto-later = This page also tries again a few times by itself.
retry-stop = Stop trying automatically
responsible-service = Only the service that you came from can fix this. Give it the references at the bottom of the page.
responsible-provider = The organisation that runs your account has to fix this. Give it the references at the bottom of the page. Another account may work.
responsible-answer = This is not the service’s fault: the organisation that runs the account sent a wrong answer, or one to an older attempt. You can go on with your sign-in; another account may work.
responsible-answer-alone = This is not the service’s fault: the organisation that runs the account sent a wrong answer, and no sign-in is under way in this browser. You can close this page, then go back to the service’s site.
responsible-operator = It is up to us to fix this. Try again in a few minutes.
error-no-way = You can close this page, then go back to the service’s site.
support-link = Ask for help
error-claim = Information concerned: { $claim }.
error-service = Service: “{ $service }”
error-account = Account: “{ $provider }”
action-again = Try again
action-continue = Continue signing in
action-other = Choose another account
action-service = Go back to “{ $service }”
action-service-unnamed = Go back to the service
action-home = Start again from “{ $service }”
action-home-unnamed = Start again from the service
action-sign-out = Sign out here
refs-title = Details for support
refs-code = Code
refs-precise = Second code
refs-support = Reference
refs-time = Date
refs-developer = For the service’s technical team

## Return to the service, signed out

return-title = Back to the service
return-lead = You are going back to “{ $service }”. If nothing happens, use the button.
return-go = Continue
log-out-title = Do you want to sign out?
log-out-requested = “{ $service }” asks you to sign out.
log-out-account = You are signed in here with your account “{ $provider }”. After signing out, each service will ask you to sign in again.
log-out-no-session = It seems that no one is signed in here in this browser. To be sure, you can still sign out.
log-out-go = Sign out
log-out-stay = Stay signed in and go back to “{ $service }”
log-out-close = To stay signed in, just close this page.
landing-title = One sign-in for many services
landing-go = You do not sign in on this page. Go to the site of the service that you want to use, and choose to sign in there: it brings you back here.
landing-shared = Have you used a shared device? Sign out here before you leave it.
logged-out-title = You are signed out
logged-out-lead = Your session on this site has ended.
logged-out-provider = You are also signed out of your account “{ $provider }”.
logged-out-services = Services that you have used may still keep you signed in. Sign out of each of them too:
logged-out-unreached = “{ $provider }” could not be informed. To be safe, sign out of that account too, or close your browser.
logged-out-start = To the start page

## Sandbox

sandbox-ribbon = Sandbox: nothing here is real
sandbox-title = Who do you want to be?
sandbox-lead = “{ $provider }” is a trial account. Choose a person and what should happen.
sandbox-person = Person
sandbox-level = Safety of the sign-in
sandbox-level-too-low = Lower than asked: it will be refused
sandbox-methods = Means used
sandbox-failure = What should happen?
sandbox-go = Sign in

## Demonstration service

demo-title = Try a sign-in
demo-lead = This invented service shows a whole sign-in, then everything it received. No data is real.
demo-step-1 = You choose a trial account.
demo-step-2 = You choose who you are.
demo-step-3 = You see what the service receives.
demo-standard = Standard platform
demo-standard-lead = The identity comes from the national register. The tokens are signed.
demo-high = High platform
demo-high-lead = The identity comes from the account provider. The tokens are signed, then encrypted: this service alone can read them.
demo-sign-in-eidas1 = Sign in, low level (eidas1)
demo-sign-in-eidas2 = Sign in, substantial level (eidas2)
demo-sign-in-eidas3 = Sign in, high level (eidas3)
demo-in-title = You are signed in
demo-in-lead = This is everything that the service received, after checking it.
demo-claims = Information received
demo-in-encrypted = Both tokens were encrypted. The service decrypted them with its private key.
demo-id-token = ID token
demo-jwe-header = Header of the encryption (JWE)
demo-header = Header of the signature (JWS)
demo-payload = Payload
demo-userinfo = The person’s information (userinfo)
demo-data = What a data provider learns
demo-data-lead = The service called it with the access token, and it asked the hub whose that is.
demo-token-answer = Token endpoint’s answer
demo-sign-out = Sign out
demo-sign-in-again = Sign in again
demo-error-title = The sign-in failed
demo-error-lead = The service received this answer instead of a sign-in.
demo-wallet-title = Demo wallet
demo-wallet-lead = The documents of this wallet are invented. “{ $hub }” asks for:
demo-wallet-agree = Agree and send
demo-wallet-decline = Decline
demo-error-code = Error
demo-error-description = Description
demo-refused-lead = The service received no answer, or one that it can’t trust. It used nothing from it.
demo-refused-reason = Reason
sandbox-level-eidas1 = Low (eidas1)
sandbox-level-eidas2 = Substantial (eidas2)
sandbox-level-eidas3 = High (eidas3)
sandbox-failure-none = Nothing goes wrong
sandbox-failure-cancel = The person gives up
sandbox-failure-error = The account provider breaks down
sandbox-failure-missing-claim = The identity comes without a birthdate
sandbox-failure-unknown-person = The register knows no such person
sandbox-failure-level-too-low = The sign-in is less safe than asked
demo-sign-in-consent = Sign in and give consent (eidas1)
demo-methods = How the person signed in
demo-method-mark = Mark of the hub
demo-out-title = You are signed out
demo-out-lead = What has ended, as far as a service can know:
demo-out-service = This service: its session has ended.
demo-out-hub = The hub: its session has ended. It sent your browser back with the state of this sign-out.
demo-out-hub-unknown = The hub: not known. It has not sent your browser back.
demo-out-provider = The account provider: the hub sends your browser there to sign out, where that is possible. A service gets no confirmation of it.
demo-out-provider-unknown = The account provider: not known.
demo-next = Look here next:
demo-next-start = sign in. Where you choose an account, one is blocked and one can’t be reached: see what a person is shown. More in { $page }
demo-next-in = the operator console counts this sign-in, and shows no name. To sign in from an application of your own, see { $page }
demo-next-out = sign in again: you choose account and person again, because no session is left. More in { $page }
demo-next-error = if a page showed a reference, look it up in the operator console. Every error code is in { $page }
demo-console-standard = Operator console, standard
demo-console-high = Operator console, high
sandbox-next = under “What should happen?”, choose a failure, and see what the person and the service get. More in { $page }
method-pwd = Password
method-pin = PIN
method-kba = Personal questions
method-otp = One-time code
method-sms = Text message
method-tel = Phone call
method-hwk = Hardware key
method-swk = Software key
method-sc = Smart card
method-pop = Key (proof of possession)
method-face = Face
method-fpt = Fingerprint
method-iris = Iris
method-retina = Retina
method-vbm = Voice
method-mail = E-mail
method-geo = Location
method-mca = Several communication channels
method-rba = Risk assessment
method-user = User presence test
method-wia = Windows sign-in
method-mfa = Several factors

# What the operator has to say to everybody
notice-warning = Important:
notice-more = Find out more

## The pages about an OAuth error, for developers

oauth-error-title = The error { $error }
oauth-error-lead = This page is for those who develop or run a service. The hub answered a request of the service’s server with this error. If you only wanted to sign in, go back to the service.
oauth-error-causes = Possible causes, and what to do
oauth-error-precise = This page is the same for each of these causes, so that it reveals no service; error_description may say more. The hub’s operator can find the exact cause in the log, with the time and your client_id.
oauth-error-documentation = Documentation for services
oauth-error-invalid-request =
    A parameter is missing, empty or sent twice: error_description names it. Send it once.
    The body is not a form: send it as application/x-www-form-urlencoded.
    The client authenticates in two ways, for example in the header and in the body: use the registered one alone.
oauth-error-invalid-client =
    The client authenticates by another method than the registered one. Many libraries send the secret in the header; the hub’s default is client_secret_post, in the body.
    The secret is wrong, has expired or is not valid yet. Compare it, without spaces around it, and ask the operator for a new one if needed.
    The client_id is unknown here, or switched off: each platform and each environment has its own.
    A signed assertion is not accepted: check its key, its aud (the issuer), its exp and that its jti is new.
oauth-error-invalid-grant =
    The code is too old or was used before: redeem it once, as soon as it arrives.
    The redirect_uri differs from the one of the authorization request.
    The code_verifier belongs to another login: keep it in the session of the browser that began the login.
    The code was issued to another client, or the user has signed out meanwhile.
oauth-error-unsupported-grant-type =
    The grant_type must be authorization_code, or refresh_token if the service provider is registered for refresh tokens. Without refresh tokens, begin a new login: with prompt=none it shows no page while the session lasts.
oauth-error-temporarily-unavailable =
    The hub is overloaded, or cannot fetch the keys at your jwks_uri: try again shortly, or after Retry-After if the answer has it.
    There were too many failed authentications with your client_id: correct the credentials, then wait.
oauth-error-server-error =
    The hub had an internal error: give its operator the time and your client_id.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = What does the hub do with this request?
diagnostics-lead = Paste the address to which your service sends the browser. The hub explains each parameter, and starts no sign-in.
diagnostics-result = Result
diagnostics-parameters = Parameter by parameter
diagnostics-url = Address of the authorization request
diagnostics-help = From https:// to the last parameter. It is not stored, and not shown again.
diagnostics-go = Explain
token-diagnostic-title = Why the token request failed
token-diagnostic-lead = This page can be opened for ten minutes. Only a sandbox gives the exact cause; in production, your service sees no more than the error.
token-diagnostic-fix = What to do
