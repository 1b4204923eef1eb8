### What a person reads. Short sentences, no protocol words.
### One word for one thing: ‘dienst’ (who asks), ‘account’ (what you sign in with),
### ‘organisatie’ (who runs the account), ‘inloggen’ (one sign-in: ‘inlogpoging’).

footer-label = Handige links
language-name = Nederlands
language-label = Taal
language-go = Taal wijzigen

## Dates

month-1 = januari
month-2 = februari
month-3 = maart
month-4 = april
month-5 = mei
month-6 = juni
month-7 = juli
month-8 = augustus
month-9 = september
month-10 = oktober
month-11 = november
month-12 = december
date-day = { $day } { $month } { $year }
date-month = { $month } { $year } (dag onbekend)
date-year = { $year } (dag en maand onbekend)
date-time = { $date } om { $time } uur (UTC)

## Choice of the account

choice-title = Kies een account
choice-title-service = Inloggen bij ‘{ $service }’
choice-lead = Kies het account dat u wilt gebruiken.
site-line = Met ‘{ $hub }’ logt u bij diensten in met een account dat u al hebt.
choice-asks = ‘{ $service }’ vraagt u om in te loggen.
level-eidas1 = Uw gewone account is voldoende.
level-eidas2 = Deze dienst vraagt u om sterker in te loggen, met twee bewijzen: bijvoorbeeld een wachtwoord en uw telefoon.
level-eidas3 = Deze dienst vraagt u om op de veiligste manier in te loggen, bijvoorbeeld met een elektronische identiteitskaart.
choice-accounts = Beschikbare accounts
choice-banner = Inloggen met ‘{ $provider }’ is niet gelukt.
choice-stopped = Het inloggen met ‘{ $provider }’ is gestopt.
choice-stopped-next = Er is niets naar de dienst gestuurd. Kies dit account opnieuw, of een ander.
choice-less-safe = Inloggen met ‘{ $provider }’ was niet veilig genoeg voor deze dienst.
choice-less-safe-next = Er is niets naar de dienst gestuurd. Kies een ander account, of kies dit account opnieuw en log in op een veiligere manier, als dat kan.
choice-not-me = U hebt aangegeven dat u dit niet was. Er is niets naar de dienst gestuurd.
choice-not-me-next = ‘{ $provider }’ kan de andere persoon nog kennen: verschijnt die naam opnieuw, log dan uit bij ‘{ $provider }’ en kom daarna terug.
choice-search = Zoek een account op naam
choice-search-go = Zoeken
choice-found-none = Er is geen beschikbaar account gevonden voor ‘{ $query }’.
choice-show-all = Alle accounts tonen
choice-total = Er zijn { $total } accounts beschikbaar. Zoek uw account op naam.
choice-range = Accounts { $first } tot en met { $last } van { $total }
choice-found = { $total ->
    [one] { $total } account gevonden
   *[other] { $total } accounts gevonden
}
choice-email = E-mailadres
choice-email-use = Alleen het deel na de @ wordt gebruikt, om te vinden waar u inlogt. Het adres wordt niet bewaard.
choice-email-go = Doorgaan
choice-email-list = Liever kiezen uit de lijst
choice-email-again = Liever een e-mailadres invullen
choice-email-malformed = Vul een volledig e-mailadres in, bijvoorbeeld naam@example.org.
choice-email-found = Accounts voor adressen die eindigen op ‘{ $domain }’:
choice-email-unknown = Voor adressen die eindigen op ‘{ $domain }’ is geen account bekend. Kies een account uit de lijst.
choice-last-used = Laatst gebruikt
choice-forget = Dit account niet onthouden
choice-others = Andere accounts
choice-see-category = { $category }: alle { $total } accounts tonen
choice-letters = Accounts op beginletter
choice-pages = Pagina’s van de lijst
choice-previous = Vorige accounts
choice-next = Volgende accounts
choice-none = Er is nu geen account beschikbaar.
choice-no-account = Ik heb geen van deze accounts
choice-unavailable = Nu niet beschikbaar
choice-recent-trouble = Had zojuist een storing
choice-unavailable-more = { $total ->
    [one] En nog { $total } account: zoek op de naam om te zien waarom.
   *[other] En nog { $total } accounts: zoek op een naam om te zien waarom.
}
choice-cancel = Annuleren en terug naar ‘{ $service }’
why-too-low = Inloggen niet veilig genoeg voor deze dienst
why-no-reauthentication = Kan u niet vragen om opnieuw in te loggen, terwijl deze dienst dat eist
why-not-for-service = Niet te gebruiken voor deze dienst
why-in-trouble = Heeft op dit moment een storing
why-off = Op dit moment uitgeschakeld
why-blocked = Tijdelijk stopgezet

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Inloggen met ‘{ $provider }’
sign-in-username = Gebruikersnaam
sign-in-password = Wachtwoord
sign-in-show = Wachtwoord tonen
sign-in-hide = Wachtwoord verbergen
sign-in-forgotten = Ik ben mijn wachtwoord vergeten
sign-in-whose = Vul het wachtwoord in dat u bij ‘{ $provider }’ gebruikt, en geen ander. Het wordt daar gecontroleerd en hier nergens bewaard.
sign-in-go = Inloggen
sign-in-other = Ander account kiezen
sign-in-empty = Vul uw gebruikersnaam en uw wachtwoord in.
sign-in-wrong = De gebruikersnaam of het wachtwoord is onjuist, of het account is tijdelijk geblokkeerd.
sign-in-last = U hebt nog één poging. Is die ook onjuist, dan moet u wachten voor de volgende.
sign-in-wait = { $minutes ->
    [one] Er waren te veel mislukte pogingen. Wacht één minuut en probeer het dan opnieuw.
   *[other] Er waren te veel mislukte pogingen. Wacht { $minutes } minuten en probeer het dan opnieuw.
}
sign-in-new-password = Een nieuw wachtwoord instellen
password-title = Uw wachtwoord
password-must-change = Uw wachtwoord wordt geaccepteerd, maar u moet het wijzigen.
password-sign-ins-left = Uw wachtwoord is verlopen. Wijzig het nu. Aantal keren dat u er nog mee kunt inloggen: { $count }.
password-expires = Uw wachtwoord verloopt binnenkort. Wijzig het op tijd. Resterende dagen: { $days }.
password-where = U kunt het wijzigen bij ‘{ $provider }’.

## A code by mail

mail-page-title = Vul de code in die we u per e-mail hebben gestuurd
mail-page-sent = We hebben een code gestuurd naar { $address }. De code is tien minuten geldig.
mail-page-why = ‘{ $service }’ vraagt om deze code, naast uw wachtwoord.
mail-page-code = Code van zes cijfers
mail-page-go = Doorgaan
mail-page-wrong = Deze code is onjuist. Resterende pogingen: { $count }.
mail-page-expired = Deze code is niet meer geldig. Vraag een nieuwe aan.
mail-page-missing = Na een minuut nog geen e-mail? Kijk ook bij de ongewenste e-mail (spam), of vraag een nieuwe code aan.
mail-page-resend = Nieuwe code sturen
mail-page-reload = Nieuwe code over een minuut mogelijk: pagina opnieuw laden
mail-page-unreadable = Ik heb geen toegang tot deze mailbox

## What is sent

inform-title = Uw gegevens voor deze dienst
inform-lead = ‘{ $service }’ ontvangt deze gegevens:
inform-why = ‘{ $service }’ vraagt om deze gegevens om te weten wie u bent. Er wordt niets verstuurd voordat u doorgaat.
inform-go = Doorgaan naar ‘{ $service }’
inform-cancel = Niet doorgaan
consent-title = Gaat u akkoord met het versturen van deze gegevens?
consent-lead = ‘{ $service }’ vraagt om deze gegevens:
consent-yes = Ja, ik ga akkoord
consent-no = Nee, ik weiger
consent-person = U logt in als
consent-not-me = Dit ben ik niet
consent-pseudonym = ‘{ $service }’ ontvangt uw naam niet, en ook geen andere gegevens. De dienst krijgt alleen een nummer dat speciaal voor deze dienst is gemaakt, om u de volgende keer te herkennen.
consent-source-register = Deze gegevens komen uit het nationale personenregister en uit uw account ‘{ $provider }’.
consent-source-provider = Deze gegevens komen uit uw account ‘{ $provider }’.
consent-account = U bent ingelogd met uw account ‘{ $provider }’.
consent-offline = ‘{ $service }’ kan ze ook later opnieuw ontvangen, wanneer u er niet bij bent.
value-none = niet ingevuld
value-code = code { $code }
country-99100 = Frankrijk
claim-given-names = Voornamen
claim-family-name = Geboortenaam
claim-birthdate = Geboortedatum
claim-gender = Geslacht
claim-birthplace = Geboorteplaats
claim-birthcountry = Geboorteland
claim-preferred-username = Huidige naam
claim-email = E-mailadres
claim-name = Volledige naam
claim-middle-name = Tweede voornaam
claim-nickname = Roepnaam
claim-profile = Profielpagina
claim-picture = Foto
claim-website = Website
claim-zoneinfo = Tijdzone
claim-locale = Taal
claim-updated-at = Laatste wijziging van het profiel
claim-email-verified = E-mailadres bevestigd
claim-phone-number = Telefoonnummer
claim-phone-number-verified = Telefoonnummer bevestigd
claim-address = Postadres
value-yes = Ja
value-no = Nee
gender-female = vrouw
gender-male = man
gender-unspecified = niet vermeld

## Errors: what happened

error-bad-request = Het verzoek van de dienst is niet juist.
error-not-found = Deze pagina bestaat niet.
error-method = Deze pagina kan niet op deze manier worden gebruikt.
error-timeout = Het verzoek is niet op tijd aangekomen.
error-too-large = Het verzoek is te groot.
error-unknown-host = Dit is niet het juiste adres.
error-internal = Er is bij ons iets misgegaan.
error-unavailable = Wij zijn korte tijd niet beschikbaar.
error-busy = Er loggen op dit moment te veel mensen in.
error-network-limited = Vanuit uw netwerk zijn binnen een minuut te veel inlogpogingen gestart.
error-service-limited = De dienst heeft binnen een minuut te veel inlogpogingen gestart.
error-register = Het nationale personenregister kon uw identiteit niet bevestigen.
error-register-unavailable = Het nationale personenregister antwoordt niet.
error-identity-incomplete = In uw account ontbreekt een gegeven dat nodig is.
error-identity-malformed = Een gegeven in uw account kan niet worden gelezen.
error-idp-unavailable = Dit account kan niet worden gebruikt.
error-idp-trouble = De organisatie die dit account beheert, heeft een technische storing.
error-hub-clock = De klok van deze inlogsite loopt verkeerd. Daarom kunt u nu niet inloggen. De beheerder moet de klok gelijkzetten.
error-idp-busy = Er loggen op dit moment te veel mensen in bij de organisatie die dit account beheert.
error-idp-denied = Het inloggen is voortijdig gestopt.
error-password-change = Uw wachtwoord is juist, maar u moet het wijzigen voordat u hier kunt inloggen.
error-account-disabled = Uw wachtwoord is juist, maar dit account is gesloten of verlopen. Neem contact op met de organisatie die dit account beheert.
error-account-hours = Uw wachtwoord is juist, maar dit account kan op dit tijdstip niet worden gebruikt. Probeer het later opnieuw, of neem contact op met de organisatie die dit account beheert.
error-account-not-permitted = Uw wachtwoord is juist, maar dit account mag hier niet inloggen. Neem contact op met de organisatie die dit account beheert.
error-account-refused = Uw wachtwoord is niet gecontroleerd, omdat dit account niet kan worden gebruikt: het is misschien geblokkeerd of gesloten. Neem contact op met de organisatie die dit account beheert.
error-assurance = De manier van inloggen is niet veilig genoeg voor deze dienst.
error-login-unknown = Deze inlogpoging bestaat niet of niet meer.
error-login-other-browser = Deze inlogpoging is in een andere browser gestart, of deze browser is zijn cookies kwijt.
error-idp-answer = Het antwoord van de organisatie die dit account beheert, is niet bruikbaar.
error-login-order = U bent in een ander tabblad verdergegaan.
error-login-done = Deze inlogpoging is al afgerond.
error-login-expired = Deze inlogpoging duurde te lang.
error-login-too-many = Deze inlogpoging is afgesloten: er stonden er te veel open.
error-repeated-cookie = Uw browser heeft een cookie van deze site twee keer gestuurd. Om veiligheidsredenen is er niets gedaan.
error-idp-blocked = Inloggen met dit account is tijdelijk stopgezet.
error-idp-blocked-for-service = Inloggen bij deze dienst met dit account is tijdelijk stopgezet.
error-idp-reauthentication = Deze dienst eist dat u opnieuw inlogt, en dit account kan niet aantonen dat u dat hebt gedaan.
error-redirect-withdrawn = De dienst heeft tijdens het inloggen zijn adres gewijzigd. Er is niets naar de dienst verstuurd.
error-scope-withdrawn = De dienst mag deze gegevens niet meer ontvangen.
error-gate = Dit account kan niet voor deze dienst worden gebruikt.
error-login-interrupted = Het inloggen is onderbroken.
error-cancelled = U hebt het inloggen geannuleerd.
error-refused = U hebt geweigerd uw gegevens te versturen.
error-login-required = U moet inloggen om door te gaan.
error-consent-required = Uw akkoord is nodig om door te gaan.
error-mail-address = Om in te loggen is een code per e-mail nodig, maar in uw account staat geen e-mailadres.
error-mail-address-unusable = Om in te loggen is een code per e-mail nodig, maar we kunnen niets sturen naar het e-mailadres van uw account.
error-mail-unreadable = Om met dit account in te loggen hebt u de code nodig die wij per e-mail sturen.
error-mail-code-wrong = Er zijn te veel onjuiste codes ingevuld.
error-mail-limited = Voor dit account zijn te veel codes verstuurd of ingevuld. Probeer het later opnieuw.
error-mail-unavailable = Wij kunnen u op dit moment geen code per e-mail sturen.
error-csrf = Om veiligheidsredenen is dit formulier niet geaccepteerd.

## Errors: who can fix it, and what to do next

responsible-user = Er is niets verloren: u kunt opnieuw beginnen.
responsible-user-other = U kunt met een ander account inloggen of teruggaan naar de dienst.
responsible-register = De gegevens van uw account wijken misschien af van die in het register, bijvoorbeeld uw namen of uw geboortedatum. Vraag de organisatie van uw account om ze te controleren, of gebruik een ander account.
register-correction = Als het register zelf onjuist is, wordt het hier gecorrigeerd:
responsible-identity = Vraag de organisatie van uw account om dit gegeven aan te vullen of te verbeteren, of gebruik een ander account.
responsible-mailbox = Is deze mailbox niet meer van u? Vraag dan om hulp: het oude adres kan worden verwijderd.
responsible-cookies = Sta cookies toe voor deze site. Ga daarna terug naar de site van de dienst en log opnieuw in, zonder van browser te wisselen.
responsible-repeated-cookie = Open een privévenster van uw browser, ga naar de site van de dienst en log daar in. Wilt u weer een gewoon venster gebruiken, verwijder dan de cookies van deze site in de instellingen van uw browser.
responsible-newer-tab = Ga verder in het tabblad of venster dat u het laatst hebt geopend. U kunt dit sluiten.
responsible-connection = Uw internetverbinding is misschien traag. Controleer die en probeer het opnieuw.
responsible-user-continue = Er is niets verloren: u kunt verdergaan.
responsible-other-tab = Wat u hier deed, hoort bij een eerdere stap. Er is niets verloren: ga hier verder, of in het andere tabblad.
responsible-finished = U hebt dit hier of in een ander tabblad afgerond. U kunt deze pagina sluiten. Begin bij de dienst om opnieuw in te loggen.
retry-later = Er is niets verloren. Probeer het over een paar minuten opnieuw.
retry-wait = { $seconds ->
    [one] Er is niets verloren. U kunt het over { $seconds } seconde opnieuw proberen.
   *[other] Er is niets verloren. U kunt het over { $seconds } seconden opnieuw proberen.
}
retry-auto = Deze pagina probeert het dan vanzelf opnieuw.
retry-auto-later = Deze pagina probeert het ook zelf een paar keer.
retry-stop = Niet vanzelf proberen
responsible-service = Alleen de dienst waar u vandaan komt, kan dit oplossen. Geef de gegevens onder aan de pagina door aan de dienst.
responsible-provider = De organisatie die uw account beheert, moet dit oplossen. Geef de gegevens onder aan de pagina door aan de organisatie. Met een ander account lukt het misschien wel.
responsible-answer = Dit ligt niet aan de dienst: de organisatie die het account beheert, heeft een verkeerd antwoord gestuurd, of een antwoord op een eerdere poging. U kunt verdergaan met inloggen; met een ander account lukt het misschien wel.
responsible-answer-alone = Dit ligt niet aan de dienst: de organisatie die het account beheert, heeft een verkeerd antwoord gestuurd, en in deze browser is niemand bezig met inloggen. U kunt deze pagina sluiten en daarna teruggaan naar de website van de dienst.
responsible-operator = Wij moeten dit oplossen. Probeer het over een paar minuten opnieuw.
error-no-way = U kunt deze pagina sluiten en daarna teruggaan naar de website van de dienst.
support-link = Hulp vragen
error-claim = Het gaat om dit gegeven: { $claim }.
error-service = Dienst: ‘{ $service }’
error-account = Account: ‘{ $provider }’
action-again = Opnieuw proberen
action-continue = Verdergaan met inloggen
action-other = Ander account kiezen
action-service = Terug naar ‘{ $service }’
action-service-unnamed = Terug naar de dienst
action-home = Opnieuw beginnen bij ‘{ $service }’
action-home-unnamed = Opnieuw beginnen bij de dienst
action-sign-out = Hier uitloggen
refs-title = Gegevens voor de helpdesk
refs-code = Code
refs-precise = Tweede code
refs-support = Referentie
refs-time = Tijdstip
refs-developer = Voor het technische team van de dienst

## Return to the service, signed out

return-title = Terug naar de dienst
return-lead = U gaat terug naar ‘{ $service }’. Gebruik de knop als er niets gebeurt.
return-go = Doorgaan
log-out-title = Wilt u uitloggen?
log-out-requested = ‘{ $service }’ vraagt u om uit te loggen.
log-out-account = U bent hier ingelogd met uw account ‘{ $provider }’. Na het uitloggen vraagt elke dienst u om opnieuw in te loggen.
log-out-no-session = In deze browser lijkt hier niemand ingelogd te zijn. Voor de zekerheid kunt u toch uitloggen.
log-out-go = Uitloggen
log-out-stay = Ingelogd blijven en terug naar ‘{ $service }’
log-out-close = Wilt u ingelogd blijven? Sluit dan gewoon deze pagina.
landing-title = Eén keer inloggen voor veel diensten
landing-go = Op deze pagina logt u niet in. Ga naar de site van de dienst die u wilt gebruiken en kies daar voor inloggen: u komt dan hier terug.
landing-shared = Hebt u een gedeeld apparaat gebruikt? Log hier uit voordat u weggaat.
logged-out-title = U bent uitgelogd
logged-out-lead = U bent hier niet meer ingelogd.
logged-out-provider = U bent ook uitgelogd van uw account ‘{ $provider }’.
logged-out-services = Diensten die u hebt gebruikt, kunnen u nog ingelogd houden. Log ook bij elk daarvan uit:
logged-out-unreached = Wij konden dit niet doorgeven aan ‘{ $provider }’. Log voor de zekerheid ook uit bij dat account, of sluit uw browser.
logged-out-start = Naar de startpagina

## Sandbox

sandbox-ribbon = Testomgeving: niets is hier echt
sandbox-title = Wie wilt u zijn?
sandbox-lead = ‘{ $provider }’ is een testaccount. Kies een persoon, en wat er moet gebeuren.
sandbox-person = Persoon
sandbox-level = Veiligheid van het inloggen
sandbox-level-too-low = Lager dan gevraagd: wordt geweigerd
sandbox-methods = Gebruikte middelen
sandbox-failure = Wat moet er gebeuren?
sandbox-go = Inloggen

## Demonstration service

demo-title = Probeer het inloggen uit
demo-lead = Deze verzonnen dienst laat zien hoe inloggen van begin tot eind gaat, en daarna alles wat de dienst heeft ontvangen. Geen enkel gegeven is echt.
demo-step-1 = U kiest een testaccount.
demo-step-2 = U kiest wie u bent.
demo-step-3 = U ziet wat de dienst ontvangt.
demo-standard = Standaardplatform
demo-standard-lead = De identiteit komt uit het nationale personenregister. De tokens zijn ondertekend.
demo-high = Platform voor hogere niveaus
demo-high-lead = De identiteit komt van de organisatie die het account beheert. De tokens zijn ondertekend en daarna versleuteld: alleen deze dienst kan ze lezen.
demo-sign-in-eidas1 = Inloggen, niveau laag (eidas1)
demo-sign-in-eidas2 = Inloggen, niveau substantieel (eidas2)
demo-sign-in-eidas3 = Inloggen, niveau hoog (eidas3)
demo-in-title = U bent ingelogd
demo-in-lead = Dit is alles wat de dienst heeft ontvangen, na controle.
demo-claims = Ontvangen gegevens
demo-in-encrypted = Beide tokens kwamen versleuteld aan; de privésleutel van de dienst heeft ze ontsleuteld.
demo-id-token = ID-token
demo-jwe-header = Header van de versleuteling (JWE)
demo-header = Header van de handtekening (JWS)
demo-payload = Inhoud
demo-userinfo = Gegevens van de persoon (userinfo)
demo-data = Wat een gegevensleverancier te weten komt
demo-data-lead = De dienst heeft de gegevensleverancier aangeroepen met het access token, en die heeft de hub gevraagd van wie dat token is.
demo-token-answer = Antwoord van het token-endpoint
demo-sign-out = Uitloggen
demo-sign-in-again = Opnieuw inloggen
demo-error-title = Het inloggen is mislukt
demo-error-lead = De dienst ontving dit antwoord in plaats van een geslaagde inlogpoging.
demo-wallet-title = Demowallet
demo-wallet-lead = De documenten in deze wallet zijn verzonnen. ‘{ $hub }’ vraagt om:
demo-wallet-agree = Toestaan en versturen
demo-wallet-decline = Weigeren
demo-error-code = Fout
demo-error-description = Omschrijving
demo-refused-lead = De dienst heeft een antwoord ontvangen dat niet te vertrouwen is, of helemaal geen antwoord. De dienst heeft er niets van gebruikt.
demo-refused-reason = Reden
sandbox-level-eidas1 = Laag (eidas1)
sandbox-level-eidas2 = Substantieel (eidas2)
sandbox-level-eidas3 = Hoog (eidas3)
sandbox-failure-none = Alles gaat goed
sandbox-failure-cancel = De persoon haakt af
sandbox-failure-error = De organisatie die het account beheert, heeft een storing
sandbox-failure-missing-claim = De identiteit komt aan zonder geboortedatum
sandbox-failure-unknown-person = Het register kent deze persoon niet
sandbox-failure-level-too-low = De manier van inloggen is minder veilig dan gevraagd
demo-sign-in-consent = Inloggen en toestemming geven (eidas1)
demo-methods = Hoe de persoon heeft ingelogd
demo-method-mark = Kenmerk van de hub
demo-out-title = U bent uitgelogd
demo-out-lead = Wat is beëindigd, voor zover een dienst dat kan weten:
demo-out-service = Deze dienst: de sessie is beëindigd.
demo-out-hub = De hub: de sessie is beëindigd. De hub stuurde uw browser terug met de ‘state’ van deze uitlogpoging.
demo-out-hub-unknown = De hub: niet bekend. De hub heeft uw browser niet teruggestuurd.
demo-out-provider = De organisatie die het account beheert: de hub stuurt uw browser daarheen om uit te loggen, als dat kan. Een dienst krijgt daar geen bevestiging van.
demo-out-provider-unknown = De organisatie die het account beheert: niet bekend.
demo-next = Bekijk nu:
demo-next-start = log in. Bij de keuze van het account is er één geblokkeerd en één onbereikbaar: zie wat de persoon te zien krijgt. Meer hierover in { $page }
demo-next-in = de beheerconsole telt deze inlogpoging en toont geen naam. Hoe u inlogt vanuit een eigen toepassing, staat in { $page }
demo-next-out = log opnieuw in: u kiest weer het account en de persoon, want er is geen sessie meer. Meer hierover in { $page }
demo-next-error = toonde een pagina een referentie? Zoek die op in de beheerconsole. Alle foutcodes staan in { $page }
demo-console-standard = Beheerconsole, standaard
demo-console-high = Beheerconsole, hogere niveaus
sandbox-next = kies bij ‘Wat moet er gebeuren?’ een fout, en zie wat de persoon en de dienst krijgen. Meer hierover in { $page }
method-pwd = Wachtwoord
method-pin = Pincode
method-kba = Persoonlijke vragen
method-otp = Eenmalige code
method-sms = Sms
method-tel = Telefoongesprek
method-hwk = Hardwaresleutel
method-swk = Softwaresleutel
method-sc = Smartcard
method-pop = Bewijs van een sleutel
method-face = Gezicht
method-fpt = Vingerafdruk
method-iris = Iris
method-retina = Netvlies
method-vbm = Stem
method-mail = E-mail
method-geo = Locatie
method-mca = Meerdere kanalen
method-rba = Risicobeoordeling
method-user = Aanwezigheid van de persoon
method-wia = Windows-aanmelding
method-mfa = Meerdere factoren

# What the operator has to say to everybody
notice-warning = Belangrijk:
notice-more = Meer informatie

## The pages about an OAuth error, for developers

oauth-error-title = De fout { $error }
oauth-error-lead = Deze pagina is bedoeld voor wie een dienst ontwikkelt of beheert. De hub heeft een verzoek van de server van de dienst met deze fout beantwoord. Wilde u alleen inloggen? Ga dan terug naar de dienst.
oauth-error-causes = Mogelijke oorzaken, en wat u kunt doen
oauth-error-precise = Deze pagina is voor al deze oorzaken dezelfde, zodat ze niets over een dienst verraadt; error_description zegt soms meer. De beheerder van de hub kan met het tijdstip en uw client_id de precieze oorzaak in het logboek vinden.
oauth-error-documentation = Documentatie voor diensten
oauth-error-invalid-request =
    Een parameter ontbreekt, is leeg of is twee keer verstuurd: error_description noemt hem. Verstuur hem één keer.
    De body is geen formulier: verstuur die als application/x-www-form-urlencoded.
    De client authenticeert zich op twee manieren, bijvoorbeeld in de header en in de body: gebruik alleen de geregistreerde.
oauth-error-invalid-client =
    De client authenticeert zich met een andere methode dan de geregistreerde. Veel bibliotheken versturen het secret in de header; de hub verwacht standaard client_secret_post, in de body.
    Het secret is onjuist, verlopen of nog niet geldig. Vergelijk het, zonder spaties eromheen, en vraag de beheerder zo nodig om een nieuw.
    De client_id is hier onbekend of uitgeschakeld: elk platform en elke omgeving heeft een eigen client_id.
    Een ondertekende assertion wordt niet geaccepteerd: controleer de sleutel, de aud (de issuer), de exp en of de jti nieuw is.
oauth-error-invalid-grant =
    De code is te oud of al eerder gebruikt: wissel die één keer in, zodra hij aankomt.
    De redirect_uri verschilt van die van het autorisatieverzoek.
    De code_verifier hoort bij een andere inlogpoging: bewaar hem in de sessie van de browser waarin de inlogpoging is gestart.
    De code is aan een andere client uitgegeven, of de gebruiker is intussen uitgelogd.
oauth-error-unsupported-grant-type =
    grant_type moet authorization_code zijn, of refresh_token als de dienst voor refresh tokens is geregistreerd. Start zonder refresh tokens een nieuwe inlogpoging: met prompt=none verschijnt er geen pagina zolang de sessie duurt.
oauth-error-temporarily-unavailable =
    De hub is overbelast of kan de sleutels op uw jwks_uri niet ophalen: probeer het straks opnieuw, of na de tijd in Retry-After als het antwoord die bevat.
    Er zijn te veel authenticaties met uw client_id mislukt: verbeter de inloggegevens van de client en wacht dan.
oauth-error-server-error =
    Er is in de hub een interne fout opgetreden: geef het tijdstip en uw client_id door aan de beheerder.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = Wat doet de hub met dit verzoek?
diagnostics-lead = Plak het adres waar uw dienst de browser naartoe stuurt. De hub legt elke parameter uit en start geen inlogpoging.
diagnostics-result = Resultaat
diagnostics-parameters = Parameter voor parameter
diagnostics-url = Adres van het autorisatieverzoek
diagnostics-help = Van https:// tot en met de laatste parameter. Het wordt niet bewaard en niet opnieuw getoond.
diagnostics-go = Uitleggen
token-diagnostic-title = Waarom het tokenverzoek is mislukt
token-diagnostic-lead = Deze pagina kan tien minuten lang worden geopend. Alleen een testomgeving geeft de precieze oorzaak; in productie ziet uw dienst alleen de fout.
token-diagnostic-fix = Wat u kunt doen
